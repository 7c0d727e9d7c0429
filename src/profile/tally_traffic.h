/* Simulated traffic, given by instruction, summed up by function and loop. */
#ifndef RL_PROFILE_TALLY_TRAFFIC_H
#define RL_PROFILE_TALLY_TRAFFIC_H

#include "profile/code.h"
#include "profile/tally.h"

/** Add the traffic beyond L1 to all units that touch memory and to the program. The tally is
 * otherwise complete.
 * @param restricted  what was traced ran in the regions of the tally and nowhere else. */
enum rl_status tally_traffic_add(struct rl_tally *tally, const struct code *code,
                                 const struct rl_tally_traffic *traffic, bool restricted,
                                 struct rl_error *err);

#endif
