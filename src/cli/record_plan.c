#include "cli/record_plan.h"
#include "cli/counters.h"
#include "cli/objects.h"
#include "cli/progress.h"
#include "cli/store.h"

#include "base/child.h"
#include "base/error.h"
#include "base/file.h"
#include "ceilings/ceilings.h"
#include "count/perf_event/named.h"
#include "count/result.h"
#include "format/format.h"

#include <limits.h>
#include <roofline/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MIN_SHARE 0.1
#define SUFFIX            ".roofline.json"

extern char **environ;

struct record_options record_options_default(void)
{
    return (struct record_options){.count = "auto",
                                   .traffic = "model",
                                   .sampling = "auto",
                                   .repeats = 1,
                                   .min_share = DEFAULT_MIN_SHARE};
}

void record_rows(struct record_options *o, struct rl_option rows[RECORD_ROWS])
{
    const struct rl_option table[RECORD_ROWS] = {
        {RL_OPT_STRING, "count", 0, "SOURCE",
         "operations: auto, engine, pmu or none (default auto)", &o->count, 0, 0},
        {RL_OPT_STRING, "traffic", 0, "SOURCE", "bytes: model, full, pmu or none (default model)",
         &o->traffic, 0, 0},
        {RL_OPT_STRING, "sampling", 0, "METHOD", "time: auto, perf, timer or none (default auto)",
         &o->sampling, 0, 0},
        {RL_OPT_UINT, "rate", 0, "HZ", "samples a second of CPU time (default: by their cost)",
         &o->rate_hz, 1, 100000},
        {RL_OPT_UINT, "repeat", 'r', "N", "timed runs, for the spread (default 1)", &o->repeats, 1,
         1000},
        {RL_OPT_FLAG, "single-pass", 0, NULL, "run the program once only", &o->single_pass, 0, 0},
        {RL_OPT_FLAG, "follow-children", 0, NULL, "profile programs that it starts too (default)",
         &o->follow, 0, 0},
        {RL_OPT_FLAG, "no-follow-children", 0, NULL, "leave out programs that it starts",
         &o->no_follow, 0, 0},
        {RL_OPT_FLAG, "functions", 0, NULL, "rows for functions (default: for all three kinds)",
         &o->functions, 0, 0},
        {RL_OPT_FLAG, "loops", 0, NULL, "rows for loops", &o->loops, 0, 0},
        {RL_OPT_FLAG, "regions", 0, NULL, "rows for marked regions", &o->regions, 0, 0},
        {RL_OPT_STRING, "include", 0, "GLOB", "only kernels whose name matches", &o->include, 0, 0},
        {RL_OPT_LIST, "only", 0, "REGION", "only what runs in this region, may be repeated",
         &o->only, 0, 0},
        {RL_OPT_LIST, "function", 0, "NAME", "only functions of this name, may be repeated",
         &o->function, 0, 0},
        {RL_OPT_LIST, "event", 0, "EVENT", "also count this event of libpfm4, may be repeated",
         &o->event, 0, 0},
        {RL_OPT_DOUBLE, "min-share", 0, "PERCENT",
         "only kernels with at least this share of time (default 0.1)", &o->min_share, 0, 100},
        {RL_OPT_LIST, "replay", 0, "FILE", "take counts from this result, may be repeated",
         &o->replay, 0, 0},
        {RL_OPT_STRING, "times", 0, "FILE", "take times from this profile, recorded before",
         &o->times, 0, 0},
    };
    memcpy(rows, table, sizeof table);
}

const char *record_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < RL_COUNT(names); i++) {
        const char *rank = getenv(names[i]);
        if (rank && *rank && strspn(rank, "0123456789") == strlen(rank))
            return rank;
    }
    return NULL;
}

