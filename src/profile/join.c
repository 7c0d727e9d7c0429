#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stack.h"
#include "count/engine/options.h"
#include "profile/copies.h"
#include "profile/images.h"
#include "profile/place.h"
#include "profile/profile.h"
#include "profile/region_threads.h"
#include "profile/tally_cut.h"
#include "profile/totals.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions without time are shown if they did at least this part of the FLOP. */
#define MIN_FLOP_SHARE 0.005
/* … or if they and what they called did this part of it, or took this part of the time. */
#define MIN_TOTAL_SHARE 0.01
/* Counts without those of a program that took this part of the time are not those of the whole. */
#define MAX_UNCOUNTED_SHARE 0.1
/* What so many samples might have been taken in was not missed by all of them: e^-3 is 5 %. */
#define SAMPLES_NOT_MISSED 3
/* What a call of a marked region with nothing in it is found to take: 22 to 53 ns. */
#define REGION_CALL_S 50e-9
/* The sampling interval of a mean of few runs: two-sided 95 % of Student's t by degrees of freedom.
 */
static const double student_t[] = {0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
#define N_STUDENT (sizeof student_t / sizeof *student_t)

/** One value of every run, [n_run]. */
struct times {
    size_t n_run;
    struct rl_sample_time *of; /**< [n_run * n_unit], unit i of run r at r * n_unit + i */
    size_t n_unit;
};

struct join {
    const struct rl_profile_inputs *inputs;
    const struct rl_profile_options *options;
    struct place_table places;
    struct times functions, loops;
    struct totals_sum *total; /**< [tally->n_function] time with callees; NULL: not known */
    struct rl_profile *profile;
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for kernels");
}

/* Mean over runs. The spread is that of the runs, or what sampling alone leaves if that is more. */
static struct rl_value mean_of(const double *value, size_t n, double sampling_spread,
                               enum rl_source source)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += value[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (value[i] - mean) * (value[i] - mean);
    double spread = sampling_spread / sqrt((double)n);
    if (n > 1 && mean > 0) {
        double t = n - 1 < N_STUDENT ? student_t[n - 1] : 1.96;
        double runs = t * sqrt(squares / (double)(n - 1) / (double)n) / mean;
        spread = runs > spread ? runs : spread;
    }
    return rl_value(mean, source, spread);
}

static struct rl_sample_time *time_of(const struct times *times, size_t run, size_t unit)
{
    return &times->of[run * times->n_unit + unit];
}

/* By the rule of three it took less than the time of three samples, 95 % sure. */
static enum rl_status miss_samples(const struct rl_samples *first, size_t n_run,
                                   struct rl_kernel *kernel, struct rl_error *err)
{
    char why[256];
    if (first->method == RL_SAMPLE_NONE || !first->rate_hz)
        return RL_OK;
    if (first->method == RL_SAMPLE_TIMER)
        return rl_missing_add(
            &kernel->missing, "time",
            "it was never seen: it takes next to no time, or it is in a static or "
            "set-user-ID program, where timers see nothing",
            err);
    snprintf(why, sizeof why,
             "it was never seen in %zu run%s, so it takes less than %.2g ms or so a run: more "
             "runs (--repeat N) may see it",
             n_run, n_run == 1 ? "" : "s",
             1e3 * SAMPLES_NOT_MISSED / ((double)first->rate_hz * (double)n_run));
    return rl_missing_add(&kernel->missing, "time", why, err);
}

/* Wall time and threads of one unit over all runs. */
static enum rl_status set_time(const struct join *j, const struct times *times, size_t unit,
                               struct rl_kernel *kernel, struct rl_error *err)
{
    double cpu_s = 0;
    double wall_s = 0;
    double spread = 0;
    uint64_t n_samples = 0;
    double *wall = calloc(times->n_run + 1, sizeof *wall);
    if (!wall)
        return no_memory(err);
    for (size_t r = 0; r < times->n_run; r++) {
        const struct rl_sample_time *t = time_of(times, r, unit);
        wall[r] = t->wall_s;
        wall_s += t->wall_s;
        cpu_s += t->cpu_s;
        n_samples += t->n_samples;
        spread = t->spread > spread ? t->spread : spread;
    }
    if (n_samples) {
        kernel->time_s = mean_of(wall, times->n_run, spread, RL_SOURCE_SAMPLED);
        kernel->threads = rl_value(wall_s > 0 ? cpu_s / wall_s : 1, RL_SOURCE_SAMPLED, 0);
    }
    free(wall);
    return n_samples ? RL_OK : miss_samples(&j->inputs->samples[0], times->n_run, kernel, err);
}

/* What was sampled in code that was not counted has no place among the calls. */
static enum rl_status sum_totals(struct join *j, struct rl_error *err)
{
    const struct rl_tally *tally = j->inputs->tally;
    const struct times *times = &j->functions;
    if (!tally || tally->is_cut)
        return RL_OK;
    double *self = calloc(tally->n_function + 1, sizeof *self);
    j->total = calloc(tally->n_function + 1, sizeof *j->total);
    enum rl_status status = self && j->total ? RL_OK : no_memory(err);
    for (size_t i = 0; !status && i < tally->n_function; i++)
        for (size_t r = 0; r < times->n_run; r++)
            self[i] += time_of(times, r, i)->wall_s / (double)times->n_run;
    if (!status)
        status = totals_sum(tally, self, j->total, err);
    free(self);
    return status;
}

static void set_total_time(const struct join *j, uint32_t counted, struct rl_kernel *kernel)
{
    const struct rl_tally *tally = j->inputs->tally;
    const struct totals_sum *sum =
        j->total && counted < tally->n_function ? &j->total[counted] : NULL;
    if (sum && sum->is_known && sum->value > 0)
        kernel->total_time_s =
            rl_value(sum->value, sum->is_exact ? RL_SOURCE_SAMPLED : RL_SOURCE_MODELLED, 0);
}

static enum rl_status copy_missing(const struct rl_missing_list *from, struct rl_missing_list *to,
                                   struct rl_error *err)
{
    for (size_t i = 0; i < from->n; i++)
        RL_TRY(rl_missing_add(to, from->item[i].what, from->item[i].why, err));
    return RL_OK;
}

static enum rl_status copy_counts(const struct rl_kernel *from, struct rl_kernel *to,
                                  struct rl_error *err)
{
    for (size_t i = 0; i < from->n_ops; i++)
        RL_TRY(rl_kernel_add_ops(to, &from->ops[i], err));
    for (size_t i = 0; i < from->n_traffic; i++) {
        struct rl_traffic *traffic;
        RL_TRY(rl_kernel_traffic(to, from->traffic[i].level, &traffic, err));
        *traffic = from->traffic[i];
    }
    to->calls = from->calls;
    to->flop = from->flop;
    to->iop = from->iop;
    to->useful_flop = from->useful_flop;
    to->total_flop = from->total_flop;
    to->latency_bound_loads = from->latency_bound_loads;
    to->load_bytes = from->load_bytes;
    to->store_bytes = from->store_bytes;
    to->nontemporal_bytes = from->nontemporal_bytes;
    to->working_set_bytes = from->working_set_bytes;
    return copy_missing(&from->missing, &to->missing, err);
}

static bool is_function_asked_for(const struct join *j, const char *name)
{
    bool matches = !j->options->n_function;
    for (size_t i = 0; i < j->options->n_function && !matches; i++)
        matches = fnmatch(j->options->function[i], name, 0) == 0;
    return matches;
}

static bool is_included(const struct join *j, const char *name)
{
    return !j->options->include || fnmatch(j->options->include, name, 0) == 0;
}

static bool is_part(struct rl_value part, struct rl_value all, double share)
{
    return rl_known(part) && rl_known(all) && part.value > share * all.value;
}

/* Where times mean something else loads tell what matters too. */
static bool matters_by_counts(const struct join *j, const struct rl_kernel *kernel)
{
    const struct rl_kernel *all = &j->inputs->tally->program;
    return is_part(rl_kernel_flop(kernel), rl_kernel_flop(all), MIN_FLOP_SHARE) ||
           (j->options->only && is_part(kernel->load_bytes, all->load_bytes, MIN_FLOP_SHARE));
}

/* Functions that do little but call matter by what they called. */
static bool matters_by_callees(const struct join *j, uint32_t counted)
{
    const struct rl_tally *tally = j->inputs->tally;
    if (j->options->only || counted >= tally->n_function)
        return false;
    double all_s = 0;
    for (size_t i = 0; j->total && i < j->functions.n_run; i++)
        all_s += j->inputs->samples[i].sampled_s / (double)j->functions.n_run;
    const struct totals_sum *time = j->total ? &j->total[counted] : NULL;
    return (time && time->is_known && time->value > MIN_TOTAL_SHARE * all_s) ||
           is_part(tally->unit[counted].kernel.total_flop, rl_kernel_flop(&tally->program),
                   MIN_TOTAL_SHARE);
}

/* Worth a row: enough of the time, or of what was counted. */
static bool matters(const struct join *j, const struct times *times, size_t unit)
{
    uint32_t counted = j->places.unit[unit].counted;
    double cpu_s = 0;
    double all_s = 0;
    bool is_loop = counted != RL_TALLY_NONE && j->inputs->tally->unit[counted].kind == RL_KIND_LOOP;
    if (j->options->n_function && !is_loop) /* who names a function wants it, however small */
        return true;
    for (size_t r = 0; r < times->n_run; r++) {
        cpu_s += time_of(times, r, unit)->cpu_s;
        all_s += j->inputs->samples[r].sampled_s;
    }
    if (!j->options->only && cpu_s > 0 && cpu_s >= j->options->min_share * all_s)
        return true;
    return counted != RL_TALLY_NONE &&
           (matters_by_counts(j, &j->inputs->tally->unit[counted].kernel) ||
            matters_by_callees(j, counted));
}

static enum rl_status add_counted(struct join *j, const struct rl_tally_unit *unit,
                                  struct rl_kernel **ret, struct rl_error *err)
{
    const struct rl_kernel *from = &unit->kernel;
    RL_TRY(rl_profile_add(j->profile, unit->kind, from->name, ret, err));
    (*ret)->line = from->line;
    (*ret)->depth = from->depth;
    RL_TRY(rl_string_set(&(*ret)->group, from->group, err));
    RL_TRY(rl_string_set(&(*ret)->file, from->file, err));
    RL_TRY(rl_string_set(&(*ret)->module, j->inputs->tally->module[unit->module].path, err));
    return copy_counts(from, *ret, err);
}

static enum rl_status add_uncounted(struct join *j, const struct place_unit *unit,
                                    struct rl_kernel **ret, struct rl_error *err)
{
    RL_TRY(rl_profile_add(j->profile, RL_KIND_FUNCTION, unit->name, ret, err));
    (*ret)->line = unit->line;
    RL_TRY(rl_string_set(&(*ret)->file, unit->file, err));
    RL_TRY(rl_string_set(&(*ret)->module, unit->module, err));
    if (!j->inputs->tally)
        return RL_OK;
    return rl_missing_add(&(*ret)->missing, "flop",
                          "it ran in the timed run but not in the counted one", err);
}

/* The sampler's object stands in front of the program's own calls; of a process that is attached
 * to, the engine comes and goes between the samples. */
static bool is_ours(const struct join *j, const struct place_unit *unit)
{
    const char *ours[] = {j->options->engine, j->options->preload};
    bool found = false;
    for (size_t i = 0; i < 2 && !found && unit->counted == RL_TALLY_NONE && unit->module; i++)
        found = ours[i] && !strcmp(rl_base_name(unit->module), rl_base_name(ours[i]));
    return found;
}

static enum rl_status add_units(struct join *j, enum rl_kernel_kind kind, const struct times *times,
                                struct rl_error *err)
{
    for (size_t i = 0; i < j->places.n_unit; i++) {
        const struct place_unit *unit = &j->places.unit[i];
        const struct rl_tally_unit *counted =
            unit->counted == RL_TALLY_NONE ? NULL : &j->inputs->tally->unit[unit->counted];
        struct rl_kernel *kernel;
        const char *name = counted ? counted->kernel.name : unit->name;
        const char *function = kind == RL_KIND_LOOP && counted ? counted->kernel.group : name;
        if ((counted ? counted->kind : RL_KIND_FUNCTION) != kind ||
            !is_function_asked_for(j, function) || !is_included(j, name) || !matters(j, times, i) ||
            is_ours(j, unit))
            continue;
        RL_TRY(counted ? add_counted(j, counted, &kernel, err)
                       : add_uncounted(j, unit, &kernel, err));
        if (j->options->only)
            RL_TRY(rl_missing_add(&kernel->missing, "time",
                                  "it was sampled in the whole program, and counted in the regions "
                                  "asked for",
                                  err));
        else
            RL_TRY(set_time(j, times, i, kernel, err));
        if (!j->options->only && kind == RL_KIND_FUNCTION)
            set_total_time(j, unit->counted, kernel);
    }
    return RL_OK;
}

/* Regions */

static const struct rl_kernel *counted_region(const struct rl_tally *tally, const char *name)
{
    for (size_t i = 0; tally && i < tally->n_region; i++) {
        if (!strcmp(tally->region[i].name, name))
            return &tally->region[i].kernel;
    }
    return NULL;
}

/* Wall time of a region in one run: processes run side by side at best, so the longest counts. */
static double region_wall(const struct rl_samples *s, const char *name)
{
    double wall_s = 0;
    for (size_t i = 0; i < s->n_region_wall; i++) {
        const struct rl_sample_region_wall *wall = &s->region_wall[i];
        if (!strcmp(wall->name, name) && wall->wall_s > wall_s)
            wall_s = wall->wall_s;
    }
    return wall_s;
}

static enum rl_status set_region_time(const struct join *j, const char *name,
                                      struct rl_kernel *kernel, struct rl_error *err)
{
    const struct rl_samples *first = &j->inputs->samples[0];
    size_t n = j->inputs->n_samples;
    double inside_s = 0;
    uint64_t calls = 0;
    uint64_t unended = 0;
    enum rl_status status = RL_OK;
    double *wall = calloc(n + 1, sizeof *wall);
    if (!wall)
        return no_memory(err);
    for (size_t r = 0; r < n; r++)
        wall[r] = region_wall(&j->inputs->samples[r], name);
    for (size_t i = 0; i < first->n_region; i++) {
        const struct rl_sample_region *region = &first->region[i];
        if (strcmp(region->name, name) != 0)
            continue;
        inside_s += region->time_s;
        calls += region->calls;
        unended += region->unended;
    }
    if (calls && wall[0] > 0) {
        kernel->time_s =
            mean_of(wall, n, REGION_CALL_S * (double)calls / inside_s, RL_SOURCE_MEASURED);
        status = region_threads(first, name, wall[0], kernel, err);
        kernel->calls = rl_value((double)calls, RL_SOURCE_MEASURED, 0);
    }
    free(wall);
    RL_TRY(status);
    if (unended)
        return rl_missing_add(&kernel->missing, "time",
                              "the region was begun without being ended; that time is not in it",
                              err);
    return RL_OK;
}

static bool has_kernel(const struct rl_profile *profile, enum rl_kernel_kind kind, const char *name)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        if (profile->kernel[i].kind == kind && !strcmp(profile->kernel[i].name, name))
            return true;
    }
    return false;
}

