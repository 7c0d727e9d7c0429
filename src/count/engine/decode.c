/* The decoder: prefixes, opcode, row, operands, in one pass over a padded copy of the bytes.
 *
 * The copy lets every stage read ahead without a bound; whether the instruction lay within the
 * bytes offered is asked once, at the end. What an instruction is stands in the tables.
 *
 * The engine is built without a C library and without built-in functions, so small copies ask for
 * the compiler's by name. */
#include "count/engine/decode_internal.h"

#include <stddef.h>

enum { OP_XCHG_ACC = 0x90 };

enum prefix_class {
    PFX_NONE,
    PFX_REX,
    PFX_66,
    PFX_67,
    PFX_F0,
    PFX_F2,
    PFX_F3,
    PFX_SEG, /* es, cs, ss, ds: no effect on addresses */
    PFX_FS,
    PFX_GS,
};

static const uint8_t prefix_classes[256] = {
    [0x26] = PFX_SEG,          [0x2E] = PFX_SEG, [0x36] = PFX_SEG, [0x3E] = PFX_SEG,
    [0x40 ... 0x4F] = PFX_REX, [0x64] = PFX_FS,  [0x65] = PFX_GS,  [0x66] = PFX_66,
    [0x67] = PFX_67,           [0xF0] = PFX_F0,  [0xF2] = PFX_F2,  [0xF3] = PFX_F3,
};

/* Reads prefixes up to the first opcode byte; `e->at` is then its offset. */
static void read_prefixes(struct encoding *e)
{
    for (; e->at < RLE_INSN_MAX; e->at++) {
        uint8_t class = prefix_classes[e->bytes[e->at]];
        if (class == PFX_NONE)
            return;
        uint8_t rex = 0; /* counts only right in front of the opcode */
        switch (class) {
        case PFX_REX:
            rex = e->bytes[e->at];
            break;
        case PFX_66:
            e->has_66 = true;
            break;
        case PFX_67:
            e->addr32 = true;
            break;
        case PFX_F0:
            e->lock = true;
            break;
        case PFX_F2:
        case PFX_F3:
            e->rep = e->bytes[e->at];
            break;
        case PFX_SEG:
            e->segment = e->segment ? e->segment : RLE_SEG_NONE;
            break;
        case PFX_FS:
            e->segment = RLE_SEG_FS;
            break;
        default:
            e->segment = RLE_SEG_GS;
        }
        e->rex = rex;
    }
}

/* Legacy opcode bytes and their maps. */
static void read_legacy_opcode(struct encoding *e)
{
    e->w = e->rex >> 3 & 1;
    e->r = e->rex >> 2 & 1;
    e->x = e->rex >> 1 & 1;
    e->b = e->rex & 1;
    e->pp = e->rep == 0xF3 ? 2 : e->rep == 0xF2 ? 3 : e->has_66;
    e->opsize = e->w ? 8 : e->has_66 ? 2 : 4;
    uint8_t byte = e->bytes[e->at++];
    e->map = M_1B;
    if (byte == 0x0F) {
        byte = e->bytes[e->at++];
        e->map = M_0F;
        if (byte == 0x38 || byte == 0x3A) {
            e->map = byte == 0x38 ? M_0F38 : M_0F3A;
            byte = e->bytes[e->at++];
        } else if (byte == 0x0F) {
            e->map = M_3DNOW;
        }
    }
    e->opcode = byte;
}

/* Fields that two- and three-byte VEX and XOP share: the last prefix byte. */
static void read_vex_tail(struct encoding *e, uint8_t tail)
{
    e->vvvv = ~tail >> 3 & 15;
    e->length_code = tail >> 2 & 1;
    e->pp = tail & 3;
    e->opsize = e->w ? 8 : 4;
    e->has_vex = true;
    e->opcode = e->bytes[e->at++];
}

