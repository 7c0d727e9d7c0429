#include "cli/options.h"

#include <roofline/version.h>
#include <stdio.h>

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct rl_arguments args = rl_options_parse(self, NULL, 0, argc, argv, false);
    if (args.done)
        return args.exit_code;
    if (args.n)
        return rl_usage_error(self, "takes no arguments, but got '%s'", args.item[0]);
    puts("roofline " ROOFLINE_VERSION);
    return RL_EXIT_DONE;
}

const struct rl_command rl_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .synopsis = "[-h]",
    .run = run,
};
