/* What `roofline bench` was asked for: its options, and the list of configs they amount to. */
#ifndef RL_CLI_BENCH_PLAN_H
#define RL_CLI_BENCH_PLAN_H

#include "cli/options.h"
#include "workload/workload.h"

enum { BENCH_FAMILY_OPTIONS = 48 };

struct bench_options {
    bool list, quick;
    const char *variant, *precision, *isa; /* comma-separated; "all"; NULL: defaults */
    const char *threads;                   /* "1,2,all"; NULL: all */
    const char *sizes;                     /* for the option marked is_size; NULL: its default */
    const char *blas, *machine, *output;
    double budget_s; /* of each kernel; 0: by the set */
    /* options of the families that were named */
    unsigned n_family;
    const struct rl_work_option *family[BENCH_FAMILY_OPTIONS];
    const char *value[BENCH_FAMILY_OPTIONS]; /* NULL: not given */
};

struct bench_options bench_options_default(void);

/** Parse argv; the options of every family named in it are known. Check `args->done` first.
 * @return the exit code if done. */
int bench_options_parse(const struct rl_command *command, struct bench_options *options, int argc,
                        char **argv, struct rl_arguments *ret_args);
void bench_options_release(struct bench_options *options);

/** @return RL_OK; RL_EINVAL: there is no kernel of that name. */
enum rl_status bench_find_workload(const char *name, const struct rl_workload **ret_workload,
                                   struct rl_error *err);

struct bench_plan {
    struct rl_work_config *config;
    size_t n;
};

/**
 * The configs to run: the standard set when no family is named, else every combination of the
 * families, variants, precisions, sizes and thread counts asked for.
 * @param env    borrowed by the configs.
 * @param n_cpu  threads that "all" stands for.
 * @return RL_OK; RL_EINVAL naming the word; RL_EUNAVAIL; RL_ENOMEM.
 */
enum rl_status bench_plan_build(struct bench_plan *plan, const struct bench_options *options,
                                const struct rl_arguments *args, const struct rl_work_env *env,
                                unsigned n_cpu, struct rl_error *err);
void bench_plan_release(struct bench_plan *plan);

#endif
