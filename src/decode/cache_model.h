/* A model of the data caches: which lines an access moves, between which levels, and on whose
 * account.
 *
 * It turns a stream of (core, address, size, kind) into lines moved across each boundary of the
 * hierarchy: boundary k lies between level k and the next one outward, the last one being memory.
 * Geometry is data: any number of sets and up to 32 ways a level, private or shared, non-inclusive,
 * inclusive or victim. It knows no instructions, no functions and no time; those who feed it say
 * which account each access belongs to. It models no prefetcher, no TLB and no physical addresses.
 *
 * The rules, all of which a naive reference in the tests repeats access by access:
 *  - True LRU; write-allocate; write-back. A line is 64 bytes. Every use, including a write-back
 *    arriving from the level before, makes a line the most recent of its set.
 *  - A miss looks outward level by level. The outermost level that allocates does so first; each
 *    level inserts the new line, then sends its victim outward if dirty (or, when the next level is
 *    a victim cache, in any case). A write-back that finds no copy allocates one without reading.
 *  - Inclusive level: a line that leaves it also leaves every level nearer to the core; a dirty
 *    copy found there moves outward with it.
 *  - Victim level: filled only by what the level before evicts; a hit moves the line inward, dirty
 *    state included, but for a load of a line that another core holds: then it stays.
 *  - A dirty line that moves outward is a write-back, but not into a victim level if nothing has
 *    been written to it since a victim level handed it inward, by a store or a write-back arriving
 *    from the level before: then, though it still has to reach memory, it is cast out like a clean
 *    one. What loads drive out to make room is thus no write. Where two copies meet, one that was
 *    written is enough.
 *  - Private levels are coherent. A miss in all of a core's private levels asks the other cores: a
 *    dirty copy is first written back to the first shared level, and a store drops every other
 *    copy. If another core holds the line and the first shared level does not, that core supplies
 *    it, and nothing is read from further outward. A store to a clean line drops other copies.
 *    Without a shared level such lines pass through memory.
 *  - A non-temporal store drops the line everywhere, dirty copies moving to memory first, and sends
 *    its own bytes straight to memory.
 * Called by count/traffic. */
#ifndef RL_DECODE_CACHE_MODEL_H
#define RL_DECODE_CACHE_MODEL_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RL_CACHE_LINE_BYTES = 64,
    RL_CACHE_LEVELS_MAX = 4,
    RL_CACHE_WAYS_MAX = 32,
    RL_CACHE_SETS_MAX = 1 << 24,
    RL_CACHE_CORES_MAX = 4096,
    RL_CACHE_GROUPS_MAX = 64,
};

enum rl_cache_policy {
    RL_CACHE_NON_INCLUSIVE, /**< filled on the way in; leaves without disturbing inner levels */
    RL_CACHE_INCLUSIVE,     /**< holds whatever the inner levels hold */
    RL_CACHE_VICTIM,        /**< filled by evictions of the level before; a hit moves the line in */
};

struct rl_cache_level {
    uint32_t sets; /**< >= 1, a power of two or not */
    uint32_t ways; /**< 1 .. RL_CACHE_WAYS_MAX */
    bool shared;   /**< one for all cores; every level after a shared one is shared too */
    enum rl_cache_policy policy; /**< towards inner levels; the first level is NON_INCLUSIVE */
};

/** Levels from the core outward: level[0] is L1. */
struct rl_cache_geometry {
    uint32_t n_levels; /**< 1 .. RL_CACHE_LEVELS_MAX */
    struct rl_cache_level level[RL_CACHE_LEVELS_MAX];
};

enum rl_cache_kind {
    RL_CACHE_LOAD,
    RL_CACHE_STORE,    /**< a miss is counted as a write-allocate */
    RL_CACHE_UPDATE,   /**< load and store of the same bytes; a miss is counted as a read */
    RL_CACHE_NT_STORE, /**< bypasses the caches */
};

/** What crossed one boundary. Lines of 64 bytes, except nt_bytes. */
struct rl_cache_flow {
    uint64_t reads;      /**< inward, caused by loads */
    uint64_t allocates;  /**< inward, caused by stores */
    uint64_t writebacks; /**< outward, written */
    uint64_t castouts;   /**< outward, into a victim level, not written since one handed it in */
    uint64_t nt_bytes;   /**< outward, non-temporal stores; only at the last boundary */
};

/** Bytes that loads and stores had moved across, both directions together. What was cast out to
 * make room in a victim level is not among them, as it is not in a measured bandwidth, which counts
 * what its loads and stores ask for. */
static inline uint64_t rl_cache_flow_bytes(const struct rl_cache_flow *flow)
{
    return RL_CACHE_LINE_BYTES * (flow->reads + flow->allocates + flow->writebacks) +
           flow->nt_bytes;
}

