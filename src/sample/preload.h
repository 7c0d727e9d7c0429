/* The outer half of librooflinesample.so: the scratch directory it writes to, the environment that
 * tells it so, and reading back what the program's processes left there. */
#ifndef RL_SAMPLE_PRELOAD_H
#define RL_SAMPLE_PRELOAD_H

#include "sample/collect.h"

struct preload;

/** @return RL_OK, or RL_EUNAVAIL with the reason. */
enum rl_status preload_probe(const char *path, struct rl_error *err);

/**
 * Make a scratch directory and an environment for the program.
 * @param envp  copied.
 */
enum rl_status preload_new(const struct rl_sample_options *options, bool timers, unsigned rate_hz,
                           const char *const *envp, struct preload **ret, struct rl_error *err);

/** NULL-terminated; borrowed until preload_free. */
const char *const *preload_environment(const struct preload *preload);

/** Hand the timers' samples to the collector and add the regions to `samples`. Files that make no
 * sense are passed over.
 * @param start_ns  CLOCK_MONOTONIC at the start of the run. */
enum rl_status preload_read(struct preload *preload, struct rl_samples *samples,
                            struct collector *collector, uint64_t start_ns, struct rl_error *err);

/** Threads that got no timer, as far as preload_read saw. */
unsigned preload_refused(const struct preload *preload);

/** The scratch directory; borrowed until preload_free. */
const char *preload_folder(const struct preload *preload);

/**
 * Call `each` with the content of every file of regions.
 * @param most  bytes of one that are read.
 * @param each  gets [n] bytes of any content, valid during the call.
 * @return what `each` returns first that is not RL_OK; RL_ESYS if the folder cannot be read.
 */
enum rl_status preload_region_files(const struct preload *preload, size_t most,
                                    enum rl_status (*each)(void *context, const void *data,
                                                           size_t n, struct rl_error *err),
                                    void *context, struct rl_error *err);

/** Removes the scratch directory. */
void preload_free(struct preload *preload);

#endif
