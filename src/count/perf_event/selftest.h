/* No counter is believed before it has counted known work: loops of kernels whose operations and
 * bytes are exact, on this machine, under this kernel. */
#ifndef RL_COUNT_PERF_EVENT_SELFTEST_H
#define RL_COUNT_PERF_EVENT_SELFTEST_H

#include "count/perf_event/counter.h"
#include "count/perf_event/counts.h"

/** Something to count, with what must come out. All-zero: nothing but a call. */
struct rl_pmu_trial {
    char name[48];
    void (*run)(const struct rl_pmu_trial *trial);
    const void *context;
    uint64_t loops;
    double instructions; /**< 0: not known */
    double flop;         /**< exact; of this precision and these widths only */
    enum rl_precision precision;
    unsigned widths; /**< set of enum rl_pmu_width; several: which of them is not known */
    bool is_memory;
    unsigned depth; /**< memory: levels that lines come from: 0 L1, 1 L2, 2 L3, 3 DRAM */
    double fill;    /**< bytes that move towards the core across each of them; NAN: not judged */
    double write;   /**< and away from it */
    double scale;   /**< operations or bytes of any kind done: what 0 is judged against */
};

/** Sizes that decide where data live, of the CPUs the test runs on. */
struct rl_pmu_sizes {
    uint64_t l1_bytes, l2_bytes;
    uint64_t l3_bytes;     /**< what one core may use alone; 0: no L3 */
    uint64_t llc_bytes;    /**< all last-level caches together */
    uint64_t memory_bytes; /**< most that may be allocated; 0: no trial of memory */
};

/**
 * Count known work with every pass of a plan and judge.
 *
 * @param trial      [n_trial]; borrowed.
 * @param ret_trust  metrics that counted right are RL_PMU_FINE, wrong ones RL_PMU_WRONG, those that
 *                   no trial could show RL_PMU_UNTESTED.
 * @return RL_OK whatever the outcome; RL_ENOMEM.
 *
 * Pins the calling thread for its duration. Some seconds at most with the trials below.
 */
enum rl_status rl_pmu_self_test_run(const struct rl_pmu_calls *calls,
                                    const struct rl_pmu_host *host, const struct rl_pmu_plan *plan,
                                    const struct rl_pmu_trial *trial, size_t n_trial,
                                    struct rl_pmu_trust *ret_trust, struct rl_error *err);

/** Trials made of the microbenchmark kernels that this processor can run. */
struct rl_pmu_trials {
    struct rl_pmu_trial *trial;
    size_t n_trial;
    struct rl_pmu_arena *arena; /**< memory they work on */
};

/** @param sizes  NULL: no trial of memory. @return RL_OK or RL_ENOMEM. */
enum rl_status rl_pmu_trials_make(const struct rl_cpu *cpu, const struct rl_pmu_sizes *sizes,
                                  struct rl_pmu_trials *ret, struct rl_error *err);
void rl_pmu_trials_release(struct rl_pmu_trials *trials);

/** What a metric must show for a trial: a count, 0, or NAN where the trial says nothing. */
double rl_pmu_trial_expects(const struct rl_pmu_trial *trial, const struct rl_pmu_metric *metric);

#endif
