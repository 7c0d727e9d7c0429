#include "decode/insn.h"

#include "decode/newer_internal.h"
#include "decode/rule_internal.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_INSN 15

struct decoded {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *code, size_t size, struct decoded *ret_d)
{
    ZydisDecoder decoder;
    if (size > LONGEST_INSN)
        size = LONGEST_INSN;
    return size &&
           ZYAN_SUCCESS(
               ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
           ZYAN_SUCCESS(
               ZydisDecoderDecodeFull(&decoder, code, size, &ret_d->insn, ret_d->operands));
}

/* What the library's category says of mnemonics that have no row of their own. */
static enum rl_insn_class class_of_category(const ZydisDecodedInstruction *insn)
{
    switch (insn->meta.category) {
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_SETCC:
        return RL_INSN_MOVE;
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_STRINGOP:
        return RL_INSN_STRING;
    case ZYDIS_CATEGORY_KMASK:
    case ZYDIS_CATEGORY_KNCMASK:
        return RL_INSN_MASK;
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
        return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ? RL_INSN_SYSTEM : RL_INSN_BRANCH;
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
        return RL_INSN_CALL;
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
        return RL_INSN_PREFETCH;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
        return RL_INSN_NOP;
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_PADLOCK:
        return RL_INSN_CRYPTO;
    default:
        return RL_INSN_SYSTEM;
    }
}

static uint16_t vector_bits(const struct decoded *d)
{
    unsigned widest = 0;
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        if (d->operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        switch (ZydisRegisterGetClass(d->operands[i].reg.value)) {
        case ZYDIS_REGCLASS_MMX: /* wins over XMM: then two lanes are converted */
            return 64;
        case ZYDIS_REGCLASS_XMM:
        case ZYDIS_REGCLASS_YMM:
        case ZYDIS_REGCLASS_ZMM:
            widest = d->insn.avx.vector_length ? d->insn.avx.vector_length : 128;
            break;
        default:
            break;
        }
    }
    return (uint16_t)widest;
}

static enum rl_insn_isa isa_of_width(unsigned bits)
{
    switch (bits) {
    case 64:
        return RL_INSN_MMX;
    case 128:
        return RL_INSN_SSE2;
    case 256:
        return RL_INSN_AVX2;
    case 512:
        return RL_INSN_AVX512;
    default:
        return RL_INSN_SCALAR;
    }
}

static uint8_t precision_of_bits(unsigned bits)
{
    switch (bits) {
    case 8:
        return RL_INT8;
    case 16:
        return RL_INT16;
    case 32:
        return RL_INT32;
    default:
        return RL_INT64;
    }
}

/* Products the immediate of dpps/dppd selects in each 128 bits. */
static unsigned dot_products(const struct decoded *d, unsigned lane_bits)
{
    unsigned lanes = 128 / lane_bits;
    for (unsigned i = 0; i < d->insn.operand_count; i++)
        if (d->operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            return (unsigned)__builtin_popcount((unsigned)(d->operands[i].imm.value.u >> 4) &
                                                ((1u << lanes) - 1));
    return 0;
}

static void add_op(struct rl_insn *insn, enum rl_insn_class class, uint8_t precision, unsigned n)
{
    if (n)
        insn->op[insn->n_op++] = (struct rl_insn_op){(uint8_t) class, precision, (uint16_t)n};
}

/* add rsp, 8 and the like: address arithmetic, not the program's sums. */
static bool is_stack_arithmetic(const struct decoded *d)
{
    const ZydisDecodedOperand *to = &d->operands[0];
    return to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->reg.value == ZYDIS_REGISTER_RSP;
}

static void apply_rule(const struct rule *rule, const struct decoded *d, struct rl_insn *insn)
{
    insn->class = rule->class;
    insn->isa = rule->isa == ISA_BY_WIDTH ? isa_of_width(insn->width_bits) : rule->isa;
    if (rule->shape == SHAPE_GENERAL) {
        insn->width_bits = d->operands[0].size;
        if (is_stack_arithmetic(d) && rule->class == RL_INSN_INT_ADD)
            insn->class = RL_INSN_ADDRESS;
        else
            add_op(insn, rule->class, precision_of_bits(insn->width_bits), 1);
        return;
    }
    if (rule->shape == SHAPE_DOT) {
        unsigned products = dot_products(d, rule->op[0].lane_bits);
        unsigned blocks = insn->width_bits / 128;
        add_op(insn, RL_INSN_FP_MUL, rule->op[0].precision, blocks * products);
        add_op(insn, RL_INSN_FP_ADD, rule->op[1].precision, blocks * (products - (products != 0)));
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct rule_op *op = &rule->op[i];
        unsigned lanes = op->lane_bits ? insn->width_bits / op->lane_bits : 1;
        add_op(insn, op->class, op->precision, lanes * op->n);
    }
}

/* Gathers and scatters indexed by 64-bit integers: as many lanes as fit indices. */
static bool has_quad_index(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
        return true;
    default:
        return false;
    }
}

static unsigned vsib_lanes(const ZydisDecodedInstruction *insn, unsigned element_bits)
{
    unsigned lane = element_bits;
    if (has_quad_index(insn->mnemonic) && lane < 64)
        lane = 64;
    return lane ? insn->avx.vector_length / lane : 0;
}

static unsigned tile_row_accesses(const ZydisDecodedInstruction *insn)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
    case ZYDIS_MNEMONIC_TILESTORED:
        return 16;
    default:
        return 0;
    }
}

