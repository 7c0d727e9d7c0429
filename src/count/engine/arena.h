/* Memory for translated code, within reach of the code it was translated from, so that RIP-relative
 * operands only need another displacement. An arena has a hot part and a cold part, filled upwards,
 * and constants that grow down from the cold part's end. The caller holds the engine's lock. */
#ifndef RL_COUNT_ENGINE_ARENA_H
#define RL_COUNT_ENGINE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/emit.h"

/** Room that rle_arena_near guarantees in each part: more than the largest superblock takes. */
#define RLE_ARENA_ROOM (256ul << 10)

struct rle_arena_entry {
    uint32_t offset;   /**< of the fragment's first byte from the arena's start */
    uint32_t fragment; /**< index in the fragment table */
};

struct rle_arena {
    uint64_t start; /**< where it runs */
    uint64_t end;
    int64_t to_exec; /**< run address - write address */
    struct rle_emit emit;
    uint8_t *hot_end;                /**< write address */
    struct rle_arena_entry *entries; /**< fragments by ascending offset */
    uint32_t n_entries;
};

/** An arena in reach of `pc` with room for a superblock; NULL if the kernel grants no memory for
 * it, or none that is executable. */
struct rle_arena *rle_arena_near(uint64_t pc);

/** Can code translated from `pc` have an operand at `address`? */
bool rle_arena_reaches(uint64_t pc, uint64_t address);

/** The arena that holds cache address `at`; NULL if none. Needs no lock. */
struct rle_arena *rle_arena_of(uint64_t at);

/** Does any arena lie in part within [low, high)? Needs no lock. */
bool rle_arenas_overlap(uint64_t low, uint64_t high);

/** Note that fragment `fragment` begins at the hot cursor. */
void rle_arena_add(struct rle_arena *arena, uint32_t fragment);

/** The fragment whose code may hold `at`: the last one that begins at or before it; RLE_NONE if
 * none does. Needs no lock. */
uint32_t rle_arena_fragment(const struct rle_arena *arena, uint64_t at);

/** Write address of cache address `at`, which must lie in an arena. */
uint8_t *rle_arena_writable(uint64_t at);

/** Around a fork, in the parent. Where code is mapped twice its memory is the child's too at first,
 * and may not change until the child has a copy. To a child that takes long, being stopped perhaps,
 * it is left. */
void rle_arenas_before_fork(void);
void rle_arenas_await_child(void);
/** In the child: it has one, or goes on without. */
void rle_arenas_tell_parent(void);

/** Arenas whose memory is shared with the other side of a fork get memory of their own.
 * @return false if there is none: then a child must not enter the cache. */
bool rle_arenas_make_private(void);

#endif
