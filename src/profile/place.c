#include "profile/place.h"
#include "base/array.h"
#include "base/error.h"
#include "symbol/symbol.h"

#include <roofline/machine.h>
#include <stdlib.h>
#include <string.h>

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for functions");
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = index_mix(hash, (unsigned char)*text);
    return hash;
}

static bool is_jit(const struct rl_tally *tally, uint32_t module)
{
    return module < tally->n_module && !strcmp(tally->module[module].path, "[jit]");
}

enum rl_status place_new(const struct rl_tally *tally, const struct rl_symbols_options *options,
                         struct place_table *ret, struct rl_error *err)
{
    struct place_table table = {.tally = tally};
    RL_TRY(rl_symbols_new(options, &table.symbols, err));
    for (size_t i = 0; tally && i < tally->n_unit; i++) {
        const struct rl_tally_unit *counted = &tally->unit[i];
        struct place_unit *unit = rl_array_append(&table.unit, &table.n_unit, sizeof *unit);
        bool ok = unit != NULL;
        if (ok)
            unit->counted = (uint32_t)i;
        if (ok && counted->kind == RL_KIND_FUNCTION && is_jit(tally, counted->module))
            ok = index_add(&table.by_name, hash_text(0, counted->kernel.name), (uint32_t)i);
        if (!ok) {
            place_release(&table);
            return no_memory(err);
        }
    }
    *ret = table;
    return RL_OK;
}

void place_release(struct place_table *table)
{
    for (size_t i = 0; i < table->n_unit; i++) {
        free(table->unit[i].name);
        free(table->unit[i].module);
        free(table->unit[i].file);
    }
    free(table->unit);
    index_release(&table->by_begin);
    index_release(&table->by_name);
    rl_symbols_free(table->symbols);
    *table = (struct place_table){0};
}

/** A sampled module in the two worlds. */
struct both {
    uint32_t counted; /**< module index in the tally, or RL_TALLY_NONE */
    struct rl_symbol_module *symbols;
    const char *path;
    bool is_jit;
};

static enum rl_status open_module(struct place_table *table, const struct rl_samples *samples,
                                  uint32_t module, struct both *ret, struct rl_error *err)
{
    const struct rl_sample_module *m = &samples->module[module];
    *ret = (struct both){RL_TALLY_NONE, NULL, m->path, m->kind == RL_SAMPLE_JIT};
    if (m->kind == RL_SAMPLE_UNKNOWN)
        return RL_OK;
    if (ret->is_jit)
        return rl_symbols_open_jit(table->symbols, samples->process[m->process].pid, &ret->symbols,
                                   err);
    if (table->tally)
        ret->counted = rl_tally_find_module(table->tally, m->path, m->build_id, m->n_build_id);
    return rl_symbols_open(table->symbols, m->path, m->build_id, m->n_build_id, &ret->symbols, err);
}

struct begin_key {
    const char *module;
    uint64_t begin;
    const char *jit_name; /**< compiled code has no address that means anything in another run */
};

static bool same_begin(const void *context, uint32_t position, const void *key)
{
    const struct place_table *table = context;
    const struct begin_key *k = key;
    const struct place_unit *unit = &table->unit[position];
    if (strcmp(unit->module, k->module) != 0)
        return false;
    return k->jit_name ? !strcmp(unit->name, k->jit_name) : unit->begin == k->begin;
}

static bool same_name(const void *context, uint32_t position, const void *key)
{
    const struct place_table *table = context;
    return !strcmp(table->tally->unit[table->unit[position].counted].kernel.name, key);
}

/* A function that was sampled but not counted, known by its symbol or as all of its module. */
static enum rl_status need_uncounted(struct place_table *table, const struct both *module,
                                     uint64_t offset, uint32_t *ret, struct rl_error *err)
{
    struct rl_function function = {.name = module->path};
    struct rl_source_line line = {0};
    if (module->symbols) {
        rl_symbol_function(module->symbols, offset, &function);
        if (module->is_jit && table->tally) {
            *ret = index_find(&table->by_name, hash_text(0, function.name), same_name, table,
                              function.name);
            if (*ret != INDEX_NONE)
                return RL_OK;
        }
    }
    struct begin_key key = {module->path, function.begin, module->is_jit ? function.name : NULL};
    uint64_t hash = hash_text(0, key.module);
    hash = key.jit_name ? hash_text(hash, key.jit_name) : index_mix(hash, key.begin);
    *ret = index_find(&table->by_begin, hash, same_begin, table, &key);
    if (*ret != INDEX_NONE)
        return RL_OK;
    struct place_unit *unit = rl_array_append(&table->unit, &table->n_unit, sizeof *unit);
    *ret = (uint32_t)(table->n_unit - 1);
    if (!unit || !index_add(&table->by_begin, hash, *ret))
        return no_memory(err);
    unit->counted = RL_TALLY_NONE;
    unit->begin = function.begin;
    RL_TRY(rl_string_set(&unit->name, function.name, err));
    RL_TRY(rl_string_set(&unit->module, module->path, err));
    if (module->symbols && rl_symbol_line(module->symbols, function.begin, &line)) {
        unit->line = line.line;
        RL_TRY(rl_string_set(&unit->file, line.file, err));
    }
    return RL_OK;
}

static enum rl_status place_one(struct place_table *table, const struct both *module,
                                uint64_t offset, uint32_t *ret_function, uint32_t *ret_loop,
                                struct rl_error *err)
{
    uint32_t function = RL_TALLY_NONE;
    uint32_t loop = RL_TALLY_NONE;
    if (module->counted != RL_TALLY_NONE)
        rl_tally_find(table->tally, module->counted, offset, &function, &loop);
    *ret_loop = loop == RL_TALLY_NONE ? RL_SAMPLE_NO_GROUP : loop;
    *ret_function = function;
    return function == RL_TALLY_NONE ? need_uncounted(table, module, offset, ret_function, err)
                                     : RL_OK;
}

enum rl_status place_buckets(struct place_table *table, const struct rl_samples *samples,
                             uint32_t *ret_function, uint32_t *ret_loop, struct rl_error *err)
{
    struct both *module = calloc(samples->n_module + 1, sizeof *module);
    if (!module)
        return no_memory(err);
    enum rl_status status = RL_OK;
    for (uint32_t i = 0; status == RL_OK && i < samples->n_module; i++)
        status = open_module(table, samples, i, &module[i], err);
    for (size_t i = 0; status == RL_OK && i < samples->n_bucket; i++) {
        const struct rl_sample_bucket *bucket = &samples->bucket[i];
        status = place_one(table, &module[bucket->module], bucket->offset, &ret_function[i],
                           &ret_loop[i], err);
    }
    free(module);
    return status;
}
