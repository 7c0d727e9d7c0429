/* The tables behind rl_insn_decode: one row a mnemonic, sorted as the decoding library numbers them
 * (alphabetically), split by topic. A row says what arithmetic one execution does and per how many
 * bits of vector it does it; everything that depends on operands is read from the operands. */
#ifndef RL_DECODE_RULE_INTERNAL_H
#define RL_DECODE_RULE_INTERNAL_H

#include "decode/insn.h"

#include <Zydis/Zydis.h>

/** `n` operations for every `lane_bits` of vector width, or `n` an execution when it is 0. */
struct rule_op {
    uint8_t class;
    uint8_t precision;
    uint8_t lane_bits;
    uint16_t n;
};

/** Departures from "count lanes of the vector". */
enum rule_shape {
    SHAPE_PLAIN,
    SHAPE_DOT,     /* the immediate's high four bits choose the products that are summed */
    SHAPE_GENERAL, /* width and precision are those of the general-register operand */
};

struct rule {
    uint16_t mnemonic; /* ZydisMnemonic */
    uint8_t class;     /* enum rl_insn_class */
    uint8_t shape;     /* enum rule_shape */
    uint8_t isa;       /* enum rl_insn_isa, or ISA_BY_WIDTH */
    struct rule_op op[2];
};

#define ISA_BY_WIDTH RL_INSN_ISAS

struct rule_table {
    const struct rule *rows; /* [n], ascending by mnemonic */
    size_t n;
};

extern const struct rule_table rules_fp_sse;       /* SSE to SSE4, 3DNow!: legacy encodings */
extern const struct rule_table rules_fp_avx;       /* VEX and EVEX: the arithmetic that counts */
extern const struct rule_table rules_fp_avx_other; /* VEX and EVEX: everything else on FP lanes */
extern const struct rule_table rules_x87;
extern const struct rule_table rules_vector_int; /* MMX to AVX-512, XOP, AMX integer arithmetic */
extern const struct rule_table rules_general;    /* general registers */

/** The row of a mnemonic, or NULL: then the library's category decides (movement and the like). */
const struct rule *rule_find(ZydisMnemonic mnemonic);

/** All tables, so that a test can walk them. */
extern const struct rule_table *const rule_tables[];
extern const size_t n_rule_tables;

#define RULE_(mn, cl, sh, is, ...)                                                                 \
    {                                                                                              \
        ZYDIS_MNEMONIC_##mn, RL_INSN_##cl, sh, is,                                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define BITS_FP64  64
#define BITS_FP32  32
#define BITS_FP16  16
#define BITS_BF16  16
#define BITS_INT8  8
#define BITS_INT16 16
#define BITS_INT32 32
#define BITS_INT64 64

/* One operation a lane of the whole vector. */
#define PACKED(mn, cl, pr)                                                                         \
    RULE_(mn, cl, SHAPE_PLAIN, ISA_BY_WIDTH, {RL_INSN_##cl, RL_##pr, BITS_##pr, 1})
/* As PACKED where a lane is wider than its format: conversions count the lanes converted. */
#define PACKED_BY(mn, cl, pr, bits)                                                                \
    RULE_(mn, cl, SHAPE_PLAIN, ISA_BY_WIDTH, {RL_INSN_##cl, RL_##pr, bits, 1})
/* One operation, on the lowest lane. */
#define SCALAR(mn, cl, pr) RULE_(mn, cl, SHAPE_PLAIN, RL_INSN_SCALAR, {RL_INSN_##cl, RL_##pr, 0, 1})
/* Two lanes of an MMX register, or made from one. */
#define PAIR(mn, cl, pr) RULE_(mn, cl, SHAPE_PLAIN, RL_INSN_MMX, {RL_INSN_##cl, RL_##pr, 0, 2})
/* A stated number of one or two kinds of operation, per `bits` of vector or an execution (0). */
#define COUNTED(mn, cl, pr, bits, n)                                                               \
    RULE_(mn, cl, SHAPE_PLAIN, ISA_BY_WIDTH, {RL_INSN_##cl, RL_##pr, bits, n})
#define COUNTED2(mn, c0, p0, b0, n0, c1, p1, b1, n1)                                               \
    RULE_(mn, c0, SHAPE_PLAIN, ISA_BY_WIDTH, {RL_INSN_##c0, RL_##p0, b0, n0},                      \
          {RL_INSN_##c1, RL_##p1, b1, n1})
#define SCALAR_N(mn, cl, pr, n)                                                                    \
    RULE_(mn, cl, SHAPE_PLAIN, RL_INSN_SCALAR, {RL_INSN_##cl, RL_##pr, 0, n})
#define SCALAR_N2(mn, c0, p0, n0, c1, p1, n1)                                                      \
    RULE_(mn, c0, SHAPE_PLAIN, RL_INSN_SCALAR, {RL_INSN_##c0, RL_##p0, 0, n0},                     \
          {RL_INSN_##c1, RL_##p1, 0, n1})
#define TILE(mn, cl, pr, n) RULE_(mn, cl, SHAPE_PLAIN, RL_INSN_AMX, {RL_INSN_##cl, RL_##pr, 0, n})
/* Products chosen by an immediate, then summed, in each 128 bits. */
#define DOT(mn, pr)                                                                                \
    RULE_(mn, FP_MUL, SHAPE_DOT, ISA_BY_WIDTH, {RL_INSN_FP_MUL, RL_##pr, BITS_##pr, 1},            \
          {RL_INSN_FP_ADD, RL_##pr, BITS_##pr, 1})
#define X87(mn, cl) RULE_(mn, cl, SHAPE_PLAIN, RL_INSN_ISA_X87, {RL_INSN_##cl, RL_X87, 0, 1})
/* Movement and permutation of floating-point lanes: no operation, but listed, so that no
 * floating-point mnemonic is without a row. */
#define MOVES(mn)      RULE_(mn, MOVE, SHAPE_PLAIN, ISA_BY_WIDTH, {0, 0, 0, 0})
#define SHUFFLES(mn)   RULE_(mn, SHUFFLE, SHAPE_PLAIN, ISA_BY_WIDTH, {0, 0, 0, 0})
#define MOVES_X87(mn)  RULE_(mn, MOVE, SHAPE_PLAIN, RL_INSN_ISA_X87, {0, 0, 0, 0})
#define SYSTEM_X87(mn) RULE_(mn, SYSTEM, SHAPE_PLAIN, RL_INSN_ISA_X87, {0, 0, 0, 0})
#define PREFETCHES(mn) RULE_(mn, PREFETCH, SHAPE_PLAIN, ISA_BY_WIDTH, {0, 0, 0, 0})
/* Arithmetic on a general register: one operation of the operand's size. */
#define GENERAL(mn, cl) RULE_(mn, cl, SHAPE_GENERAL, RL_INSN_SCALAR, {RL_INSN_##cl, 0, 0, 1})
/* A class only. */
#define PLAIN(mn, cl) RULE_(mn, cl, SHAPE_PLAIN, ISA_BY_WIDTH, {0, 0, 0, 0})

#endif
