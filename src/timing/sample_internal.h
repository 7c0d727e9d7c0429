/* Between sample.c, which takes samples, and estimate.c, which says what they amount to. */
#ifndef RL_TIMING_SAMPLE_INTERNAL_H
#define RL_TIMING_SAMPLE_INTERNAL_H

#include "timing/timing.h"

#include <stdatomic.h>
#include <stddef.h>

enum { RL_SAMPLE_RING = 8, RL_SAMPLE_MOST_REPEATS = 65536 };

/** One timing of one job by one rank. */
struct rl_sample {
    double loop_s;     /**< seconds a loop; negative: the rank lost its CPU; 0: left out */
    double clock_hz;   /**< negative: it changed meanwhile */
    double nop;        /**< no-operations a cycle, the less of the probes before and behind; 0: not
                            probed */
    double nop_before; /**< of the probe before */
    unsigned place;    /**< 0 without places */
};

/** What one rank writes while sampling; nobody else touches it until the run is over. */
struct rl_sample_rank {
    _Alignas(64) double ring_hz[RL_SAMPLE_RING];
    uint64_t ring_ticks[RL_SAMPLE_RING];
    unsigned ring_at;
    unsigned turn;            /**< barriers passed where the run could have been stopped */
    struct rl_sample *sample; /**< [n_job][max_repeats] */
    struct rl_sample *last;   /**< the probe to come is the one behind it */
    double calibration_s;     /**< duration of the last calibration sample */
    bool lasting; /**< moments without a neighbour are longer than a sample, see rl_sampler_judge */
};

struct rl_sampler {
    struct rl_team *team; /**< NULL: the calling thread */
    unsigned n_rank;
    const struct rl_job *job;
    unsigned n_job;
    const struct rl_sampling *how;
    struct rl_clock clock;
    struct rl_sample_rank *rank; /**< [n_rank] */
    uint64_t *loops;             /**< [n_job] */
    unsigned *repeats;           /**< [n_job] */
    atomic_bool taken;           /**< some rank has taken the sample of this turn */
    unsigned waited;             /**< turns of jobs that no rank took */
    bool *wanting;               /**< [n_job] private, and not settled */
    unsigned round;
    double start_s;
    double end_s;
    double told_s;
    double checked_s;
    double judged_s;
    double judge_gap_s;    /**< judgements are no closer than this */
    double nop_bar;        /**< samples of private jobs count from here on, see rl_sampler_judge */
    atomic_uint stop_turn; /**< ranks leave at this barrier */
    bool cancelled;
    bool steady;
    bool judged;   /**< some jobs are wanting, and `wanting` says which */
    bool overtime; /**< only wanting jobs go on */
};

/**
 * Set nop_bar from the probes so far, and `lasting` and `wanting` with it. A neighbour that comes
 * and goes faster than samples are taken slips between two good probes, so `lasting` is whether a
 * good probe before a sample was mostly followed by a good one behind it. A private job wants
 * samples while some rank's are not settled: fewer than twice `top` undisturbed ones close below
 * the estimate or above it, some far above it, or not lasting.
 * @return whether any job is wanting.
 */
bool rl_sampler_judge(struct rl_sampler *s);

/**
 * No-operations a cycle that an undisturbed core shows, when its width is not known: that of the
 * least whole width, 4 or more, that is not below what was seen. No core with vector units decodes
 * fewer than four a cycle; clock errors may show 2 % more than there are.
 */
double rl_nop_expected(double seen);

/**
 * No-operations a cycle by the front end, fewer where the window probe shows that less than the
 * reorder buffer is there: by the share that it falls short of what it reaches.
 * @param window_hz  0: not probed.
 */
double rl_probe_value(double nop_hz, double window_hz, double core_hz);

/** What the samples of job `j` amount to so far. @return false without memory. */
bool rl_sampler_estimate(const struct rl_sampler *s, unsigned j, struct rl_timing *ret_timing);

/** Core clock and contention as seen over all samples. */
void rl_sampler_report(const struct rl_sampler *s, struct rl_sampling_report *report);

#endif
