/* Line numbers fit the 31 bits of a set's entries because the address space that a program touches
 * is numbered in regions of 16 MiB as they appear; a region keeps the low bits of the address, so
 * set indices are unaffected. Coherence keeps, per line, the one core that may hold it or
 * "several", so that most misses need not look at other cores. */
#include "decode/cache_model.h"

#include "base/error.h"
#include "decode/cache_set_internal.h"

#include <stdlib.h>

enum {
    LINE_SHIFT = 6,
    REGION_SHIFT = 18,           /* lines in a region, log2 */
    REGIONS_MAX = (1 << 13) - 1, /* the last number would collide with EMPTY */
    REGION_HASH = 1 << 15,       /* slots of the map from address to region */
    RECENT_REGIONS = 256,        /* slots of the direct-mapped cache before it */
    INTERLEAVE = 64,             /* sets that many apart are stored together, see place_of */
};
#define NO_REGION  UINT64_MAX
#define OWNER_NONE 0
#define OWNER_MANY UINT16_MAX

/* One level of one core; for a shared level every core's bank points to the same arrays. */
struct bank {
    uint32_t *entries; /* [sets][stride], in the order of place_of */
    uint8_t *group;    /* [sets] likewise, or NULL: all simulated as group 0 */
};

struct level {
    uint32_t sets;
    uint32_t ways;
    uint32_t stride;    /* entries from one set to the next; those past `ways` stay EMPTY */
    uint32_t mask;      /* sets - 1 if a power of two within a region, else 0 */
    uint64_t magic;     /* 2^64 / sets, rounded up: remainder by multiplication */
    uint32_t per_slice; /* sets / INTERLEAVE, or 0 where that is not whole */
    uint32_t n_groups;
    uint32_t first_flow; /* of its boundary within an account */
    enum rl_cache_policy policy;
    uint32_t *region_start; /* [REGIONS_MAX] first line of each region modulo sets; only if !mask */
};

struct core {
    struct bank bank[RL_CACHE_LEVELS_MAX];
};

struct recent_region {
    uint64_t region;
    uint32_t id;
};

struct rl_cache {
    uint32_t n_levels;
    uint32_t n_private; /* levels before the first shared one */
    uint32_t n_cores;
    struct level level[RL_CACHE_LEVELS_MAX];
    struct core *core;

    struct recent_region recent[RECENT_REGIONS];
    uint64_t *hash_region; /* [REGION_HASH], NO_REGION where free */
    uint16_t *hash_id;     /* [REGION_HASH] */
    uint32_t n_regions;
    uint64_t forgotten;
    /* Per region and line: who may hold it privately. OWNER_NONE, core + 1, or OWNER_MANY; never
     * too few. Only kept from the second core on. */
    uint16_t **owner;
};

/* ---- from lines to sets ---- */

static inline uint32_t set_of(const struct level *level, uint32_t line)
{
    if (level->mask)
        return line & level->mask;
    if (level->sets == 1)
        return 0;
    uint32_t low = line & ((1u << REGION_SHIFT) - 1);
    uint32_t sum = level->region_start[line >> REGION_SHIFT] + low;
    uint64_t fraction = level->magic * sum;
    return (uint32_t)(((unsigned __int128)fraction * level->sets) >> 64);
}

/* Where a set is stored. Sampling keeps sets that agree modulo the first level's number of sets;
 * storing those side by side keeps a sample dense in the host's own caches. */
static inline uint32_t place_of(const struct level *level, uint32_t set)
{
    if (!level->per_slice)
        return set;
    return (set % INTERLEAVE) * level->per_slice + set / INTERLEAVE;
}

/* One set of one core's level, found once per visit. */
struct spot {
    uint32_t *set;
    uint32_t group;
};

static inline struct spot spot_of(const struct rl_cache *c, uint32_t core, uint32_t k,
                                  uint32_t line)
{
    const struct level *level = &c->level[k];
    const struct bank *bank = &c->core[core].bank[k];
    uint32_t place = place_of(level, set_of(level, line));
    struct spot spot = {bank->entries + (size_t)place * level->stride,
                        bank->group ? bank->group[place] : 0};
    return spot;
}

