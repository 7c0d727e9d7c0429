/* Accesses of a loop of one block whose address moves by the same few bytes each time round. Going
 * upwards, their last byte is the first one to touch a line. So it is known how many times round
 * none of them will come to another wanted line, and all that the loop has to do is to count down.
 * It does not ask again for a line in which they already are: as long as a loop touches no more
 * lines at a time than a set has ways, each of these stays where it is from one time round to the
 * next, and what is left out of the trace could only have found it there. */
#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"
#include "count/engine/trace_opcodes.h"

enum {
    OP_ALU_IMM32 = 0x81,
    OP_ALU_IMM8 = 0x83,
    OP_INC_DEC = 0xFF,
    OP_LEA = 0x8D,
    DIGIT_ADD = 0,
    DIGIT_SUB = 5,
    DIGIT_INC = 0,
    DIGIT_DEC = 1,
    MOD_IS_REG = 3,
    REX_WIDE = 8,
    N_REGISTERS = 16,
    OP_SHIFT_IMM8 = 0xC1,
    SAR_DIGIT = 7,
    N_COUNTDOWN = 3, /* registers: the countdown, and what the arrival takes for its own use */
};

/* The immediate of add or sub. */
static int32_t immediate(const struct rle_insn *insn)
{
    const uint8_t *at = (const uint8_t *)insn->pc + insn->modrm_at + 1;
    int32_t wide;
    if (insn->opcode == OP_ALU_IMM8)
        return (int8_t)*at;
    __builtin_memcpy(&wide, at, sizeof(wide));
    return wide;
}

/* By how much an instruction that writes to a register moves it. False: not by a known step. */
static bool step_of(const struct rle_insn *insn, unsigned reg, int64_t *ret_step)
{
    if (!(insn->rex & REX_WIDE) || insn->reg_write != rle_trace_bit(reg) || insn->n_mem > 0 ||
        !insn->modrm_at || insn->opcode_at != 1)
        return false;
    unsigned modrm = ((const uint8_t *)insn->pc)[insn->modrm_at];
    unsigned digit = modrm >> 3 & 7;
    if (insn->opcode == OP_LEA) {
        const struct rle_mem *m = &insn->mem[0];
        *ret_step = m->disp;
        return m->base == reg && m->index == RLE_REG_NONE && !(insn->attrs & RLE_A_ADDR32);
    }
    if (modrm >> 6 != MOD_IS_REG)
        return false;
    if (insn->opcode == OP_INC_DEC && (digit == DIGIT_INC || digit == DIGIT_DEC)) {
        *ret_step = digit == DIGIT_INC ? 1 : -1;
        return true;
    }
    if ((insn->opcode != OP_ALU_IMM8 && insn->opcode != OP_ALU_IMM32) ||
        (digit != DIGIT_ADD && digit != DIGIT_SUB))
        return false;
    *ret_step = digit == DIGIT_ADD ? immediate(insn) : -(int64_t)immediate(insn);
    return true;
}

/* How far a register moves in the first n instructions. False: not known. */
static bool moves(const struct rle_superblock *sb, unsigned reg, unsigned n, int64_t *ret_sum)
{
    *ret_sum = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t step;
        if (!(sb->insns[i].reg_write & rle_trace_bit(reg)))
            continue;
        if (!step_of(&sb->insns[i], reg, &step))
            return false;
        *ret_sum += step;
    }
    return true;
}

/* How far a cluster's address moves in the first n instructions. */
static bool address_moves(const struct rle_superblock *sb, const struct rle_trace_cluster *c,
                          unsigned n, int64_t *ret_sum)
{
    int64_t by_base = 0;
    int64_t by_index = 0;
    bool known = (c->base == RLE_REG_NONE || moves(sb, c->base, n, &by_base)) &&
                 (c->index == RLE_REG_NONE || moves(sb, c->index, n, &by_index));
    *ret_sum = by_base + by_index * c->scale;
    return known;
}

