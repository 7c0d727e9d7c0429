#include "profile/tally_traffic.h"

#include "base/error.h"
#include "count/traffic.h"
#include "decode/insn.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows are sorted, so that of each result the blocks come one after the other. */
struct cursor {
    const struct code *code;
    uint32_t result;       /* code->n_result: rows of a process without a result */
    uint32_t *first_piece; /* [n_block] of the pieces of a block the first, or UINT32_MAX */
    size_t n_block;
};

/* Units, all processes, regions, programs, in this order. */
struct accounts {
    const struct rl_tally_traffic *traffic;
    size_t n_unit, n_region;
    struct rl_cache_flow *flow; /* [n_unit + 1 + n_region + n_image][n_flows] */
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for simulated traffic");
}

static enum rl_status select_result(struct cursor *c, const struct rl_traffic_row *row,
                                    struct rl_error *err)
{
    const struct code *code = c->code;
    for (c->result = 0; c->result < code->n_result; c->result++)
        if (code->result[c->result].pid == row->pid &&
            code->result[c->result].sequence == row->sequence)
            break;
    free(c->first_piece);
    c->first_piece = NULL;
    c->n_block = 0;
    if (c->result == code->n_result)
        return RL_OK;
    const struct rl_result *result = &code->result[c->result];
    for (size_t i = 0; i < result->n_pieces; i++)
        if (result->pieces[i].block >= c->n_block)
            c->n_block = (size_t)result->pieces[i].block + 1;
    if (!(c->first_piece = malloc((c->n_block + 1) * sizeof *c->first_piece)))
        return no_memory(err);
    memset(c->first_piece, 0xff, (c->n_block + 1) * sizeof *c->first_piece);
    for (size_t i = result->n_pieces; i-- > 0;)
        c->first_piece[result->pieces[i].block] = (uint32_t)i;
    return RL_OK;
}

/* Module and offset of an instruction of a block; false if it is in no piece. */
static bool find_code(const struct cursor *c, const struct rl_traffic_row *row,
                      uint32_t *ret_module, uint64_t *ret_offset)
{
    if (c->result == c->code->n_result || row->block >= c->n_block ||
        c->first_piece[row->block] == UINT32_MAX)
        return false;
    const struct rl_result *result = &c->code->result[c->result];
    size_t i = c->first_piece[row->block];
    while (i + 1 < result->n_pieces && result->pieces[i + 1].block == row->block &&
           result->pieces[i + 1].first <= row->insn)
        i++;
    const struct rl_result_piece *piece = &result->pieces[i];
    uint32_t done = 0;
    for (uint32_t k = piece->first; k < row->insn; k++) {
        struct rl_insn insn;
        if (done >= piece->size || !rl_insn_decode(piece->code + done, piece->size - done, &insn))
            return false;
        done += insn.length;
    }
    *ret_module = code_module(c->code, c->result, i);
    *ret_offset = piece->offset + done;
    return true;
}

static void add_account(const struct accounts *a, size_t unit, const struct rl_traffic_row *row)
{
    a->traffic->add(a->traffic->model, a->flow + unit * a->traffic->n_flows, row->account);
}

/* Is the region, or one around it, of that name? Those around come before those in them. */
static bool is_in(const struct rl_result *result, uint32_t region, const char *name)
{
    for (; region < result->n_regions; region = result->regions[region].parent)
        if (!strcmp(result->regions[region].name, name))
            return true;
    return false;
}

/* To the row's region and those around it, once to all of one name. */
static void add_to_regions(const struct rl_tally *tally, const struct cursor *c,
                           const struct accounts *a, const struct rl_traffic_row *row)
{
    if (c->result == c->code->n_result || row->region == 0)
        return;
    const struct rl_result *result = &c->code->result[c->result];
    for (size_t k = 0; k < tally->n_region; k++)
        if (is_in(result, row->region - 1, tally->region[k].name))
            add_account(a, a->n_unit + 1 + k, row);
}

static enum rl_status add_rows(const struct rl_tally *tally, const struct code *code,
                               const struct accounts *a, struct rl_error *err)
{
    struct cursor c = {.code = code};
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < a->traffic->n_row && !status; i++) {
        const struct rl_traffic_row *row = &a->traffic->row[i];
        uint32_t module, function = RL_TALLY_NONE, loop = RL_TALLY_NONE;
        uint64_t offset;
        if (i == 0 || row->pid != row[-1].pid || row->sequence != row[-1].sequence)
            status = select_result(&c, row, err);
        if (status)
            break;
        add_account(a, a->n_unit, row);
        add_to_regions(tally, &c, a, row);
        if (c.result < code->n_result)
            add_account(a, a->n_unit + 1 + a->n_region + code->image[c.result], row);
        if (find_code(&c, row, &module, &offset))
            rl_tally_find(tally, module, offset, &function, &loop);
        if (function != RL_TALLY_NONE)
            add_account(a, function, row);
        if (loop != RL_TALLY_NONE)
            add_account(a, loop, row);
    }
    free(c.first_piece);
    return status;
}

/* What crosses the boundary behind cache level `i` is the traffic of the level beyond it. */
static void level_name(uint32_t i, uint32_t n_levels, char *name, size_t size)
{
    if (i + 1 < n_levels)
        snprintf(name, size, "L%u", i + 2);
    else
        snprintf(name, size, "DRAM");
}