static inline struct rl_cache_flow *account(const struct rl_cache *c, struct rl_cache_flow *flow,
                                            uint32_t k, uint32_t group)
{
    return &flow[c->level[k].first_flow + group];
}

/* A copy that is not simulated has no group; what it sends outward is not counted at its level. */
static inline void count_writeback(const struct rl_cache *c, struct rl_cache_flow *flow, uint32_t k,
                                   uint32_t group)
{
    if (group != RL_CACHE_OUT)
        account(c, flow, k, group)->writebacks++;
}

/* ---- numbering regions ---- */

static void forget_all(struct rl_cache *c)
{
    for (uint32_t core = 0; core < c->n_cores; core++)
        for (uint32_t k = 0; k < c->n_levels; k++) {
            const struct level *level = &c->level[k];
            memset(c->core[core].bank[k].entries, 0xff,
                   (size_t)level->sets * level->stride * sizeof(uint32_t));
        }
    memset(c->hash_region, 0xff, REGION_HASH * sizeof *c->hash_region);
    for (uint32_t i = 0; i < RECENT_REGIONS; i++)
        c->recent[i].region = NO_REGION;
    for (uint32_t i = 0; i < c->n_regions; i++) {
        free(c->owner[i]);
        c->owner[i] = NULL;
    }
    c->n_regions = 0;
    c->forgotten++;
}

static uint32_t new_region(struct rl_cache *c, uint64_t region)
{
    uint32_t id = c->n_regions++;
    for (uint32_t k = 0; k < c->n_levels; k++)
        if (c->level[k].region_start)
            c->level[k].region_start[id] = (uint32_t)((region << REGION_SHIFT) % c->level[k].sets);
    return id;
}

static uint32_t region_id(struct rl_cache *c, uint64_t region)
{
    if (c->n_regions == REGIONS_MAX)
        forget_all(c);
    uint64_t slot = (region * 0x9e3779b97f4a7c15u) >> 49;
    while (c->hash_region[slot] != NO_REGION && c->hash_region[slot] != region)
        slot = (slot + 1) % REGION_HASH;
    if (c->hash_region[slot] == NO_REGION) {
        c->hash_region[slot] = region;
        c->hash_id[slot] = (uint16_t)new_region(c, region);
    }
    struct recent_region *recent = &c->recent[region % RECENT_REGIONS];
    recent->region = region;
    recent->id = c->hash_id[slot];
    return recent->id;
}

static inline uint32_t number_of(struct rl_cache *c, uint64_t address_line)
{
    uint64_t region = address_line >> REGION_SHIFT;
    const struct recent_region *recent = &c->recent[region % RECENT_REGIONS];
    uint32_t id = recent->region == region ? recent->id : region_id(c, region);
    return id << REGION_SHIFT | (uint32_t)(address_line & ((1u << REGION_SHIFT) - 1));
}

/* ---- who else may hold a line ---- */

static uint16_t *owner_of(struct rl_cache *c, uint32_t line)
{
    uint16_t **region = &c->owner[line >> REGION_SHIFT];
    if (!*region)
        *region = calloc(1u << REGION_SHIFT, sizeof **region);
    return *region ? *region + (line & ((1u << REGION_SHIFT) - 1)) : NULL;
}

static void put(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t entry,
                struct rl_cache_flow *flow);

/* Clean, or drop, one core's private copies; a dirty one moves to the first shared level.
 * Returns whether there was any. */
static bool withdraw(struct rl_cache *c, uint32_t core, uint32_t line, bool away,
                     struct rl_cache_flow *flow)
{
    bool held = false;
    uint32_t dirty = 0;
    for (uint32_t k = 0; k < c->n_private; k++) {
        struct spot spot = spot_of(c, core, k, line);
        uint32_t at = set_find(spot.set, c->level[k].ways, line);
        if (at != NOT_FOUND) {
            held = true;
            dirty |= spot.set[at] & DIRTY;
            spot.set[at] &= ~(uint32_t)DIRTY;
            if (away)
                set_drop(spot.set, c->level[k].ways, at);
        }
        if (dirty)
            count_writeback(c, flow, k, spot.group);
    }
    if (dirty && c->n_private < c->n_levels)
        put(c, core, c->n_private, line << 1 | DIRTY, flow);
    return held;
}

