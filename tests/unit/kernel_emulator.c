#include "kernel_emulator.h"

#include <Zydis/Zydis.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CODE = 8192 };

struct loop {
    const unsigned char *first, *last; /* last is the branch */
};

static ZydisDecoder decoder(void)
{
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
}

/* The first backward branch closes the innermost loop. */
static bool find_loop(const void *code, struct loop *ret_loop)
{
    ZydisDecoder d = decoder();
    const unsigned char *at = code;
    const unsigned char *end = at + MOST_CODE;
    while (at < end) {
        ZydisDecodedInstruction insn;
        ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, at, (size_t)(end - at), &insn, op)))
            return false;
        if (insn.mnemonic == ZYDIS_MNEMONIC_RET)
            return false;
        if (insn.meta.category == ZYDIS_CATEGORY_COND_BR && op[0].imm.value.s < 0) {
            *ret_loop = (struct loop){.first = at + insn.length + op[0].imm.value.s, .last = at};
            return true;
        }
        at += insn.length;
    }
    return false;
}

/* Operands without flags, masks and hidden ones. */
struct form {
    ZydisMnemonic mnemonic;
    const ZydisDecodedOperand *op[4];
    unsigned n;
};

static struct form form_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op)
{
    struct form form = {.mnemonic = insn->mnemonic};
    for (unsigned i = 0; i < insn->operand_count_visible && form.n < 4; i++) {
        if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_MASK)
            continue;
        form.op[form.n++] = &op[i];
    }
    return form;
}

enum kind { K_NONE, K_ADD, K_MUL, K_DIV, K_SQRT, K_FMA, K_RSQRT };
enum type { T_F64, T_F32, T_F16, T_BF16, T_I8, T_I16, T_I32 };

struct rule {
    ZydisMnemonic mnemonic;
    enum kind kind;
    enum type type;
    bool scalar;
    double per_lane; /* work a lane */
};

#define BOTH(name, kind, per_lane)                                                                 \
    {ZYDIS_MNEMONIC_##name##PD, kind, T_F64, false, per_lane},                                     \
        {ZYDIS_MNEMONIC_##name##PS, kind, T_F32, false, per_lane},                                 \
        {ZYDIS_MNEMONIC_##name##SD, kind, T_F64, true, per_lane},                                  \
    {                                                                                              \
        ZYDIS_MNEMONIC_##name##SS, kind, T_F32, true, per_lane                                     \
    }

static const struct rule rules[] = {
    BOTH(ADD, K_ADD, 1),
    BOTH(MUL, K_MUL, 1),
    BOTH(DIV, K_DIV, 1),
    BOTH(SQRT, K_SQRT, 1),
    BOTH(VADD, K_ADD, 1),
    BOTH(VMUL, K_MUL, 1),
    BOTH(VDIV, K_DIV, 1),
    BOTH(VSQRT, K_SQRT, 1),
    BOTH(VFMADD231, K_FMA, 2),
    {ZYDIS_MNEMONIC_RSQRTPS, K_RSQRT, T_F32, false, 1},
    {ZYDIS_MNEMONIC_RSQRTSS, K_RSQRT, T_F32, true, 1},
    {ZYDIS_MNEMONIC_VRSQRTPS, K_RSQRT, T_F32, false, 1},
    {ZYDIS_MNEMONIC_VRSQRT14PS, K_RSQRT, T_F32, false, 1},
    {ZYDIS_MNEMONIC_VRSQRT14PD, K_RSQRT, T_F64, false, 1},
    {ZYDIS_MNEMONIC_VFMADD231PH, K_FMA, T_F16, false, 2},
    {ZYDIS_MNEMONIC_VADDPH, K_ADD, T_F16, false, 1},
    {ZYDIS_MNEMONIC_VMULPH, K_MUL, T_F16, false, 1},
    {ZYDIS_MNEMONIC_VDPBF16PS, K_FMA, T_BF16, false, 2},
    {ZYDIS_MNEMONIC_PADDB, K_ADD, T_I8, false, 1},
    {ZYDIS_MNEMONIC_VPADDB, K_ADD, T_I8, false, 1},
    {ZYDIS_MNEMONIC_PADDW, K_ADD, T_I16, false, 1},
    {ZYDIS_MNEMONIC_VPADDW, K_ADD, T_I16, false, 1},
    {ZYDIS_MNEMONIC_PADDD, K_ADD, T_I32, false, 1},
    {ZYDIS_MNEMONIC_VPADDD, K_ADD, T_I32, false, 1},
    {ZYDIS_MNEMONIC_PMULLW, K_MUL, T_I16, false, 1},
    {ZYDIS_MNEMONIC_VPMULLW, K_MUL, T_I16, false, 1},
    {ZYDIS_MNEMONIC_VPMULLD, K_MUL, T_I32, false, 1},
    {ZYDIS_MNEMONIC_PMADDWD, K_FMA, T_I16, false, 2},
    {ZYDIS_MNEMONIC_VPMADDWD, K_FMA, T_I16, false, 2},
    {ZYDIS_MNEMONIC_VPMADDUBSW, K_FMA, T_I8, false, 2},
    {ZYDIS_MNEMONIC_VPDPBUSD, K_FMA, T_I8, false, 2},
    {ZYDIS_MNEMONIC_VPDPWSSD, K_FMA, T_I16, false, 2},
};

static const struct rule *rule_of(ZydisMnemonic mnemonic)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].mnemonic == mnemonic)
            return &rules[i];
    return NULL;
}

