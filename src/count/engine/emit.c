#include "count/engine/emit.h"

#include "count/engine/sys.h"

/* Encodings: Intel SDM volume 2. */
enum {
    SEGMENT_GS = 0x65,
    REX_W = 0x48,
    REX_R = 0x44,
    REX_X = 0x42,
    REX_B = 0x41,
    OP_MOV_STORE = 0x89,
    OP_MOV_LOAD = 0x8B,
    OP_LEA = 0x8D,
    OP_MOV_IMM = 0xB8,
    OP_GROUP1_IMM8 = 0x83,
    OP_GROUP1_IMM32 = 0x81,
    OP_SHIFT_IMM8 = 0xC1,
    OP_GROUP3 = 0xF7,
    OP_GROUP5 = 0xFF,
    OP_JMP = 0xE9,
    OP_MOV_STORE_IMM = 0xC7,
    OP_TWO_BYTE = 0x0F,
    OP_JCC = 0x80,
    SIB_ABSOLUTE = 0x25, /* no base, no index: a 32-bit displacement alone */
    RM_SIB = 4,
    RM_RIP = 5,
    NOP = 0x90,
    CACHE_LINE = 64,
};

uint64_t rle_emit_address(const struct rle_emit *e)
{
    return (uint64_t)e->at + (uint64_t)e->to_exec;
}

void rle_emit_cold(struct rle_emit *e, bool cold)
{
    if (e->cold == cold)
        return;
    uint8_t *at = e->at;
    e->at = e->other;
    e->other = at;
    e->cold = cold;
}

void rle_emit_1(struct rle_emit *e, unsigned byte)
{
    *e->at++ = (uint8_t)byte;
}

void rle_emit_4(struct rle_emit *e, uint32_t value)
{
    __builtin_memcpy(e->at, &value, sizeof(value));
    e->at += sizeof(value);
}

void rle_emit_bytes(struct rle_emit *e, const uint8_t *bytes, unsigned n)
{
    for (; n >= 8; n -= 8, bytes += 8, e->at += 8)
        __builtin_memcpy(e->at, bytes, 8);
    while (n-- > 0)
        *e->at++ = *bytes++;
}

/* Let the four bytes after `lead` more bytes lie within one cache line. */
static void align_fixup(struct rle_emit *e, unsigned lead)
{
    while (((rle_emit_address(e) + lead) & (CACHE_LINE - 1)) > CACHE_LINE - sizeof(uint32_t))
        rle_emit_1(e, NOP);
}

rle_fixup rle_emit_jmp(struct rle_emit *e)
{
    align_fixup(e, 1);
    rle_emit_1(e, OP_JMP);
    rle_emit_4(e, 0);
    return e->at - sizeof(uint32_t);
}

rle_fixup rle_emit_jcc(struct rle_emit *e, enum rle_cond cond)
{
    align_fixup(e, 2);
    rle_emit_1(e, OP_TWO_BYTE);
    rle_emit_1(e, OP_JCC | cond);
    rle_emit_4(e, 0);
    return e->at - sizeof(uint32_t);
}

/* opcode/digit reg32, value */
static uint8_t *changeable(struct rle_emit *e, unsigned opcode, unsigned digit, unsigned reg,
                           uint32_t value)
{
    enum { BYTES_BEFORE = 3 };
    align_fixup(e, BYTES_BEFORE);
    rle_emit_1(e, reg >= 8 ? REX_B : 0x40);
    rle_emit_1(e, opcode);
    rle_emit_1(e, 0xC0 | digit << 3 | (reg & 7));
    rle_emit_4(e, value);
    return e->at - sizeof(value);
}

uint8_t *rle_emit_test_imm(struct rle_emit *e, unsigned reg, uint32_t value)
{
    return changeable(e, OP_GROUP3, 0, reg, value);
}

uint8_t *rle_emit_and_imm(struct rle_emit *e, unsigned reg, uint32_t value)
{
    return changeable(e, OP_GROUP1_IMM32, RLE_AND, reg, value);
}

static uint32_t displacement(uint64_t from, uint64_t to)
{
    int64_t d = (int64_t)(to - from);
    if (d != (int32_t)d)
        rle_die("branch or operand out of reach", to);
    return (uint32_t)d;
}

void rle_emit_patch(const struct rle_emit *e, rle_fixup at, uint64_t address)
{
    uint64_t behind = (uint64_t)at + (uint64_t)e->to_exec + sizeof(uint32_t);
    __atomic_store_n((uint32_t *)(void *)at, displacement(behind, address), __ATOMIC_RELAXED);
}

void rle_emit_here(const struct rle_emit *e, rle_fixup at)
{
    rle_emit_patch(e, at, rle_emit_address(e));
}

/* opcode reg, gs:[disp], 64-bit */
static void thread_operand(struct rle_emit *e, unsigned rex, unsigned opcode, unsigned reg,
                           uint32_t disp)
{
    rle_emit_1(e, SEGMENT_GS);
    if (rex || reg >= 8)
        rle_emit_1(e, rex | 0x40 | (reg >= 8 ? REX_R : 0));
    rle_emit_1(e, opcode);
    rle_emit_1(e, RM_SIB | (reg & 7) << 3);
    rle_emit_1(e, SIB_ABSOLUTE);
    rle_emit_4(e, disp);
}

void rle_emit_load_tb(struct rle_emit *e, unsigned reg, uint32_t disp)
{
    thread_operand(e, REX_W, OP_MOV_LOAD, reg, disp);
}

