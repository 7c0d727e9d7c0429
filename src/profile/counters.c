#include "profile/counters.h"
#include "base/child.h"
#include "base/error.h"
#include "profile/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two sources that differ by more are worth a note, … */
#define MAX_DISAGREEMENT 0.05
/* … unless there is so little that the start of the program is most of it. */
#define MIN_COMPARED 1e6

enum rl_status counters_run(const char *const *argv, const char *const *envp,
                            const struct counters_options *options, struct counters_end *ret,
                            struct rl_error *err)
{
    struct rl_child child;
    struct rl_child_end end = {0};
    struct watched watched = {0};
    RL_TRY(rl_child_start(argv, envp, options->discard_output, &child, err));
    enum rl_status status = options->events
                                ? rl_named_events_start(options->events, child.pid, err)
                                : rl_pmu_start(options->pmu, options->pass, child.pid, err);
    if (status == RL_OK)
        status = watch_child(&child, options->progress, options->context, &watched, err);
    enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
    RL_TRY(status);
    RL_TRY(finish);
    if (options->events)
        rl_named_events_stop(options->events);
    else if (!watched.interrupted_by)
        RL_TRY(rl_pmu_stop(options->pmu, err));
    *ret = (struct counters_end){.elapsed_s = watched.elapsed_s,
                                 .interrupted_by = watched.interrupted_by,
                                 .wait_status = end.wait_status};
    return RL_OK;
}

/** A kernel that counts are put into. */
struct target {
    struct rl_kernel *kernel;
    const char *whose;
    struct rl_profile *profile; /* for notes */
};

static enum rl_status compare(const struct target *to, const char *what, double own,
                              const char *how, double counted, struct rl_error *err)
{
    double larger = fmax(own, counted);
    if (larger < MIN_COMPARED || fabs(own - counted) <= MAX_DISAGREEMENT * larger)
        return RL_OK;
    return rl_profile_note(to->profile, err,
                           "%s of %s disagree: %.4g %s, %.4g by hardware counters, %.0f %% apart",
                           what, to->whose, own, how, counted, 100 * fabs(own - counted) / larger);
}

/* A precision that no row speaks of was not executed. */
static double flop_of(const struct rl_kernel *kernel, enum rl_precision precision)
{
    struct rl_value flop = rl_kernel_flop_of(kernel, precision);
    return rl_known(flop) ? flop.value : 0;
}

static const enum rl_precision counted[] = {RL_FP64, RL_FP32, RL_FP16, RL_BF16};
#define N_COUNTED (sizeof counted / sizeof *counted)

/* By precision where counters tell them apart. */
static enum rl_status compare_flop(const struct rl_pmu_counts *counts, const struct target *to,
                                   struct rl_error *err)
{
    static const char how[] = "counted by the engine";
    bool compared = false;
    double all = 0;
    for (size_t i = 0; i < N_COUNTED; i++) {
        char what[32];
        const struct rl_value *value = &counts->flop_of[counted[i]].value;
        double own = flop_of(to->kernel, counted[i]);
        all += own;
        if (!rl_known(*value))
            continue;
        compared = true;
        snprintf(what, sizeof what, "%s FLOP", rl_precision_name(counted[i]));
        RL_TRY(compare(to, what, own, how, value->value, err));
    }
    if (compared || !rl_known(counts->flop.value))
        return RL_OK;
    return compare(to, "FLOP", all, how, counts->flop.value.value, err);
}

static enum rl_status copy_missing(const struct rl_kernel *from, const char *what,
                                   struct rl_kernel *to, struct rl_error *err)
{
    for (size_t i = 0; i < from->missing.n; i++) {
        const struct rl_missing *m = &from->missing.item[i];
        if (!strncmp(m->what, what, strlen(what)))
            RL_TRY(rl_missing_add(&to->missing, m->what, m->why, err));
    }
    return RL_OK;
}

static enum rl_status apply_flop(const struct rl_pmu_counts *counts,
                                 const struct rl_kernel *measured, const struct target *to,
                                 struct rl_error *err)
{
    if (rl_known(rl_kernel_flop(to->kernel)))
        return compare_flop(counts, to, err);
    to->kernel->flop = measured->flop;
    return copy_missing(measured, "flop", to->kernel, err);
}

static const struct rl_pmu_level *level_of(const struct rl_pmu_counts *counts, const char *name)
{
    for (size_t i = 0; i < RL_PMU_LEVELS; i++) {
        if (!strcmp(counts->level[i].name, name))
            return &counts->level[i];
    }
    return NULL;
}

/* Memory controllers count for everybody: that is no better than a simulation of this program. */
static enum rl_status apply_level(const struct rl_pmu_counts *counts,
                                  const struct rl_traffic *measured, const struct target *to,
                                  struct rl_error *err)
{
    char what[32];
    struct rl_traffic *row;
    const struct rl_pmu_level *level = level_of(counts, measured->level);
    bool is_own = level && rl_known(level->total.value);
    RL_TRY(rl_kernel_traffic(to->kernel, measured->level, &row, err));
    if (!rl_known(row->bytes)) {
        row->bytes = measured->bytes;
        return RL_OK;
    }
    snprintf(what, sizeof what, "%s bytes", measured->level);
    RL_TRY(compare(to, what, row->bytes.value, rl_source_name(row->bytes.source),
                   measured->bytes.value, err));
    if (is_own) {
        struct rl_value compulsory = row->compulsory;
        char name[sizeof row->level];
        memcpy(name, row->level, sizeof name);
        *row = (struct rl_traffic){
            .bytes = measured->bytes, .write = level->write.value, .compulsory = compulsory};
        memcpy(row->level, name, sizeof name);
    }
    return RL_OK;
}