/* Why counts are those of a part only; NULL if they are not. */
static const char *cut_short(const struct rl_tally *tally)
{
    if (tally->is_cut || tally->uncounted_share >= MAX_UNCOUNTED_SHARE)
        return TALLY_CUT_WHY;
    return NULL;
}

static enum rl_status add_region(struct join *j, const char *name, struct rl_error *err)
{
    struct rl_kernel *kernel;
    const struct rl_tally *tally = j->inputs->tally;
    const struct rl_kernel *counted = counted_region(tally, name);
    const char *cut = tally ? cut_short(tally) : NULL;
    if (tally && !cut && tally->regions_overflowed)
        cut = "there was no room for all counts of regions";
    bool asked_for = !j->options->only || rle_options_selects(j->options->only, name);
    if (has_kernel(j->profile, RL_KIND_REGION, name) || !is_included(j, name) || !asked_for)
        return RL_OK;
    RL_TRY(rl_profile_add(j->profile, RL_KIND_REGION, name, &kernel, err));
    if (cut)
        RL_TRY(rl_missing_add(&kernel->missing, "flop", cut, err));
    else if (counted)
        RL_TRY(copy_counts(counted, kernel, err));
    else if (tally)
        RL_TRY(
            rl_missing_add(&kernel->missing, "flop", "counts of regions are not known here", err));
    return set_region_time(j, name, kernel, err);
}

