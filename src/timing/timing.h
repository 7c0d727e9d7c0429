/* The one way anything is timed: jobs, sampled in turn, and what their samples amount to.
 *
 * A job is any function that can be repeated. Jobs of one call are interleaved round by round, so
 * that a disturbance of a second hits a few samples of each and not all samples of one. Samples
 * during which the thread lost its CPU are thrown away. Nothing here knows what a job computes.
 *
 * Timing one function on four threads:
 *
 *     struct rl_job job = {.name = "triad", .run = triad_run, .arg = &arrays, .shared = true};
 *     struct rl_sampling how = rl_sampling_default();
 *     how.budget_s = 0.5;
 *     struct rl_timing t;
 *     RL_TRY(rl_sample(team, &job, 1, &how, &t, NULL, err)); // t.time_s per call, t.spread
 */
#ifndef RL_TIMING_TIMING_H
#define RL_TIMING_TIMING_H

#include "timing/buffer.h"
#include "timing/clock.h"
#include "timing/stats.h"
#include "timing/team.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stdint.h>

struct rl_job {
    const char *name; /**< for progress and messages; borrowed */

    /** Do the work `loops` times. Called by every rank at once; ranks that share the work split it
     * by `rank`. A shared job may use rl_team_barrier on the team it is run with. */
    void (*run)(void *arg, unsigned rank, uint64_t loops);

    /** Untimed, before every sample: bring caches into the wanted state. NULL: nothing. */
    void (*prepare)(void *arg, unsigned rank);

    void *arg; /**< borrowed */

    /** Seconds a sample should take; loops are calibrated to it. 0: one loop a sample unless one
     * takes less than 20 µs. */
    double sample_s;

    uint64_t loops; /**< fixed number of loops a sample; 0: calibrate */
    unsigned every; /**< sampled in every n-th round only; 0 and 1: in each */

    /** true: ranks start together and a sample lasts until the last has finished (work that is
     * split, or a resource that is shared). false: each rank's samples stand for themselves and the
     * best of each add up (private resources: a team is hardly ever undisturbed as a whole). */
    bool shared;

    bool untimed; /**< run for what it leaves behind: never asked for by itself */

    /** A job that goes through memory does each loop in another of `places` of it, numbered along
     * it. These may be of different speed for good (pages that the host keeps small or far away),
     * and work that needs all of the memory gets the mean. The value is that then: over as many
     * stretches as there are samples for, the best of each. NULL: all loops are alike.
     * @return where `rank` has just been, below `places`. */
    unsigned (*place)(void *arg, unsigned rank);
    unsigned places;
};

struct rl_sampling {
    double budget_s;      /**< stop after this time, once min_repeats are there */
    double overtime_s;    /**< with the probe: go on at most so long with private jobs whose samples
                               have not settled, see rl_sample */
    double least_s;       /**< do not stop before this time even if all is steady */
    unsigned min_repeats; /**< samples of every job, whatever the budget */
    unsigned max_repeats; /**< samples of every job at most; <= 65536 */
    double steady_spread; /**< stop early once every job's spread is below; 0: never early */
    unsigned top;         /**< least samples a value rests on, see rl_estimate_top */
    const struct rl_clock *clock; /**< as calibrated before; NULL: calibrate now, 20 ms */
    bool probe;           /**< run the contention probe between samples; those of private jobs next
                               to a low one do not count */
    double nop_per_cycle; /**< the least an undisturbed core shows the probe; 0: inferred */
    bool probe_window;    /**< the probe also asks for the reorder buffer, see rl_window_rate: where
                               the core is known to have what that needs */

    bool (*cancelled)(void *context); /**< polled between samples; true ends with RL_ECANCEL */
    void (*progress)(void *context, double fraction, const char *job); /**< every 50 ms or so */
    void *context;                                                     /**< of the two above */
};

/** budget 1 s, at least 3 and at most 1024 repeats, never early, top 5, no overtime, no probe, no
 * callbacks. */
struct rl_sampling rl_sampling_default(void);

/** What the samples of one job amount to. All-zero: not sampled. */
struct rl_timing {
    double time_s;      /**< wall time of one loop, undisturbed (shared: start to last finish) */
    double loops_per_s; /**< of all ranks together (every rank's loop counts one) */
    double per_cycle;   /**< loops a core cycle and rank */
    double spread;      /**< relative half-width of a 95 % interval of the three above */
    double clock_hz;    /**< core clock beside the samples, upper quartile */
    double median_s;    /**< median time of one loop over all samples, disturbed ones included */
    unsigned repeats;   /**< samples kept */
    unsigned rejected;  /**< samples thrown away: a rank lost its CPU, or (private jobs) the core
                             clock changed or the probe saw the core shared */
    uint64_t loops;     /**< loops a sample */
    unsigned clean;     /**< undisturbed samples the value rests on, of the rank with fewest; 0: it
                           rests on disturbed ones */
    double best_per_cycle; /**< loops a cycle that three undisturbed samples of a rank reached, or
                              the best of fewer; 0: none were undisturbed */
    bool disturbed;        /**< read the rate as "at least": see rl_sample */
};

/** What a whole call of rl_sample saw. */
struct rl_sampling_report {
    double elapsed_s;
    unsigned rounds;
    double clock_min_hz, clock_max_hz; /**< 2 % and 98 % quantile of core clock readings */
    double clock_hz;                   /**< median */
    double nop_per_cycle;              /**< 98 % quantile of the probe; 0 not probed */
    double nop_expected;               /**< what an undisturbed core would show */
    double clean_share;                /**< share of probes close to nop_expected or above */
    unsigned probes;
    bool contended; /**< the core was never seen undisturbed: read rates as "at least" */
    bool steady;    /**< stopped because every spread was small enough */
};

/**
 * Sample jobs until the budget is used up or everything is steady.
 *
 * A job is disturbed if there is hardly any clean sample, so that disturbed ones had to be used;
 * shared: hardly any without a low probe on some rank; private, with the probe: if clean samples
 * have not settled, which are a spread over 2 %, fewer than twice `top` samples within 1 % below
 * the value or above it, or a neighbour that comes and goes faster than samples are taken.
 *
 * @param team        threads to run on; NULL: the calling thread, as it is.
 * @param job         [n_job] in the order of a round; borrowed.
 * @param n_job       >= 1.
 * @param how         borrowed.
 * @param ret_timing  [n_job] written on RL_OK.
 * @param ret_report  written on RL_OK unless NULL.
 * @return RL_OK; RL_EINVAL for no jobs or limits out of range; RL_ECANCEL; RL_ENOMEM.
 */
enum rl_status rl_sample(struct rl_team *team, const struct rl_job *job, unsigned n_job,
                         const struct rl_sampling *how, struct rl_timing *ret_timing,
                         struct rl_sampling_report *ret_report, struct rl_error *err);

#endif
