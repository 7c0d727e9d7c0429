/* Processes that were counted in part, and nobody knows how large that part is: what lacks may be
 * in any function they ran, so that counts of these are unknown rather than small. */
#ifndef RL_PROFILE_TALLY_CUT_H
#define RL_PROFILE_TALLY_CUT_H

#include "profile/code.h"

/** Why counts are unknown. */
#define TALLY_CUT_WHY "a process was counted in part only, which the notes tell of"

/** Is a process cut? One that marks its bounds, or lacks less than a whole, is not. */
bool tally_cut_is(const struct rl_result *result);

/** Make all that was counted of a function, loop or program unknown, for this reason. */
enum rl_status tally_forget(struct rl_kernel *kernel, const char *why, struct rl_error *err);

/**
 * Sets is_cut, and makes counts of functions, loops and programs unknown that a process ran which
 * is cut. `tally` has all its units.
 */
enum rl_status tally_cut_forget(struct rl_tally *tally, const struct code *code,
                                struct rl_error *err);

#endif
