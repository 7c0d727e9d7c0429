#include "decoder_oracle.h"

#include "count/engine/decode.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#define PC 0x401000u

enum { LEN = RLE_INSN_MAX };

struct zydis {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    bool ok;
};

static ZydisDecoder decoder;

static void zydis_decode(const uint8_t *code, struct zydis *z)
{
    if (decoder.machine_mode != ZYDIS_MACHINE_MODE_LONG_64 || !decoder.stack_width)
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    z->ok = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, LEN, &z->insn, z->operands));
}

const char *decoder_oracle_text(const uint8_t *code)
{
    static char text[256];
    struct zydis z;
    ZydisFormatter formatter;
    zydis_decode(code, &z);
    if (!z.ok)
        return "invalid";
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterFormatInstruction(&formatter, &z.insn, z.operands, z.insn.operand_count_visible,
                                    text, sizeof(text), PC, NULL);
    return text;
}

/* Number of the general register that holds `reg`, or -1. */
static int gpr(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return -1;
    return (int)whole - ZYDIS_REGISTER_RAX;
}

static bool is(const struct zydis *z, const ZydisMnemonic *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (z->insn.mnemonic == list[i])
            return true;
    return false;
}
#define IS(z, ...)                                                                                 \
    is(z, (const ZydisMnemonic[]){__VA_ARGS__},                                                    \
       sizeof((const ZydisMnemonic[]){__VA_ARGS__}) / sizeof(ZydisMnemonic))
#define M(name) ZYDIS_MNEMONIC_##name

/* Instructions that name an address without accessing it; Zydis reports a read. */
static bool only_names_address(const struct zydis *z)
{
    ZydisInstructionCategory c = z->insn.meta.category;
    return c == ZYDIS_CATEGORY_NOP || c == ZYDIS_CATEGORY_WIDENOP || c == ZYDIS_CATEGORY_PREFETCH ||
           c == ZYDIS_CATEGORY_PREFETCHWT1 || c == ZYDIS_CATEGORY_MPX ||
           c == ZYDIS_CATEGORY_CLDEMOTE || c == ZYDIS_CATEGORY_CLWB ||
           c == ZYDIS_CATEGORY_CLFLUSHOPT || IS(z, M(CLFLUSH), M(LEA), M(ENDBR32), M(ENDBR64)) ||
           z->insn.meta.isa_set == ZYDIS_ISA_SET_AVX512PF_512;
}

static bool is_nop(const struct zydis *z)
{
    return z->insn.meta.category == ZYDIS_CATEGORY_NOP ||
           z->insn.meta.category == ZYDIS_CATEGORY_WIDENOP;
}

/* Operand size that Zydis cannot know or states otherwise. */
static bool size_is_ours(const struct rle_mem *m)
{
    return m->form == RLE_MEM_XSAVE || m->form == RLE_MEM_TILE || m->form == RLE_MEM_GATHER;
}

static int64_t expected_disp(const struct zydis *z, const ZydisDecodedOperand *o,
                             const struct rle_insn *r)
{
    int64_t disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    bool hidden = o->encoding == ZYDIS_OPERAND_ENCODING_NONE;
    bool pushes = IS(z, M(PUSH), M(PUSHF), M(PUSHFQ), M(CALL), M(ENTER));
    if (o->mem.base == ZYDIS_REGISTER_RIP)
        return disp + (int64_t)(PC + z->insn.length);
    if (hidden && pushes)
        return -(int64_t)(o->size / 8);
    if (!hidden && z->insn.mnemonic == M(POP) && gpr(o->mem.base) == RLE_RSP)
        return disp + r->mem[1].size;
    return disp;
}

/* With 32-bit addresses and REX.B, Zydis 4.0 shows r13d where the encoding means "no base". */
static bool zydis_misses_no_base(const struct zydis *z)
{
    return z->insn.address_width == 32 && z->insn.raw.modrm.mod == 0 && z->insn.raw.sib.base == 5;
}

static bool named(const struct zydis *z, const char *part)
{
    return strstr(ZydisMnemonicGetString(z->insn.mnemonic), part) != NULL;
}

