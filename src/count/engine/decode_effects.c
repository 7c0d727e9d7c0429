/* What an instruction does: general registers, implicit memory, flags, from its row.
 *
 * Where processors differ, or manuals leave a result undefined, the sets promise less. */
#include "count/engine/decode_internal.h"

enum { HIGH_BYTE_REGS = 4 /* without REX, byte registers 4 to 7 are ah, ch, dh, bh */ };

unsigned rle_vector_bytes(const struct encoding *e)
{
    return 16u << e->length_code;
}

unsigned rle_operand_bytes(const struct encoding *e, uint64_t what)
{
    static const uint16_t fixed[N_FIXED_SIZES] = {
        [SIZE_1] = 1,   [SIZE_2] = 2,   [SIZE_4] = 4,    [SIZE_8] = 8,
        [SIZE_16] = 16, [SIZE_32] = 32, [SIZE_64] = 64,  [SIZE_6] = 6,
        [SIZE_10] = 10, [SIZE_48] = 48, [SIZE_512] = 512};
    unsigned code = what >> SIZE_AT & 31;
    if (code < N_FIXED_SIZES)
        return fixed[code];
    switch ((enum size_code)code) {
    case SIZE_ENV:
        return e->opsize == 2 ? 14 : 28;
    case SIZE_FSAVE:
        return e->opsize == 2 ? 94 : 108;
    case SIZE_V:
        return e->opsize;
    case SIZE_Y:
        return e->w ? 8 : 4;
    case SIZE_STK:
        return e->opsize == 2 ? 2 : 8;
    case SIZE_P:
        return e->opsize + 2u;
    case SIZE_VL:
        return rle_vector_bytes(e);
    case SIZE_VL2:
        return rle_vector_bytes(e) / 2;
    case SIZE_VL4:
        return rle_vector_bytes(e) / 4;
    default:
        return rle_vector_bytes(e) / 8;
    }
}

static void use_register(struct rle_insn *insn, unsigned reg, unsigned access, bool whole)
{
    uint16_t bit = 1u << (reg & 15);
    if (access & RLE_READ)
        insn->reg_read |= bit;
    if (access & RLE_WRITE)
        insn->reg_write |= bit;
    if (access == RLE_WRITE && whole)
        insn->reg_kill |= bit;
}

/* Without REX, byte registers 4 to 7 are the second bytes of the first four. */
static unsigned byte_register(const struct encoding *e, unsigned reg)
{
    return !e->rex && reg >= HIGH_BYTE_REGS && reg < 8 ? reg - HIGH_BYTE_REGS : reg;
}

/* General registers named by ModRM, vvvv or the opcode. */
void rle_use_operands(const struct encoding *e, const struct row *row, struct rle_insn *insn)
{
    uint64_t what = row->what;
    unsigned access = what & (RLE_READ | RLE_WRITE);
    unsigned imm = what >> IMM_AT & 15;
    if (e->mod == 3 && access && !(what & RM_OTHER) && imm != IMM_MOFFS) {
        unsigned size = rle_operand_bytes(e, what), rm = e->rm | e->b << 3;
        use_register(insn, size == 1 ? byte_register(e, rm) : rm, access, size >= 4);
        insn->branch_reg = rm; /* kept for indirect branches only */
    }
    unsigned reg = e->reg | e->r << 3;
    access = what >> REG_ACCESS_AT & (RLE_READ | RLE_WRITE);
    if (access)
        use_register(insn, what & REG_8 ? byte_register(e, reg) : reg, access,
                     !(what & REG_8) && !((what & REG_V) && e->opsize == 2));
    access = what >> VVVV_ACCESS_AT & (RLE_READ | RLE_WRITE);
    if (access)
        use_register(insn, e->vvvv, access, true);
    if ((row->attr & IDIOM) && e->mod == 3 && e->opsize >= 4 &&
        (unsigned)(e->rm | e->b << 3) == reg) {
        insn->attrs |= RLE_A_ZERO;
        insn->reg_read &= ~(1u << reg);
        insn->reg_kill |= 1u << reg;
    }
}

#define R(reg) (1 << RLE_##reg)
enum whole { NEVER, BY_OPSIZE, ALWAYS };

