/* What the disagreement of a few samples says of their mean. Used by sampling.c. */
#ifndef RL_COUNT_DOUBT_H
#define RL_COUNT_DOUBT_H

#include <stdint.h>

/**
 * Mean of samples, and half the width of the 95 % interval for it that their disagreement gives.
 *
 * @param sample    [n]
 * @param n         1 .. 16; of a single one nothing can be said: INFINITY.
 * @param share     part of the whole population that the samples are, 0 .. 1.
 * @param safety    factor on the width.
 * @param ret_mean  always written.
 */
double rl_mean_and_doubt(const double sample[], uint32_t n, double share, double safety,
                         double *ret_mean);

#endif
