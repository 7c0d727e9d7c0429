/* Moving lines and running steps in general, for one file an instruction set: what
 * cache_walk_run_internal.h rests on. Private to the cache model. */
#ifndef RL_DECODE_CACHE_WALK_INTERNAL_H
#define RL_DECODE_CACHE_WALK_INTERNAL_H

#include "decode/cache_model_internal.h"
#include "decode/cache_set_internal.h"

#include <stdlib.h>

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

/* Where the set of a line is stored. */
static inline uint32_t place_for(const struct level *level, uint32_t line)
{
    if (level->direct)
        return line & level->direct;
    if (level->slice_shift)
        return (line % INTERLEAVE) << level->slice_shift | (line & level->mask) / INTERLEAVE;
    return place_of(level, set_of(level, line));
}

/* One set of one core's level, found once per visit. */
struct spot {
    uint32_t *set;
    uint32_t group;
};

static inline struct spot spot_at(const struct rl_cache *c, uint32_t core, uint32_t k,
                                  uint32_t place)
{
    const struct bank *bank = &c->core[core].bank[k];
    return (struct spot){bank->entries + (size_t)place * c->level[k].stride,
                         bank->group ? bank->group[place] : 0};
}

static inline struct spot spot_of(const struct rl_cache *c, uint32_t core, uint32_t k,
                                  uint32_t line)
{
    return spot_at(c, core, k, place_for(&c->level[k], line));
}

/* A new most recent entry; returns the one that leaves. */
static inline uint32_t insert(const struct level *level, uint32_t *set, uint32_t entry)
{
    return set_insert(set, level->ways, level->stride, entry);
}

static inline struct rl_cache_flow *account(const struct rl_cache *c, struct rl_cache_flow *flow,
                                            uint32_t k, uint32_t group)
{
    return &flow[c->level[k].first_flow + group];
}

static inline bool is_victim(const struct rl_cache *c, uint32_t k)
{
    return k < c->n_levels && c->level[k].policy == RL_CACHE_VICTIM;
}

/* A line that is to reach memory crosses the boundary behind level k; returns its state beyond. A
 * copy that is not simulated has no group; what it sends outward is not counted at its level. */
