/* Between the files of this folder. */
#ifndef RL_CPU_CPU_INTERNAL_H
#define RL_CPU_CPU_INTERNAL_H

#include "cpu/cpu.h"

/** CPUID of the processor at hand; `leaf` is NULL where there is none. */
struct rl_cpuid rl_cpuid_native(void);

enum { EAX, EBX, ECX, EDX };

/** A bit of a CPUID answer. */
struct rl_cpuid_bit {
    uint32_t leaf, subleaf;
    unsigned reg, bit; /**< EAX to EDX; 0 to 31 */
};

/** Answers of leaves beyond the highest one are meaningless, so they count as zero. */
bool rl_cpuid_has(const struct rl_cpuid *cpuid, const struct rl_cpuid_bit *bit);

/** Fill in `features` and the sizes of caches. */
void rl_cpuid_read_features(const struct rl_cpuid *cpuid, struct rl_cpu *cpu);

#endif
