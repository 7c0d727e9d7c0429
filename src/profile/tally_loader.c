#include "profile/tally_loader.h"

#include "base/error.h"
#include "base/file.h"
#include "count/engine/result_format.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool tally_loader_is(const char *path)
{
    static const char *const names[] = {"ld-linux*.so*", "ld-musl-*.so*", "ld.so*", "ld64.so*"};
    const char *name = rl_base_name(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!fnmatch(names[i], name, 0))
            return true;
    return false;
}

static bool began_uncounted(const struct code *code)
{
    for (size_t i = 0; i < code->n_result; i++)
        for (size_t k = 0; k < code->result[i].n_uncounted; k++)
            if (code->result[i].uncounted[k].reason == RLE_UNCOUNTED_RUNTIME)
                return true;
    return false;
}

static enum rl_status forget_counts(struct rl_kernel *kernel, struct rl_error *err)
{
    free(kernel->ops);
    kernel->ops = NULL;
    kernel->n_ops = 0;
    free(kernel->traffic);
    kernel->traffic = NULL;
    kernel->n_traffic = 0;
    rl_missing_release(&kernel->missing);
    kernel->calls = kernel->latency_bound_loads = kernel->flop = kernel->iop = kernel->load_bytes =
        kernel->store_bytes = kernel->nontemporal_bytes = kernel->total_flop = (struct rl_value){0};
    return rl_missing_add(&kernel->missing, "flop",
                          "most of the dynamic loader's work is done, and timed, before counting "
                          "begins",
                          err);
}

enum rl_status tally_loader_forget(struct rl_tally *tally, const struct code *code,
                                   struct rl_error *err)
{
    if (!began_uncounted(code))
        return RL_OK;
    for (size_t i = 0; i < tally->n_unit; i++) {
        struct rl_tally_unit *unit = &tally->unit[i];
        if (tally_loader_is(tally->module[unit->module].path))
            RL_TRY(forget_counts(&unit->kernel, err));
    }
    return RL_OK;
}
