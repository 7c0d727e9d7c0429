/* Between the chapters that emit tracing code: trace_emit.c and trace_calls.c. */
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
