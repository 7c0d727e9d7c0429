/* The one place where further instrumentation enters translated code: a table of callbacks, chosen
 * by mode, that emit code at given points of a superblock while it is translated.
 *
 * A superblock is a straight run of instructions with side exits. At each point the callback is
 * told which registers and flags hold nothing the program still needs, and takes scratch registers
 * through rle_scratch_take, which spills where none is dead. What a callback emits must leave every
 * register (but dead and resident ones), every live flag, the direction flag, vector state and
 * memory of the program as they were, and must not touch the program's stack (not even below it).
 *
 * Up to two *resident* registers may be asked for: registers no instruction of the superblock
 * touches, kept by the instrumentation from entry to exit, loops included. The engine saves the
 * program's value at entry and restores it at every exit and in signal frames.
 *
 * Each thread has RLE_INSTRUMENT_BYTES of memory at displacement RLE_TB_INSTRUMENT of the thread
 * segment (see emit.h: RLE_SEG operands), zeroed when the thread slot is first used. */
#ifndef RL_COUNT_ENGINE_INSTRUMENT_H
#define RL_COUNT_ENGINE_INSTRUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/decode.h"
#include "count/engine/liveness.h"

struct rle_emit; /* emit.h */

#define RLE_RESIDENT_MAX 2

struct rle_superblock_block {
    uint16_t first;  /**< index of its first instruction */
    uint16_t count;  /**< instructions */
    uint32_t record; /**< index of its record in the result file's BLOCKS */
};

/** A superblock about to be emitted. Borrowed for the duration of a callback. */
struct rle_superblock {
    const struct rle_insn *insns;
    const struct rle_point *points; /**< [n_insns], before each instruction */
    const struct rle_superblock_block *blocks;
    uint32_t fragment; /**< index in the result file's FRAGMENTS */
    uint16_t n_insns;
    uint16_t n_blocks;
    bool loops;              /**< some branch of it goes back to its own head */
    uint16_t untouched_regs; /**< registers that no instruction reads or writes */
    uint16_t held_regs; /**< registers that keep values of the engine: not to be taken, even dead */
    uint8_t n_resident; /**< granted, at most what plan() asked for */
    uint8_t resident[RLE_RESIDENT_MAX];
};

struct rle_instrument {
    const char *name;
    /** Whether loops of one block are to be entered at once, and not after a first time round in
     * what comes before them. */
    bool loops_apart;
    /** Resident registers wished for, 0 .. RLE_RESIDENT_MAX; fewer may be granted. May be NULL. */
    unsigned (*plan)(const struct rle_superblock *sb);
    /** Entry from other code; not run when the superblock loops to its own head. May be NULL. */
    void (*enter)(struct rle_emit *e, const struct rle_superblock *sb);
    /** In front of instruction `i`, in the order of execution. On a loop's back edge the code
     * emitted for i == 0 runs again. May be NULL. */
    void (*before)(struct rle_emit *e, const struct rle_superblock *sb, unsigned i);
    /** In front of every exit, before resident registers are restored; scratch registers are not
     * available and no flag is dead. May be NULL. */
    void (*leave)(struct rle_emit *e, const struct rle_superblock *sb);
    /** A thread begins to use a slot. `area` is its RLE_INSTRUMENT_BYTES; what an earlier thread of
     * the slot left there is kept. Runs in the engine: no libc, general registers only. */
    void (*thread_begin)(void *area, uint32_t slot);
    /** The thread is about to end, or the process to exit or exec. */
    void (*thread_end)(void *area, uint32_t slot);
    /** In the child of a fork, for its only thread: drop what belongs to the parent. */
    void (*fork_child)(void *area, uint32_t slot);
    /** Whether what a thread does from now on is to be noted; called with the engine's lock held,
     * from whatever thread. May be NULL. */
    void (*select)(void *area, bool wanted);
    /** A thread is in this region (struct rle_result_extent) from now on, told under the same
     * conditions; perhaps before `thread_begin` or after `thread_end`. May be NULL. */
    void (*region)(void *area, uint32_t slot, uint32_t region);
    /** Emitted code called out (rle_emit_callout). */
    void (*callout)(void *area);
};

/** The table for a mode: rle_instrument_none has no callbacks. */
extern const struct rle_instrument rle_instrument_none;

#endif
