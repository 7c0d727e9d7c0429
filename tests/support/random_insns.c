#include "random_insns.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <stdbool.h>
#include <string.h>

enum {
    RSP = 4,
    INSN_MAX = 15,
    ROOM_FOR_ONE = 128, /* an instruction and what stands in front of it */
    ROOM_FOR_SEQUENCE = 65536,
    SLOTS_FOR_SEQUENCE = 2000,
    INDEX_32 = 0x400,      /* 16 small 32-bit vector indices */
    INDEX_64 = 0x440,      /* 8 small 64-bit ones */
    TARGET_FIRST = 0x1400, /* operands lie away from the area's edges */
    TARGET_SPAN = RANDOM_SCRATCH_BYTES - TARGET_FIRST - 0x400,
    DEPTH_MAX = 3,
    RED_ZONE = 128,
};

uint64_t random_next(struct random_source *source)
{
    uint64_t x = source->state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return source->state = x;
}

static unsigned below(struct random_insns *c, unsigned n)
{
    return (unsigned)(random_next(&c->source) >> 33) % n;
}

static void put(struct random_insns *c, const void *bytes, unsigned n)
{
    memcpy(c->at, bytes, n);
    c->at += n;
}

static void put_1(struct random_insns *c, unsigned byte)
{
    *c->at++ = byte;
}

static void put_4(struct random_insns *c, uint32_t value)
{
    put(c, &value, 4);
}

static void put_8(struct random_insns *c, uint64_t value)
{
    put(c, &value, 8);
}

/* ---- which instructions this machine has ---- */

struct feature {
    const char *isa; /* beginning of Zydis's name of the set */
    uint32_t leaf, subleaf;
    uint8_t reg, bit; /* 0..3: eax ebx ecx edx */
    uint8_t xcr0;     /* state the system must have enabled */
};

enum { EAX, EBX, ECX, EDX, X_AVX = 0x06, X_512 = 0xE6 };

/* The first entry whose name begins the set's name decides. */
static const struct feature features[] = {
    {"ADOX_ADCX", 7, 0, EBX, 19, 0},
    {"AVX2", 7, 0, EBX, 5, X_AVX},
    {"AVX512BW", 7, 0, EBX, 30, X_512},
    {"AVX512CD", 7, 0, EBX, 28, X_512},
    {"AVX512DQ", 7, 0, EBX, 17, X_512},
    {"AVX512F", 7, 0, EBX, 16, X_512},
    {"AVX512_BF16", 7, 1, EAX, 5, X_512},
    {"AVX512_BITALG", 7, 0, ECX, 12, X_512},
    {"AVX512_FP16", 7, 0, EDX, 23, X_512},
    {"AVX512_GFNI", 7, 0, ECX, 8, X_512},
    {"AVX512_IFMA", 7, 0, EBX, 21, X_512},
    {"AVX512_VAES", 7, 0, ECX, 9, X_512},
    {"AVX512_VBMI2", 7, 0, ECX, 6, X_512},
    {"AVX512_VBMI", 7, 0, ECX, 1, X_512},
    {"AVX512_VNNI", 7, 0, ECX, 11, X_512},
    {"AVX512_VP2INTERSECT", 7, 0, EDX, 8, X_512},
    {"AVX512_VPCLMULQDQ", 7, 0, ECX, 10, X_512},
    {"AVX512_VPOPCNTDQ", 7, 0, ECX, 14, X_512},
    {"AVX_GFNI", 7, 0, ECX, 8, X_AVX},
    {"AVX_VNNI", 7, 1, EAX, 4, X_AVX},
    {"AVXAES", 1, 0, ECX, 25, X_AVX},
    {"AES", 1, 0, ECX, 25, 0},
    {"AVX5", 0, 0, EAX, 31, 0}, /* what is not listed above: never */
    {"AVX", 1, 0, ECX, 28, X_AVX},
    {"BMI1", 7, 0, EBX, 3, X_AVX},
    {"BMI2", 7, 0, EBX, 8, X_AVX},
    {"CLFLUSHOPT", 7, 0, EBX, 23, 0},
    {"CLWB", 7, 0, EBX, 24, 0},
    {"CLZERO", 0x80000008, 0, EBX, 0, 0},
    {"CMPXCHG16B", 1, 0, ECX, 13, 0},
    {"F16C", 1, 0, ECX, 29, X_AVX},
    {"FMA4", 0x80000001, 0, ECX, 16, X_AVX},
    {"FMA", 1, 0, ECX, 12, X_AVX},
    {"GFNI", 7, 0, ECX, 8, 0},
    {"LZCNT", 0x80000001, 0, ECX, 5, 0},
    {"MOVBE", 1, 0, ECX, 22, 0},
    {"PCLMULQDQ", 1, 0, ECX, 1, 0},
    {"POPCNT", 1, 0, ECX, 23, 0},
    {"SHA", 7, 0, EBX, 29, 0},
    {"SSE3", 1, 0, ECX, 0, 0},
    {"SSE42", 1, 0, ECX, 20, 0},
    {"SSE4A", 0x80000001, 0, ECX, 6, 0},
    {"SSE4", 1, 0, ECX, 19, 0},
    {"SSSE3", 1, 0, ECX, 9, 0},
    {"TBM", 0x80000001, 0, ECX, 21, 0},
    {"VAES", 7, 0, ECX, 9, X_AVX},
    {"VPCLMULQDQ", 7, 0, ECX, 10, X_AVX},
    {"XOP", 0x80000001, 0, ECX, 11, X_AVX},
};

