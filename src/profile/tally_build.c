#include "base/array.h"
#include "base/error.h"
#include "base/stack.h"
#include "count/engine/options.h"
#include "decode/chain.h"
#include "decode/flow.h"
#include "profile/calls.h"
#include "profile/code.h"
#include "profile/sums.h"
#include "profile/tally.h"
#include "profile/tally_cut.h"
#include "profile/tally_images.h"
#include "profile/tally_lines.h"
#include "profile/tally_loader.h"
#include "profile/tally_notes.h"
#include "profile/tally_traffic.h"
#include "profile/totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    struct rl_tally *tally;
    struct code code;
    struct calls calls;
    bool loops, lines;
    const char *only;
    struct rl_tally_unit *loop; /* [n_loop] parents are indices here until all are known */
    size_t n_loop;
    double executed_bytes; /* of code, over everything: what a function's share is of */
    struct sums program;
    double chained; /* dependent loads of the program */
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for counts");
}

/* --- one function --- */

struct function {
    uint32_t module, unit; /* indices in the tally */
    struct rl_function symbol;
    char name[CODE_NAME_MAX];       /* `symbol.name` may point here */
    const struct code_piece *piece; /* [n_piece] */
    size_t n_piece;
    struct rl_flow flow;
    uint64_t *chained; /* [n_loops] dependent loads of each loop itself */
    struct sums *sums; /* [1 + n_loops]: of everything, then of each loop itself */
    size_t n_sums;
};

static const uint8_t *piece_code(const struct builder *b, const struct code_piece *piece)
{
    return b->code.result[piece->result].pieces[piece->source].code + piece->skip;
}

static enum rl_status build_flow(const struct builder *b, struct function *f, struct rl_error *err)
{
    struct rl_flow_block *blocks = calloc(f->n_piece + 1, sizeof *blocks);
    if (!blocks)
        return no_memory(err);
    for (size_t i = 0; i < f->n_piece; i++) {
        const struct code_piece *piece = &f->piece[i];
        const struct rl_result_piece *from = &b->code.result[piece->result].pieces[piece->source];
        blocks[i] = (struct rl_flow_block){.offset = piece->offset,
                                           .code = piece_code(b, piece),
                                           .size = piece->size,
                                           .executions = from->executions,
                                           .has_next = piece->is_last && from->has_next,
                                           .next = from->next,
                                           .to_next = from->to_next};
    }
    enum rl_status status = rl_flow_build(blocks, f->n_piece, f->symbol.begin, &f->flow, err);
    free(blocks);
    if (status)
        return status;
    f->chained = calloc(f->flow.n_loops + 1, sizeof *f->chained);
    return f->chained ? rl_chain_loads(&f->flow, f->chained, err) : no_memory(err);
}

static enum rl_status sum_flow(struct function *f, struct rl_error *err)
{
    for (size_t i = 0; i < f->flow.n_insns; i++) {
        const struct rl_flow_insn *insn = &f->flow.insns[i];
        if (!sums_add(&f->sums[0], &insn->insn, insn->executions))
            return no_memory(err);
        if (insn->loop != RL_FLOW_NO_LOOP &&
            !sums_add(&f->sums[1 + insn->loop], &insn->insn, insn->executions))
            return no_memory(err);
    }
    return RL_OK;
}

/* Generated code may have held different instructions at different times: no flow to speak of. */
static enum rl_status sum_pieces(const struct builder *b, struct function *f, struct rl_error *err)
{
    for (size_t i = 0; i < f->n_piece; i++) {
        const struct code_piece *p = &f->piece[i];
        uint64_t executions = b->code.result[p->result].pieces[p->source].executions;
        if (!sums_add_code(&f->sums[0], piece_code(b, p), p->size, executions))
            return no_memory(err);
    }
    return RL_OK;
}

