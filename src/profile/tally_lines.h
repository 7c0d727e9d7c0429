/* Counts of one function by source line. */
#ifndef RL_PROFILE_TALLY_LINES_H
#define RL_PROFILE_TALLY_LINES_H

#include "decode/flow.h"
#include "profile/tally.h"
#include "symbol/symbol.h"

/** Append the lines of a function's executed code; code without a line is left out. */
enum rl_status tally_lines_add(struct rl_tally *tally, struct rl_symbol_module *module,
                               uint32_t function, const struct rl_flow *flow, struct rl_error *err);

#endif
