#include "count/engine/branch.h"

#include <sys/mman.h>

#include "count/engine/arena.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"
#include "count/engine/superblock.h"
#include "count/engine/sys.h"

enum {
    INDEX_BITS = 16,
    INDEX_BYTES = INDEX_BITS / 8,
    ENTRIES = 1 << INDEX_BITS,
    TABLES = 5,
    WRITERS_MAX = 2 * ENTRIES,
    PREFIX_FS = 0x64,
    PREFIX_ADDR32 = 0x67,
    OP_MOV_LOAD = 0x8B,
    OP_PUSH_IMM32 = 0x68,
    OP_CALL = 0xE8,
    OP_RET = 0xC3,
    INT3 = 0xCC,
    NOP = 0x90,
    WORD_BYTES = 8,
    JMP_TB_BYTES = 8,
};

#define TABLE_BYTES   (ENTRIES * sizeof(uint64_t))
#define TABLE_HIGHEST 0x7E000000ul
#define TABLE_LOWEST  0x01000000ul
#define TABLE_STEP    0x02000000ul

/* Both tables; for entries of the first one that only one call leads to, where that call's
 * restoring instruction is (rle_emit_call; 0: none or several); and, with two tables' room, where
 * those are that write to their entry. */
static uint64_t *tables; /* [TABLES][ENTRIES] */
static uint32_t n_writers;
static bool no_writers;

static uint64_t *table_of(enum rle_via via)
{
    return tables + (via == RLE_VIA_RETURN ? 0 : ENTRIES);
}

static uint64_t miss_of(enum rle_via via)
{
    return via == RLE_VIA_RETURN ? (uint64_t)rle_return_unknown : (uint64_t)rle_jump_miss;
}

bool rle_branch_tables_init(void)
{
    for (uint64_t at = TABLE_HIGHEST; at >= TABLE_LOWEST; at -= TABLE_STEP) {
        long got = rle_sys6(SYS_mmap, (long)at, TABLES * TABLE_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != (long)at) {
            if (!rle_is_error(got)) /* a kernel that does not know NOREPLACE */
                rle_sys3(SYS_munmap, got, TABLES * TABLE_BYTES, 0);
            continue;
        }
        tables = (uint64_t *)at;
        for (unsigned i = 0; i < ENTRIES; i++) {
            table_of(RLE_VIA_RETURN)[i] = miss_of(RLE_VIA_RETURN);
            table_of(RLE_VIA_JUMP)[i] = miss_of(RLE_VIA_JUMP);
        }
        return true;
    }
    return false;
}

bool rle_branch_tables_overlap(uint64_t low, uint64_t high)
{
    return tables && low < (uint64_t)tables + TABLES * TABLE_BYTES && high > (uint64_t)tables;
}

void rle_branch_table_set(uint64_t pc, enum rle_via via, uint64_t at)
{
    __atomic_store_n(&table_of(via)[pc & (ENTRIES - 1)], at, __ATOMIC_RELEASE);
}

bool rle_branch_table_free(uint64_t pc, enum rle_via via)
{
    return table_of(via)[pc & (ENTRIES - 1)] == miss_of(via);
}

void rle_branch_table_clear(uint64_t pc, enum rle_via via, uint64_t at)
{
    if (table_of(via)[pc & (ENTRIES - 1)] == at)
        rle_branch_table_set(pc, via, miss_of(via));
}

static uint64_t *sole_call(uint64_t pc)
{
    return &tables[2 * ENTRIES + (pc & (ENTRIES - 1))];
}

static uint64_t *writers(void)
{
    return &tables[3 * ENTRIES];
}

/* The instruction's bytes from ModRM on, with the RIP-relative operand at `target` as an absolute
 * address: one byte longer, and only for targets below 2 GiB. */
