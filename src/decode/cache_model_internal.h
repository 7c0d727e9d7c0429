/* What a cache model holds. Private to it.
 *
 * Line numbers fit the 30 bits of a set's entries because the address space that a program touches
 * is numbered in regions of 16 MiB as they appear; a region keeps the low bits of the address, so
 * set indices are unaffected. Coherence keeps, per line, the one core that may hold it or
 * "several", so that most misses need not look at other cores. */
#ifndef RL_DECODE_CACHE_MODEL_INTERNAL_H
#define RL_DECODE_CACHE_MODEL_INTERNAL_H

#include "decode/cache_model.h"

enum {
    LINE_SHIFT = 6,
    REGION_SHIFT = 18,           /* lines in a region, log2 */
    REGIONS_MAX = (1 << 12) - 1, /* the last number would collide with EMPTY */
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
    uint32_t stride;      /* entries from one set to the next; those past `ways` stay EMPTY */
    uint32_t mask;        /* sets - 1 if a power of two within a region, else 0 */
    uint64_t magic;       /* 2^64 / sets, rounded up: remainder by multiplication */
    uint32_t direct;      /* the mask likewise, if sets are stored in their order */
    uint32_t per_slice;   /* sets / INTERLEAVE, or 0 where that is not whole, or there is no need */
    uint32_t slice_shift; /* its logarithm, where it has one and there is a mask; else 0 */
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

struct cache_walk;

struct rl_cache {
    const struct cache_walk *walk;
    uint32_t n_levels;
    uint32_t n_private;  /* levels before the first shared one */
    uint32_t victim;     /* the last level if it, alone, is a victim level; 0: none is, or others */
    bool first_is_alone; /* what the first level holds does not depend on the others of its core */
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

/** Going through the contents; one set of functions an instruction set, alike in what they do. */
struct cache_walk {
    void (*run)(struct rl_cache *cache, uint32_t core, const struct rl_cache_step step[],
                uint32_t n);
    void (*flush)(struct rl_cache *cache, struct rl_cache_flow *flow);
    /** From the second core on owners are kept; enter what the first one holds by then. */
    void (*enter_owners)(struct rl_cache *cache);
};

extern const struct cache_walk rl_cache_walk_plain;
#ifdef __x86_64__
extern const struct cache_walk rl_cache_walk_avx2;
extern const struct cache_walk rl_cache_walk_avx512;
#endif

/* Where a set is stored. Sampling, for which sets are counted in several groups, keeps sets that
 * agree modulo the first level's number of sets; storing those side by side keeps a sample dense in
 * the host's own caches. Where all are kept, their own order is better: lines next to each other
 * would else be at places a power of two apart, which share few sets of the host's caches. */
static inline uint32_t place_of(const struct level *level, uint32_t set)
{
    if (!level->per_slice)
        return set;
    return (set % INTERLEAVE) * level->per_slice + set / INTERLEAVE;
}

#endif
