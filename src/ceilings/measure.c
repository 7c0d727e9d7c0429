/* The phases of a measurement, in order, and what they share. */
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A phase ends early, but not before this share of its budget, once every spread is this small. */
static const double least_share = 0.5;
static const double steady_spread = 0.003;
/* Of a buffer, from which even a quick measurement asks how much a rank really gets of a cache that
 * is reported so large: filling memory takes longer. */
static const size_t most_quick_bytes = (size_t)256 << 20;
enum { MIN_REPEATS = 5, MAX_REPEATS = 2000 };
/* Of the budget, to go on with ceilings whose core was contended. */
static const double overtime_share = 0.5;

/* Of probes, undisturbed ones that make a clean run, and one that saw enough of the core. */
static const double clean_from = 0.8;
static const double partly_clean_from = 0.02;

/* Entries of a reorder buffer that the window probe needs. */
static const double least_window = 224;

/* Shares of a thread count's budget. */
static const double share_sweep = 0.07;
static const double share_compute = 0.30;
static const double share_special = 0.10;
static const double share_l1 = 0.10;
static const double share_l2 = 0.10;
static const double share_l3 = 0.12;
static const double share_dram = 0.16;
static const double share_latency = 0.05;

struct rl_measure_options rl_measure_options_default(void)
{
    return (struct rl_measure_options){.mode = RL_MEASURE_DEFAULT};
}

static double budget_of(const struct rl_measure_options *options)
{
    static const double by_mode[] = {
        [RL_MEASURE_QUICK] = 2.2, [RL_MEASURE_DEFAULT] = 7.0, [RL_MEASURE_THOROUGH] = 32.0};
    return options->budget_s > 0 ? options->budget_s : by_mode[options->mode];
}

static bool cancelled(void *context)
{
    const struct rl_session *s = context;
    return s->options->cancelled && s->options->cancelled(s->options->context);
}

static void progress(void *context, double fraction, const char *job)
{
    const struct rl_session *s = context;
    char label[64];
    (void)job;
    if (!s->options->progress)
        return;
    snprintf(label, sizeof label, "%s, %u %s", s->label, s->threads,
             s->threads == 1 ? "thread" : "threads");
    double done = s->done_s + fraction * s->phase_s;
    s->options->progress(s->options->context, s->planned_s > 0 ? done / s->planned_s : 0, label);
}

/* Of a core in the catalogue, what it showed in an earlier phase, if more. */
static double known_nop(const struct rl_session *s)
{
    double row = rl_core_value(s->core, "nop_per_cycle");
    return row > 0 ? fmax(row, s->nop_expected) : 0;
}

static struct rl_sampling sampling_of(struct rl_session *s, const struct rl_phase *phase)
{
    struct rl_sampling how = rl_sampling_default();
    s->phase_s = phase->budget_s;
    s->label = phase->label;
    how.budget_s = phase->budget_s;
    how.least_s = least_share * phase->budget_s;
    if (!phase->trial && s->options->mode != RL_MEASURE_QUICK)
        how.overtime_s = overtime_share * phase->budget_s;
    how.steady_spread = phase->trial ? 0 : steady_spread;
    how.min_repeats = phase->min_repeats ? phase->min_repeats : MIN_REPEATS;
    how.max_repeats = MAX_REPEATS;
    how.clock = &s->clock;
    how.probe = true;
    how.nop_per_cycle = known_nop(s);
    how.probe_window = rl_core_value(s->core, "reorder_entries") >= least_window;
    how.cancelled = cancelled;
    how.progress = progress;
    how.context = s;
    return how;
}

static void note_report(struct rl_session *s, const struct rl_sampling_report *report)
{
    if (s->clock_min_hz <= 0 || report->clock_min_hz < s->clock_min_hz)
        s->clock_min_hz = report->clock_min_hz;
    if (report->clock_max_hz > s->clock_max_hz)
        s->clock_max_hz = report->clock_max_hz;
    s->nop_seen = fmax(s->nop_seen, report->nop_per_cycle);
    s->nop_expected = fmax(s->nop_expected, report->nop_expected);
    s->probes += report->probes;
    s->clean_probes += report->clean_share * report->probes;
    s->was_quiet = report->clean_share >= clean_from;
}

