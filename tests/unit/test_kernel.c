/* Kernels do what their tables say: the machine code is decoded and counted, and what it computes
 * is repeated in plain C. Nothing here is timed. */
#include "cpu/cpu.h"
#include "kernel/kernel.h"
#include "kernel/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/cmocka_all.h"

#if defined(__x86_64__)
#include "kernel_emulator.h"
#endif

static void *image_of(enum rl_precision precision)
{
    void *image = aligned_alloc(64, RL_KERNEL_IMAGE_BYTES);
    assert_non_null(image);
    rl_kernel_image(precision, image);
    return image;
}

static void names_are_unique_and_numbers_sensible(void **state)
{
    (void)state;
    size_t n;
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(k[i].work > 0 && k[i].instructions > 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(k[i].name, k[j].name);
    }
    const struct rl_memory_kernel *m = rl_memory_kernels(&n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(m[i].granule >= 64 && m[i].granule % 64 == 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(m[i].name, m[j].name);
    }
}

static void images_hold_ordinary_numbers(void **state)
{
    (void)state;
    double *fp64 = image_of(RL_FP64);
    float *fp32 = image_of(RL_FP32);
    for (int i = 0; i < 32 * 8; i++)
        assert_true(fp64[i] >= 0x1p-12 && fp64[i] < 4);
    for (int i = 0; i < 32 * 16; i++)
        assert_true(fp32[i] >= 0x1p-12F && fp32[i] < 4);
    free(fp64);
    free(fp32);
}

/* What memory kernels must leave behind, in plain C. */
static double expected_word(enum rl_pattern pattern, double stored, double factor, double b,
                            double c)
{
    switch (pattern) {
    case RL_STORE:
    case RL_NT_STORE:
    case RL_TWO_ONE:
        return stored;
    case RL_COPY:
    case RL_NT_COPY:
        return b;
    default:
        return fma(factor, c, b);
    }
}

static void check_memory_kernel(const struct rl_memory_kernel *k)
{
    size_t bytes = 2 * (size_t)k->granule;
    size_t words = bytes / sizeof(double);
    double *image = image_of(RL_FP64);
    double *out = image_of(RL_FP64);
    double *a = aligned_alloc(64, bytes + 64);
    double *b = aligned_alloc(64, bytes);
    double *c = aligned_alloc(64, bytes);
    for (size_t i = 0; i < words; i++) {
        a[i] = -1;
        b[i] = 1 + 0.5 * (double)i;
        c[i] = 3 - 0.25 * (double)i;
    }
    a[words] = 77;
    struct rl_kernel_args args = {.loops = 2,
                                  .in = image,
                                  .out = out,
                                  .a = (char *)a,
                                  .b = (char *)b,
                                  .c = (char *)c,
                                  .bytes = bytes};
    k->run(&args);
    for (size_t i = 0; i < words; i++) {
        double want = k->pattern == RL_LOAD ? -1
                                            : expected_word(k->pattern, image[8 * 15 + i % 2],
                                                            image[8 * 12], b[i], c[i]);
        if (k->pattern == RL_STORE || k->pattern == RL_NT_STORE || k->pattern == RL_TWO_ONE)
            want = k->bits ? image[8 * 15 + i % (k->bits / 64)] : image[8 * 15];
        /* without FMA the triad rounds twice, and its factor differs from lane to lane by nothing
         */
        if (fabs(a[i] - want) > 1e-9 * fabs(want))
            fail_msg("%s: word %zu is %g, not %g", k->name, i, a[i], want);
    }
    assert_true(a[words] == 77);
    free(image);
    free(out);
    free(a);
    free(b);
    free(c);
}

static void memory_kernels_touch_exactly_their_arrays(void **state)
{
    (void)state;
    struct rl_cpu cpu;
    size_t n;
    assert_int_equal(rl_cpu_detect(NULL, &cpu, NULL), RL_OK);
    const struct rl_memory_kernel *k = rl_memory_kernels(&n);
    for (size_t i = 0; i < n; i++)
        if (rl_cpu_usable(&cpu, k[i].isa))
            check_memory_kernel(&k[i]);
}

static void a_chase_ends_where_the_chain_leads(void **state)
{
    (void)state;
    void *chain[7];
    void **out = image_of(RL_FP64);
    for (int i = 0; i < 7; i++)
        chain[i] = &chain[(i + 3) % 7];
    struct rl_kernel_args args = {.loops = 5, .a = (char *)chain, .out = out};
    rl_chase(&args);
    /* 5 * 16 = 80 steps of 3: 240 mod 7 = 2 */
    assert_ptr_equal(out[0], &chain[2]);
    free(out);
}

static void plain_special_functions_apply_their_routine(void **state)
{
    (void)state;
    size_t n;
    const struct rl_special *special = rl_specials(&n);
    double y[8] __attribute__((aligned(64)));
    double x[8] __attribute__((aligned(64)));
    for (int i = 0; i < 8; i++)
        x[i] = 0.1 * i;
    struct rl_kernel_args args = {
        .loops = 1, .a = (char *)y, .b = (char *)x, .c = (char *)x, .bytes = sizeof x};
    for (size_t i = 0; i < n; i++)
        if (special[i].lanes == 1 && strcmp(special[i].symbol, "exp") == 0)
            special[i].run((void (*)(void))exp, &args);
    for (int i = 0; i < 8; i++)
        assert_true(y[i] == exp(x[i]));
}

#if defined(__x86_64__)

/* POSIX lets a function's address be an object's. */
static const void *code_of(void (*run)(const struct rl_kernel_args *))
{
    const void *code;
    memcpy(&code, &run, sizeof code);
    return code;
}

static void declared_operations_are_those_of_the_machine_code(void **state)
{
    (void)state;
    size_t n;
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++) {
        struct emu_counts c;
        if (strcmp(k[i].width, "amx") == 0)
            continue;
        if (!emu_count(code_of(k[i].run), &c))
            fail_msg("%s: no loop found", k[i].name);
        if (c.unknown)
            fail_msg("%s: unexpected %s", k[i].name, c.first_unknown);
        if (c.instructions != k[i].instructions)
            fail_msg("%s: %u instructions, not %u", k[i].name, c.instructions, k[i].instructions);
        bool three_for_one = strcmp(k[i].name, "int8_dot_avx2") == 0; /* see the next test */
        if (!three_for_one && c.work != k[i].work)
            fail_msg("%s: work %g, not %u", k[i].name, c.work, k[i].work);
        assert_int_equal(c.n_access, 0);
    }
}

