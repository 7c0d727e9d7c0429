/* What a reader of a tally has to know beside its numbers: what was not counted and why, which
 * programs ran, which sums are upper bounds. */
#ifndef RL_PROFILE_TALLY_NOTES_H
#define RL_PROFILE_TALLY_NOTES_H

#include "profile/code.h"
#include "profile/sums.h"

/**
 * Add the notes; sets uncounted_share, and the flags of what went wrong where that is so.
 * @param program  sums of everything.
 */
enum rl_status tally_notes_add(struct rl_tally *tally, const struct code *code,
                               const struct sums *program, struct rl_error *err);

#endif
