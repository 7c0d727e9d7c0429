/* A naive model of the data caches that follows the rules of decode/cache_model.h word by word: a
 * list of copies a set, ages by a clock, every core asked. What the real one must agree with. */
#ifndef RL_TEST_NAIVE_CACHE_H
#define RL_TEST_NAIVE_CACHE_H

#include "decode/cache_model.h"

enum { NAIVE_CORES = 5, NAIVE_SETS = 2048, NAIVE_GROUPS = 3 };

struct naive_copy;

struct naive {
    struct rl_cache_geometry geometry;
    uint32_t n_cores; /**< 1 .. NAIVE_CORES; may grow between accesses */
    uint64_t clock;
    struct naive_copy *copies[NAIVE_CORES][RL_CACHE_LEVELS_MAX]; /* shared levels: at core 0 */
    uint8_t group[RL_CACHE_LEVELS_MAX][NAIVE_SETS];              /**< or RL_CACHE_OUT */
    struct rl_cache_flow flow[RL_CACHE_LEVELS_MAX * NAIVE_GROUPS];
};

/** Empty caches, every set in group 0. */
void naive_init(struct naive *n, const struct rl_cache_geometry *geometry, uint32_t n_cores);

void naive_release(struct naive *n);

/** One access, which may span lines. */
void naive_access(struct naive *n, uint32_t core, uint64_t address, uint64_t size,
                  enum rl_cache_kind kind);

#endif
