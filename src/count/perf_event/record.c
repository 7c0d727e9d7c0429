/* Counts as records: a kernel that stands for the program, and the profile's notes. */
#include "count/perf_event/counts.h"

#include "base/error.h"

#include <stdio.h>

/* The host is not known where records are made from a replay, so its level is not named. */
static enum rl_status miss(struct rl_kernel *kernel, const char *what, const struct rl_pmu_value *v,
                           struct rl_error *err)
{
    char text[256];
    char full[320];
    rl_pmu_why_text(v->why, NULL, v->detail, text, sizeof text);
    snprintf(full, sizeof full, "hardware counters: %s", text);
    return rl_missing_add(&kernel->missing, what, full, err);
}

/* Fills alone are no traffic, but they are worth saying. */
static enum rl_status miss_level(struct rl_kernel *kernel, const struct rl_pmu_level *level,
                                 struct rl_error *err)
{
    struct rl_pmu_value value = level->total;
    char what[32];
    snprintf(what, sizeof what, "bytes.%s", level->name);
    if (rl_known(level->fill.value))
        snprintf(value.detail, sizeof value.detail, "%.6g bytes were filled; %.50s",
                 level->fill.value.value, level->write.detail);
    return miss(kernel, what, &value, err);
}

static enum rl_status fill_level(struct rl_kernel *kernel, const struct rl_pmu_level *level,
                                 const struct rl_pmu_level *instead, struct rl_error *err)
{
    struct rl_traffic *traffic;
    struct rl_value total = level->total.value;
    if (!rl_known(total) && instead)
        total = instead->total.value;
    if (!rl_known(total))
        return miss_level(kernel, level, err);
    RL_TRY(rl_kernel_traffic(kernel, level->name, &traffic, err));
    traffic->bytes = total;
    return RL_OK;
}

enum rl_status rl_pmu_counts_fill(const struct rl_pmu_counts *counts, struct rl_kernel *kernel,
                                  struct rl_error *err)
{
    kernel->flop = counts->flop.value;
    if (!rl_known(counts->flop.value))
        RL_TRY(miss(kernel, "flop", &counts->flop, err));
    for (int p = RL_FP64; p <= RL_BF16; p++) {
        char what[32];
        const struct rl_pmu_value *v = &counts->flop_of[p];
        if (p == RL_TF32 || rl_known(v->value))
            continue;
        snprintf(what, sizeof what, "flop.%s", rl_precision_name((enum rl_precision)p));
        RL_TRY(miss(kernel, what, v, err));
    }
    RL_TRY(fill_level(kernel, &counts->level[RL_PMU_LEVEL_L2], NULL, err));
    RL_TRY(fill_level(kernel, &counts->level[RL_PMU_LEVEL_L3], NULL, err));
    return fill_level(kernel, &counts->level[RL_PMU_LEVEL_DRAM], &counts->system_dram, err);
}

static const struct {
    unsigned rule;
    const char *text;
} flop_notes[] = {
    {RL_PMU_MASKED, "counted FLOP take in lanes that were switched off"},
    {RL_PMU_MINMAX, "counted FLOP take in min, max and reciprocal estimates"},
    {RL_PMU_SPECULATIVE, "counted FLOP take in work on mispredicted paths"},
    {RL_PMU_UNWEIGHTED, "whether a fused multiply-add counts twice is not documented here"},
};

enum rl_status rl_pmu_counts_note(const struct rl_pmu_counts *counts, struct rl_profile *profile,
                                  struct rl_error *err)
{
    unsigned rules = 0;
    bool has_dram = rl_known(counts->level[RL_PMU_LEVEL_DRAM].total.value);
    for (size_t k = 0; k < counts->n_core; k++)
        rules |= counts->core[k]->flop;
    RL_TRY(rl_profile_note(profile, err, "hardware counters of %s%s%s, %zu run%s",
                           counts->n_core ? counts->core[0]->name : "no core",
                           counts->n_core > 1 ? " and " : "",
                           counts->n_core > 1 ? counts->core[1]->name : "", counts->n_runs,
                           counts->n_runs == 1 ? "" : "s"));
    for (size_t i = 0; i < sizeof flop_notes / sizeof *flop_notes; i++) {
        if (rules & flop_notes[i].rule && rl_known(counts->flop.value))
            RL_TRY(rl_profile_note(profile, err, "%s", flop_notes[i].text));
    }
    if (rl_known(counts->flop.value))
        RL_TRY(rl_profile_note(profile, err,
                               "x87 and matrix tiles have no counter: their FLOP are not in"));
    if (!has_dram && rl_known(counts->system_dram.total.value))
        RL_TRY(rl_profile_note(profile, err,
                               "memory traffic is from the memory controllers and takes in "
                               "everything that ran on the machine meanwhile"));
    if (counts->instructions.value.spread > 0.01)
        RL_TRY(rl_profile_note(profile, err,
                               "the runs differ by %.1f %% in instructions: counts of different "
                               "runs belong together only roughly",
                               200 * counts->instructions.value.spread));
    if (counts->flop_disagreement > 0.05)
        RL_TRY(rl_profile_note(profile, err, "FLOP by precision and FLOP in all differ by %.1f %%",
                               100 * counts->flop_disagreement));
    return RL_OK;
}
