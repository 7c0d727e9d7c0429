/* roofline measure: this machine's ceilings, as a table and a machine record. */
#include "cli/lock.h"
#include "cli/machine_table.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/unit.h"
#include "ceilings/ceilings.h"
#include "format/format.h"

#include <roofline/version.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_COUNTS = 8 };

struct measure {
    const char *output;
    const char *threads;
    bool all, quick, thorough;
    double budget_s;
    uint64_t memory_bytes;
    unsigned count[MOST_COUNTS];
    size_t n_counts;
    struct rl_progress progress;
};

static void on_progress(void *context, double fraction, const char *label)
{
    struct measure *m = context;
    rl_progress_update(&m->progress, fraction, label);
}

/* "1,2,8" */
static enum rl_status parse_threads(struct measure *m, struct rl_error *err)
{
    char word[24];
    for (const char *at = m->threads; at && *at;) {
        uint64_t count;
        size_t n = strcspn(at, ",");
        if (m->n_counts == MOST_COUNTS)
            return rl_fail(err, RL_EINVAL, "--threads: at most %d counts", MOST_COUNTS);
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        RL_TRY(rl_parse_uint(word, "--threads", 1, 65536, &count, err));
        m->count[m->n_counts++] = (unsigned)count;
        at += n;
        at += *at == ',';
        if (at[0] == '\0' && at[-1] == ',')
            return rl_fail(err, RL_EINVAL, "--threads: a number is missing after the comma");
    }
    if (m->threads && m->n_counts == 0)
        return rl_fail(err, RL_EINVAL, "--threads: a list of numbers is expected, e.g. 1,2");
    return RL_OK;
}

static enum rl_status measure(struct measure *m, struct rl_machine *machine, struct rl_error *err)
{
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    struct rl_measure_options options = rl_measure_options_default();
    options.mode = m->quick      ? RL_MEASURE_QUICK
                   : m->thorough ? RL_MEASURE_THOROUGH
                                 : RL_MEASURE_DEFAULT;
    options.threads = m->count;
    options.n_threads = m->n_counts;
    options.budget_s = m->budget_s;
    options.memory_bytes = m->memory_bytes;
    options.isa_mask = getenv("ROOFLINE_ISA");
    options.date = date;
    options.program = "roofline " ROOFLINE_VERSION;
    options.cancelled = rl_interrupted;
    options.progress = on_progress;
    options.context = m;
    rl_progress_begin(&m->progress);
    enum rl_status status = rl_measure(&options, machine, err);
    rl_progress_end(&m->progress);
    return status;
}

/* Before seconds of work, not after. */
static enum rl_status check_writable(const char *path, struct rl_error *err)
{
    struct rl_output out = {0};
    if (!path || strcmp(path, "-") == 0)
        return RL_OK;
    RL_TRY(rl_output_open(&out, path, err));
    rl_output_abort(&out);
    return RL_OK;
}

static size_t n_ceilings(const struct rl_machine *machine)
{
    return machine->n_compute + machine->n_memory + machine->n_latency;
}

/* Whether the record kept for this machine holds more than the new one. */
static bool kept_is_richer(const struct rl_machine *machine)
{
    struct rl_machine kept = {0};
    bool richer = rl_store_load(machine->key, &kept, NULL) == RL_OK &&
                  n_ceilings(&kept) > n_ceilings(machine);
    rl_machine_release(&kept);
    return richer;
}

/* The record goes where the user says, and to the store, where other commands look for it. Failing
 * the latter only matters when there is nothing else. */
static enum rl_status keep(const struct measure *m, const struct rl_machine *machine,
                           struct rl_error *err)
{
    struct rl_error store_err = {0};
    if (m->output)
        RL_TRY(rl_machine_write(m->output, machine, err));
    if (kept_is_richer(machine)) {
        rl_say("the record kept for other commands stays: it holds more ceilings than this one");
        return RL_OK;
    }
    enum rl_status status = rl_store_save(machine, &store_err);
    if (status != RL_OK && m->output)
        rl_warn("the record is not kept for other commands: %s", store_err.text);
    else if (status != RL_OK)
        return rl_fail(err, status, "the record cannot be kept: %s; use -o FILE", store_err.text);
    return RL_OK;
}

static enum rl_status run_measure(struct measure *m, struct rl_error *err)
{
    struct rl_machine machine = {0};
    struct rl_lock lock = {0};
    RL_TRY(check_writable(m->output, err));
    RL_TRY(rl_lock_take(&lock, err));
    enum rl_status status = measure(m, &machine, err);
    rl_lock_release(&lock);
    RL_TRY(status);
    bool to_stdout = m->output && strcmp(m->output, "-") == 0;
    if (!to_stdout)
        rl_machine_table_print(stdout, &machine, m->all, rl_table_columns());
    status = keep(m, &machine, err);
    rl_machine_release(&machine);
    return status;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct measure m = {0};
    struct rl_error err = {0};
    const struct rl_option options[] = {
        {.type = RL_OPT_STRING,
         .name = "output",
         .letter = 'o',
         .arg = "FILE",
         .help = "write the machine record to FILE (- for standard output)",
         .value = &m.output},
        {.type = RL_OPT_FLAG,
         .name = "all",
         .letter = 'a',
         .help = "show every instruction set, not only the fastest for each operation",
         .value = &m.all},
        {.type = RL_OPT_FLAG,
         .name = "quick",
         .help = "only what a plain roofline needs, in 3 seconds",
         .value = &m.quick},
        {.type = RL_OPT_FLAG,
         .name = "thorough",
         .help = "take four times as long",
         .value = &m.thorough},
        {.type = RL_OPT_STRING,
         .name = "threads",
         .arg = "LIST",
         .help = "thread counts, e.g. 1,2,8 (default: 1 and all cores)",
         .value = &m.threads},
        {.type = RL_OPT_DOUBLE,
         .name = "budget",
         .arg = "SECONDS",
         .help = "time to aim for",
         .value = &m.budget_s,
         .min = 0.5,
         .max = 3600},
        {.type = RL_OPT_SIZE,
         .name = "memory",
         .arg = "SIZE",
         .help = "memory to use at most (default: a quarter of what is free)",
         .value = &m.memory_bytes,
         .min = 1},
    };
    struct rl_arguments args =
        rl_options_parse(self, options, RL_COUNT(options), argc, argv, false);
    if (args.done)
        return args.exit_code;
    if (args.n)
        return rl_usage_error(self, "takes no arguments, but got '%s'", args.item[0]);
    if (m.quick && m.thorough)
        return rl_usage_error(self, "--quick and --thorough exclude each other");
    if (parse_threads(&m, &err) != RL_OK)
        return rl_usage_error(self, "%s", err.text);
    rl_catch_interrupts();
    if (run_measure(&m, &err) != RL_OK)
        return rl_report_error(&err);
    return RL_EXIT_DONE;
}

const struct rl_command rl_cmd_measure = {
    .name = "measure",
    .summary = "measure this machine's ceilings",
    .synopsis = "[-o FILE] [-a] [--quick | --thorough] [--threads LIST] [--budget SECONDS] "
                "[--memory SIZE] [-q]",
    .run = run,
};
