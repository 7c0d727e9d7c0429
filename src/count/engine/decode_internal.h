/* What decode.c (reads the bytes) and decode_effects.c (says what they do) share. */
#ifndef RL_COUNT_ENGINE_DECODE_INTERNAL_H
#define RL_COUNT_ENGINE_DECODE_INTERNAL_H

#include "count/engine/decode_rows.h"

#include <stdbool.h>

enum {
    RLE_COPY_BYTES = 48, /* 15 and all that may be read ahead of them */
    RLE_ALL_REGS = 0xFFFF,
    RLE_ALL_FLAGS = RLE_ARITH_FLAGS | RLE_DF,
};

/* What the prefixes and opcode bytes say. */
struct encoding {
    _Alignas(8) uint8_t bytes[RLE_COPY_BYTES];
    uint8_t at; /* next byte to read */
    uint8_t map;
    uint8_t opcode;
    bool has_modrm, has_66, has_vex, has_evex; /* has_vex: VEX, XOP or EVEX */
    uint8_t rep;                               /* 0xF2, 0xF3 or 0 */
    bool lock, addr32;
    uint8_t segment;
    uint8_t rex;
    uint8_t pp;         /* 0: none, 1: 66, 2: F3, 3: F2 */
    uint8_t w, r, x, b; /* extension bits, not inverted */
    uint8_t r2, v2;     /* EVEX only */
    uint8_t vvvv, length_code, mask;
    bool zeroing, evex_b;
    uint8_t mod, reg, rm; /* ModRM fields without extension; rm from the opcode without ModRM */
    uint8_t opsize;       /* 2, 4, 8 */
};

/* Bytes of a vector register by the length field. */
unsigned rle_vector_bytes(const struct encoding *e) HIDDEN;

/* Bytes of the rm operand of a row whose `what` is given. */
unsigned rle_operand_bytes(const struct encoding *e, uint64_t what) HIDDEN;

/* General registers named by ModRM, vvvv or the opcode. */
void rle_use_operands(const struct encoding *e, const struct row *row,
                      struct rle_insn *insn) HIDDEN;

/* Flags; imm is the count of shifts. */
void rle_use_flags(const struct encoding *e, const struct row *row, int64_t imm,
                   struct rle_insn *insn) HIDDEN;

/* Registers and memory used without being named, by enum implicit_code. */
void rle_use_implicit(const struct encoding *e, unsigned code, struct rle_insn *insn) HIDDEN;

#endif
