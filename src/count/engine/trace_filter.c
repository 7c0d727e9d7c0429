/* The code in front of an access that may be sampled: is its line wanted? If not (nearly always)
 * that is all; the record is written in the cold part. */
#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"
#include "count/engine/trace_opcodes.h"

/* cmp byte gs:[index + disp], 0 */
static void emit_cmp_table(struct rle_emit *e, unsigned index, uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (index != RLE_REG_NONE && index >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_CMP_IMM8_8);
    rle_trace_thread_operand(e, CMP_DIGIT, index, disp);
    rle_emit_1(e, 0);
}

/* movzx reg32, byte gs:[index + disp] */
static void emit_table_byte(struct rle_emit *e, unsigned reg, unsigned index, uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (index != RLE_REG_NONE && index >= 8 ? REX_B : 0) | (reg >= 8 ? REX_R : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_MOVZX_8);
    rle_trace_thread_operand(e, reg, index, disp);
}

/* movzx reg32, low byte of reg */
static void emit_low_byte(struct rle_emit *e, unsigned reg)
{
    rle_emit_1(e, REX | (reg >= 8 ? REX_R | REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_MOVZX_8);
    rle_emit_1(e, MOD_REG | (reg & 7) << 3 | (reg & 7));
}

/* rorx reg64, reg64, bits: a shift that leaves flags alone, as far as the low bits go */
static void emit_rorx(struct rle_emit *e, unsigned reg, unsigned bits)
{
    rle_emit_1(e, VEX3);
    rle_emit_1(e, (reg >= 8 ? 0 : 0x80) | 0x40 | (reg >= 8 ? 0 : 0x20) | 3);
    rle_emit_1(e, 0xFB);
    rle_emit_1(e, OP_RORX);
    rle_emit_1(e, MOD_REG | (reg & 7) << 3 | (reg & 7));
    rle_emit_1(e, bits);
}

/* test dword gs:[disp], reg32 */
static void emit_test_area(struct rle_emit *e, unsigned reg, uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (reg >= 8 ? REX_R : 0));
    rle_emit_1(e, OP_TEST);
    rle_trace_thread_operand(e, reg, RLE_REG_NONE, disp);
}

/* Is no table wide enough? */
static bool is_too_wide(const struct rle_trace_cluster *c)
{
    return c->width > RLE_TRACE_WIDTH_MAX;
}

/* Where the table for a cluster's width begins. */
static uint32_t table_of(const struct rle_trace_cluster *c)
{
    unsigned w = 0;
    while (c->width > RLE_TRACE_WIDTH_LEAST << w)
        w++;
    return AREA(wanted) + w * RLE_TRACE_GRAINS;
}

/* jrcxz to the code behind a jump, which is returned: rcx is not 0 there */
static rle_fixup emit_jump_unless_rcx_zero(struct rle_emit *e)
{
    rle_emit_1(e, OP_JRCXZ);
    rle_emit_1(e, 0);
    uint8_t *distance = e->at;
    rle_fixup jump = rle_emit_jmp(e);
    distance[-1] = (uint8_t)(e->at - distance);
    return jump;
}

/* bt reg64, bit64 */
static void emit_bit_test(struct rle_emit *e, unsigned reg, unsigned which)
{
    rle_emit_1(e, REX_W | (which >= 8 ? REX_R : 0) | (reg >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_BT);
    rle_emit_1(e, MOD_REG | (which & 7) << 3 | (reg & 7));
}

/* Ways from the filters to where they lead. */
struct ways {
    rle_fixup done[3];
    unsigned n_done;
    rle_fixup write[2];
    unsigned n_write;
};

/* Accesses through one address that are joined, to the lines of the stack say, come again and again
 * across the same two lines: worth the code that tells whether both are wanted and new. Where all
 * lines share one place, neither is ever known to be the one touched last. */
static bool may_repeat_across(const struct rle_trace_cluster *c)
{
    return c->joined && rle_trace_apart() > 1;
}

/* rcx = the line's number, for an address in rcx: is it wanted? */
static rle_fixup emit_unless_wanted(struct rle_emit *e, unsigned r2)
{
    rle_emit_shr(e, true, RLE_RCX, RLE_TRACE_LINE_SHIFT);
    rle_emit_load_tb(e, r2, AREA(classes));
    emit_bit_test(e, r2, RLE_RCX);
    return rle_emit_jcc(e, RLE_CC_AE);
}

/* Does the first byte's place in its line, t being its address, compare so with a value? Changes
 * rcx; returns the way taken if so. */
static rle_fixup emit_if_start(struct rle_emit *e, unsigned t, enum rle_cond cond, int32_t value)
{
    rle_emit_mov(e, RLE_RCX, t);
    rle_emit_alu_imm(e, RLE_AND, true, RLE_RCX, RLE_TRACE_LINE - 1);
    rle_emit_alu_imm(e, RLE_CMP, true, RLE_RCX, value);
    return rle_emit_jcc(e, cond);
}

/* rcx = the first byte of the line that lies `offset` bytes behind t, r2 = its place. */
static void emit_line(struct rle_emit *e, unsigned t, unsigned r2, int32_t offset)
{
    rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, offset);
    rle_trace_place(e, r2, RLE_RCX);
    rle_emit_alu_imm(e, RLE_AND, true, RLE_RCX, -RLE_TRACE_LINE);
}

