/* Reading the files in which the region library left its times. */
#ifndef RL_SAMPLE_REGIONS_H
#define RL_SAMPLE_REGIONS_H

#include "sample/sample.h"

/**
 * Add what a file holds to samples->region and region_wall.
 *
 * @param data      [n] bytes of any content; what makes no sense is passed over, a file of
 *                  another version is refused in a note.
 * @param start_ns  CLOCK_MONOTONIC at the start of the run, to find the process image.
 */
enum rl_status regions_read(const void *data, size_t n, uint64_t start_ns,
                            struct rl_samples *samples, struct rl_error *err);

#endif
