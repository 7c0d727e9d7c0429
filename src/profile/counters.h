/* Runs of the program under hardware counters. Their counts are of the program as a whole: they
 * become its values or a check on them, never those of a function or loop. Regions are counted in
 * runs of their own (region_counters). */
#ifndef RL_PROFILE_COUNTERS_H
#define RL_PROFILE_COUNTERS_H

#include "count/perf_event/named.h"
#include "count/perf_event/pmu.h"

/** How one run went. */
struct counters_end {
    double elapsed_s;
    int wait_status;
    int interrupted_by; /**< signal that asked the caller to end meanwhile; 0 none */
};

struct counters_options {
    struct rl_pmu *pmu;
    unsigned pass;
    struct rl_named_events *events; /**< instead of `pmu`; NULL: `pmu` */
    bool discard_output;
    void (*progress)(void *context, double elapsed_s);
    void *context;
};

/** One run of the program. What was counted is kept by `pmu`, unless the run was interrupted.
 * @return RL_OK whatever the program's own status; else as rl_sample_run. */
enum rl_status counters_run(const char *const *argv, const char *const *envp,
                            const struct counters_options *options, struct counters_end *ret,
                            struct rl_error *err);

/** What is wanted of the counts. */
struct counters_use {
    bool flop;
    bool bytes;
    bool is_only; /**< nothing else counted: functions and loops learn why they have no counts */
};

/**
 * Put counts into a joined profile. FLOP that are known already stay, and traffic that was
 * simulated gives way to what was measured for the program alone; a note says where the two
 * disagree by more than 5 %.
 */
enum rl_status counters_apply(const struct rl_pmu_counts *counts, const struct counters_use *use,
                              struct rl_profile *profile, struct rl_error *err);

/** The same for one kernel, without telling the others.
 * @param whose  the kernel's name in notes: "the program", "region solve". */
enum rl_status counters_apply_kernel(const struct rl_pmu_counts *counts,
                                     const struct counters_use *use, const char *whose,
                                     struct rl_kernel *kernel, struct rl_profile *profile,
                                     struct rl_error *err);

/** Events that the user named, counted: parameters "event.NAME" of the program, and a note for
 * each; gaps where there is no value. */
enum rl_status counters_apply_events(const struct rl_named_events *events,
                                     struct rl_profile *profile, struct rl_error *err);

#endif
