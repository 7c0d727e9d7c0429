/* fp32 with AVX-512: 32 registers hold 8 x 3 sums, 3 of B and a broadcast. 12 x 2 take more loads
 * for as many sums, but fit short rows of a convolution. */
#define REAL         float
#define TABLE        rl_kernels_f32_avx512
#define ISA          "avx512"
#define VEC_BYTES    64
#define GEMM_MR      8
#define GEMM_NV      3
#define CONV_MR      12
#define CONV_NV      2
#define CONV_COLUMNS 14
#include "workload/vector/table.inc"
