#include "cli/bench_drift.h"

#include "base/error.h"
#include "base/unit.h"
#include "ceilings/ceilings.h"
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double check_s = 0.5;     /* of each thread count */
static const double tolerance = 0.1;   /* two clean measurements of DRAM differ by less */
static const double least_clock = 0.9; /* of the record's */

static bool has_dram(const struct rl_machine *machine, unsigned threads)
{
    for (size_t i = 0; i < machine->n_memory; i++)
        if (machine->memory[i].threads == threads && !strcmp(machine->memory[i].level, "DRAM"))
            return true;
    return false;
}

void bench_drift_plan(struct bench_drift *drift, const struct bench_plan *plan,
                      const struct rl_machine *machine)
{
    for (size_t i = 0; i < plan->n; i++) {
        unsigned threads = plan->config[i].threads;
        bool known = false;
        for (size_t k = 0; k < drift->n_threads; k++)
            known |= drift->threads[k] == threads;
        if (!known && drift->n_threads < RL_COUNT(drift->threads) && has_dram(machine, threads))
            drift->threads[drift->n_threads++] = threads;
    }
}

enum rl_status bench_drift_check(struct bench_drift *drift, const struct rl_machine *machine,
                                 struct rl_error *err)
{
    struct rl_measure_options options = rl_measure_options_default();
    struct rl_machine now = {0};
    if (!drift->n_threads)
        return RL_OK;
    options.threads = drift->threads;
    options.n_threads = drift->n_threads;
    options.known = machine;
    options.budget_s = check_s * (double)drift->n_threads;
    options.isa_mask = getenv("ROOFLINE_ISA");
    options.cancelled = rl_interrupted;
    enum rl_status status = rl_measure_dram(&options, &now, err);
    if (status != RL_OK)
        return status == RL_ECANCEL ? status : RL_OK;
    if (drift->n_checks++ == 0) {
        drift->fresh = now;
        return RL_OK;
    }
    rl_refresh_keep_faster(&drift->fresh, &now);
    rl_machine_release(&now);
    return RL_OK;
}

static enum rl_status note_clock(const struct rl_machine *fresh, const struct rl_machine *machine,
                                 struct rl_profile *profile, struct rl_error *err)
{
    char text[256];
    double then = machine->environment.clock_max_hz, now = fresh->environment.clock_max_hz;
    if (!(then > 0) || !(now > 0) || now >= least_clock * then)
        return RL_OK;
    snprintf(text, sizeof text,
             "the core ran at up to %.2f GHz when this machine was measured and at %.2f GHz beside "
             "these kernels: roofs of arithmetic and caches are too high by that; 'roofline "
             "measure' takes them anew",
             then / 1e9, now / 1e9);
    return rl_profile_note(profile, err, "%s", text);
}

enum rl_status bench_drift_apply(const struct bench_drift *drift, struct rl_machine *machine,
                                 struct rl_profile *profile, struct rl_error *err)
{
    struct rl_drift furthest;
    char then[32], now[32];
    if (!drift->n_checks)
        return RL_OK;
    RL_TRY(note_clock(&drift->fresh, machine, profile, err));
    if (!rl_refresh_drift(machine, &drift->fresh, tolerance, &furthest))
        return RL_OK;
    rl_format_si(then, sizeof then, furthest.then_bytes_per_s, "B/s");
    rl_format_si(now, sizeof now, furthest.now_bytes_per_s, "B/s");
    RL_TRY(rl_profile_note(profile, err,
                           "memory is not as it was: %s had %s at its best when this machine was "
                           "measured and %s beside these kernels, in passes as long as their "
                           "calls; the DRAM roofs shown by bench are those of now, and 'roofline "
                           "measure' takes them anew for other commands",
                           furthest.id, then, now));
    rl_refresh_apply(machine, &drift->fresh);
    return RL_OK;
}

void bench_drift_release(struct bench_drift *drift)
{
    rl_machine_release(&drift->fresh);
    memset(drift, 0, sizeof *drift);
}