enum rl_status rl_session_sample(struct rl_session *s, const struct rl_phase *phase,
                                 const struct rl_job *job, unsigned n, struct rl_timing *ret_timing,
                                 struct rl_error *err)
{
    struct rl_sampling how = sampling_of(s, phase);
    struct rl_sampling_report report = {0};
    if (n == 0)
        return RL_OK;
    RL_TRY(rl_sample(s->team, job, n, &how, ret_timing, &report, err));
    s->done_s += phase->budget_s;
    note_report(s, &report);
    return RL_OK;
}

static enum rl_status make_images(struct rl_session *s, struct rl_error *err)
{
    for (int p = 0; p < RL_PRECISION_COUNT; p++) {
        s->image[p] = aligned_alloc(64, RL_KERNEL_IMAGE_BYTES);
        if (!s->image[p])
            return rl_fail(err, RL_ENOMEM, "no memory for register images");
        rl_kernel_image((enum rl_precision)p, s->image[p]);
    }
    return RL_OK;
}

static void release_team(struct rl_session *s)
{
    rl_team_free(s->team);
    s->team = NULL;
    for (unsigned i = 0; s->rank && i < s->threads; i++) {
        rl_buffer_release(&s->rank[i].buffer);
        free(s->rank[i].out);
    }
    free(s->rank);
    s->rank = NULL;
}

struct filling {
    struct rl_session *session;
    size_t bytes;
};

static void fill(void *arg, unsigned rank)
{
    const struct filling *filling = arg;
    struct rl_rank *r = &filling->session->rank[rank];
    size_t bytes = filling->bytes < r->buffer.bytes ? filling->bytes : r->buffer.bytes;
    if (bytes <= r->filled)
        return;
    rl_buffer_fill(r->buffer.base + r->filled, bytes - r->filled);
    r->filled = bytes;
}

void rl_session_fill(struct rl_session *s, size_t bytes)
{
    rl_team_run(s->team, fill, &(struct filling){s, bytes});
}

/* Fill what the last level, as it is known now, asks for. */
static void fill_buffers(struct rl_session *s)
{
    size_t bytes = rl_rank_buffer_bytes(s);
    for (unsigned i = 0; i < s->threads; i++)
        if (bytes < s->rank[i].buffer.bytes)
            s->rank[i].buffer.bytes = bytes;
    rl_session_fill(s, bytes);
}

/* Memory that does not fit must be refused here: a control group kills instead of refusing. Address
 * space may be limited too (ulimit -v). */
static enum rl_status check_memory(const struct rl_session *s, size_t *bytes, struct rl_error *err)
{
    const size_t least = (size_t)16 << 20;
    struct rlimit space;
    uint64_t allowed = s->options->memory_bytes;
    const char *why = "";
    if (!allowed) {
        allowed = rl_memory_available(NULL) / 4;
        why = ", a quarter of what is free; --memory allows more";
    }
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY &&
        (!allowed || allowed > space.rlim_cur / 4)) {
        allowed = space.rlim_cur / 4;
        why = ", a quarter of the address space that the limit (ulimit -v) leaves";
    }
    if (allowed && (uint64_t)*bytes * s->threads > allowed)
        *bytes = (size_t)(allowed / s->threads) & ~(size_t)4095;
    if (*bytes < least)
        return rl_fail(err, RL_ENOMEM,
                       "measuring %u %s needs %zu MiB of memory, but %llu MiB may be used%s",
                       s->threads, s->threads == 1 ? "thread" : "threads",
                       s->threads * (least >> 20), (unsigned long long)(allowed >> 20), why);
    return RL_OK;
}