static void expand(FILE *out, const char *pattern)
{
    for (; *pattern; pattern++) {
        char host[256] = "";
        if (*pattern != '%' || !pattern[1]) {
            fputc(*pattern, out);
            continue;
        }
        switch (*++pattern) {
        case 'r':
            fputs(record_rank() ? record_rank() : "0", out);
            break;
        case 'h':
            gethostname(host, sizeof host - 1);
            fputs(host, out);
            break;
        case 'p':
            fprintf(out, "%ld", (long)getpid());
            break;
        case '%':
            fputc('%', out);
            break;
        default:
            fputc('%', out);
            fputc(*pattern, out);
        }
    }
}

enum rl_status record_output(const struct record_options *options, const char *program,
                             char **ret_path, struct rl_error *err)
{
    size_t size = 0;
    char *path = NULL;
    FILE *out = open_memstream(&path, &size);
    if (!out)
        return rl_fail(err, RL_ENOMEM, "out of memory for a file name");
    if (options->output) {
        expand(out, options->output);
    } else {
        fputs(program ? rl_base_name(program) : "attached", out);
        if (record_rank())
            fprintf(out, ".%s", record_rank());
        fputs(SUFFIX, out);
    }
    if (fclose(out) != 0) {
        free(path);
        return rl_fail(err, RL_ENOMEM, "out of memory for a file name");
    }
    *ret_path = path;
    return RL_OK;
}

enum rl_status record_check_writable(const char *path, struct rl_error *err)
{
    struct rl_output out;
    if (!strcmp(path, "-"))
        return RL_OK;
    RL_TRY(rl_output_open(&out, path, err));
    rl_output_abort(&out);
    return RL_OK;
}

static enum rl_status parse_words(const struct record_options *o, struct rl_profile_options *how,
                                  struct rl_error *err)
{
    if (!rl_profile_count_from_name(o->count, &how->count))
        return rl_fail(err, RL_EINVAL, "--count: '%s' is not auto, engine, pmu or none", o->count);
    if (!rl_profile_traffic_from_name(o->traffic, &how->traffic))
        return rl_fail(err, RL_EINVAL, "--traffic: '%s' is not model, full, pmu or none",
                       o->traffic);
    if (!rl_sample_method_from_name(o->sampling, &how->sampling))
        return rl_fail(err, RL_EINVAL, "--sampling: '%s' is not auto, perf, timer or none",
                       o->sampling);
    return RL_OK;
}

/* MPI knows each rank of a job once: a second process of the same rank fails to start. */
void record_adapt_to_ranks(struct record_options *o)
{
    bool counts = !o->replay.n && strcmp(o->count, "none") != 0;
    if (!record_rank() || o->single_pass || !counts)
        return;
    o->single_pass = true;
    if (!o->times)
        rl_say("rank %s is run once, and counted: for times of functions, record with --count "
               "none first and give that profile with --times",
               record_rank());
}

void record_options_release(struct record_options *o)
{
    rl_string_list_release(&o->only);
    rl_string_list_release(&o->function);
    rl_string_list_release(&o->event);
    rl_string_list_release(&o->replay);
}

static enum rl_status join_names(struct record_options *o, struct rl_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < o->only.n; i++) {
        const char *name = o->only.item[i];
        size_t room = sizeof o->only_text - used;
        if (!*name || strchr(name, '\n'))
            return rl_fail(err, RL_EINVAL, "--only: '%s' is no name of a region", name);
        size_t n = (size_t)snprintf(o->only_text + used, room, "%s%s", used ? "\n" : "", name);
        if (n >= room)
            return rl_fail(err, RL_EINVAL, "--only: names of more than %zu characters together",
                           sizeof o->only_text - 1);
        used += n;
    }
    return RL_OK;
}

