/* Writing x86-64 code: a cursor pair (hot code, and cold code that is rarely reached) in one arena,
 * and the few instructions the engine and its instrumentation need. Nothing here decides anything.
 *
 * Code may be written through another mapping than it runs in (`to_exec`); "address" below means
 * where it runs. The arena guarantees room for the largest superblock before emission begins, so
 * nothing here can fail. */
#ifndef RL_COUNT_ENGINE_EMIT_H
#define RL_COUNT_ENGINE_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/decode.h"
#include "count/engine/instrument.h"
#include "count/engine/thread_block.h"

struct rle_emit {
    uint8_t *at;       /**< write cursor in use: hot or cold */
    uint8_t *other;    /**< the one not in use */
    bool cold;         /**< which is which */
    int64_t to_exec;   /**< address = write pointer + to_exec */
    uint8_t *constant; /**< 8-byte constants grow down from here */
    /* State of scratch registers at the current point. */
    uint16_t scratch_taken;
    uint16_t scratch_spilled;
    uint8_t spill_reg[4];
    uint8_t n_spilled;
    bool flags_saved;
};

/** x86 condition codes, as in the low four bits of jcc. */
enum rle_cond {
    RLE_CC_O = 0x0,
    RLE_CC_NO = 0x1,
    RLE_CC_B = 0x2,
    RLE_CC_AE = 0x3,
    RLE_CC_E = 0x4,
    RLE_CC_NE = 0x5,
    RLE_CC_BE = 0x6,
    RLE_CC_A = 0x7,
    RLE_CC_S = 0x8,
    RLE_CC_NS = 0x9,
    RLE_CC_L = 0xC,
    RLE_CC_GE = 0xD,
    RLE_CC_LE = 0xE,
    RLE_CC_G = 0xF,
};

/** Address the next byte will run at. */
uint64_t rle_emit_address(const struct rle_emit *e);

/** Continue in the cold (true) or hot (false) part; cursors are kept apart. */
void rle_emit_cold(struct rle_emit *e, bool cold);

void rle_emit_1(struct rle_emit *e, unsigned byte);
void rle_emit_4(struct rle_emit *e, uint32_t value);
void rle_emit_bytes(struct rle_emit *e, const uint8_t *bytes, unsigned n);

/** A place holding a 32-bit displacement to be filled later: its write pointer. */
typedef uint8_t *rle_fixup;

/** jmp rel32 / jcc rel32 with an unset target. The displacement never straddles a cache line, so
 * that it may be rewritten while others execute it. */
rle_fixup rle_emit_jmp(struct rle_emit *e);
rle_fixup rle_emit_jcc(struct rle_emit *e, enum rle_cond cond);
/** test reg32, value; returns where the value is. It never straddles a cache line either. */
uint8_t *rle_emit_test_imm(struct rle_emit *e, unsigned reg, uint32_t value);
/** and reg32, value; likewise. */
uint8_t *rle_emit_and_imm(struct rle_emit *e, unsigned reg, uint32_t value);
/** Fill a displacement so that it leads to `address`. */
void rle_emit_patch(const struct rle_emit *e, rle_fixup at, uint64_t address);
/** Fill it with the address of the next byte. */
void rle_emit_here(const struct rle_emit *e, rle_fixup at);

/* 64-bit moves to and from the thread block, at displacement `disp`. Flags untouched. */
void rle_emit_load_tb(struct rle_emit *e, unsigned reg, uint32_t disp);
void rle_emit_store_tb(struct rle_emit *e, unsigned reg, uint32_t disp);
/** add qword [tb + disp], 1 by `inc`: changes all arithmetic flags but CF. */
void rle_emit_inc_tb(struct rle_emit *e, uint32_t disp);
/** mov dword [tb + disp], value */
void rle_emit_store_tb_imm32(struct rle_emit *e, uint32_t disp, uint32_t value);
/** jmp [tb + disp] */
void rle_emit_jmp_tb(struct rle_emit *e, uint32_t disp);

/* Other moves. Flags untouched. */
void rle_emit_mov(struct rle_emit *e, unsigned dst, unsigned src);
void rle_emit_mov_imm64(struct rle_emit *e, unsigned dst, uint64_t value);
void rle_emit_load(struct rle_emit *e, unsigned dst, unsigned base, int32_t disp);
void rle_emit_store(struct rle_emit *e, unsigned src, unsigned base, int32_t disp);
/** dst = base + index*scale + disp; RLE_REG_NONE for none; index not rsp. */
void rle_emit_lea(struct rle_emit *e, unsigned dst, unsigned base, unsigned index, unsigned scale,
                  int32_t disp);
/** dst = address, by a RIP-relative lea where it reaches. */
void rle_emit_lea_address(struct rle_emit *e, unsigned dst, uint64_t address);

/* Arithmetic. Changes flags. */
enum rle_alu { RLE_ADD = 0, RLE_OR = 1, RLE_AND = 4, RLE_SUB = 5, RLE_XOR = 6, RLE_CMP = 7 };
void rle_emit_alu(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, unsigned src);
void rle_emit_alu_imm(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, int32_t imm);
/** op dst, [tb + disp] */
void rle_emit_alu_tb(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, uint32_t disp);
void rle_emit_shr(struct rle_emit *e, bool wide, unsigned dst, unsigned bits);

/**
 * A register to work with in front of instruction `i`, valid until the callback returns. A dead one
 * if there is one, else one whose value is stored in the thread block and reloaded afterwards.
 *
 * @param avoid  mask of registers not to take (those the caller will read).
 * @return register number; never rsp, never resident. At most 4 live ones per point.
 */
unsigned rle_scratch_take(struct rle_emit *e, const struct rle_superblock *sb, unsigned i,
                          uint16_t avoid);

/** Make flags free to change in front of instruction `i` until the callback returns: no code if
 * all six are dead there; else they are saved, and restored when the callback returns.
 * Take scratch registers first; the saving itself needs rax for a moment and gives it back. */
void rle_flags_take(struct rle_emit *e, const struct rle_superblock *sb, unsigned i);

/** The saving and restoring themselves, for cold parts of their own. Not nested, and not where
 * rle_flags_take has saved them. */
void rle_flags_save(struct rle_emit *e);
void rle_flags_restore(struct rle_emit *e);

/** Undo what was taken at the current point; the translator calls it after `before`. A cold path
 * that does not return to the hot one must not need it. */
void rle_point_release(struct rle_emit *e);

/** Call rle_instrument.callout from emitted code: every register, flag and vector state is kept.
 * Continues behind itself. Best placed in the cold part. Clobbers nothing of the program's. */
void rle_emit_callout(struct rle_emit *e);

#endif
