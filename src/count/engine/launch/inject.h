/* Putting the engine into a process that stands at its first instruction. */
#ifndef RL_COUNT_ENGINE_LAUNCH_INJECT_H
#define RL_COUNT_ENGINE_LAUNCH_INJECT_H

#include <sys/types.h>

#include "count/engine/launch/image.h"

/**
 * Wait until a process that is being traced by the caller (PTRACE_SEIZE with PTRACE_O_TRACEEXEC and
 * PTRACE_O_TRACESYSGOOD) has replaced its program, map the engine into it, and let it go on in
 * the engine, untraced. If that fails it goes on natively.
 *
 * @return NULL, or what went wrong.
 */
const char *inject(pid_t pid, const struct image *image);

#endif