/* Sets every x86-64 processor has; SSE and SSE2 by their exact names. */
static const char *const base_sets[] = {
    "I86",        "I186",     "I386",  "I486",         "I486REAL", "PENTIUMREAL", "CMOV",
    "PENTIUMMMX", "PPRO",     "X87",   "SSE2MMX",      "SSE",      "SSE2",        "FAT_NOP",
    "LAHF",       "LONGMODE", "FCMOV", "SSE_PREFETCH", "CLFSH",    "PAUSE",       "SSEMXCSR"};

static uint32_t enabled_state(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

static bool machine_has(ZydisISASet set)
{
    static int8_t known[ZYDIS_ISA_SET_MAX_VALUE + 1]; /* 0: not asked yet */
    if (known[set])
        return known[set] > 0;
    const char *name = ZydisISASetGetString(set);
    bool has = false;
    for (unsigned i = 0; i < sizeof(base_sets) / sizeof(base_sets[0]); i++)
        has |= strcmp(name, base_sets[i]) == 0;
    for (unsigned i = 0; !has && i < sizeof(features) / sizeof(features[0]); i++) {
        const struct feature *f = &features[i];
        if (strncmp(name, f->isa, strlen(f->isa)) != 0)
            continue;
        unsigned r[4];
        has = __get_cpuid_count(f->leaf, f->subleaf, &r[0], &r[1], &r[2], &r[3]) &&
              (r[f->reg] >> f->bit & 1) && (enabled_state() & f->xcr0) == f->xcr0;
        bool short_vector = strstr(name, "_128") || strstr(name, "_256");
        if (has && short_vector && strncmp(name, "AVX512", 6) == 0)
            has = __get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3]) && (r[1] >> 31 & 1);
        break;
    }
    known[set] = has ? 1 : -1;
    return has;
}

/* ---- which instructions are harmless ---- */

struct candidate {
    uint8_t bytes[INSN_MAX + 1];
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static int gpr(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return -1;
    return (int)whole - ZYDIS_REGISTER_RAX;
}

static bool category_is_harmless(ZydisInstructionCategory category)
{
    switch (category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
        return false;
    default:
        return true;
    }
}

static bool mnemonic_is_harmless(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_DIV: /* may fault; a template has them */
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_STD:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_LDMXCSR: /* could unmask exceptions */
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FNSTENV: /* stores a code address */
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_RDTSC:
        return false;
    default:
        return true;
    }
}

/* No operand may name system registers, segments, or rsp other than as the base of an address. */
static bool operands_are_harmless(const struct candidate *k)
{
    for (int i = 0; i < k->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &k->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
                return false;
            if (gpr(o->mem.base) == RSP && o->encoding == ZYDIS_OPERAND_ENCODING_NONE)
                return false;
            continue;
        }
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        switch (ZydisRegisterGetClass(o->reg.value)) {
        case ZYDIS_REGCLASS_SEGMENT:
        case ZYDIS_REGCLASS_CONTROL:
        case ZYDIS_REGCLASS_DEBUG:
        case ZYDIS_REGCLASS_TABLE:
        case ZYDIS_REGCLASS_BOUND:
            return false;
        default:
            if (gpr(o->reg.value) == RSP)
                return false;
        }
    }
    return true;
}

