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

typedef void (*function)(void);

/** Around `called`, which waits and would be cut short by a signal. */
void timer_mask(void);
void timer_unmask(function called);
/** Around one that waits on after a signal. These cost next to nothing. */
void timer_wait_begin(void);
void timer_wait_end(function called);
/** Before `called`, which leaves whatever call that waits the thread is in, if it is in one. */
void timer_wait_left(function called);

/** The signal the timers send. */
int timer_signal(void);

#endif