static const struct {
    uint16_t read, write;
    uint8_t whole; /* whether registers written only are overwritten as a whole */
} implicit_registers[] = {
    [IMPL_ACC_R] = {R(RAX), 0, NEVER},
    [IMPL_ACC_W] = {0, R(RAX), BY_OPSIZE},
    [IMPL_ACC_W8] = {0, R(RAX), NEVER},
    [IMPL_ACC_RW] = {R(RAX), R(RAX), NEVER},
    [IMPL_MUL] = {R(RAX), R(RAX) | R(RDX), BY_OPSIZE},
    [IMPL_DIV] = {R(RAX) | R(RDX), R(RAX) | R(RDX), NEVER},
    [IMPL_CWD] = {R(RAX), R(RDX), BY_OPSIZE},
    [IMPL_CX8] = {R(RAX) | R(RBX) | R(RCX) | R(RDX), R(RAX) | R(RDX), NEVER},
    [IMPL_CPUID] = {R(RAX) | R(RCX), R(RAX) | R(RBX) | R(RCX) | R(RDX), ALWAYS},
    [IMPL_RDTSC] = {0, R(RAX) | R(RDX), ALWAYS},
    [IMPL_RDTSCP] = {0, R(RAX) | R(RCX) | R(RDX), ALWAYS},
    [IMPL_RDCX] = {R(RCX), R(RAX) | R(RDX), ALWAYS},
    [IMPL_AX_CX_DX] = {R(RAX) | R(RCX) | R(RDX), 0, NEVER},
    [IMPL_AX_CX] = {R(RAX) | R(RCX), 0, NEVER},
    [IMPL_DXAX] = {R(RAX) | R(RDX), 0, NEVER},
    [IMPL_CL] = {R(RCX), 0, NEVER},
    [IMPL_CX_RW] = {R(RCX), R(RCX), NEVER},
    [IMPL_CX_R] = {R(RCX), 0, NEVER},
    [IMPL_STRI] = {R(RAX) | R(RDX), R(RCX), ALWAYS},
    [IMPL_STRM] = {R(RAX) | R(RDX), 0, NEVER},
    [IMPL_ISTRI] = {0, R(RCX), ALWAYS},
    [IMPL_DX_R] = {R(RDX), 0, NEVER},
    [IMPL_XLAT] = {R(RAX) | R(RBX), R(RAX), NEVER},
    [IMPL_PUSH] = {R(RSP), R(RSP), NEVER},
    [IMPL_POP] = {R(RSP), R(RSP), NEVER},
    [IMPL_CALL] = {R(RSP), R(RSP), NEVER},
    [IMPL_RET] = {R(RSP), R(RSP), NEVER},
    [IMPL_ENTER] = {R(RSP) | R(RBP), R(RSP) | R(RBP), NEVER},
    [IMPL_LEAVE] = {R(RSP) | R(RBP), R(RSP) | R(RBP), NEVER},
    [IMPL_MOVS] = {R(RSI) | R(RDI), R(RSI) | R(RDI), NEVER},
    [IMPL_CMPS] = {R(RSI) | R(RDI), R(RSI) | R(RDI), NEVER},
    [IMPL_STOS] = {R(RAX) | R(RDI), R(RDI), NEVER},
    [IMPL_LODS] = {R(RSI), R(RAX) | R(RSI), BY_OPSIZE},
    [IMPL_SCAS] = {R(RAX) | R(RDI), R(RDI), NEVER},
    [IMPL_MASKMOV8] = {R(RDI), 0, NEVER},
    [IMPL_MASKMOV16] = {R(RDI), 0, NEVER},
    [IMPL_CLZERO] = {R(RAX), 0, NEVER},
    [IMPL_DEST64] = {0, 0, NEVER},
    [IMPL_ALL] = {RLE_ALL_REGS, R(RAX) | R(RCX) | R(R11), NEVER},
};

static struct rle_mem *add_memory(struct rle_insn *insn, unsigned base, unsigned size,
                                  unsigned access)
{
    struct rle_mem *mem = &insn->mem[insn->n_mem++];
    *mem = (struct rle_mem){.base = base, .index = RLE_REG_NONE, .size = size, .access = access};
    return mem;
}

static unsigned string_bytes(const struct encoding *e)
{
    return e->opcode & 1 ? e->opsize : 1;
}

static void add_string(const struct encoding *e, struct rle_insn *insn, unsigned source_access,
                       unsigned target_access)
{
    struct rle_mem *mem;
    if (source_access) {
        mem = add_memory(insn, RLE_RSI, string_bytes(e), source_access);
        mem->segment = e->segment;
        mem->form = RLE_MEM_STRING;
    }
    if (target_access) {
        mem = add_memory(insn, RLE_RDI, string_bytes(e), target_access);
        mem->form = RLE_MEM_STRING;
    }
    if (e->rep) {
        insn->attrs |= RLE_A_REP;
        use_register(insn, RLE_RCX, RLE_READ | RLE_WRITE, false);
        insn->reg_read |= insn->reg_write; /* lods may load nothing */
        insn->reg_kill = 0;
    }
}

