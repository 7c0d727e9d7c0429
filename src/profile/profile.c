#include "profile/profile.h"
#include "base/child.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/agree.h"
#include "profile/agree_code.h"
#include "profile/copies.h"
#include "profile/counters.h"
#include "profile/counting.h"
#include "profile/images.h"
#include "profile/jit.h"
#include "profile/profile_internal.h"
#include "profile/region_counters.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const count_names[] = {"auto", "engine", "pmu", "none"};
static const char *const traffic_names[] = {"model", "full", "pmu", "none"};

/* Counting is expected to take this much longer than running. */
#define COUNTING_FACTOR 1.5

#define RATE_LEN 160

/* A program that took this part of the CPU time is what a profile is named after. */
#define MOST_OF_THE_WORK 0.9

static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (!strcmp(names[i], name))
            return i;
    }
    return -1;
}

const char *rl_profile_count_name(enum rl_profile_count count)
{
    return (unsigned)count <= RL_COUNT_NONE ? count_names[count] : NULL;
}

bool rl_profile_count_from_name(const char *name, enum rl_profile_count *ret_count)
{
    int i = find_name(count_names, RL_COUNT_NONE + 1, name);
    if (i >= 0)
        *ret_count = (enum rl_profile_count)i;
    return i >= 0;
}

const char *rl_profile_traffic_name(enum rl_profile_traffic traffic)
{
    return (unsigned)traffic <= RL_TRAFFIC_NONE ? traffic_names[traffic] : NULL;
}

bool rl_profile_traffic_from_name(const char *name, enum rl_profile_traffic *ret_traffic)
{
    int i = find_name(traffic_names, RL_TRAFFIC_NONE + 1, name);
    if (i >= 0)
        *ret_traffic = (enum rl_profile_traffic)i;
    return i >= 0;
}

/** One profiling in progress. */
struct session {
    const char *const *argv, *const *envp;
    const struct rl_profile_options *options;
    struct rl_samples *samples; /**< [n_samples] */
    struct copies copies;       /**< of the counting run */
    size_t n_samples;
    struct counting counting;
    bool has_counting;
    struct counters_end counters; /**< the last run under hardware counters */
    unsigned n_counters;          /**< such runs that were done, all of them or none */
    unsigned n_region_runs;       /**< further ones for its regions, likewise */
    struct rl_tally tally;
    bool has_tally;
    struct rl_profile profile;
    off_t input_at; /**< where standard input stood; -1: it cannot be rewound */
    bool had_input; /**< there was, or could come, something to read in it */
    bool is_silent; /**< this pass's output is discarded */
    char pass[64];
    double expected_s;
};

static void session_release(struct session *s)
{
    for (size_t i = 0; i < s->n_samples; i++)
        rl_samples_release(&s->samples[i]);
    free(s->samples);
    if (s->has_counting)
        counting_release(&s->counting);
    if (s->has_tally)
        rl_tally_release(&s->tally);
    copies_release(&s->copies);
    rl_profile_release(&s->profile);
}

static void on_progress(void *context, double elapsed_s)
{
    struct session *s = context;
    if (s->options->progress)
        s->options->progress(s->options->context, s->pass, elapsed_s, s->expected_s, s->is_silent);
}

/* Every pass reads the same input, if that is a file. */
static void rewind_input(const struct session *s)
{
    if (s->input_at >= 0)
        lseek(STDIN_FILENO, s->input_at, SEEK_SET);
}

static bool is_cancelled(const struct session *s)
{
    return s->options->cancelled && s->options->cancelled(s->options->context);
}

static bool is_interrupted(const struct session *s)
{
    return is_cancelled(s) || (s->n_samples && s->samples[s->n_samples - 1].interrupted_by);
}

/* Ended because nobody read its output any more, as in `… | head`. Runs whose output is discarded
 * would go on, perhaps for ever. */
static bool lost_its_reader(const struct session *s)
{
    enum { STATUS_OF_A_SHELL = 128 };
    int status = s->n_samples ? s->samples[0].wait_status : 0;
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OF_A_SHELL + SIGPIPE);
}

/* A program that deletes its own file, as some do that unpack themselves, runs but once. */
static bool is_gone(const struct session *s)
{
    char path[PATH_MAX];
    struct rl_error why;
    return s->n_samples && rl_child_find(s->argv[0], s->envp, path, &why) != RL_OK;
}

