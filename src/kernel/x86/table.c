/* What the assembly of this folder does, row by row. A unit test decodes the machine code and
 * compares. */
#include "kernel/x86/x86_internal.h"

#include <stddef.h>

_Static_assert(offsetof(struct rl_kernel_args, loops) == 0, "macros.inc: ARG_LOOPS");
_Static_assert(offsetof(struct rl_kernel_args, in) == 8, "macros.inc: ARG_IN");
_Static_assert(offsetof(struct rl_kernel_args, out) == 16, "macros.inc: ARG_OUT");
_Static_assert(offsetof(struct rl_kernel_args, a) == 24, "macros.inc: ARG_A");
_Static_assert(offsetof(struct rl_kernel_args, b) == 32, "macros.inc: ARG_B");
_Static_assert(offsetof(struct rl_kernel_args, c) == 40, "macros.inc: ARG_C");
_Static_assert(offsetof(struct rl_kernel_args, bytes) == 48, "macros.inc: ARG_BYTES");

/* Every kernel once: KERNEL(symbol, precision, op, width, isa, bits, work, instructions, unit,
 * variant). L is the number of lanes. */
#define SIMPLE(K, P, p, width, w, isa, bits, L, n_div)                                             \
    K(p##_add_##w, P, "add", width, isa, bits, 48 * (L), 48, "FLOP/s", "12 chains")                \
    K(p##_mul_##w, P, "mul", width, isa, bits, 48 * (L), 48, "FLOP/s", "12 chains")                \
    K(p##_addmul_##w, P, "add+mul", width, isa, bits, 48 * (L), 48, "FLOP/s", "6 and 6 chains")    \
    K(p##_div_##w, P, "div", width, isa, bits, (n_div) * (L), n_div, "FLOP/s", #n_div " chains")   \
    K(p##_sqrt_##w, P, "sqrt", width, isa, bits, (n_div) * (L), n_div, "FLOP/s", #n_div " chains")

#define FMAS(K, P, p, width, w, isa, bits, L)                                                      \
    K(p##_fma_c8_##w, P, "fma", width, isa, bits, 96 * (L), 48, "FLOP/s", "8 chains")              \
    K(p##_fma_c12_##w, P, "fma", width, isa, bits, 96 * (L), 48, "FLOP/s", "12 chains")            \
    K(p##_fmaadd_1_1_##w, P, "fma+add", width, isa, bits, 48 * (L), 32, "FLOP/s", "1:1")           \
    K(p##_fmaadd_2_1_##w, P, "fma+add", width, isa, bits, 80 * (L), 48, "FLOP/s", "2:1")           \
    K(p##_fmaadd_4_2_##w, P, "fma+add", width, isa, bits, 80 * (L), 48, "FLOP/s", "4:2")           \
    K(p##_fmaadd_free_##w, P, "fma+add", width, isa, bits, 72 * (L), 48, "FLOP/s",                 \
      "1:1, 12 FMA chains")                                                                        \
    K(p##_addmul_free_##w, P, "add+mul", width, isa, bits, 48 * (L), 48, "FLOP/s", "no chains")

#define MANY(K, P, p, L)                                                                           \
    K(p##_fma_c24_avx512, P, "fma", "avx512", RL_ISA_AVX512, 512, 96 * (L), 48, "FLOP/s",          \
      "24 chains")                                                                                 \
    K(p##_add_c24_avx512, P, "add", "avx512", RL_ISA_AVX512, 512, 48 * (L), 48, "FLOP/s",          \
      "24 chains")                                                                                 \
    K(p##_mul_c24_avx512, P, "mul", "avx512", RL_ISA_AVX512, 512, 48 * (L), 48, "FLOP/s",          \
      "24 chains")                                                                                 \
    K(p##_fmaadd_c24_avx512, P, "fma+add", "avx512", RL_ISA_AVX512, 512, 72 * (L), 48, "FLOP/s",   \
      "1:1, 12 and 12 chains")                                                                     \
    K(p##_addmul_c24_avx512, P, "add+mul", "avx512", RL_ISA_AVX512, 512, 48 * (L), 48, "FLOP/s",   \
      "12 and 12 chains")

#define FLOATS(K)                                                                                  \
    SIMPLE(K, RL_FP64, fp64, "scalar", scalar, RL_ISA_SCALAR, 0, 1, 12)                            \
    SIMPLE(K, RL_FP32, fp32, "scalar", scalar, RL_ISA_SCALAR, 0, 1, 12)                            \
    SIMPLE(K, RL_FP64, fp64, "sse2", sse2, RL_ISA_SSE2, 128, 2, 12)                                \
    SIMPLE(K, RL_FP32, fp32, "sse2", sse2, RL_ISA_SSE2, 128, 4, 12)                                \
    SIMPLE(K, RL_FP64, fp64, "avx2", avx2, RL_ISA_AVX2, 256, 4, 8)                                 \
    SIMPLE(K, RL_FP32, fp32, "avx2", avx2, RL_ISA_AVX2, 256, 8, 8)                                 \
    SIMPLE(K, RL_FP64, fp64, "avx512", avx512, RL_ISA_AVX512, 512, 8, 8)                           \
    SIMPLE(K, RL_FP32, fp32, "avx512", avx512, RL_ISA_AVX512, 512, 16, 8)                          \
    FMAS(K, RL_FP64, fp64, "scalar", scalar, RL_ISA_FMA, 0, 1)                                     \
    FMAS(K, RL_FP32, fp32, "scalar", scalar, RL_ISA_FMA, 0, 1)                                     \
    FMAS(K, RL_FP64, fp64, "sse2", sse2, RL_ISA_FMA, 128, 2)                                       \
    FMAS(K, RL_FP32, fp32, "sse2", sse2, RL_ISA_FMA, 128, 4)                                       \
    FMAS(K, RL_FP64, fp64, "avx2", avx2, RL_ISA_AVX2, 256, 4)                                      \
    FMAS(K, RL_FP32, fp32, "avx2", avx2, RL_ISA_AVX2, 256, 8)                                      \
    FMAS(K, RL_FP64, fp64, "avx512", avx512, RL_ISA_AVX512, 512, 8)                                \
    FMAS(K, RL_FP32, fp32, "avx512", avx512, RL_ISA_AVX512, 512, 16)                               \
    MANY(K, RL_FP64, fp64, 8)                                                                      \
    MANY(K, RL_FP32, fp32, 16)

#define RSQRTS(K)                                                                                  \
    K(fp32_rsqrt_scalar, RL_FP32, "rsqrt", "scalar", RL_ISA_SCALAR, 0, 24, 24, "elem/s",           \
      "rsqrtss")                                                                                   \
    K(fp32_rsqrt_sse2, RL_FP32, "rsqrt", "sse2", RL_ISA_SSE2, 128, 96, 24, "elem/s", "rsqrtps")    \
    K(fp32_rsqrt_avx2, RL_FP32, "rsqrt", "avx2", RL_ISA_AVX2, 256, 192, 24, "elem/s", "vrsqrtps")  \
    K(fp32_rsqrt_avx512, RL_FP32, "rsqrt", "avx512", RL_ISA_AVX512, 512, 384, 24, "elem/s",        \
      "vrsqrt14ps")                                                                                \
    K(fp64_rsqrt_avx512, RL_FP64, "rsqrt", "avx512", RL_ISA_AVX512, 512, 192, 24, "elem/s",        \
      "vrsqrt14pd")

#define LOW_PRECISION(K)                                                                           \
    K(fp16_fma_avx512_fp16, RL_FP16, "fma", "avx512-fp16", RL_ISA_AVX512_FP16, 512, 48 * 64, 48,   \
      "FLOP/s", "24 chains")                                                                       \
    K(fp16_add_avx512_fp16, RL_FP16, "add", "avx512-fp16", RL_ISA_AVX512_FP16, 512, 48 * 32, 48,   \
      "FLOP/s", "24 chains")                                                                       \
    K(fp16_mul_avx512_fp16, RL_FP16, "mul", "avx512-fp16", RL_ISA_AVX512_FP16, 512, 48 * 32, 48,   \
      "FLOP/s", "24 chains")                                                                       \
    K(fp16_dot_amx, RL_FP16, "dot", "amx", RL_ISA_AMX_FP16, 0, 16 * 16384, 16, "FLOP/s",           \
      "tdpfp16ps, 4 tiles")                                                                        \
    K(bf16_dot_avx512_bf16, RL_BF16, "dot", "avx512-bf16", RL_ISA_AVX512_BF16, 512, 48 * 64, 48,   \
      "FLOP/s", "vdpbf16ps, 24 chains")                                                            \
    K(bf16_dot_amx, RL_BF16, "dot", "amx", RL_ISA_AMX_BF16, 0, 16 * 16384, 16, "FLOP/s",           \
      "tdpbf16ps, 4 tiles")

#define INTEGERS(K)                                                                                \
    K(int8_add_sse2, RL_INT8, "add", "sse2", RL_ISA_SSE2, 128, 48 * 16, 48, "OP/s", "paddb")       \
    K(int8_add_avx2, RL_INT8, "add", "avx2", RL_ISA_AVX2, 256, 48 * 32, 48, "OP/s", "vpaddb")      \
    K(int8_add_avx512, RL_INT8, "add", "avx512", RL_ISA_AVX512, 512, 48 * 64, 48, "OP/s",          \
      "vpaddb")                                                                                    \
    K(int8_madd_avx2, RL_INT8, "madd", "avx2", RL_ISA_AVX2, 256, 48 * 64, 48, "OP/s",              \
      "vpmaddubsw")                                                                                \
    K(int8_madd_avx512, RL_INT8, "madd", "avx512", RL_ISA_AVX512, 512, 48 * 128, 48, "OP/s",       \
      "vpmaddubsw")                                                                                \
    K(int8_dot_avx2, RL_INT8, "dot", "avx2", RL_ISA_AVX2, 256, 32 * 64, 96, "OP/s",                \
      "vpmaddubsw vpmaddwd vpaddd")                                                                \
    K(int8_dot_avx_vnni, RL_INT8, "dot", "avx-vnni", RL_ISA_AVX_VNNI, 256, 48 * 64, 48, "OP/s",    \
      "vpdpbusd, 12 chains")                                                                       \
    K(int8_dot_avx512_vnni, RL_INT8, "dot", "avx512-vnni", RL_ISA_AVX512_VNNI, 512, 48 * 128, 48,  \
      "OP/s", "vpdpbusd, 24 chains")                                                               \
    K(int8_dot_amx, RL_INT8, "dot", "amx", RL_ISA_AMX_INT8, 0, 16 * 32768, 16, "OP/s",             \
      "tdpbssd, 4 tiles")                                                                          \
    K(int16_add_sse2, RL_INT16, "add", "sse2", RL_ISA_SSE2, 128, 48 * 8, 48, "OP/s", "paddw")      \
    K(int16_add_avx2, RL_INT16, "add", "avx2", RL_ISA_AVX2, 256, 48 * 16, 48, "OP/s", "vpaddw")    \
    K(int16_add_avx512, RL_INT16, "add", "avx512", RL_ISA_AVX512, 512, 48 * 32, 48, "OP/s",        \
      "vpaddw")                                                                                    \
    K(int16_mul_sse2, RL_INT16, "mul", "sse2", RL_ISA_SSE2, 128, 48 * 8, 48, "OP/s", "pmullw")     \
    K(int16_mul_avx2, RL_INT16, "mul", "avx2", RL_ISA_AVX2, 256, 48 * 16, 48, "OP/s", "vpmullw")   \
    K(int16_mul_avx512, RL_INT16, "mul", "avx512", RL_ISA_AVX512, 512, 48 * 32, 48, "OP/s",        \
      "vpmullw")                                                                                   \
    K(int16_madd_sse2, RL_INT16, "madd", "sse2", RL_ISA_SSE2, 128, 48 * 16, 48, "OP/s", "pmaddwd") \
    K(int16_madd_avx2, RL_INT16, "madd", "avx2", RL_ISA_AVX2, 256, 48 * 32, 48, "OP/s",            \
      "vpmaddwd")                                                                                  \
    K(int16_madd_avx512, RL_INT16, "madd", "avx512", RL_ISA_AVX512, 512, 48 * 64, 48, "OP/s",      \
      "vpmaddwd")                                                                                  \
    K(int16_dot_avx_vnni, RL_INT16, "dot", "avx-vnni", RL_ISA_AVX_VNNI, 256, 48 * 32, 48, "OP/s",  \
      "vpdpwssd, 12 chains")                                                                       \
    K(int16_dot_avx512_vnni, RL_INT16, "dot", "avx512-vnni", RL_ISA_AVX512_VNNI, 512, 48 * 64, 48, \
      "OP/s", "vpdpwssd, 24 chains")                                                               \
    K(int32_add_scalar, RL_INT32, "add", "scalar", RL_ISA_SCALAR, 0, 80, 80, "OP/s",               \
      "add, 10 chains")                                                                            \
    K(int32_mul_scalar, RL_INT32, "mul", "scalar", RL_ISA_SCALAR, 0, 80, 80, "OP/s",               \
      "imul, 10 chains")                                                                           \
    K(int32_add_sse2, RL_INT32, "add", "sse2", RL_ISA_SSE2, 128, 48 * 4, 48, "OP/s", "paddd")      \
    K(int32_add_avx2, RL_INT32, "add", "avx2", RL_ISA_AVX2, 256, 48 * 8, 48, "OP/s", "vpaddd")     \
    K(int32_add_avx512, RL_INT32, "add", "avx512", RL_ISA_AVX512, 512, 48 * 16, 48, "OP/s",        \
      "vpaddd")                                                                                    \
    K(int32_mul_avx2, RL_INT32, "mul", "avx2", RL_ISA_AVX2, 256, 48 * 8, 48, "OP/s", "vpmulld")    \
    K(int32_mul_avx512, RL_INT32, "mul", "avx512", RL_ISA_AVX512, 512, 48 * 16, 48, "OP/s",        \
      "vpmulld, 24 chains")

#define ALL_COMPUTE(K) FLOATS(K) RSQRTS(K) LOW_PRECISION(K) INTEGERS(K)

#define DECLARE(symbol, ...) void rl_k_##symbol(const struct rl_kernel_args *args);
#define ROW(symbol, precision_, op_, width_, isa_, bits_, work_, instructions_, unit_, variant_)   \
    {.name = #symbol,                                                                              \
     .precision = precision_,                                                                      \
     .op = op_,                                                                                    \
     .width = width_,                                                                              \
     .isa = isa_,                                                                                  \
     .bits = bits_,                                                                                \
     .work = work_,                                                                                \
     .instructions = instructions_,                                                                \
     .unit = unit_,                                                                                \
     .variant = variant_,                                                                          \
     .run = rl_k_##symbol},

ALL_COMPUTE(DECLARE)
const struct rl_compute_kernel rl_x86_compute[] = {ALL_COMPUTE(ROW)};
const size_t rl_x86_n_compute = sizeof rl_x86_compute / sizeof rl_x86_compute[0];

/* STREAM(symbol, pattern, isa, bits, granule, variant). */
#define STREAMS(S, w, isa, bits)                                                                   \
    S(load_##w, RL_LOAD, isa, bits, 4 * (bits), #w)                                                \
    S(store_##w, RL_STORE, isa, bits, 4 * (bits), #w)                                              \
    S(copy_##w, RL_COPY, isa, bits, 4 * (bits), #w)                                                \
    S(copy_block_##w, RL_COPY, isa, bits, 4 * (bits), #w " in blocks of 16")                       \
    S(triad_##w, RL_TRIAD, isa, bits, 4 * (bits), #w)                                              \
    S(two_one_##w, RL_TWO_ONE, isa, bits, 4 * (bits), #w)                                          \
    S(two_one_block_##w, RL_TWO_ONE, isa, bits, 4 * (bits), #w " in blocks of 8")                  \
    S(nt_store_##w, RL_NT_STORE, isa, bits, 4 * (bits), #w)                                        \
    S(nt_copy_##w, RL_NT_COPY, isa, bits, 4 * (bits), #w)                                          \
    S(nt_copy_block_##w, RL_NT_COPY, isa, bits, 4 * (bits), #w " in blocks of 16")                 \
    S(nt_triad_##w, RL_NT_TRIAD, isa, bits, 4 * (bits), #w)

#define WIDE_STREAMS(S, w, isa, bits)                                                              \
    S(load_s2_##w, RL_LOAD, isa, bits, 4 * (bits), #w ", 2 streams")                               \
    S(load_s4_##w, RL_LOAD, isa, bits, 2 * (bits), #w ", 4 streams")                               \
    S(load_t0_512_##w, RL_LOAD, isa, bits, 2 * (bits), #w ", prefetch 512 B ahead")                \
    S(load_t0_2k_##w, RL_LOAD, isa, bits, 2 * (bits), #w ", prefetch 2 KiB ahead")                 \
    S(load_nta_1k_##w, RL_LOAD, isa, bits, 2 * (bits), #w ", nta prefetch 1 KiB ahead")            \
    S(triad_block_##w, RL_TRIAD, isa, bits, 4 * (bits), #w " in blocks of 8")                      \
    S(nt_triad_block_##w, RL_NT_TRIAD, isa, bits, 4 * (bits), #w " in blocks of 8")                \
    S(load_long_##w, RL_LOAD, isa, bits, 32 * (bits), #w ", long loop")                            \
    S(load_sets_##w, RL_LOAD, isa, bits, 7 * 4096, #w ", set by set")                              \
    S(two_one_long_##w, RL_TWO_ONE, isa, bits, 16 * (bits), #w ", long loop")                      \
    S(triad_long_##w, RL_TRIAD, isa, bits, 16 * (bits), #w ", long loop")

#define ALL_STREAMS(S)                                                                             \
    STREAMS(S, sse2, RL_ISA_SSE2, 128)                                                             \
    STREAMS(S, avx2, RL_ISA_AVX2, 256)                                                             \
    WIDE_STREAMS(S, avx2, RL_ISA_AVX2, 256)                                                        \
    STREAMS(S, avx512, RL_ISA_AVX512, 512)                                                         \
    WIDE_STREAMS(S, avx512, RL_ISA_AVX512, 512)

#define STREAM_ROW(symbol, pattern_, isa_, bits_, granule_, variant_)                              \
    {.name = #symbol,                                                                              \
     .pattern = pattern_,                                                                          \
     .isa = isa_,                                                                                  \
     .bits = bits_,                                                                                \
     .granule = granule_,                                                                          \
     .variant = variant_,                                                                          \
     .run = rl_k_##symbol},

ALL_STREAMS(DECLARE)
const struct rl_memory_kernel rl_x86_memory[] = {ALL_STREAMS(STREAM_ROW)};
const size_t rl_x86_n_memory = sizeof rl_x86_memory / sizeof rl_x86_memory[0];
