/* What hardware counters can tell: the vocabulary of data/events. */
#ifndef RL_COUNT_PERF_EVENT_METRIC_H
#define RL_COUNT_PERF_EVENT_METRIC_H

#include <roofline/value.h>
#include <stdbool.h>
#include <stddef.h>

enum rl_pmu_kind {
    RL_PMU_FLOP = 0, /**< floating-point operations */
    RL_PMU_BYTES,    /**< bytes moved */
    RL_PMU_INS,      /**< instructions: a hint, never FLOP or bytes */
    RL_PMU_OPS,      /**< operations of any kind: a hint, never FLOP */
    RL_PMU_CORE,     /**< instructions and cycles, for plausibility */
};

/** Vector widths that a metric covers, as bits of a set. */
enum rl_pmu_width {
    RL_PMU_SCALAR = 1,
    RL_PMU_128 = 2,
    RL_PMU_256 = 4,
    RL_PMU_512 = 8,
    RL_PMU_PACKED = RL_PMU_128 | RL_PMU_256 | RL_PMU_512,
    RL_PMU_ANY_WIDTH = RL_PMU_SCALAR | RL_PMU_PACKED,
};

/** Which way bytes move, seen from the core. */
enum rl_pmu_way {
    RL_PMU_FILL = 0, /**< towards the core, lines read because they are to be written included */
    RL_PMU_WRITE,    /**< away from the core */
    RL_PMU_BOTH,
};

struct rl_pmu_metric {
    const char *name;
    const char *title; /**< for people */
    enum rl_pmu_kind kind;
    /* FLOP: */
    unsigned precisions; /**< set of 1 << enum rl_precision */
    unsigned widths;     /**< set of enum rl_pmu_width */
    /* Bytes: */
    const char *level; /**< "L2": between L2 and L1 */
    enum rl_pmu_way way;
    bool is_system;      /**< counted for everybody on the machine */
    bool is_lower_bound; /**< part of the traffic is known to be missing */
};

/** A metric is its index in rl_pmu_metric. */
enum { RL_PMU_METRICS = 51 };
extern const struct rl_pmu_metric rl_pmu_metric[RL_PMU_METRICS];

/** Index of a metric by name, or RL_PMU_METRICS. */
size_t rl_pmu_metric_find(const char *name);

/** Can a processor with vectors of that many bits do what the metric counts? 0: not known. */
bool rl_pmu_width_exists(const struct rl_pmu_metric *metric, unsigned vector_bits);

#endif
