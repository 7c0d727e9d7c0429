#include "workload/bench.h"

#include "base/error.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <string.h>

/* Bound by different things: arithmetic, memory, latency, a special function. Sizes are such that
 * the naive forms end within the budget and the memory-bound ones exceed every cache. */
const struct rl_bench_case rl_bench_standard[] = {
    {"gemm", "variant=naive n=512", true},
    {"gemm", "variant=tiled n=512", false},
    {"gemm", "variant=vectorised n=1024", true},
    {"gemm", "variant=vectorised n=1024 precision=fp32", false},
    {"gemm", "variant=blas n=1024", false},
    {"conv2d", "variant=direct", true},
    {"conv2d", "variant=im2col", false},
    {"conv2d", "variant=onednn", false},
    {"conv2d", "variant=direct n=0 c=256 h=112 w=112 groups=256", true},
    {"spmv", "variant=naive pattern=laplace27", false},
    {"spmv", "variant=csr pattern=laplace27", true},
    {"spmv", "variant=sell pattern=laplace27", false},
    {"spmv", "variant=csr pattern=laplace5 precision=fp32", false},
    {"stencil", "variant=naive shape=2d5", false},
    {"stencil", "variant=vectorised shape=2d5", true},
    {"stencil", "variant=blocked shape=3d7", false},
    {"triad", "variant=vectorised", true},
    {"triad", "variant=nontemporal", false},
    {"axpy", "variant=vectorised", false},
    {"dot", "variant=scalar", false},
    {"dot", "variant=vectorised", false},
    {"copy", "variant=vectorised", false},
    {"exp", "variant=libm", false},
    {"exp", "variant=libmvec", false},
};
const unsigned rl_n_bench_standard = RL_COUNT_OF(rl_bench_standard);

enum rl_status rl_bench_configure(const struct rl_bench_case *which, const struct rl_work_env *env,
                                  struct rl_work_config *ret_config, struct rl_error *err)
{
    rl_work_config_init(ret_config, rl_workload_find(which->workload), env);
    char words[128];
    snprintf(words, sizeof words, "%s", which->setting ? which->setting : "");
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        if (!value)
            return rl_fail(err, RL_EINVAL, "standard case of %s: \"%s\" has no value",
                           which->workload, word);
        *value++ = '\0';
        RL_TRY(rl_work_config_set(ret_config, word, value, err));
    }
    return RL_OK;
}

struct loop {
    struct rl_work *work;
    struct rl_team *team; /* NULL: one thread */
};

static void run_loops(void *arg, unsigned rank, uint64_t loops)
{
    struct loop *loop = arg;
    for (uint64_t i = 0; i < loops; i++) {
        loop->work->config.workload->run(loop->work->state, rank, loop->team);
        /* A call ends when its last part does; parts of two calls must not overlap. */
        if (loop->team && i + 1 < loops)
            rl_team_barrier(loop->team);
    }
}

static enum rl_status time_work(struct rl_work *work, struct rl_team *team,
                                const struct rl_bench_how *how, struct rl_timing *ret_timing,
                                struct rl_error *err)
{
    struct loop loop = {work, rl_team_size(team) > 1 ? team : NULL};
    struct rl_job job = {
        .name = work->config.workload->name, .run = run_loops, .arg = &loop, .shared = true};
    return rl_sample(team, &job, 1, &how->sampling, ret_timing, NULL, err);
}

/* A disturbed call would read as a slow kernel. */
static enum rl_status note_disturbance(struct rl_kernel *kernel, struct rl_error *err)
{
    return rl_missing_add(&kernel->missing, RL_UNDISTURBED_TIME,
                          "in hardly any call did every thread keep its core to itself, so the "
                          "time is at most this and the rate at least",
                          err);
}

bool rl_bench_is_disturbed(const struct rl_kernel *kernel)
{
    return rl_missing_has(&kernel->missing, RL_UNDISTURBED_TIME);
}

static enum rl_status fill_row(const struct rl_work *work, const struct rl_timing *timing,
                               struct rl_kernel *kernel, struct rl_error *err)
{
    const struct rl_work_config *config = &work->config;
    RL_TRY(rl_work_account(work, kernel, err));
    RL_TRY(rl_account_parameter(kernel, "threads", config->threads, err));
    RL_TRY(rl_account_parameter(kernel, "repeats", timing->repeats, err));
    kernel->calls = rl_value(1, RL_SOURCE_DECLARED, 0);
    kernel->time_s = rl_value(timing->time_s, RL_SOURCE_MEASURED, timing->spread);
    kernel->threads = rl_value(config->threads, RL_SOURCE_DECLARED, 0);
    return timing->disturbed ? note_disturbance(kernel, err) : RL_OK;
}

static enum rl_status bench_on(struct rl_work *work, struct rl_team *team,
                               const struct rl_bench_how *how, struct rl_timing *ret_timing,
                               struct rl_error *err)
{
    RL_TRY(rl_work_setup(work, team, err));
    if (!how->skip_check)
        RL_TRY(rl_work_verify(work, team, err));
    return time_work(work, team, how, ret_timing, err);
}

static enum rl_status append(struct rl_profile *profile, const struct rl_work *work,
                             const struct rl_timing *timing, struct rl_error *err)
{
    char title[64];
    rl_work_title(&work->config, title, sizeof title);
    struct rl_kernel *kernel;
    RL_TRY(rl_profile_add(profile, RL_KIND_BENCH, title, &kernel, err));
    enum rl_status status = fill_row(work, timing, kernel, err);
    if (status != RL_OK) {
        rl_kernel_release(kernel);
        profile->n_kernel--;
    }
    return status;
}

enum rl_status rl_bench_run(const struct rl_work_config *config, const struct rl_bench_how *how,
                            struct rl_profile *profile, struct rl_error *err)
{
    static const int unpinned = -1;
    bool own = config->workload->variant[config->variant].own_threads;
    struct rl_work work;
    struct rl_timing timing;
    struct rl_team *team = NULL;
    enum rl_status status = rl_work_open(&work, config, err);
    if (status == RL_OK)
        status = rl_team_new(own ? &unpinned : how->cpu, own ? 1 : config->threads, &team, err);
    if (status == RL_OK)
        status = bench_on(&work, team, how, &timing, err);
    if (status == RL_OK)
        status = append(profile, &work, &timing, err);
    rl_team_free(team);
    rl_work_release(&work);
    return status;
}