static void read_vex2(struct encoding *e)
{
    uint8_t p = e->bytes[e->at + 1];
    e->at += 2;
    e->r = ~p >> 7 & 1;
    e->map = M_VEX1;
    read_vex_tail(e, p);
}

static const uint8_t vex_maps[32] = {
    [0] = M_NONE,  [1] = M_VEX1,  [2] = M_VEX2, [3] = M_VEX3, [4] = M_NONE,  [5] = M_LATER,
    [6] = M_LATER, [7] = M_LATER, [8] = M_XOP8, [9] = M_XOP9, [10] = M_XOPA, [11 ... 31] = M_NONE,
};

/* VEX with C4, XOP with 8F. */
static void read_vex3(struct encoding *e)
{
    bool xop = e->bytes[e->at] == 0x8F;
    uint8_t p0 = e->bytes[e->at + 1], p1 = e->bytes[e->at + 2], map = p0 & 31;
    e->at += 3;
    e->r = ~p0 >> 7 & 1;
    e->x = ~p0 >> 6 & 1;
    e->b = ~p0 >> 5 & 1;
    e->w = p1 >> 7;
    e->map = (map >= 8) == xop ? vex_maps[map] : M_NONE;
    read_vex_tail(e, p1);
}

static const uint8_t evex_maps[8] = {M_NONE,  M_EVEX1, M_EVEX2, M_EVEX3,
                                     M_LATER, M_EVEX5, M_EVEX6, M_LATER};

static void read_evex(struct encoding *e)
{
    uint8_t p0 = e->bytes[e->at + 1], p1 = e->bytes[e->at + 2], p2 = e->bytes[e->at + 3];
    e->at += 4;
    e->r = ~p0 >> 7 & 1;
    e->x = ~p0 >> 6 & 1;
    e->b = ~p0 >> 5 & 1;
    e->r2 = ~p0 >> 4 & 1;
    e->w = p1 >> 7;
    e->zeroing = p2 >> 7;
    e->evex_b = p2 >> 4 & 1;
    e->v2 = ~p2 >> 3 & 1;
    e->mask = p2 & 7;
    /* Bit 3 of p0 and a clear bit 2 of p1 belong to APX, MVEX or AVX10.2. */
    e->map = (p0 & 8) || !(p1 & 4) ? M_LATER : evex_maps[p0 & 7];
    read_vex_tail(e, p1);
    e->length_code = p2 >> 5 & 3;
    e->has_evex = true;
}

/* Opcode and map. VEX, EVEX and XOP admit none of the prefixes that they encode themselves. */
static enum rle_status read_opcode(struct encoding *e)
{
    uint8_t byte = e->bytes[e->at];
    bool vector = byte == 0xC4 || byte == 0xC5 || byte == 0x62 ||
                  (byte == 0x8F && (e->bytes[e->at + 1] & 0x1F) >= 8);
    if (!vector && byte != 0xD5) {
        read_legacy_opcode(e);
        return RLE_OK;
    }
    if (byte == 0xD5) {
        e->at += 2;
        return RLE_UNSUPPORTED;
    }
    if (byte == 0xC5)
        read_vex2(e);
    else if (byte == 0x62)
        read_evex(e);
    else
        read_vex3(e);
    if (e->rex || e->has_66 || e->rep || e->lock)
        return RLE_INVALID;
    return e->map == M_LATER ? RLE_UNSUPPORTED : e->map == M_NONE ? RLE_INVALID : RLE_OK;
}

