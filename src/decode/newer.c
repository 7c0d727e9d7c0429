#include "decode/newer_internal.h"

#include <stdlib.h>

enum prefix { NP, P66, PF3, PF2 }; /* as VEX.pp numbers them */
enum map { MAP_0F38 = 2, MAP_0F3A = 3 };
enum memory { VECTOR, WORD, INTEGER_RMW, NONE };

/* W: 0 or 1, or EITHER where the manual says WIG. Rows ascend by map, opcode, prefix. */
#define EITHER 2

struct newer {
    uint8_t map, opcode, prefix, w;
    uint8_t class, precision, lane_bits, memory;
    uint16_t n;
    const char *mnemonic;
};

/* clang-format off: one row a line */
static const struct newer rows[] = {
    {MAP_0F38, 0x50, NP, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbuud"},
    {MAP_0F38, 0x50, PF3, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbsud"},
    {MAP_0F38, 0x50, PF2, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbssd"},
    {MAP_0F38, 0x51, NP, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbuuds"},
    {MAP_0F38, 0x51, PF3, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbsuds"},
    {MAP_0F38, 0x51, PF2, 0, RL_INSN_INT_MAC, RL_INT8, 8, VECTOR, 1, "vpdpbssds"},
    {MAP_0F38, 0x5c, PF2, 0, RL_INSN_FP_FMA, RL_FP16, 0, NONE, 8192, "tdpfp16ps"},
    {MAP_0F38, 0x6c, NP, 0, RL_INSN_FP_FMA, RL_FP16, 0, NONE, 8192, "tcmmrlfp16ps"},
    {MAP_0F38, 0x6c, P66, 0, RL_INSN_FP_FMA, RL_FP16, 0, NONE, 8192, "tcmmimfp16ps"},
    {MAP_0F38, 0x72, PF3, 0, RL_INSN_FP_CONVERT, RL_BF16, 32, VECTOR, 1, "vcvtneps2bf16"},
    {MAP_0F38, 0xb0, NP, 0, RL_INSN_FP_CONVERT, RL_FP16, 32, VECTOR, 1, "vcvtneoph2ps"},
    {MAP_0F38, 0xb0, P66, 0, RL_INSN_FP_CONVERT, RL_FP16, 32, VECTOR, 1, "vcvtneeph2ps"},
    {MAP_0F38, 0xb0, PF3, 0, RL_INSN_FP_CONVERT, RL_BF16, 32, VECTOR, 1, "vcvtneebf162ps"},
    {MAP_0F38, 0xb0, PF2, 0, RL_INSN_FP_CONVERT, RL_BF16, 32, VECTOR, 1, "vcvtneobf162ps"},
    {MAP_0F38, 0xb1, P66, 0, RL_INSN_FP_CONVERT, RL_FP16, 32, WORD, 1, "vbcstnesh2ps"},
    {MAP_0F38, 0xb1, PF3, 0, RL_INSN_FP_CONVERT, RL_BF16, 32, WORD, 1, "vbcstnebf162ps"},
    {MAP_0F38, 0xb4, P66, 1, RL_INSN_INT_MAC, RL_INT64, 64, VECTOR, 1, "vpmadd52luq"},
    {MAP_0F38, 0xb5, P66, 1, RL_INSN_INT_MAC, RL_INT64, 64, VECTOR, 1, "vpmadd52huq"},
    {MAP_0F38, 0xcb, PF2, 0, RL_INSN_CRYPTO, 0, 0, NONE, 0, "vsha512rnds2"},
    {MAP_0F38, 0xcc, PF2, 0, RL_INSN_CRYPTO, 0, 0, NONE, 0, "vsha512msg1"},
    {MAP_0F38, 0xcd, PF2, 0, RL_INSN_CRYPTO, 0, 0, NONE, 0, "vsha512msg2"},
    {MAP_0F38, 0xd2, NP, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwuud"},
    {MAP_0F38, 0xd2, P66, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwusd"},
    {MAP_0F38, 0xd2, PF3, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwsud"},
    {MAP_0F38, 0xd3, NP, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwuuds"},
    {MAP_0F38, 0xd3, P66, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwusds"},
    {MAP_0F38, 0xd3, PF3, 0, RL_INSN_INT_MAC, RL_INT16, 16, VECTOR, 1, "vpdpwsuds"},
    {MAP_0F38, 0xda, NP, 0, RL_INSN_CRYPTO, 0, 0, VECTOR, 0, "vsm3msg1"},
    {MAP_0F38, 0xda, P66, 0, RL_INSN_CRYPTO, 0, 0, VECTOR, 0, "vsm3msg2"},
    {MAP_0F38, 0xda, PF3, 0, RL_INSN_CRYPTO, 0, 0, VECTOR, 0, "vsm4key4"},
    {MAP_0F38, 0xda, PF2, 0, RL_INSN_CRYPTO, 0, 0, VECTOR, 0, "vsm4rnds4"},
    {MAP_0F38, 0xe0, P66, EITHER, RL_INSN_INT_ADD, 0, 0, INTEGER_RMW, 1, "cmpccxadd"},
    {MAP_0F3A, 0xde, P66, 0, RL_INSN_CRYPTO, 0, 0, VECTOR, 0, "vsm3rnds2"},
};
/* clang-format on */

/* The fields of a three-byte VEX prefix and what follows it. */
struct vex {
    uint8_t map, prefix, opcode, modrm;
    bool w, wide;
    uint8_t length; /* whole instruction */
};

/* Length of ModRM, SIB and displacement; 0 when they do not fit in `size`. */
static size_t modrm_length(const uint8_t *at, size_t size)
{
    if (!size)
        return 0;
    unsigned mod = at[0] >> 6, rm = at[0] & 7;
    size_t n = 1;
    if (mod == 3)
        return n;
    if (rm == 4) {
        if (size < 2)
            return 0;
        if (mod == 0 && (at[1] & 7) == 5)
            n += 4;
        n++;
    } else if (mod == 0 && rm == 5) {
        n += 4;
    }
    n += mod == 1 ? 1 : mod == 2 ? 4 : 0;
    return n <= size ? n : 0;
}

static bool read_vex(const uint8_t *code, size_t size, struct vex *ret_vex)
{
    size_t at = 0;
    while (at < size && (code[at] == 0x64 || code[at] == 0x65 || code[at] == 0x67))
        at++;
    if (size < at + 5 || code[at] != 0xc4)
        return false;
    ret_vex->map = code[at + 1] & 0x1f;
    ret_vex->prefix = code[at + 2] & 3;
    ret_vex->w = code[at + 2] >> 7;
    ret_vex->wide = code[at + 2] >> 2 & 1;
    ret_vex->opcode = code[at + 3];
    ret_vex->modrm = code[at + 4];
    size_t tail = modrm_length(code + at + 4, size - at - 4);
    size_t length = at + 4 + tail + (ret_vex->map == MAP_0F3A);
    ret_vex->length = (uint8_t)length;
    return tail && length <= size && length <= 15;
}

static const struct newer *find_row(const struct vex *vex)
{
    uint8_t opcode = vex->opcode;
    if (vex->map == MAP_0F38 && opcode >= 0xe0 && opcode <= 0xef)
        opcode = 0xe0; /* sixteen conditions */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].map == vex->map && rows[i].opcode == opcode && rows[i].prefix == vex->prefix &&
            (rows[i].w == EITHER || rows[i].w == vex->w))
            return &rows[i];
    return NULL;
}

static void add_memory(const struct newer *row, const struct vex *vex, struct rl_insn *insn)
{
    if (vex->modrm >> 6 == 3)
        return;
    switch ((enum memory)row->memory) {
    case VECTOR:
        insn->load_bytes = vex->wide ? 32 : 16;
        insn->accesses = 1;
        break;
    case WORD:
        insn->load_bytes = 2;
        insn->accesses = 1;
        break;
    case INTEGER_RMW:
        insn->load_bytes = insn->store_bytes = vex->w ? 8 : 4;
        insn->accesses = 2;
        insn->flags |= RL_INSN_LOCKED;
        break;
    case NONE:
        break;
    }
}

bool newer_decode(const uint8_t *code, size_t size, struct rl_insn *insn)
{
    struct vex vex;
    if (!read_vex(code, size, &vex))
        return false;
    const struct newer *row = find_row(&vex);
    bool tile = row && row->n > 1;
    if (!row || (row->memory == INTEGER_RMW && vex.modrm >> 6 == 3) ||
        ((tile || row->memory == INTEGER_RMW) && vex.wide) ||
        (row->memory == NONE && vex.modrm >> 6 != 3))
        return false;
    insn->mnemonic = row->mnemonic;
    insn->length = vex.length;
    insn->class = row->class;
    insn->width_bits = tile ? 0 : vex.wide ? 256 : 128;
    insn->isa = tile ? RL_INSN_AMX : vex.wide ? RL_INSN_AVX2 : RL_INSN_SSE2;
    uint8_t precision = row->precision;
    if (row->memory == INTEGER_RMW) {
        insn->isa = RL_INSN_SCALAR;
        insn->width_bits = vex.w ? 64 : 32;
        precision = vex.w ? RL_INT64 : RL_INT32;
    }
    if (row->n) {
        unsigned lanes = row->lane_bits ? insn->width_bits / row->lane_bits : 1;
        insn->op[0] = (struct rl_insn_op){row->class, precision, (uint16_t)(lanes * row->n)};
        insn->n_op = 1;
    }
    if (tile)
        insn->flags |= RL_INSN_TILE;
    add_memory(row, &vex, insn);
    return true;
}