static enum rl_status add_regions(struct join *j, struct rl_error *err)
{
    const struct rl_samples *samples = j->inputs->samples;
    const struct rl_tally *tally = j->inputs->tally;
    for (size_t i = 0; i < samples->n_region; i++)
        RL_TRY(add_region(j, samples->region[i].name, err));
    for (size_t i = 0; tally && i < tally->n_region; i++)
        RL_TRY(add_region(j, tally->region[i].name, err));
    return RL_OK;
}

/* The kernel's figure leaves out children that were not waited for; samples leave out the kernel.
 */
static double cpu_s_of(const struct rl_samples *samples)
{
    return fmax(samples->user_s + samples->system_s, samples->sampled_s);
}

static enum rl_status set_program_time(const struct rl_profile_inputs *in,
                                       struct rl_profile *profile, struct rl_error *err)
{
    double *elapsed = calloc(in->n_samples + 1, sizeof *elapsed);
    double *cpu = calloc(in->n_samples + 1, sizeof *cpu);
    bool ok = elapsed && cpu;
    for (size_t r = 0; ok && r < in->n_samples; r++) {
        elapsed[r] = in->samples[r].elapsed_s;
        cpu[r] = cpu_s_of(&in->samples[r]);
    }
    if (ok)
        profile->elapsed_s = mean_of(elapsed, in->n_samples, 0, RL_SOURCE_MEASURED);
    if (ok && cpu[0] > 0)
        profile->cpu_s = mean_of(cpu, in->n_samples, 0, RL_SOURCE_MEASURED);
    free(elapsed);
    free(cpu);
    return ok ? RL_OK : no_memory(err);
}

