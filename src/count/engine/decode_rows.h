/* How the decoder's tables are written down: one row for each form of an instruction.
 *
 * A row applies where each of its key groups (prefix, W, L, memory or register form, ModRM.reg,
 * ModRM.rm) admits the instruction at hand; a group not named admits everything. The x86_*.def
 * files hold the rows, opcode by opcode; the first row that applies is the instruction.
 * To add an instruction is to add a row. Known to decode.c and decode_tables.c only. */
#ifndef RL_COUNT_ENGINE_DECODE_ROWS_H
#define RL_COUNT_ENGINE_DECODE_ROWS_H

#include "count/engine/decode.h"

/* Opcode maps, one table of 256 slots each. */
enum map {
    M_1B,   /* one byte */
    M_0F,   /* 0F */
    M_0F38, /* 0F 38 */
    M_0F3A, /* 0F 3A */
    M_3DNOW,
    M_VEX1,
    M_VEX2,
    M_VEX3,
    M_XOP8,
    M_XOP9,
    M_XOPA,
    M_EVEX1,
    M_EVEX2,
    M_EVEX3,
    M_EVEX5,
    M_EVEX6,
    N_MAPS,
    M_NONE = N_MAPS, /* no such map */
    M_LATER          /* a map of ISA extensions that are not understood */
};

/* Key: one bit for each value of each group. */
enum key {
    NP = 1 << 0, /* no mandatory prefix */
    P66 = 1 << 1,
    PF3 = 1 << 2,
    PF2 = 1 << 3,
    P_ALL = 0xF,
    W0 = 1 << 4, /* REX.W, VEX.W, EVEX.W */
    W1 = 1 << 5,
    W_ALL = W0 | W1,
    L0 = 1 << 6, /* vector length 128, 256, 512 */
    L1 = 1 << 7,
    L2 = 1 << 8,
    L_ALL = L0 | L1 | L2,
    MEM = 1 << 9, /* ModRM.mod is not 3 */
    REG = 1 << 10,
    MOD_ALL = MEM | REG,
    KEY_REG_AT = 11, /* eight bits for ModRM.reg */
    KEY_RM_AT = 19,  /* eight bits for ModRM.rm of register forms */
};
/* Sets of ModRM.reg and ModRM.rm values, as bit masks. */
#define REGS(mask) ((mask) << KEY_REG_AT)
#define RMS(mask)  ((mask) << KEY_RM_AT)
#define REG_ALL    REGS(0xFF)
#define RM_ALL     RMS(0xFF)

/* A group that a row does not name admits all its values. */
#define KEY_GROUP(key, all) (((key) & (all)) ? 0 : (all))
#define KEY_FILL(key)                                                                              \
    ((key) | KEY_GROUP(key, P_ALL) | KEY_GROUP(key, W_ALL) | KEY_GROUP(key, L_ALL) |               \
     KEY_GROUP(key, MOD_ALL) | KEY_GROUP(key, REG_ALL) | KEY_GROUP(key, RM_ALL))

/* Operand size codes of the rm operand: its bytes in memory, its width as a register. */
enum size_code {
    SIZE_0, /* none, or not constant */
    SIZE_1,
    SIZE_2,
    SIZE_4,
    SIZE_8,
    SIZE_16,
    SIZE_32,
    SIZE_64,
    SIZE_6,
    SIZE_10,
    SIZE_48,
    SIZE_512,
    N_FIXED_SIZES,
    SIZE_ENV = N_FIXED_SIZES, /* fldenv: 28, 14 with prefix 66 */
    SIZE_FSAVE,               /* frstor: 108, 94 with prefix 66 */
    SIZE_V,                   /* operand size: 2, 4, 8 */
    SIZE_Y,                   /* 8 with W, else 4 */
    SIZE_STK,                 /* stack: 8, 2 with prefix 66 */
    SIZE_P,                   /* far pointer: operand size + 2 */
    SIZE_VL,                  /* vector length */
    SIZE_VL2,                 /* half of it */
    SIZE_VL4,
    SIZE_VL8,
};

enum imm_code {
    IMM_0,
    IMM_8,
    IMM_16, /* also two bytes */
    IMM_24, /* enter */
    IMM_32,
    IMM_Z,     /* 2 or 4 by operand size */
    IMM_V,     /* 2, 4 or 8 */
    IMM_MOFFS, /* address of 8 bytes, 4 with prefix 67 */
    IMM_REL8,
    IMM_REL32,
    IMM_RELZ, /* xbegin: 2 or 4 */
};