static enum rl_status make_team(struct rl_session *s, unsigned threads, struct rl_error *err)
{
    s->threads = threads;
    size_t bytes = rl_rank_buffer_bytes(s);
    RL_TRY(check_memory(s, &bytes, err));
    int *cpu = calloc(threads, sizeof *cpu);
    s->rank = calloc(threads, sizeof *s->rank);
    if (!cpu || !s->rank) {
        free(cpu);
        return rl_fail(err, RL_ENOMEM, "no memory for %u threads", threads);
    }
    enum rl_status status = rl_places_pick(&s->places, threads, cpu, err);
    if (status == RL_OK)
        status = rl_team_new(cpu, threads, &s->team, err);
    free(cpu);
    for (unsigned i = 0; status == RL_OK && i < threads; i++) {
        status = rl_buffer_map(&s->rank[i].buffer, bytes, err);
        s->rank[i].out = aligned_alloc(64, RL_KERNEL_IMAGE_BYTES);
        if (status == RL_OK && !s->rank[i].out)
            status = rl_fail(err, RL_ENOMEM, "no memory for register images");
    }
    return status;
}

/* Where levels end, as one thread sees it; once a session. */
static enum rl_status find_ends(struct rl_session *s, double budget_s, struct rl_error *err)
{
    bool quick = s->options->mode == RL_MEASURE_QUICK && s->machine->topology.n_levels > 1;
    if (s->has_ends || (quick && rl_rank_buffer_bytes(s) <= most_quick_bytes))
        return RL_OK;
    s->has_ends = true;
    return rl_sweep_levels(s, share_sweep * budget_s, err);
}

static uint64_t largest_cache(const struct rl_topology *topology)
{
    uint64_t cache = 0;
    for (size_t i = 0; i < topology->n_levels; i++)
        if (strcmp(topology->levels[i].name, "DRAM") != 0 && topology->levels[i].size_bytes > cache)
            cache = topology->levels[i].size_bytes;
    return cache;
}

/* Little memory may be had, and then DRAM's sets may be found in a cache. */
static void see_small_sets(struct rl_session *s)
{
    uint64_t set = (uint64_t)rl_memory_used(s->rank[0].buffer.bytes) * s->threads;
    size_t used = strlen(s->small_sets);
    if (set >= 2 * largest_cache(&s->machine->topology))
        return;
    snprintf(s->small_sets + used, sizeof s->small_sets - used, "%s%u %s had %llu MiB",
             used ? ", " : "", s->threads, s->threads == 1 ? "thread" : "threads",
             (unsigned long long)(set >> 20));
}

static enum rl_status note_small_sets(struct rl_session *s, struct rl_error *err)
{
    char why[192];
    if (!s->small_sets[0])
        return RL_OK;
    snprintf(why, sizeof why,
             "%s of memory beside a cache of %llu MiB: rates may be partly of that cache",
             s->small_sets, (unsigned long long)(largest_cache(&s->machine->topology) >> 20));
    return rl_missing_add(&s->machine->missing, "DRAM beyond caches", why, err);
}

static enum rl_status run_phases(struct rl_session *s, double budget_s, struct rl_error *err)
{
    bool quick = s->options->mode == RL_MEASURE_QUICK;
    if (s->threads == 1)
        RL_TRY(find_ends(s, budget_s, err));
    fill_buffers(s);
    see_small_sets(s);
    RL_TRY(rl_measure_compute(s, share_compute * budget_s, err));
    if (!quick)
        RL_TRY(rl_measure_special(s, share_special * budget_s, err));
    RL_TRY(rl_measure_level(s, "L1", share_l1 * budget_s, err));
    RL_TRY(rl_measure_level(s, "L2", share_l2 * budget_s, err));
    RL_TRY(rl_measure_level(s, "L3", share_l3 * budget_s, err));
    RL_TRY(rl_measure_level(s, "DRAM", share_dram * budget_s, err));
    return quick ? RL_OK : rl_measure_latency(s, share_latency * budget_s, err);
}

static enum rl_status measure_threads(struct rl_session *s, unsigned threads, double budget_s,
                                      struct rl_error *err)
{
    enum rl_status status = make_team(s, threads, err);
    if (status == RL_OK)
        status = run_phases(s, budget_s, err);
    release_team(s);
    return status;
}

/* The size that is reported may be several times what a core reaches, so the first count asked for
 * needs the ends too where that is not one. */
static enum rl_status find_ends_alone(struct rl_session *s, double budget_s, struct rl_error *err)
{
    enum rl_status status = make_team(s, 1, err);
    if (status == RL_OK)
        status = find_ends(s, budget_s, err);
    release_team(s);
    return status;
}

