/* Choosing what to translate together: a superblock begins at a program address and follows the
 * path most likely taken, through direct jumps and small calls, until something it cannot follow.
 * The caller holds the engine's lock; one superblock exists at a time. */
#ifndef RL_COUNT_ENGINE_SUPERBLOCK_H
#define RL_COUNT_ENGINE_SUPERBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/instrument.h"
#include "count/engine/maps.h"

enum {
    RLE_SB_INSNS_MAX = 200,
    RLE_SB_BLOCKS_MAX = 64,
};

/** What becomes of an instruction. */
enum rle_role {
    RLE_ROLE_COPY,         /**< goes on behind itself */
    RLE_ROLE_EXIT,         /**< conditional branch out of the superblock, which goes on behind it */
    RLE_ROLE_FOLLOWED,     /**< jump whose target comes next: nothing is left of it */
    RLE_ROLE_INLINED_CALL, /**< its target comes next, the return address is still pushed */
    RLE_ROLE_INLINED_RETURN, /**< expected to return to `expected`, which comes next */
    RLE_ROLE_LAST,           /**< leaves the superblock, by its own kind */
};

struct rle_plan {
    struct rle_superblock sb; /**< its arrays are the ones below */
    struct rle_insn insns[RLE_SB_INSNS_MAX];
    struct rle_point points[RLE_SB_INSNS_MAX];
    struct rle_superblock_block blocks[RLE_SB_BLOCKS_MAX];
    uint8_t role[RLE_SB_INSNS_MAX];
    uint64_t expected[RLE_SB_INSNS_MAX]; /**< RLE_ROLE_INLINED_RETURN */
    uint64_t pc;
    uint64_t
        next; /**< where it goes on behind the last instruction; 0: that one leaves by itself */
    uint32_t
        mark; /**< the last instruction begins or ends a region (region/mark.h); 0: it does not */
    bool writable; /**< the source may change at any time without notice */
};

/**
 * Plan the superblock at `pc`.
 *
 * @param max_blocks   1 .. RLE_SB_BLOCKS_MAX.
 * @param loops_apart  end it in front of a loop of one block that is not at its head.
 * @param plan         filled; n_insns is 0 if there is nothing executable at `pc`.
 */
void rle_plan_superblock(uint64_t pc, unsigned max_blocks, bool loops_apart, struct rle_plan *plan);

/** What is dead when control arrives at program address `pc`, by looking ahead a little. */
struct rle_point rle_dead_at(uint64_t pc);

/** popf or popfq: the last of its superblock. */
bool rle_pops_flags(const struct rle_insn *insn);

#endif
