/* Between the decoder and the file that asks the real processor. */
#ifndef RL_CPU_CPU_INTERNAL_H
#define RL_CPU_CPU_INTERNAL_H

#include "cpu/cpu.h"

/** CPUID of the processor at hand; `leaf` is NULL where there is none. */
struct rl_cpuid rl_cpuid_native(void);

#endif