/* Finds the row, having read ModRM where the opcode has one. NULL: no such instruction. */
static const struct row *find_row(struct encoding *e)
{
    const struct slot *slot = &rle_slots[e->map][e->opcode];
    if (e->map == M_1B && e->opcode == OP_XCHG_ACC && e->b)
        slot++; /* with REX.B it is no nop but an exchange like its neighbours */
    e->has_modrm = slot->modrm || e->map == M_3DNOW;
    e->mod = 3;
    e->rm = e->opcode & 7;
    if (e->has_modrm) {
        uint8_t modrm = e->bytes[e->at++];
        e->mod = slot->modrm == MODRM_REG ? 3 : modrm >> 6;
        e->reg = modrm >> 3 & 7;
        e->rm = modrm & 7;
    }
    unsigned length = e->evex_b && e->mod == 3 ? 2 : e->length_code;
    if (length == 3)
        return NULL;
    uint32_t want = NP << e->pp | W0 << e->w | L0 << length | MEM << (e->mod == 3) |
                    1u << (KEY_REG_AT + e->reg) |
                    1u << (KEY_RM_AT + (e->has_modrm && e->mod == 3 ? e->rm : 0));
    const struct row *row = (const struct row *)&rle_rows + slot->first;
    for (unsigned i = 0; i < slot->count; i++, row++)
        if ((row->key & want) == want)
            return row;
    return NULL;
}

static int32_t read_i32(const uint8_t *p)
{
    int32_t value;
    __builtin_memcpy(&value, p, sizeof(value));
    return value;
}

static int64_t read_i64(const uint8_t *p)
{
    int64_t value;
    __builtin_memcpy(&value, p, sizeof(value));
    return value;
}

static int16_t read_i16(const uint8_t *p)
{
    int16_t value;
    __builtin_memcpy(&value, p, sizeof(value));
    return value;
}

static unsigned elem_bytes(uint64_t what)
{
    return what >> ELEM_AT & 15;
}

/* How far one step of an EVEX disp8 reaches. */
static unsigned disp8_step(const struct encoding *e, const struct row *row, unsigned size)
{
    if (!e->has_evex)
        return 1;
    if (e->evex_b || (row->attr & N_ELEM) || (row->what >> FORM_AT & 15) == RLE_MEM_GATHER)
        return elem_bytes(row->what);
    return size ? size : 1;
}

/* The ModRM memory operand's address; `e->at` moves behind the displacement. */
static void read_address(struct encoding *e, const struct row *row, struct rle_insn *insn,
                         struct rle_mem *mem)
{
    uint8_t rm = e->rm;
    mem->index = RLE_REG_NONE;
    mem->segment = e->segment;
    mem->base = rm | e->b << 3;
    if (rm == RLE_RSP) {
        uint8_t sib = e->bytes[e->at++];
        uint8_t index = (sib >> 3 & 7) | e->x << 3;
        rm = sib & 7;
        mem->base = rm | e->b << 3;
        bool vsib = (row->what >> FORM_AT & 15) == RLE_MEM_GATHER;
        if (vsib)
            index |= e->v2 << 4;
        if (vsib || index != RLE_RSP) {
            mem->index = index;
            mem->scale = 1 << (sib >> 6);
        }
    }
    if (e->mod == 1) {
        mem->disp = (int8_t)e->bytes[e->at++] * (int64_t)disp8_step(e, row, mem->size);
    } else if (e->mod == 2 || rm == RLE_RBP) {
        int64_t disp = read_i32(e->bytes + e->at);
        mem->disp = disp;
        if (e->mod == 0) {
            bool sib = e->rm == RLE_RSP;
            mem->base = sib ? RLE_REG_NONE : RLE_REG_RIP;
            insn->rip_at = sib ? 0 : e->at;
        }
        e->at += 4;
    }
}

/* Count, index size and mask of a gather or scatter, and its bytes in all. */
static void shape_gather(const struct encoding *e, struct rle_mem *mem)
{
    mem->index_size = e->opcode & 1 ? 8 : 4;
    unsigned widest = mem->index_size > mem->elem ? mem->index_size : mem->elem;
    mem->count = rle_vector_bytes(e) / widest;
    mem->size = mem->count * mem->elem;
    if (!e->has_evex)
        mem->mask = e->vvvv;
}

