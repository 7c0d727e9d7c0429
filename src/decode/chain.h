/* Dependent loads: those whose address comes from what they loaded one round earlier, as in lists,
 * trees and index chains. No cache or prefetcher hides their latency, so that the time of such a
 * loop is their number times a latency.
 *
 * Found from the code alone, loop by loop: values are followed through registers, flags and stack
 * slots, in the order of the code. Dependences through other memory, through calls and through
 * branches are not seen; nor is recursion. */
#ifndef RL_DECODE_CHAIN_H
#define RL_DECODE_CHAIN_H

#include "decode/flow.h"

/**
 * Executions of dependent loads in each loop's own code.
 *
 * @param flow      as rl_flow_build gives it.
 * @param ret_loads [flow->n_loops]; loops of more than 4096 instructions have 0.
 * @return RL_OK; RL_ENOMEM.
 */
enum rl_status rl_chain_loads(const struct rl_flow *flow, uint64_t *ret_loads,
                              struct rl_error *err);

#endif
