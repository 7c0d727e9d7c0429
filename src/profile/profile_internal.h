/* What profiling a command and a running process have in common. */
#ifndef RL_PROFILE_PROFILE_INTERNAL_H
#define RL_PROFILE_PROFILE_INTERNAL_H

#include "profile/profile.h"

/** Say how time was had, and what of it is peculiar, in the profile's notes.
 * @param first   of `n_runs` runs.
 * @param n_runs  0: a process that was running already. */
enum rl_status profile_note_time(const struct rl_samples *first, size_t n_runs,
                                 struct rl_profile *profile, struct rl_error *err);

#endif