static bool withdraw_others(struct rl_cache *c, uint32_t core, uint32_t line, bool away,
                            struct rl_cache_flow *flow)
{
    bool held = false;
    for (uint32_t other = 0; other < c->n_cores; other++)
        if (other != core)
            held |= withdraw(c, other, line, away, flow);
    return held;
}

static bool held_by_others(const struct rl_cache *c, uint32_t core, uint32_t line)
{
    for (uint32_t other = 0; other < c->n_cores; other++)
        for (uint32_t k = 0; other != core && k < c->n_private; k++)
            if (set_find(spot_of(c, other, k, line).set, c->level[k].ways, line) != NOT_FOUND)
                return true;
    return false;
}

enum supply { SUPPLY_NONE, SUPPLY_CORE, SUPPLY_ASK };

/* A private miss of `core`, or its store to a clean line: settle the other cores' copies.
 * SUPPLY_ASK: several may hold it, all of them clean, and looking costs more than most callers
 * need. */
static enum supply snoop(struct rl_cache *c, uint32_t core, uint32_t line, bool store,
                         struct rl_cache_flow *flow)
{
    uint16_t *owner = owner_of(c, line);
    uint16_t self = (uint16_t)(core + 1);
    uint16_t was = owner ? *owner : OWNER_MANY;
    if (was == self)
        return SUPPLY_NONE;
    if (was == OWNER_MANY && !store && owner)
        return SUPPLY_ASK;
    bool held = false;
    if (was == OWNER_MANY)
        held = withdraw_others(c, core, line, store, flow);
    else if (was != OWNER_NONE)
        held = withdraw(c, was - 1u, line, store, flow);
    if (owner)
        *owner = held && !store ? OWNER_MANY : self;
    return held ? SUPPLY_CORE : SUPPLY_NONE;
}

/* From the second core on owners are kept; what the first one holds by then is entered. */
static void enter_owners(struct rl_cache *c)
{
    for (uint32_t k = 0; k < c->n_private; k++) {
        const struct level *level = &c->level[k];
        const uint32_t *entries = c->core[0].bank[k].entries;
        for (size_t i = 0; i < (size_t)level->sets * level->stride; i++) {
            uint16_t *owner = entries[i] == EMPTY ? NULL : owner_of(c, entries[i] >> 1);
            if (owner)
                *owner = 1;
        }
    }
}

/* ---- moving lines ---- */

/* Take a line out of one core's levels first .. end-1; returns DIRTY if a copy was, counting the
 * write-backs of its way outward. */
static uint32_t take_out(struct rl_cache *c, uint32_t core, uint32_t first, uint32_t end,
                         uint32_t line, uint32_t dirty, struct rl_cache_flow *flow)
{
    for (uint32_t k = first; k < end; k++) {
        struct spot spot = spot_of(c, core, k, line);
        uint32_t at = set_find(spot.set, c->level[k].ways, line);
        if (at != NOT_FOUND) {
            dirty |= spot.set[at] & DIRTY;
            set_drop(spot.set, c->level[k].ways, at);
        }
        if (dirty)
            count_writeback(c, flow, k, spot.group);
    }
    return dirty;
}

/* A line leaves inclusive level k: it leaves the inner levels too. Returns its dirty bit. */
static uint32_t back_invalidate(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t line,
                                struct rl_cache_flow *flow)
{
    if (k < c->n_private)
        return take_out(c, core, 0, k, line, 0, flow);
    uint32_t dirty = 0;
    uint16_t *owner = c->n_cores > 1 ? owner_of(c, line) : NULL;
    for (uint32_t other = 0; other < c->n_cores; other++)
        if (!owner || *owner == OWNER_MANY || *owner == other + 1)
            dirty |= take_out(c, other, 0, c->n_private, line, 0, flow);
    return take_out(c, core, c->n_private, k, line, dirty, flow);
}

