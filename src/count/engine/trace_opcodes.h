/* Encodings of the instructions that tracing code is made of (Intel SDM volume 2), beyond those of
 * emit.h. Between the chapters that emit it. */
#ifndef RL_COUNT_ENGINE_TRACE_OPCODES_H
#define RL_COUNT_ENGINE_TRACE_OPCODES_H

enum {
    PREFIX_GS = 0x65,
    PREFIX_FS = 0x64,
    PREFIX_REP = 0xF3,
    REX = 0x40,
    REX_W = 0x48,
    REX_R = 4,
    REX_B = 1,
    VEX3 = 0xC4,
    EVEX = 0x62,
    OP_ESCAPE = 0x0F,
    OP_MOV_LOAD = 0x8B,
    OP_MOV_STORE = 0x89,
    OP_MOV_STORE_IMM = 0xC7,
    OP_SUB_LOAD = 0x2B,
    OP_CMP_LOAD = 0x3B,
    OP_CMP_IMM8_8 = 0x80,
    CMP_DIGIT = 7,
    OP_TEST = 0x85,
    OP_JRCXZ = 0xE3,
    OP_RORX = 0xF0,
    OP_MOVZX_8 = 0xB6, /* behind OP_ESCAPE, as the next two */
    OP_BT = 0xA3,
    OP_RDFSBASE = 0xAE,
    OP_PREFETCH = 0x0D, /* a NOP where it is not known */
    PREFETCHW_DIGIT = 1,
    MOD_REG = 0xC0,
    MOD_DISP32 = 0x80,
    MOD_DISP8 = 0x40,
    RM_SIB = 4,
    SIB_DISP32 = 0x25, /* no base, no index */
};

#endif
