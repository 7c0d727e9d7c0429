#include "workload/kernels.h"

const struct rl_kernels *rl_kernels(enum rl_work_isa isa, enum rl_precision precision)
{
    static const struct rl_kernels *const table[RL_WORK_ISA_COUNT][2] = {
        [RL_WORK_BASE] = {&rl_kernels_f64_base, &rl_kernels_f32_base},
#if defined(__x86_64__)
        [RL_WORK_AVX2] = {&rl_kernels_f64_avx2, &rl_kernels_f32_avx2},
        [RL_WORK_AVX512] = {&rl_kernels_f64_avx512, &rl_kernels_f32_avx512},
#endif
    };
    return table[isa][precision == RL_FP64 ? 0 : 1];
}
