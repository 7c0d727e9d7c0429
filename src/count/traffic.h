/* Bytes per memory level of a program under the counting engine: reads the channel that its threads
 * write accesses to, drives the cache model, and keeps an account for every instruction.
 *
 *     rl_traffic_new → rl_traffic_start → run the program to its end, told of
 *     rl_traffic_descriptor → rl_traffic_stop → rl_traffic_rows, rl_traffic_estimate
 *
 * Accounts are sums that may be added up over whatever belongs together (a loop, a function, all);
 * bytes and their error are estimated from the sum, since errors do not add. Used by profile. */
#ifndef RL_COUNT_TRAFFIC_H
#define RL_COUNT_TRAFFIC_H

#include "count/channel.h"
#include "count/sampling.h"

struct rl_traffic_options {
    struct rl_cache_geometry geometry; /**< of the machine to be modelled; no default */
    struct rl_sampling_options sampling;
    uint64_t exact_records; /**< followed in full before sampling begins */
    double step_s;          /**< between turns of the sampling, > 0 */
    uint32_t n_workers;     /**< threads that share the model if everything is followed, 1 .. 16 */
};

/** Sampling as rl_sampling_options_default, 3e5 records, 1 ms, one worker; geometry all zero. */
void rl_traffic_options_default(struct rl_traffic_options *options);

struct rl_simulation;

/**
 * @param options      borrowed for the call.
 * @param ret_traffic  the caller's, freed by rl_traffic_free; written on RL_OK only.
 * @return RL_OK; RL_EINVAL for a geometry or options no model can have; RL_ESYS, RL_ENOMEM.
 */
enum rl_status rl_traffic_new(const struct rl_traffic_options *options,
                              struct rl_simulation **ret_traffic, struct rl_error *err);

/** NULL is fine. Stops if need be; rows become invalid. */
void rl_traffic_free(struct rl_simulation *traffic);

/** The channel: with our process id the engine's options `channel` and `reader`. */
int rl_traffic_descriptor(const struct rl_simulation *traffic);

/** Begin to read, in threads of our own. Call once, before the program begins. */
enum rl_status rl_traffic_start(struct rl_simulation *traffic, struct rl_error *err);

/**
 * Read what is left and end. Processes that still run are no longer followed.
 * @return RL_OK; else what went wrong since the start: accounts are then incomplete.
 */
enum rl_status rl_traffic_stop(struct rl_simulation *traffic, struct rl_error *err);

/** The account of one instruction, in one region, in one process image. */
struct rl_traffic_row {
    int32_t pid;
    uint32_t sequence;                   /**< with pid: which result file */
    uint32_t block;                      /**< index in its BLOCKS */
    uint32_t insn;                       /**< index within the block */
    uint32_t region;                     /**< index in its REGIONS + 1; 0: outside every region */
    const struct rl_cache_flow *account; /**< [rl_traffic_flows] */
};

/** All rows, by pid, sequence, block, insn, region, each once; valid after rl_traffic_stop, until
 * free. */
const struct rl_traffic_row *rl_traffic_rows(const struct rl_simulation *traffic, size_t *ret_n);

/** Flows in an account. */
uint32_t rl_traffic_flows(const struct rl_simulation *traffic);

/** sum += account */
void rl_traffic_add(const struct rl_simulation *traffic, struct rl_cache_flow sum[],
                    const struct rl_cache_flow account[]);

/** As rl_sampling_estimate. Valid after rl_traffic_stop. */
void rl_traffic_estimate(const struct rl_simulation *traffic, const struct rl_cache_flow account[],
                         uint32_t level, struct rl_traffic_value *ret_value);

/** What a reader must know about a run. */
struct rl_traffic_summary {
    struct rl_channel_totals channel; /**< lost, skipped, overflow > 0: something is missing */
    uint64_t records;                 /**< read */
    uint64_t malformed;               /**< records that named no site */
    uint64_t forgotten;               /**< as rl_cache_forgotten */
    bool sampled;                     /**< some accesses were not followed */
    uint32_t followed;                /**< classes of lines followed at all levels at the end … */
    uint32_t classes;                 /**< … of so many */
    bool widened;                     /**< as rl_sampling_widened */
};

/** Valid after rl_traffic_stop. */
void rl_traffic_summarise(const struct rl_simulation *traffic,
                          struct rl_traffic_summary *ret_summary);

#endif
