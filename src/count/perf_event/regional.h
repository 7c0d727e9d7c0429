/* Hardware counters of marked regions: the plan that the region library inside a program follows,
 * and what it left in its files. What it does not do: run the program, or know what of the counts
 * is to be believed (counts). */
#ifndef RL_COUNT_PERF_EVENT_REGIONAL_H
#define RL_COUNT_PERF_EVENT_REGIONAL_H

#include "count/perf_event/plan.h"
#include "count/perf_event/reading.h"
#include "region/wire.h"

/** One region, over all processes and threads. */
struct rl_pmu_region {
    char *name;
    enum rl_pmu_why why; /**< RL_PMU_FINE, or why its readings are not to be used */
    char detail[96];
    struct rl_pmu_readings readings; /**< thread events only */
    size_t n_thread;                 /**< of one run */
    double coverage;                 /**< least part of the time that its events had counters;
                                          1: all of it; hybrid processors: of both kinds together */
    uint64_t n_counted, n_missed;    /**< as in struct region_count, of all runs */
    uint64_t time_ns, read_ns;       /**< likewise */
    bool is_by_others;               /**< threads opened it whose work this scope does not count */
};

/** All-zero is valid and empty. Release with rl_pmu_regions_release. */
struct rl_pmu_regions {
    struct rl_pmu_region *region;
    size_t n_region;
    unsigned n_foreign; /**< processes whose region library was of another version */
    bool is_judged;     /**< since the last file */
};

void rl_pmu_regions_release(struct rl_pmu_regions *regions);

/** @return NULL if no such region was entered. */
const struct rl_pmu_region *rl_pmu_regions_find(const struct rl_pmu_regions *regions,
                                                const char *name);

/**
 * The plan for a run. Memory controllers belong to no thread and are left out.
 * @return RL_OK; RL_ENODATA if the pass has no events of threads; RL_EINVAL if it has too many.
 */
enum rl_status rl_pmu_regions_encode(const struct rl_pmu_pass *pass, enum region_scope scope,
                                     struct region_plan *ret, struct rl_error *err);

/** One file that a process left. */
struct rl_pmu_region_file {
    const void *data; /**< [n] bytes of any content */
    size_t n;
    enum region_scope scope; /**< of the plan it followed */
    unsigned pass;           /**< index in the plan */
};

/**
 * Add a file. One of another version is counted in n_foreign; what makes no sense adds nothing.
 * @param plan, host  as the encoded pass is from.
 * @return RL_OK; RL_ENOMEM.
 */
enum rl_status rl_pmu_regions_add(const struct rl_pmu_region_file *file,
                                  const struct rl_pmu_plan *plan, const struct rl_pmu_host *host,
                                  struct rl_pmu_regions *regions, struct rl_error *err);

/** Decide anew which regions are not to be used as a whole, and why; nothing to do unless a file
 * came since. */
void rl_pmu_regions_judge(struct rl_pmu_regions *regions);

#endif
