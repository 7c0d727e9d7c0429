/* What of the dynamic loader was not counted. */
#ifndef RL_PROFILE_TALLY_LOADER_H
#define RL_PROFILE_TALLY_LOADER_H

#include "profile/code.h"

/** Is this file a dynamic loader, by its name? */
bool tally_loader_is(const char *path);

/**
 * Make counts of the dynamic loader unknown if it began its work uncounted, as it does where it is
 * what brings the engine in. `tally` has all its units.
 */
enum rl_status tally_loader_forget(struct rl_tally *tally, const struct code *code,
                                   struct rl_error *err);

#endif
