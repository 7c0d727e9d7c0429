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

/** staged[0] = request, staged[1] = argument. */
void rle_trace_stage(struct rle_emit *e, enum rle_trace_request request, uint64_t argument);

/** Call into the engine, with all records so far known to it. */
void rle_trace_call(struct rle_emit *e, const struct rle_superblock *sb);

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
