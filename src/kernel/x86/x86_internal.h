/* The tables of this folder. */
#ifndef RL_KERNEL_X86_X86_INTERNAL_H
#define RL_KERNEL_X86_X86_INTERNAL_H

#include "kernel/kernel.h"

#include <stddef.h>

extern const struct rl_compute_kernel rl_x86_compute[];
extern const size_t rl_x86_n_compute;
extern const struct rl_memory_kernel rl_x86_memory[];
extern const size_t rl_x86_n_memory;
void rl_k_branches(void);
void rl_k_flush(const void *start, size_t bytes);
void rl_k_chase(const struct rl_kernel_args *args);

/* Special functions per element type and width; see special.h. */
void rl_special_one_fp64_sse2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp64_sse2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp32_sse2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp32_sse2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp64_avx2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp64_avx2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp32_avx2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp32_avx2(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp64_avx512(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp64_avx512(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp32_avx512(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp32_avx512(void (*routine)(void), const struct rl_kernel_args *args);

#endif
