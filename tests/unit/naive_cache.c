#include "naive_cache.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS = NAIVE_GROUPS };

/* What is told of a line's content. Times are of the clock; 0 is never. */
struct content {
    bool dirty;      /* has to reach memory */
    uint64_t wrote;  /* when it was last written, by a store or from the level before */
    uint64_t handed; /* when a victim level last handed it inward */
};

struct naive_copy {
    uint64_t line;
    uint64_t used; /* 0: empty */
    struct content is;
};

void naive_init(struct naive *n, const struct rl_cache_geometry *geometry, uint32_t n_cores)
{
    memset(n, 0, sizeof *n);
    n->geometry = *geometry;
    n->n_cores = n_cores;
    for (uint32_t core = 0; core < NAIVE_CORES; core++)
        for (uint32_t k = 0; k < geometry->n_levels; k++)
            n->copies[core][k] = calloc((size_t)geometry->level[k].sets * geometry->level[k].ways,
                                        sizeof(struct naive_copy));
}

void naive_release(struct naive *n)
{
    for (uint32_t core = 0; core < NAIVE_CORES; core++)
        for (uint32_t k = 0; k < n->geometry.n_levels; k++)
            free(n->copies[core][k]);
}

static struct naive_copy *naive_set(struct naive *n, uint32_t core, uint32_t k, uint64_t line)
{
    const struct rl_cache_level *level = &n->geometry.level[k];
    return n->copies[level->shared ? 0 : core][k] + (line % level->sets) * level->ways;
}

static struct naive_copy *naive_find(struct naive *n, uint32_t core, uint32_t k, uint64_t line)
{
    struct naive_copy *set = naive_set(n, core, k, line);
    for (uint32_t way = 0; way < n->geometry.level[k].ways; way++)
        if (set[way].used && set[way].line == line)
            return &set[way];
    return NULL;
}

static uint8_t naive_group(const struct naive *n, uint32_t k, uint64_t line)
{
    return n->group[k][line % n->geometry.level[k].sets];
}

static struct rl_cache_flow *naive_flow(struct naive *n, uint32_t k, uint64_t line)
{
    static struct rl_cache_flow nowhere;
    uint8_t group = naive_group(n, k, line);
    return group == RL_CACHE_OUT ? &nowhere : &n->flow[k * GROUPS + group];
}

static uint32_t naive_privates(const struct naive *n)
{
    uint32_t k = 0;
    while (k < n->geometry.n_levels && !n->geometry.level[k].shared)
        k++;
    return k;
}

static void naive_arrive(struct naive *n, uint32_t core, uint32_t k, uint64_t line,
                         struct content content);

static bool naive_is_written(struct content is)
{
    return is.dirty && is.wrote > is.handed;
}

/* Two copies of a line become one, written if one of them was. */
static struct content naive_merge(struct content a, struct content b)
{
    if (naive_is_written(a) || !b.dirty)
        return a;
    return naive_is_written(b) || !a.dirty ? b : a;
}

static bool naive_is_victim(const struct naive *n, uint32_t k)
{
    return k < n->geometry.n_levels && n->geometry.level[k].policy == RL_CACHE_VICTIM;
}

/* A dirty line goes from level k to the next one outward: as what it is counted, and what it is
 * there, where it is written unless a victim level keeps it. */
static struct content naive_cross(struct naive *n, uint32_t k, uint64_t line, struct content is)
{
    if (naive_is_victim(n, k + 1) && !naive_is_written(is))
        naive_flow(n, k, line)->castouts++;
    else
        naive_flow(n, k, line)->writebacks++;
    if (!naive_is_victim(n, k + 1))
        is.wrote = ++n->clock;
    return is;
}

/* Remove a line from levels first .. end-1 of one core; what came out of them. */
static struct content naive_remove(struct naive *n, uint32_t core, uint32_t first, uint32_t end,
                                   uint64_t line, struct content out)
{
    for (uint32_t k = first; k < end; k++) {
        struct naive_copy *copy = naive_find(n, core, k, line);
        if (copy) {
            out = naive_merge(out, copy->is);
            copy->used = 0;
        }
        if (out.dirty)
            out = naive_cross(n, k, line, out);
    }
    return out;
}

/* Remove a line from the private levels of every core. */
static struct content naive_remove_private(struct naive *n, uint64_t line)
{
    const struct content nothing = {0};
    struct content out = {0};
    for (uint32_t core = 0; core < n->n_cores; core++)
        out = naive_merge(out, naive_remove(n, core, 0, naive_privates(n), line, nothing));
    return out;
}

static void naive_leave(struct naive *n, uint32_t core, uint32_t k, struct naive_copy gone)
{
    uint32_t privates = naive_privates(n);
    struct content is = gone.is;
    if (n->geometry.level[k].policy == RL_CACHE_INCLUSIVE) {
        struct content inner = {0};
        if (k < privates)
            inner = naive_remove(n, core, 0, k, gone.line, inner);
        else
            inner =
                naive_remove(n, core, privates, k, gone.line, naive_remove_private(n, gone.line));
        is = naive_merge(is, inner);
    }
    if (is.dirty)
        is = naive_cross(n, k, gone.line, is);
    else if (naive_is_victim(n, k + 1))
        naive_flow(n, k, gone.line)->castouts++;
    if (k + 1 < n->geometry.n_levels && (is.dirty || naive_is_victim(n, k + 1)))
        naive_arrive(n, core, k + 1, gone.line, is);
}