/* One block that ends with the branch back to its head, and no accesses but those of the plan. */
static bool is_simple_loop(const struct rle_superblock *sb)
{
    const struct rle_insn *last = &sb->insns[sb->n_insns - 1];
    for (unsigned i = 0; i < sb->n_insns; i++)
        for (unsigned m = 0; m < sb->insns[i].n_mem; m++)
            if (sb->insns[i].mem[m].form != RLE_MEM_PLAIN)
                return false;
    return sb->n_blocks == 1 && last->kind == RLE_JCC && last->target == sb->insns[0].pc;
}

/* log2 of a power of two from so many bytes on; false if there is no gain in it. */
static bool shift_of(int64_t bytes, uint8_t *ret_shift)
{
    unsigned shift = 0;
    if (bytes <= 0 || bytes > RLE_TRACE_LINE)
        return false;
    while (1 << shift < bytes)
        shift++;
    *ret_shift = (uint8_t)shift;
    return true;
}

/* Is every address that is made of it a displacement away? */
static bool in_reach(const struct rle_trace_cluster *c)
{
    int64_t least = c->at_head - RLE_TRACE_LINE * (int64_t)RLE_TRACE_CLASSES;
    int64_t most = c->at_head + c->width + RLE_TRACE_LINE;
    return least == (int32_t)least && most == (int32_t)most;
}

/* The stack pointer, and the registers of the addresses that the arrival looks up. */
static uint16_t registers_in_use(const struct rle_trace_plan *plan)
{
    uint16_t used = rle_trace_bit(RLE_RSP);
    for (unsigned k = 0; k < plan->n; k++)
        if (plan->cluster[k].steps)
            used |= rle_trace_registers(&plan->cluster[k]);
    return used;
}

static unsigned n_bits(uint16_t set)
{
    unsigned n = 0;
    for (; set; set &= (uint16_t)(set - 1))
        n++;
    return n;
}

/* The loop does not count down after all. */
static void drop_steps(struct rle_trace_plan *plan)
{
    for (unsigned k = 0; k < plan->n; k++)
        plan->cluster[k].steps = false;
}

bool rle_trace_find_steps(const struct rle_superblock *sb, unsigned ways,
                          struct rle_trace_plan *plan)
{
    bool any = false;
    if (plan->n > ways || !is_simple_loop(sb))
        return false;
    for (unsigned k = 0; k < plan->n; k++) {
        struct rle_trace_cluster *c = &plan->cluster[k];
        int64_t moved;
        int64_t step;
        if (!c->site || c->always || c->thread_local_segment ||
            c->width > RLE_TRACE_NARROW_MAX ||          /* no line between its ends */
            (c->writes && c->stores_end != c->width) || /* a store that follows would be missed */
            !address_moves(sb, c, c->at, &moved) || !address_moves(sb, c, sb->n_insns, &step))
            continue;
        c->at_head = c->low + moved;
        c->steps = in_reach(c) && shift_of(step, &c->step_shift);
        any |= c->steps;
    }
    if (any && n_bits(registers_in_use(plan)) > N_REGISTERS - N_COUNTDOWN) {
        drop_steps(plan);
        return false;
    }
    return any;
}

/* ---- the code ---- */

/* The countdown's register holds the negative number of times round that are left, this one
 * included; in front of the loop one more, since the loop's head counts before it asks. */

enum { OP_CMOVL = 0x4C, OP_CMOVG = 0x4F, OP_MOVSX_16 = 0xBF, ENTRY_SHIFT = 1 /* of `until` */ };

/* When the distance to the next wanted line is asked for. */
enum moment {
    ENTERING, /* in front of the loop: of the line of the first byte too */
    ARRIVED,  /* the lines of all bytes were looked at: of those behind the last byte's */
};

/* Registers: the countdown, which takes the least number, and two for the arrival's own use. */
struct hands {
    unsigned count;
    unsigned other; /* for the clusters after the first one */
    unsigned third;
};

static struct {
    uint64_t arrival;      /* where the code begins that is for arrivals … */
    rle_fixup arrival_end; /* … and its last jump */
} loop;

