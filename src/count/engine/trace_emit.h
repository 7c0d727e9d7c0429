/* Between the chapters that emit tracing code: trace_emit.c, trace_filter.c and trace_calls.c. */
#ifndef RL_COUNT_ENGINE_TRACE_EMIT_H
#define RL_COUNT_ENGINE_TRACE_EMIT_H

#include "count/engine/emit.h"
#include "count/engine/trace.h"

/** Displacement of a field of the slot's control area within the thread block. */
#define AREA(field)                                                                                \
    (RLE_TB_INSTRUMENT + (uint32_t) __builtin_offsetof(struct rle_trace_slot, field))

/** ModRM, SIB and displacement of gs:[index + disp], or of gs:[disp] if index is RLE_REG_NONE. */
void rle_trace_thread_operand(struct rle_emit *e, unsigned reg_field, unsigned index,
                              uint32_t disp);

/** mov dword [base + disp], value */
void rle_trace_store_imm(struct rle_emit *e, unsigned base, uint32_t disp, uint32_t value);

/** reg = address of the cluster's first byte; reg is none of its registers. */
void rle_trace_address(struct rle_emit *e, unsigned reg, const struct rle_trace_cluster *c);

static inline uint16_t rle_trace_bit(unsigned reg)
{
    return reg < 16 ? (uint16_t)(1u << reg) : 0;
}

/** The registers that a cluster's address is made of. */
static inline uint16_t rle_trace_registers(const struct rle_trace_cluster *c)
{
    return rle_trace_bit(c->base) | rle_trace_bit(c->index);
}

/** Is the address known at translation? */
static inline bool rle_trace_is_static(const struct rle_trace_cluster *c)
{
    return c->base == RLE_REG_NONE && c->index == RLE_REG_NONE && !c->thread_local_segment;
}

static inline bool rle_trace_flags_dead(const struct rle_superblock *sb, unsigned i)
{
    return (sb->points[i].dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS;
}

/** In front of instruction i: record the cluster if its line is wanted. t is a scratch register,
 * none of the cluster's, nor rcx. */
void rle_trace_emit_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                            const struct rle_trace_cluster *c, unsigned t);

/** The same where flags are free to change, for an address that is not static, by the table. */
void rle_trace_emit_looked_up(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t);

/** In front of a loop: what is to be done when a cluster that `steps` has reached a wanted line.
 * The loop's first resident register says how many times round it is until then. */
void rle_trace_emit_arrival(struct rle_emit *e, const struct rle_superblock *sb,
                            const struct rle_trace_plan *plan);

/** At the loop's head: has one? */
void rle_trace_emit_countdown(struct rle_emit *e, const struct rle_superblock *sb);

/** The same for full mode, where every line is wanted: t and s are scratch registers, none of the
 * cluster's, and flags are free to change. */
void rle_trace_emit_full(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                         unsigned s);

/** reg = where in the slot's `recent` and `soiled` the line of address t stands, in bytes. Changes
 * flags; reg may be t. */
void rle_trace_place(struct rle_emit *e, unsigned reg, unsigned t);

/** opcode reg, gs:[place + disp], 64-bit; disp being that of a table by such places. */
void rle_trace_at_place(struct rle_emit *e, unsigned opcode, unsigned reg, unsigned place,
                        uint32_t disp);

/** The line of address t is the one touched last at its place, and was written to if so. Changes t
 * (to the line's first byte), place and flags. */
void rle_trace_note(struct rle_emit *e, unsigned t, unsigned place, bool written);

/** Forget what was touched last where the lines of a cluster stand, whose first byte is at t.
 * Changes place and flags. */
void rle_trace_forget_cluster(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                              unsigned place);

/** A record of address t, by way of another register. Changes flags; returns the way taken when
 * there must be room made. */
rle_fixup rle_trace_write_record(struct rle_emit *e, unsigned t, unsigned reg, uint32_t site);

/** Where rle_trace_write_record leads: makes room, then goes to `back`. */
void rle_trace_make_room_at(struct rle_emit *e, rle_fixup full, uint64_t back);

/** staged[0] = request, staged[1] = argument. */
void rle_trace_stage(struct rle_emit *e, enum rle_trace_request request, uint64_t argument);

/** The block that holds instruction i. */
static inline const struct rle_superblock_block *rle_trace_block_of(const struct rle_superblock *sb,
                                                                    unsigned i)
{
    unsigned b = 0;
    while (b + 1 < sb->n_blocks && sb->blocks[b + 1].first <= i)
        b++;
    return &sb->blocks[b];
}

/** Another superblock begins. */
void rle_trace_begin_calls(void);

/** What instruction i touches that only a call can trace: repeated strings, gathers, scatters. */
void rle_trace_emit_calls(struct rle_emit *e, const struct rle_superblock *sb, unsigned i);

#endif
