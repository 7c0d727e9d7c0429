/* The time line of samples within a bound on memory, and the concurrency of groups from it. */
#ifndef RL_SAMPLE_TIMELINE_H
#define RL_SAMPLE_TIMELINE_H

#include "sample/sample.h"

struct timeline;

/** Ticks a sampling period. */
#define TIMELINE_TICKS 16

enum rl_status timeline_new(struct rl_samples *samples, uint64_t period_ns, size_t max_points,
                            struct timeline **ret, struct rl_error *err);
/** A sample that stands for the `weight_ns` before it. */
enum rl_status timeline_add(struct timeline *line, uint32_t bucket, uint64_t since_start_ns,
                            uint64_t weight_ns, struct rl_error *err);
/** Sorts the points and sets samples->max_threads and mean_threads. */
enum rl_status timeline_finish(struct timeline *line, struct rl_error *err);
void timeline_free(struct timeline *line);

#endif
