/* The tables of this folder. */
#ifndef RL_KERNEL_X86_X86_INTERNAL_H
#define RL_KERNEL_X86_X86_INTERNAL_H

#include "kernel/kernel.h"

extern const struct rl_compute_kernel rl_x86_compute[];
extern const size_t rl_x86_n_compute;
extern const struct rl_memory_kernel rl_x86_memory[];
extern const size_t rl_x86_n_memory;
void rl_k_chase(const struct rl_kernel_args *args);

#endif