/* The ModRM operand in memory: mem[0]. */
static void read_memory(struct encoding *e, const struct row *row, struct rle_insn *insn)
{
    struct rle_mem *mem = &insn->mem[0];
    mem->size = rle_operand_bytes(e, row->what);
    mem->access = row->what & (RLE_READ | RLE_WRITE);
    mem->form = row->what >> FORM_AT & 15;
    mem->mask = e->mask;
    if (e->has_evex || mem->form != RLE_MEM_PLAIN)
        mem->elem = elem_bytes(row->what);
    read_address(e, row, insn, mem);
    if (e->evex_b)
        mem->size = mem->elem;
    if (mem->form == RLE_MEM_GATHER)
        shape_gather(e, mem);
    else if (mem->form == RLE_MEM_VMASK)
        mem->mask = e->vvvv;
    else if (mem->form == RLE_MEM_BIT)
        mem->mask = e->reg | e->r << 3;
    if (!(row->attr & NOP)) {
        if (mem->base < RLE_REG_RIP)
            insn->reg_read |= 1u << mem->base;
        if (mem->index < RLE_REG_RIP && mem->form != RLE_MEM_GATHER)
            insn->reg_read |= 1u << mem->index;
    }
    insn->n_mem = !(row->attr & AGEN);
}

/* Reads the immediate, moving `e->at` behind it. */
static int64_t read_immediate(struct encoding *e, uint64_t what)
{
    const uint8_t *p = e->bytes + e->at;
    unsigned code = what >> IMM_AT & 15;
    unsigned bytes = 0;
    switch ((enum imm_code)code) {
    case IMM_0:
        return 0;
    case IMM_8:
    case IMM_REL8:
        e->at++;
        return (int8_t)*p;
    case IMM_16:
        bytes = 2;
        break;
    case IMM_24:
        e->at += 3;
        return (uint16_t)read_i16(p) | (int64_t)p[2] << 16;
    case IMM_32:
    case IMM_REL32:
        bytes = 4;
        break;
    case IMM_Z:
    case IMM_RELZ:
        bytes = e->opsize == 2 ? 2 : 4;
        break;
    case IMM_V:
        bytes = e->opsize;
        break;
    case IMM_MOFFS:
        bytes = e->addr32 ? 4 : 8;
        break;
    }
    e->at += bytes;
    return bytes == 2 ? read_i16(p) : bytes == 4 ? read_i32(p) : read_i64(p);
}

/* mov between the accumulator and an absolute address. */
static void set_moffs(const struct encoding *e, uint64_t what, int64_t address,
                      struct rle_insn *insn)
{
    insn->mem[0] = (struct rle_mem){
        .disp = e->addr32 ? (int64_t)(uint32_t)address : address,
        .base = RLE_REG_NONE,
        .index = RLE_REG_NONE,
        .segment = e->segment,
        .size = rle_operand_bytes(e, what),
        .access = what & (RLE_READ | RLE_WRITE),
    };
    insn->n_mem = 1;
}

/* Whether vvvv and the extension bits name operands the row has. */
static bool fields_are_legal(const struct encoding *e, const struct row *row)
{
    uint64_t what = row->what;
    unsigned reg_type = what >> REG_TYPE_AT & 7, rm_type = what >> RM_TYPE_AT & 3;
    bool few = reg_type == TYPE_K || reg_type == TYPE_TMM; /* only eight registers */
    if ((few || reg_type == TYPE_DR) && (e->r || e->r2))
        return false;
    if (reg_type == TYPE_CR && e->r && e->reg)
        return false; /* of the upper eight only cr8 exists */
    if (reg_type == TYPE_GPR && e->r2)
        return false;
    if (rm_type == 2 && e->mod == 3 && e->b)
        return false;
    bool gather = (what >> FORM_AT & 15) == RLE_MEM_GATHER;
    if (!(what & (V_RW | V_VEC)))
        return e->vvvv == 0 && (gather || !e->v2);
    if (what & V_RW)
        return !e->v2;
    if (what >> VVVV_TYPE_AT & 3)
        return e->vvvv < 8 && !e->v2;
    return true;
}

