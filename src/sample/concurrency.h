/* How many threads work in a region: the samples of a process while its main thread is there. */
#ifndef RL_SAMPLE_CONCURRENCY_H
#define RL_SAMPLE_CONCURRENCY_H

#include "sample/sample.h"

/**
 * Set `threads` and `n_samples` of samples->region_wall from its spans and points, which must be
 * sorted. Sorts the spans.
 * @return RL_OK; RL_ENOMEM.
 */
enum rl_status concurrency_of_regions(struct rl_samples *samples, struct rl_error *err);

#endif