static void add_stack(const struct encoding *e, unsigned code, struct rle_insn *insn)
{
    unsigned slot = e->opsize == 2 ? 2 : 8;
    switch (code) {
    case IMPL_POP:
        /* The address of `pop [rsp+x]` is formed after rsp has moved. */
        if (insn->n_mem && insn->mem[0].base == RLE_RSP)
            insn->mem[0].disp += slot;
        add_memory(insn, RLE_RSP, slot, RLE_READ);
        break;
    case IMPL_RET:
        add_memory(insn, RLE_RSP, 8, RLE_READ);
        break;
    case IMPL_LEAVE:
        add_memory(insn, RLE_RBP, slot, RLE_READ);
        break;
    case IMPL_CALL:
        slot = 8;
        /* fall through */
    default:
        add_memory(insn, RLE_RSP, slot, RLE_WRITE)->disp = -(int64_t)slot;
    }
}

/* Memory that the instruction touches without naming it. */
static void add_implicit_memory(const struct encoding *e, unsigned code, struct rle_insn *insn)
{
    struct rle_mem *mem;
    switch ((enum implicit_code)code) {
    case IMPL_PUSH:
    case IMPL_POP:
    case IMPL_CALL:
    case IMPL_RET:
    case IMPL_ENTER:
    case IMPL_LEAVE:
        add_stack(e, code, insn);
        break;
    case IMPL_MOVS:
        add_string(e, insn, RLE_READ, RLE_WRITE);
        break;
    case IMPL_CMPS:
        add_string(e, insn, RLE_READ, RLE_READ);
        break;
    case IMPL_STOS:
        add_string(e, insn, 0, RLE_WRITE);
        break;
    case IMPL_LODS:
        add_string(e, insn, RLE_READ, 0);
        break;
    case IMPL_SCAS:
        add_string(e, insn, 0, RLE_READ);
        break;
    case IMPL_XLAT:
        mem = add_memory(insn, RLE_RBX, 1, RLE_READ);
        mem->index = RLE_RAX;
        mem->scale = 1;
        mem->segment = e->segment;
        mem->form = RLE_MEM_XLAT;
        break;
    case IMPL_MASKMOV8:
    case IMPL_MASKMOV16:
        mem = add_memory(insn, RLE_RDI, code == IMPL_MASKMOV8 ? 8 : 16, RLE_WRITE);
        mem->segment = e->segment;
        mem->form = RLE_MEM_VMASK;
        mem->elem = 1;
        mem->mask = e->rm | e->b << 3;
        break;
    case IMPL_CLZERO:
        add_memory(insn, RLE_RAX, 64, RLE_WRITE)->form = RLE_MEM_LINE;
        break;
    case IMPL_DEST64:
        add_memory(insn, e->reg | e->r << 3, 64, RLE_WRITE);
        break;
    default:
        break;
    }
}

void rle_use_implicit(const struct encoding *e, unsigned code, struct rle_insn *insn)
{
    if (code == IMPL_0)
        return;
    uint16_t read = implicit_registers[code].read, write = implicit_registers[code].write;
    unsigned whole = implicit_registers[code].whole;
    if (whole == BY_OPSIZE)
        whole = code == IMPL_LODS ? string_bytes(e) >= 4 : e->opsize >= 4;
    insn->reg_read |= read;
    insn->reg_write |= write;
    if (whole)
        insn->reg_kill |= write & ~read;
    add_implicit_memory(e, code, insn);
}

#define F_ALL      RLE_ARITH_FLAGS
#define F_NO_OF_AF (F_ALL & ~(RLE_OF | RLE_AF))