static enum rl_status run_native(struct session *s, unsigned n, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    struct rl_sample_options how = {
        .method = o->sampling,
        .preload = o->preload,
        .regions = o->regions,
        .scratch_dir = o->scratch_dir,
        .progress = on_progress,
        .progress_context = s,
    };
    for (unsigned i = 0; i < n; i++) {
        snprintf(s->pass, sizeof s->pass, "timing, run %u of %u", i + 1, n);
        s->expected_s = i ? s->samples[0].elapsed_s : 0;
        s->is_silent = how.discard_output = i > 0;
        how.rate_hz = i ? s->samples[0].rate_hz : o->rate_hz;
        rewind_input(s);
        RL_TRY(rl_sample_run(s->argv, s->envp, &how, &s->samples[i], err));
        s->n_samples++;
        if (is_interrupted(s) || lost_its_reader(s) || is_gone(s))
            break;
    }
    return RL_OK;
}

static enum rl_status miss_counts(struct session *s, const char *why, struct rl_error *err)
{
    RL_TRY(rl_missing_add(&s->profile.missing, "flop", why, err));
    return rl_missing_add(&s->profile.missing, "bytes", why, err);
}

static enum rl_status read_counts(struct session *s, const char *const *file, size_t n,
                                  struct rl_error *err)
{
    struct rl_tally_options options = {.loops = s->options->loops, .only = s->options->only};
    struct rl_tally_traffic traffic;
    if (s->counting.traffic) {
        rl_tally_traffic_of(s->counting.traffic, s->counting.caches.n_levels, &traffic);
        options.traffic = &traffic;
    } else if (s->has_counting) {
        RL_TRY(rl_missing_add(&s->profile.missing, "bytes", s->counting.traffic_missing, err));
    }
    if (s->n_samples)
        RL_TRY(copies_find(s->samples, s->n_samples, &s->copies, err));
    struct rl_symbols_options symbols = copies_options(&s->copies);
    options.symbols = &symbols;
    enum rl_status status = rl_tally_build(file, n, &options, &s->tally, err);
    copies_release(&s->copies);
    RL_TRY(status);
    s->has_tally = true;
    for (size_t i = 0; i < s->tally.n_note; i++)
        RL_TRY(rl_profile_note(&s->profile, err, "%s", s->tally.note[i]));
    if (s->tally.uncounted_share > 0)
        RL_TRY(rl_profile_note(&s->profile, err, "%.1f %% of the work was not counted",
                               100 * s->tally.uncounted_share));
    return RL_OK;
}

/* The object that sees the markers of other tools is only put into programs that have any. */
static bool uses_regions(const struct session *s)
{
    return s->options->regions && (!s->n_samples || s->samples[0].n_region);
}

/* With --count auto, being unable to count is a gap in the profile; on demand it is a failure. */
static enum rl_status count(struct session *s, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    struct rl_error why = {0};
    if (o->n_replay)
        return read_counts(s, o->replay, o->n_replay, err);
    if (o->count == RL_COUNT_NONE && o->traffic == RL_TRAFFIC_PMU)
        return rl_missing_add(&s->profile.missing, "flop", "counting was switched off", err);
    if (o->count == RL_COUNT_NONE)
        return miss_counts(s, "counting was switched off", err);
    if (is_interrupted(s))
        return miss_counts(s, "the program was interrupted before it was counted", err);
    if (lost_its_reader(s))
        return miss_counts(s,
                           "the program ended because its output was no longer read, and without "
                           "a reader it would not have; --single-pass counts the run that is read",
                           err);
    if (o->count == RL_COUNT_PMU)
        return RL_OK;
    struct counting_options how = {
        .engine = o->engine,
        .launcher = o->launcher,
        .markers = uses_regions(s) ? o->preload : NULL,
        .traffic = o->traffic,
        .no_follow = o->no_follow,
        .only = o->only,
        .machine = o->machine,
        .scratch_dir = o->scratch_dir,
        .discard_output = s->n_samples > 0,
        .progress = on_progress,
        .context = s,
    };
    s->is_silent = how.discard_output;
    snprintf(s->pass, sizeof s->pass, "counting");
    s->expected_s = s->n_samples ? COUNTING_FACTOR * s->samples[0].elapsed_s : 0;
    rewind_input(s);
    if (s->n_samples && s->had_input && agree_input_is_spent(STDIN_FILENO))
        RL_TRY(agree_note_input(&s->profile, err));
    if (!s->n_samples)
        RL_TRY(copies_hold(&s->copies, s->argv[0], s->envp, err));
    enum rl_status status =
        is_gone(s) ? rl_fail(&why, RL_EUNAVAIL,
                             "%s was deleted while it was timed; --single-pass counts and times "
                             "one run",
                             s->argv[0])
                   : counting_run(s->argv, s->envp, &how, &s->counting, &why);
    if (status == RL_OK) {
        s->has_counting = true;
        return read_counts(s, (const char *const *)s->counting.results.path, s->counting.results.n,
                           err);
    }
    if (status == RL_EUNAVAIL && o->count == RL_COUNT_AUTO && s->n_samples)
        return miss_counts(s, why.text, err);
    return rl_fail(err, status, "%s", why.text);
}