/* What string instructions moved, where it was counted. */
static void sum_repeats(const struct builder *b, struct function *f)
{
    for (size_t i = 0; i < f->n_piece; i++) {
        const struct code_piece *piece = &f->piece[i];
        const struct rl_result *result = &b->code.result[piece->result];
        const struct rl_result_piece *from = &result->pieces[piece->source];
        for (size_t k = code_first_repeat(result, piece->source);
             k < result->n_repeats && result->repeats[k].piece == piece->source; k++) {
            const struct rl_result_repeat *repeat = &result->repeats[k];
            uint32_t in = repeat->skip - piece->skip;
            struct rl_insn insn;
            if (repeat->skip < piece->skip || in >= piece->size ||
                !rl_insn_decode(from->code + repeat->skip, from->size - repeat->skip, &insn))
                continue;
            sums_add_repeats(&f->sums[0], &insn, from->executions, repeat->times);
            size_t at = rl_flow_find(&f->flow, piece->offset + in);
            uint32_t loop = at < f->flow.n_insns ? f->flow.insns[at].loop : RL_FLOW_NO_LOOP;
            if (loop != RL_FLOW_NO_LOOP)
                sums_add_repeats(&f->sums[1 + loop], &insn, from->executions, repeat->times);
        }
    }
}

/* --- source places --- */

/* Functions below this part of all execution keep the place of their first instruction. */
#define WORTH_A_LOOK 0.001

static double executed_bytes(const struct builder *b, const struct code_piece *piece)
{
    return (double)b->code.result[piece->result].pieces[piece->source].executions * piece->size;
}

static bool is_worth_a_look(const struct builder *b, const struct function *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->n_piece; i++)
        sum += executed_bytes(b, &f->piece[i]);
    return sum >= WORTH_A_LOOK * b->executed_bytes;
}

static enum rl_status set_place(struct rl_symbol_module *module, const struct rl_source_line *line,
                                struct rl_kernel *kernel, struct rl_error *err)
{
    RL_TRY(rl_string_set(&kernel->module, rl_symbol_module_name(module), err));
    kernel->line = line->line;
    return line->file ? rl_string_set(&kernel->file, line->file, err) : RL_OK;
}

static struct rl_source_line function_line(const struct builder *b, const struct function *f)
{
    struct rl_symbol_module *module = b->code.module[f->module];
    struct rl_source_line line;
    if (!is_worth_a_look(b, f) || !rl_symbol_declaration(module, f->symbol.begin, &line))
        rl_symbol_line(module, f->symbol.begin, &line);
    return line;
}

/* Where its first instruction is from. Optimisers leave some without a line: of the others the
 * first in the file of the function, else the first of all. */
static bool loop_start(const struct builder *b, const struct function *f, uint32_t l,
                       struct rl_source_line *ret)
{
    struct rl_symbol_module *module = b->code.module[f->module];
    const char *file = b->tally->unit[f->unit].kernel.file;
    if (rl_symbol_line(module, f->flow.loops[l].header, ret) && ret->line)
        return true;
    struct rl_source_line line, any = {0};
    bool found = !is_worth_a_look(b, f);
    for (size_t i = 0; i < f->flow.n_insns && !found; i++) {
        if (f->flow.insns[i].loop != l || !rl_symbol_line(module, f->flow.insns[i].offset, &line) ||
            !line.line)
            continue;
        found = file && !strcmp(file, line.file);
        any = found || !any.line ? line : any;
    }
    *ret = any.line ? any : *ret;
    return any.line;
}

/* The head of a loop in the source is its lowest line, in the file that its first instruction is
 * from; of a loop that is not inlined, not above the function. */
static struct rl_source_line loop_line(const struct builder *b, const struct function *f,
                                       uint32_t l)
{
    struct rl_symbol_module *module = b->code.module[f->module];
    const struct rl_kernel *function = &b->tally->unit[f->unit].kernel;
    struct rl_source_line first, line;
    if (!loop_start(b, f, l, &first) || !is_worth_a_look(b, f))
        return first;
    bool own = function->file && !strcmp(function->file, first.file) && first.line > function->line;
    struct rl_source_line lowest = first;
    for (size_t i = 0; i < f->flow.n_insns; i++) {
        if (f->flow.insns[i].loop != l || !rl_symbol_line(module, f->flow.insns[i].offset, &line))
            continue;
        if (line.line < lowest.line && !strcmp(line.file, first.file) &&
            (!own || line.line > function->line))
            lowest = line;
    }
    return lowest;
}

