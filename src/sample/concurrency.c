#include "sample/concurrency.h"
#include "base/error.h"
#include "base/file.h"
#include "sample/cover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** What is summed over the spans of one region in one process. */
struct sum {
    double inside_ticks; /**< lengths of the spans */
    double work_ticks;   /**< what samples in them stand for, of all threads */
    double any_ticks;    /**< and of any */
    struct cover cover;
    uint64_t n_samples;
};

struct concurrency {
    struct rl_samples *samples;
    bool *is_waiting; /**< [n_module] of an OpenMP runtime: there threads wait, spinning */
    bool *is_apart;  /**< [n_thread] works in regions of its own, beside those of the main thread */
    bool *is_worker; /**< [n_thread] was ever seen at work */
    struct sum *sum; /**< [n_region_wall] */
};

static bool is_openmp_runtime(const struct rl_sample_module *module)
{
    static const char *const names[] = {"libgomp.so", "libomp.so", "libomp-", "libiomp5.so"};
    const char *name = rl_base_name(module->path);
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = !strncmp(name, names[i], strlen(names[i]));
    return found && module->kind == RL_SAMPLE_FILE;
}

static bool is_apart(const struct rl_samples *s, const struct rl_sample_thread *thread)
{
    uint64_t calls = 0, apart = 0;
    for (size_t i = 0; i < s->n_region; i++) {
        const struct rl_sample_region *region = &s->region[i];
        if (region->tid == thread->tid && region->process == thread->process) {
            calls += region->calls + region->unended;
            apart += region->apart;
        }
    }
    return apart > calls / 2;
}

static double tick_of(const struct rl_samples *s, uint64_t since_start_ns)
{
    return (double)since_start_ns * 1e-9 / s->tick_s;
}

static double time_of(const struct rl_sample_point *point)
{
    return point->tick + point->part / (double)RL_SAMPLE_TICK_PARTS;
}

/* The first point of that tick or a later one. */
static size_t first_point(const struct rl_samples *s, double tick)
{
    size_t low = 0, high = s->n_point;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->point[middle].tick < floor(tick))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_span(struct concurrency *c, const struct rl_sample_region_span *span)
{
    const struct rl_samples *s = c->samples;
    struct sum *sum = &c->sum[span->wall];
    double begin = tick_of(s, span->begin_ns), end = tick_of(s, span->end_ns);
    sum->inside_ticks += end - begin;
    for (size_t i = first_point(s, begin); i < s->n_point && s->point[i].tick <= end; i++) {
        const struct rl_sample_point *point = &s->point[i];
        const struct rl_sample_bucket *bucket = &s->bucket[point->bucket];
        double at = time_of(point);
        if (at < begin || at >= end || c->is_waiting[bucket->module] ||
            c->is_apart[bucket->thread] ||
            s->thread[bucket->thread].process != s->region_wall[span->wall].process)
            continue;
        sum->work_ticks += point->ticks;
        sum->any_ticks += cover_add(&sum->cover, point);
        sum->n_samples++;
    }
}

static void find_workers(struct concurrency *c)
{
    const struct rl_samples *s = c->samples;
    for (size_t i = 0; i < s->n_point; i++) {
        const struct rl_sample_bucket *bucket = &s->bucket[s->point[i].bucket];
        if (!c->is_waiting[bucket->module] && !c->is_apart[bucket->thread])
            c->is_worker[bucket->thread] = true;
    }
}

static double workers_of(const struct concurrency *c, uint32_t process)
{
    const struct rl_samples *s = c->samples;
    unsigned n = 0;
    for (size_t i = 0; i < s->n_thread; i++)
        n += s->thread[i].process == process && c->is_worker[i];
    return n > 1 ? n : 1;
}

/* CPU time over wall time is right however short the region is, but leaves out threads that wait or
 * are in the kernel; what is seen at the same time leaves out none that work, but of a region
 * shorter than the sampling period little is seen at the same time. One sample in a region much
 * shorter than its period would stand for many threads: there are no more than the process has. */
static double threads_of(const struct concurrency *c, size_t wall)
{
    const struct rl_samples *s = c->samples;
    const struct sum *sum = &c->sum[wall];
    double over_wall =
        sum->inside_ticks > 0 ? sum->work_ticks / s->point_fraction / sum->inside_ticks : 0;
    double at_once = sum->any_ticks > 0 ? sum->work_ticks / sum->any_ticks : 0;
    return fmin(fmax(over_wall, at_once), workers_of(c, s->region_wall[wall].process));
}

static int by_begin(const void *a, const void *b)
{
    const struct rl_sample_region_span *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void sum_spans(struct concurrency *c)
{
    struct rl_samples *s = c->samples;
    for (size_t i = 0; i < s->n_module; i++)
        c->is_waiting[i] = is_openmp_runtime(&s->module[i]);
    for (size_t i = 0; i < s->n_thread; i++)
        c->is_apart[i] = is_apart(s, &s->thread[i]);
    find_workers(c);
    qsort(s->region_span, s->n_region_span, sizeof *s->region_span, by_begin);
    for (size_t i = 0; i < s->n_region_span; i++)
        add_span(c, &s->region_span[i]);
    for (size_t i = 0; i < s->n_region_wall; i++) {
        s->region_wall[i].threads = threads_of(c, i);
        s->region_wall[i].n_samples = c->sum[i].n_samples;
    }
}

enum rl_status concurrency_of_regions(struct rl_samples *samples, struct rl_error *err)
{
    if (!samples->n_region_span || !samples->n_point)
        return RL_OK;
    struct concurrency c = {
        .samples = samples,
        .is_waiting = calloc(samples->n_module + 1, sizeof *c.is_waiting),
        .is_apart = calloc(samples->n_thread + 1, sizeof *c.is_apart),
        .is_worker = calloc(samples->n_thread + 1, sizeof *c.is_worker),
        .sum = calloc(samples->n_region_wall + 1, sizeof *c.sum),
    };
    bool has_memory = c.is_waiting && c.is_apart && c.is_worker && c.sum;
    if (has_memory)
        sum_spans(&c);
    free(c.is_waiting);
    free(c.is_apart);
    free(c.is_worker);
    free(c.sum);
    return has_memory ? RL_OK : rl_fail(err, RL_ENOMEM, "out of memory for regions");
}
