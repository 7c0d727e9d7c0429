#include "profile/agree_code.h"

#include "base/error.h"
#include "base/file.h"
#include "profile/tally_loader.h"
#include "symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time in code that was never counted is worth a word from this part of all on, … */
#define MIN_STRANGE_SHARE 0.05
/* … and from so many samples on: a few may be of what threads do when they happen to wait. */
#define MIN_STRANGE_SAMPLES 20

/* A function without a sample is worth a word where it had this part of all instructions, … */
#define MIN_UNSEEN_SHARE 0.05
/* … and would have had so many samples at the most instructions a second that a core can do: 8 in
 * each of 6e9 cycles. None has a chance of 1 in 3000 then. */
#define MIN_UNSEEN_SAMPLES         8
#define MOST_INSTRUCTIONS_A_SECOND 48e9
/* Who waits in a loop counts for as long as the others are slowed down. Such loops do no FLOP. */
#define MIN_FLOP_PER_INSTRUCTION 0.01

/* Nothing is faster when it is counted; clocks and shared cores make up for so much. */
#define MIN_TIME_RATIO 0.6
#define MIN_TIME_S     0.3

/* More of the counts than this is known to be missing: nothing can be said. */
#define MAX_UNCOUNTED_SHARE 0.01

static enum rl_status note(struct rl_profile *profile, struct rl_error *err, const char *what)
{
    return rl_profile_note(profile, err,
                           "the program behaves differently from run to run: %s. Operations and "
                           "bytes are those of the counted run, times those of the first: rates "
                           "and percentages of a roof, which join the two, may be wrong. Let it do "
                           "the same each time, or use --single-pass",
                           what);
}

/* --- sampled, but never counted --- */

