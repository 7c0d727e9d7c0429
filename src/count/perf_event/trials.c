/* Trials from the microbenchmark kernels, whose operations and bytes are exact. */
#include "count/perf_event/selftest.h"

#include "base/array.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "timing/buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOP_EACH      1e7
#define SLOW_FLOP_EACH 1e6 /* of divisions */
#define LOOP_EACH      1000000u

#define CACHE_BYTES (16u << 20) /* moved by a trial at least, so that its start does not count */

/** Memory of all trials. */
struct rl_pmu_arena {
    char image[RL_PRECISION_COUNT][RL_KERNEL_IMAGE_BYTES] __attribute__((aligned(64)));
    char out[RL_KERNEL_IMAGE_BYTES] __attribute__((aligned(64)));
    struct rl_buffer buffer;
    struct job **job; /* [n_job] */
    size_t n_job;
};

/** A kernel with what it is called with. */
struct job {
    void (*run)(const struct rl_kernel_args *args);
    struct rl_kernel_args args;
};

static void run_job(const struct rl_pmu_trial *trial)
{
    const struct job *job = trial->context;
    job->run(&job->args);
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for the self-test of counters");
}

static enum rl_status new_job(struct rl_pmu_arena *arena,
                              void (*run)(const struct rl_kernel_args *args),
                              enum rl_precision precision, uint64_t loops, struct job **ret,
                              struct rl_error *err)
{
    struct job **slot = rl_array_append(&arena->job, &arena->n_job, sizeof *slot);
    struct job *job = slot ? calloc(1, sizeof *job) : NULL;
    if (!job)
        return no_memory(err);
    *slot = job;
    job->run = run;
    job->args.loops = loops;
    job->args.in = arena->image[precision];
    job->args.out = arena->out;
    *ret = job;
    return RL_OK;
}

/* Two instructions an iteration, whatever the compiler. */
static void run_loop(const struct rl_pmu_trial *trial)
{
    uint64_t n = trial->loops;
#if defined(__x86_64__)
    __asm__ volatile("1: decq %0\n\tjnz 1b" : "+r"(n) : : "cc");
#elif defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
    while (n--)
        __asm__ volatile("");
#endif
}

static enum rl_status add(struct rl_pmu_trials *trials, const struct rl_pmu_trial *trial,
                          struct rl_error *err)
{
    struct rl_pmu_trial *slot = rl_array_append(&trials->trial, &trials->n_trial, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = *trial;
    return RL_OK;
}

static enum rl_status add_loop(struct rl_pmu_trials *trials, struct rl_error *err)
{
    struct rl_pmu_trial trial = {.name = "counted loop", .run = run_loop, .loops = LOOP_EACH};
    trial.scale = 2.0 * LOOP_EACH;
#if defined(__x86_64__) || defined(__aarch64__)
    trial.instructions = 2.0 * LOOP_EACH;
#endif
    return add(trials, &trial, err);
}

static unsigned widths_of(const struct rl_compute_kernel *kernel)
{
    if (kernel->isa == RL_ISA_C)
        return RL_PMU_ANY_WIDTH;
    return kernel->bits == 512   ? RL_PMU_512
           : kernel->bits == 256 ? RL_PMU_256
           : kernel->bits == 128 ? RL_PMU_128
                                 : RL_PMU_SCALAR;
}

/* Adds, multiplications, fused ones and divisions; and integer additions, which must read 0. */
static bool is_useful(const struct rl_compute_kernel *kernel)
{
    static const char *const ops[] = {"add", "mul", "fma", "div"};
    bool is_tile = strcmp(kernel->width, "amx") == 0;
    if (kernel->precision == RL_INT32)
        return strcmp(kernel->op, "add") == 0;
    if (kernel->precision == RL_BF16)
        return !is_tile && strcmp(kernel->op, "dot") == 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (rl_precision_is_float(kernel->precision) && strcmp(kernel->op, ops[i]) == 0)
            return true;
    }
    return false;
}

static bool is_variant(const struct rl_compute_kernel *a, const struct rl_compute_kernel *b)
{
    return a->precision == b->precision && strcmp(a->op, b->op) == 0 &&
           strcmp(a->width, b->width) == 0;
}

static enum rl_status add_compute(struct rl_pmu_trials *trials, const struct rl_cpu *cpu,
                                  struct rl_error *err)
{
    size_t n;
    const struct rl_compute_kernel *kernel = rl_compute_kernels(&n);
    for (size_t i = 0; i < n; i++) {
        const struct rl_compute_kernel *k = &kernel[i];
        bool is_float = rl_precision_is_float(k->precision);
        double work = strcmp(k->op, "div") == 0 ? SLOW_FLOP_EACH : FLOP_EACH;
        if (!rl_cpu_usable(cpu, k->isa) || !is_useful(k) || (i && is_variant(k, k - 1)))
            continue;
        struct job *job;
        uint64_t loops = (uint64_t)(work / k->work) + 1;
        RL_TRY(new_job(trials->arena, k->run, k->precision, loops, &job, err));
        struct rl_pmu_trial trial = {.run = run_job,
                                     .context = job,
                                     .loops = loops,
                                     .precision = k->precision,
                                     .widths = widths_of(k)};
        snprintf(trial.name, sizeof trial.name, "%s", k->name);
        trial.scale = (double)trial.loops * k->work;
        trial.flop = is_float ? trial.scale : 0;
        RL_TRY(add(trials, &trial, err));
    }
    return RL_OK;
}

