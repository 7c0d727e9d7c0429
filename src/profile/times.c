#include "base/array.h"
#include "base/error.h"
#include "profile/profile.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Modules are compared only where both are known: regions and programs have none. */
static struct rl_kernel *find(struct rl_profile *profile, const struct rl_kernel *like)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        struct rl_kernel *k = &profile->kernel[i];
        bool same_module = !k->module || !like->module || same_text(k->module, like->module);
        if (k->kind == like->kind && same_text(k->name, like->name) && same_module)
            return k;
    }
    return NULL;
}

enum rl_status rl_profile_take_times(struct rl_profile *profile, struct rl_profile *from,
                                     struct rl_error *err)
{
    for (size_t i = 0; i < from->n_kernel; i++) {
        struct rl_kernel *timed = &from->kernel[i];
        struct rl_kernel *kernel = find(profile, timed);
        if (!rl_known(timed->time_s))
            continue;
        if (kernel) {
            kernel->time_s = timed->time_s;
            kernel->total_time_s = timed->total_time_s;
            kernel->threads = timed->threads;
            continue;
        }
        struct rl_kernel *added =
            rl_array_append(&profile->kernel, &profile->n_kernel, sizeof *added);
        if (!added)
            return rl_fail(err, RL_ENOMEM, "out of memory for kernels");
        *added = *timed;
        *timed = (struct rl_kernel){0};
    }
    profile->elapsed_s = from->elapsed_s;
    profile->cpu_s = from->cpu_s;
    profile->threads = from->threads;
    if (profile->name && from->name && strcmp(profile->name, from->name) != 0)
        RL_TRY(rl_profile_note(profile, err,
                               "the times are those of another program, %s: rates of what both ran "
                               "may be wrong",
                               from->name));
    return rl_profile_note(profile, err, "times are from a run recorded before, on %s",
                           from->date ? from->date : "an unknown date");
}
