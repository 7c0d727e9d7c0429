/* What this process may use: CPUs, instruction sets, memory. */
#ifndef RL_WORKLOAD_RESOURCES_H
#define RL_WORKLOAD_RESOURCES_H

#include <roofline/error.h>
#include <stdint.h>

/**
 * Instruction sets of our kernels that this CPU and `mask` allow, as in struct rl_work_env.
 * @param mask  as for rl_cpu_detect; NULL: all.
 * @return RL_OK; RL_EINVAL for an unknown name in the mask.
 */
enum rl_status rl_work_isa_mask(const char *mask, unsigned *ret_isa_mask, struct rl_error *err);

/** CPUs the process may run on, ascending. @param ret_cpu  free() it. */
enum rl_status rl_work_cpus(int **ret_cpu, unsigned *ret_n, struct rl_error *err);

/** Bytes that can be allocated: what the system calls available, within the cgroup's limit;
 * 0 when neither is known. */
uint64_t rl_work_memory_available(void);

#endif