/** Access patterns, with the arrays that lines of are fetched and written. */
struct pattern_row {
    enum rl_pattern pattern;
    unsigned n_array, n_fill, n_write;
    bool is_nontemporal;
};

static const struct pattern_row patterns[] = {{RL_LOAD, 1, 1, 0, false},
                                              {RL_STORE, 1, 1, 1, false},
                                              {RL_COPY, 2, 2, 1, false},
                                              {RL_NT_STORE, 1, 0, 1, true}};

static const struct rl_memory_kernel *find_memory_kernel(const struct rl_cpu *cpu,
                                                         enum rl_pattern pattern)
{
    size_t n;
    const struct rl_memory_kernel *kernel = rl_memory_kernels(&n);
    const struct rl_memory_kernel *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (kernel[i].pattern == pattern && rl_cpu_usable(cpu, kernel[i].isa) &&
            (!best || kernel[i].bits > best->bits))
            best = &kernel[i];
    }
    return best;
}

/* One pattern over `bytes` in all, that live at `depth`. */
static enum rl_status add_pattern(struct rl_pmu_trials *trials, const struct rl_cpu *cpu,
                                  const struct pattern_row *row, unsigned depth, uint64_t bytes,
                                  struct rl_error *err)
{
    static const char *const places[] = {"L1", "L2", "L3", "DRAM"};
    const struct rl_memory_kernel *kernel = find_memory_kernel(cpu, row->pattern);
    struct job *job;
    if (!kernel)
        return RL_OK;
    uint64_t each = bytes / row->n_array / kernel->granule * kernel->granule;
    uint64_t loops = 1 + CACHE_BYTES / bytes;
    if (!each)
        return RL_OK;
    RL_TRY(new_job(trials->arena, kernel->run, RL_FP64, loops, &job, err));
    job->args.a = trials->arena->buffer.base;
    job->args.b = job->args.c = trials->arena->buffer.base + each;
    job->args.bytes = each;
    double moved = (double)loops * (double)each;
    struct rl_pmu_trial trial = {.run = run_job,
                                 .context = job,
                                 .loops = loops,
                                 .is_memory = true,
                                 .depth = depth,
                                 .fill = depth ? moved * row->n_fill : 0,
                                 .write = depth ? moved * row->n_write : 0,
                                 .scale = moved * row->n_array};
    /* Lines written past the caches take other ways on other cores: only fills are known. */
    if (row->is_nontemporal)
        trial.write = NAN;
    snprintf(trial.name, sizeof trial.name, "%s in %s", rl_pattern_name(row->pattern),
             places[depth]);
    return add(trials, &trial, err);
}

/* Half of each cache; of the last level what is safely this core's; and far more than all of it. */
static enum rl_status add_memory(struct rl_pmu_trials *trials, const struct rl_cpu *cpu,
                                 const struct rl_pmu_sizes *sizes, struct rl_error *err)
{
    uint64_t l3_bytes = sizes->l3_bytes / 2;
    uint64_t outer = sizes->l3_bytes ? sizes->llc_bytes : sizes->l2_bytes;
    uint64_t size[4] = {sizes->l1_bytes / 2, sizes->l2_bytes / 2, l3_bytes, 8 * outer};
    uint64_t inner[4] = {0, 2 * sizes->l1_bytes, 2 * sizes->l2_bytes, outer};
    uint64_t most = 0;
    for (unsigned depth = 0; depth < 4; depth++) {
        bool fits = size[depth] > inner[depth] && size[depth] <= sizes->memory_bytes;
        size[depth] = fits ? size[depth] : 0;
        most = size[depth] > most ? size[depth] : most;
    }
    if (!most)
        return RL_OK;
    RL_TRY(rl_buffer_map(&trials->arena->buffer, most, err));
    rl_buffer_fill(trials->arena->buffer.base, most);
    for (unsigned depth = 0; depth < 4; depth++) {
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns && size[depth]; i++)
            RL_TRY(add_pattern(trials, cpu, &patterns[i], depth, size[depth], err));
    }
    return RL_OK;
}

enum rl_status rl_pmu_trials_make(const struct rl_cpu *cpu, const struct rl_pmu_sizes *sizes,
                                  struct rl_pmu_trials *ret, struct rl_error *err)
{
    struct rl_pmu_trials trials = {.arena = aligned_alloc(64, sizeof *trials.arena)};
    if (!trials.arena)
        return no_memory(err);
    memset(trials.arena, 0, sizeof *trials.arena);
    for (int p = 0; p < RL_PRECISION_COUNT; p++)
        rl_kernel_image((enum rl_precision)p, trials.arena->image[p]);
    enum rl_status status = add_loop(&trials, err);
    if (status == RL_OK)
        status = add_compute(&trials, cpu, err);
    if (status == RL_OK && sizes)
        status = add_memory(&trials, cpu, sizes, err);
    if (status != RL_OK) {
        rl_pmu_trials_release(&trials);
        return status;
    }
    *ret = trials;
    return RL_OK;
}

void rl_pmu_trials_release(struct rl_pmu_trials *trials)
{
    for (size_t i = 0; trials->arena && i < trials->arena->n_job; i++)
        free(trials->arena->job[i]);
    if (trials->arena) {
        rl_buffer_release(&trials->arena->buffer);
        free(trials->arena->job);
    }
    free(trials->arena);
    free(trials->trial);
    *trials = (struct rl_pmu_trials){0};
}