static enum rle_mem_form expected_form(const struct zydis *z, const ZydisDecodedOperand *o)
{
    bool bit = IS(z, M(BT), M(BTS), M(BTR), M(BTC));
    if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
        return RLE_MEM_GATHER;
    if (bit && z->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
        return RLE_MEM_BIT;
    if (z->insn.meta.category == ZYDIS_CATEGORY_STRINGOP)
        return RLE_MEM_STRING;
    if (z->insn.mnemonic == M(XLAT))
        return RLE_MEM_XLAT;
    if (named(z, "maskmov"))
        return RLE_MEM_VMASK;
    if (named(z, "compress") || named(z, "expand"))
        return RLE_MEM_PACKED;
    if (named(z, "tileload") || named(z, "tilestore"))
        return RLE_MEM_TILE;
    if (named(z, "xsave") || named(z, "xrstor"))
        return strncmp(ZydisMnemonicGetString(z->insn.mnemonic), "f", 1) ? RLE_MEM_XSAVE
                                                                         : RLE_MEM_PLAIN;
    return RLE_MEM_PLAIN;
}

static const char *memory_differs(const struct zydis *z, const ZydisDecodedOperand *o,
                                  const struct rle_insn *r, const struct rle_mem *m)
{
    int base = o->mem.base == ZYDIS_REGISTER_RIP    ? RLE_REG_RIP
               : o->mem.base == ZYDIS_REGISTER_NONE ? RLE_REG_NONE
                                                    : gpr(o->mem.base);
    int index = RLE_REG_NONE;
    if (o->mem.index != ZYDIS_REGISTER_NONE)
        index = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? ZydisRegisterGetId(o->mem.index)
                                                     : gpr(o->mem.index);
    if (m->form == RLE_MEM_XLAT)
        index = RLE_RAX;
    bool misread = base == RLE_R13 && m->base == RLE_REG_NONE && zydis_misses_no_base(z);
    if (m->base != base && !misread)
        return "memory base";
    if (m->index != index)
        return "memory index";
    if (o->mem.index != ZYDIS_REGISTER_NONE && o->mem.scale && m->scale != o->mem.scale)
        return "memory scale";
    if (misread)
        return NULL;
    int64_t difference = m->disp - expected_disp(z, o, r);
    if (r->attrs & RLE_A_ADDR32 ? (int32_t)difference : difference) /* 32 bits are zero-extended */
        return "memory displacement";
    if (r->attrs & RLE_A_AGEN)
        return NULL;
    int segment = o->mem.segment == ZYDIS_REGISTER_FS   ? RLE_SEG_FS
                  : o->mem.segment == ZYDIS_REGISTER_GS ? RLE_SEG_GS
                                                        : RLE_SEG_NONE;
    bool by_es = z->insn.mnemonic == M(MOVDIR64B) && o->encoding == ZYDIS_OPERAND_ENCODING_NONE;
    if (m->segment != segment && !by_es) /* es cannot be overridden, says the manual */
        return "memory segment";
    if (m->form != expected_form(z, o))
        return "memory form";
    bool lanes = m->form == RLE_MEM_GATHER || m->form == RLE_MEM_PACKED ||
                 (m->mask && m->form == RLE_MEM_PLAIN);
    if (lanes && m->elem != o->element_size / 8)
        return "memory element";
    if (!size_is_ours(m) && m->size != o->size / 8)
        return "memory size";
    unsigned access = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? RLE_READ : 0) |
                      (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? RLE_WRITE : 0);
    if (m->form == RLE_MEM_GATHER && m->access == RLE_WRITE)
        return access & RLE_WRITE ? NULL : "scatter access"; /* Zydis: reads too */
    return m->access != access ? "memory access" : NULL;
}

