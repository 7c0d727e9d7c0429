/* fp64 with AVX2 and FMA: 16 registers hold 6 x 2 sums, 2 of B and a broadcast. */
#define REAL         double
#define TABLE        rl_kernels_f64_avx2
#define ISA          "avx2"
#define VEC_BYTES    32
#define GEMM_MR      6
#define GEMM_NV      2
#define CONV_MR      6
#define CONV_NV      2
#define CONV_COLUMNS 6
#include "workload/vector/table.inc"
