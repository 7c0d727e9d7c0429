/* Statistics of samples that noise can only make slower. Pure; thread-safe. */
#ifndef RL_TIMING_STATS_H
#define RL_TIMING_STATS_H

#include <stddef.h>

/** How many of n rates are to count as the best: `least`, or of many a twentieth, so that their
 * number does not select errors. */
size_t rl_top_of(size_t n, size_t least);

/** What a set of rates amounts to. */
struct rl_estimate {
    double value;  /**< median of the largest `top` */
    double spread; /**< relative half-width of a 95 % interval; 0 with fewer than two samples */
    double median; /**< median of all: what a long run sees on a disturbed machine */
};

/**
 * Median of the `top` largest rates. A single largest one may owe its rank to a clock error; the
 * mean and the median of all follow the disturbance, not the machine.
 *
 * The spread is taken over blocks of consecutive samples (their own top medians), so that drift
 * shows, and over the top samples themselves where there are too few for blocks.
 *
 * @param rate  [n] in the order they were taken; not changed.
 * @param n     0 gives an all-zero estimate.
 * @param top   >= 1; 5 is customary.
 */
struct rl_estimate rl_estimate_top(const double *rate, size_t n, size_t top);

/**
 * Of rates that were taken in turn at several places of different speed: the harmonic mean of what
 * rl_estimate_top finds for each of as many stretches of places as have five rates each, what a
 * job gets that goes through all of them. With few rates that is one stretch, and the estimate
 * rl_estimate_top's.
 *
 * @param rate   [n] in the order they were taken; not changed.
 * @param place  [n] where, below n_places; places next to each other make a stretch.
 * @param top    least rates the value is the median of where there is one stretch; of several the
 * best of each counts, or of many as rl_top_of has it.
 */
struct rl_estimate rl_estimate_places(const double *rate, const unsigned *place, size_t n,
                                      unsigned n_places, size_t top);

/** p-quantile, 0 <= p <= 1, by linear interpolation; 0 for n = 0. `value` is not changed. */
double rl_quantile(const double *value, size_t n, double p);

/** Two-sided 95 % quantile of Student's t with `freedom` >= 1 degrees of freedom. */
double rl_student_95(size_t freedom);

#endif
