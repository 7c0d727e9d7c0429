/* Making, changing and choosing; the walk through the contents is in cache_walk_internal.h. */
#include "decode/cache_model.h"

#include "base/error.h"
#include "decode/cache_model_internal.h"

#include <stdlib.h>
#include <string.h>

void rl_cache_access(struct rl_cache *cache, uint32_t core, uint64_t address, uint64_t size,
                     enum rl_cache_kind kind, struct rl_cache_flow *flow)
{
    while (size > 0) {
        uint64_t bytes = RL_CACHE_LINE_BYTES - address % RL_CACHE_LINE_BYTES;
        if (bytes > size)
            bytes = size;
        const struct rl_cache_step step = {.line = address >> LINE_SHIFT,
                                           .flow = flow,
                                           .kind = (uint8_t)kind,
                                           .bytes = (uint8_t)bytes};
        cache->walk->run(cache, core, &step, 1);
        address += bytes;
        size -= bytes;
    }
}

void rl_cache_run(struct rl_cache *cache, uint32_t core, const struct rl_cache_step step[],
                  uint32_t n)
{
    cache->walk->run(cache, core, step, n);
}

void rl_cache_flush(struct rl_cache *cache, struct rl_cache_flow *flow)
{
    cache->walk->flush(cache, flow);
}

