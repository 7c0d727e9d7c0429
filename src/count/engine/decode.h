/* One x86-64 instruction, as far as a translator must know it.
 *
 * Answers: how long is it, where does it send control, which memory does it touch and how, which
 * general registers and flags does it need or overwrite. It does not name the operation; that is
 * the business of src/decode, outside the traced process. Whatever is not understood is reported
 * as such and never guessed: sets err towards "reads everything, overwrites nothing".
 * Used by every chapter of the engine, so it needs no libc, allocates nothing, has no mutable data
 * and its tables hold no addresses (nothing to relocate). */
#ifndef RL_COUNT_ENGINE_DECODE_H
#define RL_COUNT_ENGINE_DECODE_H

#include <stdint.h>

/** Longest x86-64 instruction; more bytes never need to be offered. */
#define RLE_INSN_MAX 15

/** General registers by hardware number; bit n of a register mask stands for register n. */
enum rle_reg {
    RLE_RAX,
    RLE_RCX,
    RLE_RDX,
    RLE_RBX,
    RLE_RSP,
    RLE_RBP,
    RLE_RSI,
    RLE_RDI,
    RLE_R8,
    RLE_R9,
    RLE_R10,
    RLE_R11,
    RLE_R12,
    RLE_R13,
    RLE_R14,
    RLE_R15,
    RLE_REG_RIP = 0x10,  /**< only as a memory base: `disp` is then the absolute address */
    RLE_REG_NONE = 0xFF, /**< no such register */
};

/** Flags at their EFLAGS bit positions. DF is beside the six arithmetic ones because string
 * instructions read it and the engine must never change it. */
enum rle_flag {
    RLE_CF = 0x001,
    RLE_PF = 0x004,
    RLE_AF = 0x010,
    RLE_ZF = 0x040,
    RLE_SF = 0x080,
    RLE_DF = 0x400,
    RLE_OF = 0x800,
    RLE_ARITH_FLAGS = RLE_CF | RLE_PF | RLE_AF | RLE_ZF | RLE_SF | RLE_OF,
};

enum rle_status {
    /** Everything below is known. */
    RLE_OK = 0,
    /** Length, control flow, RIP-relative operand known, so it may be copied and executed in
     * another place; the sets are worst case (reads all, overwrites nothing) and mem[] is
     * incomplete. Privileged and rare system instructions. */
    RLE_OPAQUE,
    /** A known encoding that must not be translated: APX (REX2, EVEX map 4), near branches whose
     * 66 prefix means different things to different vendors, Xeon Phi's MVEX. `length` is 0 where
     * unknown. Leave the code untouched, or stop. */
    RLE_UNSUPPORTED,
    /** No instruction of any known processor: executing it raises #UD. `length` is 0. */
    RLE_INVALID,
    /** More than 15 bytes: executing it raises #GP. `length` is 0. */
    RLE_TOO_LONG,
    /** The bytes end before the instruction does; offer more. `length` is 0. */
    RLE_TRUNCATED,
};

enum rle_kind {
    RLE_PLAIN,    /**< goes on behind itself (it may still fault) */
    RLE_JCC,      /**< conditional, direct; condition in the low four bits of `opcode` */
    RLE_LOOP,     /**< loopne E0, loope E1, loop E2, jrcxz E3: rel8 only, opcode in `opcode` */
    RLE_JMP,      /**< direct */
    RLE_CALL,     /**< direct, near */
    RLE_RET,      /**< near; `imm` bytes are released beyond the return address */
    RLE_JMP_IND,  /**< near, through a register (mem-less; register in `branch_reg`) or memory */
    RLE_CALL_IND, /**< as RLE_JMP_IND; the target's memory operand is mem[0], the push mem[1] */
    RLE_SYSCALL,  /**< syscall: clobbers rcx and r11, returns behind itself */
    RLE_INT,      /**< int n (vector in `imm`), int1 (1), int3 (3) */
    RLE_XBEGIN,   /**< falls through, and on abort jumps to `target` */
    RLE_TRAP,     /**< ud0, ud1, ud2, hlt: always faults in user mode */
    RLE_FAR,      /**< far jmp/call/ret, iret, sysenter, sysexit, sysret, uiret, enclu, rsm …:
                       cannot be followed (status RLE_OPAQUE) */
};

