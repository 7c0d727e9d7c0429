#include "kernel/special.h"

#include "kernel/ref/ref_internal.h"
#if defined(__x86_64__)
#include "kernel/x86/x86_internal.h"
#endif

static const char libm[] = "libm.so.6";
#if defined(__x86_64__)
static const char libmvec[] = "libmvec.so.1";
static const char sleef[] = "libsleef.so.3";
#endif

#define LIBM(op_, precision_, symbol_, run_)                                                       \
    {                                                                                              \
        .op = op_, .precision = precision_, .library = "libm", .soname = libm, .symbol = symbol_,  \
        .isa = RL_ISA_C, .lanes = 1, .accuracy = "1 ULP", .run = run_                              \
    }

#define VECTOR(library_, soname_, accuracy_, op_, precision_, symbol_, isa_, lanes_, run_)         \
    {                                                                                              \
        .op = op_, .precision = precision_, .library = library_, .soname = soname_,                \
        .symbol = symbol_, .isa = isa_, .lanes = lanes_, .accuracy = accuracy_, .run = run_        \
    }

/* Vector function ABI names: ISA letter (b sse, d avx2, e avx512), N, lanes, v per argument. */
#if defined(__x86_64__)
#define LIBMVEC_64(op, args, run)                                                                  \
    VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP64, "_ZGVbN2" args "_" #op, RL_ISA_SSE2, 2,      \
           rl_special_##run##_fp64_sse2),                                                          \
        VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP64, "_ZGVdN4" args "_" #op, RL_ISA_AVX2, 4,  \
               rl_special_##run##_fp64_avx2),                                                      \
        VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP64, "_ZGVeN8" args "_" #op, RL_ISA_AVX512,   \
               8, rl_special_##run##_fp64_avx512)
#define LIBMVEC_32(op, args, run)                                                                  \
    VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP32, "_ZGVbN4" args "_" #op "f", RL_ISA_SSE2, 4,  \
           rl_special_##run##_fp32_sse2),                                                          \
        VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP32, "_ZGVdN8" args "_" #op "f", RL_ISA_AVX2, \
               8, rl_special_##run##_fp32_avx2),                                                   \
        VECTOR("libmvec", libmvec, "4 ULP", #op, RL_FP32, "_ZGVeN16" args "_" #op "f",             \
               RL_ISA_AVX512, 16, rl_special_##run##_fp32_avx512)
#define SLEEF_64(op, run)                                                                          \
    VECTOR("sleef", sleef, "1 ULP", #op, RL_FP64, "Sleef_" #op "d4_u10avx2", RL_ISA_AVX2, 4,       \
           rl_special_##run##_fp64_avx2),                                                          \
        VECTOR("sleef", sleef, "1 ULP", #op, RL_FP64, "Sleef_" #op "d8_u10avx512f", RL_ISA_AVX512, \
               8, rl_special_##run##_fp64_avx512)
#define SLEEF_32(op, run)                                                                          \
    VECTOR("sleef", sleef, "1 ULP", #op, RL_FP32, "Sleef_" #op "f8_u10avx2", RL_ISA_AVX2, 8,       \
           rl_special_##run##_fp32_avx2),                                                          \
        VECTOR("sleef", sleef, "1 ULP", #op, RL_FP32, "Sleef_" #op "f16_u10avx512f",               \
               RL_ISA_AVX512, 16, rl_special_##run##_fp32_avx512)
#endif

static const struct rl_special specials[] = {
    LIBM("exp", RL_FP64, "exp", rl_special_one_fp64_c),
    LIBM("log", RL_FP64, "log", rl_special_one_fp64_c),
    LIBM("sin", RL_FP64, "sin", rl_special_one_fp64_c),
    LIBM("pow", RL_FP64, "pow", rl_special_two_fp64_c),
    LIBM("exp", RL_FP32, "expf", rl_special_one_fp32_c),
    LIBM("log", RL_FP32, "logf", rl_special_one_fp32_c),
    LIBM("sin", RL_FP32, "sinf", rl_special_one_fp32_c),
    LIBM("pow", RL_FP32, "powf", rl_special_two_fp32_c),
#if defined(__x86_64__)
    LIBMVEC_64(exp, "v", one),
    LIBMVEC_64(log, "v", one),
    LIBMVEC_64(sin, "v", one),
    LIBMVEC_64(pow, "vv", two),
    LIBMVEC_32(exp, "v", one),
    LIBMVEC_32(log, "v", one),
    LIBMVEC_32(sin, "v", one),
    LIBMVEC_32(pow, "vv", two),
    SLEEF_64(exp, one),
    SLEEF_64(log, one),
    SLEEF_64(sin, one),
    SLEEF_64(pow, two),
    SLEEF_32(exp, one),
    SLEEF_32(log, one),
    SLEEF_32(sin, one),
    SLEEF_32(pow, two),
#endif
};

const struct rl_special *rl_specials(size_t *ret_n)
{
    *ret_n = sizeof specials / sizeof specials[0];
    return specials;
}
