/* Which registers and flags hold nothing the program still needs, between the instructions of a
 * straight run, and where a counter goes best.
 *
 * Nothing is assumed about calling conventions. Where control leaves the run everything counts as
 * needed, unless the caller knows better (rle_live_at). Used by dispatch and instrumentation. */
#ifndef RL_COUNT_ENGINE_LIVENESS_H
#define RL_COUNT_ENGINE_LIVENESS_H

#include "count/engine/decode.h"

/** What a program may still need in front of an instruction; bits as in decode.h. */
struct rle_point {
    uint16_t dead_regs;  /**< registers written before they are read again, on every path; never
                              rsp */
    uint16_t dead_flags; /**< arithmetic flags likewise */
};

/** Values that are needed at some place; the complement of a point. */
struct rle_live {
    uint16_t regs;
    uint16_t flags;
};

/** Everything. */
#define RLE_LIVE_ALL ((struct rle_live){0xFFFF, RLE_ARITH_FLAGS | RLE_DF})

/** What the places outside a run need. */
struct rle_live_outside {
    struct rle_live end; /**< behind its last instruction */
    /** [n] needed at the other target of jcc, loop and xbegin, and where an inlined ret does not
     * return as expected; entries of other instructions are not read. NULL: everything. */
    const struct rle_live *side;
    /** Needed by a signal handler that may resume elsewhere after an instruction faulted (memory,
     * divide). Java and Go turn faults into exceptions and then read registers that were dead on
     * the normal path, so registers belong here; nothing is known to read flags. Stack slots near
     * rsp are taken not to fault. */
    struct rle_live fault;
};

/** All needed everywhere, but no flags by fault handlers. */
#define RLE_LIVE_OUTSIDE_DEFAULT                                                                   \
    ((struct rle_live_outside){.end = RLE_LIVE_ALL, .fault = {.regs = 0xFFFF}})

/**
 * Dead registers and flags in front of every instruction of a run.
 *
 * A run is executed from top to bottom: behind a direct jmp or call in its middle comes the target,
 * behind a ret the place its call was expected to return to. Other transfers of control (indirect
 * branches, system calls, interrupts, whatever is not RLE_OK) need everything.
 *
 * @param insns    [n] as decoded.
 * @param outside  see there.
 * @param points   [n] written.
 */
void rle_liveness(const struct rle_insn *insns, unsigned n, const struct rle_live_outside *outside,
                  struct rle_point *points);

/** Code that may be read: `size` bytes of the program from address `pc` stand at `bytes`. */
struct rle_code {
    const uint8_t *bytes;
    uint64_t pc;
    uint64_t size;
};

/**
 * What the code at an address needs, by looking ahead: at most `budget` instructions, followed
 * through direct jumps and both ways of conditional ones. Where the budget or the code ends, all
 * that is not decided is needed. The answer is as stable as the code read for it.
 *
 * @param code    readable bytes; branches leading out of them end the search.
 * @param budget  instructions to decode; 8 decide most flags.
 */
struct rle_live rle_live_at(const struct rle_code *code, uint64_t pc, unsigned budget);

/** Flags that `inc` changes: all but CF. */
#define RLE_INC_FLAGS (RLE_ARITH_FLAGS & ~RLE_CF)

enum rle_place_how {
    RLE_PLACE_INC,   /**< the flags that inc changes are dead */
    RLE_PLACE_REG,   /**< `reg` is dead: load, lea, store */
    RLE_PLACE_SPILL, /**< neither: save a register around it */
};

struct rle_place {
    uint16_t at; /**< in front of this instruction */
    uint8_t how; /**< enum rle_place_how */
    uint8_t reg; /**< for RLE_PLACE_REG */
};

/**
 * The best place for counting one execution of instructions first .. end-1, which must all execute
 * equally often: the first one where inc will do, else the first with a dead register, else first.
 *
 * @param points  as from rle_liveness.
 * @param avoid   registers not to take, dead or not.
 */
struct rle_place rle_place_counter(const struct rle_point *points, unsigned first, unsigned end,
                                   uint16_t avoid);

#endif
