/* The code in front of accesses. Sampled: see trace_filter.c. Full: records go through a cursor
 * kept in a register, moved in memory once a block, with one test for room a block. */
#include <cpuid.h>

#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"

/* Encodings: Intel SDM volume 2. */
enum {
    PREFIX_FS = 0x64,
    PREFIX_REP = 0xF3,
    REX = 0x40,
    REX_W = 0x48,
    REX_R = 4,
    REX_B = 1,
    OP_ESCAPE = 0x0F,
    OP_MOV_STORE_IMM = 0xC7,
    OP_RDFSBASE = 0xAE,
    OP_MOV_LOAD = 0x8B,
    SIB_DISP32 = 0x25, /* no base, no index */
    MOD_REG = 0xC0,
    MOD_DISP32 = 0x80,
    MOD_DISP8 = 0x40,
    RM_SIB = 4,
    CPUID_FEATURES = 7,
    CPUID_EBX_BMI2 = 1 << 8,
};

enum { RECORD = sizeof(struct rle_trace_record) };

static struct {
    struct rle_trace_plan plan;
    unsigned next;     /* cluster of the plan */
    uint32_t pending;  /* full: bytes of records behind the cursor register */
    bool in_order;     /* full: the resident register holds the cursor; sampled: addresses */
    bool room_checked; /* in this block */
    int has_bmi2;      /* 0 unknown, 1 yes, -1 no */
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

static unsigned cursor_register(const struct rle_superblock *sb)
{
    if (emission.in_order)
        return sb->n_resident ? sb->resident[0] : RLE_REG_NONE;
    return RLE_REG_NONE;
}

/* Let memory know the records behind the cursor register. */
static void commit(struct rle_emit *e, unsigned cursor)
{
    if (cursor == RLE_REG_NONE)
        return;
    if (emission.pending)
        rle_emit_lea(e, cursor, cursor, RLE_REG_NONE, 0, (int32_t)emission.pending);
    rle_emit_store_tb(e, cursor, AREA(cursor));
    emission.pending = 0;
}

static void call(struct rle_emit *e, unsigned cursor)
{
    rle_emit_callout(e);
    if (cursor != RLE_REG_NONE)
        rle_emit_load_tb(e, cursor, AREA(cursor));
}

void rle_trace_call(struct rle_emit *e, const struct rle_superblock *sb)
{
    commit(e, cursor_register(sb));
    call(e, cursor_register(sb));
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
    emission.pending = 0;
    rle_trace_begin_calls();
    emission.room_checked = false;
    emission.in_order = in_order;
    emission.plan.n = 0;
    if (sb->fragment != UINT32_MAX)
        rle_trace_plan_clusters(sb, in_order, &emission.plan);
}

unsigned rle_trace_plan_sampled(const struct rle_superblock *sb)
{
    begin_superblock(sb, false);
    if (!sb->loops || emission.plan.n == 0)
        return 0; /* entering and leaving would cost more than spilling a scratch register */
    return 1;
}

/* ---- the cursor ---- */

/* Once a block, where flags are dead if anywhere: has the cursor come to the limit? */
static void emit_room_check(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    unsigned cursor = cursor_register(sb);
    unsigned reg = cursor;
    if (reg == RLE_REG_NONE) {
        reg = rle_scratch_take(e, sb, i, 0);
        rle_emit_load_tb(e, reg, AREA(cursor));
    }
    rle_flags_take(e, sb, i);
    rle_emit_alu_tb(e, RLE_CMP, true, reg, AREA(limit));
    rle_fixup full = rle_emit_jcc(e, RLE_CC_AE);
    uint64_t back = rle_emit_address(e);
    int32_t pending = (int32_t)emission.pending;
    rle_emit_cold(e, true);
    rle_emit_here(e, full);
    if (cursor != RLE_REG_NONE && pending > 0)
        rle_emit_lea(e, cursor, cursor, RLE_REG_NONE, 0, pending);
    if (cursor != RLE_REG_NONE)
        rle_emit_store_tb(e, cursor, AREA(cursor));
    rle_trace_stage(e, RLE_TRACE_ROOM, 0);
    call(e, cursor);
    if (cursor != RLE_REG_NONE && pending > 0)
        rle_emit_lea(e, cursor, cursor, RLE_REG_NONE, 0, -pending);
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_emit_cold(e, false);
    emission.room_checked = true;
}

/* Is this the place in its block for the check: the first with dead flags, else the last of all? */
static bool is_place_for_check(const struct rle_superblock *sb,
                               const struct rle_superblock_block *block, unsigned i)
{
    return !emission.room_checked &&
           (rle_trace_flags_dead(sb, i) || i + 1 == (unsigned)block->first + block->count);
}

static void emit_clusters_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    uint16_t registers;
    unsigned end = clusters_at(i, &registers);
    if (end == emission.next)
        return;
    unsigned t = sb->n_resident ? sb->resident[0]
                                : rle_scratch_take(e, sb, i, registers | rle_trace_bit(RLE_RCX));
    if (!rle_trace_flags_dead(sb, i) && !has_bmi2())
        rle_flags_take(e, sb, i);
    for (; emission.next < end; emission.next++)
        if (emission.plan.cluster[emission.next].site)
            rle_trace_emit_sampled(e, sb, i, &emission.plan.cluster[emission.next], t);
}