/* Without a list: one thread, and one on every usable core of the most capable kind. */
static size_t thread_counts(const struct rl_session *s, unsigned all[2], const unsigned **ret_list)
{
    unsigned cores = 0;
    if (s->options->n_threads) {
        *ret_list = s->options->threads;
        return s->options->n_threads;
    }
    for (size_t i = 0; i < s->places.n; i++)
        cores += s->places.cpu[i].kind == 0 && s->places.cpu[i].sibling == 0;
    all[0] = 1;
    all[1] = cores;
    *ret_list = all;
    return cores > 1 ? 2 : 1;
}

static enum rl_status check_counts(const struct rl_session *s, const unsigned *list, size_t n,
                                   struct rl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == 0 || list[i] > s->places.n)
            return rl_fail(err, RL_EINVAL,
                           "%u threads cannot be placed: hardware threads that may be used: %zu",
                           list[i], s->places.n);
        for (size_t j = 0; j < i; j++)
            if (list[j] == list[i])
                return rl_fail(err, RL_EINVAL, "thread count %u is listed twice", list[i]);
    }
    return RL_OK;
}

static enum rl_status describe_result(struct rl_session *s, double elapsed_s, struct rl_error *err)
{
    static const char *const modes[] = {"quick", "default", "thorough"};
    struct rl_environment *env = &s->machine->environment;
    char text[RL_NOTE_LEN];
    env->clock_min_hz = s->clock_min_hz;
    env->clock_max_hz = s->clock_max_hz;
    env->tsc_hz = s->clock.tick_hz;
    env->elapsed_s = elapsed_s;
    double clean_share = s->probes > 0 ? s->clean_probes / s->probes : 0;
    snprintf(text, sizeof text,
             "%s: undisturbed in %.0f %% of probes (%.2f no-ops a cycle, %.2f usual)",
             clean_share >= clean_from          ? "clean"
             : clean_share >= partly_clean_from ? "partly contended"
                                                : "contended",
             100 * clean_share, s->nop_seen, s->nop_expected);
    RL_TRY(rl_string_set(&env->contention, text, err));
    RL_TRY(rl_string_set(&env->mode, modes[s->options->mode], err));
    RL_TRY(rl_string_set(&env->date, s->options->date, err));
    return rl_string_set(&env->program, s->options->program, err);
}

/* What the figures do not say: a quota, kinds of core, hardware threads that share a core. */
static enum rl_status note_limits(struct rl_session *s, const unsigned *list, size_t n,
                                  struct rl_error *err)
{
    char why[RL_NOTE_LEN];
    unsigned capable = 0;
    double quota = s->machine->environment.cpu_quota;
    if (quota > 0 && quota < s->places.n_cores) {
        snprintf(why, sizeof why,
                 "the control group grants %.3g CPUs for %u cores: rates are those of the moments "
                 "it lets threads run",
                 quota, s->places.n_cores);
        RL_TRY(rl_missing_add(&s->machine->missing, "sustained rates", why, err));
    }
    for (size_t i = 0; i < s->places.n; i++)
        capable += s->places.cpu[i].kind == 0 && s->places.cpu[i].sibling == 0;
    if (s->places.n_kinds > 1) {
        snprintf(why, sizeof why,
                 "up to %u threads are on the most capable cores; to measure the others alone, "
                 "allow only them: taskset -c LIST roofline measure",
                 capable);
        RL_TRY(rl_missing_add(&s->machine->missing, "other kinds of core", why, err));
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i] <= s->places.n_cores)
            continue;
        snprintf(why, sizeof why, "%u threads on %u cores share cores: rates are not of %u cores",
                 list[i], s->places.n_cores, list[i]);
        RL_TRY(rl_missing_add(&s->machine->missing, "one thread a core", why, err));
    }
    return RL_OK;
}

/* A second sentence where the identity was doubtful before. */
static enum rl_status note_exceeded(struct rl_session *s, struct rl_error *err)
{
    char text[384];
    char both[1024];
    const char *before = s->machine->cpu.identity_note;
    if (!rl_exceeded_text(&s->exceeded, s->identity.name, text, sizeof text))
        return RL_OK;
    snprintf(both, sizeof both, "%s%s%s", before ? before : "", before ? ". " : "", text);
    return rl_string_set(&s->machine->cpu.identity_note, both, err);
}

