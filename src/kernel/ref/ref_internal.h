/* The tables of this folder. */
#ifndef RL_KERNEL_REF_REF_INTERNAL_H
#define RL_KERNEL_REF_REF_INTERNAL_H

#include "kernel/kernel.h"

extern const struct rl_compute_kernel rl_ref_compute[];
extern const size_t rl_ref_n_compute;
extern const struct rl_memory_kernel rl_ref_memory[];
extern const size_t rl_ref_n_memory;
void rl_ref_chase(const struct rl_kernel_args *args);

/* Special functions per element type; see special.h. */
void rl_special_one_fp64_c(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp64_c(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_one_fp32_c(void (*routine)(void), const struct rl_kernel_args *args);
void rl_special_two_fp32_c(void (*routine)(void), const struct rl_kernel_args *args);

#endif
