/* Room to call libraries that need more stack than the process was given. */
#ifndef RL_BASE_STACK_H
#define RL_BASE_STACK_H

#include <roofline/error.h>

/** Something to do; its own result is handed through. */
typedef enum rl_status rl_task(void *context, struct rl_error *err);

/**
 * Run a task to its end with at least 8 MiB of stack: on the caller's, or where that is limited
 * (ulimit -s) on a thread of its own, which takes no signals. Reading debug information needs more
 * than 128 KiB.
 */
enum rl_status rl_run_with_stack(rl_task *task, void *context, struct rl_error *err);

#endif
