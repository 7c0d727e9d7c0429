#include "profile/tally_cut.h"

#include "base/error.h"
#include "count/engine/options.h"
#include "count/engine/result_format.h"

#include <stdlib.h>
#include <string.h>

bool tally_cut_is(const struct rl_result *result)
{
    bool left = result->state == RLE_STATE_DETACHED && result->mode != RLE_MODE_MIX;
    bool lost = !strncmp(result->message, RLE_COUNTS_LOST, strlen(RLE_COUNTS_LOST));
    bool found = left || lost || result->state == RLE_STATE_FAILED || result->uncounted_blocks ||
                 result->problem[0];
    for (size_t i = 0; i < result->n_uncounted && !found; i++)
        found = result->uncounted[i].reason == RLE_UNCOUNTED_DETACHED;
    return found;
}

enum rl_status tally_forget(struct rl_kernel *kernel, const char *why, struct rl_error *err)
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
    return rl_missing_add(&kernel->missing, "flop", why, err);
}

/* A total holds parts of what was called, by calls that were counted. */
static enum rl_status forget_units(struct rl_tally *tally, const bool *is_cut, struct rl_error *err)
{
    for (size_t i = 0; i < tally->n_unit; i++) {
        struct rl_kernel *kernel = &tally->unit[i].kernel;
        if (is_cut[tally->unit[i].module])
            RL_TRY(tally_forget(kernel, TALLY_CUT_WHY, err));
        else if (rl_known(kernel->total_flop))
            RL_TRY(rl_missing_add(&kernel->missing, "total", TALLY_CUT_WHY, err));
        kernel->total_flop = (struct rl_value){0};
    }
    return RL_OK;
}

static enum rl_status find_modules(struct rl_tally *tally, const struct code *code, bool *is_cut,
                                   struct rl_error *err)
{
    for (uint32_t r = 0; r < code->n_result; r++) {
        if (!tally_cut_is(&code->result[r]))
            continue;
        tally->is_cut = true;
        for (size_t i = 0; i < code->result[r].n_pieces; i++)
            is_cut[code_module(code, r, i)] = true;
        struct rl_kernel *image = code->image ? &tally->image[code->image[r]].kernel : NULL;
        if (image && tally->n_image > 1)
            RL_TRY(tally_forget(image, TALLY_CUT_WHY, err));
    }
    return RL_OK;
}

enum rl_status tally_cut_forget(struct rl_tally *tally, const struct code *code,
                                struct rl_error *err)
{
    bool *is_cut = calloc(tally->n_module + 1, sizeof *is_cut);
    if (!is_cut)
        return rl_fail(err, RL_ENOMEM, "out of memory for counts");
    enum rl_status status = find_modules(tally, code, is_cut, err);
    if (!status && tally->is_cut)
        status = forget_units(tally, is_cut, err);
    free(is_cut);
    return status;
}