static void naive_insert(struct naive *n, uint32_t core, uint32_t k, uint64_t line,
                         struct content is)
{
    struct naive_copy *set = naive_set(n, core, k, line);
    struct naive_copy *oldest = set;
    for (uint32_t way = 1; way < n->geometry.level[k].ways; way++)
        if (set[way].used < oldest->used)
            oldest = &set[way];
    struct naive_copy gone = *oldest;
    *oldest = (struct naive_copy){line, ++n->clock, is};
    if (gone.used)
        naive_leave(n, core, k, gone);
}

static void naive_arrive(struct naive *n, uint32_t core, uint32_t k, uint64_t line,
                         struct content is)
{
    if (naive_group(n, k, line) == RL_CACHE_OUT)
        return;
    struct naive_copy *copy = naive_find(n, core, k, line);
    if (copy) {
        copy->is = naive_merge(copy->is, is);
        copy->used = ++n->clock;
    } else {
        naive_insert(n, core, k, line, is);
    }
}

/* Ask the other cores: clean or drop their copies; whether any had one. */
static bool naive_ask(struct naive *n, uint32_t core, uint64_t line, bool store)
{
    uint32_t privates = naive_privates(n);
    bool held = false;
    for (uint32_t other = 0; other < n->n_cores; other++) {
        struct content out = {0};
        for (uint32_t k = 0; other != core && k < privates; k++) {
            struct naive_copy *copy = naive_find(n, other, k, line);
            if (copy) {
                held = true;
                out = naive_merge(out, copy->is);
                copy->is = (struct content){0};
                copy->used = store ? 0 : copy->used;
            }
            if (out.dirty)
                out = naive_cross(n, k, line, out);
        }
        if (out.dirty && privates < n->geometry.n_levels)
            naive_arrive(n, other, privates, line, out);
    }
    return held;
}

/* Bring a line in; what the innermost level that gets it is told of it. */
static struct content naive_fetch(struct naive *n, uint32_t core, uint32_t k, uint64_t line,
                                  enum rl_cache_kind kind)
{
    struct content is = {0};
    bool out = k == n->geometry.n_levels || naive_group(n, k, line) == RL_CACHE_OUT;
    bool leaving = k == naive_privates(n) || (k < naive_privates(n) && out);
    bool supplied = leaving && naive_ask(n, core, line, kind != RL_CACHE_LOAD);
    if (out)
        return is;
    struct naive_copy *copy = naive_find(n, core, k, line);
    if (copy && naive_is_victim(n, k) && !(supplied && kind == RL_CACHE_LOAD)) {
        copy->used = 0;
        copy->is.handed = ++n->clock;
        return copy->is;
    }
    if (copy) {
        copy->used = ++n->clock;
        return is;
    }
    if (!supplied) {
        struct rl_cache_flow *flow = naive_flow(n, k, line);
        flow->reads += kind != RL_CACHE_STORE;
        flow->allocates += kind == RL_CACHE_STORE;
        is = naive_fetch(n, core, k + 1, line, kind);
    }
    if (naive_is_victim(n, k))
        return is;
    naive_insert(n, core, k, line, is);
    return (struct content){0};
}

static void naive_nt_store(struct naive *n, uint32_t core, uint64_t line, uint64_t bytes)
{
    uint32_t last = n->geometry.n_levels - 1;
    naive_remove(n, core, naive_privates(n), last + 1, line, naive_remove_private(n, line));
    naive_flow(n, last, line)->nt_bytes += bytes;
}

static void naive_touch(struct naive *n, uint32_t core, uint64_t line, uint64_t bytes,
                        enum rl_cache_kind kind)
{
    if (naive_group(n, 0, line) == RL_CACHE_OUT)
        return;
    if (kind == RL_CACHE_NT_STORE) {
        naive_nt_store(n, core, line, bytes);
        return;
    }
    bool store = kind != RL_CACHE_LOAD;
    struct naive_copy *copy = naive_find(n, core, 0, line);
    if (copy) {
        copy->used = ++n->clock;
        if (store && !copy->is.dirty && naive_privates(n) > 0)
            naive_ask(n, core, line, true);
        copy->is.dirty |= store;
        copy->is.wrote = store ? ++n->clock : copy->is.wrote;
        return;
    }
    struct rl_cache_flow *flow = naive_flow(n, 0, line);
    flow->reads += kind != RL_CACHE_STORE;
    flow->allocates += kind == RL_CACHE_STORE;
    struct content is = naive_fetch(n, core, 1, line, kind);
    is.dirty |= store;
    is.wrote = store ? ++n->clock : is.wrote;
    naive_insert(n, core, 0, line, is);
    if (store && naive_privates(n) > 0)
        naive_ask(n, core, line, true);
}

void naive_access(struct naive *n, uint32_t core, uint64_t address, uint64_t size,
                  enum rl_cache_kind kind)
{
    for (uint64_t i = 0; i < size;) {
        uint64_t bytes = 64 - (address + i) % 64;
        if (bytes > size - i)
            bytes = size - i;
        naive_touch(n, core, (address + i) / 64, bytes, kind);
        i += bytes;
    }
}
