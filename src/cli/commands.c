/* The table of commands, sorted by name. */
#include "cli/command.h"

#include <string.h>

extern const struct rl_command rl_cmd_bench, rl_cmd_count, rl_cmd_doctor, rl_cmd_machines,
    rl_cmd_measure, rl_cmd_record, rl_cmd_report, rl_cmd_run, rl_cmd_version;

const struct rl_command *const rl_commands[] = {
    &rl_cmd_bench,  &rl_cmd_count,  &rl_cmd_doctor, &rl_cmd_machines, &rl_cmd_measure,
    &rl_cmd_record, &rl_cmd_report, &rl_cmd_run,    &rl_cmd_version,
};
const size_t rl_n_commands = sizeof rl_commands / sizeof rl_commands[0];

const struct rl_command *rl_command_find(const char *name)
{
    for (size_t i = 0; name && i < rl_n_commands; i++)
        if (strcmp(rl_commands[i]->name, name) == 0)
            return rl_commands[i];
    return NULL;
}