/* The way taken if that line is wanted and not the one touched last, or not known to be dirty
 * though some store may go there. */
static rle_fixup emit_if_new(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                             unsigned r2, bool last)
{
    int32_t offset = last ? c->width - 1 : 0;
    rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, offset);
    rle_fixup unwanted = emit_unless_wanted(e, r2);
    emit_line(e, t, r2, offset);
    if (c->writes) {
        rle_fixup only_read =
            last ? emit_if_start(e, t, RLE_CC_LE, RLE_TRACE_LINE - c->stores_end)
                 : emit_if_start(e, t, RLE_CC_GE, RLE_TRACE_LINE - c->stores_begin);
        rle_emit_alu_imm(e, RLE_ADD, true, r2, AREA(soiled) - AREA(recent));
        rle_emit_here(e, only_read);
        rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, offset);
        rle_emit_alu_imm(e, RLE_AND, true, RLE_RCX, -RLE_TRACE_LINE);
    }
    rle_trace_at_place(e, OP_CMP_LOAD, RLE_RCX, r2, AREA(recent));
    rle_fixup is_new = rle_emit_jcc(e, RLE_CC_NE);
    rle_emit_here(e, unwanted);
    return is_new;
}

/* Note that line if it is wanted: it is the one touched last, and dirty if all stores go there. One
 * that is not wanted was forgotten, and stays so, for accesses to it are not all seen. */
static void emit_note_if_wanted(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                                unsigned r2, bool last)
{
    int32_t offset = last ? c->width - 1 : 0;
    rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, offset);
    rle_fixup unwanted = emit_unless_wanted(e, r2);
    rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, offset);
    rle_trace_note(e, RLE_RCX, r2, false);
    if (c->writes) {
        rle_fixup not_all = last ? emit_if_start(e, t, RLE_CC_L, RLE_TRACE_LINE - c->stores_begin)
                                 : emit_if_start(e, t, RLE_CC_G, RLE_TRACE_LINE - c->stores_end);
        emit_line(e, t, r2, offset);
        rle_trace_at_place(e, OP_MOV_STORE, RLE_RCX, r2, AREA(soiled));
        rle_emit_here(e, not_all);
    }
    rle_emit_here(e, unwanted);
}

/* A cluster that lies in several lines, the first and the last of which it touches. */
static void emit_filters_across(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                                unsigned r2, struct ways *ways)
{
    rle_fixup more_lines = NULL;
    if (c->width > RLE_TRACE_NARROW_MAX) {
        rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, c->width - 1);
        rle_emit_mov(e, r2, t);
        rle_emit_alu_imm(e, RLE_AND, true, r2, -RLE_TRACE_LINE);
        rle_emit_alu(e, RLE_SUB, true, RLE_RCX, r2);
        rle_emit_alu_imm(e, RLE_CMP, true, RLE_RCX, 2 * RLE_TRACE_LINE);
        more_lines = rle_emit_jcc(e, RLE_CC_AE);
    }
    rle_fixup first_is_new = emit_if_new(e, c, t, r2, false);
    rle_fixup last_is_new = emit_if_new(e, c, t, r2, true);
    ways->done[ways->n_done++] = rle_emit_jmp(e);
    rle_emit_here(e, first_is_new);
    rle_emit_here(e, last_is_new);
    rle_trace_forget_cluster(e, c, t, RLE_RCX);
    emit_note_if_wanted(e, c, t, r2, false);
    emit_note_if_wanted(e, c, t, r2, true);
    ways->write[ways->n_write++] = rle_emit_jmp(e);
    if (more_lines)
        rle_emit_here(e, more_lines);
}