static enum rl_status measure_all(struct rl_session *s, struct rl_error *err)
{
    unsigned all[2];
    const unsigned *list;
    size_t n = thread_counts(s, all, &list);
    double budget_s = budget_of(s->options);
    double start_s = rl_now_s();
    RL_TRY(check_counts(s, list, n, err));
    RL_TRY(note_limits(s, list, n, err));
    RL_TRY(make_images(s, err));
    s->planned_s = budget_s;
    if (list[0] != 1)
        RL_TRY(find_ends_alone(s, budget_s / (double)n, err));
    for (size_t i = 0; i < n; i++)
        RL_TRY(measure_threads(s, list[i], budget_s / (double)n, err));
    RL_TRY(note_small_sets(s, err));
    RL_TRY(note_exceeded(s, err));
    return describe_result(s, rl_now_s() - start_s, err);
}

static enum rl_status begin(struct rl_session *s, struct rl_error *err)
{
    RL_TRY(rl_cpu_detect(s->options->isa_mask, &s->cpu, err));
    RL_TRY(rl_catalog_load(&s->catalog, err));
    RL_TRY(rl_catalog_identify(&s->catalog, &s->cpu, &s->identity, err));
    s->core = s->identity.core;
    RL_TRY(rl_topology_detect(NULL, &s->cpu, s->machine, &s->places, err));
    return rl_host_set_identity(s->machine, &s->identity, err);
}

static void take_known_sizes(struct rl_session *s, const struct rl_machine *known)
{
    for (size_t i = 0; i < s->machine->topology.n_levels; i++) {
        struct rl_level *level = &s->machine->topology.levels[i];
        const struct rl_level *before = rl_machine_level(known, level->name);
        if (!before || before->source != RL_SOURCE_MEASURED)
            continue;
        level->size_bytes = before->size_bytes;
        level->source = before->source;
    }
}

static enum rl_status measure_dram(struct rl_session *s, struct rl_error *err)
{
    const struct rl_measure_options *o = s->options;
    enum rl_status status = RL_OK;
    if (o->known)
        take_known_sizes(s, o->known);
    RL_TRY(check_counts(s, o->threads, o->n_threads, err));
    RL_TRY(make_images(s, err));
    s->planned_s = o->budget_s;
    s->sustained = true;
    for (size_t i = 0; i < o->n_threads && status == RL_OK; i++) {
        status = make_team(s, o->threads[i], err);
        if (status == RL_OK)
            fill_buffers(s);
        if (status == RL_OK)
            status = rl_measure_level(s, "DRAM", o->budget_s / (double)o->n_threads, err);
        release_team(s);
    }
    s->machine->environment.clock_min_hz = s->clock_min_hz;
    s->machine->environment.clock_max_hz = s->clock_max_hz;
    return status;
}

static enum rl_status measure_by(const struct rl_measure_options *options,
                                 enum rl_status (*how)(struct rl_session *, struct rl_error *),
                                 struct rl_machine *ret_machine, struct rl_error *err)
{
    struct rl_machine machine = {0};
    struct rl_session s = {.options = options, .machine = &machine, .clock = rl_clock_calibrate()};
    enum rl_status status = begin(&s, err);
    if (status == RL_OK)
        status = how(&s, err);
    for (int p = 0; p < RL_PRECISION_COUNT; p++)
        free(s.image[p]);
    rl_places_release(&s.places);
    rl_identity_release(&s.identity);
    rl_catalog_release(&s.catalog);
    if (status != RL_OK) {
        rl_machine_release(&machine);
        return status;
    }
    *ret_machine = machine;
    return RL_OK;
}

enum rl_status rl_measure(const struct rl_measure_options *options, struct rl_machine *ret_machine,
                          struct rl_error *err)
{
    return measure_by(options, measure_all, ret_machine, err);
}

enum rl_status rl_measure_dram(const struct rl_measure_options *options,
                               struct rl_machine *ret_machine, struct rl_error *err)
{
    struct rl_measure_options quick = *options;
    quick.mode = RL_MEASURE_QUICK;
    return measure_by(&quick, measure_dram, ret_machine, err);
}
