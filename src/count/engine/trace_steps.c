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
        int64_t last = c->at_head + c->width - 1;
        c->steps = c->at_head == (int32_t)c->at_head && last == (int32_t)last &&
                   shift_of(step, &c->step_shift);
        any |= c->steps;
    }
    if (any && n_bits(registers_in_use(plan)) > N_REGISTERS - N_COUNTDOWN) {
        drop_steps(plan);
        return false;
    }
    return any;
}

/* ---- the code ---- */

enum { OP_CMOVA = 0x47, OP_MOVZX_16 = 0xB7, AHEAD_SHIFT = 1 /* it has entries of two bytes */ };

static struct {
    uint64_t arrival;      /* where the code begins that is for arrivals … */
    rle_fixup arrival_end; /* … and its last jump */
} loop;

/* A register for the arrival's own use, given back behind it. */
static unsigned other_register(const struct rle_superblock *sb, const struct rle_trace_plan *plan,
                               uint16_t besides)
{
    uint16_t used = besides | rle_trace_bit(sb->resident[0]) | registers_in_use(plan);
    return (unsigned)__builtin_ctz((uint16_t)~used);
}

/* movzx reg32, word gs:[reg + disp] */
static void emit_load_ahead(struct rle_emit *e, unsigned reg)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (reg >= 8 ? REX_R | REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_MOVZX_16);
    rle_trace_thread_operand(e, reg, reg, AREA(ahead));
}

/* cmova dst, src */
static void emit_cmova(struct rle_emit *e, unsigned dst, unsigned src)
{
    rle_emit_1(e, REX_W | (dst >= 8 ? REX_R : 0) | (src >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_CMOVA);
    rle_emit_1(e, MOD_REG | (dst & 7) << 3 | (src & 7));
}

/* away = how many times round, less one, until the cluster's last byte is in the next wanted line.
 * Changes t. */
static void emit_distance(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t,
                          unsigned away)
{
    struct rle_trace_cluster last = *c;
    last.low = c->at_head + c->width - 1;
    rle_trace_address(e, t, &last);
    rle_emit_mov(e, away, t);
    rle_emit_shr(e, false, away, RLE_TRACE_LINE_SHIFT - AHEAD_SHIFT);
    rle_emit_alu_imm(e, RLE_AND, false, away, (RLE_TRACE_CLASSES - 1) << AHEAD_SHIFT);
    emit_load_ahead(e, away);
    rle_emit_alu_imm(e, RLE_AND, false, t, RLE_TRACE_LINE - 1);
    rle_emit_alu(e, RLE_SUB, false, away, t);
    rle_emit_shr(e, false, away, c->step_shift);
}

/* The number of times round for the nearest of them. */
static void emit_nearest(struct rle_emit *e, const struct rle_superblock *sb,
                         const struct rle_trace_plan *plan)
{
    unsigned t = sb->resident[0];
    unsigned away = other_register(sb, plan, 0);
    unsigned nearest = other_register(sb, plan, rle_trace_bit(away));
    bool first = true;
    rle_emit_store_tb(e, away, AREA(spill[0]));
    rle_emit_store_tb(e, nearest, AREA(spill[1]));
    for (unsigned k = 0; k < plan->n; k++) {
        if (!plan->cluster[k].steps)
            continue;
        emit_distance(e, &plan->cluster[k], t, first ? nearest : away);
        if (!first) {
            rle_emit_alu(e, RLE_CMP, true, nearest, away);
            emit_cmova(e, nearest, away);
        }
        first = false;
    }
    rle_emit_mov(e, t, nearest);
    rle_emit_load_tb(e, away, AREA(spill[0]));
    rle_emit_load_tb(e, nearest, AREA(spill[1]));
}

void rle_trace_emit_arrival(struct rle_emit *e, const struct rle_superblock *sb,
                            const struct rle_trace_plan *plan)
{
    unsigned t = sb->resident[0];
    rle_emit_mov_imm64(e, t, 0); /* the first time round counts as one */
    rle_fixup over = rle_emit_jmp(e);
    loop.arrival = rle_emit_address(e);
    for (unsigned k = 0; k < plan->n; k++) {
        struct rle_trace_cluster c = plan->cluster[k];
        c.low = c.at_head;
        if (c.steps)
            rle_trace_emit_looked_up(e, &c, t);
    }
    emit_nearest(e, sb, plan);
    loop.arrival_end = rle_emit_jmp(e);
    rle_emit_here(e, over);
}

void rle_trace_emit_countdown(struct rle_emit *e, const struct rle_superblock *sb)
{
    rle_emit_alu_imm(e, RLE_SUB, false, sb->resident[0], 1);
    rle_emit_patch(e, rle_emit_jcc(e, RLE_CC_B), loop.arrival);
    rle_emit_here(e, loop.arrival_end);
}
