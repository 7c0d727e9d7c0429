/* The code in front of accesses. Sampled: is the line wanted? If not (nearly always) that is all;
 * the record is written in the cold part. Full: records go through a cursor kept in a register,
 * moved in memory once a block, with one test for room a block. */
#include <cpuid.h>

#include "count/engine/emit.h"
#include "count/engine/engine.h"
#include "count/engine/trace.h"

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
    OP_MOVZX_16 = 0xB7,
    OP_MOV_STORE_IMM = 0xC7,
    OP_CMP_IMM8_8 = 0x80,
    CMP_DIGIT = 7,
    OP_JRCXZ = 0xE3,
    OP_RDFSBASE = 0xAE,
    OP_MOV_LOAD = 0x8B,
    VEX3 = 0xC4,
    OP_RORX = 0xF0,
    SIB_DISP32 = 0x25, /* no base, no index */
    MOD_REG = 0xC0,
    MOD_DISP32 = 0x80,
    MOD_DISP8 = 0x40,
    RM_SIB = 4,
    EVEX = 0x62,
    CPUID_FEATURES = 7,
    CPUID_EBX_BMI2 = 1 << 8,
};

enum { RECORD = sizeof(struct rle_trace_record), RING_REG = 0 /* resident number of the cursor */ };

static struct {
    struct rle_trace_plan plan;
    unsigned next;                        /* cluster of the plan */
    uint32_t pending;                     /* full: bytes of records behind the cursor register */
    const struct rle_superblock *scanned; /* a scan was staged in front of its instruction … */
    unsigned scanned_at;                  /* … with this index */
    uint64_t scanned_sites;
    bool room_checked; /* full: in this block */
    int has_bmi2;      /* 0 unknown, 1 yes, -1 no */
} emission;

#define AREA(field)                                                                                \
    (RLE_TB_INSTRUMENT + (uint32_t) __builtin_offsetof(struct rle_trace_slot, field))

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
static void thread_table_operand(struct rle_emit *e, unsigned reg_field, unsigned index,
                                 uint32_t disp)
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
    thread_table_operand(e, CMP_DIGIT, index, disp);
    rle_emit_1(e, 0);
}