enum flag_code {
    FLAGS_0,
    FLAGS_ALL, /* writes all six */
    FLAGS_ADC, /* and reads CF */
    FLAGS_INC,
    FLAGS_MUL, /* SF ZF AF PF undefined, and left alone by some processors */
    FLAGS_DIV, /* all undefined */
    FLAGS_BT,
    FLAGS_BSF,
    FLAGS_CFZF,
    FLAGS_BMI,
    FLAGS_ADCX,
    FLAGS_ADOX,
    FLAGS_CF,
    FLAGS_CMC,
    FLAGS_DF,
    FLAGS_LAHF,
    FLAGS_SAHF,
    FLAGS_PUSHF,
    FLAGS_POPF,
    FLAGS_ZF,
    FLAGS_FCOMI,
    FLAGS_R1, /* reads CF; the others by their hexadecimal mask */
    FLAGS_R4,
    FLAGS_R40,
    FLAGS_R41,
    FLAGS_STR,    /* reads DF */
    FLAGS_SYSTEM, /* reads all, may change all */
    N_PLAIN_FLAGS,
    FLAGS_COND = N_PLAIN_FLAGS, /* reads what the condition in the opcode names */
    FLAGS_SHIFT,                /* depends on the count */
    FLAGS_ROT,
    FLAGS_RCX,
    FLAGS_SHD,
    FLAGS_SCAN, /* cmps, scas: not written when repeated zero times */
};

/* Registers and memory that an instruction uses without naming them. */
enum implicit_code {
    IMPL_0,
    IMPL_ACC_R,
    IMPL_ACC_W,
    IMPL_ACC_W8, /* a part of rax: al, ah, ax */
    IMPL_ACC_RW,
    IMPL_MUL,
    IMPL_DIV,
    IMPL_CWD,
    IMPL_CX8,
    IMPL_CPUID,
    IMPL_RDTSC,
    IMPL_RDTSCP,
    IMPL_RDCX, /* reads ecx, writes edx:eax: xgetbv, rdpkru, rdpmc, rdpru */
    IMPL_AX_CX_DX,
    IMPL_AX_CX,
    IMPL_DXAX, /* reads edx:eax */
    IMPL_CL,
    IMPL_CX_RW,
    IMPL_CX_R,
    IMPL_STRI, /* pcmpestri */
    IMPL_STRM,
    IMPL_ISTRI,
    IMPL_DX_R,
    IMPL_XLAT,
    IMPL_PUSH,
    IMPL_POP,
    IMPL_CALL,
    IMPL_RET,
    IMPL_ENTER,
    IMPL_LEAVE,
    IMPL_MOVS,
    IMPL_CMPS,
    IMPL_STOS,
    IMPL_LODS,
    IMPL_SCAS,
    IMPL_MASKMOV8,
    IMPL_MASKMOV16,
    IMPL_CLZERO,
    IMPL_DEST64, /* movdir64b, enqcmd: 64 bytes at the address in the reg operand */
    IMPL_ALL,
};

/* What a register field names, if not a vector or x87 register. */
enum reg_type { TYPE_OTHER, TYPE_GPR, TYPE_K, TYPE_TMM, TYPE_SEG, TYPE_CR, TYPE_DR };

/* Where the parts of `what` lie. */
enum what_at {
    REG_ACCESS_AT = 3,
    VVVV_ACCESS_AT = 7,
    REG_TYPE_AT = 10,
    RM_TYPE_AT = 13,
    VVVV_TYPE_AT = 15,
    SIZE_AT = 17,
    ELEM_AT = 22,
    FORM_AT = 26,
    IMM_AT = 30,
    FLAGS_AT = 34,
    IMPL_AT = 40,
    KIND_AT = 46,
};
#define WHAT(value, at) ((uint64_t)(value) << (at))

