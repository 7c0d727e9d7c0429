/* roofline run: measure this machine if need be, profile a program, show it under the roof. */
#include "cli/lock.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/record_plan.h"
#include "cli/show.h"
#include "cli/store.h"

#include "base/error.h"
#include "ceilings/ceilings.h"
#include "format/format.h"

#include <roofline/report.h>
#include <roofline/version.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OWN_ROWS = 4 };

struct request {
    struct record_options record;
    const char *picture; /* where a picture goes; NULL: none */
    const char *machine; /* NULL: this machine's cached record, or a measurement */
    bool ascii;
};

static int fail(const struct rl_error *err)
{
    rl_report_error(err);
    return err->status == RL_ECANCEL ? RL_EXIT_INTERRUPTED : RL_EXIT_WRAPPER;
}

static void on_progress(void *context, double fraction, const char *label)
{
    rl_progress_update(context, fraction, label);
}

static enum rl_status measure(struct rl_machine *ret_machine, struct rl_error *err)
{
    char date[32];
    struct tm tm;
    time_t now = time(NULL);
    struct rl_lock lock = {0};
    struct rl_error kept = {0};
    struct rl_progress progress;
    struct rl_measure_options options = rl_measure_options_default();
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    options.isa_mask = getenv("ROOFLINE_ISA");
    options.date = date;
    options.program = "roofline " ROOFLINE_VERSION;
    options.cancelled = rl_interrupted;
    options.progress = on_progress;
    options.context = &progress;
    rl_say("this machine is measured first; the record is kept, 'roofline measure' renews it");
    RL_TRY(rl_lock_take(&lock, err));
    rl_progress_begin(&progress);
    enum rl_status status = rl_measure(&options, ret_machine, err);
    rl_progress_end(&progress);
    rl_lock_release(&lock);
    if (status == RL_OK && rl_store_save(ret_machine, &kept) != RL_OK)
        rl_warn("the machine record is not kept: %s", kept.text);
    return status;
}

static enum rl_status find_machine(const struct request *r, struct rl_machine *ret_machine,
                                   struct rl_error *err)
{
    struct rl_machine here = {0};
    if (r->machine)
        return rl_machine_read(r->machine, ret_machine, err);
    RL_TRY(rl_host_describe(getenv("ROOFLINE_ISA"), &here, err));
    enum rl_status status = rl_store_load(here.key, ret_machine, err);
    if (status == RL_ENODATA && record_rank()) /* ranks side by side would measure each other */
        status = rl_store_load_whole(&here, ret_machine, err);
    rl_machine_release(&here);
    return status == RL_ENODATA ? measure(ret_machine, err) : status;
}

static enum rl_status show(const struct request *r, const struct rl_report *report,
                           const char *path, struct rl_error *err)
{
    const struct rl_renderer *renderer =
        path ? rl_renderer_for_file(path) : rl_renderer_find("text");
    if (!renderer)
        return rl_fail(err, RL_EINVAL, "%s: the ending names no picture format", path);
    struct rl_render_options how = rl_show_options(path, r->ascii);
    if (!renderer->cells)
        how.width = how.height = 0;
    return rl_show(renderer, report, &how, path, err);
}

static enum rl_status report(const struct request *r, const struct rl_machine *machine,
                             const struct rl_profile *profile, struct rl_error *err)
{
    struct rl_report report = {0};
    struct rl_report_options options = {.select = r->record.include};
    RL_TRY(rl_report_build(machine, profile, &options, &report, err));
    enum rl_status status = show(r, &report, NULL, err);
    if (status == RL_OK && r->picture)
        status = show(r, &report, r->picture, err);
    rl_report_release(&report);
    return status;
}

static enum rl_status check(const struct request *r, char **command, char **ret_path,
                            struct rl_error *err)
{
    RL_TRY(record_output(&r->record, command[0], ret_path, err));
    RL_TRY(record_check_writable(*ret_path, err));
    if (r->picture)
        RL_TRY(record_check_writable(r->picture, err));
    return record_announce(&r->record, command[0], err);
}

/* Whatever cannot be shown, the profile is written first. */
static int run_program(const struct request *r, char **command)
{
    struct rl_error err = {0};
    struct rl_machine machine = {0};
    struct rl_profile profile = {0};
    char *path = NULL;
    enum rl_status status = check(r, command, &path, &err);
    rl_catch_interrupts();
    if (status == RL_OK)
        status = find_machine(r, &machine, &err);
    if (status == RL_OK)
        status = record_profile(&r->record, command, &profile, &err);
    if (status == RL_OK)
        status = rl_profile_write(path, &profile, &err);
    if (status == RL_OK)
        status = report(r, &machine, &profile, &err);
    int code = status == RL_OK ? profile.exit_status : fail(&err);
    if (status == RL_OK)
        rl_say("profile written to %s; 'roofline report %s' shows it again", path, path);
    rl_profile_release(&profile);
    rl_machine_release(&machine);
    free(path);
    return code;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct rl_error err = {0};
    struct request r = {.record = record_options_default()};
    struct rl_option rows[OWN_ROWS + RECORD_ROWS] = {
        {RL_OPT_STRING, "output", 'o', "FILE", "profile to write; %r rank, %h host, %p process",
         &r.record.output, 0, 0},
        {RL_OPT_STRING, "picture", 0, "FILE", "also draw the roofline there: svg, png or pdf",
         &r.picture, 0, 0},
        {RL_OPT_STRING, "machine", 'm', "FILE", "machine record (default: cached, or measured)",
         &r.machine, 0, 0},
        {RL_OPT_FLAG, "ascii", 0, NULL, "no characters beyond ASCII", &r.ascii, 0, 0},
    };
    record_rows(&r.record, rows + OWN_ROWS);
    struct rl_arguments args = rl_options_parse(self, rows, RL_COUNT(rows), argc, argv, true);
    int code = args.exit_code;
    if (!args.done && record_check_words(&r.record, &err) != RL_OK)
        code = rl_usage_error(self, "%s", err.text);
    else if (!args.done && !args.n)
        code = rl_usage_error(self, "no program given");
    else if (!args.done && r.record.output && !strcmp(r.record.output, "-"))
        code = rl_usage_error(self, "the report goes to standard output, the profile to a file");
    else if (!args.done) {
        record_adapt_to_ranks(&r.record);
        code = run_program(&r, args.item);
    }
    record_options_release(&r.record);
    return code;
}

const struct rl_command rl_cmd_run = {
    .name = "run",
    .summary = "profile a program and show its kernels under this machine's roof",
    .synopsis = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .wraps = true,
    .run = run,
};
