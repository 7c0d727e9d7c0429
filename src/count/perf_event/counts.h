/* From raw counts to FLOP and bytes: pure, so a replayed reading gives the same to the last bit.
 * What was not counted, or is not to be trusted, has no value and a reason. */
#ifndef RL_COUNT_PERF_EVENT_COUNTS_H
#define RL_COUNT_PERF_EVENT_COUNTS_H

#include "count/perf_event/plan.h"
#include "count/perf_event/reading.h"

#include <roofline/profile.h>

/** What the self-test found out about one metric of one kind of core. */
struct rl_pmu_verdict {
    enum rl_pmu_why why; /**< RL_PMU_FINE: it counts right; RL_PMU_UNTESTED; RL_PMU_WRONG */
    double ratio;        /**< counted / expected where it was furthest off; 0: not known */
};

struct rl_pmu_trust {
    struct rl_pmu_verdict verdict[2][RL_PMU_METRICS];
};

/** Nothing is tested. */
void rl_pmu_trust_init(struct rl_pmu_trust *trust);

/** A value, or the reason why there is none. */
struct rl_pmu_value {
    struct rl_value value; /**< spread: half the range over repeated runs, relative */
    enum rl_pmu_why why;
    char detail[96];
};

struct rl_pmu_level {
    const char *name; /**< "L2", "L3", "DRAM" */
    struct rl_pmu_value fill;
    struct rl_pmu_value write;
    struct rl_pmu_value total; /**< both ways; unknown where one is */
};

enum { RL_PMU_LEVEL_L2 = 0, RL_PMU_LEVEL_L3, RL_PMU_LEVEL_DRAM, RL_PMU_LEVELS };

/** What the counters say about a program, all its threads and children together. */
struct rl_pmu_counts {
    const struct rl_pmu_core *core[2];
    size_t n_core;
    size_t n_runs;                                   /**< readings they are from */
    struct rl_pmu_value metric[2][RL_PMU_METRICS];   /**< of each kind of core */
    struct rl_pmu_value flop_of[RL_PRECISION_COUNT]; /**< floating-point precisions */
    struct rl_pmu_value flop;                        /**< all that could be counted */
    struct rl_pmu_value instructions;                /**< as a check of runs; may be untested */
    struct rl_pmu_level level[RL_PMU_LEVELS];        /**< of the program */
    struct rl_pmu_level system_dram;                 /**< of everybody on the machine */
    double flop_disagreement; /**< between the sum by precision and the count of all; relative; 0:
                                   one of the two only */
};

/**
 * Compute everything that some readings allow.
 *
 * @param trust  borrowed; a metric that has not passed has no value.
 * @param plan   its gaps become reasons; NULL: a replay.
 * @param ret    plain data; `core` points into the table.
 */
void rl_pmu_counts_compute(const struct rl_pmu_readings *readings, const struct rl_pmu_trust *trust,
                           const struct rl_pmu_plan *plan, struct rl_pmu_counts *ret);

/**
 * Put counts into a kernel that stands for the whole program: flop and traffic as measured, the
 * rest into its list of what is missing.
 * @return RL_OK or RL_ENOMEM.
 */
enum rl_status rl_pmu_counts_fill(const struct rl_pmu_counts *counts, struct rl_kernel *kernel,
                                  struct rl_error *err);

/** Say in the profile's notes how counts were had and what they take in. */
enum rl_status rl_pmu_counts_note(const struct rl_pmu_counts *counts, struct rl_profile *profile,
                                  struct rl_error *err);

#endif