static unsigned type_bytes(enum type type)
{
    static const unsigned bytes[] = {8, 4, 2, 2, 1, 2, 4};
    return bytes[type];
}

static unsigned vector_bytes(const struct form *form)
{
    return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, form->op[0]->reg.value) / 8;
}

static int vector_number(const ZydisDecodedOperand *op)
{
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return -1;
    switch (ZydisRegisterGetClass(op->reg.value)) {
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return ZydisRegisterGetId(op->reg.value);
    default:
        return -1;
    }
}

static int general_number(const ZydisDecodedOperand *op)
{
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return -1;
    ZydisRegisterClass class = ZydisRegisterGetClass(op->reg.value);
    bool general = class == ZYDIS_REGCLASS_GPR32 || class == ZYDIS_REGCLASS_GPR64;
    return general ? ZydisRegisterGetId(op->reg.value) : -1;
}

static bool is_tile_product(const struct form *form)
{
    return form->n == 3 && form->op[0]->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(form->op[0]->reg.value) == ZYDIS_REGCLASS_TMM;
}

static void count_access(struct emu_counts *c, const struct form *form)
{
    for (unsigned i = 0; i < form->n; i++) {
        const ZydisDecodedOperand *op = form->op[i];
        if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || c->n_access == EMU_MOST_ACCESSES)
            continue;
        ZydisMnemonic m = form->mnemonic;
        c->access[c->n_access++] = (struct emu_access){
            .base = (unsigned)ZydisRegisterGetId(op->mem.base),
            .offset = op->mem.disp.value,
            .bytes = op->size / 8,
            .store = i == 0,
            .streaming = m == ZYDIS_MNEMONIC_MOVNTPS || m == ZYDIS_MNEMONIC_VMOVNTPS,
        };
    }
}

