/* Accesses that translated code leaves to a call: how many bytes a repeated string instruction
 * touches, and where the elements of a gather lie, is known only when it runs. */
#include "count/engine/trace_emit.h"
#include "count/engine/trace_opcodes.h"

/* A scan was staged in front of its instruction; its length is known behind it. */
static struct {
    const struct rle_superblock *sb; /* NULL: none */
    unsigned at;
    uint64_t sites;
} staged;

static uint16_t bit(unsigned reg)
{
    return reg < 16 ? (uint16_t)(1u << reg) : 0;
}

void rle_trace_begin_calls(void)
{
    staged.sb = NULL;
}

static struct rle_trace_site site_of(const struct rle_superblock *sb, unsigned i,
                                     const struct rle_mem *m)
{
    const struct rle_superblock_block *block = rle_trace_block_of(sb, i);
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
        staged.sb = sb;
        staged.at = i;
        staged.sites = sites;
        return;
    }
    rle_trace_stage(e, RLE_TRACE_STRING, sites);
    rle_emit_callout(e);
}

/* Behind a scan, which is in front of the next instruction. */
static void emit_scanned(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
{
    bool here = staged.sb == sb && i == staged.at + 1;
    staged.sb = here || i == 0 ? NULL : staged.sb;
    if (!here)
        return;
    rle_trace_stage(e, RLE_TRACE_SCANNED, staged.sites);
    rle_emit_callout(e);
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
    rle_trace_thread_operand(e, reg, RLE_REG_NONE, disp);
}

/* kmovw gs:[disp], k */
static void emit_store_opmask(struct rle_emit *e, unsigned k, uint32_t disp)
{
    static const uint8_t kmovw[] = {PREFIX_GS, 0xC5, 0xF8, 0x91};
    rle_emit_bytes(e, kmovw, sizeof(kmovw));
    rle_trace_thread_operand(e, k, RLE_REG_NONE, disp);
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
    rle_trace_stage(e, RLE_TRACE_GATHER, index);
    rle_emit_store_tb_imm32(e, AREA(staged[3]), packed);
    rle_emit_callout(e);
}

void rle_trace_emit_calls(struct rle_emit *e, const struct rle_superblock *sb, unsigned i)
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