static enum rl_status fill_level(const struct accounts *a, const struct rl_cache_flow *account,
                                 uint32_t level, struct rl_kernel *kernel, struct rl_error *err)
{
    char name[16], what[32];
    struct rl_traffic_value v;
    struct rl_traffic *row;
    level_name(level, a->traffic->n_levels, name, sizeof name);
    a->traffic->estimate(a->traffic->model, account, level, &v);
    double spread = v.bytes > 0 ? v.error_bytes / v.bytes : v.error_bytes > 0 ? INFINITY : 0;
    if (!isfinite(spread)) {
        snprintf(what, sizeof what, "bytes.%s", name);
        return rl_missing_add(&kernel->missing, what,
                              "too few of its accesses were followed to estimate them", err);
    }
    RL_TRY(rl_kernel_traffic(kernel, name, &row, err));
    row->bytes = rl_value(v.bytes, RL_SOURCE_SIMULATED, spread);
    row->read = rl_value(v.read_bytes, RL_SOURCE_SIMULATED, spread);
    row->write = rl_value(v.writeback_bytes + v.nt_bytes, RL_SOURCE_SIMULATED, spread);
    row->write_allocate = rl_value(v.allocate_bytes, RL_SOURCE_SIMULATED, spread);
    return RL_OK;
}

static enum rl_status fill_kernel(const struct accounts *a, size_t unit, struct rl_kernel *kernel,
                                  struct rl_error *err)
{
    const struct rl_cache_flow *account = a->flow + unit * a->traffic->n_flows;
    for (uint32_t level = 0; level < a->traffic->n_levels; level++)
        RL_TRY(fill_level(a, account, level, kernel, err));
    return RL_OK;
}

static bool touches_memory(const struct rl_kernel *kernel)
{
    return kernel->load_bytes.value > 0 || kernel->store_bytes.value > 0 || kernel->missing.n > 0;
}

static enum rl_status fill_all(struct rl_tally *tally, const struct accounts *a,
                               struct rl_error *err)
{
    for (size_t i = 0; i < a->n_unit; i++)
        if (touches_memory(&tally->unit[i].kernel))
            RL_TRY(fill_kernel(a, i, &tally->unit[i].kernel, err));
    for (size_t i = 0; i < tally->n_region; i++)
        if (touches_memory(&tally->region[i].kernel))
            RL_TRY(fill_kernel(a, a->n_unit + 1 + i, &tally->region[i].kernel, err));
    for (size_t i = 0; tally->n_image > 1 && i < tally->n_image; i++)
        RL_TRY(fill_kernel(a, a->n_unit + 1 + a->n_region + i, &tally->image[i].kernel, err));
    return fill_kernel(a, a->n_unit, &tally->program, err);
}

static enum rl_status note_quality(struct rl_tally *tally, const struct rl_tally_traffic *traffic,
                                   struct rl_error *err)
{
    if (traffic->sampled)
        RL_TRY(tally_note(
            tally, err,
            "traffic beyond L1 is from a cache model that followed part of the lines, "
            "in the end %u of %u classes%s; its error is from their disagreement",
            traffic->n_followed, traffic->n_classes,
            traffic->widened ? " (more than usual, as they are unlike each other)" : ""));
    else
        RL_TRY(tally_note(tally, err,
                          "traffic beyond L1 is from a cache model that followed every access"));
    if (traffic->lost)
        RL_TRY(tally_note(tally, err, "%" PRIu64 " accesses were lost before they were simulated",
                          traffic->lost));
    if (traffic->missed)
        RL_TRY(tally_note(tally, err,
                          "accesses at %" PRIu64 " place%s in the code could not be simulated",
                          traffic->missed, traffic->missed == 1 ? "" : "s"));
    return RL_OK;
}

enum rl_status tally_traffic_add(struct rl_tally *tally, const struct code *code,
                                 const struct rl_tally_traffic *traffic, struct rl_error *err)
{
    struct accounts a = {.traffic = traffic, .n_unit = tally->n_unit, .n_region = tally->n_region};
    size_t n = tally->n_unit + 1 + tally->n_region + tally->n_image;
    a.flow = calloc(n * traffic->n_flows + 1, sizeof *a.flow);
    if (!a.flow)
        return no_memory(err);
    enum rl_status status = add_rows(tally, code, &a, err);
    if (!status)
        status = fill_all(tally, &a, err);
    if (!status)
        status = note_quality(tally, traffic, err);
    free(a.flow);
    return status;
}

static void add_simulated(const void *model, struct rl_cache_flow *sum,
                          const struct rl_cache_flow *account)
{
    rl_traffic_add(model, sum, account);
}

static void estimate_simulated(const void *model, const struct rl_cache_flow *account,
                               uint32_t level, struct rl_traffic_value *ret_value)
{
    rl_traffic_estimate(model, account, level, ret_value);
}

void rl_tally_traffic_of(const struct rl_simulation *simulation, uint32_t n_levels,
                         struct rl_tally_traffic *ret)
{
    struct rl_traffic_summary summary;
    rl_traffic_summarise(simulation, &summary);
    *ret = (struct rl_tally_traffic){.n_flows = rl_traffic_flows(simulation),
                                     .n_levels = n_levels,
                                     .model = simulation,
                                     .add = add_simulated,
                                     .estimate = estimate_simulated,
                                     .sampled = summary.sampled,
                                     .n_followed = summary.followed,
                                     .n_classes = summary.classes,
                                     .widened = summary.widened,
                                     .lost = summary.channel.lost,
                                     .missed = summary.channel.skipped + summary.channel.overflow};
    ret->row = rl_traffic_rows(simulation, &ret->n_row);
}