static inline uint32_t cross(const struct rl_cache *c, struct rl_cache_flow *flow, uint32_t k,
                             uint32_t group, uint32_t state)
{
    bool to_victim = is_victim(c, k + 1);
    if (group != RL_CACHE_OUT && (state & WRITTEN || !to_victim))
        account(c, flow, k, group)->writebacks++;
    else if (group != RL_CACHE_OUT)
        account(c, flow, k, group)->castouts++;
    return to_victim ? state : STORED;
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

static inline bool is_recent(const struct rl_cache *c, uint64_t address_line)
{
    uint64_t region = address_line >> REGION_SHIFT;
    return c->recent[region % RECENT_REGIONS].region == region;
}

static inline uint32_t number_of(struct rl_cache *c, uint64_t address_line)
{
    uint64_t region = address_line >> REGION_SHIFT;
    const struct recent_region *recent = &c->recent[region % RECENT_REGIONS];
    uint32_t id = recent->region == region ? recent->id : region_id(c, region);
    return id << REGION_SHIFT | (uint32_t)(address_line & ((1u << REGION_SHIFT) - 1));
}

/* The number of a line of a region seen lately; false if it is of another one. */
static inline bool number_known(const struct rl_cache *c, uint64_t address_line, uint32_t *ret)
{
    uint64_t region = address_line >> REGION_SHIFT;
    const struct recent_region *recent = &c->recent[region % RECENT_REGIONS];
    *ret = recent->id << REGION_SHIFT | (uint32_t)(address_line & ((1u << REGION_SHIFT) - 1));
    return recent->region == region;
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
    uint32_t state = 0;
    for (uint32_t k = 0; k < c->n_private; k++) {
        struct spot spot = spot_of(c, core, k, line);
        uint32_t at = set_find(spot.set, c->level[k].stride, line);
        if (at != NOT_FOUND) {
            held = true;
            state |= spot.set[at] & STORED;
            spot.set[at] &= ~(uint32_t)STORED;
            if (away)
                set_drop(spot.set, c->level[k].ways, c->level[k].stride, at);
        }
        if (state)
            state = cross(c, flow, k, spot.group, state);
    }
    if (state && c->n_private < c->n_levels)
        put(c, core, c->n_private, line << STATE_BITS | state, flow);
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
            if (set_find(spot_of(c, other, k, line).set, c->level[k].stride, line) != NOT_FOUND)
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

static void walk_enter_owners(struct rl_cache *c)
{
    for (uint32_t k = 0; k < c->n_private; k++) {
        const struct level *level = &c->level[k];
        const uint32_t *entries = c->core[0].bank[k].entries;
        for (size_t i = 0; i < (size_t)level->sets * level->stride; i++) {
            uint16_t *owner = entries[i] == EMPTY ? NULL : owner_of(c, entries[i] >> STATE_BITS);
            if (owner)
                *owner = 1;
        }
    }
}

/* ---- moving lines ---- */

/* Take a line out of one core's levels first .. end-1; returns the state with which it is beyond,
 * counting its way outward if it is to reach memory. */
static uint32_t take_out(struct rl_cache *c, uint32_t core, uint32_t first, uint32_t end,
                         uint32_t line, uint32_t state, struct rl_cache_flow *flow)
{
    for (uint32_t k = first; k < end; k++) {
        struct spot spot = spot_of(c, core, k, line);
        uint32_t at = set_find(spot.set, c->level[k].stride, line);
        if (at != NOT_FOUND) {
            state |= spot.set[at] & STORED;
            set_drop(spot.set, c->level[k].ways, c->level[k].stride, at);
        }
        if (state)
            state = cross(c, flow, k, spot.group, state);
    }
    return state;
}

/* A line leaves inclusive level k: it leaves the inner levels too. Returns its state there. */
static uint32_t back_invalidate(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t line,
                                struct rl_cache_flow *flow)
{
    if (k < c->n_private)
        return take_out(c, core, 0, k, line, 0, flow);
    uint32_t state = 0;
    uint16_t *owner = c->n_cores > 1 ? owner_of(c, line) : NULL;
    for (uint32_t other = 0; other < c->n_cores; other++)
        if (!owner || *owner == OWNER_MANY || *owner == other + 1)
            state |= take_out(c, other, 0, c->n_private, line, 0, flow);
    return take_out(c, core, c->n_private, k, line, state, flow);
}

static void evict(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t entry, uint32_t group,
                  struct rl_cache_flow *flow)
{
    if (entry == EMPTY)
        return;
    if (c->level[k].policy == RL_CACHE_INCLUSIVE)
        entry |= back_invalidate(c, core, k, entry >> STATE_BITS, flow);
    if (entry & DIRTY)
        entry |= cross(c, flow, k, group, entry & STORED);
    else if (is_victim(c, k + 1))
        account(c, flow, k, group)->castouts++;
    else
        return;
    if (k + 1 < c->n_levels)
        put(c, core, k + 1, entry, flow);
}

/* A line arrives at level k from the inside. */
static void put(struct rl_cache *c, uint32_t core, uint32_t k, uint32_t entry,
                struct rl_cache_flow *flow)
{
    struct spot spot = spot_of(c, core, k, entry >> STATE_BITS);
    if (spot.group == RL_CACHE_OUT)
        return;
    const struct level *level = &c->level[k];
    uint32_t at = set_find(spot.set, level->stride, entry >> STATE_BITS);
    if (at != NOT_FOUND)
        set_promote(spot.set, level->stride, at, spot.set[at] | entry);
    else
        evict(c, core, k, insert(level, spot.set, entry), spot.group, flow);
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
    uint32_t at = set_find(spot.set, level->stride, line);
    if (at != NOT_FOUND) {
        uint32_t entry = spot.set[at];
        bool moves = victim && (kind != RL_CACHE_LOAD || !supplied(c, core, line, supply));
        if (moves)
            set_drop(spot.set, level->ways, level->stride, at);
        else
            set_promote(spot.set, level->stride, at, entry);
        return moves ? entry & DIRTY : 0;
    }
    uint32_t dirty = 0;
    if (!supplied(c, core, line, supply)) {
        count_fill(account(c, flow, k, spot.group), kind);
        dirty = fetch(c, core, k + 1, line, kind, flow);
    }
    if (victim)
        return dirty;
    uint32_t gone = insert(level, spot.set, line << STATE_BITS | dirty);
    evict(c, core, k, gone, spot.group, flow);
    return 0;
}

static void miss(struct rl_cache *c, uint32_t core, uint32_t line, enum rl_cache_kind kind,
                 struct spot spot, struct rl_cache_flow *flow)
{
    bool store = kind != RL_CACHE_LOAD;
    count_fill(account(c, flow, 0, spot.group), kind);
    uint32_t dirty = fetch(c, core, 1, line, kind, flow);
    uint32_t entry = line << STATE_BITS | dirty | (store ? STORED : 0);
    evict(c, core, 0, insert(&c->level[0], spot.set, entry), spot.group, flow);
    if (store && c->n_cores > 1 && c->n_private > 0)
        snoop(c, core, line, true, flow);
}

static void touch(struct rl_cache *c, uint32_t core, uint32_t line, enum rl_cache_kind kind,
                  struct rl_cache_flow *flow)
{
    struct spot spot = spot_of(c, core, 0, line);
    if (spot.group == RL_CACHE_OUT)
        return;
    uint32_t at = set_find(spot.set, c->level[0].stride, line);
    if (at == NOT_FOUND) {
        miss(c, core, line, kind, spot, flow);
        return;
    }
    uint32_t entry = spot.set[at];
    bool store = kind != RL_CACHE_LOAD;
    /* The whole set is stored in either case: a vector load behind a narrow store would stall. */
    if (at > 0 || (store && !(entry & WRITTEN)))
        set_promote(spot.set, c->level[0].stride, at, store ? entry | STORED : entry);
    if (store && !(entry & DIRTY) && c->n_cores > 1 && c->n_private > 0)
        snoop(c, core, line, true, flow);
}

/* A line leaves every cache; returns the group of its set at the last level, or RL_CACHE_OUT. */
static uint32_t expel(struct rl_cache *c, uint32_t core, uint32_t line, struct rl_cache_flow *flow)
{
    uint32_t state = 0;
    uint16_t *owner = c->n_cores > 1 ? owner_of(c, line) : NULL;
    for (uint32_t other = 0; other < c->n_cores; other++)
        if (!owner || *owner == OWNER_MANY || *owner == other + 1)
            state |= take_out(c, other, 0, c->n_private, line, 0, flow);
    if (owner)
        *owner = OWNER_NONE;
    take_out(c, core, c->n_private, c->n_levels, line, state, flow);
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

/* ---- runs of steps, in general ---- */

enum { AHEAD = 64 }; /* steps at a time: what they need is on its way before it is used */

/* Numbers of the lines of the next steps, at most AHEAD: fewer before a region not seen lately, for
 * numbering it may empty the caches. What they need beyond the first level begins to be fetched. */
static uint32_t look_ahead(struct rl_cache *c, uint32_t core, const struct rl_cache_step step[],
                           uint32_t n, uint32_t line[])
{
    uint32_t i = 0;
    do {
        line[i] = number_of(c, step[i].line);
        for (uint32_t k = 1; k < c->n_levels; k++)
            __builtin_prefetch(spot_of(c, core, k, line[i]).set);
        i++;
    } while (i < n && i < AHEAD && is_recent(c, step[i].line));
    return i;
}

static uint32_t run_together(struct rl_cache *c, uint32_t core, const struct rl_cache_step step[],
                             uint32_t n)
{
    uint32_t line[AHEAD];
    uint32_t m = look_ahead(c, core, step, n, line);
    for (uint32_t i = 0; i < m; i++) {
        if (step[i].kind == RL_CACHE_NT_STORE) {
            store_past(c, core, line[i], step[i].bytes, step[i].flow);
            continue;
        }
        touch(c, core, line[i], (enum rl_cache_kind)step[i].kind, step[i].flow);
        if (step[i].store_flow)
            touch(c, core, line[i], RL_CACHE_STORE, step[i].store_flow);
    }
    return m;
}

#endif