/* What only a program that is started here can be asked for. */
static enum rl_status check_pid(const struct record_options *o, struct rl_error *err)
{
    if (o->only.n)
        return rl_fail(err, RL_EINVAL,
                       "--only and --pid: regions of a running process are not seen");
    if (o->single_pass || o->repeats > 1)
        return rl_fail(err, RL_EINVAL, "%s and --pid: a running process is not run again",
                       o->single_pass ? "--single-pass" : "--repeat");
    if (strcmp(o->sampling, "auto") != 0 && strcmp(o->sampling, "perf") != 0)
        return rl_fail(err, RL_EINVAL, "--sampling %s and --pid: only perf samples what runs",
                       o->sampling);
    return RL_OK;
}

static enum rl_status new_events(const struct record_options *o, struct rl_named_events **ret,
                                 struct rl_error *err)
{
    struct rl_cpu cpu;
    RL_TRY(rl_cpu_detect(NULL, &cpu, err));
    return rl_named_events_new(o->event.item, o->event.n, &cpu, NULL, ret, err);
}

static enum rl_status check_events(const struct record_options *o, struct rl_error *err)
{
    struct rl_named_events *events = NULL;
    RL_TRY(new_events(o, &events, err));
    rl_named_events_free(events);
    return RL_OK;
}

enum rl_status record_check_words(struct record_options *options, struct rl_error *err)
{
    struct rl_profile_options ignored;
    RL_TRY(join_names(options, err));
    if (options->follow && options->no_follow)
        return rl_fail(err, RL_EINVAL, "--follow-children and --no-follow-children");
    if (options->pid)
        RL_TRY(check_pid(options, err));
    if (options->single_pass && options->repeats > 1)
        return rl_fail(err, RL_EINVAL, "--single-pass and --repeat: one run has no spread");
    if (options->event.n && (options->pid || options->single_pass))
        return rl_fail(err, RL_EINVAL, "--event counts in a run of its own: not with %s",
                       options->pid ? "--pid" : "--single-pass");
    RL_TRY(parse_words(options, &ignored, err));
    /* That names cannot be looked up at all is no fault of theirs, and said later. */
    struct rl_error why = {0};
    return check_events(options, &why) == RL_EINVAL
               ? rl_fail(err, RL_EINVAL, "--event %s", why.text)
               : RL_OK;
}

/* Before anything is measured or run. */
static enum rl_status check_counters(const struct record_options *o, struct rl_error *err)
{
    struct rl_counters counters;
    struct rl_profile_options how = {0};
    RL_TRY(parse_words(o, &how, err));
    if (!rl_counters_demanded(how.count, how.traffic))
        return RL_OK;
    enum rl_status status = rl_counters_open(NULL, &counters, err);
    rl_counters_close(&counters);
    return status;
}

static enum rl_status read_times(const struct record_options *options, struct rl_profile *ret,
                                 struct rl_error *err)
{
    struct record_options named = {.output = options->times};
    char *path = NULL;
    RL_TRY(record_output(&named, NULL, &path, err));
    enum rl_status status = rl_profile_read(path, ret, err);
    free(path);
    return status;
}

/* What was recorded before can be read: of results one, as others are left out then. */
static enum rl_status check_files(const struct record_options *o, struct rl_error *err)
{
    struct rl_profile times = {0};
    struct rl_error why = {0};
    bool any = false;
    if (o->times)
        RL_TRY(read_times(o, &times, err));
    rl_profile_release(&times);
    for (size_t i = 0; i < o->replay.n && !any; i++) {
        struct rl_result result;
        enum rl_status status = rl_result_read(o->replay.item[i], &result, &why);
        any = status == RL_OK;
        if (any)
            rl_result_release(&result);
        else if (status != RL_EDATA)
            break;
    }
    return any || !o->replay.n ? RL_OK : rl_fail(err, why.status, "%s", why.text);
}

