/* What was read from the counters, raw: groups with their times and counts. A text form of it keeps
 * real counts for replay; from there on everything is computed, so a replay is exact. */
#ifndef RL_COUNT_PERF_EVENT_READING_H
#define RL_COUNT_PERF_EVENT_READING_H

#include "count/perf_event/table.h"
#include "count/perf_event/why.h"

#include <stdio.h>

struct rl_pmu_count {
    const struct rl_pmu_event *event; /**< row of the table */
    double bytes;                     /**< the kernel's own weight of a count; 0: event->weight */
    uint64_t value;
    enum rl_pmu_why why; /**< RL_PMU_FINE, or why there is no value */
};

/** Events that were switched on and off together. */
struct rl_pmu_group {
    unsigned core; /**< index in rl_pmu_readings.core */
    int cpu;       /**< system-wide: the CPU it was opened on; else -1 */
    uint64_t enabled_ns;
    uint64_t running_ns; /**< less than enabled_ns: others had the counters meanwhile, or the
                              program was on the other kind of core */
    enum rl_pmu_why why; /**< RL_PMU_FINE, or why nothing of the group counts */
    struct rl_pmu_count *count;
    size_t n_count;
};

/** One run of the program. */
struct rl_pmu_reading {
    unsigned pass;
    struct rl_pmu_group *group;
    size_t n_group;
};

/** All runs. All-zero is valid and empty. */
struct rl_pmu_readings {
    const struct rl_pmu_core *core[2];
    size_t n_core;
    unsigned vector_bits; /**< as rl_pmu_host.vector_bits */
    struct rl_pmu_reading *reading;
    size_t n_reading;
};

void rl_pmu_reading_release(struct rl_pmu_reading *reading);
void rl_pmu_readings_release(struct rl_pmu_readings *readings);

/** Write them as text. @return RL_OK or RL_ESYS. */
enum rl_status rl_pmu_readings_write(const struct rl_pmu_readings *readings, FILE *stream,
                                     struct rl_error *err);

/**
 * Read that text.
 * @param text   terminated.
 * @param name   of the file, for messages.
 * @param table  must outlive the readings.
 * @return RL_OK; RL_EDATA naming line and fault; RL_ENOMEM.
 */
enum rl_status rl_pmu_readings_parse(const char *text, const char *name,
                                     const struct rl_pmu_table *table, struct rl_pmu_readings *ret,
                                     struct rl_error *err);

#endif