/* movzx ecx, byte gs:[index + disp] */
static void emit_rcx_table(struct rle_emit *e, unsigned index, uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    rle_emit_1(e, REX | (index != RLE_REG_NONE && index >= 8 ? REX_B : 0));
    rle_emit_1(e, OP_ESCAPE);
    rle_emit_1(e, OP_MOVZX_8);
    thread_table_operand(e, RLE_RCX, index, disp);
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
    thread_table_operand(e, reg, RLE_REG_NONE, 0);
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

/* Where the table for a cluster's width begins; 0: no table is wide enough. */
static uint32_t table_of(const struct rle_trace_cluster *c)
{
    unsigned w = c->width <= 16 ? 0 : c->width <= 64 ? 1 : 2;
    return c->width > RLE_TRACE_WIDTH_MAX ? 0 : AREA(wanted) + w * RLE_TRACE_GRAINS;
}

/* ---- calls into the engine ---- */

static void stage(struct rle_emit *e, enum rle_trace_request request, uint64_t argument)
{
    enum { WORD = sizeof(uint32_t) };
    rle_emit_store_tb_imm32(e, AREA(staged[0]), request);
    rle_emit_store_tb_imm32(e, AREA(staged[0]) + WORD, 0);
    rle_emit_store_tb_imm32(e, AREA(staged[1]), (uint32_t)argument);
    rle_emit_store_tb_imm32(e, AREA(staged[1]) + WORD, (uint32_t)(argument >> 32));
}

static unsigned cursor_register(const struct rle_superblock *sb)
{
    return sb->n_resident ? sb->resident[RING_REG] : RLE_REG_NONE;
}

/* Full mode: let memory know the records behind the cursor register. */
static void commit(struct rle_emit *e, unsigned cursor)
{
    if (cursor == RLE_REG_NONE || emission.pending == 0)
        return;
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

static const struct rle_superblock_block *block_of(const struct rle_superblock *sb, unsigned i)
{
    unsigned b = 0;
    while (b + 1 < sb->n_blocks && sb->blocks[b + 1].first <= i)
        b++;
    return &sb->blocks[b];
}

static struct rle_trace_site site_of(const struct rle_superblock *sb, unsigned i,
                                     const struct rle_mem *m)
{
    const struct rle_superblock_block *block = block_of(sb, i);
    uint8_t kind = !(m->access & RLE_WRITE)        ? RLE_TRACE_LOAD
                   : sb->insns[i].attrs & RLE_A_NT ? RLE_TRACE_NT_STORE
                   : m->access & RLE_READ          ? RLE_TRACE_UPDATE
                                                   : RLE_TRACE_STORE;
    return (struct rle_trace_site){.block = block->record,
                                   .size = m->size,
                                   .insn = (uint16_t)(i - block->first),
                                   .kind = kind};
}

/* The sites of a repeated string instruction: that at rsi in the high half, that at rdi in the low.
 */
static uint64_t string_sites(const struct rle_superblock *sb, unsigned i)
{
    const struct rle_insn *insn = &sb->insns[i];
    uint64_t sites = 0;
    for (unsigned k = 0; k < insn->n_mem && k < RLE_MEM_MAX; k++) {
        const struct rle_mem *m = &insn->mem[k];
        if (m->segment != RLE_SEG_NONE || insn->attrs & RLE_A_ADDR32) {
            rle_trace_skip();
            continue;
        }
        struct rle_trace_site site = site_of(sb, i, m);
        site.flags = RLE_TRACE_COUNTED;
        uint64_t index = rle_trace_add_sites(&site, 1);
        sites |= m->base == RLE_RSI ? index << 32 : index;
    }
    return sites;
}

static void emit_string(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    uint64_t sites = string_sites(sb, i);
    if (!sites)
        return;
    if (sb->insns[i].attrs & RLE_A_SCAN) {
        rle_emit_store_tb(e, RLE_RCX, AREA(staged[2]));
        emission.scanned = sb;
        emission.scanned_at = i;
        emission.scanned_sites = sites;
        return;
    }
    stage(e, RLE_TRACE_STRING, sites);
    commit(e, cursor_register(sb));
    call(e, cursor_register(sb));
}

/* Behind a scan, which is in front of the next instruction. */
static void emit_scanned(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    bool here = emission.scanned == sb && i == emission.scanned_at + 1;
    emission.scanned = here || i == 0 ? NULL : emission.scanned;
    if (!here)
        return;
    stage(e, RLE_TRACE_SCANNED, emission.scanned_sites);
    commit(e, cursor_register(sb));
    call(e, cursor_register(sb));
}

/* vmovdqu gs:[disp], vector register of 32 bytes (VEX) or 64 (EVEX) */
static void emit_store_vector(struct rle_emit *e, bool evex, unsigned reg, uint32_t disp)
{
    rle_emit_1(e, PREFIX_GS);
    if (evex) {
        rle_emit_1(e, EVEX);
        rle_emit_1(e, (reg & 8 ? 0 : 0x80) | 0x60 | (reg & 16 ? 0 : 0x10) | 1);
        rle_emit_1(e, 0x7E); /* W0, no vvvv, F3 */
        rle_emit_1(e, 0x48); /* 512 bits */
    } else {
        rle_emit_1(e, 0xC5);
        rle_emit_1(e, (reg & 8 ? 0 : 0x80) | 0x7E); /* 256 bits, F3 */
    }
    rle_emit_1(e, 0x7F);
    thread_table_operand(e, reg, RLE_REG_NONE, disp);
}

/* kmovw gs:[disp], k */
static void emit_store_opmask(struct rle_emit *e, unsigned k, uint32_t disp)
{
    static const uint8_t kmovw[] = {PREFIX_GS, 0xC5, 0xF8, 0x91};
    rle_emit_bytes(e, kmovw, sizeof(kmovw));
    thread_table_operand(e, k, RLE_REG_NONE, disp);
}

static bool is_evex(const struct rle_insn *insn)
{
    const uint8_t *byte = (const uint8_t *)insn->pc;
    while (*byte == PREFIX_FS || *byte == 0x2E || *byte == 0x36 || *byte == 0x3E || *byte == 0x26 ||
           *byte == 0x67)
        byte++;
    return *byte == EVEX;
}

static void emit_gather(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    const struct rle_insn *insn = &sb->insns[i];
    const struct rle_mem *m = &insn->mem[0];
    bool evex = is_evex(insn);
    if (m->segment != RLE_SEG_NONE || insn->attrs & RLE_A_ADDR32 || m->disp != (int32_t)m->disp) {
        rle_trace_skip();
        return;
    }
    struct rle_trace_site site = site_of(sb, i, m);
    site.size = m->elem;
    uint32_t index = rle_trace_add_sites(&site, 1);
    if (!index)
        return;
    struct rle_trace_gather g = {m->scale, m->count, m->index_size, evex ? 0 : m->elem};
    uint32_t packed;
    __builtin_memcpy(&packed, &g, sizeof(packed));
    unsigned t = rle_scratch_take(e, sb, i, bit(m->base));
    rle_emit_lea(e, t, m->base, RLE_REG_NONE, 0, (int32_t)m->disp);
    rle_emit_store_tb(e, t, AREA(staged[2]));
    emit_store_vector(e, evex, m->index, AREA(vector[0]));
    if (evex)
        emit_store_opmask(e, m->mask, AREA(vector[1]));
    else
        emit_store_vector(e, false, m->mask, AREA(vector[1]));
    stage(e, RLE_TRACE_GATHER, index);
    rle_emit_store_tb_imm32(e, AREA(staged[3]), packed);
    commit(e, cursor_register(sb));
    call(e, cursor_register(sb));
}

static void emit_calls(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    const struct rle_insn *insn = &sb->insns[i];
    emit_scanned(e, sb, i);
    if (insn->n_mem == 0)
        return;
    if (insn->attrs & RLE_A_REP && insn->mem[0].form == RLE_MEM_STRING)
        emit_string(e, sb, i);
    else if (insn->mem[0].form == RLE_MEM_GATHER)
        emit_gather(e, sb, i);
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

/* The cold part: write the record, then go back. rcx is the only register used beside t; it has
 * been saved and overwritten by the hot part, or it has not. Flags are left alone. */
static void emit_record(struct rle_emit *e, const struct rle_trace_cluster *c, rle_fixup from,
                        unsigned t, bool rcx_saved, uint64_t back)
{
    rle_emit_cold(e, true);
    rle_emit_here(e, from);
    if (!rcx_saved)
        rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    else if (registers_of(c) & bit(RLE_RCX))
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    emit_address(e, t, c);
    rle_emit_load_tb(e, RLE_RCX, AREA(cursor));
    rle_emit_store(e, t, RLE_RCX, 0);
    emit_store_imm(e, RLE_RCX, sizeof(uint64_t), c->site);
    rle_emit_lea(e, RLE_RCX, RLE_RCX, RLE_REG_NONE, 0, RECORD);
    rle_emit_store_tb(e, RLE_RCX, AREA(cursor));
    rle_emit_1(e, OP_ESCAPE); /* movzx ecx, cx: 0 at the limit */
    rle_emit_1(e, OP_MOVZX_16);
    rle_emit_1(e, MOD_REG | RLE_RCX << 3 | RLE_RCX);
    rle_fixup room = emit_jump_unless_rcx_zero(e);
    stage(e, RLE_TRACE_ROOM, 0);
    rle_emit_callout(e);
    rle_emit_here(e, room);
    if (!rcx_saved)
        rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    rle_emit_patch(e, rle_emit_jmp(e), back);
    rle_emit_cold(e, false);
}

static unsigned static_grain(const struct rle_trace_cluster *c)
{
    return (uint64_t)c->low >> RLE_TRACE_GRAIN_SHIFT & (RLE_TRACE_GRAINS - 1);
}

/* Flags are free to change. */
static void emit_test(struct rle_emit *e, const struct rle_trace_cluster *c, unsigned t)
{
    uint32_t table = table_of(c);
    if (is_static(c)) {
        emit_cmp_table(e, RLE_REG_NONE, table + static_grain(c));
    } else {
        emit_address(e, t, c);
        rle_emit_shr(e, false, t, RLE_TRACE_GRAIN_SHIFT);
        emit_low_byte(e, t);
        emit_cmp_table(e, t, table);
    }
    rle_fixup wanted = rle_emit_jcc(e, RLE_CC_NE);
    emit_record(e, c, wanted, t, false, rle_emit_address(e));
}

/* Flags stay as they are. */
static void emit_test_without_flags(struct rle_emit *e, const struct rle_trace_cluster *c,
                                    unsigned t)
{
    uint32_t table = table_of(c);
    if (!is_static(c)) {
        emit_address(e, t, c);
        emit_rorx(e, t, RLE_TRACE_GRAIN_SHIFT);
        emit_low_byte(e, t);
    }
    rle_emit_store_tb(e, RLE_RCX, AREA(spill[0]));
    if (is_static(c))
        emit_rcx_table(e, RLE_REG_NONE, table + static_grain(c));
    else
        emit_rcx_table(e, t, table);
    rle_fixup wanted = emit_jump_unless_rcx_zero(e);
    uint64_t back = rle_emit_address(e);
    rle_emit_load_tb(e, RLE_RCX, AREA(spill[0]));
    emit_record(e, c, wanted, t, true, back);
}

static bool flags_are_dead(const struct rle_superblock *sb, unsigned i)
{
    return (sb->points[i].dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS;
}

static void emit_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                         const struct rle_trace_cluster *c, unsigned t)
{
    if (table_of(c) == 0) { /* too wide for the tables: always recorded */
        rle_fixup always = rle_emit_jmp(e);
        emit_record(e, c, always, t, false, rle_emit_address(e));
    } else if (flags_are_dead(sb, i) || e->flags_saved) {
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
    emission.scanned = NULL;
    emission.room_checked = false;
    emission.plan.n = 0;
    if (sb->fragment != UINT32_MAX)
        rle_trace_plan_clusters(sb, in_order, &emission.plan);
}

unsigned rle_trace_plan_sampled(const struct rle_superblock *sb)
{
    begin_superblock(sb, false);
    return 0;
}

void rle_trace_before_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    if (sb->fragment == UINT32_MAX)
        return;
    emit_calls(e, sb, i);
    uint16_t registers;
    unsigned end = clusters_at(i, &registers);
    if (end == emission.next)
        return;
    unsigned t = rle_scratch_take(e, sb, i, registers | bit(RLE_RCX));
    if (!flags_are_dead(sb, i) && !has_bmi2())
        rle_flags_take(e, sb, i);
    for (; emission.next < end; emission.next++)
        if (emission.plan.cluster[emission.next].site)
            emit_sampled(e, sb, i, &emission.plan.cluster[emission.next], t);
}

/* ---- full ---- */

unsigned rle_trace_plan_full(const struct rle_superblock *sb)
{
    begin_superblock(sb, true);
    return emission.plan.n > 0 ? 1 : 0;
}

void rle_trace_enter_full(struct rle_emit *e, const struct rle_superblock *sb)
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
    if (cursor != RLE_REG_NONE && pending > 0) {
        rle_emit_lea(e, cursor, cursor, RLE_REG_NONE, 0, pending);
        rle_emit_store_tb(e, cursor, AREA(cursor));
    }
    stage(e, RLE_TRACE_ROOM, 0);
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
    const struct rle_superblock_block *block = block_of(sb, i);
    unsigned cursor = cursor_register(sb);
    uint16_t registers;
    if (i == block->first)
        emission.room_checked = !has_clusters(block);
    emit_calls(e, sb, i);
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
