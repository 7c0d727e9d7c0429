/* How many threads worked in a marked region. */
#ifndef RL_PROFILE_REGION_THREADS_H
#define RL_PROFILE_REGION_THREADS_H

#include "sample/sample.h"

#include <roofline/profile.h>

/**
 * Set kernel->threads: those that were in the region, as marked, or, of a region of the main
 * thread, as many as samples saw at work meanwhile if that is more.
 * @param wall_s  time with any thread in it, > 0.
 * @return RL_OK; where only samples could tell and there are none, `missing` says so.
 */
enum rl_status region_threads(const struct rl_samples *samples, const char *name, double wall_s,
                              struct rl_kernel *kernel, struct rl_error *err);

#endif
