/* Is the memory still as fast as when the machine was measured? Asked before and after bench's
 * kernels. */
#ifndef RL_CLI_BENCH_DRIFT_H
#define RL_CLI_BENCH_DRIFT_H

#include "cli/bench_plan.h"

#include <roofline/machine.h>
#include <roofline/profile.h>

/** What the checks saw. All-zero is valid and says nothing. */
struct bench_drift {
    unsigned threads[8]; /**< thread counts that the plan and the machine record share */
    size_t n_threads;    /**< 0: nothing to compare with, nothing is checked */
    struct rl_machine fresh;
    unsigned n_checks;
};

/** The thread counts of `plan` for which `machine` has DRAM ceilings. */
void bench_drift_plan(struct bench_drift *drift, const struct bench_plan *plan,
                      const struct rl_machine *machine);

/**
 * Measure DRAM now, about half a second for each thread count, longer where caches are large; of
 * several checks the faster rates stay. What fails is no more than not known.
 * @param machine  the record to compare with, for its sizes of caches.
 * @return RL_OK; RL_ECANCEL.
 */
enum rl_status bench_drift_check(struct bench_drift *drift, const struct rl_machine *machine,
                                 struct rl_error *err);

/**
 * Where a rate is another than in `machine`, give it those of now and say so in `profile`.
 * @return RL_OK; RL_ENOMEM.
 */
enum rl_status bench_drift_apply(const struct bench_drift *drift, struct rl_machine *machine,
                                 struct rl_profile *profile, struct rl_error *err);

void bench_drift_release(struct bench_drift *drift);

#endif
