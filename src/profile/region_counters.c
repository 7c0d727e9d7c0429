#include "profile/region_counters.h"
#include "base/child.h"
#include "base/error.h"
#include "profile/watch.h"
#include "sample/marked.h"

#include <stdio.h>
#include <string.h>

struct region_scopes region_scopes_of(const struct rl_samples *s)
{
    struct region_scopes scopes = {0};
    for (size_t i = 0; i < s->n_region; i++) {
        bool is_by_others = false;
        for (size_t k = 0; k < s->n_region; k++) {
            const struct rl_sample_region *region = &s->region[k];
            is_by_others |= !strcmp(region->name, s->region[i].name) && s->n_process &&
                            region->tid != s->process[region->process].pid;
        }
        scopes.thread |= is_by_others;
        scopes.process |= !is_by_others;
    }
    return scopes;
}

/** Where files are added. */
struct reading {
    struct rl_pmu *pmu;
    enum region_scope scope;
    unsigned pass;
};

static enum rl_status add_file(void *context, const void *data, size_t n, struct rl_error *err)
{
    struct reading *r = context;
    const struct rl_pmu_region_file file = {data, n, r->scope, r->pass};
    return rl_pmu_region_add(r->pmu, &file, err);
}

static enum rl_status run_under(const char *const *argv, const struct rl_marked *marked,
                                const struct counters_options *options, struct counters_end *ret,
                                struct rl_error *err)
{
    struct rl_child child;
    struct rl_child_end end = {0};
    struct watched watched = {0};
    RL_TRY(
        rl_child_start(argv, rl_marked_environment(marked), options->discard_output, &child, err));
    enum rl_status status = watch_child(&child, options->progress, options->context, &watched, err);
    enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
    RL_TRY(status);
    RL_TRY(finish);
    *ret = (struct counters_end){.elapsed_s = watched.elapsed_s,
                                 .interrupted_by = watched.interrupted_by,
                                 .wait_status = end.wait_status};
    return RL_OK;
}

enum rl_status region_counters_run(const char *const *argv, const char *const *envp,
                                   const struct region_counters_options *options,
                                   struct counters_end *ret, struct rl_error *err)
{
    const struct counters_options *run = &options->run;
    struct reading reading = {run->pmu, options->scope, run->pass};
    struct region_plan plan;
    struct rl_marked *marked;
    struct counters_end end = {0};
    RL_TRY(rl_pmu_region_plan(run->pmu, run->pass, options->scope, &plan, err));
    RL_TRY(rl_marked_new(options->markers, options->scratch_dir, envp, &plan, &marked, err));
    enum rl_status status = run_under(argv, marked, run, &end, err);
    if (status == RL_OK && !end.interrupted_by)
        status = rl_marked_files(marked, add_file, &reading, err);
    rl_marked_free(marked);
    RL_TRY(status);
    *ret = end;
    return RL_OK;
}

/* Counted with the process where the first thread alone opened it, else by thread. */
static const struct rl_pmu_region *region_of(struct rl_pmu *pmu, const char *name)
{
    const struct rl_pmu_regions *all = rl_pmu_regions_counted(pmu, REGION_SCOPE_PROCESS);
    const struct rl_pmu_regions *own = rl_pmu_regions_counted(pmu, REGION_SCOPE_THREAD);
    const struct rl_pmu_region *first = rl_pmu_regions_find(all, name);
    const struct rl_pmu_region *second = rl_pmu_regions_find(own, name);
    return second && (!first || first->why == RL_PMU_OTHER_THREADS) ? second : first;
}

static enum rl_status miss(struct rl_kernel *kernel, const struct counters_use *use,
                           const char *why, struct rl_error *err)
{
    if (use->flop && !rl_known(rl_kernel_flop(kernel)))
        RL_TRY(rl_missing_add(&kernel->missing, "flop", why, err));
    if (use->bytes && !kernel->n_traffic)
        RL_TRY(rl_missing_add(&kernel->missing, "bytes", why, err));
    return RL_OK;
}

static enum rl_status refuse(const struct rl_pmu_region *region, const struct counters_use *use,
                             struct rl_kernel *kernel, struct rl_profile *profile,
                             struct rl_error *err)
{
    char text[256];
    char why[320];
    rl_pmu_why_text(region->why, NULL, region->detail, text, sizeof text);
    snprintf(why, sizeof why, "hardware counters: %s", text);
    RL_TRY(miss(kernel, use, why, err));
    return rl_profile_note(profile, err, "hardware counters say nothing of region %s: %s",
                           region->name, text);
}

static enum rl_status apply_region(struct rl_pmu *pmu, const struct counters_use *use,
                                   struct rl_kernel *kernel, struct rl_profile *profile,
                                   struct rl_error *err)
{
    char whose[160];
    struct rl_pmu_counts counts;
    const struct rl_pmu_region *region = region_of(pmu, kernel->name);
    snprintf(whose, sizeof whose, "region %.100s", kernel->name);
    if (!region)
        return miss(kernel, use, "hardware counters: the run under them did not enter it", err);
    if (region->why != RL_PMU_FINE)
        return refuse(region, use, kernel, profile, err);
    if (region->coverage < 1)
        RL_TRY(rl_profile_note(profile, err,
                               "the events of %s had their counters for %.1f %% of its time; what "
                               "is extrapolated is not used",
                               whose, 100 * region->coverage));
    rl_pmu_region_counts(pmu, region, &counts);
    return counters_apply_kernel(&counts, use, whose, kernel, profile, err);
}

static enum rl_status note(struct rl_pmu *pmu, unsigned n_runs, struct rl_profile *profile,
                           struct rl_error *err)
{
    const struct rl_pmu_regions *all = rl_pmu_regions_counted(pmu, REGION_SCOPE_PROCESS);
    const struct rl_pmu_regions *own = rl_pmu_regions_counted(pmu, REGION_SCOPE_THREAD);
    RL_TRY(rl_profile_note(profile, err, "regions under hardware counters: %u further run%s",
                           n_runs, n_runs == 1 ? "" : "s"));
    if (own->n_region)
        RL_TRY(rl_profile_note(profile, err,
                               "in regions that several threads opened, hardware counters count "
                               "these threads' own work"));
    if (all->n_foreign || own->n_foreign)
        RL_TRY(rl_profile_note(profile, err,
                               "%u process%s of the program had a roofline-region library of "
                               "another version, which hardware counters cannot use",
                               all->n_foreign + own->n_foreign,
                               all->n_foreign + own->n_foreign == 1 ? "" : "es"));
    return RL_OK;
}

enum rl_status region_counters_apply(struct rl_pmu *pmu, unsigned n_runs,
                                     const struct counters_use *use, struct rl_profile *profile,
                                     struct rl_error *err)
{
    if (n_runs)
        RL_TRY(note(pmu, n_runs, profile, err));
    for (size_t i = 0; i < profile->n_kernel; i++) {
        struct rl_kernel *kernel = &profile->kernel[i];
        if (kernel->kind != RL_KIND_REGION)
            continue;
        if (n_runs)
            RL_TRY(apply_region(pmu, use, kernel, profile, err));
        else if (use->is_only)
            RL_TRY(miss(kernel, use,
                        "hardware counters count regions in runs of their own, and there were none",
                        err));
    }
    return RL_OK;
}