/* Loop overhead: pointers and counters. @return true if it was that. */
static bool count_overhead(struct emu_counts *c, const struct form *form)
{
    if (form->n != 2 || form->op[1]->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return form->mnemonic == ZYDIS_MNEMONIC_DEC || form->mnemonic == ZYDIS_MNEMONIC_JNZ;
    int reg = general_number(form->op[0]);
    int64_t value = form->op[1]->imm.value.s;
    if (reg < 0 || (form->mnemonic != ZYDIS_MNEMONIC_ADD && form->mnemonic != ZYDIS_MNEMONIC_SUB))
        return false;
    c->step[reg] += form->mnemonic == ZYDIS_MNEMONIC_ADD ? value : -value;
    return true;
}

static bool is_move(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_MOVAPS || m == ZYDIS_MNEMONIC_VMOVAPS ||
           m == ZYDIS_MNEMONIC_MOVNTPS || m == ZYDIS_MNEMONIC_VMOVNTPS ||
           m == ZYDIS_MNEMONIC_VFMADD213PD;
}

static bool is_prefetch(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_PREFETCHT0 || m == ZYDIS_MNEMONIC_PREFETCHNTA;
}

static void count_one(struct emu_counts *c, const struct form *form)
{
    const struct rule *rule = rule_of(form->mnemonic);
    bool general_op =
        form->n == 2 && general_number(form->op[0]) >= 0 && general_number(form->op[1]) >= 0;
    if (is_prefetch(form->mnemonic)) {
        c->prefetches++;
    } else if (is_move(form->mnemonic)) {
        count_access(c, form);
    } else if (rule && vector_number(form->op[0]) >= 0) {
        count_access(c, form);
        c->instructions++;
        unsigned lanes = rule->scalar ? 1 : vector_bytes(form) / type_bytes(rule->type);
        c->work += rule->per_lane * lanes;
    } else if (general_op) {
        c->instructions++;
        c->work += 1;
    } else if (is_tile_product(form)) {
        c->instructions++;
        c->tile_products++;
    } else if (!count_overhead(c, form)) {
        c->unknown++;
        snprintf(c->first_unknown, sizeof c->first_unknown, "%s",
                 ZydisMnemonicGetString(form->mnemonic));
    }
}

bool emu_count(const void *code, struct emu_counts *ret_counts)
{
    ZydisDecoder d = decoder();
    struct loop loop;
    memset(ret_counts, 0, sizeof *ret_counts);
    if (!find_loop(code, &loop))
        return false;
    for (const unsigned char *at = loop.first; at <= loop.last;) {
        ZydisDecodedInstruction insn;
        ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, at, ZYDIS_MAX_INSTRUCTION_LENGTH, &insn, op)))
            return false;
        struct form form = form_of(&insn, op);
        count_one(ret_counts, &form);
        at += insn.length;
    }
    return true;
}

static double apply(enum kind kind, double x, double a, double b)
{
    switch (kind) {
    case K_ADD:
        return a + b;
    case K_MUL:
        return a * b;
    case K_DIV:
        return a / b;
    case K_SQRT:
        return sqrt(b);
    case K_RSQRT:
        return 1 / sqrt(b);
    case K_FMA:
        return fma(a, b, x);
    default:
        return NAN;
    }
}

static float apply_single(enum kind kind, float x, float a, float b)
{
    switch (kind) {
    case K_ADD:
        return a + b;
    case K_MUL:
        return a * b;
    case K_DIV:
        return a / b;
    case K_SQRT:
        return sqrtf(b);
    case K_RSQRT:
        return 1 / sqrtf(b);
    case K_FMA:
        return fmaf(a, b, x);
    default:
        return NAN;
    }
}

static void run_float(const struct rule *rule, unsigned char *x, const unsigned char *a,
                      const unsigned char *b, unsigned lanes)
{
    for (unsigned i = 0; i < lanes; i++) {
        if (rule->type == T_F64) {
            double v[3];
            memcpy(&v[0], x + 8 * i, 8);
            memcpy(&v[1], a + 8 * i, 8);
            memcpy(&v[2], b + 8 * i, 8);
            v[0] = apply(rule->kind, v[0], v[1], v[2]);
            memcpy(x + 8 * i, &v[0], 8);
        } else {
            float v[3];
            memcpy(&v[0], x + 4 * i, 4);
            memcpy(&v[1], a + 4 * i, 4);
            memcpy(&v[2], b + 4 * i, 4);
            v[0] = apply_single(rule->kind, v[0], v[1], v[2]);
            memcpy(x + 4 * i, &v[0], 4);
        }
    }
}

static int32_t get(const unsigned char *p, unsigned bytes, unsigned i, bool is_signed)
{
    uint32_t u = 0;
    memcpy(&u, p + bytes * i, bytes);
    if (!is_signed || bytes == 4)
        return (int32_t)u;
    return bytes == 1 ? (int8_t)u : (int16_t)u;
}

static void put(unsigned char *p, unsigned bytes, unsigned i, int64_t value)
{
    uint32_t u = (uint32_t)value;
    memcpy(p + bytes * i, &u, bytes);
}

