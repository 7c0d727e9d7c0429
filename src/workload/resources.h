/* Which of our kernels this CPU may run. */
#ifndef RL_WORKLOAD_RESOURCES_H
#define RL_WORKLOAD_RESOURCES_H

#include <roofline/error.h>

/**
 * Instruction sets of our kernels that this CPU and `mask` allow, as in struct rl_work_env.
 * @param mask  as for rl_cpu_detect; NULL: all.
 * @return RL_OK; RL_EINVAL for an unknown name in the mask.
 */
enum rl_status rl_work_isa_mask(const char *mask, unsigned *ret_isa_mask, struct rl_error *err);

#endif
