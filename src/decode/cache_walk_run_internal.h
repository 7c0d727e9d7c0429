/* The walk itself, included by one file an instruction set. Private to the cache model. */
#ifndef RL_DECODE_CACHE_WALK_RUN_INTERNAL_H
#define RL_DECODE_CACHE_WALK_RUN_INTERNAL_H

#include "decode/cache_walk_internal.h"
#include "decode/cache_walk_usual_internal.h"

/* ---- runs of steps of one core of which no level but perhaps a last one, behind two others, takes
 * notice of another: the usual case. Then what becomes of a line in the first level does not depend
 * on the others: a few dozen steps are taken there, and what they miss and evict goes through the
 * others afterwards, in the same order. ----
 */

struct missed {
    struct rl_cache_flow *flow;
    uint32_t line;
    uint32_t gone; /* the entry that left for it */
    uint32_t group;
    enum rl_cache_kind kind;
    uint32_t place[RL_CACHE_LEVELS_MAX]; /* of its set at each level but the first */
};

/* A line leaves level k. */
static inline void send_out(const struct rl_cache *c, uint32_t k, uint32_t entry, uint32_t group,
                            struct rl_cache_flow *flow)
{
    while (entry != EMPTY) {
        if (entry & WRITTEN || (entry & DIRTY && k + 1 != c->victim))
            account(c, flow, k, group)->writebacks++;
        else if (k + 1 == c->victim)
            account(c, flow, k, group)->castouts++;
        else
            return;
        if (++k == c->n_levels)
            return;
        const struct level *level = &c->level[k];
        struct spot spot = spot_of(c, 0, k, entry >> STATE_BITS);
        if (spot.group == RL_CACHE_OUT)
            return;
        uint32_t at = set_find(spot.set, level->stride, entry >> STATE_BITS);
        if (at != NOT_FOUND) {
            set_promote(spot.set, level->stride, at, spot.set[at] | entry);
            return;
        }
        entry = insert(level, spot.set, entry);
        group = spot.group;
    }
}

/* The levels beyond the first: the nearest that has the line makes it its most recent one, or hands
 * it over if it is a victim level; those before get it. */
static inline void fetch_alone(const struct rl_cache *c, const struct missed *m)
{
    struct spot spot[RL_CACHE_LEVELS_MAX];
    uint32_t dirty = 0; /* in the last level that gets the line */
    uint32_t end = 1;   /* levels that get the line */
    for (; end < c->n_levels; end++) {
        const struct level *level = &c->level[end];
        spot[end] = spot_at(c, 0, end, m->place[end]);
        if (spot[end].group == RL_CACHE_OUT)
            break;
        uint32_t at = set_find(spot[end].set, level->stride, m->line);
        if (at != NOT_FOUND && end == c->victim) {
            dirty = spot[end].set[at] & DIRTY;
            set_drop(spot[end].set, level->ways, level->stride, at);
            break;
        }
        if (at != NOT_FOUND) {
            set_promote(spot[end].set, level->stride, at, spot[end].set[at]);
            break;
        }
        count_fill(account(c, m->flow, end, spot[end].group), m->kind);
        if (end == c->victim)
            break;
    }
    for (uint32_t k = end; k-- > 1; dirty = 0) {
        uint32_t gone = insert(&c->level[k], spot[k].set, m->line << STATE_BITS | dirty);
        send_out(c, k, gone, spot[k].group, m->flow);
    }
}

static inline void fetch_sets(const struct rl_cache *c, struct missed *m)
{
    for (uint32_t k = 1; k < c->n_levels; k++) {
        m->place[k] = place_for(&c->level[k], m->line);
        __builtin_prefetch(spot_at(c, 0, k, m->place[k]).set);
    }
}

/* Each line that comes in will most likely drive the least recent one of its set at the level
 * before into the victim level. */
static inline void fetch_sets_of_victims(const struct rl_cache *c, const struct missed missed[],
                                         uint32_t n)
{
    if (!c->victim)
        return;
    const struct level *before = &c->level[c->victim - 1];
    for (uint32_t i = 0; i < n; i++) {
        struct spot spot = spot_at(c, 0, c->victim - 1, missed[i].place[c->victim - 1]);
        uint32_t entry = spot.set[before->ways - 1];
        if (entry != EMPTY)
            __builtin_prefetch(spot_of(c, 0, c->victim, entry >> STATE_BITS).set);
    }
}

/* Take steps in the first level, up to a non-temporal store or a region not seen lately, but the
 * first one in any case. Returns how many. */
static uint32_t run_first(struct rl_cache *c, const struct rl_cache_step step[], uint32_t n,
                          struct missed missed[], uint32_t *ret_missed)
{
    const struct level *level = &c->level[0];
    uint32_t n_missed = 0;
    uint32_t line = number_of(c, step[0].line);
    uint32_t i = 0;
    do {
        struct spot spot = spot_of(c, 0, 0, line);
        uint32_t state = step[i].kind != RL_CACHE_LOAD || step[i].store_flow ? STORED : 0;
        if (spot.group == RL_CACHE_OUT || set_touch(spot.set, level->stride, line, state))
            continue;
        struct missed *m = &missed[n_missed++];
        m->flow = step[i].flow;
        m->line = line;
        m->gone = insert(level, spot.set, line << STATE_BITS | state);
        m->group = spot.group;
        m->kind = (enum rl_cache_kind)step[i].kind;
        fetch_sets(c, m);
    } while (++i < n && step[i].kind != RL_CACHE_NT_STORE && number_known(c, step[i].line, &line));
    *ret_missed = n_missed;
    return i;
}

static uint32_t run_alone(struct rl_cache *c, const struct rl_cache_step step[], uint32_t n)
{
    struct missed missed[AHEAD];
    uint32_t n_missed;
    if (step[0].kind == RL_CACHE_NT_STORE) {
        store_past(c, 0, number_of(c, step[0].line), step[0].bytes, step[0].flow);
        return 1;
    }
    if (n > AHEAD)
        n = AHEAD;
    if (has_usual_levels(c))
        return run_usual(c, step, n);
    n = run_first(c, step, n, missed, &n_missed);
    fetch_sets_of_victims(c, missed, n_missed);
    for (uint32_t i = 0; i < n_missed; i++) {
        const struct missed *m = &missed[i];
        count_fill(account(c, m->flow, 0, m->group), m->kind);
        fetch_alone(c, m);
        send_out(c, 0, m->gone, m->group, m->flow);
    }
    return n;
}

/* ---- all of it ---- */

static void walk_run(struct rl_cache *c, uint32_t core, const struct rl_cache_step step[],
                     uint32_t n)
{
    bool alone = c->first_is_alone && c->n_cores == 1;
    while (n > 0) {
        uint32_t m = alone ? run_alone(c, step, n) : run_together(c, core, step, n);
        step += m;
        n -= m;
    }
}

static void walk_flush(struct rl_cache *cache, struct rl_cache_flow *flow)
{
    for (uint32_t core = 0; core < cache->n_cores; core++)
        for (uint32_t k = 0; k < cache->n_levels; k++) {
            const struct level *level = &cache->level[k];
            for (uint32_t set = 0; set < level->sets; set++) {
                uint32_t *entries = cache->core[core].bank[k].entries + (size_t)set * level->stride;
                while (entries[0] != EMPTY)
                    expel(cache, core, entries[0] >> STATE_BITS, flow);
            }
        }
}

#define CACHE_WALK                                                                                 \
    {                                                                                              \
        walk_run, walk_flush, walk_enter_owners                                                    \
    }

#endif