static void a_byte_dot_product_without_vnni_counts_its_byte_products_only(void **state)
{
    (void)state;
    size_t n;
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(k[i].name, "int8_dot_avx2") == 0) {
            /* 32 times vpmaddubsw of 32 byte products, 2 operations each */
            assert_int_equal(k[i].instructions, 3 * 32);
            assert_int_equal(k[i].work, 32 * 32 * 2);
        }
}

/* Approximate instructions and those whose rounding the manual leaves open. */
static double tolerance_of(const struct rl_compute_kernel *k)
{
    if (strcmp(k->op, "rsqrt") == 0)
        return 1.5 * 0x1p-12;
    return k->precision == RL_BF16 ? 1e-5 : 0;
}

static void compare_registers(const struct rl_compute_kernel *k, const struct emu_image *want,
                              const unsigned char *got)
{
    unsigned bytes = k->bits ? k->bits / 8 : 16;
    unsigned registers = k->bits == 512 ? 32 : 16;
    double tolerance = tolerance_of(k);
    for (unsigned r = 0; r < registers; r++) {
        if (tolerance == 0) {
            if (memcmp(want->v[r], got + 64 * r, bytes) != 0)
                fail_msg("%s: register %u differs", k->name, r);
            continue;
        }
        bool wide = k->precision == RL_FP64;
        for (unsigned i = 0; i < bytes / (wide ? 8 : 4); i++) {
            double a;
            double b;
            float fa;
            float fb;
            memcpy(&fa, want->v[r] + 4 * i, 4);
            memcpy(&fb, got + 64 * r + 4 * i, 4);
            memcpy(&a, want->v[r] + (wide ? 8 * i : 0), 8);
            memcpy(&b, got + 64 * r + (wide ? 8 * i : 0), 8);
            double x = wide ? a : (double)fa;
            double y = wide ? b : (double)fb;
            if (fabs(x - y) > tolerance * fabs(x))
                fail_msg("%s: register %u lane %u is %g, not %g", k->name, r, i, y, x);
        }
    }
}