static void emit_absolute(struct rle_emit *e, const struct rle_insn *insn, unsigned modrm,
                          uint64_t target)
{
    enum { MODRM_REG = 0x38, RM_SIB = 4, SIB_ABSOLUTE = 0x25, DISP_BYTES = 4 };
    unsigned rest = insn->modrm_at + 1u + DISP_BYTES;
    if (target != (uint32_t)target || (int32_t)target < 0)
        rle_die("operand out of reach", insn->pc);
    rle_emit_1(e, (modrm & MODRM_REG) | RM_SIB);
    rle_emit_1(e, SIB_ABSOLUTE);
    rle_emit_4(e, (uint32_t)target);
    rle_emit_bytes(e, (const uint8_t *)insn->pc + rest, insn->length - rest);
}

static bool fits_32(int64_t disp)
{
    return disp == (int32_t)disp;
}

void rle_emit_copy(struct rle_emit *e, const struct rle_insn *insn)
{
    const uint8_t *source = (const uint8_t *)insn->pc;
    uint64_t behind = rle_emit_address(e) + insn->length;
    int64_t disp = insn->rip_at ? insn->mem[0].disp - (int64_t)behind : 0;
    if (fits_32(disp)) {
        rle_emit_bytes(e, source, insn->length);
        if (insn->rip_at) {
            int32_t disp32 = (int32_t)disp;
            __builtin_memcpy(e->at - insn->length + insn->rip_at, &disp32, sizeof(disp32));
        }
        return;
    }
    rle_emit_bytes(e, source, insn->modrm_at);
    emit_absolute(e, insn, source[insn->modrm_at], (uint64_t)insn->mem[0].disp);
}

void rle_emit_push(struct rle_emit *e, uint64_t value)
{
    if ((int64_t)value == (int32_t)value) {
        rle_emit_1(e, OP_PUSH_IMM32);
        rle_emit_4(e, (uint32_t)value);
        return;
    }
    static const uint8_t push_rip[] = {0xFF, 0x35};
    e->constant -= WORD_BYTES;
    __builtin_memcpy(e->constant, &value, WORD_BYTES);
    rle_emit_bytes(e, push_rip, sizeof(push_rip));
    rle_emit_4(e, 0);
    rle_emit_patch(e, e->at - sizeof(uint32_t), (uint64_t)e->constant + (uint64_t)e->to_exec);
}

/* Compare; behind it rcx is still to be restored. */
static void verify(struct rle_emit *e, uint64_t pc, enum rle_via via)
{
    static const uint8_t mov_ecx_below_top[] = {0x8B, 0x4C, 0x24, 0xFA}; /* [rsp-6] */
    static const uint8_t mov_ecx_tb[] = {0x65, 0x8B, 0x0C, 0x25};
    static const uint8_t lea_ecx_rcx[] = {0x8D, 0x89};
    static const uint8_t jrcxz_over_miss[] = {0xE3, JMP_TB_BYTES};
    bool is_return = via == RLE_VIA_RETURN;
    if (is_return) {
        rle_emit_lea(e, RLE_RSP, RLE_RCX, RLE_REG_NONE, 0, WORD_BYTES);
        rle_emit_bytes(e, mov_ecx_below_top, sizeof(mov_ecx_below_top));
    } else {
        rle_emit_bytes(e, mov_ecx_tb, sizeof(mov_ecx_tb));
        rle_emit_4(e, RLE_TB_TARGET + INDEX_BYTES);
    }
    rle_emit_bytes(e, lea_ecx_rcx, sizeof(lea_ecx_rcx));
    rle_emit_4(e, (uint32_t) - (pc >> INDEX_BITS));
    rle_emit_bytes(e, jrcxz_over_miss, sizeof(jrcxz_over_miss));
    rle_emit_jmp_tb(e, is_return ? RLE_TB_RETURN_MISS : RLE_TB_JUMP_MISS);
}

void rle_emit_verify(struct rle_emit *e, uint64_t pc, enum rle_via via)
{
    verify(e, pc, via);
    if (!(rle_dead_at(pc).dead_regs & 1u << RLE_RCX))
        rle_emit_load_tb(e, RLE_RCX, RLE_TB_SPILL0);
}