enum rl_status record_announce(const struct record_options *o, const char *program,
                               struct rl_error *err)
{
    char path[PATH_MAX];
    bool counts = !o->replay.n && strcmp(o->count, "none") != 0 && strcmp(o->count, "pmu") != 0;
    unsigned long long times = o->repeats + (counts ? 1 : 0);
    RL_TRY(rl_child_find(program, (const char *const *)environ, path, err));
    RL_TRY(check_counters(o, err));
    RL_TRY(check_events(o, err));
    RL_TRY(check_files(o, err));
    if (o->single_pass || times < 2)
        return RL_OK;
    rl_say("the program is run %llu times: %s%s; the output of the first is shown", times,
           o->repeats == 1 ? "once for its time" : "repeatedly for its time",
           counts ? ", then once to count" : "");
    return RL_OK;
}

/* Progress is not drawn while the program may be writing to the same terminal. Beyond the estimate
 * the elapsed time takes the place of a bar that would stand still. */
static void on_progress(void *context, const char *pass, double elapsed_s, double expected_s,
                        bool is_silent)
{
    struct rl_progress *progress = context;
    if (!is_silent)
        return;
    double fraction = expected_s > 0 ? elapsed_s / expected_s : -1;
    char label[64];
    snprintf(label, sizeof label, "%s, longer than expected", pass);
    bool late = fraction >= 1;
    rl_progress_update(progress, late ? -1 : fraction, late ? label : pass);
}

static void now_text(char *text, size_t n)
{
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, n, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void fill(const struct record_options *o, struct rl_profile_options *how)
{
    bool all = !o->functions && !o->loops && !o->regions;
    how->functions = all || o->functions;
    how->loops = all || o->loops;
    how->regions = all || o->regions || o->only.n;
    how->only = o->only.n ? o->only_text : NULL;
    how->function = o->function.item;
    how->n_function = o->function.n;
    how->rate_hz = (unsigned)o->rate_hz;
    how->repeats = (unsigned)o->repeats;
    how->single_pass = o->single_pass;
    how->no_follow = o->no_follow;
    how->times_follow = o->times != NULL;
    how->include = o->include;
    how->min_share = o->min_share / 100;
    how->replay = o->replay.item;
    how->n_replay = o->replay.n;
    how->program = "roofline " ROOFLINE_VERSION;
}

/* The machine as it is, with the sizes that were measured if they were: of the CPUs that this
 * process may use, or of a whole that they are part of.
 * @param ret_part  cores that may be used of that whole; 0: it is no part. */
static void find_machine(struct rl_machine *machine, unsigned *ret_part)
{
    struct rl_machine stored = {0};
    struct rl_error err = {0};
    *ret_part = 0;
    if (rl_host_describe(NULL, machine, &err) != RL_OK) {
        rl_warn("%s; traffic of the caches is not known", err.text);
        return;
    }
    enum rl_status status = machine->key ? rl_store_load(machine->key, &stored, &err) : RL_ENODATA;
    if (status == RL_ENODATA) {
        status = rl_store_load_whole(machine, &stored, &err);
        *ret_part = status == RL_OK ? machine->topology.usable_cores : 0;
    }
    if (status == RL_OK) {
        rl_machine_release(machine);
        *machine = stored;
    }
}

static enum rl_status name_machine(const struct rl_machine *machine, unsigned part,
                                   struct rl_profile *profile, struct rl_error *err)
{
    RL_TRY(rl_string_set(&profile->machine_name, machine->name, err));
    RL_TRY(rl_string_set(&profile->machine_key, machine->key, err));
    if (!part)
        return RL_OK;
    return rl_profile_note(profile, err,
                           "it might use %u of the %u cores of the machine's record: kernels are "
                           "compared with what as many threads as they have reach there, alone",
                           part, machine->topology.usable_cores);
}

static enum rl_status profile(const struct record_options *options,
                              const struct rl_machine *machine, char **command,
                              struct rl_profile *ret_profile, struct rl_error *err)
{
    char date[32];
    struct rl_progress progress;
    struct rl_counters counters = {0};
    struct rl_named_events *events = NULL;
    struct rl_profile_options how = {
        .progress = on_progress, .cancelled = rl_interrupted, .context = &progress, .date = date};
    RL_TRY(parse_words(options, &how, err));
    fill(options, &how);
    if (command)
        RL_TRY(rl_counters_for(&how, machine, &counters, err));
    else if (rl_counters_demanded(how.count, how.traffic))
        return rl_fail(err, RL_EUNAVAIL,
                       "hardware counters start with a program: a running one is sampled, and "
                       "counted by the engine");
    else if (how.n_replay)
        return rl_fail(err, RL_EUNAVAIL,
                       "counts of another run say nothing of a running process; --replay needs a "
                       "command");
    how.counters = counters.pmu;
    if (options->event.n)
        RL_TRY(new_events(options, &events, err));
    how.events = events;
    now_text(date, sizeof date);
    char *preload = rl_object_path("librooflinesample.so");
    char *engine = rl_object_path("libroofline-engine.so");
    char *launcher = rl_object_path("roofline-engine-launch");
    how.preload = preload;
    how.engine = engine;
    how.launcher = launcher;
    how.machine = machine;
    rl_progress_begin(&progress);
    enum rl_status status =
        command
            ? rl_profile_run((const char *const *)command, (const char *const *)environ, &how,
                             ret_profile, err)
            : rl_profile_attach((int32_t)options->pid, options->duration_s, &how, ret_profile, err);
    rl_progress_end(&progress);
    rl_counters_close(&counters);
    rl_named_events_free(events);
    free(preload);
    free(engine);
    free(launcher);
    return status;
}

static enum rl_status take_times(const struct record_options *options, struct rl_profile *profile,
                                 struct rl_error *err)
{
    struct rl_profile from = {0};
    if (!options->times)
        return RL_OK;
    RL_TRY(read_times(options, &from, err));
    enum rl_status status = rl_profile_take_times(profile, &from, err);
    rl_profile_release(&from);
    return status;
}

/* What spoils every figure of a report is worth more than a line in it. */
static void warn_of_rates(const struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->missing.n; i++)
        if (!strcmp(profile->missing.item[i].what, "rate"))
            rl_warn("%s", profile->missing.item[i].why);
}

