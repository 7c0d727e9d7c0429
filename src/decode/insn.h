/* Machine code bytes -> what one execution of the instruction does: floating-point and integer
 * operations by class and precision, bytes loaded and stored, and where control goes next.
 *
 * This is the only place where the counting rules live. One add, subtract, multiply, divide or
 * square root on one lane is 1 FLOP; a fused multiply-add is 2; a horizontal add 1 per result lane;
 * a dot product the multiplies and adds that are really needed. Minimum, compare, convert, round,
 * sign tricks and approximations carry no FLOP but keep their class and lane count.
 * Called by decode/cfg.h and by whoever joins counts with code; it knows nothing of executions. */
#ifndef RL_DECODE_INSN_H
#define RL_DECODE_INSN_H

#include <roofline/value.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an instruction, or one of its operations, is. The order is the one tables are printed in.
 */
enum rl_insn_class {
    RL_INSN_UNKNOWN,    /**< not decodable here: nothing is known of it, which is not nothing */
    RL_INSN_FP_ADD,     /**< add or subtract, horizontal and alternating forms included */
    RL_INSN_FP_MUL,     /**< multiply */
    RL_INSN_FP_FMA,     /**< fused or dot-product multiply-add: 2 FLOP a lane */
    RL_INSN_FP_DIV,     /**< divide */
    RL_INSN_FP_SQRT,    /**< square root */
    RL_INSN_FP_SPECIAL, /**< transcendental, reciprocal and root approximations: 0 FLOP */
    RL_INSN_FP_MINMAX,  /**< minimum, maximum, range */
    RL_INSN_FP_COMPARE, /**< compare, classify, test */
    RL_INSN_FP_CONVERT, /**< between precisions or to and from integers */
    RL_INSN_FP_ROUND,   /**< round to integer, reduce, split into mantissa and exponent, scale */
    RL_INSN_FP_LOGIC,   /**< and, or, xor on floating-point lanes: sign tricks, zeroing */
    RL_INSN_INT_ADD,    /**< integer add or subtract */
    RL_INSN_INT_MUL,    /**< integer multiply */
    RL_INSN_INT_MAC,    /**< integer multiply-accumulate: 2 IOP a lane product */
    RL_INSN_INT_DIV,    /**< integer divide */
    RL_INSN_INT_OTHER,  /**< compare, minimum, absolute value, average, negate, bit counts: 0 IOP */
    RL_INSN_LOGIC,      /**< integer and, or, xor, not, test */
    RL_INSN_SHIFT,      /**< shift, rotate, bit-field moves */
    RL_INSN_ADDRESS,    /**< lea, inc, dec, stack-pointer arithmetic: loop and address overhead */
    RL_INSN_MOVE,       /**< loads, stores, register moves, conditional moves */
    RL_INSN_SHUFFLE,    /**< permute, unpack, broadcast, blend, insert, extract, pack */
    RL_INSN_MASK,       /**< operations on AVX-512 mask registers */
    RL_INSN_BRANCH,     /**< jumps, conditional or not */
    RL_INSN_CALL,       /**< calls and returns */
    RL_INSN_STRING,     /**< movs, stos, cmps, scas, lods */
    RL_INSN_CRYPTO,     /**< AES, SHA, carry-less multiply, Galois field, CRC */
    RL_INSN_PREFETCH,   /**< prefetch and cache-line hints */
    RL_INSN_NOP,        /**< no operation */
    RL_INSN_SYSTEM,     /**< everything that talks to the machine: fences, cpuid, state saves */
    RL_INSN_CLASSES
};

/** The execution width an operation competes for, named as the ceilings name it: `sse2` is any
 * 128-bit vector operation whatever its encoding, `avx2` any 256-bit one, `avx512` any 512-bit one.
 */
enum rl_insn_isa {
    RL_INSN_SCALAR,
    RL_INSN_MMX, /**< 64-bit vectors: MMX and 3DNow! */
    RL_INSN_SSE2,
    RL_INSN_AVX2,
    RL_INSN_AVX512,
    RL_INSN_AMX,
    RL_INSN_ISA_X87,
    RL_INSN_ISAS
};