/* Order in which general registers travel; see sse2.S. */
static const unsigned general_order[] = {1, 2, 6, 8, 9, 10, 11, 3, 5, 12, 13};
enum { N_GENERAL = sizeof general_order / sizeof general_order[0] };

static void compare_general(const struct rl_compute_kernel *k, const struct emu_image *want,
                            const unsigned char *got)
{
    for (unsigned i = 0; i < N_GENERAL; i++) {
        uint32_t value;
        memcpy(&value, got + 64 * i, sizeof value);
        if (value != want->r[general_order[i]])
            fail_msg("%s: general register %u differs", k->name, general_order[i]);
    }
}

static void compare_tiles(const struct rl_compute_kernel *k, emu_tile *want,
                          const unsigned char *got)
{
    const unsigned elements = EMU_TILES * EMU_TILE_ROWS * EMU_REGISTER_BYTES / 4;
    if (k->precision == RL_INT8 && memcmp(want, got, elements * 4) != 0)
        fail_msg("%s: tiles differ", k->name);
    for (unsigned i = 0; i < elements / 2 && k->precision != RL_INT8; i++) {
        float x;
        float y;
        memcpy(&x, (unsigned char *)want + 4 * i, 4);
        memcpy(&y, got + 4 * i, 4);
        /* sums of products of either sign, up to 4 each, in an order the manual leaves open */
        if (!(fabsf(x - y) <= 1e-3F))
            fail_msg("%s: tile %u element %u is %g, not %g", k->name, i / 256, i % 256, (double)y,
                     (double)x);
    }
}

/* What amx.inc says: tiles 0 to 3 accumulate products of tiles 4 and 5 with 6 and 7. */
static void check_tiles(const struct rl_compute_kernel *k, unsigned iterations,
                        const unsigned char *in, const unsigned char *out)
{
    enum emu_tile_type type = k->precision == RL_INT8   ? EMU_TILE_INT8
                              : k->precision == RL_BF16 ? EMU_TILE_BF16
                                                        : EMU_TILE_FP16;
    emu_tile *t = malloc(EMU_TILES * sizeof *t);
    assert_non_null(t);
    memcpy(t, in, EMU_TILES * sizeof *t);
    for (unsigned n = 0; n < iterations * k->instructions; n++)
        emu_tile_product(type, t[n % 4], t[4 + n % 4 / 2], t[6 + n % 2]);
    compare_tiles(k, t, out);
    free(t);
}

/* Instead of images with equal rows, which suit measurements: every element differs, so that no two
 * can be taken for each other. Tiles 0 to 3 accumulate from zero. */
static void vary(const struct rl_compute_kernel *k, unsigned char *in)
{
    uint32_t x = 2463534242u;
    for (unsigned i = 0; i < RL_KERNEL_IMAGE_BYTES / 2; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        uint16_t word = (uint16_t)x; /* odd bytes and words of any sign */
        if (k->precision == RL_FP16)
            word = (uint16_t)(0x3C00u | (x & 0x83FFu)); /* ±1 to 2 */
        else if (k->precision == RL_BF16)
            word = (uint16_t)(0x3F80u | (x & 0x807Fu));
        bool accumulates = strcmp(k->width, "amx") == 0 && i < 4 * EMU_TILE_ROWS * 32;
        word = accumulates ? 0 : word;
        memcpy(in + 2 * i, &word, sizeof word);
    }
}