/* Set-user-ID and 32-bit programs, for example, run on uncounted. */
static enum rl_status miss_uncounted(const struct join *j, bool *ret_whole, struct rl_error *err)
{
    const struct rl_profile_inputs *in = j->inputs;
    struct images images;
    double uncounted_s, all_s = 0;
    RL_TRY(images_find(in->samples, in->n_samples, in->tally, &images, err));
    const struct image *most = images_uncounted(&images, &uncounted_s);
    for (size_t i = 0; i < images.n; i++)
        all_s += images.of[i].cpu_s;
    *ret_whole = !most || uncounted_s < MAX_UNCOUNTED_SHARE * all_s;
    enum rl_status status = RL_OK;
    if (!*ret_whole) {
        char why[256];
        snprintf(why, sizeof why, "%.128s took %.0f %% of the time and was not counted",
                 image_name(most), 100 * most->cpu_s / all_s);
        status = rl_missing_add(&j->profile->kernel[0].missing, "flop", why, err);
    }
    images_release(&images);
    return status;
}

static enum rl_status add_program(struct join *j, struct rl_error *err)
{
    const struct rl_profile_inputs *in = j->inputs;
    struct rl_profile *profile = j->profile;
    struct rl_kernel *kernel;
    RL_TRY(set_program_time(in, profile, err));
    if (in->samples[0].mean_threads > 0)
        profile->threads = rl_value(in->samples[0].mean_threads, RL_SOURCE_SAMPLED, 0);
    RL_TRY(rl_profile_add(profile, RL_KIND_PROGRAM, profile->name ? profile->name : "program",
                          &kernel, err));
    kernel->time_s = profile->elapsed_s;
    kernel->threads = profile->threads;
    if (in->tally && j->options->only)
        return rl_missing_add(&kernel->missing, "flop", "only the regions asked for were looked at",
                              err);
    bool is_whole = in->tally != NULL;
    const char *cut = in->tally ? cut_short(in->tally) : NULL;
    if (cut) {
        is_whole = false;
        RL_TRY(rl_missing_add(&kernel->missing, "flop", cut, err));
    } else if (in->tally && !j->options->no_follow) {
        RL_TRY(miss_uncounted(j, &is_whole, err));
    }
    return is_whole ? copy_counts(&in->tally->program, kernel, err) : RL_OK;
}