void rle_emit_store_tb(struct rle_emit *e, unsigned reg, uint32_t disp)
{
    thread_operand(e, REX_W, OP_MOV_STORE, reg, disp);
}

void rle_emit_inc_tb(struct rle_emit *e, uint32_t disp)
{
    thread_operand(e, REX_W, OP_GROUP5, 0, disp);
}

void rle_emit_store_tb_imm32(struct rle_emit *e, uint32_t disp, uint32_t value)
{
    thread_operand(e, 0, OP_MOV_STORE_IMM, 0, disp);
    rle_emit_4(e, value);
}

void rle_emit_jmp_tb(struct rle_emit *e, uint32_t disp)
{
    thread_operand(e, 0, OP_GROUP5, 4, disp);
}

static unsigned rex_of(bool wide, unsigned reg, unsigned rm)
{
    return (wide ? REX_W : 0x40) | (reg >= 8 ? REX_R : 0) | (rm >= 8 ? REX_B : 0);
}

static void register_pair(struct rle_emit *e, bool wide, unsigned opcode, unsigned reg, unsigned rm)
{
    rle_emit_1(e, rex_of(wide, reg, rm));
    rle_emit_1(e, opcode);
    rle_emit_1(e, 0xC0 | (reg & 7) << 3 | (rm & 7));
}

void rle_emit_mov(struct rle_emit *e, unsigned dst, unsigned src)
{
    register_pair(e, true, OP_MOV_STORE, src, dst);
}

void rle_emit_mov_imm64(struct rle_emit *e, unsigned dst, uint64_t value)
{
    rle_emit_1(e, rex_of(true, 0, dst));
    rle_emit_1(e, OP_MOV_IMM | (dst & 7));
    __builtin_memcpy(e->at, &value, sizeof(value));
    e->at += sizeof(value);
}

static unsigned scale_bits(unsigned scale)
{
    return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
}

/* opcode reg, [base + index*scale + disp] */
static void memory_operand(struct rle_emit *e, unsigned opcode, unsigned reg, unsigned base,
                           unsigned index, unsigned scale, int32_t disp)
{
    bool has_base = base != RLE_REG_NONE;
    bool has_index = index != RLE_REG_NONE;
    rle_emit_1(e, rex_of(true, reg, has_base ? base : 0) | (has_index && index >= 8 ? REX_X : 0));
    rle_emit_1(e, opcode);
    bool small = disp == (int8_t)disp;
    unsigned mod = !has_base ? 0 : small ? 1 : 2;
    if (has_base && !has_index && (base & 7) != RM_SIB) {
        rle_emit_1(e, mod << 6 | (reg & 7) << 3 | (base & 7));
    } else {
        rle_emit_1(e, mod << 6 | (reg & 7) << 3 | RM_SIB);
        rle_emit_1(e, scale_bits(scale) << 6 | (has_index ? index & 7 : 4) << 3 |
                          (has_base ? base & 7 : 5));
    }
    if (has_base && small)
        rle_emit_1(e, (uint8_t)disp);
    else
        rle_emit_4(e, (uint32_t)disp);
}

void rle_emit_load(struct rle_emit *e, unsigned dst, unsigned base, int32_t disp)
{
    memory_operand(e, OP_MOV_LOAD, dst, base, RLE_REG_NONE, 0, disp);
}

void rle_emit_store(struct rle_emit *e, unsigned src, unsigned base, int32_t disp)
{
    memory_operand(e, OP_MOV_STORE, src, base, RLE_REG_NONE, 0, disp);
}

void rle_emit_lea(struct rle_emit *e, unsigned dst, unsigned base, unsigned index, unsigned scale,
                  int32_t disp)
{
    memory_operand(e, OP_LEA, dst, base, index, scale, disp);
}

void rle_emit_lea_address(struct rle_emit *e, unsigned dst, uint64_t address)
{
    enum { LEA_BYTES = 7 };
    int64_t d = (int64_t)(address - rle_emit_address(e) - LEA_BYTES);
    if (d != (int32_t)d) {
        rle_emit_mov_imm64(e, dst, address);
        return;
    }
    rle_emit_1(e, rex_of(true, dst, 0));
    rle_emit_1(e, OP_LEA);
    rle_emit_1(e, (dst & 7) << 3 | RM_RIP);
    rle_emit_4(e, (uint32_t)d);
}

void rle_emit_alu(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, unsigned src)
{
    register_pair(e, wide, (unsigned)op << 3 | 1, src, dst);
}

void rle_emit_alu_imm(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, int32_t imm)
{
    bool small = imm == (int8_t)imm;
    register_pair(e, wide, small ? OP_GROUP1_IMM8 : OP_GROUP1_IMM32, op, dst);
    if (small)
        rle_emit_1(e, (uint8_t)imm);
    else
        rle_emit_4(e, (uint32_t)imm);
}

void rle_emit_alu_tb(struct rle_emit *e, enum rle_alu op, bool wide, unsigned dst, uint32_t disp)
{
    thread_operand(e, wide ? REX_W : 0, (unsigned)op << 3 | 3, dst, disp);
}

void rle_emit_shr(struct rle_emit *e, bool wide, unsigned dst, unsigned bits)
{
    register_pair(e, wide, OP_SHIFT_IMM8, 5, dst);
    rle_emit_1(e, bits);
}