static void add_memory_operand(const struct decoded *d, const ZydisDecodedOperand *op,
                               struct rl_insn *insn)
{
    unsigned bytes = op->size / 8;
    unsigned accesses = 1;
    bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    unsigned rows = tile_row_accesses(&d->insn);
    if (rows) {
        accesses = rows;
        bytes = rows * 64;
        insn->flags |= RL_INSN_TILE;
    } else if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        accesses = vsib_lanes(&d->insn, op->element_size);
        bytes = accesses * op->element_size / 8;
        insn->flags |= (writes ? RL_INSN_SCATTER : RL_INSN_GATHER) | RL_INSN_MASKED;
    } else if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
        return;
    }
    if (reads)
        insn->load_bytes += bytes;
    if (writes)
        insn->store_bytes += bytes;
    insn->accesses = (uint16_t)(insn->accesses + accesses * ((unsigned)reads + (unsigned)writes));
}

static void add_memory(const struct decoded *d, struct rl_insn *insn)
{
    if (insn->class == RL_INSN_PREFETCH || insn->class == RL_INSN_NOP)
        return;
    for (unsigned i = 0; i < d->insn.operand_count; i++)
        if (d->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            add_memory_operand(d, &d->operands[i], insn);
}

static uint32_t flags_of_mnemonic(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        return RL_INSN_MASKED | RL_INSN_NONTEMPORAL;
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return RL_INSN_MASKED;
    /* MOVNTDQA is not here: from ordinary memory it is an ordinary load (SDM vol. 2). */
    case ZYDIS_MNEMONIC_MOVDIR64B:
    case ZYDIS_MNEMONIC_MOVDIRI:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTPS:
        return RL_INSN_NONTEMPORAL;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
        return RL_INSN_ENDS_FLOW;
    default:
        return 0;
    }
}

static void add_flags(const struct decoded *d, struct rl_insn *insn)
{
    const ZydisDecodedInstruction *z = &d->insn;
    insn->flags |= flags_of_mnemonic(z->mnemonic);
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        insn->flags |= RL_INSN_EVEX;
        if (z->avx.mask.reg != ZYDIS_REGISTER_NONE && z->avx.mask.reg != ZYDIS_REGISTER_K0)
            insn->flags |= RL_INSN_MASKED;
    }
    if (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        insn->flags |= RL_INSN_REPEATED;
    if (z->attributes & ZYDIS_ATTRIB_HAS_LOCK)
        insn->flags |= RL_INSN_LOCKED;
    if (z->mnemonic == ZYDIS_MNEMONIC_XCHG && insn->accesses) /* locked without the prefix */
        insn->flags |= RL_INSN_LOCKED;
    if ((z->meta.category == ZYDIS_CATEGORY_XSAVE || z->meta.category == ZYDIS_CATEGORY_XSAVEOPT) &&
        insn->accesses)
        insn->flags |= RL_INSN_STATE;
    if (insn->isa == RL_INSN_AMX)
        insn->flags |= RL_INSN_TILE;
}

static void add_flow(const struct decoded *d, struct rl_insn *insn)
{
    const ZydisDecodedInstruction *z = &d->insn;
    if (z->meta.category == ZYDIS_CATEGORY_RET || z->meta.category == ZYDIS_CATEGORY_SYSRET) {
        insn->flags |= RL_INSN_RETURN | RL_INSN_ENDS_FLOW;
        return;
    }
    if (z->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE)
        return;
    const ZydisDecodedOperand *to = &d->operands[0];
    if (to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->imm.is_relative) {
        insn->flags |= RL_INSN_HAS_TARGET;
        insn->target = z->length + to->imm.value.s;
    } else {
        insn->flags |= RL_INSN_INDIRECT;
        if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_RIP) {
            insn->flags |= RL_INSN_HAS_SLOT;
            insn->target = z->length + to->mem.disp.value;
        }
    }
    if (z->meta.category == ZYDIS_CATEGORY_COND_BR)
        insn->flags |= RL_INSN_CONDITIONAL;
    else if (z->meta.category != ZYDIS_CATEGORY_CALL)
        insn->flags |= RL_INSN_ENDS_FLOW;
}