static bool demands_counters(const struct rl_profile_options *o)
{
    return o->count == RL_COUNT_PMU || o->traffic == RL_TRAFFIC_PMU;
}

/* Beside the engine the first run will do: it counts what matters most. */
static unsigned counter_runs(const struct session *s)
{
    const struct rl_profile_options *o = s->options;
    bool is_extra = o->count == RL_COUNT_AUTO && !o->single_pass && !o->n_replay;
    if (!o->counters || (!demands_counters(o) && !is_extra))
        return 0;
    unsigned n = rl_pmu_passes(o->counters);
    return n && (o->single_pass || (s->has_tally && !demands_counters(o))) ? 1 : n;
}

static enum rl_status miss_counters(struct session *s, struct rl_error *err)
{
    static const char why[] = "the program was interrupted while hardware counters counted it";
    if (s->options->count == RL_COUNT_PMU)
        return miss_counts(s, why, err);
    return s->options->traffic == RL_TRAFFIC_PMU
               ? rl_missing_add(&s->profile.missing, "bytes", why, err)
               : RL_OK;
}

static enum rl_status run_counters(struct session *s, struct rl_error *err)
{
    unsigned n = counter_runs(s);
    struct counters_options how = {.pmu = s->options->counters,
                                   .discard_output = s->n_samples || s->has_counting,
                                   .progress = on_progress,
                                   .context = s};
    if (is_interrupted(s) || s->counting.interrupted_by || lost_its_reader(s))
        return RL_OK;
    s->is_silent = how.discard_output;
    s->expected_s = s->n_samples ? s->samples[0].elapsed_s : 0;
    for (; how.pass < n && !s->counters.interrupted_by; how.pass++) {
        snprintf(s->pass, sizeof s->pass, "run %u of %u under hardware counters", how.pass + 1, n);
        rewind_input(s);
        RL_TRY(counters_run(s->argv, s->envp, &how, &s->counters, err));
        if (s->n_samples)
            RL_TRY(agree_check_end(s->samples[0].wait_status, s->counters.wait_status, s->pass,
                                   &s->profile, err));
    }
    if (n && s->counters.interrupted_by)
        return miss_counters(s, err);
    s->n_counters = n;
    return RL_OK;
}

static enum rl_status run_regions(struct session *s, enum region_scope scope, unsigned n,
                                  struct rl_error *err)
{
    struct region_counters_options how = {
        .run = {.pmu = s->options->counters,
                .discard_output = true,
                .progress = on_progress,
                .context = s},
        .scope = scope,
        .markers = s->options->preload,
        .scratch_dir = s->options->scratch_dir,
    };
    for (; how.run.pass < n && !s->counters.interrupted_by; how.run.pass++) {
        snprintf(s->pass, sizeof s->pass, "regions under hardware counters, run %u of %u",
                 how.run.pass + 1, n);
        rewind_input(s);
        enum rl_status status = region_counters_run(s->argv, s->envp, &how, &s->counters, err);
        if (status == RL_ENODATA)
            continue; /* memory controllers know no regions */
        RL_TRY(status);
        s->n_region_runs++;
        RL_TRY(agree_check_end(s->samples[0].wait_status, s->counters.wait_status, s->pass,
                               &s->profile, err));
    }
    return RL_OK;
}