/* Random bytes in the shape of some map's instruction, without prefixes that would be refused. */
static void draw_bytes(struct random_insns *c, uint8_t *bytes)
{
    uint64_t random[2] = {random_next(&c->source), random_next(&c->source)};
    unsigned at = 0, shape = below(c, 16);
    memcpy(bytes, random, INSN_MAX);
    bytes[INSN_MAX] = 0;
    if (shape >= 12) {
        bytes[0] = 0x62;
        unsigned map = below(c, 3) ? 1 + below(c, 3) : 5 + below(c, 2);
        bytes[1] = (bytes[1] & 0xF0) | map;
        bytes[2] |= below(c, 2) ? 0x7C : 4;
        bytes[3] = (bytes[3] & (below(c, 2) ? 0x6F : 0x7F)) | (below(c, 2) ? 8 : 0);
        return;
    }
    if (shape >= 9) {
        bytes[0] = shape == 9 ? 0xC5 : 0xC4;
        if (shape > 9)
            bytes[1] = (bytes[1] & 0xE0) | (1 + below(c, 3));
        bytes[shape == 9 ? 1 : 2] |= below(c, 2) ? 0x78 : 0;
        return;
    }
    static const uint8_t prefixes[] = {0x66, 0xF2, 0xF3, 0xF0, 0x67};
    if (below(c, 3) == 0)
        bytes[at++] = prefixes[below(c, sizeof(prefixes))];
    if (below(c, 4))
        bytes[at++] = 0x40 | below(c, 16);
    if (shape >= 4)
        bytes[at++] = 0x0F;
    if (shape >= 7)
        bytes[at++] = shape == 7 ? 0x38 : 0x3A;
}

/* ---- memory operands ---- */

static uint64_t random_target(struct random_insns *c, bool aligned)
{
    uint64_t target = RANDOM_SCRATCH + TARGET_FIRST + below(c, TARGET_SPAN);
    return aligned ? target & ~UINT64_C(63) : target;
}

static void load_constant(struct random_insns *c, int reg, uint64_t value)
{
    put_1(c, 0x48 | (reg >> 3));
    put_1(c, 0xB8 | (reg & 7));
    put_8(c, value);
}

/* vmovdqu{,32} reg, [index pool], as wide as the registers are. */
static void load_index_vector(struct random_insns *c, unsigned reg, bool evex, bool wide)
{
    uint64_t from = RANDOM_SCRATCH + (wide ? INDEX_64 : INDEX_32);
    if (evex) {
        put_1(c, 0x62);
        put_1(c, (reg & 8 ? 0 : 0x80) | 0x60 | (reg & 16 ? 0 : 0x10) | 1);
        put_1(c, 0x7E);
        put_1(c, 0x48);
    } else {
        put_1(c, 0xC5);
        put_1(c, reg & 8 ? 0x7E : 0xFE);
    }
    put_1(c, 0x6F);
    put_1(c, 0x04 | (reg & 7) << 3);
    put_1(c, 0x25);
    put_4(c, (uint32_t)from);
}

