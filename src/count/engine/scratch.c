#include "count/engine/emit.h"
#include "count/engine/sys.h"

/* Instructions that only flag saving needs. */
enum { OP_LAHF = 0x9F, OP_SAHF = 0x9E };
static const uint8_t seto_al[] = {0x0F, 0x90, 0xC0};
static const uint8_t add_al_127[] = {0x04, 0x7F}; /* overflows exactly if al is 1 */

enum { SCRATCH_SLOTS = 4, SLOT_BYTES = 8, REGISTERS = 16 };

static uint16_t bit(unsigned reg)
{
    return (uint16_t)(1u << reg);
}

/* The highest register of a set: low ones encode shorter, so leave them to others. */
static unsigned highest(uint16_t set)
{
    return REGISTERS - 1 - ((unsigned)__builtin_clz(set) - (32 - REGISTERS));
}

unsigned rle_scratch_take(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                          uint16_t avoid)
{
    uint16_t usable = (uint16_t) ~(avoid | e->scratch_taken | bit(RLE_RSP));
    for (unsigned r = 0; r < sb->n_resident; r++)
        usable &= (uint16_t)~bit(sb->resident[r]);
    uint16_t dead = usable & sb->points[i].dead_regs;
    if (!usable || (!dead && e->n_spilled == SCRATCH_SLOTS))
        rle_die("instrumentation asks for too many registers", usable);
    unsigned reg = highest(dead ? dead : usable);
    e->scratch_taken |= bit(reg);
    if (!dead) {
        rle_emit_store_tb(e, reg, RLE_TB_SCRATCH0 + e->n_spilled * SLOT_BYTES);
        e->spill_reg[e->n_spilled++] = (uint8_t)reg;
    }
    return reg;
}

void rle_flags_save(struct rle_emit *e)
{
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_FLAGS);
    rle_emit_1(e, OP_LAHF);
    rle_emit_bytes(e, seto_al, sizeof(seto_al));
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_FLAGS2);
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_FLAGS);
}

void rle_flags_restore(struct rle_emit *e)
{
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_FLAGS);
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_FLAGS2);
    rle_emit_bytes(e, add_al_127, sizeof(add_al_127));
    rle_emit_1(e, OP_SAHF);
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_FLAGS);
}

void rle_flags_take(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if ((sb->points[i].dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS || e->flags_saved)
        return;
    e->flags_saved = true;
    rle_flags_save(e);
}

void rle_point_release(struct rle_emit *e)
{
    if (e->flags_saved)
        rle_flags_restore(e);
    for (unsigned s = 0; s < e->n_spilled; s++)
        rle_emit_load_tb(e, e->spill_reg[s], RLE_TB_SCRATCH0 + s * SLOT_BYTES);
    e->flags_saved = false;
    e->n_spilled = 0;
    e->scratch_taken = 0;
}

void rle_emit_callout(struct rle_emit *e)
{
    enum { IMMEDIATE_BYTES = 4 };
    rle_emit_store_tb_imm32(e, RLE_TB_RESUME, 0);
    uint8_t *low = e->at - IMMEDIATE_BYTES;
    rle_emit_store_tb_imm32(e, RLE_TB_RESUME + IMMEDIATE_BYTES, 0);
    uint8_t *high = e->at - IMMEDIATE_BYTES;
    rle_emit_jmp_tb(e, RLE_TB_CALLOUT);
    uint64_t behind = rle_emit_address(e);
    uint32_t half[2] = {(uint32_t)behind, (uint32_t)(behind >> 32)};
    __builtin_memcpy(low, &half[0], IMMEDIATE_BYTES);
    __builtin_memcpy(high, &half[1], IMMEDIATE_BYTES);
}
