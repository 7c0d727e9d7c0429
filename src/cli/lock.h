/* One measurement at a time: two would measure each other. */
#ifndef RL_CLI_LOCK_H
#define RL_CLI_LOCK_H

#include <roofline/error.h>

/** All-zero: not held. */
struct rl_lock {
    int fd_plus_one;
};

/**
 * Take the lock of this machine and user, without waiting. Where no lock file can be made (a
 * read-only home) measuring goes on without one.
 * @return RL_OK; RL_EUNAVAIL naming the process that holds it.
 */
enum rl_status rl_lock_take(struct rl_lock *lock, struct rl_error *err);
void rl_lock_release(struct rl_lock *lock);

#endif
