/* The roof of this machine: kernel x timing x topology -> machine record.
 *
 * Finds what the processor and memory reach, by running the best of several variants of each kernel
 * where nothing disturbs them, and says where something did. */
#ifndef RL_CEILINGS_CEILINGS_H
#define RL_CEILINGS_CEILINGS_H

#include "cpu/cpu.h"
#include "topology/topology.h"

#include <roofline/error.h>
#include <roofline/machine.h>
#include <stdbool.h>
#include <stddef.h>

enum rl_measure_mode {
    RL_MEASURE_QUICK = 0, /**< what a plain roofline needs, in three seconds */
    RL_MEASURE_DEFAULT,   /**< everything, in ten seconds */
    RL_MEASURE_THOROUGH,  /**< everything, four times as long */
};

struct rl_measure_options {
    enum rl_measure_mode mode;
    const unsigned *threads;        /**< [n_threads] thread counts to measure; borrowed */
    size_t n_threads;               /**< 0: one thread, and one on every usable core */
    double budget_s;                /**< wall time to aim for; 0: by mode */
    const char *isa_mask;           /**< see rl_cpu_detect; NULL: everything */
    const char *date;               /**< for the record, ISO 8601; borrowed */
    const char *program;            /**< for the record; borrowed */
    const struct rl_machine *known; /**< an earlier record of this machine, for rl_measure_dram: its
                                         sizes of caches hold; borrowed; NULL: those reported */
    uint64_t memory_bytes;          /**< memory to use at most; 0: a quarter of what is available */
    bool (*cancelled)(void *context);
    void (*progress)(void *context, double fraction, const char *label);
    void *context;
};

/** default mode, both thread counts, no callbacks. */
struct rl_measure_options rl_measure_options_default(void);

/**
 * Describe this machine without measuring: identity, topology, environment, name and key.
 * @param isa_mask  NULL: everything.
 * @return RL_OK; RL_EINVAL for a wrong mask; see rl_topology_detect.
 */
enum rl_status rl_host_describe(const char *isa_mask, struct rl_machine *ret_machine,
                                struct rl_error *err);

/** Whether a rate per cycle is further above its limit than errors of the clock explain: the limit
 * is then not this core's. false where there is no limit. */
bool rl_is_above_limit(double per_cycle, double limit_per_cycle);

/** What rl_sampling.nop_per_cycle is for this CPU; 0: not in the catalogue. */
double rl_host_nop_per_cycle(const struct rl_cpu *cpu);

/**
 * Measure this machine.
 *
 * @param options      borrowed.
 * @param ret_machine  a complete record; written on RL_OK; release with rl_machine_release.
 * @return RL_OK; RL_EINVAL for a thread count that cannot be placed or a wrong mask; RL_ECANCEL;
 *         RL_ENOMEM when the buffers do not fit; RL_ESYS if threads cannot be pinned.
 */
enum rl_status rl_measure(const struct rl_measure_options *options, struct rl_machine *ret_machine,
                          struct rl_error *err);

/**
 * Measure the DRAM ceilings only: load, triad and non-temporal triad for each of options->threads,
 * about half a second, longer where caches are large; sustained, by passes over a whole buffer, as
 * kernels are timed by whole calls. Everything else of the record is as rl_host_describe has it,
 * beside the range of core clock seen.
 * @return as rl_measure.
 */
enum rl_status rl_measure_dram(const struct rl_measure_options *options,
                               struct rl_machine *ret_machine, struct rl_error *err);

/** A ceiling whose rate is another now. */
struct rl_drift {
    const char *id; /**< borrowed from the older record */
    double then_bytes_per_s, now_bytes_per_s;
};

/** Of each memory ceiling of `fresh` and `again` the faster stays in `fresh`. */
void rl_refresh_keep_faster(struct rl_machine *fresh, const struct rl_machine *again);

/**
 * Whether any memory ceiling that both records have moved by more than `tolerance` (0.1: to less
 * than 1 / 1.1 or more than 1.1 of what it was).
 * @param ret_drift  the one that moved furthest; written where any did.
 */
bool rl_refresh_drift(const struct rl_machine *then, const struct rl_machine *now, double tolerance,
                      struct rl_drift *ret_drift);

/**
 * Give `machine` the memory rates of `fresh`. Patterns that `fresh` lacks move with the plain load
 * of their level and number of threads, as modelled values.
 */
void rl_refresh_apply(struct rl_machine *machine, const struct rl_machine *fresh);

#endif