static enum rl_status name_inlined(const struct builder *b, const struct function *f,
                                   uint64_t header, struct rl_kernel *kernel, struct rl_error *err)
{
    struct rl_inline_call call;
    if (!is_worth_a_look(b, f) || !rl_symbol_inlined(b->code.module[f->module], header, &call, 1))
        return RL_OK;
    return rl_kernel_set_parameter(kernel, "inlined", call.name, err);
}

/* --- units --- */

static enum rl_status add_function_unit(struct builder *b, struct function *f, struct rl_error *err)
{
    struct rl_tally *tally = b->tally;
    struct rl_symbol_module *module = b->code.module[f->module];
    struct rl_tally_unit *unit = rl_array_append(&tally->unit, &tally->n_unit, sizeof *unit);
    if (!unit)
        return no_memory(err);
    f->unit = (uint32_t)(tally->n_unit - 1);
    unit->kind = RL_KIND_FUNCTION;
    unit->module = f->module;
    unit->function = f->unit;
    unit->parent = RL_TALLY_NONE;
    unit->begin = f->symbol.begin;
    unit->end = f->symbol.end;
    unit->instructions = (double)f->sums[0].insns;
    struct rl_kernel *kernel = &unit->kernel;
    kernel->kind = RL_KIND_FUNCTION;
    RL_TRY(rl_string_set(&kernel->name, f->symbol.name, err));
    struct rl_source_line line = function_line(b, f);
    RL_TRY(set_place(module, &line, kernel, err));
    if (f->flow.entered_known)
        kernel->calls = rl_value((double)f->flow.entered, RL_SOURCE_COUNTED, 0);
    else
        RL_TRY(rl_missing_add(&kernel->missing, "calls",
                              "block counts do not say how often it was entered", err));
    if (f->chained) {
        double chained = 0;
        for (size_t i = 0; i < f->flow.n_loops; i++)
            chained += (double)f->chained[i];
        kernel->latency_bound_loads = rl_value(chained, RL_SOURCE_COUNTED, 0);
        b->chained += chained;
    }
    RL_TRY(sums_fill(&f->sums[0], kernel, err));
    return sums_merge(&b->program, &f->sums[0]) ? RL_OK : no_memory(err);
}

/* "function:line", or where it begins; the second of one name gets a number. */
static enum rl_status name_loop(const struct builder *b, const struct function *f, size_t first,
                                struct rl_kernel *kernel, uint64_t header, struct rl_error *err)
{
    char *name = NULL;
    unsigned same = 1;
    struct rl_symbol_module *module = b->code.module[f->module];
    int n;
    if (kernel->line)
        n = asprintf(&name, "%s:%u", f->symbol.name, kernel->line);
    else if (f->symbol.linkage_name)
        n = asprintf(&name, "%s+0x%" PRIx64, f->symbol.name, header - f->symbol.begin);
    else
        n = asprintf(&name, "%s+0x%" PRIx64, rl_symbol_module_name(module),
                     rl_symbol_address(module, header));
    if (n < 0)
        return no_memory(err);
    for (size_t i = first; i + 1 < b->n_loop; i++) {
        const struct rl_kernel *other = &b->loop[i].kernel;
        same += kernel->line && other->line == kernel->line;
    }
    if (same > 1) {
        char *numbered = NULL;
        n = asprintf(&numbered, "%s#%u", name, same);
        free(name);
        if (n < 0)
            return no_memory(err);
        name = numbered;
    }
    kernel->name = name;
    return RL_OK;
}