/* Programs of a job */

static bool image_matters(const struct join *j, const struct image *image)
{
    double all_s = 0;
    for (size_t r = 0; r < j->inputs->n_samples; r++)
        all_s += j->inputs->samples[r].sampled_s;
    if (image->cpu_s > 0 && image->cpu_s >= j->options->min_share * all_s)
        return true;
    return image->counted && matters_by_counts(j, image->counted);
}

static enum rl_status add_image(struct join *j, const struct image *image,
                                const struct times *times, size_t at, struct rl_error *err)
{
    struct rl_kernel *kernel;
    char text[32];
    if (!image_matters(j, image) || !is_included(j, image_name(image)))
        return RL_OK;
    RL_TRY(rl_profile_add(j->profile, RL_KIND_PROGRAM, image_name(image), &kernel, err));
    RL_TRY(rl_string_set(&kernel->module, image->path, err));
    snprintf(text, sizeof text, "%zu", image->n_process);
    RL_TRY(rl_kernel_set_parameter(kernel, "processes", text, err));
    RL_TRY(set_time(j, times, at, kernel, err));
    if (image->counted)
        return copy_counts(image->counted, kernel, err);
    return j->inputs->tally
               ? rl_missing_add(&kernel->missing, "flop",
                                "it ran in the timed run but not in the counted one", err)
               : RL_OK;
}