enum rl_insn_flag {
    RL_INSN_MASKED = 1u << 0,   /**< lanes may be switched off: all are counted, an upper bound */
    RL_INSN_GATHER = 1u << 1,   /**< one access a lane */
    RL_INSN_SCATTER = 1u << 2,  /**< one access a lane */
    RL_INSN_REPEATED = 1u << 3, /**< rep prefix: figures are for one repetition */
    RL_INSN_STATE = 1u << 4,    /**< xsave family: bytes depend on the state in use */
    RL_INSN_NONTEMPORAL = 1u << 5, /**< the store or load bypasses the caches */
    RL_INSN_TILE = 1u << 6,        /**< AMX: a full tile of 16 rows x 64 bytes is assumed */
    RL_INSN_LOCKED = 1u << 7,      /**< atomic read-modify-write */
    RL_INSN_EVEX = 1u << 8,        /**< needs AVX-512, at whatever width */
    RL_INSN_CONDITIONAL = 1u << 9, /**< conditional jump: falls through as well */
    RL_INSN_INDIRECT = 1u << 10,   /**< jump or call through a register or memory */
    RL_INSN_RETURN = 1u << 11,
    RL_INSN_ENDS_FLOW = 1u << 12,  /**< nothing follows: unconditional jump, return, ud2, hlt */
    RL_INSN_HAS_TARGET = 1u << 13, /**< `target` holds where the branch or call goes */
    RL_INSN_HAS_SLOT = 1u << 14,   /**< indirect: `target` holds where its destination is stored */
};

/** One kind of arithmetic an instruction does. */
struct rl_insn_op {
    uint8_t class;     /**< enum rl_insn_class, an FP or INT one */
    uint8_t precision; /**< enum rl_precision */
    uint16_t count;    /**< operations an execution: lanes, times the operations each lane does */
};

/** What one execution of one instruction does. Plain data; nothing to release. */
struct rl_insn {
    const char *mnemonic; /**< lower case, static storage, never NULL */
    uint8_t length;       /**< bytes, 1..15; 0 when not decodable */
    uint8_t class;        /**< enum rl_insn_class */
    uint8_t isa;          /**< enum rl_insn_isa */
    uint8_t n_op;         /**< entries of `op` in use */
    uint32_t flags;       /**< enum rl_insn_flag */
    struct rl_insn_op op[2];
    uint16_t width_bits;  /**< vector, tile row or general register width; 0 where meaningless */
    uint16_t accesses;    /**< memory accesses an execution, all lanes of a gather included */
    uint32_t load_bytes;  /**< bytes an execution asks the first cache for */
    uint32_t store_bytes; /**< bytes an execution hands to the first cache, or past it */
    int64_t target;       /**< of a branch or call, relative to the instruction's first byte */
};

/**
 * Describe the instruction at the start of `code`, as 64-bit user code.
 *
 * @param code      [size] bytes; only the first 15 are looked at. Borrowed for the call.
 * @param size      bytes readable at `code`; 0 is allowed and decodes nothing.
 * @param ret_insn  always written in full. On failure `length` is 0 and `class` RL_INSN_UNKNOWN.
 * @return whether it is a complete, valid instruction.
 *
 * Pure; thread-safe. Instructions newer than the decoding library (AVX-VNNI-INT8, AVX-IFMA,
 * AVX-NE-CONVERT, AMX-FP16, AMX-COMPLEX) are recognised by a table of our own.
 */
bool rl_insn_decode(const uint8_t *code, size_t size, struct rl_insn *ret_insn);

/** FLOP of one execution: adds, multiplies, divides and roots 1 a lane, multiply-adds 2. */
uint32_t rl_insn_flop(const struct rl_insn *insn);

/** IOP of one execution: integer adds, multiplies and divides 1 a lane, multiply-accumulates 2. */
uint32_t rl_insn_iop(const struct rl_insn *insn);

/** FLOP or IOP one operation of this class stands for: 0, 1 or 2. */
unsigned rl_insn_class_weight(enum rl_insn_class class);

/** Whether the class works on floating-point values (FP_ADD .. FP_LOGIC). */
bool rl_insn_class_is_fp(enum rl_insn_class class);

/** Names for tables and messages: "fma", "avx2". Static storage; "?" outside the enum. */
const char *rl_insn_class_name(enum rl_insn_class class);
const char *rl_insn_isa_name(enum rl_insn_isa isa);

/**
 * Write the instruction as Intel-syntax assembly.
 *
 * @param address  run-time or module address of `code`, for branch and RIP-relative operands.
 * @param ret_text [capacity] always terminated; "(bad)" when not decodable.
 */
void rl_insn_format(const uint8_t *code, size_t size, uint64_t address, char *ret_text,
                    size_t capacity);

#endif