static enum rl_status describe_loop(const struct rl_flow_loop *loop, struct rl_kernel *kernel,
                                    struct rl_error *err)
{
    char text[32];
    if (loop->entries_known)
        kernel->calls = rl_value((double)loop->entries, RL_SOURCE_COUNTED, 0);
    else
        RL_TRY(rl_missing_add(&kernel->missing, "calls",
                              "block counts do not say how often it was entered", err));
    if (loop->iterations_known) {
        snprintf(text, sizeof text, "%" PRIu64, loop->iterations);
        RL_TRY(rl_kernel_set_parameter(kernel, "iterations", text, err));
    }
    if (loop->irreducible)
        RL_TRY(rl_kernel_set_parameter(kernel, "irreducible", "yes", err));
    return RL_OK;
}

static enum rl_status add_loop_units(struct builder *b, const struct function *f,
                                     struct rl_error *err)
{
    struct rl_symbol_module *module = b->code.module[f->module];
    size_t first = b->n_loop;
    for (size_t i = 0; i < f->flow.n_loops; i++) {
        const struct rl_flow_loop *loop = &f->flow.loops[i];
        struct rl_tally_unit *unit = rl_array_append(&b->loop, &b->n_loop, sizeof *unit);
        if (!unit)
            return no_memory(err);
        unit->kind = RL_KIND_LOOP;
        unit->module = f->module;
        unit->function = f->unit;
        unit->parent =
            loop->parent == RL_FLOW_NO_LOOP ? RL_TALLY_NONE : (uint32_t)first + loop->parent;
        unit->begin = loop->begin;
        unit->end = loop->end;
        struct rl_kernel *kernel = &unit->kernel;
        kernel->kind = RL_KIND_LOOP;
        kernel->depth = loop->depth;
        RL_TRY(rl_string_set(&kernel->group, f->symbol.name, err));
        struct rl_source_line line = loop_line(b, f, (uint32_t)i);
        RL_TRY(set_place(module, &line, kernel, err));
        RL_TRY(name_inlined(b, f, loop->header, kernel, err));
        RL_TRY(name_loop(b, f, first, kernel, loop->header, err));
        RL_TRY(describe_loop(loop, kernel, err));
        kernel->latency_bound_loads = rl_value((double)f->chained[i], RL_SOURCE_COUNTED, 0);
        RL_TRY(sums_fill(&f->sums[1 + i], kernel, err));
    }
    return RL_OK;
}

static enum rl_status tally_function(struct builder *b, struct function *f, struct rl_error *err)
{
    bool has_flow = !b->tally->module[f->module].pid;
    if (has_flow)
        RL_TRY(build_flow(b, f, err));
    f->n_sums = 1 + f->flow.n_loops;
    f->sums = calloc(f->n_sums, sizeof *f->sums);
    if (!f->sums)
        return no_memory(err);
    RL_TRY(has_flow ? sum_flow(f, err) : sum_pieces(b, f, err));
    sum_repeats(b, f);
    RL_TRY(add_function_unit(b, f, err));
    RL_TRY(calls_add(&b->calls, &b->code, f->module, f->unit, &f->symbol, &f->flow, err));
    if (b->lines && is_worth_a_look(b, f))
        RL_TRY(tally_lines_add(b->tally, b->code.module[f->module], f->unit, &f->flow, err));
    return b->loops ? add_loop_units(b, f, err) : RL_OK;
}

static enum rl_status tally_functions(struct builder *b, struct rl_error *err)
{
    const struct code *code = &b->code;
    for (size_t i = 0; i < code->n_piece; i++)
        b->executed_bytes += executed_bytes(b, &code->piece[i]);
    for (size_t i = 0; i < code->n_piece;) {
        struct function f = {.module = code->piece[i].module, .piece = &code->piece[i]};
        while (i < code->n_piece && code->piece[i].module == f.module &&
               code->piece[i].begin == f.piece->begin) {
            f.n_piece++;
            i++;
        }
        code_function(code, f.module, f.piece->offset, f.name, &f.symbol);
        enum rl_status status = tally_function(b, &f, err);
        rl_flow_release(&f.flow);
        free(f.chained);
        for (size_t k = 0; f.sums && k < f.n_sums; k++)
            sums_release(&f.sums[k]);
        free(f.sums);
        RL_TRY(status);
    }
    return RL_OK;
}