static bool was_executed(const struct rl_tally *tally, uint32_t module, uint64_t offset)
{
    size_t low = 0;
    size_t high = tally->n_code;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rl_tally_code *c = &tally->code[middle];
        if (c->module < module || (c->module == module && c->begin <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    const struct rl_tally_code *c = low ? &tally->code[low - 1] : NULL;
    return c && c->module == module && offset < c->end;
}

/* The loader has done its work before counting begins; our own objects are nobody's work. */
static bool is_comparable(const struct rl_sample_module *module, struct agree_ours ours)
{
    const char *own[] = {ours.engine, ours.preload};
    bool is_own = false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        is_own = is_own || (own[i] && !strcmp(rl_base_name(own[i]), rl_base_name(module->path)));
    return module->kind == RL_SAMPLE_FILE && !is_own && !tally_loader_is(module->path);
}

/* The function where most of it is, or else the file. */
static enum rl_status say_strange(const struct rl_samples *timed, const struct agree_ours *ours,
                                  const struct rl_sample_bucket *most, double share,
                                  struct rl_profile *profile, struct rl_error *err)
{
    const struct rl_sample_module *m = &timed->module[most->module];
    struct rl_function function = {.name = rl_base_name(m->path)};
    struct rl_symbols *symbols = NULL;
    struct rl_symbol_module *module;
    char text[512];
    RL_TRY(rl_symbols_new(ours->symbols, &symbols, err));
    if (!rl_symbols_open(symbols, m->path, m->build_id, m->n_build_id, &module, NULL))
        rl_symbol_function(module, most->offset, &function);
    snprintf(text, sizeof text,
             "%.0f %% of the first run's time was spent in code that the counted run never "
             "executed, in %.200s for instance",
             100 * share, function.name);
    rl_symbols_free(symbols);
    return note(profile, err, text);
}

/* The region library works in the timed run only, linked into the program or not, and region calls
 * have a comparison of their own. */
static bool has_marked_regions(const struct rl_samples *timed)
{
    return timed->n_region > 0;
}

static enum rl_status check_strange(const struct rl_samples *timed, const struct rl_tally *tally,
                                    struct agree_ours ours, struct rl_profile *profile,
                                    bool *ret_said, struct rl_error *err)
{
    double strange_s = 0;
    uint64_t n_samples = 0;
    const struct rl_sample_bucket *most = NULL;
    uint32_t *module = calloc(timed->n_module + 1, sizeof *module);
    if (!module)
        return rl_fail(err, RL_ENOMEM, "out of memory for modules");
    for (size_t i = 0; i < timed->n_module; i++) {
        const struct rl_sample_module *m = &timed->module[i];
        module[i] = rl_tally_find_module(tally, m->path, m->build_id, m->n_build_id);
    }
    for (size_t i = 0; i < timed->n_bucket; i++) {
        const struct rl_sample_bucket *b = &timed->bucket[i];
        const struct rl_sample_module *m = &timed->module[b->module];
        /* without a build id a file that has another path now is not found again */
        bool is_lost = module[b->module] == RL_TALLY_NONE && !m->n_build_id;
        if (is_lost || !is_comparable(m, ours) || was_executed(tally, module[b->module], b->offset))
            continue;
        strange_s += b->cpu_s;
        n_samples += b->n_samples;
        if (!most || b->cpu_s > most->cpu_s)
            most = b;
    }
    free(module);
    *ret_said =
        n_samples >= MIN_STRANGE_SAMPLES && strange_s >= MIN_STRANGE_SHARE * timed->sampled_s;
    return *ret_said ? say_strange(timed, &ours, most, strange_s / timed->sampled_s, profile, err)
                     : RL_OK;
}

/* --- counted, but never sampled --- */

static bool may_be_a_wait(const struct rl_samples *timed, const struct rl_tally_unit *unit)
{
    struct rl_value flop = rl_kernel_flop(&unit->kernel);
    bool computes = rl_known(flop) && flop.value >= MIN_FLOP_PER_INSTRUCTION * unit->instructions;
    return !computes && (timed->n_thread > 1 || timed->n_process > 1);
}

/* Timers need the preloaded object, which static and set-user-ID images are without. */
static bool sees_all_images(const struct rl_samples *timed)
{
    return timed->method == RL_SAMPLE_PERF && !timed->n_lost;
}

static enum rl_status check_unseen(const struct rl_samples *timed, const struct rl_tally *tally,
                                   struct rl_profile *profile, bool *ret_said, struct rl_error *err)
{
    double all = 0;
    const struct rl_tally_unit *most = NULL;
    double *seen = calloc(tally->n_function + 1, sizeof *seen);
    if (!seen)
        return rl_fail(err, RL_ENOMEM, "out of memory for functions");
    for (size_t i = 0; i < timed->n_bucket; i++) {
        const struct rl_sample_bucket *b = &timed->bucket[i];
        const struct rl_sample_module *m = &timed->module[b->module];
        uint32_t module = rl_tally_find_module(tally, m->path, m->build_id, m->n_build_id);
        uint32_t function = RL_TALLY_NONE;
        uint32_t loop;
        if (module != RL_TALLY_NONE)
            rl_tally_find(tally, module, b->offset, &function, &loop);
        if (function != RL_TALLY_NONE)
            seen[function] += b->n_samples;
    }
    for (size_t i = 0; i < tally->n_function; i++)
        all += tally->unit[i].instructions;
    for (size_t i = 0; i < tally->n_function; i++) {
        const struct rl_tally_unit *u = &tally->unit[i];
        bool is_jit = tally->module[u->module].pid != 0;
        double expected = u->instructions / MOST_INSTRUCTIONS_A_SECOND * timed->rate_hz;
        if (!seen[i] && !is_jit && expected >= MIN_UNSEEN_SAMPLES &&
            u->instructions >= MIN_UNSEEN_SHARE * all && !may_be_a_wait(timed, u) &&
            (!most || u->instructions > most->instructions))
            most = u;
    }
    free(seen);
    *ret_said = most != NULL;
    if (!most)
        return RL_OK;
    char text[512];
    snprintf(text, sizeof text,
             "the counted run executed %.2g instructions in %.200s, %.0f %% of all, in which the "
             "first run was not seen once",
             most->instructions, most->kernel.name, 100 * most->instructions / all);
    return note(profile, err, text);
}

/* --- less time than the work takes --- */

static enum rl_status check_time(const struct rl_samples *timed, double counted_s,
                                 struct rl_profile *profile, struct rl_error *err)
{
    char text[256];
    if (!(counted_s > 0) || timed->children_left || timed->user_s < MIN_TIME_S ||
        counted_s >= MIN_TIME_RATIO * timed->user_s)
        return RL_OK;
    snprintf(text, sizeof text,
             "it had %.3g s on processors in the first run and %.3g s in the counted run, though "
             "counting slows programs down",
             timed->user_s, counted_s);
    return note(profile, err, text);
}

enum rl_status agree_check_code(const struct rl_samples *timed, const struct rl_tally *tally,
                                double counted_s, struct agree_ours ours,
                                struct rl_profile *profile, struct rl_error *err)
{
    bool is_said = false;
    if (tally->any_child_uncounted || tally->is_cut ||
        tally->uncounted_share > MAX_UNCOUNTED_SHARE || timed->interrupted_by)
        return RL_OK;
    bool any = timed->n_bucket && timed->sampled_s > 0;
    if (any && !has_marked_regions(timed))
        RL_TRY(check_strange(timed, tally, ours, profile, &is_said, err));
    if (any && !is_said && sees_all_images(timed))
        RL_TRY(check_unseen(timed, tally, profile, &is_said, err));
    return is_said ? RL_OK : check_time(timed, counted_s, profile, err);
}