/* What takes off the stack what a call pushed: one instruction, in a word of its own so that it may
 * be replaced while others execute it. The second kind puts it into the entry for `behind`. */
static uint64_t restore_plain(void)
{
    static const uint8_t lea_rsp_8[WORD_BYTES] = {0x48, 0x8D, 0xA4, 0x24, WORD_BYTES};
    uint64_t word;
    __builtin_memcpy(&word, lea_rsp_8, sizeof(word));
    return word;
}

static uint64_t restore_into(uint64_t behind)
{
    enum { DISP_AT = 3 };
    uint8_t pop_absolute[WORD_BYTES] = {0x8F, 0x04, 0x25, 0, 0, 0, 0, NOP};
    uint32_t entry = (uint32_t)(uint64_t)(table_of(RLE_VIA_RETURN) + (behind & (ENTRIES - 1)));
    uint64_t word;
    __builtin_memcpy(pop_absolute + DISP_AT, &entry, sizeof(entry));
    __builtin_memcpy(&word, pop_absolute, sizeof(word));
    return word;
}

static void replace_restore(uint64_t at, uint64_t word)
{
    __atomic_store_n((uint64_t *)(void *)rle_arena_writable(at), word, __ATOMIC_RELAXED);
}

void rle_branch_stop_writers(void)
{
    for (uint32_t i = 0; i < n_writers; i++)
        replace_restore(writers()[i], restore_plain());
    n_writers = 0;
    no_writers = true;
}

/* The first call to use an entry gets it for good; once another one needs it too, each puts its own
 * landing there when it is executed. */
static void emit_restore(struct rle_emit *e, uint64_t behind, uint64_t landing)
{
    uint64_t word = restore_plain();
    uint64_t *sole = sole_call(behind);
    if (rle_branch_table_free(behind, RLE_VIA_RETURN)) {
        rle_branch_table_set(behind, RLE_VIA_RETURN, landing);
        *sole = rle_emit_address(e);
    } else if (!no_writers && n_writers + 2 <= WRITERS_MAX) {
        word = restore_into(behind);
        writers()[n_writers++] = rle_emit_address(e);
        if (*sole) {
            writers()[n_writers++] = *sole;
            replace_restore(*sole, word);
        }
        *sole = 0;
    }
    rle_emit_bytes(e, (const uint8_t *)&word, sizeof(word));
}

/* A call over its landing to the next word. */
static uint64_t emit_call_and_landing(struct rle_emit *e, uint64_t behind)
{
    rle_emit_1(e, OP_CALL);
    rle_emit_4(e, 0);
    rle_fixup over = e->at - sizeof(uint32_t);
    uint64_t landing = rle_emit_address(e);
    verify(e, behind, RLE_VIA_RETURN);
    rle_emit_load_tb(e, RLE_RCX, RLE_TB_SPILL0); /* even if dead now: code at `behind` may change */
    rle_link(e, rle_emit_jmp(e), behind);
    while (rle_emit_address(e) & (WORD_BYTES - 1))
        rle_emit_1(e, INT3);
    rle_emit_here(e, over);
    return landing;
}

uint64_t rle_emit_call(struct rle_emit *e, uint64_t behind)
{
    if (!rle_engine.real_calls) {
        rle_emit_push(e, behind);
        return 0;
    }
    uint64_t landing = emit_call_and_landing(e, behind);
    emit_restore(e, behind, landing);
    rle_emit_push(e, behind);
    return landing;
}

uint64_t rle_call_restores_at(uint64_t landing)
{
    int32_t distance;
    __builtin_memcpy(&distance, (const void *)(landing - sizeof(distance)), sizeof(distance));
    return landing + (uint64_t)(int64_t)distance;
}

/* jmp [table + rcx*8] */
static void jump_through(struct rle_emit *e, enum rle_via via)
{
    static const uint8_t jmp_rcx8[] = {0xFF, 0x24, 0xCD};
    rle_emit_bytes(e, jmp_rcx8, sizeof(jmp_rcx8));
    rle_emit_4(e, (uint32_t)(uint64_t)table_of(via));
}