static struct hands choose_hands(const struct rle_superblock *sb, const struct rle_trace_plan *plan)
{
    uint16_t used = registers_in_use(plan);
    struct hands hand;
    for (unsigned r = 0; r < sb->n_resident; r++)
        used |= rle_trace_bit(sb->resident[r]);
    hand.count = sb->resident[0];
    hand.third = (unsigned)__builtin_ctz((uint16_t)~used);
    used |= rle_trace_bit(hand.third);
    hand.other = sb->n_resident > 1 ? sb->resident[1] : (unsigned)__builtin_ctz((uint16_t)~used);
    return hand;
}

static bool other_is_borrowed(const struct rle_superblock *sb, const struct rle_trace_plan *plan)
{
    return sb->n_resident == 1 && plan->n > 1;
}

static void save_other(struct rle_emit *e, const struct rle_superblock *sb,
                       const struct rle_trace_plan *plan, const struct hands *h)
{
    if (other_is_borrowed(sb, plan))
        rle_emit_store_tb(e, h->other, AREA(spill[0]));
}

static void restore_other(struct rle_emit *e, const struct rle_superblock *sb,
                          const struct rle_trace_plan *plan, const struct hands *h)
{
    if (other_is_borrowed(sb, plan))
        rle_emit_load_tb(e, h->other, AREA(spill[0]));
}

/* movsx reg32, word gs:[reg + disp] */
static void emit_load_until(struct rle_emit *e, unsigned reg)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (reg >= 8 ? REX_R | REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_MOVSX_16);
    rle_trace_thread_operand(e, reg, reg, AREA(until));
}

