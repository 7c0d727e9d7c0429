/* Counting a running process now and then, at the word of whoever holds the other ends of two
 * pipes.
 */
#ifndef RL_COUNT_ENGINE_LAUNCH_BURSTS_H
#define RL_COUNT_ENGINE_LAUNCH_BURSTS_H

#include "count/engine/launch/attach.h"

/**
 * Read lines from standard input, each the milliseconds of a burst: attach, wait, detach, and
 * answer a line on standard output, "ok NANOSECONDS" (from all threads in to all threads asked out)
 * or "failed REASON". Ends at the end of input, and by no signal but SIGKILL, with the process
 * running natively; after SIGKILL a child of its own sees to that.
 *
 * @return exit status.
 */
int bursts(pid_t pid, const struct attach_options *options);

#endif