static bool needs_alignment(const struct candidate *k)
{
    const char *name = ZydisMnemonicGetString(k->z.mnemonic);
    if (k->z.attributes & ZYDIS_ATTRIB_HAS_LOCK)
        return true; /* split locks are slow or trapped */
    if (k->z.mnemonic == ZYDIS_MNEMONIC_XCHG || k->z.mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B)
        return true;
    if (k->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return k->z.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT;
    return strstr(name, "movap") || strstr(name, "movdqa") || strstr(name, "movnt");
}

static void patch_4(struct candidate *k, unsigned at, uint32_t value)
{
    memcpy(k->bytes + at, &value, 4);
}

/* [rsp + disp]: within the frame above what is guarded, or in the red zone. */
static bool place_on_stack(struct random_insns *c, struct candidate *k,
                           const ZydisDecodedOperand *o)
{
    unsigned bytes = o->size / 8 ? o->size / 8 : 1, disp_size = k->z.raw.disp.size;
    if (o->mem.index != ZYDIS_REGISTER_NONE || needs_alignment(k) ||
        k->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || o->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
        k->z.address_width != 64)
        return false;
    if (disp_size == 0)
        return c->guarded == 0;
    int disp = below(c, 3) ? (int)(c->guarded + below(c, 60)) : -(int)(bytes + below(c, 40));
    if (disp < -RED_ZONE || disp > 127)
        return false;
    if (disp_size == 8)
        k->bytes[k->z.raw.disp.offset] = (uint8_t)disp;
    else
        patch_4(k, k->z.raw.disp.offset, (uint32_t)disp);
    return true;
}

/* Makes an explicit memory operand point into the scratch area. */
static bool place_explicit(struct random_insns *c, struct candidate *k,
                           const ZydisDecodedOperand *o)
{
    bool vsib = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    int base = gpr(o->mem.base), index = vsib ? -1 : gpr(o->mem.index);
    uint64_t target = random_target(c, needs_alignment(k) || below(c, 2));
    uint64_t small = below(c, 8);
    if (base == RSP)
        return place_on_stack(c, k, o);
    if (o->mem.base == ZYDIS_REGISTER_RIP) {
        patch_4(k, k->z.raw.disp.offset, (uint32_t)(target - (uintptr_t)c->at - k->z.length));
        return true;
    }
    /* With 32-bit addresses Zydis 4.0 shows r13d where REX.B stands beside "no base". */
    bool misread = k->z.address_width == 32 && k->z.raw.modrm.mod == 0 && k->z.raw.sib.base == 5;
    if (misread || o->mem.base == ZYDIS_REGISTER_EIP || (base >= 0 && base == index))
        return false;
    if (vsib) {
        bool wide = k->z.opcode & 1;
        load_index_vector(c, ZydisRegisterGetId(o->mem.index),
                          k->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX, wide);
    }
    if (index >= 0) {
        load_constant(c, index, small);
        target -= small * o->mem.scale;
    }
    if (base >= 0) {
        load_constant(c, base, target - (uint64_t)o->mem.disp.value);
        return true;
    }
    if (k->z.raw.disp.size == 64) { /* mov with an absolute address */
        memcpy(k->bytes + k->z.raw.disp.offset, &target, 8);
        return true;
    }
    if (k->z.raw.disp.size != 32)
        return false;
    patch_4(k, k->z.raw.disp.offset, (uint32_t)target);
    return true;
}

static bool is_bit_test(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS ||
           mnemonic == ZYDIS_MNEMONIC_BTR || mnemonic == ZYDIS_MNEMONIC_BTC;
}

/* Puts instructions in front of the candidate that lead its memory operands into the scratch area;
 * false if that cannot be done (what was written is taken back by the caller). */
static bool place_memory(struct random_insns *c, struct candidate *k)
{
    for (int i = 0; i < k->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &k->operands[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (o->encoding != ZYDIS_OPERAND_ENCODING_NONE) {
            bool accessed = o->mem.type != ZYDIS_MEMOP_TYPE_AGEN;
            if ((accessed || o->mem.base == ZYDIS_REGISTER_RIP) && !place_explicit(c, k, o))
                return false;
            if (is_bit_test(k->z.mnemonic) && k->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
                return false; /* the bit number could lead anywhere */
        } else if (k->z.address_width != 64) {
            return false;
        } else {
            load_constant(c, gpr(o->mem.base), random_target(c, needs_alignment(k)));
        }
    }
    if (k->z.mnemonic == ZYDIS_MNEMONIC_CLZERO) {
        if (k->z.raw.prefix_count) /* F2 and F3 make it undefined, whatever Zydis says */
            return false;
        load_constant(c, 0, random_target(c, true));
    }
    if (k->z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        load_constant(c, 1, below(c, 12));
    return true;
}

static void random_instruction(struct random_insns *c)
{
    static ZydisDecoder decoder;
    if (!decoder.stack_width)
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (;;) {
        struct candidate k;
        uint8_t *start = c->at;
        draw_bytes(c, k.bytes);
        if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, k.bytes, INSN_MAX, &k.z, k.operands)) ||
            !machine_has(k.z.meta.isa_set) || !category_is_harmless(k.z.meta.category) ||
            !mnemonic_is_harmless(k.z.mnemonic) || !operands_are_harmless(&k) ||
            (k.z.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
            continue;
        if (place_memory(c, &k)) {
            put(c, k.bytes, k.z.length);
            return;
        }
        c->at = start;
    }
}

/* ---- templates around blocks ---- */

static void block(struct random_insns *c, unsigned n);

static unsigned any_register(struct random_insns *c)
{
    unsigned reg = below(c, 15);
    return reg < RSP ? reg : reg + 1;
}

static void put_relative(uint8_t *field, const uint8_t *target)
{
    int32_t distance = (int32_t)(target - (field + 4));
    memcpy(field, &distance, 4);
}

static uint64_t new_slot(struct random_insns *c, uint64_t value)
{
    uint64_t slot = RANDOM_SLOTS + sizeof(value) * c->slots_used++;
    memcpy((void *)(uintptr_t)slot, &value, sizeof(value));
    return slot;
}

/* A conditional branch over a block, long or short. */
static void branch_over(struct random_insns *c)
{
    unsigned condition = below(c, 16);
    if (below(c, 2)) {
        put_1(c, 0x0F);
        put_1(c, 0x80 | condition);
        uint8_t *field = c->at;
        put_4(c, 0);
        block(c, 1 + below(c, 4));
        put_relative(field, c->at);
        return;
    }
    static const uint8_t counted[] = {0xE0, 0xE1, 0xE2, 0xE3}; /* loop and jrcxz forward */
    put_1(c, below(c, 4) ? 0x70 | condition : counted[below(c, 4)]);
    uint8_t *field = c->at;
    put_1(c, 0);
    random_instruction(c);
    *field = (uint8_t)(c->at - field - 1);
}

/* A loop whose counter stands in memory. */
static void loop(struct random_insns *c)
{
    static const uint8_t store[] = {0xC7, 0x04, 0x25}, decrement[] = {0xFF, 0x0C, 0x25};
    uint32_t slot = (uint32_t)new_slot(c, 0);
    put(c, store, 3);
    put_4(c, slot);
    put_4(c, 1 + below(c, below(c, 8) ? 6 : 60));
    uint8_t *head = c->at;
    block(c, 1 + below(c, 4));
    put(c, decrement, 3);
    put_4(c, slot);
    put_1(c, 0x0F);
    put_1(c, 0x85);
    put_4(c, 0);
    put_relative(c->at - 4, head);
}

/* lea reg, [rip + target] */
static uint8_t *take_address(struct random_insns *c, unsigned reg)
{
    put_1(c, 0x48 | (reg & 8) >> 1);
    put_1(c, 0x8D);
    put_1(c, 0x05 | (reg & 7) << 3);
    put_4(c, 0);
    return c->at - 4;
}

static void call_leaf(struct random_insns *c)
{
    uint64_t leaf = c->leaf[below(c, c->n_leaf)];
    unsigned reg = any_register(c);
    switch (below(c, 4)) {
    case 0: { /* through a register */
        put_relative(take_address(c, reg), (const uint8_t *)leaf);
        if (reg >= 8)
            put_1(c, 0x41);
        put_1(c, 0xFF);
        put_1(c, 0xD0 | (reg & 7));
        break;
    }
    case 1: /* through memory */
        put(c, "\xFF\x14\x25", 3);
        put_4(c, (uint32_t)new_slot(c, leaf));
        break;
    default:
        put_1(c, 0xE8);
        put_4(c, 0);
        put_relative(c->at - 4, (const uint8_t *)leaf);
    }
}

static void put_push_pop(struct random_insns *c, unsigned opcode, unsigned reg)
{
    if (reg >= 8)
        put_1(c, 0x41);
    put_1(c, opcode | (reg & 7));
}

static void push_around(struct random_insns *c)
{
    bool flags = below(c, 4) == 0;
    unsigned n_leaf = c->n_leaf;
    if (flags) {
        put_1(c, 0x9C);
        c->n_leaf = 0; /* a callee could write the frame, and popf must not load trap flags */
    } else {
        put_push_pop(c, 0x50, any_register(c));
    }
    c->guarded += 8;
    block(c, 1 + below(c, 3));
    c->guarded -= 8;
    c->n_leaf = n_leaf;
    if (flags)
        put_1(c, 0x9D);
    else
        put_push_pop(c, 0x58, any_register(c));
}

/* call to the next instruction, and the address popped: seen as the original one. */
static void take_program_counter(struct random_insns *c)
{
    put_1(c, 0xE8);
    put_4(c, 0);
    put_push_pop(c, 0x58, any_register(c));
}

/* div or idiv of rax by a positive number: the quotient always fits. */
static void divide(struct random_insns *c)
{
    bool is_signed = below(c, 2);
    put(c, is_signed ? "\x48\x99\x90" : "\x31\xD2\x90", 3); /* cqo; nop or xor edx,edx; nop */
    load_constant(c, 1, 3 + below(c, 1000000));
    put(c, is_signed ? "\x48\xF7\xF9" : "\x48\xF7\xF1", 3);
}

/* An indirect jump over a block. */
static void jump_over(struct random_insns *c)
{
    unsigned reg = any_register(c);
    if (below(c, 2)) {
        uint8_t *field = take_address(c, reg);
        if (reg >= 8)
            put_1(c, 0x41);
        put_1(c, 0xFF);
        put_1(c, 0xE0 | (reg & 7));
        block(c, 1);
        put_relative(field, c->at);
        return;
    }
    uint64_t slot = new_slot(c, 0);
    put(c, "\xFF\x24\x25", 3);
    put_4(c, (uint32_t)slot);
    block(c, 1);
    uint64_t target = (uintptr_t)c->at;
    memcpy((void *)(uintptr_t)slot, &target, 8);
}

static void block(struct random_insns *c, unsigned n)
{
    c->depth++;
    for (; n > 0; n--) {
        unsigned pick = c->depth > DEPTH_MAX ? 0 : below(c, 100);
        if (pick < 74)
            random_instruction(c);
        else if (pick < 82)
            branch_over(c);
        else if (pick < 86)
            loop(c);
        else if (pick < 91 && c->n_leaf)
            call_leaf(c);
        else if (pick < 94)
            push_around(c);
        else if (pick < 96)
            take_program_counter(c);
        else if (pick < 98)
            divide(c);
        else
            jump_over(c);
    }
    c->depth--;
}

void random_insns_begin(struct random_insns *code, uint64_t seed)
{
    *code = (struct random_insns){.source = {seed ? seed : 1},
                                  .slots_used = 1, /* the first is the exit */
                                  .at = (uint8_t *)RANDOM_CODE,
                                  .end = (uint8_t *)RANDOM_CODE + RANDOM_CODE_BYTES};
    for (unsigned i = 0; i < 8; i++)
        random_next(&code->source);
    for (unsigned i = 0; i < 16; i++)
        ((uint32_t *)(RANDOM_SCRATCH + INDEX_32))[i] = (i * 7 + 3) & 63;
    for (unsigned i = 0; i < 8; i++)
        ((uint64_t *)(RANDOM_SCRATCH + INDEX_64))[i] = (i * 5 + 1) & 63;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t entry = (uintptr_t)code->at;
        code->guarded = 8;
        block(code, 4 + below(code, 8));
        code->guarded = 0;
        put(code, below(code, 4) ? "\xC3\x90" : "\xF3\xC3", 2);
        code->leaf[i] = entry;
    }
    code->n_leaf = 4;
}

const uint8_t *random_insns_sequence(struct random_insns *code, unsigned n)
{
    if (code->end - code->at < ROOM_FOR_SEQUENCE + (ptrdiff_t)n * ROOM_FOR_ONE ||
        code->slots_used + SLOTS_FOR_SEQUENCE > RANDOM_SLOTS_BYTES / sizeof(uint64_t))
        return NULL;
    const uint8_t *entry = code->at;
    block(code, n);
    put(code, "\xFF\x24\x25", 3);
    put_4(code, (uint32_t)RANDOM_EXIT_SLOT);
    return entry;
}
