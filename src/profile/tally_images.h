/* Which program each counted process ran, and what was counted by program. */
#ifndef RL_PROFILE_TALLY_IMAGES_H
#define RL_PROFILE_TALLY_IMAGES_H

#include "profile/code.h"

/** Sort results by the program they are of: fills tally->image, as far as the names, and
 * code->image. */
enum rl_status tally_images_find(struct rl_tally *tally, struct code *code, struct rl_error *err);

/** Sum what was counted by program, where there are several. */
enum rl_status tally_images_sum(struct rl_tally *tally, const struct code *code,
                                struct rl_error *err);

#endif