static void check_results(const struct rl_compute_kernel *k)
{
    enum { ITERATIONS = 3 };
    unsigned char *in = image_of(k->precision);
    unsigned char *out = image_of(RL_FP64);
    struct emu_image emu = {0};
    if (strcmp(k->width, "amx") == 0 || k->precision == RL_FP16)
        vary(k, in);
    memcpy(emu.v, in, sizeof emu.v);
    for (unsigned i = 0; i < N_GENERAL; i++)
        memcpy(&emu.r[general_order[i]], in + 64 * i, sizeof emu.r[0]);
    struct rl_kernel_args args = {.loops = ITERATIONS, .in = in, .out = out};
    k->run(&args);
    if (strcmp(k->width, "amx") == 0)
        check_tiles(k, ITERATIONS, in, out);
    else if (!emu_run(code_of(k->run), ITERATIONS, &emu))
        fail_msg("%s: cannot be emulated", k->name);
    else if (k->bits == 0 && k->precision == RL_INT32)
        compare_general(k, &emu, out);
    else
        compare_registers(k, &emu, out);
    free(in);
    free(out);
}

static void results_are_those_of_plain_c(void **state)
{
    (void)state;
    struct rl_cpu cpu;
    size_t n;
    unsigned checked = 0;
    assert_int_equal(rl_cpu_detect(NULL, &cpu, NULL), RL_OK);
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++)
        if (rl_cpu_usable(&cpu, k[i].isa)) {
            check_results(&k[i]);
            checked++;
        }
    assert_true(checked > 20);
}

enum { PAGE = 4096 };

/* Pages a kernel reads side by side, a step of each in turn; 1 if it goes along its array. */
static unsigned pages_side_by_side(const struct rl_memory_kernel *k, const struct emu_counts *c)
{
    for (unsigned i = 0; i < c->n_access; i++)
        if (c->access[i].offset >= c->step[c->access[i].base])
            return k->granule / PAGE;
    return 1;
}

/* Each array's bytes are touched once an iteration, without gaps, by loads or stores as the pattern
 * says. */
static void check_accesses(const struct rl_memory_kernel *k, const struct emu_counts *c)
{
    uint64_t loaded = 0;
    uint64_t stored = 0;
    unsigned pages = pages_side_by_side(k, c);
    for (unsigned i = 0; i < c->n_access; i++) {
        const struct emu_access *a = &c->access[i];
        int64_t from = pages > 1 ? a->offset % PAGE : a->offset;
        assert_int_equal(a->bytes, k->bits / 8);
        if (from < 0 || from + a->bytes > c->step[a->base] || a->offset - from > (pages - 1) * PAGE)
            fail_msg("%s: offset %lld outside the step", k->name, (long long)a->offset);
        if (a->store && a->streaming != (k->pattern >= RL_NT_STORE))
            fail_msg("%s: wrong kind of store", k->name);
        for (unsigned j = 0; j < i; j++)
            if (c->access[j].base == a->base && c->access[j].offset == a->offset)
                fail_msg("%s: offset %lld twice", k->name, (long long)a->offset);
        loaded += a->store ? 0 : a->bytes;
        stored += a->store ? a->bytes : 0;
    }
    uint64_t covered = loaded + stored;
    unsigned arrays = rl_pattern_arrays(k->pattern);
    assert_int_equal(loaded * arrays, covered * rl_pattern_loads(k->pattern));
    assert_int_equal(stored * arrays, covered * rl_pattern_stores(k->pattern));
    if (pages > 1 && covered != (uint64_t)c->step[c->access[0].base] * pages)
        fail_msg("%s: %u pages, but %llu bytes a step", k->name, pages,
                 (unsigned long long)covered);
    if (k->granule % (covered / arrays) != 0)
        fail_msg("%s: an iteration covers %llu bytes, granule %u", k->name,
                 (unsigned long long)(covered / arrays), k->granule);
}

static void memory_accesses_are_those_of_the_pattern(void **state)
{
    (void)state;
    size_t n;
    const struct rl_memory_kernel *k = rl_memory_kernels(&n);
    for (size_t i = 0; i < n; i++) {
        struct emu_counts c;
        if (!emu_count(code_of(k[i].run), &c))
            fail_msg("%s: no loop found", k[i].name);
        if (c.unknown)
            fail_msg("%s: unexpected %s", k[i].name, c.first_unknown);
        check_accesses(&k[i], &c);
    }
}

