#include "workload/resources.h"

#include "base/error.h"
#include "cpu/cpu.h"
#include "workload/workload.h"

enum rl_status rl_work_isa_mask(const char *mask, unsigned *ret_isa_mask, struct rl_error *err)
{
    struct rl_cpu cpu;
    RL_TRY(rl_cpu_detect(mask, &cpu, err));
    unsigned isas = 1u << RL_WORK_BASE;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX2) && rl_cpu_usable(&cpu, RL_ISA_FMA))
        isas |= 1u << RL_WORK_AVX2;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX512))
        isas |= 1u << RL_WORK_AVX512;
    *ret_isa_mask = isas;
    return RL_OK;
}
