/* Which events are counted together, in which run of the program: never more than the counters
 * hold, so that the kernel has no reason to take turns. Pure but for reading sysfs. */
#ifndef RL_COUNT_PERF_EVENT_PLAN_H
#define RL_COUNT_PERF_EVENT_PLAN_H

#include "count/perf_event/host.h"
#include "count/perf_event/table.h"
#include "count/perf_event/why.h"

enum rl_pmu_detail {
    RL_PMU_QUICK = 0, /**< FLOP and traffic in as few runs as possible */
    RL_PMU_FULL,      /**< by precision and width */
};

struct rl_pmu_plan_options {
    enum rl_pmu_detail detail;
    unsigned max_passes;   /**< 0: as many as it takes */
    bool wants_system;     /**< count memory controllers as well, if allowed */
    bool includes_derived; /**< rows that no maker's list has as they stand; see certainty */
};

/** Full, any number of passes, everything that is allowed. */
struct rl_pmu_plan_options rl_pmu_plan_options_default(void);

/** One event as it is opened. */
struct rl_pmu_slot {
    const struct rl_pmu_event *event;
    unsigned core; /**< index in plan->core; system-wide events: 0 */
    char device[48];
    uint32_t type;
    uint64_t config, config1;
    double bytes; /**< the kernel's own weight of a count; 0: event->weight */
    int cpu;      /**< system-wide events: the CPU to open it on; else -1 */
};

/** What one run of the program counts. The slots of a core are one group, the first one leads;
 * each system-wide slot stands alone. */
struct rl_pmu_pass {
    struct rl_pmu_slot *slot;
    size_t n_slot;
};

/** A metric that is not counted. */
struct rl_pmu_gap {
    enum rl_pmu_why why; /**< RL_PMU_FINE: no gap */
    const char *note;    /**< borrowed from the table, or NULL */
};

/** All-zero is valid and empty. Release with rl_pmu_plan_release. */
struct rl_pmu_plan {
    enum rl_pmu_why why; /**< RL_PMU_FINE: something can be counted */
    const struct rl_pmu_core *core[2];
    struct rl_pmu_device device[2]; /**< PMU of each core */
    unsigned capacity[2];           /**< general counters of each */
    size_t n_core;
    struct rl_pmu_pass *pass;
    size_t n_pass;
    struct rl_pmu_gap gap[2][RL_PMU_METRICS]; /**< by core; system-wide ones: core 0 */
};

/**
 * Decide what to count on a machine.
 *
 * @param table, host  borrowed; the table must outlive the plan.
 * @return RL_OK also where nothing can be counted: plan.why says so; RL_ENOMEM.
 */
enum rl_status rl_pmu_plan_make(const struct rl_pmu_table *table, const struct rl_pmu_host *host,
                                const struct rl_pmu_plan_options *options,
                                struct rl_pmu_plan *ret_plan, struct rl_error *err);
void rl_pmu_plan_release(struct rl_pmu_plan *plan);

/** Do two rows mean the same event, so that one counter serves both? */
bool rl_pmu_same_event(const struct rl_pmu_event *a, const struct rl_pmu_event *b);

#endif
