/* Inside the preloaded object: sampling by per-thread timers. */
#ifndef RL_SAMPLE_PRELOAD_TIMER_H
#define RL_SAMPLE_PRELOAD_TIMER_H

#include <signal.h>
#include <stdbool.h>

/** Begin sampling in this process, once; off, for good, unless the environment asks for it. */
bool timer_start(void);
/** Begin and end sampling of the calling thread. */
void timer_thread_begin(void);
void timer_thread_end(void);
/** The signal the timers send. */
int timer_signal(void);

#endif