/* Whether registers that must differ do. */
static bool operands_are_distinct(const struct encoding *e, const struct row *row,
                                  const struct rle_insn *insn)
{
    unsigned reg = e->reg | e->r << 3 | e->r2 << 4, rm = e->rm | e->b << 3 | e->x << 4;
    unsigned vvvv = e->vvvv | e->v2 << 4;
    if (row->attr & DISTINCT) {
        if (row->attr & TILE)
            return reg != vvvv && reg != e->rm && vvvv != e->rm;
        return reg != vvvv && (e->mod != 3 || reg != rm);
    }
    if (insn->mem[0].form != RLE_MEM_GATHER || e->mod == 3 || (row->attr & AGEN))
        return true;
    unsigned index = insn->mem[0].index;
    if (e->has_evex)
        return insn->mem[0].access == RLE_WRITE || reg != index;
    return reg != index && reg != vvvv && index != vvvv;
}

/* Whether prefixes and EVEX controls are allowed for this form. */
static bool controls_are_legal(const struct encoding *e, const struct row *row)
{
    bool memory = e->mod != 3;
    if (e->lock && !(memory && (row->attr & LOCKABLE)))
        return false;
    if (memory && (row->attr & NEEDSIB) && e->rm != RLE_RSP)
        return false;
    if (!e->has_evex)
        return true;
    if (e->mask ? !(row->attr & MASK) : row->attr & MASKREQ)
        return false;
    if (e->zeroing && !((row->attr & ZERO) && e->mask))
        return false;
    return !e->evex_b || (row->attr & (memory ? BCAST : SAE));
}

/* Kind, target and immediate of what does not simply go on. */
static void set_control_flow(const struct encoding *e, const struct row *row, int64_t imm,
                             struct rle_insn *insn)
{
    switch (insn->kind) {
    case RLE_JCC:
    case RLE_LOOP:
    case RLE_JMP:
    case RLE_CALL:
    case RLE_XBEGIN:
        insn->target = insn->pc + insn->length + (uint64_t)imm;
        break;
    case RLE_RET:
        insn->imm = (uint16_t)imm;
        break;
    case RLE_INT:
        insn->imm = e->opcode == 0xCC ? 3 : e->opcode == 0xF1 ? 1 : (uint8_t)imm;
        break;
    default:
        break;
    }
    if (insn->kind != RLE_JMP_IND && insn->kind != RLE_CALL_IND)
        insn->branch_reg = RLE_REG_NONE;
    bool near = insn->kind >= RLE_JCC && insn->kind <= RLE_CALL_IND;
    if (near && e->opsize == 2)
        insn->status = RLE_UNSUPPORTED;
    if ((row->what >> IMPL_AT & 63) == IMPL_ENTER && imm >> 16)
        insn->status = RLE_OPAQUE;
}

/* What is left when nothing can be said: everything is read, nothing surely overwritten. */
static void assume_worst(struct rle_insn *insn)
{
    insn->reg_read = insn->reg_write = RLE_ALL_REGS;
    insn->flag_read = insn->flag_write = RLE_ALL_FLAGS;
    insn->reg_kill = insn->flag_kill = 0;
}

typedef uint64_t __attribute__((may_alias)) word;
_Static_assert(sizeof(struct encoding) % sizeof(word) == 0, "cleared by words");
_Static_assert(sizeof(struct rle_insn) % sizeof(word) == 0, "cleared by words");

/* By plain stores: without vector registers compilers use string instructions for this, which start
 * slowly on many processors. */
static inline void clear(void *object, unsigned bytes)
{
    word *words = object;
    for (unsigned i = 0; i < bytes / sizeof(word); i++)
        words[i] = 0;
}

static void begin(struct rle_insn *insn, uint64_t pc)
{
    clear(insn, sizeof(*insn));
    insn->pc = pc;
    insn->branch_reg = RLE_REG_NONE;
}

