/* Did the runs of one program do the same thing? Where they did not, a note says what differed. */
#ifndef RL_PROFILE_AGREE_H
#define RL_PROFILE_AGREE_H

#include "profile/counting.h"

/**
 * @param samples   [n_samples] native runs.
 * @param counting  NULL: there was none.
 * @param profile   notes are added.
 */
enum rl_status agree_check(const struct rl_samples *samples, size_t n_samples,
                           const struct counting *counting, struct rl_profile *profile,
                           struct rl_error *err);

/** A note if a run ended otherwise than the first one did; both as wait(2) gives it.
 * @param which  "the counted run". */
enum rl_status agree_check_end(int first, int other, const char *which, struct rl_profile *profile,
                               struct rl_error *err);

#endif