static enum rl_status time_images(struct join *j, const struct images *images, struct times *times,
                                  struct rl_error *err)
{
    size_t n = j->inputs->n_samples;
    *times = (struct times){.n_run = n, .n_unit = images->n};
    times->of = calloc(n * images->n + 1, sizeof *times->of);
    enum rl_status status = times->of ? RL_OK : no_memory(err);
    for (size_t r = 0; r < n && !status; r++) {
        const struct rl_samples *samples = &j->inputs->samples[r];
        uint32_t *group = calloc(samples->n_bucket + 1, sizeof *group);
        if (!group)
            return no_memory(err);
        images_group(images, samples, group);
        status = rl_samples_group(samples, group, images->n, time_of(times, r, 0), err);
        free(group);
    }
    return status;
}

/* One program is what the row of the whole tells of. */
static enum rl_status add_images(struct join *j, struct rl_error *err)
{
    const struct rl_profile_inputs *in = j->inputs;
    struct images images;
    struct times times = {0};
    size_t n = 0;
    if (j->options->only || j->options->no_follow)
        return RL_OK;
    RL_TRY(images_find(in->samples, in->n_samples, in->tally, &images, err));
    for (size_t i = 0; i < images.n; i++)
        n += image_matters(j, &images.of[i]);
    enum rl_status status = n > 1 ? time_images(j, &images, &times, err) : RL_OK;
    if (n > 1 && !status)
        status = rl_string_set(&j->profile->kernel[0].name, "all processes", err);
    for (size_t i = 0; n > 1 && i < images.n && !status; i++)
        status = add_image(j, &images.of[i], &times, i, err);
    free(times.of);
    images_release(&images);
    return status;
}

static enum rl_status group_runs(struct join *j, uint32_t **group, struct times *times,
                                 struct rl_error *err)
{
    size_t n_unit = j->places.n_unit;
    times->n_run = j->inputs->n_samples;
    times->n_unit = n_unit;
    times->of = calloc(times->n_run * n_unit + 1, sizeof *times->of);
    if (!times->of)
        return no_memory(err);
    for (size_t r = 0; r < times->n_run; r++)
        RL_TRY(rl_samples_group(&j->inputs->samples[r], group[r], n_unit, times->of + r * n_unit,
                                err));
    return RL_OK;
}

/* Is it the program itself, or one of its forks that is still the same program? */
static bool is_own(const struct rl_samples *s, uint32_t process)
{
    for (size_t steps = 0; process != 0 && steps < s->n_process; steps++) {
        const struct rl_sample_process *p = &s->process[process];
        uint32_t parent = 0;
        if (p->was_execed)
            return false;
        for (uint32_t i = 0; i < process; i++)
            if (s->process[i].pid == p->parent_pid)
                parent = i;
        process = parent;
    }
    return true;
}