static void evict(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t entry, uint32_t group,
                  struct rl_cache_flow *flow)
{
    if (entry == EMPTY)
        return;
    if (c->level[k].policy == RL_CACHE_INCLUSIVE)
        entry |= back_invalidate(c, core, k, entry >> 1, flow);
    bool last = k + 1 == c->n_levels;
    if (entry & DIRTY)
        account(c, flow, k, group)->writebacks++;
    else if (!last && c->level[k + 1].policy == RL_CACHE_VICTIM)
        account(c, flow, k, group)->castouts++;
    else
        return;
    if (!last)
        put(c, core, k + 1, entry, flow);
}

/* A line arrives at level k from the inside. */
static void put(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t entry,
                struct rl_cache_flow *flow)
{
    struct spot spot = spot_of(c, core, k, entry >> 1);
    if (spot.group == RL_CACHE_OUT)
        return;
    uint32_t ways = c->level[k].ways;
    uint32_t at = set_find(spot.set, ways, entry >> 1);
    if (at != NOT_FOUND)
        set_promote(spot.set, ways, at, spot.set[at] | entry);
    else
        evict(c, core, k, set_insert(spot.set, ways, entry), spot.group, flow);
}

static inline void count_fill(struct rl_cache_flow *flow, enum rl_cache_kind kind)
{
    if (kind == RL_CACHE_STORE)
        flow->allocates++;
    else
        flow->reads++;
}

/* Whether another core holds the line, where snoop left that open. */
static bool supplied(struct rl_cache *c, uint32_t core, uint32_t line, enum supply supply)
{
    if (supply != SUPPLY_ASK)
        return supply == SUPPLY_CORE;
    if (held_by_others(c, core, line))
        return true;
    *owner_of(c, line) = (uint16_t)(core + 1);
    return false;
}

/* Bring a line in from level k or beyond; returns DIRTY if a victim level handed it over dirty. */
static uint32_t fetch(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t line,
                      enum rl_cache_kind kind, struct rl_cache_flow *flow)
{
    bool end = k == c->n_levels;
    struct spot spot = {NULL, RL_CACHE_OUT};
    if (!end)
        spot = spot_of(c, core, k, line);
    bool out = spot.group == RL_CACHE_OUT;
    enum supply supply = SUPPLY_NONE;
    if (c->n_cores > 1 && (k == c->n_private || (out && k < c->n_private)))
        supply = snoop(c, core, line, kind != RL_CACHE_LOAD, flow);
    if (out)
        return 0;
    const struct level *level = &c->level[k];
    bool victim = level->policy == RL_CACHE_VICTIM;
    uint32_t at = set_find(spot.set, level->ways, line);
    if (at != NOT_FOUND) {
        uint32_t entry = spot.set[at];
        bool moves = victim && (kind != RL_CACHE_LOAD || !supplied(c, core, line, supply));
        if (moves)
            set_drop(spot.set, level->ways, at);
        else
            set_promote(spot.set, level->ways, at, entry);
        return moves ? entry & DIRTY : 0;
    }
    uint32_t dirty = 0;
    if (!supplied(c, core, line, supply)) {
        count_fill(account(c, flow, k, spot.group), kind);
        dirty = fetch(c, core, k + 1, line, kind, flow);
    }
    if (victim)
        return dirty;
    uint32_t gone = set_insert(spot.set, level->ways, line << 1 | dirty);
    evict(c, core, k, gone, spot.group, flow);
    return 0;
}

static __attribute__((noinline)) void miss(struct rl_cache *c, uint32_t core, uint32_t line,
                                           enum rl_cache_kind kind, struct spot spot,
                                           struct rl_cache_flow *flow)
{
    for (uint32_t k = 2; k < c->n_levels; k++)
        __builtin_prefetch(spot_of(c, core, k, line).set);
    bool store = kind != RL_CACHE_LOAD;
    count_fill(account(c, flow, 0, spot.group), kind);
    uint32_t dirty = fetch(c, core, 1, line, kind, flow);
    uint32_t entry = line << 1 | dirty | (store ? DIRTY : 0);
    evict(c, core, 0, set_insert(spot.set, c->level[0].ways, entry), spot.group, flow);
    if (store && c->n_cores > 1 && c->n_private > 0)
        snoop(c, core, line, true, flow);
}

