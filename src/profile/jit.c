#include "profile/jit.h"
#include "base/file.h"

#include <roofline/machine.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Run-times that name what they compile only if they are told to. */
static const struct {
    const char *command, *option;
} tellers[] = {
    {"node", "--perf-basic-prof"},
    {"nodejs", "--perf-basic-prof"},
};

static const char *option_of(const char *command)
{
    const char *name = command ? rl_base_name(command) : "";
    for (size_t i = 0; i < sizeof tellers / sizeof *tellers; i++) {
        if (!strcmp(name, tellers[i].command))
            return tellers[i].option;
    }
    return NULL;
}

static bool has_map(int32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)pid);
    return access(path, F_OK) == 0;
}

enum rl_status jit_note(const struct rl_samples *samples, struct rl_profile *profile,
                        struct rl_error *err)
{
    for (size_t i = 0; i < samples->n_module; i++) {
        const struct rl_sample_module *module = &samples->module[i];
        if (module->kind != RL_SAMPLE_JIT)
            continue;
        const struct rl_sample_process *process = &samples->process[module->process];
        const char *option = option_of(process->command);
        if (option && !has_map(process->pid))
            return rl_profile_note(profile, err,
                                   "what %s compiled while it ran has no names: start it with %s, "
                                   "so that it writes /tmp/perf-%d.map",
                                   rl_base_name(process->command), option, (int)process->pid);
    }
    return RL_OK;
}
