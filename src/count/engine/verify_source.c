#include "count/engine/verify_source.h"

#include "count/engine/link.h"

enum { WORD_BYTES = 8, WORDS_MAX = RLE_SB_INSNS_MAX * RLE_INSN_MAX / WORD_BYTES + 2 };

/* rax = [address] */
static void load_word(struct rle_emit *e, uint64_t address)
{
    static const uint8_t mov_rax_absolute[] = {0x48, 0xA1};
    rle_emit_bytes(e, mov_rax_absolute, sizeof(mov_rax_absolute));
    rle_emit_4(e, (uint32_t)address);
    rle_emit_4(e, (uint32_t)(address >> 32));
}

/* Jump, if [address] is not what it is now. Flags are kept: rcx = value - expected, jrcxz. */
static rle_fixup check_word(struct rle_emit *e, uint64_t address)
{
    static const uint8_t mov_rcx_rip[] = {0x48, 0x8B, 0x0D};
    uint64_t value;
    __builtin_memcpy(&value, (const void *)address, sizeof(value));
    value = -value;
    load_word(e, address);
    e->constant -= WORD_BYTES;
    __builtin_memcpy(e->constant, &value, sizeof(value));
    rle_emit_bytes(e, mov_rcx_rip, sizeof(mov_rcx_rip));
    rle_emit_4(e, 0);
    rle_emit_patch(e, e->at - sizeof(uint32_t), (uint64_t)e->constant + (uint64_t)e->to_exec);
    rle_emit_lea(e, RLE_RCX, RLE_RCX, RLE_RAX, 1, 0);
    rle_emit_1(e, 0xE3); /* jrcxz over the jump */
    rle_emit_1(e, 0);
    uint8_t *distance = e->at;
    rle_fixup differs = rle_emit_jmp(e);
    distance[-1] = (uint8_t)(e->at - distance);
    return differs;
}

static void restore(struct rle_emit *e)
{
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_SPILL1);
    rle_emit_load_tb(e, RLE_RCX, RLE_TB_SPILL0);
}

void rle_emit_verify_source(struct rle_emit *e, const struct rle_plan *plan, uint32_t fragment)
{
    rle_fixup differs[WORDS_MAX];
    unsigned n = 0;
    uint64_t low = plan->pc;
    const struct rle_insn *last = &plan->insns[plan->sb.n_insns - 1];
    uint64_t high = last->pc + last->length;
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_SPILL0);
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_SPILL1);
    for (uint64_t at = low & ~(uint64_t)(WORD_BYTES - 1); at < high && n < WORDS_MAX;
         at += WORD_BYTES)
        differs[n++] = check_word(e, at);
    restore(e);
    rle_emit_cold(e, true);
    for (unsigned i = 0; i < n; i++)
        rle_emit_here(e, differs[i]);
    restore(e);
    rle_emit_stub(e, RLE_STUB_CHANGED, plan->pc, fragment, 0);
    rle_emit_cold(e, false);
}
