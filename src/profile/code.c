#include "profile/code.h"

#include "base/array.h"
#include "base/error.h"
#include "count/engine/options.h"
#include "decode/insn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JIT_PATH "[jit]"

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for counted code");
}

enum rl_status tally_note(struct rl_tally *tally, struct rl_error *err, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    char **room = n < 0 ? NULL : rl_array_append(&tally->note, &tally->n_note, sizeof text);
    if (!room) {
        free(n < 0 ? NULL : text);
        return no_memory(err);
    }
    *room = text;
    return RL_OK;
}

static bool is_same_module(const struct rl_tally_module *m, const char *path,
                           const struct rl_result_module *from, int32_t pid)
{
    if (strcmp(m->path, path) != 0 || m->pid != pid)
        return false;
    return pid || (m->n_build_id == from->build_id_size &&
                   !memcmp(m->build_id, from->build_id, m->n_build_id));
}

/* The tally's module for code of a result; `from` may be NULL: memory in no mapping. */
static enum rl_status need_module(struct code *code, struct rl_tally *tally, int32_t pid,
                                  const struct rl_result_module *from, uint32_t *ret,
                                  struct rl_error *err)
{
    bool is_jit = !from || from->is_generated;
    const char *path = is_jit ? JIT_PATH : from->path;
    for (*ret = 0; *ret < tally->n_module; ++*ret)
        if (is_same_module(&tally->module[*ret], path, from, is_jit ? pid : 0))
            return RL_OK;
    struct rl_tally_module *m = rl_array_append(&tally->module, &tally->n_module, sizeof *m);
    if (!m || !(m->path = strdup(path)))
        return no_memory(err);
    m->pid = is_jit ? pid : 0;
    if (!is_jit && from->build_id_size <= sizeof m->build_id) {
        memcpy(m->build_id, from->build_id, from->build_id_size);
        m->n_build_id = from->build_id_size;
    }
    struct rl_symbol_module **symbols =
        rl_array_append(&code->module, &code->n_module, sizeof *symbols);
    if (!symbols)
        return no_memory(err);
    if (is_jit)
        return rl_symbols_open_jit(code->symbols, pid, symbols, err);
    return rl_symbols_open(code->symbols, path, m->build_id, m->n_build_id, symbols, err);
}

void code_function(const struct code *code, uint32_t module, uint64_t offset, char *name,
                   struct rl_function *ret)
{
    rl_symbol_function(code->module[module], offset, ret);
    const struct code_starts *starts = &code->starts[module];
    if (ret->origin != RL_FUNCTION_UNKNOWN || !starts->n)
        return;
    size_t low = 0, high = starts->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->at[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && starts->at[low - 1] > ret->begin) {
        ret->begin = starts->at[low - 1];
        snprintf(name, CODE_NAME_MAX, "%s+0x%llx", rl_symbol_module_name(code->module[module]),
                 (unsigned long long)rl_symbol_address(code->module[module], ret->begin));
        ret->name = name;
    }
    if (low < starts->n && starts->at[low] < ret->end)
        ret->end = starts->at[low];
}