/* --- what was executed --- */

static int compare_code(const void *a, const void *b)
{
    const struct rl_tally_code *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static enum rl_status find_code(struct builder *b, struct rl_error *err)
{
    const struct code *code = &b->code;
    struct rl_tally_code *all = calloc(code->n_piece + 1, sizeof *all);
    size_t n = 0;
    size_t kept = 0;
    if (!all)
        return no_memory(err);
    for (size_t i = 0; i < code->n_piece; i++) {
        const struct code_piece *p = &code->piece[i];
        if (code->result[p->result].pieces[p->source].executions)
            all[n++] = (struct rl_tally_code){p->module, p->offset, p->offset + p->size};
    }
    qsort(all, n, sizeof *all, compare_code);
    for (size_t i = 0; i < n; i++) {
        struct rl_tally_code *last = kept ? &all[kept - 1] : NULL;
        if (!last || last->module != all[i].module || last->end < all[i].begin)
            all[kept++] = all[i];
        else if (all[i].end > last->end)
            last->end = all[i].end;
    }
    b->tally->code = all;
    b->tally->n_code = kept;
    return RL_OK;
}

/* Loops go behind the functions. */
static enum rl_status append_loops(struct builder *b, struct rl_error *err)
{
    struct rl_tally *tally = b->tally;
    tally->n_function = tally->n_unit;
    for (size_t i = 0; i < b->n_loop; i++) {
        struct rl_tally_unit *unit = rl_array_append(&tally->unit, &tally->n_unit, sizeof *unit);
        if (!unit)
            return no_memory(err);
        *unit = b->loop[i];
        memset(&b->loop[i].kernel, 0, sizeof b->loop[i].kernel); /* moved */
        if (unit->parent != RL_TALLY_NONE)
            unit->parent += (uint32_t)tally->n_function;
    }
    return RL_OK;
}

/* --- regions --- */

/* Whether region `inner` is `outer` or lies in it. */
static bool is_within(const struct rl_result *result, uint32_t inner, uint32_t outer)
{
    while (inner > outer && inner != UINT32_MAX)
        inner = result->regions[inner].parent;
    return inner == outer;
}

static struct rl_tally_region *need_region(struct rl_tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->n_region; i++)
        if (!strcmp(tally->region[i].name, name))
            return &tally->region[i];
    struct rl_tally_region *region =
        rl_array_append(&tally->region, &tally->n_region, sizeof *region);
    if (!region || !(region->name = strdup(name)) || !(region->kernel.name = strdup(name)))
        return NULL;
    region->kernel.kind = RL_KIND_REGION;
    return region;
}

/* Does a region of the same name enclose it? Then it is counted there already. */
static bool is_recursive(const struct rl_result *result, uint32_t r)
{
    for (uint32_t at = result->regions[r].parent; at != UINT32_MAX; at = result->regions[at].parent)
        if (!strcmp(result->regions[at].name, result->regions[r].name))
            return true;
    return false;
}

/* What ran inside region `r` or any nested in it; those come after it. */
static enum rl_status sum_region(const struct rl_result *result, uint32_t r, struct sums *sums,
                                 struct rl_error *err)
{
    for (uint32_t k = r; k < result->n_regions; k++) {
        const struct rl_result_region *region = &result->regions[k];
        if (region->executions && is_within(result, k, r) &&
            !code_sum_result(result, region->executions, region->times, sums))
            return no_memory(err);
    }
    return RL_OK;
}

static bool is_asked_for(const struct builder *b, const char *name)
{
    return !b->only || rle_options_selects(b->only, name);
}