/** Group of a set that is not simulated: accesses to it stop there and are not counted further. */
#define RL_CACHE_OUT 0xff

/** All cores, where a core is asked for. */
#define RL_CACHE_ALL UINT32_MAX

/** One hierarchy with its contents. Not thread-safe; several instances are independent. */
struct rl_cache;

/** RL_OK if a model of this geometry can be made; RL_EINVAL naming the level otherwise. */
enum rl_status rl_cache_check(const struct rl_cache_geometry *geometry, struct rl_error *err);

/**
 * An empty hierarchy of one core, every set simulated as group 0.
 *
 * @param geometry   borrowed for the call.
 * @param n_groups   1 .. RL_CACHE_GROUPS_MAX: how many accounts a boundary has (see
 * rl_cache_access).
 * @param ret_cache  the caller's, freed by rl_cache_free; written on RL_OK only.
 * @return RL_OK; RL_EINVAL for a geometry that rl_cache_check refuses; RL_ENOMEM.
 */
enum rl_status rl_cache_new(const struct rl_cache_geometry *geometry, const uint32_t n_groups[],
                            struct rl_cache **ret_cache, struct rl_error *err);

/** NULL is fine. */
void rl_cache_free(struct rl_cache *cache);

/** Allow or forbid wide vectors, which change nothing but speed; allowed at first.
 * @return whether they are used: this processor has them. */
bool rl_cache_use_vectors(struct rl_cache *cache, bool allowed);

/**
 * Make cores 0 .. n_cores-1 exist, each with empty private levels; never removes any. New cores
 * simulate what core 0 simulates.
 * @return RL_OK; RL_EINVAL above RL_CACHE_CORES_MAX; RL_ENOMEM, after which fewer may exist.
 */
enum rl_status rl_cache_reserve_cores(struct rl_cache *cache, uint32_t n_cores,
                                      struct rl_error *err);

/**
 * Say which sets of a level are simulated, and in which group each is counted.
 *
 * The model is exact for the lines kept if a line simulated at one level is simulated at every
 * level nearer to the core. Sets that leave keep their contents, and resume with them when they
 * return.
 *
 * @param level  0 .. n_levels-1.
 * @param core   one core, or RL_CACHE_ALL; ignored for shared levels.
 * @param group  [sets of that level] each a group below n_groups[level], or RL_CACHE_OUT; copied.
 * @return RL_OK; RL_EINVAL for a level, core or group that does not exist; RL_ENOMEM.
 */
enum rl_status rl_cache_choose_sets(struct rl_cache *cache, uint32_t level, uint32_t core,
                                    const uint8_t group[], struct rl_error *err);

/** Change one set's group after rl_cache_choose_sets; the arguments must be valid. O(1). */
void rl_cache_choose_set(struct rl_cache *cache, uint32_t level, uint32_t core, uint32_t set,
                         uint8_t group);

/**
 * One access, split into lines where it spans several.
 *
 * @param core  below the number reserved.
 * @param size  bytes; 0 touches nothing. The range wraps around the end of the address space.
 * @param flow  the account: groups of the first boundary, then those of the next, and so on;
 *              flow[sum of n_groups of the levels before k + g] is boundary k for lines whose set
 * at level k is in group g. Incremented.
 */
void rl_cache_access(struct rl_cache *cache, uint32_t core, uint64_t address, uint64_t size,
                     enum rl_cache_kind kind, struct rl_cache_flow *flow);

/** An access to one line, and perhaps a store to it that follows directly. */
struct rl_cache_step {
    uint64_t line;                    /**< address / RL_CACHE_LINE_BYTES */
    struct rl_cache_flow *flow;       /**< the account, as in rl_cache_access */
    struct rl_cache_flow *store_flow; /**< that of the store; NULL: there is none */
    uint8_t kind;                     /**< enum rl_cache_kind; non-temporal: without a store */
    uint8_t bytes;                    /**< of the access: 1 .. RL_CACHE_LINE_BYTES */
};

/** The accesses of n steps of one core, in turn: what rl_cache_access does, for a fraction of the
 * time if n is some dozens. */
void rl_cache_run(struct rl_cache *cache, uint32_t core, const struct rl_cache_step step[],
                  uint32_t n);

/** Write back every dirty line and empty the caches, on the account of `flow` (as in
 * rl_cache_access): what a program leaves behind when it ends. */
void rl_cache_flush(struct rl_cache *cache, struct rl_cache_flow *flow);

/**
 * How often the contents had to be dropped because more than 64 GiB of address space (in pieces of
 * 16 MiB) was touched. 0 in any ordinary run; otherwise counts after that are approximate.
 */
uint64_t rl_cache_forgotten(const struct rl_cache *cache);

#endif