/* Where the direct calls of a piece lead to, if no table knows that place. */
static bool add_call_targets(struct code *code, uint32_t module,
                             const struct rl_result_piece *piece)
{
    struct code_starts *starts = &code->starts[module];
    struct rl_insn insn;
    for (uint32_t done = 0; done < piece->size; done += insn.length) {
        if (!rl_insn_decode(piece->code + done, piece->size - done, &insn))
            break;
        if (insn.class != RL_INSN_CALL || !(insn.flags & RL_INSN_HAS_TARGET))
            continue;
        uint64_t target = piece->offset + done + (uint64_t)insn.target;
        struct rl_function function;
        rl_symbol_function(code->module[module], target, &function);
        if (function.origin != RL_FUNCTION_UNKNOWN)
            continue;
        uint64_t *room = rl_array_append(&starts->at, &starts->n, sizeof *room);
        if (!room)
            return false;
        *room = target;
    }
    return true;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_starts(struct code_starts *starts)
{
    size_t n = 0;
    if (starts->n)
        qsort(starts->at, starts->n, sizeof *starts->at, compare_u64);
    for (size_t i = 0; i < starts->n; i++)
        if (!n || starts->at[n - 1] != starts->at[i])
            starts->at[n++] = starts->at[i];
    starts->n = n;
}

/* Bytes of whole instructions up to the first that begins at or behind `limit`. */
static uint32_t bytes_before(const uint8_t *at, uint32_t size, uint64_t limit)
{
    uint32_t done = 0;
    struct rl_insn insn;
    while (done < size && done < limit && rl_insn_decode(at + done, size - done, &insn))
        done += insn.length;
    return done ? done : size;
}

/* Cut a piece of a result where functions begin. */
static enum rl_status add_piece(struct code *code, uint32_t module, uint32_t result,
                                uint32_t source, struct rl_error *err)
{
    const struct rl_result_piece *from = &code->result[result].pieces[source];
    uint32_t skip = 0;
    while (skip < from->size) {
        struct rl_function function;
        char name[CODE_NAME_MAX];
        uint64_t offset = from->offset + skip;
        uint32_t size = from->size - skip;
        code_function(code, module, offset, name, &function);
        if (function.end - offset < size)
            size = bytes_before(from->code + skip, size, function.end - offset);
        struct code_piece *piece = rl_array_append(&code->piece, &code->n_piece, sizeof *piece);
        if (!piece)
            return no_memory(err);
        *piece = (struct code_piece){.module = module,
                                     .result = result,
                                     .source = source,
                                     .skip = skip,
                                     .begin = function.begin,
                                     .offset = offset,
                                     .size = size,
                                     .is_last = skip + size == from->size};
        skip += size;
    }
    return RL_OK;
}

/* Behind the modules of a result stands the one for memory in no mapping. */
uint32_t code_module(const struct code *code, uint32_t result, size_t piece)
{
    const struct rl_result *from = &code->result[result];
    uint32_t m = from->pieces[piece].module;
    return code->map[result][m == RL_RESULT_NO_MODULE ? from->n_modules : m];
}

static enum rl_status map_modules(struct code *code, struct rl_tally *tally, size_t r,
                                  struct rl_error *err)
{
    const struct rl_result *result = &code->result[r];
    bool any_unknown = false;
    uint32_t *map = code->map[r] = calloc(result->n_modules + 1, sizeof *map);
    if (!map)
        return no_memory(err);
    for (size_t i = 0; i < result->n_modules; i++)
        RL_TRY(need_module(code, tally, result->pid, &result->modules[i], &map[i], err));
    for (size_t i = 0; i < result->n_pieces && !any_unknown; i++)
        any_unknown = result->pieces[i].module == RL_RESULT_NO_MODULE;
    if (any_unknown)
        RL_TRY(need_module(code, tally, result->pid, NULL, &map[result->n_modules], err));
    return RL_OK;
}

static enum rl_status find_starts(struct code *code, struct rl_error *err)
{
    bool *has_unknown = calloc(code->n_module + 1, sizeof *has_unknown);
    bool ok = has_unknown != NULL;
    for (uint32_t r = 0; ok && r < code->n_result; r++) {
        const struct rl_result *result = &code->result[r];
        for (size_t i = 0; i < result->n_pieces; i++) {
            struct rl_function function;
            uint32_t module = code_module(code, r, i);
            if (has_unknown[module])
                continue;
            rl_symbol_function(code->module[module], result->pieces[i].offset, &function);
            has_unknown[module] = function.origin == RL_FUNCTION_UNKNOWN;
        }
    }
    for (uint32_t r = 0; ok && r < code->n_result; r++) {
        const struct rl_result *result = &code->result[r];
        for (size_t i = 0; ok && i < result->n_pieces; i++) {
            uint32_t module = code_module(code, r, i);
            if (has_unknown[module])
                ok = add_call_targets(code, module, &result->pieces[i]);
        }
    }
    for (size_t m = 0; ok && m < code->n_module; m++)
        sort_starts(&code->starts[m]);
    free(has_unknown);
    return ok ? RL_OK : no_memory(err);
}

static enum rl_status add_all_pieces(struct code *code, struct rl_tally *tally,
                                     struct rl_error *err)
{
    if (!(code->map = calloc(code->n_result, sizeof *code->map)))
        return no_memory(err);
    for (size_t r = 0; r < code->n_result; r++)
        RL_TRY(map_modules(code, tally, r, err));
    if (!(code->starts = calloc(code->n_module + 1, sizeof *code->starts)))
        return no_memory(err);
    RL_TRY(find_starts(code, err));
    for (uint32_t r = 0; r < code->n_result; r++)
        for (uint32_t i = 0; i < code->result[r].n_pieces; i++)
            if (code->result[r].pieces[i].executions)
                RL_TRY(add_piece(code, code_module(code, r, i), r, i, err));
    return RL_OK;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct code_piece *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->result != y->result)
        return x->result < y->result ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

/* A file that is no result of ours is left out if another one is. */
static enum rl_status read_results(const char *const *file, size_t n_file, struct rl_tally *tally,
                                   struct code *code, struct rl_error *err)
{
    struct rl_error first = {0};
    for (size_t i = 0; i < n_file; i++) {
        struct rl_error why = {0};
        struct rl_result result;
        enum rl_status status = rl_result_read(file[i], &result, &why);
        if (status == RL_EDATA) {
            first = first.status ? first : why;
            RL_TRY(tally_note(tally, err, "a result was left out: %s", why.text));
            continue;
        }
        if (status)
            return rl_fail(err, status, "%s", why.text);
        struct rl_result *room = rl_array_append(&code->result, &code->n_result, sizeof *room);
        if (!room) {
            rl_result_release(&result);
            return no_memory(err);
        }
        *room = result;
    }
    if (code->n_result)
        return RL_OK;
    return rl_fail(err, RL_EDATA, "%s", first.status ? first.text : "no results to read");
}

size_t code_first_repeat(const struct rl_result *result, size_t piece)
{
    size_t low = 0, high = result->n_repeats;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (result->repeats[middle].piece < piece)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool code_sum_result(const struct rl_result *result, const uint64_t *executions,
                     const uint64_t *times, struct sums *sums)
{
    for (size_t i = 0; i < result->n_pieces; i++) {
        const struct rl_result_piece *piece = &result->pieces[i];
        uint64_t n = executions ? executions[i] : piece->executions;
        if (n && !sums_add_code(sums, piece->code, piece->size, n))
            return false;
    }
    for (size_t i = 0; i < result->n_repeats && (times || !executions); i++) {
        const struct rl_result_repeat *repeat = &result->repeats[i];
        const struct rl_result_piece *piece = &result->pieces[repeat->piece];
        struct rl_insn insn;
        if (rl_insn_decode(piece->code + repeat->skip, piece->size - repeat->skip, &insn))
            sums_add_repeats(sums, &insn,
                             executions ? executions[repeat->piece] : piece->executions,
                             times ? times[i] : repeat->times);
    }
    return true;
}

static bool is_asked_for(const struct rl_result *result, uint32_t region, const char *only)
{
    for (; region != UINT32_MAX; region = result->regions[region].parent)
        if (rle_options_selects(only, result->regions[region].name))
            return true;
    return false;
}

/* Executions become those in the regions asked for. Where control went on is not known of them. */
static void restrict_to(struct rl_result *result, const char *only)
{
    for (size_t i = 0; i < result->n_pieces; i++) {
        result->pieces[i].has_next &= !result->pieces[i].executions;
        result->pieces[i].executions = 0;
    }
    for (size_t i = 0; i < result->n_repeats; i++)
        result->repeats[i].times = 0;
    for (uint32_t r = 0; r < result->n_regions; r++) {
        const uint64_t *inside = result->regions[r].executions;
        if (!inside || !is_asked_for(result, r, only))
            continue;
        for (size_t i = 0; i < result->n_pieces; i++)
            result->pieces[i].executions += inside[i];
        for (size_t i = 0; i < result->n_repeats && result->regions[r].times; i++)
            result->repeats[i].times += result->regions[r].times[i];
    }
}

enum rl_status code_load(const char *const *file, size_t n_file, const char *only,
                         const struct rl_symbols_options *options, struct rl_tally *tally,
                         struct code *ret, struct rl_error *err)
{
    *ret = (struct code){0};
    RL_TRY(read_results(file, n_file, tally, ret, err));
    for (size_t i = 0; only && i < ret->n_result; i++)
        restrict_to(&ret->result[i], only);
    RL_TRY(rl_symbols_new(options, &ret->symbols, err));
    RL_TRY(add_all_pieces(ret, tally, err));
    if (ret->n_piece)
        qsort(ret->piece, ret->n_piece, sizeof *ret->piece, compare_pieces);
    return RL_OK;
}

void code_release(struct code *code)
{
    for (size_t i = 0; i < code->n_result; i++) {
        rl_result_release(&code->result[i]);
        if (code->map)
            free(code->map[i]);
    }
    free(code->map);
    free(code->image);
    free(code->result);
    free(code->piece);
    for (size_t i = 0; code->starts && i < code->n_module; i++)
        free(code->starts[i].at);
    free(code->starts);
    free(code->module);
    rl_symbols_free(code->symbols);
    *code = (struct code){0};
}
