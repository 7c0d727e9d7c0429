/* Runs of the program in which hardware counters count its marked regions, and what becomes of the
 * counts. These runs are apart from those that count the program as a whole: two groups of the same
 * events would share the counters, and nothing shared is used. */
#ifndef RL_PROFILE_REGION_COUNTERS_H
#define RL_PROFILE_REGION_COUNTERS_H

#include "profile/counters.h"
#include "sample/sample.h"

/** Whose work has to be counted, by who opened the regions in a timed run. */
struct region_scopes {
    bool process; /**< some regions are opened by first threads only */
    bool thread;  /**< others are opened by further threads too */
};

struct region_scopes region_scopes_of(const struct rl_samples *samples);

struct region_counters_options {
    struct counters_options run; /**< `events` are not used */
    enum region_scope scope;
    const char *markers; /**< librooflinesample.so, for regions marked for other tools; NULL: none
                              are; borrowed */
    const char *scratch_dir; /**< as rl_scratch_make; borrowed */
};

/**
 * One run under the counters of a pass. What was counted is kept by `pmu`, unless the run was
 * interrupted.
 * @return RL_OK whatever the program's own status; RL_ENODATA if the pass counts nothing of
 *         threads: nothing was run; else as rl_sample_run.
 */
enum rl_status region_counters_run(const char *const *argv, const char *const *envp,
                                   const struct region_counters_options *options,
                                   struct counters_end *ret, struct rl_error *err);

/** Put the counts into the regions of a joined profile, as counters_apply does with the program's.
 * @param n_runs  0: there were none; with use->is_only regions learn that. */
enum rl_status region_counters_apply(struct rl_pmu *pmu, unsigned n_runs,
                                     const struct counters_use *use, struct rl_profile *profile,
                                     struct rl_error *err);

#endif