/* Explicit operands come first, as in mem[]; string sources before destinations. */
static const char *operands_differ(const struct zydis *z, const struct rle_insn *r)
{
    const ZydisDecodedOperand *found[4];
    unsigned n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < z->insn.operand_count; i++) {
            const ZydisDecodedOperand *o = &z->operands[i];
            bool first = o->encoding != ZYDIS_OPERAND_ENCODING_NONE ||
                         (o->mem.base == ZYDIS_REGISTER_RSI || o->mem.base == ZYDIS_REGISTER_ESI);
            if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && first == (pass == 0) && n < 4)
                found[n++] = o;
        }
    unsigned ours = r->attrs & RLE_A_AGEN ? (r->modrm_at && n) : r->n_mem;
    if (z->insn.mnemonic == M(CLZERO))
        return r->n_mem == 1 ? NULL : "clzero without memory";
    if (IS(z, M(ENQCMD), M(ENQCMDS)))
        ours--; /* the destination is a plain register operand to Zydis */
    if (only_names_address(z) && r->n_mem)
        return "address taken for an access";
    if (n != ours)
        return "number of memory operands";
    for (unsigned i = 0; i < n; i++) {
        const char *what = memory_differs(z, found[i], r, &r->mem[i]);
        if (what)
            return what;
    }
    return NULL;
}

static bool zydis_surely_writes(const struct zydis *z, int reg)
{
    for (int i = 0; i < z->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &z->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(o->reg.value) == reg && o->size >= 32 &&
            (o->actions & ZYDIS_OPERAND_ACTION_WRITE))
            return true;
    }
    return false;
}

static const char *register_use_differs(const struct zydis *z, const struct rle_insn *r)
{
    uint16_t read = r->reg_read;
    if (r->attrs & RLE_A_ZERO)
        read |= r->reg_kill;
    for (int i = 0; i < z->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &z->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(o->reg.value) >= 0) {
            uint16_t bit = 1u << gpr(o->reg.value);
            if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) && !(read & bit) && !is_nop(z))
                return "register read missing";
            if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && !(r->reg_write & bit))
                return "register write missing";
            if ((o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && !(r->reg_read & bit))
                return "conditional write that is no read";
        } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !is_nop(z)) {
            int base = gpr(o->mem.base), index = gpr(o->mem.index);
            if (base == RLE_R13 && zydis_misses_no_base(z))
                base = -1;
            if ((base >= 0 && !(read >> base & 1)) || (index >= 0 && !(read >> index & 1)))
                return "address register not read";
        }
    }
    for (int reg = 0; reg < 16; reg++)
        if ((r->reg_kill >> reg & 1) && !zydis_surely_writes(z, reg))
            return "register not surely overwritten";
    return r->reg_kill & ~r->reg_write ? "kill outside write" : NULL;
}

static const char *flag_use_differs(const struct zydis *z, const struct rle_insn *r)
{
    unsigned known = RLE_ARITH_FLAGS | RLE_DF;
    unsigned tested = 0, written = 0;
    if (z->insn.cpu_flags) {
        tested = z->insn.cpu_flags->tested & known;
        written = (z->insn.cpu_flags->modified | z->insn.cpu_flags->set_0 |
                   z->insn.cpu_flags->set_1 | z->insn.cpu_flags->undefined) &
                  known;
    }
    if (z->insn.mnemonic == M(SYSCALL))
        return NULL; /* ends every straight run; the kernel restores the flags */
    if (tested & ~r->flag_read)
        return "flag read missing";
    if (written & ~r->flag_write)
        return "flag write missing";
    if (r->flag_kill & ~written)
        return "flag not surely overwritten";
    return r->flag_kill & ~r->flag_write ? "flag kill outside write" : NULL;
}