/** What `attrs` may hold. */
enum rle_attr {
    RLE_A_LOCK = 1u << 0, /**< lock prefix in effect */
    RLE_A_REP = 1u << 1,  /**< string instruction repeated rcx (ecx with RLE_A_ADDR32) times */
    RLE_A_SCAN = 1u << 2, /**< with RLE_A_REP: cmps or scas, may end early; flags untouched at 0 */
    RLE_A_NT = 1u << 3,   /**< non-temporal hint on its memory operand */
    RLE_A_AGEN = 1u << 4, /**< mem[0] holds an address formed but not accessed, and n_mem is 0:
                               lea, long nops, prefetches, cache-line flushes, MPX */
    RLE_A_PREFETCH = 1u << 5, /**< with RLE_A_AGEN: a prefetch */
    RLE_A_ADDR32 = 1u << 6,   /**< 67 prefix: addresses (and rep's counter) are cut to 32 bits */
    RLE_A_X87 = 1u << 7,      /**< reads or writes x87 or MMX registers */
    RLE_A_VEC = 1u << 8,      /**< reads or writes xmm, ymm or zmm registers */
    RLE_A_OPMASK = 1u << 9,   /**< reads or writes k registers (a write-mask included) */
    RLE_A_TILE = 1u << 10,    /**< reads or writes AMX tiles */
    RLE_A_XSTATE = 1u << 11, /**< loads or stores processor state as a block: fxsave, xsave*, … */
    RLE_A_GS = 1u << 12, /**< reads or writes the gs register or its base, other than by addressing
                              memory (rdgsbase, wrgsbase, mov, push, pop, lgs) */
    RLE_A_FS = 1u << 13, /**< the same for fs */
    RLE_A_ZERO = 1u << 14,   /**< xor r,r or sub r,r: sets a register whatever it held before */
    RLE_A_DIVIDE = 1u << 15, /**< div or idiv: may raise #DE */
};

enum rle_access { RLE_READ = 1, RLE_WRITE = 2 };

enum rle_seg { RLE_SEG_NONE, RLE_SEG_FS, RLE_SEG_GS };

/** How `size` bytes from the address are touched. */
enum rle_mem_form {
    RLE_MEM_PLAIN,  /**< all of them (write-masked by `mask` where that is not 0) */
    RLE_MEM_STRING, /**< one step; with RLE_A_REP the next ones follow, direction by DF */
    RLE_MEM_GATHER, /**< `count` elements of `elem` bytes at base + vector index * scale + disp */
    RLE_MEM_VMASK,  /**< elements of `elem` bytes, those whose sign bit is set in vector register
                         `mask` (maskmovdqu, maskmovq, vmaskmov, vpmaskmov) */
    RLE_MEM_PACKED, /**< vcompress, vexpand: popcount(mask) elements of `elem` bytes, contiguous */
    RLE_MEM_BIT,    /**< bt, bts, btr, btc with the bit number in register `mask`: the address
                         moves by (signed bit number / 8 / size) * size */
    RLE_MEM_XLAT,   /**< index is al, zero-extended */
    RLE_MEM_TILE,   /**< AMX tile rows from base + disp, apart by the index register * scale;
                         size is 0: rows and row bytes stand in the tile configuration */
    RLE_MEM_XSAVE,  /**< size is 0: depends on XCR0 and edx:eax */
    RLE_MEM_LINE,   /**< the aligned 64 bytes that hold the address: clzero */
};

/**
 * A memory operand, in terms of register values *before* the instruction: a push writes at
 * [rsp-8], and `pop [rsp+8]` writes at [rsp+16].
 */