struct encoding {
    const char *kernel;
    unsigned char bytes[6];
    unsigned n;
};

/* First instruction of loops that few machines can run, by the manuals (Intel SDM vol. 2,
 * Architecture Instruction Set Extensions): AMX tmm0 += tmm4 * tmm6, VEX.128 map 2, opcodes 5E
 * (F2 tdpbssd) and 5C (F3 tdpbf16ps, F2 tdpfp16ps); FP16 map 5 and 6; VEX form of vpdpbusd ymm0,
 * ymm15, ymm14 (50) and vpdpwssd (52); EVEX vdpbf16ps zmm0, zmm15, zmm14 (F3 52). */
static const struct encoding encodings[] = {
    {"int8_dot_amx", {0xC4, 0xE2, 0x4B, 0x5E, 0xC4}, 5},
    {"bf16_dot_amx", {0xC4, 0xE2, 0x4A, 0x5C, 0xC4}, 5},
    {"fp16_dot_amx", {0xC4, 0xE2, 0x4B, 0x5C, 0xC4}, 5},
    {"fp16_fma_avx512_fp16", {0x62, 0xD6, 0x05, 0x48, 0xB8, 0xC6}, 6},
    {"fp16_add_avx512_fp16", {0x62, 0xD5, 0x7C, 0x48, 0x58, 0xC5}, 6},
    {"fp16_mul_avx512_fp16", {0x62, 0xD5, 0x7C, 0x48, 0x59, 0xC4}, 6},
    {"int8_dot_avx_vnni", {0xC4, 0xC2, 0x05, 0x50, 0xC6}, 5},
    {"int16_dot_avx_vnni", {0xC4, 0xC2, 0x05, 0x52, 0xC6}, 5},
    {"bf16_dot_avx512_bf16", {0x62, 0xD2, 0x06, 0x48, 0x52, 0xC6}, 6},
    {"int8_dot_avx512_vnni", {0x62, 0xD2, 0x05, 0x48, 0x50, 0xC6}, 6},
};

static const struct rl_compute_kernel *kernel_named(const char *name)
{
    size_t n;
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(k[i].name, name) == 0)
            return &k[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void rare_instructions_are_encoded_as_the_manual_says(void **state)
{
    enum { WITHIN_BYTES = 400 };
    (void)state;
    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        const struct rl_compute_kernel *k = kernel_named(encodings[e].kernel);
        if (!memmem(code_of(k->run), WITHIN_BYTES, encodings[e].bytes, encodings[e].n))
            fail_msg("%s: not encoded as expected", k->name);
    }
}

/* 16 rows of 16 results, each of 64 bytes' worth of products, 2 operations a product. */
static void tile_kernels_count_whole_tiles(void **state)
{
    (void)state;
    size_t n;
    const struct rl_compute_kernel *k = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(k[i].width, "amx") == 0) {
            unsigned products = k[i].precision == RL_INT8 ? 64 : 32;
            assert_int_equal(k[i].work, k[i].instructions * 16 * 16 * products * 2);
        }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_numbers_sensible),
        cmocka_unit_test(images_hold_ordinary_numbers),
        cmocka_unit_test(memory_kernels_touch_exactly_their_arrays),
        cmocka_unit_test(a_chase_ends_where_the_chain_leads),
        cmocka_unit_test(plain_special_functions_apply_their_routine),
#if defined(__x86_64__)
        cmocka_unit_test(declared_operations_are_those_of_the_machine_code),
        cmocka_unit_test(a_byte_dot_product_without_vnni_counts_its_byte_products_only),
        cmocka_unit_test(results_are_those_of_plain_c),
        cmocka_unit_test(memory_accesses_are_those_of_the_pattern),
        cmocka_unit_test(rare_instructions_are_encoded_as_the_manual_says),
        cmocka_unit_test(tile_kernels_count_whole_tiles),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