/* Who opens which region is known from the timed run; without one there is none of these. */
static enum rl_status run_region_counters(struct session *s, struct rl_error *err)
{
    unsigned n = s->n_counters;
    if (!n || !s->n_samples || !uses_regions(s))
        return RL_OK;
    struct region_scopes scopes = region_scopes_of(&s->samples[0]);
    s->is_silent = true;
    s->expected_s = s->samples[0].elapsed_s;
    if (scopes.process)
        RL_TRY(run_regions(s, REGION_SCOPE_PROCESS, n, err));
    if (scopes.thread && !s->counters.interrupted_by)
        RL_TRY(run_regions(s, REGION_SCOPE_THREAD, n, err));
    if (s->counters.interrupted_by)
        s->n_region_runs = 0;
    return RL_OK;
}

/* A run of its own, without the engine: events would count that. */
static enum rl_status run_events(struct session *s, struct rl_error *err)
{
    struct counters_options how = {.events = s->options->events,
                                   .discard_output = s->n_samples || s->has_counting,
                                   .progress = on_progress,
                                   .context = s};
    if (!how.events || is_interrupted(s) || s->counting.interrupted_by ||
        s->counters.interrupted_by || lost_its_reader(s))
        return RL_OK;
    s->is_silent = how.discard_output;
    s->expected_s = s->n_samples ? s->samples[0].elapsed_s : 0;
    snprintf(s->pass, sizeof s->pass, "run for the events named");
    rewind_input(s);
    RL_TRY(counters_run(s->argv, s->envp, &how, &s->counters, err));
    return s->n_samples ? agree_check_end(s->samples[0].wait_status, s->counters.wait_status,
                                          s->pass, &s->profile, err)
                        : RL_OK;
}

static enum rl_status apply_counters(struct session *s, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    struct counters_use use = {.flop = o->count != RL_COUNT_NONE,
                               .bytes = o->traffic != RL_TRAFFIC_NONE,
                               .is_only = o->count == RL_COUNT_PMU && !s->has_tally};
    struct rl_pmu_counts counts;
    if (o->count == RL_COUNT_PMU && !use.bytes)
        RL_TRY(rl_missing_add(&s->profile.missing, "bytes", "traffic was switched off", err));
    if (!s->n_counters)
        return RL_OK;
    rl_pmu_counts(o->counters, &counts);
    RL_TRY(counters_apply(&counts, &use, &s->profile, err));
    return region_counters_apply(o->counters, s->n_region_runs, &use, &s->profile, err);
}

/* How often, at what cost to the program, and, if it was chosen here, why no more often. */
static void describe_rate(const struct rl_samples *samples, char text[RATE_LEN])
{
    double cost_s = samples->sample_cost_s;
    unsigned usual_hz =
        samples->method == RL_SAMPLE_TIMER ? RL_SAMPLE_USUAL_TIMER_HZ : RL_SAMPLE_USUAL_HZ;
    int n = snprintf(text, RATE_LEN, "sampled %u times a second (%s)", samples->rate_hz,
                     rl_sample_method_name(samples->method));
    if (cost_s > 0)
        n += snprintf(text + n, RATE_LEN - (size_t)n, " at %.1f us each, %.1f %% of it",
                      1e6 * cost_s, 100 * cost_s * samples->rate_hz);
    if (cost_s > 0 && !samples->rate_was_asked && samples->rate_hz < usual_hz)
        snprintf(text + n, RATE_LEN - (size_t)n, "; %u times would take %.1f %%", usual_hz,
                 100 * cost_s * usual_hz);
}