struct rle_mem {
    int64_t disp;    /**< displacement, disp8*N applied; the absolute address for RLE_REG_RIP */
    uint8_t base;    /**< enum rle_reg; RLE_REG_RIP, RLE_REG_NONE */
    uint8_t index;   /**< general register, vector register 0..31 (RLE_MEM_GATHER), RLE_REG_NONE */
    uint8_t scale;   /**< 1, 2, 4, 8; 0 without an index */
    uint8_t segment; /**< enum rle_seg; es, cs, ss, ds have base 0 in 64-bit code */
    uint16_t size;   /**< bytes in all (with every element enabled); 0: see the form */
    uint8_t access;  /**< RLE_READ | RLE_WRITE */
    uint8_t form;    /**< enum rle_mem_form */
    uint8_t elem;    /**< bytes of one element where masks or gathers need it, else 0 */
    uint8_t count;   /**< elements of a gather or scatter, else 0 */
    uint8_t index_size; /**< bytes of one vector index of a gather, else 0 */
    uint8_t mask; /**< k register 1..7 that masks the access, 0: none; but a vector register for
                       RLE_MEM_VMASK and for gathers without RLE_A_OPMASK (AVX2), and a general
                       register for RLE_MEM_BIT */
};

/** Operand lists never exceed two: string moves, push and pop of memory, movdir64b. */
#define RLE_MEM_MAX 2

struct rle_insn {
    uint64_t pc;        /**< address it was decoded for */
    uint64_t target;    /**< of a direct branch (JCC, LOOP, JMP, CALL, XBEGIN) */
    uint8_t length;     /**< 1..15, or 0 as the status says */
    uint8_t status;     /**< enum rle_status */
    uint8_t kind;       /**< enum rle_kind */
    uint8_t n_mem;      /**< operands in mem[] that are accessed */
    uint8_t opcode;     /**< last opcode byte */
    uint8_t opcode_at;  /**< offset of that byte */
    uint8_t modrm_at;   /**< offset of ModRM; 0: none */
    uint8_t rip_at;     /**< offset of the disp32 of a RIP-relative operand; 0: none. The target is
                             mem[0].disp, with RLE_A_AGEN too */
    uint8_t rex;        /**< REX byte (0x40..0x4F); 0 if none, or VEX, EVEX, XOP */
    uint8_t branch_reg; /**< register holding the target of JMP_IND or CALL_IND; RLE_REG_NONE */
    uint16_t reg_read;  /**< general registers whose value may matter, addresses included. A partial
                             (8 or 16 bit) write alone is no read; a conditional one is */
    uint16_t reg_kill;  /**< registers surely overwritten as a whole (32 or 64 bit) by an operand
                             that is not read as well; an address may have read them before */
    uint16_t reg_write; /**< registers possibly changed, in part or whole; holds reg_kill. A
                             register is untouched if in neither reg_read nor reg_write */
    uint16_t flag_read; /**< enum rle_flag bits that may matter */
    uint16_t flag_kill; /**< surely overwritten (undefined results included), read or not */
    uint16_t flag_write; /**< possibly changed; holds flag_kill */
    uint32_t attrs;      /**< enum rle_attr bits */
    int32_t imm;         /**< ret and int only, else 0 */
    struct rle_mem mem[RLE_MEM_MAX];
};

/**
 * Decode one instruction.
 *
 * @param bytes    [n_bytes] code; nothing beyond is read.
 * @param n_bytes  bytes that may be read; more than RLE_INSN_MAX changes nothing.
 * @param pc       address the instruction runs at, for RIP-relative operands and branch targets.
 * @param insn     written in full, whatever the result (worst-case sets unless RLE_OK).
 * @return the status, also in insn->status.
 *
 * Pure; thread-safe; async-signal-safe.
 */
enum rle_status rle_decode(const uint8_t *bytes, unsigned n_bytes, uint64_t pc,
                           struct rle_insn *insn);

#endif