static int64_t saturate16(int64_t v)
{
    return v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v;
}

/* Sums of neighbouring products: n products of elements of `bytes` into one of n * bytes. Which
 * operand is unsigned follows the instruction set's manual: the first source. */
static void run_products(ZydisMnemonic m, unsigned char *x, const unsigned char *a,
                         const unsigned char *b, unsigned total)
{
    bool is_byte_dot = m == ZYDIS_MNEMONIC_VPDPBUSD;
    bool accumulates = is_byte_dot || m == ZYDIS_MNEMONIC_VPDPWSSD;
    bool bytes_in = is_byte_dot || m == ZYDIS_MNEMONIC_VPMADDUBSW;
    unsigned in = bytes_in ? 1 : 2;
    unsigned out = m == ZYDIS_MNEMONIC_VPMADDUBSW ? 2 : 4;
    unsigned char result[EMU_REGISTER_BYTES];
    for (unsigned i = 0; i < total / out; i++) {
        int64_t sum = accumulates ? get(x, 4, i, true) : 0;
        for (unsigned k = i * (out / in); k < (i + 1) * (out / in); k++)
            sum += (int64_t)get(a, in, k, !bytes_in) * get(b, in, k, true);
        put(result, out, i, out == 2 ? saturate16(sum) : sum);
    }
    memcpy(x, result, total);
}

static float from_bf16(const unsigned char *p, unsigned i)
{
    uint16_t h;
    float f;
    memcpy(&h, p + 2 * i, 2);
    uint32_t u = (uint32_t)h << 16;
    memcpy(&f, &u, 4);
    return f;
}

static void run_bf16(unsigned char *x, const unsigned char *a, const unsigned char *b,
                     unsigned total)
{
    for (unsigned i = 0; i < total / 4; i++) {
        float sum;
        memcpy(&sum, x + 4 * i, 4);
        sum += from_bf16(a, 2 * i + 1) * from_bf16(b, 2 * i + 1);
        sum += from_bf16(a, 2 * i) * from_bf16(b, 2 * i);
        memcpy(x + 4 * i, &sum, 4);
    }
}

static double from_fp16(const unsigned char *p, unsigned i)
{
    uint16_t h;
    memcpy(&h, p + 2 * i, 2);
    int exponent = h >> 10 & 31;
    double value = exponent ? ldexp(1024 + (h & 1023), exponent - 25) : ldexp(h & 1023, -24);
    return h >> 15 ? -value : value;
}

/* Nearest, ties to even, as nearbyint rounds by default; no infinities. */
static void put_fp16(unsigned char *p, unsigned i, double value)
{
    int exponent;
    double size = fabs(value);
    (void)frexp(size, &exponent);
    exponent = exponent < -13 ? -13 : exponent; /* the smallest normal number is 2^-14 */
    double units = nearbyint(ldexp(size, 11 - exponent));
    /* 1024 units and more carry over into the exponent field by themselves */
    uint16_t h = (uint16_t)(units + 1024 * (exponent + 13));
    h = (uint16_t)(h | (value < 0 ? 1 << 15 : 0));
    memcpy(p + 2 * i, &h, 2);
}

static void run_fp16(enum kind kind, unsigned char *x, const unsigned char *a,
                     const unsigned char *b, unsigned total)
{
    for (unsigned i = 0; i < total / 2; i++)
        put_fp16(x, i, apply(kind, from_fp16(x, i), from_fp16(a, i), from_fp16(b, i)));
}

/* One element: a row of `a` times column n of `b`, four bytes of each at a time. */
static void run_tile_element(enum emu_tile_type type, unsigned char *c, const unsigned char *a,
                             emu_tile b, unsigned n)
{
    uint32_t sum;
    float real;
    memcpy(&sum, c + 4 * n, 4);
    memcpy(&real, c + 4 * n, 4);
    for (unsigned k = 0; k < EMU_TILE_ROWS; k++) {
        for (unsigned i = 0; i < 4 && type == EMU_TILE_INT8; i++)
            sum += (uint32_t)(get(a, 1, 4 * k + i, true) * get(b[k], 1, 4 * n + i, true));
        for (unsigned i = 0; i < 2 && type == EMU_TILE_BF16; i++)
            real += from_bf16(a, 2 * k + i) * from_bf16(b[k], 2 * n + i);
        for (unsigned i = 0; i < 2 && type == EMU_TILE_FP16; i++)
            real += (float)(from_fp16(a, 2 * k + i) * from_fp16(b[k], 2 * n + i));
    }
    if (type == EMU_TILE_INT8)
        memcpy(c + 4 * n, &sum, 4);
    else
        memcpy(c + 4 * n, &real, 4);
}