enum rl_status profile_note_time(const struct rl_samples *first, size_t n_runs,
                                 struct rl_profile *profile, struct rl_error *err)
{
    double cpu_s = first->user_s + first->system_s;
    char rate[RATE_LEN];
    describe_rate(first, rate);
    for (size_t i = 0; i < first->n_note; i++)
        RL_TRY(rl_profile_note(profile, err, "%s", first->note[i]));
    if (first->method != RL_SAMPLE_NONE && n_runs == 0)
        RL_TRY(
            rl_profile_note(profile, err, "while the process ran natively its time was %s", rate));
    else if (first->method != RL_SAMPLE_NONE)
        RL_TRY(rl_profile_note(profile, err, "time is from %zu undisturbed run%s, %s", n_runs,
                               n_runs == 1 ? "" : "s", rate));
    if (first->method == RL_SAMPLE_PERF && first->system_s > 0.1 * cpu_s && cpu_s > 0.1)
        RL_TRY(rl_profile_note(profile, err,
                               "%.0f %% of the CPU time was spent in the kernel, for instance on "
                               "page faults; no function's time holds it",
                               100 * first->system_s / cpu_s));
    if (cpu_s > 0.1 && cpu_s < 0.8 * first->elapsed_s)
        RL_TRY(rl_profile_note(profile, err,
                               "the program was on a CPU for %.0f %% of the elapsed time; else it "
                               "waited, for input, output or its turn on a busy machine: times of "
                               "functions and loops are parts of the time on a CPU",
                               100 * cpu_s / first->elapsed_s));
    if (first->children_left)
        RL_TRY(rl_profile_note(profile, err,
                               "children of the program still ran when it ended; what they did "
                               "later is not here"));
    return jit_note(first, profile, err);
}

