#include "profile/tally_notes.h"

#include "base/error.h"
#include "base/file.h"
#include "count/engine/options.h"
#include "count/engine/result_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Programs that are named. */
#define MOST_NAMES 8

static const char *reason_text(uint32_t reason)
{
    switch (reason) {
    case RLE_UNCOUNTED_DETACHED:
        return "ran on uncounted";
    case RLE_UNCOUNTED_CAPACITY:
        return "outgrew the counters";
    case RLE_UNCOUNTED_NATIVE:
        return "ran generated code uncounted";
    case RLE_UNCOUNTED_CHILD:
        return "started a program that was not counted";
    case RLE_UNCOUNTED_RUNTIME:
        return "was loaded uncounted";
    case RLE_UNCOUNTED_BEFORE:
        return "had run uncounted before it was attached to";
    case RLE_UNCOUNTED_PAUSED:
        return "ran on uncounted for a while";
    default:
        return "was not counted in full";
    }
}

/* Bursts leave most uncounted, and are meant to: who asked for them tells of them. */
static bool is_in_bursts(const struct rl_result *result)
{
    return result->mode == RLE_MODE_MIX;
}

/* Of many stretches of time one is named. */
static bool is_named_already(const struct rl_result *result, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (result->uncounted[k].reason == RLE_UNCOUNTED_PAUSED)
            return result->uncounted[i].reason == RLE_UNCOUNTED_PAUSED;
    return false;
}

/* Of a process that was left its state tells the reason. */
static bool is_the_state(const struct rl_result *result, const struct rl_result_uncounted *u)
{
    return u->reason == RLE_UNCOUNTED_DETACHED && result->state == RLE_STATE_DETACHED &&
           !is_in_bursts(result) && !strcmp(u->detail, result->message);
}

/* Start-up by the dynamic loader is always uncounted and of no interest. */
static enum rl_status note_uncounted(struct rl_tally *tally, const struct rl_result *result,
                                     double *uncounted_ns, double *counted_ns, struct rl_error *err)
{
    for (size_t i = 0; i < result->n_uncounted; i++) {
        const struct rl_result_uncounted *u = &result->uncounted[i];
        bool is_meant = u->reason == RLE_UNCOUNTED_BEFORE || u->reason == RLE_UNCOUNTED_PAUSED;
        if (u->reason == RLE_UNCOUNTED_RUNTIME || (is_meant && is_in_bursts(result)))
            continue;
        double spent_ns = u->end_ns > u->begin_ns ? (double)(u->end_ns - u->begin_ns) : 0;
        *uncounted_ns += spent_ns;
        if (u->reason == RLE_UNCOUNTED_CAPACITY && !strcmp(u->detail, RLE_NO_ROOM_FOR_REGION))
            tally->regions_overflowed = true;
        if (u->reason == RLE_UNCOUNTED_PAUSED) /* lies between begin and end of counting */
            *counted_ns -= spent_ns;
        if (u->reason == RLE_UNCOUNTED_CHILD)
            tally->any_child_uncounted = true;
        if (is_named_already(result, i) || is_the_state(result, u))
            continue;
        RL_TRY(tally_note(tally, err, "process %d %s%s%s", (int)result->pid, reason_text(u->reason),
                          u->detail[0] ? ": " : "", u->detail));
    }
    return RL_OK;
}

