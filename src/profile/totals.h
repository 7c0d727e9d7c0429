/* Sums over functions and all that they called, from sums of the functions themselves.
 *
 * How much of a callee belongs to which caller is exact where all calls of the callee come from one
 * caller, or from functions that do; else it is shared out by the number of calls, as if each call
 * did the same: an estimate, in the manner of Graham, Kessler, McKusick, "gprof: a call graph
 * execution profiler", SIGPLAN 1982. Functions that call each other in a circle share one total.
 * Pure data in, data out. */
#ifndef RL_PROFILE_TOTALS_H
#define RL_PROFILE_TOTALS_H

#include "profile/tally.h"

struct totals_sum {
    double value;
    bool is_known; /**< false: too much may have been called through pointers, see tally.h */
    bool is_exact; /**< no more than a hundredth of it was shared out by number of calls */
};

/**
 * @param self     [tally->n_function] what each function did itself; >= 0.
 * @param ret_sum  [tally->n_function]
 * @return RL_OK or RL_ENOMEM. Time O(functions + calls), times the callers that matter and are not
 *         known.
 */
enum rl_status totals_sum(const struct rl_tally *tally, const double *self,
                          struct totals_sum *ret_sum, struct rl_error *err);

/** Set total_flop of all functions of a tally, or say why there is none. */
enum rl_status totals_fill_flop(struct rl_tally *tally, struct rl_error *err);

#endif
