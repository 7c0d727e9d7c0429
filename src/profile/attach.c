/* Profiling a running process: time by sampling, and between the samples bursts of counting. */
#include "base/error.h"
#include "base/file.h"
#include "profile/bursts.h"
#include "profile/copies.h"
#include "profile/counting.h"
#include "profile/profile_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many bursts, but not closer together than the first limit, nor farther apart than the other.
 */
#define N_BURSTS       10
#define MIN_INTERVAL_S 0.25
#define MAX_INTERVAL_S 5
/* Most of it is steady state: translation takes a few milliseconds. */
#define BURST_MS 100

struct session {
    const struct rl_profile_options *options;
    double duration_s;
    char pass[64];
    struct rl_samples samples;
    struct bursts bursts;
    struct rl_tally tally;
    bool has_tally;
    struct rl_profile profile;
};

static void on_progress(void *context, double elapsed_s)
{
    struct session *s = context;
    if (s->options->progress)
        s->options->progress(s->options->context, s->pass, elapsed_s, s->duration_s, true);
}

static bool on_interlude(void *context)
{
    struct session *s = context;
    return bursts_count(&s->bursts, BURST_MS);
}

static double interval_s(double duration_s)
{
    double interval = duration_s / N_BURSTS;
    interval = interval < MIN_INTERVAL_S ? MIN_INTERVAL_S : interval;
    interval = interval > MAX_INTERVAL_S ? MAX_INTERVAL_S : interval;
    return interval < duration_s ? interval : duration_s / 2;
}

static enum rl_status sample(struct session *s, int32_t pid, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    struct rl_sample_options how = {.method = RL_SAMPLE_PERF,
                                    .rate_hz = o->rate_hz,
                                    .progress = on_progress,
                                    .progress_context = s};
    if (s->bursts.launcher) {
        how.interlude = on_interlude;
        how.interlude_every_s = interval_s(s->duration_s);
    }
    return rl_sample_attach(pid, s->duration_s, &how, &s->samples, err);
}

/* With --count auto, being unable to count is a gap in the profile; on demand it is a failure. */
static enum rl_status start_bursts(struct session *s, int32_t pid, struct rl_error *err)
{
    const struct rl_profile_options *o = s->options;
    struct rl_error why = {0};
    if (o->count == RL_COUNT_NONE)
        return RL_OK;
    enum rl_status status = counting_probe(o->engine, &why);
    if (status == RL_OK && !o->launcher)
        status = rl_fail(&why, RL_EUNAVAIL, "the launcher of the counting engine is not installed");
    if (status == RL_OK)
        status = bursts_start(pid, o->engine, o->launcher, o->scratch_dir, &s->bursts, &why);
    if (status == RL_OK)
        return RL_OK;
    if (o->count == RL_COUNT_ENGINE || status == RL_ENOMEM)
        return rl_fail(err, status, "%s", why.text);
    snprintf(s->bursts.why, sizeof s->bursts.why, "%.*s", (int)sizeof s->bursts.why - 1, why.text);
    return RL_OK;
}

static enum rl_status miss_counts(struct session *s, const char *why, struct rl_error *err)
{
    RL_TRY(rl_missing_add(&s->profile.missing, "flop", why, err));
    return rl_missing_add(&s->profile.missing, "bytes", why, err);
}

static enum rl_status note_bursts(struct session *s, struct rl_error *err)
{
    const struct bursts *b = &s->bursts;
    RL_TRY(rl_profile_note(&s->profile, err,
                           "counted in %u burst%s of %.2g s together, between the samples: "
                           "intensities and the mix of operations are of these; how often "
                           "anything was done in all, and how fast, is not known",
                           b->n, b->n == 1 ? "" : "s", b->counted_s));
    struct rl_value flop = rl_kernel_flop(&s->tally.program);
    if (rl_known(flop) && flop.value > 0 && b->counted_s > 0)
        RL_TRY(rl_profile_note(&s->profile, err,
                               "under the counting engine, which slows it down, it did %.3g "
                               "GFLOP/s in these bursts",
                               flop.value / b->counted_s / 1e9));
    if (b->why[0])
        RL_TRY(rl_profile_note(&s->profile, err, "there were no more bursts, because %s", b->why));
    return rl_missing_add(&s->profile.missing, "bytes",
                          s->options->traffic == RL_TRAFFIC_NONE
                              ? "traffic was switched off"
                              : "beyond L1 the traffic of bursts is not followed: a model of the "
                                "caches would begin each with empty ones",
                          err);
}

