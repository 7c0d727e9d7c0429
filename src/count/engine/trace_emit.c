/* The code in front of accesses: addresses, registers, calls. The tests in it are those of
 * trace_filter.c (sampled) and trace_full.c. */
#include <cpuid.h>

#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"
#include "count/engine/trace_opcodes.h"

enum {
    CPUID_FEATURES = 7,
    CPUID_EBX_BMI2 = 1 << 8,
};

enum { FULL_REGISTERS = 2 }; /* that a test of full mode works with */

static struct {
    struct rle_trace_plan plan;
    unsigned next;    /* cluster of the plan */
    bool counts_down; /* some cluster steps, and a register is there to count with */
    int has_bmi2;     /* 0 unknown, 1 yes, -1 no */
} emission;

static bool has_bmi2(void)
{
    unsigned eax, ebx = 0, ecx, edx;
    if (emission.has_bmi2 == 0)
        emission.has_bmi2 =
            __get_cpuid_count(CPUID_FEATURES, 0, &eax, &ebx, &ecx, &edx) && ebx & CPUID_EBX_BMI2
                ? 1
                : -1;
    return emission.has_bmi2 > 0;
}

/* ---- instructions that emit.h does not have ---- */

/* modrm and sib of gs:[index + disp32], or of gs:[disp32] without one */
void rle_trace_thread_operand(struct rle_emit *e, unsigned reg_field, unsigned index, uint32_t disp)
{
    if (index == RLE_REG_NONE) {
        rle_emit_1(e, RM_SIB | (reg_field & 7) << 3);
        rle_emit_1(e, SIB_DISP32);
    } else {
        rle_emit_1(e, MOD_DISP32 | (reg_field & 7) << 3 | (index & 7));
        if ((index & 7) == RM_SIB)
            rle_emit_1(e, RM_SIB << 3 | RM_SIB);
    }
    rle_emit_4(e, disp);
}

