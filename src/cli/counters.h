/* This machine's hardware counters, with a self-test that is run once and kept. */
#ifndef RL_CLI_COUNTERS_H
#define RL_CLI_COUNTERS_H

#include "count/perf_event/pmu.h"
#include "profile/profile.h"

struct rl_counters {
    struct rl_cpu cpu;  /**< of this machine; `pmu` refers to it, so do not copy the struct */
    struct rl_pmu *pmu; /**< NULL: not open */
};

/**
 * Open them. What is missing from the processor by ROOFLINE_ISA is counted all the same.
 * @param how  NULL: as they are here; else its `cpu` is borrowed.
 * @param ret  release with rl_counters_close, on RL_EUNAVAIL too.
 * @return RL_OK; RL_EUNAVAIL with the reason if nothing can be counted; `ret->pmu` is then there
 *         for the doctor.
 */
enum rl_status rl_counters_open(const struct rl_pmu_options *how, struct rl_counters *ret,
                                struct rl_error *err);
void rl_counters_close(struct rl_counters *counters);

/**
 * Take over the self-test that is kept for this machine, or run and keep it, which takes seconds
 * and is done while nobody measures. One in which a metric failed is kept for a day.
 * @param machine  its key and its caches.
 * @param anew     run it in any case.
 * @return RL_OK; RL_EUNAVAIL if somebody measures on and on, or nothing can be counted.
 */
enum rl_status rl_counters_test(struct rl_counters *counters, const struct rl_machine *machine,
                                bool anew, struct rl_error *err);

/** Do these options ask for hardware counters and nothing else? */
bool rl_counters_demanded(enum rl_profile_count count, enum rl_profile_traffic traffic);

/**
 * Counters for a profile, where they are wanted and believed; says on stderr what counts.
 * @param machine  NULL: not known.
 * @param ret      `ret->pmu` stays NULL where there are none; release with rl_counters_close.
 * @return RL_OK; RL_EUNAVAIL if they are demanded and cannot be had.
 */
enum rl_status rl_counters_for(const struct rl_profile_options *options,
                               const struct rl_machine *machine, struct rl_counters *ret,
                               struct rl_error *err);

#endif
