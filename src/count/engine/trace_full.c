/* The code in front of an access in full mode, and what both modes know of lines touched lately: an
 * access to the line last touched among those that could share a set with it finds that line the
 * most recent one wherever it is cached, so that nothing would change but its becoming dirty. */
#include "count/engine/emit.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"
#include "count/engine/trace_opcodes.h"

enum {
    RECORD = sizeof(struct rle_trace_record),
    PLACE_SHIFT = 3, /* a place has eight bytes */
    AHEAD = 4096,    /* bytes */
};

void rle_trace_place(struct rle_emit *e, unsigned reg, unsigned t)
{
    if (reg != t)
        rle_emit_mov(e, reg, t);
    rle_emit_shr(e, false, reg, RLE_TRACE_LINE_SHIFT - PLACE_SHIFT);
    rle_emit_alu_imm(e, RLE_AND, false, reg, (int32_t)((rle_trace_apart() - 1) << PLACE_SHIFT));
}

void rle_trace_at_place(struct rle_emit *e, unsigned opcode, unsigned reg, unsigned place,
                        uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX_W | (reg >= 8 ? REX_R : 0) | (place >= 8 ? REX_B : 0));
    rle_emit_1(e, opcode);
    rle_trace_thread_operand(e, reg, place, disp);
}

static void emit_clear(struct rle_emit *e, unsigned place, uint32_t disp)
{
    rle_trace_at_place(e, OP_MOV_STORE_IMM, 0, place, disp);
    rle_emit_4(e, 0);
}

void rle_trace_note(struct rle_emit *e, unsigned t, unsigned place, bool written)
{
    rle_trace_place(e, place, t);
    rle_emit_alu_imm(e, RLE_AND, true, t, -RLE_TRACE_LINE);
    rle_trace_at_place(e, OP_MOV_STORE, t, place, AREA(recent));
    if (written)
        rle_trace_at_place(e, OP_MOV_STORE, t, place, AREA(soiled));
    else
        emit_clear(e, place, AREA(soiled));
}

static void emit_forget(struct rle_emit *e, unsigned t, unsigned place, unsigned offset)
{
    rle_emit_lea(e, place, t, RLE_REG_NONE, 0, (int32_t)offset);
    rle_trace_place(e, place, place);
    emit_clear(e, place, AREA(recent));
    emit_clear(e, place, AREA(soiled));
}

void rle_trace_forget_cluster(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                              unsigned place)
{
    for (unsigned byte = 0; byte < c->width; byte += RLE_TRACE_LINE)
        emit_forget(e, t, place, byte);
    emit_forget(e, t, place, c->width - 1u);
}

/* The reader has the line that the ring goes on at; it comes back while others are written. */
static void emit_prefetch_ahead(struct rle_emit *e, unsigned reg)
{
    if (reg >= 8)
        rle_emit_1(e, REX | REX_B);
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_PREFETCH);
    rle_emit_1(e, MOD_DISP32 | PREFETCHW_DIGIT << 3 | (reg & 7));
    if ((reg & 7) == RM_SIB)
        rle_emit_1(e, RM_SIB << 3 | RM_SIB);
    rle_emit_4(e, AHEAD);
}

rle_fixup rle_trace_write_record(struct rle_emit *e, unsigned t, unsigned reg, uint32_t site)
{
    rle_emit_load_tb(e, reg, AREA(cursor));
    rle_emit_store(e, t, reg, 0);
    rle_trace_store_imm(e, reg, sizeof(uint64_t), site);
    emit_prefetch_ahead(e, reg);
    rle_emit_lea(e, reg, reg, RLE_REG_NONE, 0, RECORD);
    rle_emit_store_tb(e, reg, AREA(cursor));
    rle_emit_alu_tb(e, RLE_CMP, true, reg, AREA(limit));
    return rle_emit_jcc(e, RLE_CC_AE);
}

void rle_trace_make_room_at(struct rle_emit *e, rle_fixup full, uint64_t back)
{
    rle_emit_here(e, full);
    rle_trace_stage(e, RLE_TRACE_ROOM, 0);
    rle_emit_callout(e);
    rle_emit_patch(e, rle_emit_jmp(e), back);
}

/* Can it be that only one line is touched, and nothing but caching comes of it? */
static bool may_repeat(const struct rle_trace_cluster *c)
{
    return !c->always && c->width <= RLE_TRACE_LINE;
}

/* Where the first byte must lie in its line for the last one to lie there too. */
static int32_t last_start(const struct rle_trace_cluster *c)
{
    return RLE_TRACE_LINE - c->width;
}

/* The way taken unless the access repeats the line touched last. */
static rle_fixup emit_repeat_test(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                                  unsigned s)
{
    uint32_t table = c->writes ? AREA(soiled) : AREA(recent);
    rle_trace_address(e, t, c);
    rle_trace_place(e, s, t);
    rle_trace_at_place(e, OP_SUB_LOAD, t, s, table);
    rle_emit_alu_imm(e, RLE_CMP, true, t, last_start(c));
    return rle_emit_jcc(e, RLE_CC_A);
}

/* It touches two lines, each of which is then the most recent of its sets; which one was written to
 * is not told. */
static void emit_note_both(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                           unsigned s)
{
    if (rle_trace_apart() == 1) { /* they may share a set, in whatever order */
        rle_trace_forget_cluster(e, c, t, s);
        return;
    }
    rle_trace_note(e, t, s, false);
    rle_trace_address(e, t, c);
    rle_emit_lea(e, t, t, RLE_REG_NONE, 0, c->width - 1);
    rle_trace_note(e, t, s, false);
}

/* t is the first byte's address. */
static void emit_remember(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                          unsigned s)
{
    if (!may_repeat(c)) {
        rle_trace_forget_cluster(e, c, t, s);
        return;
    }
    rle_fixup crossing = NULL;
    if (c->width > 1) {
        rle_emit_mov(e, s, t);
        rle_emit_alu_imm(e, RLE_AND, false, s, RLE_TRACE_LINE - 1);
        rle_emit_alu_imm(e, RLE_CMP, false, s, last_start(c));
        crossing = rle_emit_jcc(e, RLE_CC_A);
    }
    rle_trace_note(e, t, s, c->writes);
    if (crossing) {
        rle_fixup noted = rle_emit_jmp(e);
        rle_emit_here(e, crossing);
        emit_note_both(e, c, t, s);
        rle_emit_here(e, noted);
    }
    rle_trace_address(e, t, c);
}

void rle_trace_emit_full(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                         unsigned s)
{
    rle_fixup new_line = may_repeat(c) ? emit_repeat_test(e, c, t, s) : rle_emit_jmp(e);
    uint64_t back = rle_emit_address(e);
    rle_emit_cold(e, true);
    rle_emit_here(e, new_line);
    rle_trace_address(e, t, c);
    emit_remember(e, c, t, s);
    rle_fixup full = rle_trace_write_record(e, t, s, c->site);
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_trace_make_room_at(e, full, back);
    rle_emit_cold(e, false);
}