/* The image that did nearly all the work, if it is another one than was started. */
static const char *main_image(const struct rl_samples *samples)
{
    struct images images;
    struct rl_error ignored = {0};
    const char *name = NULL;
    double all_s = 0;
    if (!samples->n_process || !samples->process[0].command ||
        images_find(samples, 1, NULL, &images, &ignored) != RL_OK)
        return NULL;
    for (size_t i = 0; i < images.n; i++)
        all_s += images.of[i].cpu_s;
    for (size_t i = 0; i < images.n; i++)
        if (images.of[i].cpu_s > MOST_OF_THE_WORK * all_s &&
            strcmp(images.of[i].path, samples->process[0].command) != 0)
            name = image_name(&images.of[i]);
    images_release(&images);
    return name;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What env, nice, taskset or a shell started is what the profile is of; a script keeps its name,
 * though it is its interpreter that runs. */
static const char *title(const struct session *s)
{
    char path[PATH_MAX];
    struct rl_error ignored = {0};
    const struct rl_samples *first = &s->samples[0];
    const char *image = s->options->no_follow ? NULL : main_image(first);
    if (image && rl_child_find(s->argv[0], s->envp, path, &ignored) == RL_OK &&
        is_same_file(path, first->process[0].command))
        return image;
    return rl_base_name(s->argv[0]);
}

/* A run that was interrupted ended as the user wanted: its end is the program's. */
static int last_word(const struct session *s)
{
    if (s->counters.interrupted_by)
        return s->counters.wait_status;
    if (s->has_counting && s->counting.interrupted_by)
        return s->counting.wait_status;
    const struct rl_samples *last = &s->samples[s->n_samples - 1];
    return last->interrupted_by ? last->wait_status : s->samples[0].wait_status;
}

static enum rl_status describe(struct session *s, struct rl_error *err)
{
    size_t n = 0;
    while (s->argv[n])
        n++;
    const struct rl_profile_options *o = s->options;
    s->profile.exit_status = rl_child_exit_code(last_word(s));
    s->profile.has_exit_status = true;
    RL_TRY(rl_string_set(&s->profile.name, title(s), err));
    RL_TRY(rl_string_set(&s->profile.date, o->date, err));
    RL_TRY(rl_string_set(&s->profile.program, o->program, err));
    return rl_profile_set_command(&s->profile, s->argv, n, err);
}

/* One run for counts and time: what is known of time is how long all of it took. */
static enum rl_status take_time_from_counters(struct session *s, struct rl_error *err)
{
    s->samples[0] = (struct rl_samples){
        .method = RL_SAMPLE_NONE,
        .elapsed_s = s->counters.elapsed_s,
        .wait_status = s->counters.wait_status,
        .interrupted_by = s->counters.interrupted_by,
    };
    s->n_samples = 1;
    return rl_profile_note(&s->profile, err,
                           "time is from the run under hardware counters; functions have no time "
                           "of their own");
}

static enum rl_status take_time_from_counting(struct session *s, struct rl_error *err)
{
    if (s->options->count == RL_COUNT_PMU)
        return take_time_from_counters(s, err);
    s->samples[0] = (struct rl_samples){
        .method = RL_SAMPLE_NONE,
        .elapsed_s = s->counting.elapsed_s,
        .wait_status = s->counting.wait_status,
        .interrupted_by = s->counting.interrupted_by,
    };
    s->n_samples = 1;
    if (s->options->times_follow)
        return RL_OK;
    return rl_missing_add(&s->profile.missing, "rate",
                          "time is from the counted run, in which the program is slower than by "
                          "itself: rates and parts of a roof are too low by as much. Functions "
                          "have no time of their own",
                          err);
}

static enum rl_status check_code(struct session *s, struct rl_error *err)
{
    struct copies copies = {0};
    RL_TRY(copies_find(s->samples, s->n_samples, &copies, err));
    struct rl_symbols_options symbols = copies_options(&copies);
    struct agree_ours ours = {s->options->engine, s->options->preload, &symbols};
    enum rl_status status =
        agree_check_code(&s->samples[0], &s->tally, s->counting.cpu_s, ours, &s->profile, err);
    copies_release(&copies);
    return status;
}

static enum rl_status run_all(struct session *s, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    unsigned repeats = o->repeats && !o->single_pass ? o->repeats : 1;
    bool counts_only = o->single_pass && o->count != RL_COUNT_NONE && !o->n_replay;
    s->samples = calloc(repeats, sizeof *s->samples);
    if (!s->samples)
        return rl_fail(err, RL_ENOMEM, "out of memory for runs");
    if (is_cancelled(s))
        return rl_fail(err, RL_ECANCEL, "interrupted before the program ran; nothing was written");
    if (!counts_only) {
        RL_TRY(run_native(s, repeats, err));
        RL_TRY(profile_note_time(&s->samples[0], s->n_samples, &s->profile, err));
    }
    RL_TRY(count(s, err));
    RL_TRY(run_counters(s, err));
    RL_TRY(run_region_counters(s, err));
    RL_TRY(run_events(s, err));
    if (counts_only)
        RL_TRY(take_time_from_counting(s, err));
    RL_TRY(describe(s, err));
    size_t n_note = s->profile.n_note;
    RL_TRY(agree_check(s->samples, s->n_samples, s->has_counting ? &s->counting : NULL, &s->profile,
                       err));
    if (s->has_counting && s->has_tally && !counts_only) {
        RL_TRY(agree_check_duration(&s->samples[0], s->counting.elapsed_s, &s->tally, &s->profile,
                                    err));
        if (!s->counting.interrupted_by)
            RL_TRY(agree_check_regions(&s->samples[0], &s->tally, &s->profile, err));
        if (!s->counting.interrupted_by && !o->only && !o->no_follow)
            RL_TRY(check_code(s, err));
    }
    if (s->profile.n_note > n_note)
        RL_TRY(agree_note_terminal(STDIN_FILENO, &s->profile, err));
    struct rl_profile_inputs inputs = {s->samples, s->n_samples, s->has_tally ? &s->tally : NULL};
    RL_TRY(rl_profile_join(&inputs, o, &s->profile, err));
    RL_TRY(apply_counters(s, err));
    return o->events ? counters_apply_events(o->events, &s->profile, err) : RL_OK;
}

static enum rl_status check_sources(const struct rl_profile_options *o, struct rl_error *err)
{
    if (o->events && o->single_pass)
        return rl_fail(err, RL_EINVAL,
                       "events that are named are counted in a run of their own, not in a single "
                       "one");
    if (demands_counters(o) && (!o->counters || !rl_pmu_passes(o->counters)))
        return rl_fail(err, RL_EUNAVAIL, "hardware counters are not available here");
    if (o->single_pass && o->traffic == RL_TRAFFIC_PMU && o->count != RL_COUNT_PMU)
        return rl_fail(err, RL_EINVAL,
                       "a single run is counted by the engine or by hardware counters, not by "
                       "both: traffic from hardware counters needs their counts too");
    return RL_OK;
}

enum rl_status rl_profile_run(const char *const *argv, const char *const *envp,
                              const struct rl_profile_options *options,
                              struct rl_profile *ret_profile, struct rl_error *err)
{
    struct session s = {.argv = argv, .envp = envp, .options = options};
    if (!argv || !argv[0])
        return rl_fail(err, RL_EINVAL, "no program given");
    RL_TRY(check_sources(options, err));
    s.input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    s.had_input = !agree_input_is_spent(STDIN_FILENO);
    enum rl_status status = run_all(&s, err);
    if (status == RL_OK) {
        *ret_profile = s.profile;
        s.profile = (struct rl_profile){0};
    }
    session_release(&s);
    return status;
}