/* cmovcc dst32, src32 */
static void emit_cmov(struct rle_emit *e, unsigned opcode, unsigned dst, unsigned src)
{
    rle_emit_1(e, REX | (dst >= 8 ? REX_R : 0) | (src >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, opcode);
    rle_emit_1(e, MOD_REG | (dst & 7) << 3 | (src & 7));
}

/* sar reg32, bits */
static void emit_sar(struct rle_emit *e, unsigned reg, unsigned bits)
{
    if (bits == 0)
        return;
    rle_emit_1(e, REX | (reg >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_SHIFT_IMM8);
    rle_emit_1(e, MOD_REG | SAR_DIGIT << 3 | (reg & 7));
    rle_emit_1(e, bits);
}

/* The byte from which the distance is asked for. */
static struct rle_trace_cluster from_byte(const struct rle_trace_cluster *c, enum moment when)
{
    struct rle_trace_cluster from = *c;
    from.low = when == ENTERING ? c->at_head : c->at_head + c->width - 1 + RLE_TRACE_LINE;
    return from;
}

/* reg = that distance, in the slot's terms, where only the centre is wanted. */
static void emit_distance_to_centre(struct rle_emit *e, const struct rle_trace_cluster *c,
                                    enum moment when, unsigned reg)
{
    struct rle_trace_cluster from = from_byte(c, when);
    from.low -= RLE_TRACE_LINE * (int64_t)(rle_trace_centre() + 1);
    rle_trace_address(e, reg, &from);
    rle_emit_alu_tb(e, RLE_OR, false, reg, AREA(beyond));
}

/* The same whatever is wanted. Changes h->third. */
static void emit_distance(struct rle_emit *e, const struct rle_trace_cluster *c, enum moment when,
                          unsigned reg, const struct hands *h)
{
    struct rle_trace_cluster from = from_byte(c, when);
    rle_trace_address(e, h->third, &from);
    rle_emit_mov(e, reg, h->third);
    rle_emit_shr(e, false, reg, RLE_TRACE_LINE_SHIFT - ENTRY_SHIFT);
    rle_emit_alu_imm(e, RLE_AND, false, reg, (RLE_TRACE_CLASSES - 1) << ENTRY_SHIFT);
    emit_load_until(e, reg);
    rle_emit_alu_imm(e, RLE_AND, false, h->third, RLE_TRACE_LINE - 1);
    rle_emit_alu(e, RLE_ADD, false, reg, h->third);
}

/* What is added to that distance, so that shifting it gives the countdown. From the first byte on
 * it is counted to the end of a line, which begins a line before, for the last byte. */
static int32_t correction(const struct rle_trace_cluster *c, enum moment when)
{
    return when == ENTERING ? c->width - 1 + RLE_TRACE_LINE - (1 << c->step_shift) : 0;
}

static bool are_alike(const struct rle_trace_plan *plan, enum moment when)
{
    const struct rle_trace_cluster *first = NULL;
    for (unsigned k = 0; k < plan->n; k++) {
        const struct rle_trace_cluster *c = &plan->cluster[k];
        if (!c->steps)
            continue;
        if (first &&
            (c->step_shift != first->step_shift || correction(c, when) != correction(first, when)))
            return false;
        first = first ? first : c;
    }
    return true;
}

static void emit_rounds(struct rle_emit *e, const struct rle_trace_cluster *c, enum moment when,
                        unsigned reg)
{
    if (correction(c, when))
        rle_emit_alu_imm(e, RLE_ADD, false, reg, correction(c, when));
    emit_sar(e, reg, c->step_shift);
}

/* h->count = what is left until the nearest of them. Where not only the centre is wanted the quick
 * way gives -1 or more. Changes h->other, and h->third unless quick. */
static void emit_nearest(struct rle_emit *e, const struct rle_trace_plan *plan, enum moment when,
                         bool quick, const struct hands *h)
{
    bool alike = are_alike(plan, when);
    const struct rle_trace_cluster *first = NULL;
    for (unsigned k = 0; k < plan->n; k++) {
        const struct rle_trace_cluster *c = &plan->cluster[k];
        unsigned reg = first ? h->other : h->count;
        if (!c->steps)
            continue;
        if (quick)
            emit_distance_to_centre(e, c, when, reg);
        else
            emit_distance(e, c, when, reg, h);
        if (!alike)
            emit_rounds(e, c, when, reg);
        if (first) {
            rle_emit_alu(e, RLE_CMP, false, h->count, h->other);
            emit_cmov(e, OP_CMOVL, h->count, h->other);
        }
        first = first ? first : c;
    }
    if (alike)
        emit_rounds(e, first, when, h->count);
}

/* The same by whatever way it takes; at most -1. */
static void emit_nearest_any(struct rle_emit *e, const struct rle_trace_plan *plan,
                             enum moment when, const struct hands *h)
{
    emit_nearest(e, plan, when, true, h);
    rle_emit_alu_imm(e, RLE_CMP, false, h->count, -1);
    rle_fixup more = rle_emit_jcc(e, RLE_CC_GE);
    uint64_t back = rle_emit_address(e);
    rle_emit_cold(e, true);
    rle_emit_here(e, more);
    rle_emit_store_tb(e, h->third, AREA(spill[1]));
    emit_nearest(e, plan, when, false, h);
    rle_emit_mov_imm64(e, h->third, UINT32_MAX);
    rle_emit_alu(e, RLE_CMP, false, h->count, h->third);
    emit_cmov(e, OP_CMOVG, h->count, h->third);
    rle_emit_load_tb(e, h->third, AREA(spill[1]));
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_emit_cold(e, false);
}

void rle_trace_emit_arrival(struct rle_emit *e, const struct rle_superblock *sb,
                            const struct rle_trace_plan *plan)
{
    struct hands h = choose_hands(sb, plan);
    save_other(e, sb, plan, &h);
    emit_nearest_any(e, plan, ENTERING, &h);
    restore_other(e, sb, plan, &h);
    rle_fixup over = rle_emit_jmp(e);
    loop.arrival = rle_emit_address(e);
    for (unsigned k = 0; k < plan->n; k++) {
        struct rle_trace_cluster c = plan->cluster[k];
        c.low = c.at_head;
        if (c.steps)
            rle_trace_emit_looked_up(e, &c, h.count);
    }
    save_other(e, sb, plan, &h);
    emit_nearest_any(e, plan, ARRIVED, &h);
    restore_other(e, sb, plan, &h);
    loop.arrival_end = rle_emit_jmp(e);
    rle_emit_here(e, over);
}

void rle_trace_emit_countdown(struct rle_emit *e, const struct rle_superblock *sb)
{
    rle_emit_alu_imm(e, RLE_ADD, false, sb->resident[0], 1);
    rle_emit_patch(e, rle_emit_jcc(e, RLE_CC_B), loop.arrival);
    rle_emit_here(e, loop.arrival_end);
}