static enum rl_status tally_regions(struct builder *b, struct rl_error *err)
{
    for (size_t i = 0; i < b->code.n_result; i++)
        for (uint32_t r = 0; r < b->code.result[i].n_regions; r++)
            if (is_asked_for(b, b->code.result[i].regions[r].name) &&
                !need_region(b->tally, b->code.result[i].regions[r].name))
                return no_memory(err);
    for (size_t k = 0; k < b->tally->n_region; k++) {
        struct rl_tally_region *region = &b->tally->region[k];
        struct sums sums = {0};
        uint64_t entries = 0;
        enum rl_status status = RL_OK;
        for (size_t i = 0; i < b->code.n_result && !status; i++) {
            const struct rl_result *result = &b->code.result[i];
            for (uint32_t r = 0; r < result->n_regions && !status; r++) {
                if (strcmp(result->regions[r].name, region->name) != 0)
                    continue;
                entries += result->regions[r].entries;
                if (!is_recursive(result, r))
                    status = sum_region(result, r, &sums, err);
            }
        }
        region->kernel.calls = rl_value((double)entries, RL_SOURCE_COUNTED, 0);
        if (!status)
            status = sums_fill(&sums, &region->kernel, err);
        sums_release(&sums);
        RL_TRY(status);
    }
    return RL_OK;
}

/* --- the whole --- */

static enum rl_status finish(struct builder *b, struct rl_error *err)
{
    RL_TRY(tally_notes_add(b->tally, &b->code, &b->program, err));
    b->tally->program.kind = RL_KIND_PROGRAM;
    RL_TRY(rl_string_set(&b->tally->program.name, "program", err));
    b->tally->program.latency_bound_loads = rl_value(b->chained, RL_SOURCE_COUNTED, 0);
    return sums_fill(&b->program, &b->tally->program, err);
}

/** What a tally is to be made from. */
struct order {
    const char *const *file;
    size_t n_file;
    const struct rl_symbols_options *symbols;
    const struct rl_tally_traffic *traffic;
    struct builder *builder;
};

static enum rl_status build(void *context, struct rl_error *err)
{
    const struct order *o = context;
    struct builder *b = o->builder;
    RL_TRY(code_load(o->file, o->n_file, b->only, o->symbols, b->tally, &b->code, err));
    RL_TRY(tally_images_find(b->tally, &b->code, err));
    RL_TRY(tally_functions(b, err));
    RL_TRY(append_loops(b, err));
    RL_TRY(find_code(b, err));
    RL_TRY(calls_resolve(&b->calls, &b->code, b->tally, err));
    RL_TRY(totals_fill_flop(b->tally, err));
    RL_TRY(tally_regions(b, err));
    RL_TRY(tally_images_sum(b->tally, &b->code, err));
    RL_TRY(finish(b, err));
    if (o->traffic)
        RL_TRY(tally_traffic_add(b->tally, &b->code, o->traffic, err));
    RL_TRY(tally_cut_forget(b->tally, &b->code, err));
    return tally_loader_forget(b->tally, &b->code, err);
}

enum rl_status rl_tally_build(const char *const *file, size_t n_file,
                              const struct rl_tally_options *options, struct rl_tally *ret,
                              struct rl_error *err)
{
    static const struct rl_tally_options defaults = {.loops = true};
    const struct rl_tally_options *o = options ? options : &defaults;
    struct rl_tally tally = {0};
    struct builder b = {.tally = &tally, .loops = o->loops, .lines = o->lines, .only = o->only};
    struct order order = {file, n_file, o->symbols, o->traffic, &b};
    enum rl_status status = rl_run_with_stack(build, &order, err);
    for (size_t i = 0; i < b.n_loop; i++)
        rl_kernel_release(&b.loop[i].kernel);
    free(b.loop);
    sums_release(&b.program);
    calls_release(&b.calls);
    code_release(&b.code);
    if (status)
        rl_tally_release(&tally);
    else
        *ret = tally;
    return status;
}