void rle_trace_before_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if (sb->fragment == UINT32_MAX)
        return;
    rle_trace_emit_calls(e, sb, i);
    emit_clusters_sampled(e, sb, i);
}

/* ---- full ---- */

unsigned rle_trace_plan_full(const struct rle_superblock *sb)
{
    begin_superblock(sb, true);
    return emission.plan.n > 0 ? 1 : 0;
}

void rle_trace_enter(struct rle_emit *e, const struct rle_superblock *sb)
{
    if (cursor_register(sb) != RLE_REG_NONE)
        rle_emit_load_tb(e, cursor_register(sb), AREA(cursor));
}

/* One record a cluster, behind the cursor register if there is one. */
static void emit_full(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                      const struct rle_trace_cluster *c, unsigned t, unsigned spare)
{
    unsigned cursor = cursor_register(sb);
    (void)i;
    rle_trace_address(e, t, c);
    if (cursor != RLE_REG_NONE) {
        rle_emit_store(e, t, cursor, (int32_t)emission.pending);
        rle_trace_store_imm(e, cursor, emission.pending + (uint32_t)sizeof(uint64_t), c->site);
        emission.pending += RECORD;
        return;
    }
    rle_emit_load_tb(e, spare, AREA(cursor));
    rle_emit_store(e, t, spare, 0);
    rle_trace_store_imm(e, spare, sizeof(uint64_t), c->site);
    rle_emit_lea(e, spare, spare, RLE_REG_NONE, 0, RECORD);
    rle_emit_store_tb(e, spare, AREA(cursor));
}

static bool has_clusters(const struct rle_superblock_block *block)
{
    for (unsigned k = 0; k < emission.plan.n; k++) {
        unsigned at = emission.plan.cluster[k].at;
        if (at >= block->first && at < (unsigned)block->first + block->count)
            return true;
    }
    return false;
}

void rle_trace_before_full(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if (sb->fragment == UINT32_MAX)
        return;
    const struct rle_superblock_block *block = rle_trace_block_of(sb, i);
    unsigned cursor = cursor_register(sb);
    uint16_t registers;
    if (i == block->first)
        emission.room_checked = !has_clusters(block);
    rle_trace_emit_calls(e, sb, i);
    unsigned end = clusters_at(i, &registers);
    if (end > emission.next) {
        unsigned t = rle_scratch_take(e, sb, i, registers);
        unsigned spare =
            cursor == RLE_REG_NONE ? rle_scratch_take(e, sb, i, registers) : RLE_REG_NONE;
        for (; emission.next < end; emission.next++)
            if (emission.plan.cluster[emission.next].site)
                emit_full(e, sb, i, &emission.plan.cluster[emission.next], t, spare);
    }
    if (i + 1 == (unsigned)block->first + block->count)
        commit(e, cursor);
    if (is_place_for_check(sb, block, i))
        emit_room_check(e, sb, i);
}