static inline void touch(struct rl_cache *c, uint32_t core, uint32_t line, enum rl_cache_kind kind,
                         struct rl_cache_flow *flow)
{
    struct spot spot = spot_of(c, core, 0, line);
    if (spot.group == RL_CACHE_OUT)
        return;
    uint32_t at = spot.set[0] >> 1 == line ? 0 : set_find(spot.set, c->level[0].ways, line);
    if (at == NOT_FOUND) {
        miss(c, core, line, kind, spot, flow);
        return;
    }
    uint32_t entry = spot.set[at];
    bool soiled = kind != RL_CACHE_LOAD && !(entry & DIRTY);
    if (at > 0)
        set_promote(spot.set, c->level[0].ways, at, entry);
    if (!soiled)
        return;
    spot.set[0] = entry | DIRTY;
    if (c->n_cores > 1 && c->n_private > 0)
        snoop(c, core, line, true, flow);
}

/* A line leaves every cache; returns the group of its set at the last level, or RL_CACHE_OUT. */
static uint32_t expel(struct rl_cache *c, uint32_t core, uint32_t line, struct rl_cache_flow *flow)
{
    uint32_t dirty = 0;
    uint16_t *owner = c->n_cores > 1 ? owner_of(c, line) : NULL;
    for (uint32_t other = 0; other < c->n_cores; other++)
        if (!owner || *owner == OWNER_MANY || *owner == other + 1)
            dirty |= take_out(c, other, 0, c->n_private, line, 0, flow);
    if (owner)
        *owner = OWNER_NONE;
    take_out(c, core, c->n_private, c->n_levels, line, dirty, flow);
    return spot_of(c, core, c->n_levels - 1, line).group;
}

static void store_past(struct rl_cache *c, uint32_t core, uint32_t line, uint64_t bytes,
                       struct rl_cache_flow *flow)
{
    if (spot_of(c, core, 0, line).group == RL_CACHE_OUT)
        return;
    uint32_t group = expel(c, core, line, flow);
    if (group != RL_CACHE_OUT)
        account(c, flow, c->n_levels - 1, group)->nt_bytes += bytes;
}

void rl_cache_access(struct rl_cache *cache, uint32_t core, uint64_t address, uint64_t size,
                     enum rl_cache_kind kind, struct rl_cache_flow *flow)
{
    while (size > 0) {
        uint64_t within = address % RL_CACHE_LINE_BYTES;
        uint64_t bytes = RL_CACHE_LINE_BYTES - within;
        if (bytes > size)
            bytes = size;
        uint32_t line = number_of(cache, address >> LINE_SHIFT);
        if (kind != RL_CACHE_NT_STORE)
            touch(cache, core, line, kind, flow);
        else
            store_past(cache, core, line, bytes, flow);
        address += bytes;
        size -= bytes;
    }
}

void rl_cache_flush(struct rl_cache *cache, struct rl_cache_flow *flow)
{
    for (uint32_t core = 0; core < cache->n_cores; core++)
        for (uint32_t k = 0; k < cache->n_levels; k++) {
            const struct level *level = &cache->level[k];
            for (uint32_t set = 0; set < level->sets; set++) {
                uint32_t *entries = cache->core[core].bank[k].entries + (size_t)set * level->stride;
                while (entries[0] != EMPTY)
                    expel(cache, core, entries[0] >> 1, flow);
            }
        }
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
    if (from->sets % INTERLEAVE == 0)
        level->per_slice = from->sets / INTERLEAVE;
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
        enter_owners(c);
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
    c->n_levels = geometry->n_levels;
    bool ok = true;
    for (uint32_t k = 0, flows = 0; k < c->n_levels; k++) {
        c->level[k].n_groups = n_groups ? n_groups[k] : 1;
        c->level[k].first_flow = flows;
        flows += c->level[k].n_groups;
        c->n_private += !geometry->level[k].shared;
        ok &= init_level(&c->level[k], &geometry->level[k]);
    }
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