/* Where only what comes in is counted, it can still be compared. */
static enum rl_status compare_fills(const struct rl_pmu_counts *counts, const struct target *to,
                                    struct rl_error *err)
{
    for (size_t i = 0; i < RL_PMU_LEVELS; i++) {
        char what[48];
        const struct rl_pmu_level *level = &counts->level[i];
        const struct rl_traffic *row = rl_kernel_find_traffic(to->kernel, level->name);
        if (rl_known(level->total.value) || !rl_known(level->fill.value) || !row ||
            !rl_known(row->read))
            continue;
        double own = row->read.value;
        own += rl_known(row->write_allocate) ? row->write_allocate.value : 0;
        snprintf(what, sizeof what, "%s bytes towards the core", level->name);
        RL_TRY(
            compare(to, what, own, rl_source_name(row->read.source), level->fill.value.value, err));
    }
    return RL_OK;
}

static enum rl_status apply_bytes(const struct rl_pmu_counts *counts,
                                  const struct rl_kernel *measured, const struct target *to,
                                  struct rl_error *err)
{
    RL_TRY(compare_fills(counts, to, err));
    for (size_t i = 0; i < measured->n_traffic; i++)
        RL_TRY(apply_level(counts, &measured->traffic[i], to, err));
    for (size_t i = 0; i < RL_PMU_LEVELS; i++) {
        char what[32];
        const struct rl_traffic *row = rl_kernel_find_traffic(to->kernel, counts->level[i].name);
        snprintf(what, sizeof what, "bytes.%s", counts->level[i].name);
        if (!row || !rl_known(row->bytes))
            RL_TRY(copy_missing(measured, what, to->kernel, err));
    }
    return RL_OK;
}

static enum rl_status explain_kernels(const struct counters_use *use, struct rl_profile *profile,
                                      struct rl_error *err)
{
    static const char why[] =
        "hardware counters know the program as a whole and its marked regions "
        "only; the engine counts its functions";
    bool is_whole = true; /* the first row of a program is that of all */
    for (size_t i = 0; i < profile->n_kernel; i++) {
        struct rl_kernel *k = &profile->kernel[i];
        bool skip = is_whole && k->kind == RL_KIND_PROGRAM;
        is_whole &= !skip;
        if (skip || k->kind == RL_KIND_REGION)
            continue;
        if (use->flop)
            RL_TRY(rl_missing_add(&k->missing, "flop", why, err));
        if (use->bytes)
            RL_TRY(rl_missing_add(&k->missing, "bytes", why, err));
    }
    return RL_OK;
}

static enum rl_status apply(const struct rl_pmu_counts *counts, const struct counters_use *use,
                            const struct rl_kernel *measured, const struct target *to,
                            struct rl_error *err)
{
    if (use->flop)
        RL_TRY(apply_flop(counts, measured, to, err));
    return use->bytes ? apply_bytes(counts, measured, to, err) : RL_OK;
}

enum rl_status counters_apply_kernel(const struct rl_pmu_counts *counts,
                                     const struct counters_use *use, const char *whose,
                                     struct rl_kernel *kernel, struct rl_profile *profile,
                                     struct rl_error *err)
{
    const struct target to = {kernel, whose, profile};
    struct rl_kernel measured = {0};
    enum rl_status status = rl_pmu_counts_fill(counts, &measured, err);
    if (status == RL_OK)
        status = apply(counts, use, &measured, &to, err);
    rl_kernel_release(&measured);
    return status;
}

static struct rl_kernel *program_of(struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        if (profile->kernel[i].kind == RL_KIND_PROGRAM)
            return &profile->kernel[i];
    }
    return NULL;
}

enum rl_status counters_apply(const struct rl_pmu_counts *counts, const struct counters_use *use,
                              struct rl_profile *profile, struct rl_error *err)
{
    struct rl_kernel *program = program_of(profile);
    if (!program)
        return rl_fail(err, RL_EINVAL, "a profile without its program");
    RL_TRY(rl_pmu_counts_note(counts, profile, err));
    RL_TRY(counters_apply_kernel(counts, use, "the program", program, profile, err));
    return use->is_only ? explain_kernels(use, profile, err) : RL_OK;
}

static enum rl_status apply_event(const struct rl_named_event *event, struct rl_kernel *program,
                                  struct rl_profile *profile, struct rl_error *err)
{
    char key[sizeof event->name + 8];
    char text[256];
    snprintf(key, sizeof key, "event.%s", event->name);
    if (event->why != RL_PMU_FINE)
        return rl_missing_add(&program->missing, key,
                              rl_pmu_why_text(event->why, NULL, NULL, text, sizeof text), err);
    snprintf(text, sizeof text, "%" PRIu64, event->value);
    RL_TRY(rl_kernel_set_parameter(program, key, text, err));
    return rl_profile_note(profile, err, "%s of the program: %s, as the processor counts it",
                           event->name, text);
}

enum rl_status counters_apply_events(const struct rl_named_events *events,
                                     struct rl_profile *profile, struct rl_error *err)
{
    size_t n;
    const struct rl_named_event *event = rl_named_events_list(events, &n);
    struct rl_kernel *program = program_of(profile);
    if (!program)
        return rl_fail(err, RL_EINVAL, "a profile without its program");
    for (size_t i = 0; i < n; i++)
        RL_TRY(apply_event(&event[i], program, profile, err));
    return RL_OK;
}
