/* Steps of the only core through the usual three levels, all of whose sets are kept, in their
 * order, and of which the last, alone, is a victim level: what run_alone does in general, with
 * everything that stays the same kept at hand. Strides are the levels'. Private to the cache model.
 */
#ifndef RL_DECODE_CACHE_WALK_USUAL_INTERNAL_H
#define RL_DECODE_CACHE_WALK_USUAL_INTERNAL_H

#include "decode/cache_walk_internal.h"

enum { STRIDE_8 = 8, STRIDE_16 = 16 };

/* A line that the first level has taken in, and what it still has to do to the others. */
struct usual_miss {
    struct rl_cache_flow *flow;
    uint32_t *home; /* the line's set in the last level */
    uint32_t line;
    uint32_t gone; /* the entry that left for it */
    enum rl_cache_kind kind;
};

/* The levels, by name: of each its sets and what finds and changes them. */
struct usual {
    uint32_t *first, *middle, *last;
    uint32_t first_mask, middle_mask, last_mask;
    uint32_t first_ways, middle_ways, last_ways;
    bool direct; /* the last level has its mask; otherwise these tell the place, as in set_of */
    const uint32_t *last_start; /* by region */
    uint64_t last_magic;
    uint32_t last_sets;
};

static bool is_8_or_16(uint32_t stride)
{
    return stride == STRIDE_8 || stride == STRIDE_16;
}

/* Are sets those of lines modulo their number, each at its own place? */
static bool is_counted_off(const struct level *level)
{
    return !level->mask && level->region_start && !level->per_slice;
}

static bool has_usual_levels(const struct rl_cache *c)
{
    const struct bank *bank = c->core[0].bank;
    return c->n_levels == 3 && c->victim == 2 && is_8_or_16(c->level[0].stride) &&
           is_8_or_16(c->level[1].stride) && c->level[2].stride == STRIDE_16 &&
           c->level[0].direct && c->level[1].direct && !bank[0].group && !bank[1].group &&
           !bank[2].group && (c->level[2].direct || is_counted_off(&c->level[2]));
}

static inline struct usual usual_of(const struct rl_cache *c, bool direct)
{
    const struct bank *bank = c->core[0].bank;
    const struct level *level = c->level;
    return (struct usual){
        .first = bank[0].entries,
        .middle = bank[1].entries,
        .last = bank[2].entries,
        .first_mask = level[0].direct,
        .middle_mask = level[1].direct,
        .last_mask = level[2].direct,
        .first_ways = level[0].ways,
        .middle_ways = level[1].ways,
        .last_ways = level[2].ways,
        .direct = direct,
        .last_start = level[2].region_start,
        .last_magic = level[2].magic,
        .last_sets = level[2].sets,
    };
}

/* A line's set in the last level. */
static inline __attribute__((always_inline)) uint32_t *usual_home(const struct usual *u,
                                                                  uint32_t line)
{
    if (u->direct)
        return u->last + (size_t)(line & u->last_mask) * STRIDE_16;
    uint32_t low = line & ((1u << REGION_SHIFT) - 1);
    uint64_t fraction = u->last_magic * (u->last_start[line >> REGION_SHIFT] + low);
    uint64_t place = (uint64_t)((unsigned __int128)fraction * u->last_sets >> 64);
    return u->last + place * STRIDE_16;
}

/* What a line will need that the first level has not. It will most likely drive the least recent
 * one of its set in the middle into the last level. */
static inline __attribute__((always_inline)) uint32_t *
usual_look_ahead(const struct usual *u, uint32_t line, uint32_t stride_middle)
{
    const uint32_t *set = u->middle + (size_t)(line & u->middle_mask) * stride_middle;
    uint32_t gone = set[u->middle_ways - 1];
    uint32_t *home = usual_home(u, line);
    __builtin_prefetch(home);
    if (u->direct || gone != EMPTY) /* with a mask, fetching the set of no line does no harm */
        __builtin_prefetch(usual_home(u, gone >> STATE_BITS));
    return home;
}

/* Take steps in the first level, up to a non-temporal store or a region not seen lately, but the
 * first one in any case. Returns how many. */