bool rl_cache_use_vectors(struct rl_cache *cache, bool allowed)
{
    cache->walk = &rl_cache_walk_plain;
#ifdef __x86_64__
    if (allowed && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        cache->walk = &rl_cache_walk_avx512;
    else if (allowed && __builtin_cpu_supports("avx2"))
        cache->walk = &rl_cache_walk_avx2;
#endif
    return cache->walk != &rl_cache_walk_plain;
}

uint64_t rl_cache_forgotten(const struct rl_cache *cache)
{
    return cache->forgotten;
}

/* ---- making one ---- */

static uint32_t stride_for(uint32_t ways)
{
    uint32_t stride = 4;
    while (stride < ways)
        stride *= 2;
    return stride;
}

enum rl_status rl_cache_check(const struct rl_cache_geometry *geometry, struct rl_error *err)
{
    if (geometry->n_levels < 1 || geometry->n_levels > RL_CACHE_LEVELS_MAX)
        return rl_fail(err, RL_EINVAL, "a cache model has 1 to %d levels, not %u",
                       RL_CACHE_LEVELS_MAX, geometry->n_levels);
    for (uint32_t k = 0; k < geometry->n_levels; k++) {
        const struct rl_cache_level *level = &geometry->level[k];
        if (level->sets < 1 || level->sets > RL_CACHE_SETS_MAX)
            return rl_fail(err, RL_EINVAL, "L%u: %u sets; 1 to %d are possible", k + 1, level->sets,
                           RL_CACHE_SETS_MAX);
        if (level->ways < 1 || level->ways > RL_CACHE_WAYS_MAX)
            return rl_fail(err, RL_EINVAL, "L%u: %u ways; 1 to %d are possible", k + 1, level->ways,
                           RL_CACHE_WAYS_MAX);
        if (k > 0 && geometry->level[k - 1].shared && !level->shared)
            return rl_fail(err, RL_EINVAL, "L%u is private behind a shared level", k + 1);
        if (k == 0 && level->policy != RL_CACHE_NON_INCLUSIVE)
            return rl_fail(err, RL_EINVAL, "L1 has no inner level to include or to serve");
    }
    return RL_OK;
}

static bool init_level(struct level *level, const struct rl_cache_level *from)
{
    level->sets = from->sets;
    level->ways = from->ways;
    level->stride = stride_for(from->ways);
    level->policy = from->policy;
    level->magic = UINT64_MAX / from->sets + 1;
    if (from->sets > 1 && (from->sets & (from->sets - 1)) == 0 && from->sets <= 1u << REGION_SHIFT)
        level->mask = from->sets - 1;
    if (from->sets % INTERLEAVE == 0 && level->n_groups > 1)
        level->per_slice = from->sets / INTERLEAVE;
    if (level->mask && level->per_slice)
        level->slice_shift = (uint32_t)__builtin_ctz(level->per_slice);
    if (!level->per_slice)
        level->direct = level->mask;
    if (level->mask || from->sets == 1)
        return true;
    level->region_start = calloc(REGIONS_MAX, sizeof *level->region_start);
    return level->region_start != NULL;
}

static bool init_bank(struct bank *bank, const struct level *level, const struct bank *like)
{
    size_t bytes = (size_t)level->sets * level->stride * sizeof *bank->entries;
    size_t aligned = (bytes + RL_CACHE_LINE_BYTES - 1) / RL_CACHE_LINE_BYTES * RL_CACHE_LINE_BYTES;
    bank->entries = aligned_alloc(RL_CACHE_LINE_BYTES, aligned);
    bank->group = like && like->group ? malloc(level->sets) : NULL;
    if (!bank->entries || (like && like->group && !bank->group))
        return false;
    memset(bank->entries, 0xff, bytes);
    if (bank->group)
        memcpy(bank->group, like->group, level->sets);
    return true;
}

static bool add_core(struct rl_cache *c)
{
    struct core *core = &c->core[c->n_cores];
    memset(core, 0, sizeof *core);
    const struct core *first = c->n_cores > 0 ? &c->core[0] : NULL;
    for (uint32_t k = 0; k < c->n_levels; k++) {
        if (first && k >= c->n_private)
            core->bank[k] = first->bank[k];
        else if (!init_bank(&core->bank[k], &c->level[k], first ? &first->bank[k] : NULL)) {
            for (uint32_t j = 0; j <= k; j++) {
                free(core->bank[j].entries);
                free(core->bank[j].group);
            }
            return false;
        }
    }
    c->n_cores++;
    if (c->n_cores == 2)
        c->walk->enter_owners(c);
    return true;
}

enum rl_status rl_cache_reserve_cores(struct rl_cache *cache, uint32_t n_cores,
                                      struct rl_error *err)
{
    if (n_cores > RL_CACHE_CORES_MAX)
        return rl_fail(err, RL_EINVAL, "a cache model has at most %d cores, not %u",
                       RL_CACHE_CORES_MAX, n_cores);
    if (n_cores <= cache->n_cores)
        return RL_OK;
    struct core *grown = realloc(cache->core, n_cores * sizeof *grown);
    if (!grown)
        return rl_fail(err, RL_ENOMEM, "no memory for %u cores of the cache model", n_cores);
    cache->core = grown;
    while (cache->n_cores < n_cores)
        if (!add_core(cache))
            return rl_fail(err, RL_ENOMEM, "no memory for core %u of the cache model",
                           cache->n_cores);
    return RL_OK;
}

/* A victim level right behind the first one would hand it dirty lines. */
static void look_at_policies(struct rl_cache *c)
{
    uint32_t last = c->n_levels - 1;
    if (last > 1 && c->level[last].policy == RL_CACHE_VICTIM)
        c->victim = last;
    c->first_is_alone = true;
    for (uint32_t k = 0; k < c->n_levels; k++)
        c->first_is_alone &= c->level[k].policy == RL_CACHE_NON_INCLUSIVE || k == c->victim;
}

enum rl_status rl_cache_new(const struct rl_cache_geometry *geometry, const uint32_t n_groups[],
                            struct rl_cache **ret_cache, struct rl_error *err)
{
    RL_TRY(rl_cache_check(geometry, err));
    for (uint32_t k = 0; n_groups && k < geometry->n_levels; k++)
        if (n_groups[k] < 1 || n_groups[k] > RL_CACHE_GROUPS_MAX)
            return rl_fail(err, RL_EINVAL, "L%u: %u groups; 1 to %d are possible", k + 1,
                           n_groups[k], RL_CACHE_GROUPS_MAX);
    struct rl_cache *c = calloc(1, sizeof *c);
    if (!c)
        return rl_fail(err, RL_ENOMEM, "no memory for a cache model");
    c->walk = &rl_cache_walk_plain;
    rl_cache_use_vectors(c, true);
    c->n_levels = geometry->n_levels;
    bool ok = true;
    for (uint32_t k = 0, flows = 0; k < c->n_levels; k++) {
        c->level[k].n_groups = n_groups ? n_groups[k] : 1;
        c->level[k].first_flow = flows;
        flows += c->level[k].n_groups;
        c->n_private += !geometry->level[k].shared;
        ok &= init_level(&c->level[k], &geometry->level[k]);
    }
    look_at_policies(c);
    for (uint32_t i = 0; i < RECENT_REGIONS; i++)
        c->recent[i].region = NO_REGION;
    c->hash_region = malloc(REGION_HASH * sizeof *c->hash_region);
    c->hash_id = malloc(REGION_HASH * sizeof *c->hash_id);
    c->owner = calloc(REGIONS_MAX, sizeof *c->owner);
    ok = ok && c->hash_region && c->hash_id && c->owner;
    if (ok) {
        memset(c->hash_region, 0xff, REGION_HASH * sizeof *c->hash_region);
        ok = rl_cache_reserve_cores(c, 1, NULL) == RL_OK;
    }
    if (!ok) {
        rl_cache_free(c);
        return rl_fail(err, RL_ENOMEM, "no memory for a cache model");
    }
    *ret_cache = c;
    return RL_OK;
}

void rl_cache_free(struct rl_cache *cache)
{
    if (!cache)
        return;
    for (uint32_t core = 0; core < cache->n_cores; core++)
        for (uint32_t k = 0; k < (core > 0 ? cache->n_private : cache->n_levels); k++) {
            free(cache->core[core].bank[k].entries);
            free(cache->core[core].bank[k].group);
        }
    for (uint32_t i = 0; cache->owner && i < REGIONS_MAX; i++)
        free(cache->owner[i]);
    for (uint32_t k = 0; k < cache->n_levels; k++)
        free(cache->level[k].region_start);
    free(cache->core);
    free(cache->hash_region);
    free(cache->hash_id);
    free(cache->owner);
    free(cache);
}

static uint8_t *groups_of(struct rl_cache *c, uint32_t core, uint32_t k)
{
    struct bank *bank = &c->core[core].bank[k];
    if (!bank->group)
        bank->group = calloc(c->level[k].sets, 1);
    return bank->group;
}

enum rl_status rl_cache_choose_sets(struct rl_cache *cache, uint32_t level, uint32_t core,
                                    const uint8_t group[], struct rl_error *err)
{
    if (level >= cache->n_levels || (core != RL_CACHE_ALL && core >= cache->n_cores))
        return rl_fail(err, RL_EINVAL, "the cache model has no level %u of core %u", level, core);
    const struct level *l = &cache->level[level];
    for (uint32_t set = 0; set < l->sets; set++)
        if (group[set] != RL_CACHE_OUT && group[set] >= l->n_groups)
            return rl_fail(err, RL_EINVAL, "set %u of L%u: group %u of %u", set, level + 1,
                           group[set], l->n_groups);
    bool shared = level >= cache->n_private;
    bool all = core == RL_CACHE_ALL || shared;
    uint32_t first = all ? 0 : core;
    uint32_t end = all ? cache->n_cores : core + 1;
    for (uint32_t i = first; i < end; i++) {
        if (shared && i > 0) {
            cache->core[i].bank[level].group = cache->core[0].bank[level].group;
            continue;
        }
        uint8_t *groups = groups_of(cache, i, level);
        if (!groups)
            return rl_fail(err, RL_ENOMEM, "no memory for the groups of L%u", level + 1);
        for (uint32_t set = 0; set < l->sets; set++)
            groups[place_of(l, set)] = group[set];
    }
    return RL_OK;
}

void rl_cache_choose_set(struct rl_cache *cache, uint32_t level, uint32_t core, uint32_t set,
                         uint8_t group)
{
    cache->core[core].bank[level].group[place_of(&cache->level[level], set)] = group;
}
