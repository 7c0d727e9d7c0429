/* Portable kernels for processors without assembly of their own: plain C that any compiler turns
 * into what the build's target offers. Lower bounds of what the hardware can do, never more: chains
 * start from different values, so that they cannot be merged, and every result is stored. */
#include "kernel/ref/ref_internal.h"

#include <string.h>

enum { CHAINS = 16, REPEAT = 4 };

/* Sixteen chains; `step` updates x[i] from itself, m (factor) and s (addend). */
#define COMPUTE(name, type, step)                                                                  \
    static void name(const struct rl_kernel_args *args)                                            \
    {                                                                                              \
        type x[CHAINS];                                                                            \
        type m;                                                                                    \
        type s;                                                                                    \
        for (int i = 0; i < CHAINS; i++)                                                           \
            memcpy(&x[i], (const char *)args->in + 64 * i, sizeof x[i]);                           \
        memcpy(&m, (const char *)args->in + 64 * 12, sizeof m);                                    \
        memcpy(&s, (const char *)args->in + 64 * 13, sizeof s);                                    \
        for (uint64_t n = args->loops; n > 0; n--)                                                 \
            for (int k = 0; k < REPEAT; k++)                                                       \
                for (int i = 0; i < CHAINS; i++)                                                   \
                    x[i] = step;                                                                   \
        for (int i = 0; i < CHAINS; i++)                                                           \
            memcpy((char *)args->out + 64 * i, &x[i], sizeof x[i]);                                \
    }

COMPUTE(fp64_add, double, x[i] + s)
COMPUTE(fp64_mul, double, x[i] * m)
COMPUTE(fp64_fma, double, x[i] * m + s)
COMPUTE(fp64_div, double, x[i] / m)
COMPUTE(fp32_add, float, x[i] + s)
COMPUTE(fp32_mul, float, x[i] * m)
COMPUTE(fp32_fma, float, x[i] * m + s)
COMPUTE(fp32_div, float, x[i] / m)
COMPUTE(int32_add, uint32_t, x[i] + s)
COMPUTE(int32_mul, uint32_t, x[i] * m)

#define COMPUTE_ROW(symbol, precision_, op_, work_, instructions_, unit_, variant_)                \
    {                                                                                              \
        .name = "c_" #symbol, .precision = precision_, .op = op_, .width = "c", .isa = RL_ISA_C,   \
        .work = work_, .instructions = instructions_, .unit = unit_, .variant = variant_,          \
        .run = symbol                                                                              \
    }

const struct rl_compute_kernel rl_ref_compute[] = {
    COMPUTE_ROW(fp64_add, RL_FP64, "add", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp64_mul, RL_FP64, "mul", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp64_fma, RL_FP64, "fma", 128, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp64_div, RL_FP64, "div", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp32_add, RL_FP32, "add", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp32_mul, RL_FP32, "mul", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp32_fma, RL_FP32, "fma", 128, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(fp32_div, RL_FP32, "div", 64, 64, "FLOP/s", "portable C, 16 chains"),
    COMPUTE_ROW(int32_add, RL_INT32, "add", 64, 64, "OP/s", "portable C, 16 chains"),
    COMPUTE_ROW(int32_mul, RL_INT32, "mul", 64, 64, "OP/s", "portable C, 16 chains"),
};
const size_t rl_ref_n_compute = sizeof rl_ref_compute / sizeof rl_ref_compute[0];

/* Words of eight bytes; the compiler may combine them, not drop them. */
static void load(const struct rl_kernel_args *args)
{
    uint64_t sum[8] = {0};
    for (uint64_t n = args->loops; n > 0; n--) {
        const uint64_t *a = (const uint64_t *)(const void *)args->a;
        __asm__ volatile("" : "+r"(a)::"memory"); /* each pass reads anew */
        for (uint64_t i = 0; i < args->bytes / sizeof *a; i += 8)
            for (int k = 0; k < 8; k++)
                sum[k] ^= a[i + (uint64_t)k];
    }
    memcpy(args->out, sum, sizeof sum);
}

static void store(const struct rl_kernel_args *args)
{
    double value;
    memcpy(&value, (const char *)args->in + 64 * 15, sizeof value);
    for (uint64_t n = args->loops; n > 0; n--) {
        double *a = (double *)(void *)args->a;
        __asm__ volatile("" : "+r"(a)::"memory");
        for (uint64_t i = 0; i < args->bytes / sizeof *a; i++)
            a[i] = value;
    }
}

static void copy(const struct rl_kernel_args *args)
{
    for (uint64_t n = args->loops; n > 0; n--) {
        double *restrict a = (double *)(void *)args->a;
        const double *restrict b = (const double *)(const void *)args->b;
        __asm__ volatile("" : "+r"(a), "+r"(b)::"memory");
        for (uint64_t i = 0; i < args->bytes / sizeof *a; i++)
            a[i] = b[i];
    }
}

static void triad(const struct rl_kernel_args *args)
{
    double factor;
    memcpy(&factor, (const char *)args->in + 64 * 12, sizeof factor);
    for (uint64_t n = args->loops; n > 0; n--) {
        double *restrict a = (double *)(void *)args->a;
        const double *restrict b = (const double *)(const void *)args->b;
        const double *restrict c = (const double *)(const void *)args->c;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c)::"memory");
        for (uint64_t i = 0; i < args->bytes / sizeof *a; i++)
            a[i] = b[i] + factor * c[i];
    }
}

#define MEMORY_ROW(symbol, pattern_)                                                               \
    {                                                                                              \
        .name = "c_" #symbol, .pattern = pattern_, .isa = RL_ISA_C, .granule = 64,                 \
        .variant = "portable C", .run = symbol                                                     \
    }

const struct rl_memory_kernel rl_ref_memory[] = {
    MEMORY_ROW(load, RL_LOAD),
    MEMORY_ROW(store, RL_STORE),
    MEMORY_ROW(copy, RL_COPY),
    MEMORY_ROW(triad, RL_TRIAD),
};
const size_t rl_ref_n_memory = sizeof rl_ref_memory / sizeof rl_ref_memory[0];

void rl_ref_chase(const struct rl_kernel_args *args)
{
    void *const *p = (void *const *)(void *)args->a;
    for (uint64_t n = args->loops * RL_CHASE_STEPS; n > 0; n--)
        p = *p;
    memcpy(args->out, &p, sizeof(void *));
}