static void leave_out_children(const struct rl_samples *s, uint32_t *function, uint32_t *loop)
{
    for (size_t i = 0; i < s->n_bucket; i++)
        if (!is_own(s, s->thread[s->bucket[i].thread].process))
            function[i] = loop[i] = RL_SAMPLE_NO_GROUP;
}

/* All runs are placed first: each may find functions that the others did not sample. */
static enum rl_status measure_units(struct join *j, uint32_t **function, uint32_t **loop,
                                    struct rl_error *err)
{
    for (size_t r = 0; r < j->inputs->n_samples; r++) {
        const struct rl_samples *samples = &j->inputs->samples[r];
        function[r] = calloc(samples->n_bucket + 1, sizeof **function);
        loop[r] = calloc(samples->n_bucket + 1, sizeof **loop);
        if (!function[r] || !loop[r])
            return no_memory(err);
        RL_TRY(place_buckets(&j->places, samples, function[r], loop[r], err));
        if (j->options->no_follow)
            leave_out_children(samples, function[r], loop[r]);
    }
    RL_TRY(group_runs(j, function, &j->functions, err));
    RL_TRY(sum_totals(j, err));
    return group_runs(j, loop, &j->loops, err);
}

static enum rl_status join_units(struct join *j, struct rl_error *err)
{
    size_t n = j->inputs->n_samples;
    uint32_t **function = calloc(n + 1, sizeof *function);
    uint32_t **loop = calloc(n + 1, sizeof *loop);
    enum rl_status status = function && loop ? RL_OK : no_memory(err);
    if (status == RL_OK)
        status = measure_units(j, function, loop, err);
    for (size_t r = 0; r < n; r++) {
        if (function)
            free(function[r]);
        if (loop)
            free(loop[r]);
    }
    free(function);
    free(loop);
    RL_TRY(status);
    if (j->options->functions)
        RL_TRY(add_units(j, RL_KIND_FUNCTION, &j->functions, err));
    if (j->options->loops)
        RL_TRY(add_units(j, RL_KIND_LOOP, &j->loops, err));
    return RL_OK;
}

static enum rl_status run_join(void *context, struct rl_error *err)
{
    struct join j = *(const struct join *)context;
    const struct rl_profile_inputs *inputs = j.inputs;
    const struct rl_profile_options *options = j.options;
    struct rl_profile *profile = j.profile;
    struct copies copies;
    RL_TRY(copies_find(inputs->samples, inputs->n_samples, &copies, err));
    struct rl_symbols_options symbols = copies_options(&copies);
    enum rl_status status = place_new(inputs->tally, &symbols, &j.places, err);
    if (status == RL_OK)
        status = add_program(&j, err);
    if (status == RL_OK)
        status = add_images(&j, err);
    if (status == RL_OK && options->regions && !options->n_function)
        status = add_regions(&j, err);
    if (status == RL_OK && (options->functions || options->loops))
        status = join_units(&j, err);
    if (status == RL_OK && (options->only || options->n_function) && profile->n_kernel == 1)
        status = rl_profile_note(
            profile, err, "%s",
            options->only ? "no region of that name was entered"
                          : "no function of that name was seen to run (it may be inlined)");
    if (status == RL_OK && options->no_follow)
        status = rl_profile_note(profile, err,
                                 "programs that the program started are left out, as asked");
    free(j.functions.of);
    free(j.loops.of);
    free(j.total);
    place_release(&j.places);
    copies_release(&copies);
    return status;
}

enum rl_status rl_profile_join(const struct rl_profile_inputs *inputs,
                               const struct rl_profile_options *options, struct rl_profile *profile,
                               struct rl_error *err)
{
    struct join j = {.inputs = inputs, .options = options, .profile = profile};
    if (!inputs->n_samples)
        return rl_fail(err, RL_EINVAL, "no run to make a profile from");
    return rl_run_with_stack(run_join, &j, err);
}