/* mov dword [base + disp], value */
void rle_trace_store_imm(struct rle_emit *e, unsigned base, uint32_t disp, uint32_t value)
{
    bool small = disp < 0x80;
    rle_emit_1(e, REX | (base >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_MOV_STORE_IMM);
    rle_emit_1(e, (small ? MOD_DISP8 : MOD_DISP32) | (base & 7));
    if ((base & 7) == RM_SIB)
        rle_emit_1(e, RM_SIB << 3 | RM_SIB);
    if (small)
        rle_emit_1(e, disp);
    else
        rle_emit_4(e, disp);
    rle_emit_4(e, value);
}

/* reg = fs base: by instruction, or by the pointer to itself that thread-local storage begins with
 */
static void emit_fs_base(struct rle_emit *e, unsigned reg)
{
    if (rle_engine.has_fsgsbase) {
        rle_emit_1(e, PREFIX_REP);
        rle_emit_1(e, REX_W | (reg >= 8 ? REX_B : 0));
        rle_emit_1(e, OP_ESCAPE);
        rle_emit_1(e, OP_RDFSBASE);
        rle_emit_1(e, MOD_REG | (reg & 7));
        return;
    }
    rle_emit_1(e, PREFIX_FS);
    rle_emit_1(e, REX_W | (reg >= 8 ? REX_R : 0));
    rle_emit_1(e, OP_MOV_LOAD);
    rle_trace_thread_operand(e, reg, RLE_REG_NONE, 0);
}

/* ---- addresses ---- */

/* reg = address of the cluster's first byte; reg is none of its registers */
void rle_trace_address(struct rle_emit *e, unsigned reg, const struct rle_trace_cluster *c)
{
    if (rle_trace_is_static(c)) {
        rle_emit_mov_imm64(e, reg, (uint64_t)c->low);
    } else if (!c->thread_local_segment) {
        rle_emit_lea(e, reg, c->base, c->index, c->scale, (int32_t)c->low);
    } else {
        emit_fs_base(e, reg);
        if (c->base != RLE_REG_NONE)
            rle_emit_lea(e, reg, c->base, reg, 1, (int32_t)c->low);
        else
            rle_emit_lea(e, reg, reg, c->index, c->scale, (int32_t)c->low);
    }
}

/* ---- calls into the engine ---- */

void rle_trace_stage(struct rle_emit *e, enum rle_trace_request request, uint64_t argument)
{
    enum { WORD = sizeof(uint32_t) };
    rle_emit_store_tb_imm32(e, AREA(staged[0]), request);
    rle_emit_store_tb_imm32(e, AREA(staged[0]) + WORD, 0);
    rle_emit_store_tb_imm32(e, AREA(staged[1]), (uint32_t)argument);
    rle_emit_store_tb_imm32(e, AREA(staged[1]) + WORD, (uint32_t)(argument >> 32));
}

/* Not one of those that are counted down for. */
static bool is_asked_here(const struct rle_trace_cluster *c)
{
    return c->site && !(emission.counts_down && c->steps);
}

/* The clusters that belong in front of instruction i, and the registers they need. */
static unsigned clusters_at(unsigned i, uint16_t *ret_registers)
{
    unsigned end = emission.next;
    *ret_registers = 0;
    for (; end < emission.plan.n && emission.plan.cluster[end].at == i; end++)
        *ret_registers |= rle_trace_registers(&emission.plan.cluster[end]);
    return end;
}

static void begin_superblock(const struct rle_superblock *sb, bool in_order)
{
    emission.next = 0;
    rle_trace_begin_calls();
    emission.plan.n = 0;
    if (sb->fragment != UINT32_MAX)
        rle_trace_plan_clusters(sb, in_order, &emission.plan);
}

unsigned rle_trace_plan_sampled(const struct rle_superblock *sb)
{
    begin_superblock(sb, false);
    emission.counts_down = false;
    if (!sb->loops || emission.plan.n == 0)
        return 0; /* entering and leaving would cost more than spilling a scratch register */
    if (rle_trace_flags_dead(sb, 0))
        emission.counts_down = rle_trace_find_steps(sb, rle_trace_ways(), &emission.plan);
    return emission.counts_down && emission.plan.n > 1 ? 2 : 1;
}

void rle_trace_enter_sampled(struct rle_emit *e, const struct rle_superblock *sb)
{
    emission.counts_down &= sb->n_resident > 0;
    if (emission.counts_down)
        rle_trace_emit_arrival(e, sb, &emission.plan);
}

static void emit_clusters_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    uint16_t registers;
    unsigned end = clusters_at(i, &registers);
    while (emission.next < end && !is_asked_here(&emission.plan.cluster[emission.next]))
        emission.next++;
    if (end == emission.next)
        return; /* those that count down are asked on entering only */
    unsigned used = emission.counts_down ? 1 : 0;
    unsigned t = sb->n_resident > used
                     ? sb->resident[used]
                     : rle_scratch_take(e, sb, i, registers | rle_trace_bit(RLE_RCX));
    if (!rle_trace_flags_dead(sb, i) && !has_bmi2())
        rle_flags_take(e, sb, i);
    for (; emission.next < end; emission.next++)
        if (is_asked_here(&emission.plan.cluster[emission.next]))
            rle_trace_emit_sampled(e, sb, i, &emission.plan.cluster[emission.next], t);
}

void rle_trace_before_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if (sb->fragment == UINT32_MAX)
        return;
    if (i == 0 && emission.counts_down)
        rle_trace_emit_countdown(e, sb);
    rle_trace_emit_calls(e, sb, i);
    emit_clusters_sampled(e, sb, i);
}

/* ---- full ---- */

unsigned rle_trace_plan_full(const struct rle_superblock *sb)
{
    begin_superblock(sb, true);
    return sb->loops && emission.plan.n > 0 ? FULL_REGISTERS : 0;
}

static void emit_clusters_full(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    uint16_t registers;
    unsigned end = clusters_at(i, &registers);
    unsigned reg[FULL_REGISTERS];
    if (end == emission.next)
        return;
    for (unsigned r = 0; r < FULL_REGISTERS; r++)
        reg[r] = r < sb->n_resident ? sb->resident[r] : rle_scratch_take(e, sb, i, registers);
    rle_flags_take(e, sb, i);
    for (; emission.next < end; emission.next++)
        if (emission.plan.cluster[emission.next].site)
            rle_trace_emit_full(e, &emission.plan.cluster[emission.next], reg[0], reg[1]);
}

void rle_trace_before_full(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if (sb->fragment == UINT32_MAX)
        return;
    rle_trace_emit_calls(e, sb, i);
    emit_clusters_full(e, sb, i);
}