static enum rle_status reject(struct rle_insn *insn, enum rle_status status)
{
    begin(insn, insn->pc);
    insn->status = status;
    assume_worst(insn);
    return status;
}

/* Everything behind the opcode. */
static enum rle_status decode_operands(struct encoding *e, struct rle_insn *insn)
{
    static const struct row row_3dnow = {0, X87, RM_R | S_8 | RM_OTHER};
    insn->opcode_at = e->at - 1;
    const struct row *row = find_row(e);
    if (e->map == M_3DNOW)
        row = &row_3dnow;
    if (!row || !controls_are_legal(e, row) || !fields_are_legal(e, row))
        return RLE_INVALID;
    insn->modrm_at = e->has_modrm ? insn->opcode_at + 1 : 0;
    insn->attrs = row->attr & ATTR_PUBLIC;
    if (e->mod != 3)
        read_memory(e, row, insn);
    else
        insn->attrs &= ~(uint32_t)(RLE_A_AGEN | RLE_A_PREFETCH);
    if (e->map == M_3DNOW) {
        insn->opcode_at = e->at;
        e->opcode = e->bytes[e->at++];
        if (!rle_slots[M_3DNOW][e->opcode].count)
            return RLE_INVALID;
    }
    if (!operands_are_distinct(e, row, insn))
        return RLE_INVALID;
    int64_t imm = read_immediate(e, row->what);
    insn->length = e->at;
    insn->kind = row->what >> KIND_AT & 15;
    insn->opcode = e->opcode;
    insn->rex = e->rex;
    if ((row->what >> IMM_AT & 15) == IMM_MOFFS)
        set_moffs(e, row->what, imm, insn);
    rle_use_operands(e, row, insn);
    rle_use_flags(e, row, imm, insn);
    rle_use_implicit(e, row->what >> IMPL_AT & 63, insn);
    if (!insn->n_mem)
        insn->attrs &= ~(uint32_t)RLE_A_NT;
    insn->attrs |=
        (e->lock ? RLE_A_LOCK : 0) | (e->addr32 ? RLE_A_ADDR32 : 0) | (e->mask ? RLE_A_OPMASK : 0);
    insn->status = row->attr & OPAQUE ? RLE_OPAQUE : RLE_OK;
    set_control_flow(e, row, imm, insn);
    if (insn->rip_at) {
        insn->mem[0].disp += (int64_t)(insn->pc + insn->length);
        if (e->addr32) { /* the operand lies where a moved copy could not reach it */
            insn->mem[0].disp = (uint32_t)insn->mem[0].disp;
            insn->status = RLE_UNSUPPORTED;
        }
    }
    if (insn->status != RLE_OK)
        assume_worst(insn);
    return insn->status;
}

enum rle_status rle_decode(const uint8_t *bytes, unsigned n_bytes, uint64_t pc,
                           struct rle_insn *insn)
{
    struct encoding e;
    clear(&e, sizeof(e));
    if (n_bytes > RLE_INSN_MAX)
        n_bytes = RLE_INSN_MAX;
    if (n_bytes == RLE_INSN_MAX) {
        __builtin_memcpy(e.bytes, bytes, 8);
        __builtin_memcpy(e.bytes + 7, bytes + 7, 8);
    } else {
        for (unsigned i = 0; i < n_bytes; i++)
            e.bytes[i] = bytes[i];
    }
    begin(insn, pc);
    read_prefixes(&e);
    enum rle_status status = read_opcode(&e);
    if (status == RLE_OK)
        status = decode_operands(&e, insn);
    /* Too short an offer explains any failure; 15 bytes that do not suffice are no instruction. */
    if (e.at > n_bytes)
        return reject(insn, n_bytes < RLE_INSN_MAX ? RLE_TRUNCATED : RLE_TOO_LONG);
    if (status == RLE_INVALID || (status == RLE_UNSUPPORTED && !insn->length))
        return reject(insn, status);
    return status;
}
