/* The code in front of accesses. Sampled: is the line wanted? If not (nearly always) that is all;
 * the record is written in the cold part. Full: records go through a cursor kept in a register,
 * moved in memory once a block, with one test for room a block. */
#include <cpuid.h>

#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"
#include "count/engine/trace_emit.h"

/* Encodings: Intel SDM volume 2. */
enum {
    PREFIX_GS = 0x65,
    PREFIX_FS = 0x64,
    PREFIX_REP = 0xF3,
    REX = 0x40,
    REX_W = 0x48,
    REX_R = 4,
    REX_X = 2,
    REX_B = 1,
    OP_ESCAPE = 0x0F,
    OP_MOVZX_8 = 0xB6,
    OP_MOV_STORE_IMM = 0xC7,
    OP_CMP_IMM8_8 = 0x80,
    CMP_DIGIT = 7,
    OP_JRCXZ = 0xE3,
    OP_RDFSBASE = 0xAE,
    OP_MOV_LOAD = 0x8B,
    OP_MOV_STORE = 0x89,
    OP_CMP_LOAD = 0x3B,
    OP_BT = 0xA3,
    VEX3 = 0xC4,
    OP_RORX = 0xF0,
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

static uint16_t bit(unsigned reg)
{
    return reg < 16 ? (uint16_t)(1u << reg) : 0;
}

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

/* mov dword [base + disp], value */
static void emit_store_imm(struct rle_emit *e, unsigned base, uint32_t disp, uint32_t value)
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

static bool is_static(const struct rle_trace_cluster *c)
{
    return c->base == RLE_REG_NONE && c->index == RLE_REG_NONE && !c->thread_local_segment;
}

static uint16_t registers_of(const struct rle_trace_cluster *c)
{
    return bit(c->base) | bit(c->index);
}

/* reg = address of the cluster's first byte; reg is none of its registers */
static void emit_address(struct rle_emit *e, unsigned reg, const struct rle_trace_cluster *c)
{
    if (is_static(c)) {
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

/* ---- sampled ---- */

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

/* opcode reg, gs:[class*8 + last] */
static void emit_last(struct rle_emit *e, unsigned opcode, unsigned reg, unsigned class)
{
    enum { SCALE_8 = 3, NO_BASE = 5 };
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX_W | (reg >= 8 ? REX_R : 0) | (class >= 8 ? REX_X : 0));
    rle_emit_1(e, opcode);
    rle_emit_1(e, (reg & 7) << 3 | RM_SIB);
    rle_emit_1(e, SCALE_8 << 6 | (class & 7) << 3 | NO_BASE);
    rle_emit_4(e, AREA(last));
}

/* bt reg64, bit64 */
static void emit_bit_test(struct rle_emit *e, unsigned reg, unsigned which)
{
    rle_emit_1(e, REX_W | (which >= 8 ? REX_R : 0) | (reg >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_BT);
    rle_emit_1(e, MOD_REG | (which & 7) << 3 | (reg & 7));
}

/* Forget the last line of the class of address t + offset. Changes rcx. */
static void emit_forget(struct rle_emit *e, unsigned t, unsigned offset)
{
    rle_emit_lea(e, RLE_RCX, t, RLE_REG_NONE, 0, (int32_t)offset);
    rle_emit_shr(e, false, RLE_RCX, RLE_TRACE_LINE_SHIFT);
    rle_emit_alu_imm(e, RLE_AND, false, RLE_RCX, RLE_TRACE_CLASSES - 1);
    emit_last(e, OP_MOV_STORE_IMM, 0, RLE_RCX);
    rle_emit_4(e, 0);
}

/* All lines that a cluster may touch. */
static void emit_forget_all(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t)
{
    for (unsigned byte = 0; byte < c->width; byte += RLE_TRACE_LINE)
        emit_forget(e, t, byte);
    emit_forget(e, t, c->width - 1u);
}

/* A record: t is the address, the cursor is in rcx. Changes flags; returns the way taken at the
 * limit. */
static rle_fixup emit_write(struct rle_emit *e, unsigned t, uint32_t site)
{
    rle_emit_store(e, t, RLE_RCX, 0);
    emit_store_imm(e, RLE_RCX, sizeof(uint64_t), site);
    rle_emit_lea(e, RLE_RCX, RLE_RCX, RLE_REG_NONE, 0, RECORD);
    rle_emit_store_tb(e, RLE_RCX, AREA(cursor));
    rle_emit_alu_tb(e, RLE_CMP, true, RLE_RCX, AREA(limit));
    return rle_emit_jcc(e, RLE_CC_AE);
}

/* Ways from the filters to where they lead. */
struct ways {
    rle_fixup done[3];
    unsigned n_done;
    rle_fixup write;
    bool has_write;
};

/* Is the line at t wanted indeed, and not the last one of its class? Changes rcx, r2, flags. */
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
    rle_emit_shr(e, true, RLE_RCX, RLE_TRACE_LINE_SHIFT);
    rle_emit_load_tb(e, r2, AREA(classes));
    emit_bit_test(e, r2, RLE_RCX);
    ways->done[ways->n_done++] = rle_emit_jcc(e, RLE_CC_AE);
    rle_emit_mov(e, r2, RLE_RCX);
    rle_emit_alu_imm(e, RLE_AND, false, r2, RLE_TRACE_CLASSES - 1);
    rle_emit_lea(e, RLE_RCX, RLE_RCX, RLE_RCX, 1, 1);
    emit_last(e, OP_CMP_LOAD, RLE_RCX, r2);
    ways->done[ways->n_done++] = rle_emit_jcc(e, RLE_CC_E);
    if (!c->writes) {
        rle_emit_lea(e, RLE_RCX, RLE_RCX, RLE_REG_NONE, 0, -1);
        emit_last(e, OP_CMP_LOAD, RLE_RCX, r2);
        ways->done[ways->n_done++] = rle_emit_jcc(e, RLE_CC_E);
    }
    emit_last(e, OP_MOV_STORE, RLE_RCX, r2);
    if (crossing) {
        ways->has_write = true;
        ways->write = rle_emit_jmp(e);
        rle_emit_here(e, crossing);
    }
}

/* The cold part: what is wanted and new becomes a record. rcx has been saved and overwritten by the
 * hot part, or it has not; flags are free, or they are saved here. */
static void emit_record(struct rle_emit *e, const struct rle_trace_cluster *c, rle_fixup from,
                        unsigned t, bool rcx_saved, bool flags_free, uint64_t back)
{
    unsigned r2 = t == RLE_RDX ? RLE_RBX : RLE_RDX;
    struct ways ways = {.n_done = 0};
    rle_emit_cold(e, true);
    rle_emit_here(e, from);
    if (!rcx_saved)
        rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    else if (registers_of(c) & bit(RLE_RCX))
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    if (!flags_free)
        rle_flags_save(e);
    emit_address(e, t, c);
    rle_emit_store_tb(e, r2, AREA(spill[1]));
    bool filtered = !c->always && !is_too_wide(c);
    if (filtered)
        emit_filters(e, c, t, r2, &ways);
    if (!filtered || c->width > 1)
        emit_forget_all(e, c, t);
    if (ways.has_write)
        rle_emit_here(e, ways.write);
    rle_emit_load_tb(e, RLE_RCX, AREA(cursor));
    rle_fixup full = emit_write(e, t, c->site);
    uint64_t done = rle_emit_address(e);
    for (unsigned i = 0; i < ways.n_done; i++)
        rle_emit_here(e, ways.done[i]);
    rle_emit_load_tb(e, r2, AREA(spill[1]));
    if (!flags_free)
        rle_flags_restore(e);
    if (!rcx_saved)
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_emit_here(e, full);
    rle_trace_stage(e, RLE_TRACE_ROOM, 0);
    rle_emit_callout(e);
    rle_emit_patch(e, rle_emit_jmp(e), done);
    rle_emit_cold(e, false);
}

static uint32_t static_grain(const struct rle_trace_cluster *c)
{
    return (uint64_t)c->low >> RLE_TRACE_GRAIN_SHIFT & (RLE_TRACE_GRAINS - 1);
}

/* Flags are free to change. */
static void emit_test(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t)
{
    if (is_static(c)) {
        emit_cmp_table(e, RLE_REG_NONE, table_of(c) + static_grain(c));
    } else {
        emit_address(e, t, c);
        rle_emit_shr(e, false, t, RLE_TRACE_GRAIN_SHIFT);
        emit_low_byte(e, t);
        emit_cmp_table(e, t, table_of(c));
    }
    rle_fixup wanted = rle_emit_jcc(e, RLE_CC_NE);
    emit_record(e, c, wanted, t, false, true, rle_emit_address(e));
}

/* Flags stay as they are. */
static void emit_test_without_flags(struct rle_emit *e, const struct rle_trace_cluster *c,
                                    unsigned t)
{
    if (!is_static(c)) {
        emit_address(e, t, c);
        emit_rorx(e, t, RLE_TRACE_GRAIN_SHIFT);
        emit_low_byte(e, t);
    }
    rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    if (is_static(c))
        emit_table_byte(e, RLE_RCX, RLE_REG_NONE, table_of(c) + static_grain(c));
    else
        emit_table_byte(e, RLE_RCX, t, table_of(c));
    rle_fixup wanted = emit_jump_unless_rcx_zero(e);
    uint64_t back = rle_emit_address(e);
    rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    emit_record(e, c, wanted, t, true, false, back);
}

static bool flags_are_dead(const struct rle_superblock *sb, unsigned i)
{
    return (sb->points[i].dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS;
}

static void emit_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                         const struct rle_trace_cluster *c, unsigned t)
{
    bool free_flags = flags_are_dead(sb, i) || e->flags_saved;
    if (is_too_wide(c)) { /* always recorded */
        rle_fixup always = rle_emit_jmp(e);
        emit_record(e, c, always, t, false, free_flags, rle_emit_address(e));
    } else if (free_flags) {
        emit_test(e, c, t);
    } else {
        emit_test_without_flags(e, c, t);
    }
}

/* The clusters that belong in front of instruction i, and the registers they need. */
static unsigned clusters_at(unsigned i, uint16_t *ret_registers)
{
    unsigned end = emission.next;
    *ret_registers = 0;
    for (; end < emission.plan.n && emission.plan.cluster[end].at == i; end++)
        *ret_registers |= registers_of(&emission.plan.cluster[end]);
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
           (flags_are_dead(sb, i) || i + 1 == (unsigned)block->first + block->count);
}

static void emit_clusters_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    uint16_t registers;
    unsigned end = clusters_at(i, &registers);
    if (end == emission.next)
        return;
    unsigned t =
        sb->n_resident ? sb->resident[0] : rle_scratch_take(e, sb, i, registers | bit(RLE_RCX));
    if (!flags_are_dead(sb, i) && !has_bmi2())
        rle_flags_take(e, sb, i);
    for (; emission.next < end; emission.next++)
        if (emission.plan.cluster[emission.next].site)
            emit_sampled(e, sb, i, &emission.plan.cluster[emission.next], t);
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
    emit_address(e, t, c);
    if (cursor != RLE_REG_NONE) {
        rle_emit_store(e, t, cursor, (int32_t)emission.pending);
        emit_store_imm(e, cursor, emission.pending + (uint32_t)sizeof(uint64_t), c->site);
        emission.pending += RECORD;
        return;
    }
    rle_emit_load_tb(e, spare, AREA(cursor));
    rle_emit_store(e, t, spare, 0);
    emit_store_imm(e, spare, sizeof(uint64_t), c->site);
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