/* Is the line at t wanted indeed, and not the one touched last? Changes rcx, r2, flags. */
static void emit_filters(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                         unsigned r2, struct ways *ways)
{
    rle_fixup crossing = NULL;
    if (c->width > 1) {
        rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, c->width - 1);
        rle_emit_alu(e, RLE_XOR, true, RLE_RCX, t);
        rle_emit_shr(e, true, RLE_RCX, RLE_TRACE_LINE_SHIFT);
        crossing = rle_emit_jcc(e, RLE_CC_NE);
    }
    rle_emit_mov(e, RLE_RCX, t);
    ways->done[ways->n_done++] = emit_unless_wanted(e, r2);
    rle_trace_place(e, r2, t);
    rle_emit_mov(e, RLE_RCX, t);
    rle_emit_alu_imm(e, RLE_AND, true, RLE_RCX, -RLE_TRACE_LINE);
    rle_trace_at_place(e, OP_CMP_LOAD, RLE_RCX, r2, c->writes ? AREA(soiled) : AREA(recent));
    ways->done[ways->n_done++] = rle_emit_jcc(e, RLE_CC_E);
    rle_trace_note(e, RLE_RCX, r2, c->writes);
    if (crossing) {
        ways->write[ways->n_write++] = rle_emit_jmp(e);
        rle_emit_here(e, crossing);
        if (may_repeat_across(c))
            emit_filters_across(e, c, t, r2, ways);
    }
}

/* The cold part: what is wanted and new becomes a record. rcx has been saved and overwritten by the
 * hot part, or it has not; flags are free, or they are saved here. Leaves for the hot part. */
static void emit_record(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                        bool rcx_saved, bool flags_free, uint64_t back)
{
    unsigned r2 = t == RLE_RDX ? RLE_RBX : RLE_RDX;
    struct ways ways = {.n_done = 0};
    if (!rcx_saved)
        rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    else if (rle_trace_registers(c) & rle_trace_bit(RLE_RCX))
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    if (!flags_free)
        rle_flags_save(e);
    rle_trace_address(e, t, c);
    rle_emit_store_tb(e, r2, AREA(spill[1]));
    bool filtered = !c->always && !is_too_wide(c);
    if (filtered)
        emit_filters(e, c, t, r2, &ways);
    if (!filtered || c->width > 1)
        rle_trace_forget_cluster(e, c, t, RLE_RCX);
    for (unsigned i = 0; i < ways.n_write; i++)
        rle_emit_here(e, ways.write[i]);
    rle_fixup full = rle_trace_write_record(e, t, RLE_RCX, c->site);
    uint64_t done = rle_emit_address(e);
    for (unsigned i = 0; i < ways.n_done; i++)
        rle_emit_here(e, ways.done[i]);
    rle_emit_load_tb(e, r2, AREA(spill[1]));
    if (!flags_free)
        rle_flags_restore(e);
    if (!rcx_saved)
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_trace_make_room_at(e, full, done);
    rle_emit_cold(e, false);
}

static uint32_t static_grain(const struct rle_trace_cluster *c)
{
    return (uint64_t)c->low >> RLE_TRACE_GRAIN_SHIFT & (RLE_TRACE_GRAINS - 1);
}

static void begin_cold(struct rle_emit *e, rle_fixup from)
{
    rle_emit_cold(e, true);
    rle_emit_here(e, from);
}

/* Flags are free to change: look up the first byte's grain in the table. */
static void emit_look_up(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t)
{
    rle_trace_address(e, t, c);
    rle_emit_shr(e, false, t, RLE_TRACE_GRAIN_SHIFT);
    emit_low_byte(e, t);
    emit_cmp_table(e, t, table_of(c));
}

/* The cluster whose first byte is x of the slot's masks. False where no displacement reaches it. */
static bool reckoned(const struct rle_trace_cluster *c, struct rle_trace_cluster *ret_x)
{
    *ret_x = *c;
    ret_x->low += c->width - 1 - (int64_t)(RLE_TRACE_LINE * rle_trace_centre());
    return ret_x->low == (int32_t)ret_x->low;
}

/* Masks in the code are changed in passing: in front of a record, of which there are always some,
 * be it in the loop itself or outside. */
static void emit_stale_test(struct rle_emit *e)
{
    emit_cmp_table(e, RLE_REG_NONE, AREA(stale));
    rle_fixup fresh = rle_emit_jcc(e, RLE_CC_E);
    rle_trace_stage(e, RLE_TRACE_ROOM, 0);
    rle_emit_callout(e);
    rle_emit_here(e, fresh);
}

