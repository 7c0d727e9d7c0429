/* Waiting for a run of the program. */
#ifndef RL_PROFILE_WATCH_H
#define RL_PROFILE_WATCH_H

#include "base/child.h"

/** How it went. */
struct watched {
    double elapsed_s;
    int interrupted_by; /**< signal that asked the caller to end meanwhile; 0 none */
};

/**
 * Let a started program run, to its end.
 * @param progress  called about ten times a second; may be NULL.
 */
enum rl_status watch_child(struct rl_child *child,
                           void (*progress)(void *context, double elapsed_s), void *context,
                           struct watched *ret, struct rl_error *err);

#endif