/* Where a shell would have said so. What the program did until then is all there. */
static enum rl_status tell_signal(struct rl_profile *profile, struct rl_error *err)
{
    enum { STATUS_OF_A_SIGNAL = 128 };
    int number = profile->exit_status - STATUS_OF_A_SIGNAL;
    const char *name = number > 0 ? sigdescr_np(number) : NULL;
    if (!profile->has_exit_status || !name || rl_interrupted(NULL))
        return RL_OK;
    rl_warn("the program ended with status %d, as by signal %d (%s)", profile->exit_status, number,
            name);
    return rl_profile_note(
        profile, err,
        "the program ended with status %d, as by signal %d (%s): this is what it "
        "did until then",
        profile->exit_status, number, name);
}

static enum rl_status run(const struct record_options *options, char **command,
                          struct rl_profile *ret_profile, struct rl_error *err)
{
    struct rl_machine machine = {0};
    unsigned part;
    find_machine(&machine, &part);
    enum rl_status status =
        profile(options, machine.topology.n_levels ? &machine : NULL, command, ret_profile, err);
    if (status == RL_OK) {
        warn_of_rates(ret_profile);
        status = tell_signal(ret_profile, err);
        if (status == RL_OK)
            status = take_times(options, ret_profile, err);
        if (status == RL_OK)
            status = name_machine(&machine, part, ret_profile, err);
        if (status != RL_OK)
            rl_profile_release(ret_profile);
    }
    rl_machine_release(&machine);
    return status;
}

enum rl_status record_profile(const struct record_options *options, char **command,
                              struct rl_profile *ret_profile, struct rl_error *err)
{
    return run(options, command, ret_profile, err);
}

enum rl_status record_attached(const struct record_options *options, struct rl_profile *ret_profile,
                               struct rl_error *err)
{
    return run(options, NULL, ret_profile, err);
}