static const struct {
    uint16_t read, kill, write;
} plain_flags[N_PLAIN_FLAGS] = {
    [FLAGS_ALL] = {0, F_ALL, F_ALL},
    [FLAGS_ADC] = {RLE_CF, F_ALL, F_ALL},
    [FLAGS_INC] = {0, F_ALL & ~RLE_CF, F_ALL & ~RLE_CF},
    [FLAGS_MUL] = {0, RLE_CF | RLE_OF, F_ALL},
    [FLAGS_DIV] = {0, 0, F_ALL},
    [FLAGS_BT] = {0, RLE_CF, F_ALL & ~RLE_ZF},
    [FLAGS_BSF] = {0, RLE_ZF, F_ALL},
    [FLAGS_CFZF] = {0, RLE_CF | RLE_ZF, F_ALL},
    [FLAGS_BMI] = {0, RLE_CF | RLE_ZF | RLE_SF | RLE_OF, F_ALL},
    [FLAGS_ADCX] = {RLE_CF, RLE_CF, RLE_CF},
    [FLAGS_ADOX] = {RLE_OF, RLE_OF, RLE_OF},
    [FLAGS_CF] = {0, RLE_CF, RLE_CF},
    [FLAGS_CMC] = {RLE_CF, RLE_CF, RLE_CF},
    [FLAGS_DF] = {0, RLE_DF, RLE_DF},
    [FLAGS_LAHF] = {F_ALL & ~RLE_OF, 0, 0},
    [FLAGS_SAHF] = {0, F_ALL & ~RLE_OF, F_ALL & ~RLE_OF},
    [FLAGS_PUSHF] = {RLE_ALL_FLAGS, 0, 0},
    [FLAGS_POPF] = {0, RLE_ALL_FLAGS, RLE_ALL_FLAGS},
    [FLAGS_ZF] = {0, RLE_ZF, RLE_ZF},
    [FLAGS_FCOMI] = {0, RLE_CF | RLE_PF | RLE_ZF, F_ALL},
    [FLAGS_R1] = {RLE_CF, 0, 0},
    [FLAGS_R4] = {RLE_PF, 0, 0},
    [FLAGS_R40] = {RLE_ZF, 0, 0},
    [FLAGS_R41] = {RLE_CF | RLE_ZF, 0, 0},
    [FLAGS_STR] = {RLE_DF, 0, 0},
    [FLAGS_SYSTEM] = {RLE_ALL_FLAGS, 0, RLE_ALL_FLAGS},
};

/* Flags that a condition reads, by bits 1 to 3 of the opcode. */
static const uint16_t condition_flags[8] = {
    RLE_OF, RLE_CF, RLE_ZF,          RLE_CF | RLE_ZF,
    RLE_SF, RLE_PF, RLE_SF | RLE_OF, RLE_ZF | RLE_SF | RLE_OF};

/* Shifts and rotates write no flag when the count is 0; OF is defined for a count of 1 only, CF for
 * counts below the width; AF is undefined. */
static void use_shift_flags(const struct encoding *e, const struct row *row, int64_t imm,
                            struct rle_insn *insn)
{
    unsigned code = row->what >> FLAGS_AT & 63;
    unsigned width = 8 * rle_operand_bytes(e, row->what);
    bool by_cl = (row->what >> IMPL_AT & 63) == IMPL_CL;
    bool has_imm = (row->what >> IMM_AT & 15) == IMM_8;
    unsigned count = by_cl ? 0 : has_imm ? imm & (width == 64 ? 63 : 31) : 1;
    insn->flag_write = code == FLAGS_ROT || code == FLAGS_RCX ? RLE_CF | RLE_OF : F_ALL;
    if (code == FLAGS_RCX)
        insn->flag_read = RLE_CF;
    if (count == 0 || (count >= width && code == FLAGS_SHD))
        return;
    uint16_t kill = F_NO_OF_AF | (count == 1 ? RLE_OF : 0);
    if (count >= width || code == FLAGS_RCX)
        kill &= ~RLE_CF;
    insn->flag_kill = kill & insn->flag_write;
    if (code == FLAGS_RCX || (code == FLAGS_ROT && count != 1))
        insn->flag_kill &= ~RLE_OF;
}

void rle_use_flags(const struct encoding *e, const struct row *row, int64_t imm,
                   struct rle_insn *insn)
{
    unsigned code = row->what >> FLAGS_AT & 63;
    if (code < N_PLAIN_FLAGS) {
        insn->flag_read = plain_flags[code].read;
        insn->flag_kill = plain_flags[code].kill;
        insn->flag_write = plain_flags[code].write;
        insn->attrs |= code == FLAGS_DIV ? RLE_A_DIVIDE : 0;
    } else if (code == FLAGS_COND) {
        insn->flag_read = condition_flags[e->opcode >> 1 & 7];
    } else if (code == FLAGS_SCAN) {
        insn->flag_read = RLE_DF | (e->rep ? RLE_ZF : 0);
        insn->flag_write = F_ALL;
        insn->flag_kill = e->rep ? 0 : F_ALL;
        insn->attrs |= e->rep ? RLE_A_SCAN : 0;
    } else {
        use_shift_flags(e, row, imm, insn);
    }
}