/* What nobody needs to understand: for the system, or gone with its processors. */
static bool may_be_opaque(const struct zydis *z)
{
    if (z->insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || z->insn.mnemonic == M(ENTER) ||
        z->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return true;
    switch (z->insn.meta.category) {
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_RET: /* iret */
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_PADLOCK:
        return true;
    default:
        return z->insn.meta.isa_set == ZYDIS_ISA_SET_LWP || IS(z, M(CLI), M(STI), M(MCOMMIT));
    }
}

/* Sets that are wider than Zydis's, or kills that are fewer, without a reason to be. */
static const char *caution_differs(const struct zydis *z, const struct rle_insn *r)
{
    uint16_t read = 0, write = 0, kill = 0;
    for (int i = 0; i < z->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &z->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            read |= gpr(o->mem.base) >= 0 ? 1u << gpr(o->mem.base) : 0;
            read |= gpr(o->mem.index) >= 0 ? 1u << gpr(o->mem.index) : 0;
        }
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || gpr(o->reg.value) < 0)
            continue;
        uint16_t bit = 1u << gpr(o->reg.value);
        read |= o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? bit : 0;
        write |= o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? bit : 0;
        kill |= o->actions == ZYDIS_OPERAND_ACTION_WRITE && o->size >= 32 ? bit : 0;
    }
    /* The old value may stay (conditions, zero sources, no repetition), or Zydis forgets. */
    bool keeps = z->insn.meta.category == ZYDIS_CATEGORY_CMOV ||
                 IS(z, M(BSF), M(BSR), M(TZCNT), M(LZCNT), M(LAR), M(LSL), M(XBEGIN), M(XLAT),
                    M(LODSB), M(LODSW), M(LODSD), M(LODSQ), M(RDSSPD), M(RDSSPQ)) ||
                 z->insn.mnemonic == M(PAUSE); /* with REX.B rather an exchange */
    bool forgotten = z->insn.meta.category == ZYDIS_CATEGORY_STRINGOP || r->kind == RLE_INT ||
                     r->kind == RLE_SYSCALL || z->insn.mnemonic == M(PAUSE);
    if ((r->reg_read & ~read) && !keeps && !forgotten)
        return "needless register read";
    if ((r->reg_write & ~write) && !forgotten)
        return "needless register write";
    if ((kill & ~(r->reg_kill | r->reg_read)) && !keeps && !forgotten)
        return "register overwritten without need to doubt";
    return NULL;
}

/* The same for flags; undefined results may be doubted. */
static const char *flag_caution_differs(const struct zydis *z, const struct rle_insn *r)
{
    unsigned known = RLE_ARITH_FLAGS | RLE_DF, tested = 0, sure = 0, written = 0;
    const ZydisAccessedFlags *f = z->insn.cpu_flags;
    if (f) {
        tested = f->tested & known;
        sure = (f->modified | f->set_0 | f->set_1) & known;
        written = sure | (f->undefined & known);
    }
    bool by_count = z->insn.meta.category == ZYDIS_CATEGORY_SHIFT ||
                    z->insn.meta.category == ZYDIS_CATEGORY_ROTATE;
    bool repeats = r->attrs & RLE_A_REP;
    if (r->kind == RLE_INT || r->kind == RLE_SYSCALL)
        return NULL;
    if (r->flag_read & ~tested)
        return "needless flag read";
    /* vptest and its like clear the four flags that Zydis does not mention */
    if ((r->flag_write & ~written) && !IS(z, M(VPTEST), M(VTESTPS), M(VTESTPD)))
        return "needless flag write";
    bool compares = IS(z, M(FCOMI), M(FCOMIP), M(FUCOMI), M(FUCOMIP));
    if ((sure & ~r->flag_kill) && !by_count && !repeats && !compares)
        return "flag overwritten without need to doubt";
    return NULL;
}

/* Register files that an instruction names, repetition and lock. */
static const char *attributes_differ(const struct zydis *z, const struct rle_insn *r)
{
    uint32_t expected = 0;
    for (int i = 0; i < z->insn.operand_count; i++) {
        ZydisRegister reg = z->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
                                ? z->operands[i].reg.value
                                : z->operands[i].mem.index;
        switch (ZydisRegisterGetClass(reg)) {
        case ZYDIS_REGCLASS_X87:
        case ZYDIS_REGCLASS_MMX:
            expected |= RLE_A_X87;
            break;
        case ZYDIS_REGCLASS_XMM:
        case ZYDIS_REGCLASS_YMM:
        case ZYDIS_REGCLASS_ZMM:
            expected |= RLE_A_VEC;
            break;
        case ZYDIS_REGCLASS_TMM:
            expected |= RLE_A_TILE;
            break;
        case ZYDIS_REGCLASS_MASK:
            expected |=
                reg == ZYDIS_REGISTER_K0 && z->operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK
                    ? 0
                    : RLE_A_OPMASK;
            break;
        default:
            break;
        }
    }
    if (expected & ~r->attrs)
        return "register file not named";
    uint64_t has_rep = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    if (!(z->insn.attributes & has_rep) != !(r->attrs & RLE_A_REP))
        return "repetition";
    if (!(z->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) != !(r->attrs & RLE_A_LOCK))
        return "lock";
    bool hint =
        r->n_mem && (named(z, "movnt") || IS(z, M(MASKMOVQ), M(MASKMOVDQU), M(VMASKMOVDQU)));
    if (hint != !!(r->attrs & RLE_A_NT))
        return "non-temporal hint";
    bool prefetch = named(z, "prefetch") || named(z, "gatherpf") || named(z, "scatterpf");
    if (prefetch != !!(r->attrs & RLE_A_PREFETCH))
        return "prefetch";
    bool divides = IS(z, M(DIV), M(IDIV));
    if (divides != !!(r->attrs & RLE_A_DIVIDE))
        return "divide";
    bool masked = z->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && r->n_mem &&
                  r->mem[0].form != RLE_MEM_GATHER;
    if (masked && r->mem[0].mask != z->insn.raw.evex.aaa)
        return "mask of the memory operand";
    return NULL;
}

