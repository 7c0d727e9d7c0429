/* fp64 with what every CPU of the architecture has: 16-byte vectors, SSE2 on x86-64. */
#define REAL         double
#define TABLE        rl_kernels_f64_base
#define ISA          RL_WORK_BASE_ISA
#define VEC_BYTES    16
#define GEMM_MR      4
#define GEMM_NV      2
#define CONV_MR      4
#define CONV_NV      2
#define CONV_COLUMNS 4
#include "workload/vector/table.inc"