/* Who called whom in a burst is not who called whom in between. */
static void forget_calls(struct rl_tally *tally)
{
    tally->n_call = 0;
    for (size_t i = 0; i < tally->n_function; i++)
        tally->unit[i].kernel.total_flop = (struct rl_value){0};
}

static enum rl_status read_bursts(struct session *s, struct rl_error *err)
{
    struct rl_tally_options options = {.loops = s->options->loops};
    RL_TRY(bursts_end(&s->bursts, err));
    if (s->options->count == RL_COUNT_NONE)
        return miss_counts(s, "counting was switched off", err);
    const struct result_files *results = &s->bursts.results;
    if (!results->n) {
        const char *why = s->bursts.why[0] ? s->bursts.why : "there was no time for a burst";
        return s->options->count == RL_COUNT_ENGINE
                   ? rl_fail(err, RL_EUNAVAIL, "it could not be counted: %s", why)
                   : miss_counts(s, why, err);
    }
    struct copies copies;
    RL_TRY(copies_find(&s->samples, 1, &copies, err));
    struct rl_symbols_options symbols = copies_options(&copies);
    options.symbols = &symbols;
    enum rl_status status =
        rl_tally_build((const char *const *)results->path, results->n, &options, &s->tally, err);
    copies_release(&copies);
    RL_TRY(status);
    s->has_tally = true;
    forget_calls(&s->tally);
    for (size_t i = 0; i < s->tally.n_note; i++)
        RL_TRY(rl_profile_note(&s->profile, err, "%s", s->tally.note[i]));
    return note_bursts(s, err);
}

/* Calls and dependent loads are amounts, and nothing else can be made of them. */
static void mark_mix(struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        struct rl_kernel *k = &profile->kernel[i];
        k->total_time_s = (struct rl_value){0};
        k->is_mix = k->n_ops || k->n_traffic || rl_known(k->flop);
        if (!k->is_mix)
            continue;
        k->calls = (struct rl_value){0};
        k->latency_bound_loads = (struct rl_value){0};
    }
}

static enum rl_status describe(struct session *s, int32_t pid, struct rl_error *err)
{
    char number[32];
    snprintf(number, sizeof number, "process %d", (int)pid);
    const char *command = s->samples.n_process ? s->samples.process[0].command : NULL;
    const char *argv[] = {command ? command : number};
    RL_TRY(rl_string_set(&s->profile.name, rl_base_name(argv[0]), err));
    RL_TRY(rl_string_set(&s->profile.date, s->options->date, err));
    RL_TRY(rl_string_set(&s->profile.program, s->options->program, err));
    return rl_profile_set_command(&s->profile, argv, 1, err);
}

static enum rl_status run(struct session *s, int32_t pid, struct rl_error *err)
{
    RL_TRY(start_bursts(s, pid, err));
    RL_TRY(sample(s, pid, err));
    RL_TRY(describe(s, pid, err));
    RL_TRY(profile_note_time(&s->samples, 0, &s->profile, err));
    RL_TRY(read_bursts(s, err));
    struct rl_profile_inputs inputs = {&s->samples, 1, s->has_tally ? &s->tally : NULL};
    RL_TRY(rl_profile_join(&inputs, s->options, &s->profile, err));
    mark_mix(&s->profile);
    return RL_OK;
}

enum rl_status rl_profile_attach(int32_t pid, double duration_s,
                                 const struct rl_profile_options *options,
                                 struct rl_profile *ret_profile, struct rl_error *err)
{
    struct session s = {.options = options, .duration_s = duration_s};
    snprintf(s.pass, sizeof s.pass, "process %d", (int)pid);
    enum rl_status status = run(&s, pid, err);
    if (status == RL_OK) {
        *ret_profile = s.profile;
        s.profile = (struct rl_profile){0};
    }
    bursts_release(&s.bursts);
    rl_samples_release(&s.samples);
    if (s.has_tally)
        rl_tally_release(&s.tally);
    rl_profile_release(&s.profile);
    return status;
}

enum rl_status rl_profile_probe_attach(const char *engine, const char *launcher,
                                       struct rl_error *err)
{
    struct bursts b = {0};
    RL_TRY(counting_probe(engine, err));
    if (!launcher)
        return rl_fail(err, RL_EUNAVAIL, "the launcher of the counting engine is not installed");
    pid_t child = fork();
    if (child < 0)
        return rl_fail_errno(err, "no process to attach to");
    while (child == 0)
        pause();
    enum rl_status status = bursts_start(child, engine, launcher, NULL, &b, err);
    if (status == RL_OK && !bursts_count(&b, 1))
        status = rl_fail(err, RL_EUNAVAIL, "%s", b.why);
    bursts_release(&b);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return status;
}
