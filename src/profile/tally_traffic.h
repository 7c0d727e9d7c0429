/* Simulated traffic, given by instruction and region, summed up by function, loop and region. */
#ifndef RL_PROFILE_TALLY_TRAFFIC_H
#define RL_PROFILE_TALLY_TRAFFIC_H

#include "profile/code.h"
#include "profile/tally.h"

/** Add the traffic beyond L1 to all units and regions that touch memory and to the program. The
 * tally is otherwise complete. */
enum rl_status tally_traffic_add(struct rl_tally *tally, const struct code *code,
                                 const struct rl_tally_traffic *traffic, struct rl_error *err);

#endif