static inline __attribute__((always_inline)) uint32_t
usual_first(struct rl_cache *c, const struct usual *u, const struct rl_cache_step step[],
            uint32_t n, uint32_t stride, uint32_t stride_middle, struct usual_miss miss[],
            uint32_t *ret_n)
{
    uint32_t n_misses = 0;
    uint32_t line = number_of(c, step[0].line);
    uint64_t region = step[0].line >> REGION_SHIFT;
    uint32_t first_line = line >> REGION_SHIFT << REGION_SHIFT; /* of the region */
    uint32_t i = 0;
    for (;;) {
        uint32_t *set = u->first + (size_t)(line & u->first_mask) * stride;
        uint32_t state = step[i].kind != RL_CACHE_LOAD || step[i].store_flow ? STORED : 0;
        uint32_t gone;
        if (!set_enter(set, u->first_ways, stride, line, state, &gone)) {
            uint32_t *home = usual_look_ahead(u, line, stride_middle);
            miss[n_misses++] = (struct usual_miss){step[i].flow, home, line, gone,
                                                   (enum rl_cache_kind)step[i].kind};
        }
        if (++i == n || step[i].kind == RL_CACHE_NT_STORE)
            break;
        if (step[i].line >> REGION_SHIFT != region) {
            if (!number_known(c, step[i].line, &line))
                break;
            region = step[i].line >> REGION_SHIFT;
            first_line = line >> REGION_SHIFT << REGION_SHIFT;
        }
        line = first_line | (uint32_t)(step[i].line & ((1u << REGION_SHIFT) - 1));
    }
    *ret_n = n_misses;
    return i;
}

/* An entry leaves the middle for the last level. */
static inline __attribute__((always_inline)) void usual_cast_out(const struct usual *u,
                                                                 uint32_t entry,
                                                                 struct rl_cache_flow *flow,
                                                                 struct rl_cache_flow *flow_last)
{
    if (entry & WRITTEN)
        flow->writebacks++;
    else
        flow->castouts++;
    uint32_t *home = usual_home(u, entry >> STATE_BITS);
    uint32_t gone;
    if (!set_enter(home, u->last_ways, STRIDE_16, entry >> STATE_BITS, entry & DIRTY, &gone) &&
        gone != EMPTY && gone & DIRTY)
        flow_last->writebacks++;
}

/* A miss of the first level through the other two, and what it drove out after it. */
static inline __attribute__((always_inline)) void usual_fetch(const struct rl_cache *c,
                                                              const struct usual *u,
                                                              const struct usual_miss *m,
                                                              uint32_t stride_middle)
{
    struct rl_cache_flow *flow = m->flow;
    struct rl_cache_flow *flow_middle = &flow[c->level[1].first_flow];
    struct rl_cache_flow *flow_last = &flow[c->level[2].first_flow];
    count_fill(flow, m->kind);
    uint32_t *set = u->middle + (size_t)(m->line & u->middle_mask) * stride_middle;
    if (!set_touch(set, stride_middle, m->line, 0)) {
        count_fill(flow_middle, m->kind);
        uint32_t dirty = 0;
        if (!set_take(m->home, u->last_ways, STRIDE_16, m->line, &dirty))
            count_fill(flow_last, m->kind);
        uint32_t gone =
            set_insert(set, u->middle_ways, stride_middle, m->line << STATE_BITS | dirty);
        if (gone != EMPTY)
            usual_cast_out(u, gone, flow_middle, flow_last);
    }
    if (m->gone == EMPTY || !(m->gone & DIRTY))
        return;
    flow->writebacks++;
    set = u->middle + (size_t)(m->gone >> STATE_BITS & u->middle_mask) * stride_middle;
    uint32_t gone;
    if (!set_enter(set, u->middle_ways, stride_middle, m->gone >> STATE_BITS, STORED, &gone) &&
        gone != EMPTY)
        usual_cast_out(u, gone, flow_middle, flow_last);
}

static inline __attribute__((always_inline)) uint32_t usual_all(struct rl_cache *c,
                                                                const struct rl_cache_step step[],
                                                                uint32_t n, uint32_t stride,
                                                                uint32_t stride_middle, bool direct)
{
    struct usual_miss miss[AHEAD];
    const struct usual u = usual_of(c, direct);
    uint32_t n_misses;
    n = usual_first(c, &u, step, n, stride, stride_middle, miss, &n_misses);
    for (uint32_t i = 0; i < n_misses; i++)
        usual_fetch(c, &u, &miss[i], stride_middle);
    return n;
}

static inline __attribute__((always_inline)) uint32_t
usual_strides(struct rl_cache *c, const struct rl_cache_step step[], uint32_t n, bool direct)
{
    if (c->level[0].stride == STRIDE_8)
        return c->level[1].stride == STRIDE_8 ? usual_all(c, step, n, STRIDE_8, STRIDE_8, direct)
                                              : usual_all(c, step, n, STRIDE_8, STRIDE_16, direct);
    return c->level[1].stride == STRIDE_8 ? usual_all(c, step, n, STRIDE_16, STRIDE_8, direct)
                                          : usual_all(c, step, n, STRIDE_16, STRIDE_16, direct);
}

/* At most AHEAD steps. Returns how many were taken. */
static uint32_t run_usual(struct rl_cache *c, const struct rl_cache_step step[], uint32_t n)
{
    return c->level[2].direct ? usual_strides(c, step, n, true) : usual_strides(c, step, n, false);
}

#endif