/* Behind the test, in the cold part: flags are free to change. */
static void emit_closer_look(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                             bool by_mask, uint64_t back)
{
    unsigned reach = rle_trace_reach(c->width);
    if (by_mask) { /* t is still x */
        rle_emit_alu_tb(e, RLE_AND, false, t, AREA(within) + reach * (uint32_t)sizeof(uint32_t));
        rle_emit_alu_imm(e, RLE_CMP, false, t, RLE_TRACE_LINE - 1 + c->width);
        rle_emit_patch(e, rle_emit_jcc(e, RLE_CC_AE), back);
    }
    emit_look_up(e, c, t);
    rle_emit_patch(e, rle_emit_jcc(e, RLE_CC_E), back);
}

/* The test of x; returns the way taken if it may be wanted. Streams of vectors spend as many
 * accesses in the half of what the mask lets through that is not wanted as in the other: they are
 * worth a third instruction. */
static rle_fixup emit_mask_test(struct rle_emit *e, const struct rle_superblock *sb,
                                const struct rle_trace_cluster *x, unsigned t, bool *ret_by_mask)
{
    enum { VECTOR_BYTES = 16 };
    unsigned reach = rle_trace_reach(x->width);
    bool by_mask = x->width < VECTOR_BYTES;
    enum rle_trace_form form = by_mask ? RLE_TRACE_BY_MASK : RLE_TRACE_BY_DISTANCE;
    uint32_t mask;
    rle_trace_address(e, t, x);
    bool in_code = sb->loops && rle_trace_mask_in_code(form, reach, &mask);
    *ret_by_mask = by_mask || !in_code;
    if (!in_code) {
        emit_test_area(e, t, AREA(mask) + reach * (uint32_t)sizeof(uint32_t));
        return rle_emit_jcc(e, RLE_CC_E);
    }
    if (by_mask) {
        rle_trace_keep_place(form, reach, rle_emit_test_imm(e, t, mask));
        return rle_emit_jcc(e, RLE_CC_E);
    }
    rle_trace_keep_place(form, reach, rle_emit_and_imm(e, t, mask));
    rle_emit_alu_imm(e, RLE_CMP, false, t, RLE_TRACE_LINE - 1 + x->width);
    return rle_emit_jcc(e, RLE_CC_B);
}

/* Flags are free to change. */
static void emit_test(struct rle_emit *e, const struct rle_superblock *sb,
                      const struct rle_trace_cluster *c, unsigned t)
{
    struct rle_trace_cluster x;
    bool masked = !rle_trace_is_static(c) && reckoned(c, &x);
    bool by_mask;
    rle_fixup wanted;
    if (masked) {
        wanted = emit_mask_test(e, sb, &x, t, &by_mask);
    } else {
        if (rle_trace_is_static(c))
            emit_cmp_table(e, RLE_REG_NONE, table_of(c) + static_grain(c));
        else
            emit_look_up(e, c, t);
        wanted = rle_emit_jcc(e, RLE_CC_NE);
    }
    uint64_t back = rle_emit_address(e);
    begin_cold(e, wanted);
    if (masked)
        emit_closer_look(e, c, t, by_mask, back);
    emit_stale_test(e);
    emit_record(e, c, t, false, true, back);
}

/* Flags stay as they are. */
static void emit_test_without_flags(struct rle_emit *e, const struct rle_trace_cluster *c,
                                    unsigned t)
{
    if (!rle_trace_is_static(c)) {
        rle_trace_address(e, t, c);
        emit_rorx(e, t, RLE_TRACE_GRAIN_SHIFT);
        emit_low_byte(e, t);
    }
    rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    if (rle_trace_is_static(c))
        emit_table_byte(e, RLE_RCX, RLE_REG_NONE, table_of(c) + static_grain(c));
    else
        emit_table_byte(e, RLE_RCX, t, table_of(c));
    rle_fixup wanted = emit_jump_unless_rcx_zero(e);
    uint64_t back = rle_emit_address(e);
    rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    begin_cold(e, wanted);
    emit_record(e, c, t, true, false, back);
}

void rle_trace_emit_looked_up(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t)
{
    emit_look_up(e, c, t);
    rle_fixup wanted = rle_emit_jcc(e, RLE_CC_NE);
    uint64_t back = rle_emit_address(e);
    begin_cold(e, wanted);
    emit_stale_test(e);
    emit_record(e, c, t, false, true, back);
}

void rle_trace_emit_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                            const struct rle_trace_cluster *c, unsigned t)
{
    bool free_flags = rle_trace_flags_dead(sb, i) || e->flags_saved;
    if (is_too_wide(c)) { /* always recorded */
        rle_fixup always = rle_emit_jmp(e);
        uint64_t back = rle_emit_address(e);
        begin_cold(e, always);
        emit_record(e, c, t, false, free_flags, back);
    } else if (free_flags) {
        emit_test(e, sb, c, t);
    } else {
        emit_test_without_flags(e, c, t);
    }
}