void rle_emit_return(struct rle_emit *e, const struct rle_insn *insn)
{
    static const uint8_t movzx_ecx_top[] = {0x0F, 0xB7, 0x0C, 0x24}; /* word [rsp] */
    static const uint8_t movzx_ecx_cx[] = {0x0F, 0xB7, 0xC9};
    static const uint8_t lea_rcx_rcx8[] = {0x48, 0x8D, 0x0C, 0xCD};
    static const uint8_t xchg_rcx_rsp[] = {0x48, 0x87, 0xE1};
    static const uint8_t jmp_top[] = {0xFF, 0x24, 0x24}; /* [rsp] */
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_SPILL0);
    if (insn->imm == 0) {
        rle_emit_bytes(e, movzx_ecx_top, sizeof(movzx_ecx_top));
        rle_emit_bytes(e, lea_rcx_rcx8, sizeof(lea_rcx_rcx8));
        rle_emit_4(e, (uint32_t)(uint64_t)table_of(RLE_VIA_RETURN));
        rle_emit_bytes(e, xchg_rcx_rsp, sizeof(xchg_rcx_rsp));
        if (rle_engine.real_calls)
            rle_emit_1(e, OP_RET);
        else
            rle_emit_bytes(e, jmp_top, sizeof(jmp_top));
        return;
    }
    rle_emit_load(e, RLE_RCX, RLE_RSP, 0);
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_TARGET);
    rle_emit_lea(e, RLE_RSP, RLE_RSP, RLE_REG_NONE, 0, WORD_BYTES + insn->imm);
    rle_emit_bytes(e, movzx_ecx_cx, sizeof(movzx_ecx_cx));
    jump_through(e, RLE_VIA_JUMP);
}

/* mov rcx, the operand of an indirect branch */
static void load_target(struct rle_emit *e, const struct rle_insn *insn)
{
    enum { REX_W = 0x48, REX_XB = 0x03, MODRM_REG = 0x38 };
    if (insn->branch_reg != RLE_REG_NONE) {
        if (insn->branch_reg != RLE_RCX)
            rle_emit_mov(e, RLE_RCX, insn->branch_reg);
        return;
    }
    const uint8_t *source = (const uint8_t *)insn->pc;
    for (unsigned i = 0; i < insn->opcode_at; i++)
        if (source[i] == PREFIX_FS || source[i] == PREFIX_ADDR32)
            rle_emit_1(e, source[i]);
    unsigned rest = insn->length - insn->modrm_at - 1u;
    rle_emit_1(e, REX_W | (insn->rex & REX_XB));
    rle_emit_1(e, OP_MOV_LOAD);
    unsigned modrm = (source[insn->modrm_at] & ~(unsigned)MODRM_REG) | RLE_RCX << 3;
    uint64_t behind = rle_emit_address(e) + 1 + rest;
    if (insn->rip_at && !fits_32(insn->mem[0].disp - (int64_t)behind)) {
        emit_absolute(e, insn, modrm, (uint64_t)insn->mem[0].disp);
        return;
    }
    rle_emit_1(e, modrm);
    rle_emit_bytes(e, source + insn->modrm_at + 1, rest);
    if (insn->rip_at)
        rle_emit_patch(e, e->at - sizeof(uint32_t), (uint64_t)insn->mem[0].disp);
}

uint64_t rle_emit_indirect(struct rle_emit *e, const struct rle_insn *insn)
{
    static const uint8_t movzx_ecx_cx[] = {0x0F, 0xB7, 0xC9};
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_SPILL0);
    load_target(e, insn);
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_TARGET);
    uint64_t landing = insn->kind == RLE_CALL_IND ? rle_emit_call(e, insn->pc + insn->length) : 0;
    rle_emit_bytes(e, movzx_ecx_cx, sizeof(movzx_ecx_cx));
    jump_through(e, RLE_VIA_JUMP);
    return landing;
}
