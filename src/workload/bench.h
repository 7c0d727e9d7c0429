/* Timing a workload and turning it into a row of a profile. */
#ifndef RL_WORKLOAD_BENCH_H
#define RL_WORKLOAD_BENCH_H

#include "timing/timing.h"
#include "workload/workload.h"

/** How to time, and who watches. */
struct rl_bench_how {
    const int *cpu;              /**< [config.threads] CPU of each thread; borrowed */
    struct rl_sampling sampling; /**< budget of one kernel, callbacks */
    bool skip_check;             /**< do not compare with the reference */
};

/**
 * Set up, verify, time and account one config; the row is appended to `profile`.
 *
 * The row stands for one call: time_s is the wall time of a call on an undisturbed machine, counts
 * and bytes are those of one call. Where hardly any call was undisturbed an entry in `missing` says
 * so.
 *
 * @return RL_OK; RL_EDATA if the result is wrong; RL_EUNAVAIL, RL_EINVAL, RL_ENOMEM, RL_ECANCEL as
 *         from the steps. On failure the profile is as before.
 */
enum rl_status rl_bench_run(const struct rl_work_config *config, const struct rl_bench_how *how,
                            struct rl_profile *profile, struct rl_error *err);

/** Whether the row misses its RL_UNDISTURBED_TIME. */
bool rl_bench_is_disturbed(const struct rl_kernel *kernel);

/** One row of the standard sets: a family and "key=value" words. */
struct rl_bench_case {
    const char *workload;
    const char *setting; /**< "variant=naive n=512"; NULL: all defaults */
    bool quick;          /**< also in the quick set */
};

extern const struct rl_bench_case rl_bench_standard[];
extern const unsigned rl_n_bench_standard;

/** Apply the settings of a standard case to a fresh config. */
enum rl_status rl_bench_configure(const struct rl_bench_case *which, const struct rl_work_env *env,
                                  struct rl_work_config *ret_config, struct rl_error *err);

#endif