static enum rl_status note_state(struct rl_tally *tally, const struct rl_result *result,
                                 struct rl_error *err)
{
    bool is_meant = result->state == RLE_STATE_DETACHED && is_in_bursts(result);
    if (result->state == RLE_STATE_FAILED || (result->state == RLE_STATE_DETACHED && !is_meant)) {
        int n = (int)strcspn(result->message, "\n");
        RL_TRY(tally_note(tally, err, "process %d %s: %.*s", (int)result->pid,
                          result->state == RLE_STATE_FAILED ? "was ended by the counting engine"
                                                            : "ran on uncounted",
                          n ? n : 64, n ? result->message : "no reason was left"));
    } else if (result->message[0] && !is_meant) {
        RL_TRY(tally_note(tally, err, "process %d: %s", (int)result->pid, result->message));
    }
    if (result->problem[0])
        RL_TRY(tally_note(tally, err, "the result of process %d is damaged: %s", (int)result->pid,
                          result->problem));
    if (result->uncounted_blocks)
        RL_TRY(tally_note(tally, err,
                          "process %d: %" PRIu64 " blocks of code were not counted, the counters "
                          "were used up",
                          (int)result->pid, result->uncounted_blocks));
    return RL_OK;
}

/* How many processes ran which program, those of one name together. */
static enum rl_status note_processes(struct rl_tally *tally, const struct code *code,
                                     struct rl_error *err)
{
    const size_t n = code->n_result;
    const char *names[MOST_NAMES];
    size_t count[MOST_NAMES] = {0}, n_name = 0, others = 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        const char *name = rl_base_name(code->result[i].arguments);
        size_t k = 0;
        while (k < n_name && strcmp(names[k], name) != 0)
            k++;
        if (k == MOST_NAMES) {
            others++;
            continue;
        }
        if (k == n_name)
            names[n_name++] = name;
        count[k]++;
    }
    char text[1024] = "";
    size_t used = 0;
    for (size_t k = 0; k < n_name && used < sizeof text; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.64s (%zu)", k ? ", " : "",
                                 names[k], count[k]);
    if (others && used < sizeof text)
        snprintf(text + used, sizeof text - used, ", others (%zu)", others);
    return n > 1 ? tally_note(tally, err, "%zu process images were counted: %s", n, text) : RL_OK;
}

static enum rl_status note_sums(struct rl_tally *tally, const struct sums *s, struct rl_error *err)
{
    if (s->masked_flop && s->flop)
        RL_TRY(tally_note(tally, err,
                          "%.3g %% of the FLOP are in instructions under a mask; all their lanes "
                          "are counted, an upper bound",
                          100.0 * (double)s->masked_flop / (double)s->flop));
    if (s->tile_ops)
        RL_TRY(tally_note(tally, err,
                          "AMX instructions are counted as if every tile were full (16 rows of 64 "
                          "bytes), an upper bound"));
    if (s->undecodable)
        RL_TRY(tally_note(tally, err,
                          "code that could not be decoded was executed %" PRIu64 " times",
                          s->undecodable));
    return RL_OK;
}

/* Lines are in the program itself, inlined calls are not. */
static enum rl_status note_lacks(struct rl_tally *tally, const struct code *code,
                                 struct rl_error *err)
{
    for (size_t i = 0; i < code->n_module; i++) {
        const char *lacks = code->module[i] ? rl_symbol_module_lacks(code->module[i]) : NULL;
        if (lacks)
            RL_TRY(tally_note(tally, err,
                              "inlined calls of %s have no names, and its functions are placed "
                              "where their first instruction is: %s",
                              rl_symbol_module_name(code->module[i]), lacks));
    }
    return RL_OK;
}

enum rl_status tally_notes_add(struct rl_tally *tally, const struct code *code,
                               const struct sums *program, struct rl_error *err)
{
    double counted_ns = 0, uncounted_ns = 0;
    for (size_t i = 0; i < code->n_result; i++) {
        const struct rl_result *result = &code->result[i];
        if (result->end_ns > result->start_ns)
            counted_ns += (double)(result->end_ns - result->start_ns);
        RL_TRY(note_state(tally, result, err));
        RL_TRY(note_uncounted(tally, result, &uncounted_ns, &counted_ns, err));
    }
    if (uncounted_ns > 0)
        tally->uncounted_share = uncounted_ns / (counted_ns + uncounted_ns);
    RL_TRY(note_processes(tally, code, err));
    RL_TRY(note_lacks(tally, code, err));
    return note_sums(tally, program, err);
}