static enum rle_kind expected_kind(const struct zydis *z)
{
    bool relative = z->insn.raw.imm[0].is_relative;
    if (z->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return RLE_FAR;
    switch (z->insn.mnemonic) {
    case M(JMP):
        return relative ? RLE_JMP : RLE_JMP_IND;
    case M(CALL):
        return relative ? RLE_CALL : RLE_CALL_IND;
    case M(RET):
        return RLE_RET;
    case M(SYSCALL):
        return RLE_SYSCALL;
    case M(INT):
    case M(INT1):
    case M(INT3):
        return RLE_INT;
    case M(XBEGIN):
        return RLE_XBEGIN;
    case M(LOOP):
    case M(LOOPE):
    case M(LOOPNE):
    case M(JRCXZ):
    case M(JECXZ):
        return RLE_LOOP;
    case M(UD0):
    case M(UD1):
    case M(UD2):
    case M(HLT):
        return RLE_TRAP;
    case M(SYSENTER):
    case M(SYSEXIT):
    case M(SYSRET):
    case M(IRET):
    case M(IRETD):
    case M(IRETQ):
    case M(UIRET):
    case M(RSM):
    case M(ENCLU):
        return RLE_FAR;
    default:
        return relative ? RLE_JCC : RLE_PLAIN;
    }
}

static const char *control_flow_differs(const struct zydis *z, const struct rle_insn *r)
{
    if (r->kind != expected_kind(z))
        return "kind";
    if (z->insn.raw.imm[0].is_relative &&
        r->target != PC + z->insn.length + (uint64_t)z->insn.raw.imm[0].value.s)
        return "branch target";
    if (r->kind == RLE_RET && r->imm != (int32_t)(uint16_t)z->insn.raw.imm[0].value.u)
        return "bytes released by ret";
    bool indirect = r->kind == RLE_JMP_IND || r->kind == RLE_CALL_IND;
    bool by_register = indirect && z->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
    int reg = by_register ? gpr(z->operands[0].reg.value) : RLE_REG_NONE;
    if (r->branch_reg != reg)
        return "branch register";
    if (r->modrm_at !=
        ((z->insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) ? z->insn.raw.modrm.offset : 0))
        return "offset of ModRM";
    bool rip = false;
    for (int i = 0; i < z->insn.operand_count; i++)
        if (z->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            rip |= z->operands[i].mem.base == ZYDIS_REGISTER_RIP ||
                   z->operands[i].mem.base == ZYDIS_REGISTER_EIP;
    if (rip && r->rip_at != z->insn.raw.disp.offset)
        return "offset of the RIP-relative displacement";
    return NULL;
}

/* Instructions younger than Zydis 4.0, which refuses them: in the 0F maps (escape 0 for 0F, 0x38)
 * with the last of 66, F3, F2 (0: none), and in VEX maps 2 and 3. */
enum { NP = 1, P66 = 2, PF3 = 4, PF2 = 8, ANY = 15 };

static const struct {
    uint8_t vex_map, escape, first, last, prefixes;
} newer[] = {
    {0, 0, 0x00, 0x00, PF2},            /* LKGS */
    {0, 0, 0x01, 0x01, NP | PF3 | PF2}, /* MSRLIST, WRMSRNS, TSE, FRED */
    {0, 0x38, 0xF8, 0xF8, PF3 | PF2},   /* USER_MSR */
    {0, 0x38, 0xFC, 0xFC, ANY},         /* RAO-INT */
    {2, 0, 0x50, 0x51, NP | PF3 | PF2}, /* AVX-VNNI-INT8 */
    {2, 0, 0x5C, 0x5C, PF2},            /* AMX-FP16 */
    {2, 0, 0x6C, 0x6C, NP | P66},       /* AMX-COMPLEX */
    {2, 0, 0x72, 0x72, PF3},            /* AVX-NE-CONVERT */
    {2, 0, 0xB0, 0xB1, ANY},            /* AVX-NE-CONVERT */
    {2, 0, 0xB4, 0xB5, P66},            /* AVX-IFMA */
    {2, 0, 0xCB, 0xCD, PF2},            /* SHA512 */
    {2, 0, 0xD2, 0xD3, NP | P66 | PF3}, /* AVX-VNNI-INT16 */
    {2, 0, 0xDA, 0xDA, ANY},            /* SM3, SM4 */
    {2, 0, 0xE0, 0xEF, P66},            /* CMPCCXADD */
    {3, 0, 0xDE, 0xDE, P66},            /* SM3 */
};

static unsigned last_prefix(const uint8_t *code, unsigned opcode_at)
{
    unsigned prefix = NP;
    for (unsigned i = 0; i < opcode_at; i++) {
        if (code[i] == 0x66 && prefix == NP)
            prefix = P66;
        if (code[i] == 0xF3 || code[i] == 0xF2)
            prefix = code[i] == 0xF3 ? PF3 : PF2;
    }
    return prefix;
}

/* What the engine decodes and Zydis does not: the list above, and forms of MPX that are long nops
 * on all processors without it. */
static bool is_only_ours(const uint8_t *code, const struct rle_insn *r)
{
    unsigned at = r->opcode_at, vex_map = 0, escape = 0, prefix;
    if (at >= 3 && code[at - 3] == 0xC4) {
        vex_map = code[at - 2] & 31;
        prefix = NP << (code[at - 1] & 3);
    } else {
        if (at == 0 || (code[at - 1] != 0x0F && (at == 1 || code[at - 2] != 0x0F)))
            return false;
        escape = code[at - 1] == 0x0F ? 0 : code[at - 1];
        prefix = last_prefix(code, at);
    }
    if (!vex_map && !escape && (r->opcode == 0x1A || r->opcode == 0x1B))
        return true;
    for (unsigned i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
        if (newer[i].vex_map == vex_map && newer[i].escape == escape &&
            r->opcode >= newer[i].first && r->opcode <= newer[i].last &&
            (newer[i].prefixes & prefix))
            return true;
    return false;
}

/* What Zydis decodes and the engine does not: Xeon Phi's first generation, long gone. */
static bool is_not_ours(const struct zydis *z)
{
    return z->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
           z->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNC ||
           z->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNCE || z->insn.meta.isa_ext == ZYDIS_ISA_EXT_KNCV;
}

const char *decoder_oracle_differs(const uint8_t *code)
{
    struct zydis z;
    struct rle_insn r;
    zydis_decode(code, &z);
    enum rle_status status = rle_decode(code, LEN, PC, &r);
    bool refused = r.length == 0;
    if (status == RLE_TRUNCATED)
        return "15 bytes do not suffice";
    if (!z.ok)
        return refused || is_only_ours(code, &r) ? NULL : "Zydis refuses";
    if (refused)
        return is_not_ours(&z) ? NULL : "refused";
    if (r.length != z.insn.length)
        return "length";
    const char *what = control_flow_differs(&z, &r);
    if (!what && r.kind == RLE_TRAP)
        return r.n_mem ? "memory of a trap" : NULL; /* it faults before it reads anything */
    if (!what && status == RLE_OPAQUE && !may_be_opaque(&z))
        what = "opaque without need";
    if (!what && status == RLE_OK)
        what = operands_differ(&z, &r);
    if (!what && status == RLE_OK)
        what = attributes_differ(&z, &r);
    if (!what && status == RLE_OK)
        what = caution_differs(&z, &r);
    if (!what && status == RLE_OK)
        what = flag_caution_differs(&z, &r);
    if (!what)
        what = register_use_differs(&z, &r);
    return what ? what : flag_use_differs(&z, &r);
}
