/* roofline record: profile a program into a record. */
#include "cli/options.h"
#include "cli/record_plan.h"

#include "format/format.h"

#include <stdlib.h>
#include <string.h>

enum { OWN_ROWS = 3 };

#define DEFAULT_DURATION_S 10

static int fail(const struct rl_error *err)
{
    rl_report_error(err);
    return err->status == RL_ECANCEL ? RL_EXIT_INTERRUPTED : RL_EXIT_WRAPPER;
}

static int record(const struct record_options *options, char **command)
{
    struct rl_error err = {0};
    struct rl_profile profile = {0};
    char *path = NULL;
    enum rl_status status = record_output(options, command ? command[0] : NULL, &path, &err);
    if (status == RL_OK)
        status = record_check_writable(path, &err);
    if (status == RL_OK && command)
        status = record_announce(options, command[0], &err);
    rl_catch_interrupts();
    if (status == RL_OK)
        status = command ? record_profile(options, command, &profile, &err)
                         : record_attached(options, &profile, &err);
    if (status == RL_OK)
        status = rl_profile_write(path, &profile, &err);
    int code = status == RL_OK ? profile.exit_status : fail(&err);
    if (status == RL_OK && strcmp(path, "-") != 0)
        rl_say("profile written to %s; 'roofline report %s' explains it", path, path);
    rl_profile_release(&profile);
    free(path);
    return code;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct rl_error err = {0};
    struct record_options options = record_options_default();
    struct rl_option rows[OWN_ROWS + RECORD_ROWS] = {
        {RL_OPT_STRING, "output", 'o', "FILE", "profile to write; %r rank, %h host, %p process",
         &options.output, 0, 0},
        {RL_OPT_UINT, "pid", 'p', "PID", "profile a running process instead", &options.pid, 1,
         INT32_MAX},
        {RL_OPT_DOUBLE, "duration", 0, "SECONDS", "with --pid: for how long (default 10)",
         &options.duration_s, 1e-3, 1e6},
    };
    record_rows(&options, rows + OWN_ROWS);
    struct rl_arguments args = rl_options_parse(self, rows, RL_COUNT(rows), argc, argv, true);
    int code = args.exit_code;
    if (!args.done && options.pid && args.n)
        code = rl_usage_error(self, "--pid and a command");
    else if (!args.done && options.duration_s > 0 && !options.pid)
        code = rl_usage_error(self, "--duration without --pid: a program that is started here is "
                                    "profiled to its end");
    else if (!args.done && record_check_words(&options, &err) != RL_OK)
        code = rl_usage_error(self, "%s", err.text);
    else if (!args.done && !options.pid && !args.n)
        code = rl_usage_error(self, "no program given");
    else if (!args.done) {
        options.duration_s = options.duration_s > 0 ? options.duration_s : DEFAULT_DURATION_S;
        record_adapt_to_ranks(&options);
        code = record(&options, options.pid ? NULL : args.item);
    }
    record_options_release(&options);
    return code;
}

const struct rl_command rl_cmd_record = {
    .name = "record",
    .summary = "profile a program: time, operations and bytes of its kernels",
    .synopsis = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .wraps = true,
    .run = run,
};
