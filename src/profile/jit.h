/* What a run-time has to be told so that code it compiles has names. */
#ifndef RL_PROFILE_JIT_H
#define RL_PROFILE_JIT_H

#include "sample/sample.h"

#include <roofline/profile.h>

/** Add a note where compiled code was sampled in a run-time known for naming it on demand only, and
 * there is no map of names. */
enum rl_status jit_note(const struct rl_samples *samples, struct rl_profile *profile,
                        struct rl_error *err);

#endif