/* The tokens of a row's `what`. rm operand: */
#define RM_R     WHAT(RLE_READ, 0)
#define RM_W     WHAT(RLE_WRITE, 0)
#define RM_RW    (RM_R | RM_W)
#define RM_OTHER WHAT(4, 0) /* the register form is no general register */
/* reg operand, 32 or 64 bit unless said: */
#define REG_R  (WHAT(RLE_READ, REG_ACCESS_AT) | T_GPR)
#define REG_W  (WHAT(RLE_WRITE, REG_ACCESS_AT) | T_GPR)
#define REG_RW (REG_R | REG_W)
#define REG_8  WHAT(1, 5)
#define REG_V  WHAT(1, 6)
/* vvvv operand, 32 or 64 bit: */
#define V_R   WHAT(RLE_READ, VVVV_ACCESS_AT)
#define V_W   WHAT(RLE_WRITE, VVVV_ACCESS_AT)
#define V_RW  (V_R | V_W)
#define V_VEC WHAT(1, 9)
#define V_K   (V_VEC | WHAT(1, VVVV_TYPE_AT))
#define V_TMM (V_VEC | WHAT(2, VVVV_TYPE_AT))
/* types of the reg and rm fields: */
#define T_GPR WHAT(TYPE_GPR, REG_TYPE_AT)
#define T_K   WHAT(TYPE_K, REG_TYPE_AT)
#define T_TMM WHAT(TYPE_TMM, REG_TYPE_AT)
#define T_SEG WHAT(TYPE_SEG, REG_TYPE_AT)
#define T_CR  WHAT(TYPE_CR, REG_TYPE_AT)
#define T_DR  WHAT(TYPE_DR, REG_TYPE_AT)
#define M_K   WHAT(1, RM_TYPE_AT)
#define M_TMM WHAT(2, RM_TYPE_AT)
/* sizes: */
#define S_1     WHAT(SIZE_1, SIZE_AT)
#define S_2     WHAT(SIZE_2, SIZE_AT)
#define S_4     WHAT(SIZE_4, SIZE_AT)
#define S_8     WHAT(SIZE_8, SIZE_AT)
#define S_16    WHAT(SIZE_16, SIZE_AT)
#define S_32    WHAT(SIZE_32, SIZE_AT)
#define S_64    WHAT(SIZE_64, SIZE_AT)
#define S_6     WHAT(SIZE_6, SIZE_AT)
#define S_10    WHAT(SIZE_10, SIZE_AT)
#define S_48    WHAT(SIZE_48, SIZE_AT)
#define S_512   WHAT(SIZE_512, SIZE_AT)
#define S_ENV   WHAT(SIZE_ENV, SIZE_AT)
#define S_FSAVE WHAT(SIZE_FSAVE, SIZE_AT)
#define S_V     WHAT(SIZE_V, SIZE_AT)
#define S_Y     WHAT(SIZE_Y, SIZE_AT)
#define S_STK   WHAT(SIZE_STK, SIZE_AT)
#define S_P     WHAT(SIZE_P, SIZE_AT)
#define S_VL    WHAT(SIZE_VL, SIZE_AT)
#define S_VL2   WHAT(SIZE_VL2, SIZE_AT)
#define S_VL4   WHAT(SIZE_VL4, SIZE_AT)
#define S_VL8   WHAT(SIZE_VL8, SIZE_AT)
/* element: what a mask bit, a broadcast or a gather's lane covers in memory */
#define E_1 WHAT(1, ELEM_AT)
#define E_2 WHAT(2, ELEM_AT)
#define E_4 WHAT(4, ELEM_AT)
#define E_8 WHAT(8, ELEM_AT)
/* memory forms: */
#define F_GATHER WHAT(RLE_MEM_GATHER, FORM_AT)
#define F_VMASK  WHAT(RLE_MEM_VMASK, FORM_AT)
#define F_PACKED WHAT(RLE_MEM_PACKED, FORM_AT)
#define F_BIT    WHAT(RLE_MEM_BIT, FORM_AT)
#define F_TILE   WHAT(RLE_MEM_TILE, FORM_AT)
#define F_XSAVE  WHAT(RLE_MEM_XSAVE, FORM_AT)
/* immediates, flags, implicit operands, kinds by their enumerators: */
#define I(code)  WHAT(IMM_##code, IMM_AT)
#define FL(code) WHAT(FLAGS_##code, FLAGS_AT)
#define IM(code) WHAT(IMPL_##code, IMPL_AT)
#define K(kind)  WHAT(RLE_##kind, KIND_AT)

/* The tokens of a row's `attr`: the public ones (low 16 bits), and what only decode.c needs. */
#define NT       RLE_A_NT
#define PREFETCH (RLE_A_AGEN | RLE_A_PREFETCH)
#define AGEN     RLE_A_AGEN
#define X87      RLE_A_X87
#define VEC      RLE_A_VEC
#define OPMASK   RLE_A_OPMASK
#define TILE     RLE_A_TILE
#define XSTATE   RLE_A_XSTATE
#define GS       RLE_A_GS
#define FS       RLE_A_FS
enum decode_attr {
    ATTR_PUBLIC = 0xFFFF,
    LOCKABLE = 1 << 16, /* takes a lock prefix with a memory destination */
    OPAQUE = 1 << 17,
    MASK = 1 << 18,     /* EVEX.aaa may name a mask */
    MASKREQ = 1 << 19,  /* and must */
    ZERO = 1 << 20,     /* EVEX.z allowed */
    BCAST = 1 << 21,    /* EVEX.b allowed with memory */
    SAE = 1 << 22,      /* EVEX.b allowed with registers */
    NEEDSIB = 1 << 23,  /* memory form needs a SIB byte */
    N_ELEM = 1 << 24,   /* disp8 counts elements, not the whole operand */
    NOP = 1 << 25,      /* does nothing: no register is read */
    DISTINCT = 1 << 26, /* destination must differ from each source */
    IDIOM = 1 << 27,    /* xor, sub: with equal operands the old value does not matter */
};

struct row {
    uint32_t key;
    uint32_t attr;
    uint64_t what;
};

enum modrm_use {
    MODRM_NONE,
    MODRM,
    MODRM_REG, /* names registers whatever its mod says */
};

/* The rows of one opcode. */
struct slot {
    uint16_t first; /* index of the first row */
    uint8_t count;  /* 0: no instruction */
    uint8_t modrm;  /* enum modrm_use */
};

#define HIDDEN __attribute__((visibility("hidden")))
extern const struct slot rle_slots[N_MAPS][256] HIDDEN;
extern const struct rows rle_rows HIDDEN; /* in fact an array of struct row */

#endif