void emu_tile_product(enum emu_tile_type type, emu_tile c, emu_tile a, emu_tile b)
{
    for (unsigned m = 0; m < EMU_TILE_ROWS; m++)
        for (unsigned n = 0; n < EMU_REGISTER_BYTES / 4; n++)
            run_tile_element(type, c[m], a[m], b, n);
}

static void run_integer(const struct rule *rule, unsigned char *x, const unsigned char *a,
                        const unsigned char *b, unsigned total)
{
    unsigned bytes = type_bytes(rule->type);
    for (unsigned i = 0; i < total / bytes; i++) {
        int64_t u = get(a, bytes, i, true);
        int64_t v = get(b, bytes, i, true);
        put(x, bytes, i, rule->kind == K_ADD ? u + v : u * v);
    }
}

enum { XMM_BYTES = 16 };

static bool run_vector(const struct form *form, struct emu_image *image)
{
    const struct rule *rule = rule_of(form->mnemonic);
    int number[3] = {-1, -1, -1};
    for (unsigned i = 0; i < form->n && i < 3; i++)
        number[i] = vector_number(form->op[i]);
    if (!rule || number[0] < 0 || number[1] < 0)
        return false;
    unsigned char *x = image->v[number[0]];
    const unsigned char *a = form->n == 3 ? image->v[number[1]] : x;
    const unsigned char *b = image->v[form->n == 3 ? number[2] : number[1]];
    unsigned total = rule->scalar ? type_bytes(rule->type) : vector_bytes(form);
    if (rule->scalar && rule->kind != K_FMA && x != a) /* the rest is the first source's */
        memcpy(x + total, a + total, XMM_BYTES - total);
    if (rule->type == T_F64 || rule->type == T_F32)
        run_float(rule, x, a, b, total / type_bytes(rule->type));
    else if (rule->type == T_F16)
        run_fp16(rule->kind, x, a, b, total);
    else if (rule->type == T_BF16)
        run_bf16(x, a, b, total);
    else if (rule->kind == K_FMA)
        run_products(form->mnemonic, x, a, b, total);
    else
        run_integer(rule, x, a, b, total);
    return true;
}

static bool run_general(const struct form *form, struct emu_image *image)
{
    int to = form->n == 2 ? general_number(form->op[0]) : -1;
    int from = form->n == 2 ? general_number(form->op[1]) : -1;
    if (to < 0 || from < 0)
        return false;
    if (form->mnemonic == ZYDIS_MNEMONIC_ADD)
        image->r[to] += image->r[from];
    else if (form->mnemonic == ZYDIS_MNEMONIC_IMUL)
        image->r[to] *= image->r[from];
    else
        return false;
    return true;
}

bool emu_run(const void *code, unsigned iterations, struct emu_image *image)
{
    ZydisDecoder d = decoder();
    struct loop loop;
    if (!find_loop(code, &loop))
        return false;
    for (unsigned n = 0; n < iterations; n++)
        for (const unsigned char *at = loop.first; at <= loop.last;) {
            ZydisDecodedInstruction insn;
            ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
            struct emu_counts overhead = {0};
            if (!ZYAN_SUCCESS(
                    ZydisDecoderDecodeFull(&d, at, ZYDIS_MAX_INSTRUCTION_LENGTH, &insn, op)))
                return false;
            struct form form = form_of(&insn, op);
            if (!run_vector(&form, image) && !run_general(&form, image) &&
                !count_overhead(&overhead, &form))
                return false;
            at += insn.length;
        }
    return true;
}