/* movsd and cmpsd name both a string instruction and a floating-point one. */
static bool is_string(const ZydisDecodedInstruction *z)
{
    return z->meta.category == ZYDIS_CATEGORY_STRINGOP ||
           z->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

bool rl_insn_decode(const uint8_t *code, size_t size, struct rl_insn *ret_insn)
{
    struct decoded d;
    *ret_insn = (struct rl_insn){.mnemonic = "(bad)", .class = RL_INSN_UNKNOWN};
    if (!decode(code, size, &d))
        return newer_decode(code, size, ret_insn);
    const char *name = ZydisMnemonicGetString(d.insn.mnemonic);
    ret_insn->mnemonic = name ? name : "(bad)";
    ret_insn->length = d.insn.length;
    ret_insn->width_bits = vector_bits(&d);
    const struct rule *rule = is_string(&d.insn) ? NULL : rule_find(d.insn.mnemonic);
    if (rule) {
        apply_rule(rule, &d, ret_insn);
    } else {
        ret_insn->class = class_of_category(&d.insn);
        ret_insn->isa = isa_of_width(ret_insn->width_bits);
    }
    add_memory(&d, ret_insn);
    add_flags(&d, ret_insn);
    add_flow(&d, ret_insn);
    return true;
}

static uint32_t sum_ops(const struct rl_insn *insn, bool fp)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < insn->n_op; i++)
        if (rl_insn_class_is_fp(insn->op[i].class) == fp)
            sum += rl_insn_class_weight(insn->op[i].class) * insn->op[i].count;
    return sum;
}

uint32_t rl_insn_flop(const struct rl_insn *insn)
{
    return sum_ops(insn, true);
}

uint32_t rl_insn_iop(const struct rl_insn *insn)
{
    return sum_ops(insn, false);
}

unsigned rl_insn_class_weight(enum rl_insn_class class)
{
    switch (class) {
    case RL_INSN_FP_FMA:
    case RL_INSN_INT_MAC:
        return 2;
    case RL_INSN_FP_ADD:
    case RL_INSN_FP_MUL:
    case RL_INSN_FP_DIV:
    case RL_INSN_FP_SQRT:
    case RL_INSN_INT_ADD:
    case RL_INSN_INT_MUL:
    case RL_INSN_INT_DIV:
        return 1;
    default:
        return 0;
    }
}

bool rl_insn_class_is_fp(enum rl_insn_class class)
{
    return class >= RL_INSN_FP_ADD && class <= RL_INSN_FP_LOGIC;
}

static const char *const class_names[RL_INSN_CLASSES] = {
    [RL_INSN_UNKNOWN] = "unknown",
    [RL_INSN_FP_ADD] = "add",
    [RL_INSN_FP_MUL] = "mul",
    [RL_INSN_FP_FMA] = "fma",
    [RL_INSN_FP_DIV] = "div",
    [RL_INSN_FP_SQRT] = "sqrt",
    [RL_INSN_FP_SPECIAL] = "special",
    [RL_INSN_FP_MINMAX] = "minmax",
    [RL_INSN_FP_COMPARE] = "compare",
    [RL_INSN_FP_CONVERT] = "convert",
    [RL_INSN_FP_ROUND] = "round",
    [RL_INSN_FP_LOGIC] = "fp-logic",
    [RL_INSN_INT_ADD] = "int-add",
    [RL_INSN_INT_MUL] = "int-mul",
    [RL_INSN_INT_MAC] = "int-mac",
    [RL_INSN_INT_DIV] = "int-div",
    [RL_INSN_INT_OTHER] = "int-other",
    [RL_INSN_LOGIC] = "logic",
    [RL_INSN_SHIFT] = "shift",
    [RL_INSN_ADDRESS] = "address",
    [RL_INSN_MOVE] = "move",
    [RL_INSN_SHUFFLE] = "shuffle",
    [RL_INSN_MASK] = "mask",
    [RL_INSN_BRANCH] = "branch",
    [RL_INSN_CALL] = "call",
    [RL_INSN_STRING] = "string",
    [RL_INSN_CRYPTO] = "crypto",
    [RL_INSN_PREFETCH] = "prefetch",
    [RL_INSN_NOP] = "nop",
    [RL_INSN_SYSTEM] = "system",
};

static const char *const isa_names[RL_INSN_ISAS] = {
    [RL_INSN_SCALAR] = "scalar", [RL_INSN_MMX] = "mmx",       [RL_INSN_SSE2] = "sse2",
    [RL_INSN_AVX2] = "avx2",     [RL_INSN_AVX512] = "avx512", [RL_INSN_AMX] = "amx",
    [RL_INSN_ISA_X87] = "x87",
};

const char *rl_insn_class_name(enum rl_insn_class class)
{
    return (unsigned)class < RL_INSN_CLASSES ? class_names[class] : "?";
}

const char *rl_insn_isa_name(enum rl_insn_isa isa)
{
    return (unsigned)isa < RL_INSN_ISAS ? isa_names[isa] : "?";
}

void rl_insn_format(const uint8_t *code, size_t size, uint64_t address, char *ret_text,
                    size_t capacity)
{
    struct decoded d;
    ZydisFormatter formatter;
    struct rl_insn newer = {0};
    if (!capacity)
        return;
    if (!decode(code, size, &d)) {
        bool known = newer_decode(code, size, &newer);
        snprintf(ret_text, capacity, "%s", known ? newer.mnemonic : "(bad)");
        return;
    }
    if (!ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &d.insn, d.operands,
                                                      d.insn.operand_count_visible, ret_text,
                                                      capacity, address, NULL)))
        snprintf(ret_text, capacity, "%s", ZydisMnemonicGetString(d.insn.mnemonic));
}
