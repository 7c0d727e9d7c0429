/* fp32 with AVX-512: 32 registers hold 12 x 2 sums, 2 of B and a broadcast. */
#define REAL      float
#define TABLE     rl_kernels_f32_avx512
#define ISA       "avx512"
#define VEC_BYTES 64
#define GEMM_MR   12
#define GEMM_NV   2
#include "workload/vector/table.inc"
