#include "sample/concurrency.h"
#include "base/error.h"
#include "base/file.h"
#include "sample/cover.h"
#include "sample/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A thread that works is found once a mean period or so, and is not missed in so many. */
#define NEAR_TICKS (8.0 * TIMELINE_TICKS)

/** What is summed over the spans of one region in one process. */
struct sum {
    double inside_ticks; /**< lengths of the spans */
    double work_ticks;   /**< what samples in them stand for, of all threads */
    double any_ticks;    /**< and of any */
    struct cover cover;
    uint64_t n_samples;
    unsigned workers; /**< the most threads seen at work in one span and right before and after */
};

struct concurrency {
    struct rl_samples *samples;
    bool *is_waiting; /**< [n_module] of an OpenMP runtime: there threads wait, spinning */
    bool *is_apart; /**< [n_thread] works in regions of its own, beside those of the main thread */
    size_t
        *near_span;  /**< [n_thread] index + 1 of the last span that it was seen at work near to */
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

/* At work for this span's process, beside nobody else's regions. */
static bool is_work(const struct concurrency *c, const struct rl_sample_region_span *span,
                    const struct rl_sample_bucket *bucket)
{
    const struct rl_samples *s = c->samples;
    return !c->is_waiting[bucket->module] && !c->is_apart[bucket->thread] &&
           s->thread[bucket->thread].process == s->region_wall[span->wall].process;
}

static void add_span(struct concurrency *c, size_t number)
{
    const struct rl_samples *s = c->samples;
    const struct rl_sample_region_span *span = &s->region_span[number];
    struct sum *sum = &c->sum[span->wall];
    double begin = tick_of(s, span->begin_ns), end = tick_of(s, span->end_ns);
    unsigned workers = 0;
    sum->inside_ticks += end - begin;
    for (size_t i = first_point(s, begin - NEAR_TICKS);
         i < s->n_point && s->point[i].tick <= end + NEAR_TICKS; i++) {
        const struct rl_sample_point *point = &s->point[i];
        const struct rl_sample_bucket *bucket = &s->bucket[point->bucket];
        if (!is_work(c, span, bucket))
            continue;
        workers += c->near_span[bucket->thread] != number + 1;
        c->near_span[bucket->thread] = number + 1;
        double at = time_of(point);
        if (at < begin || at >= end)
            continue;
        sum->work_ticks += point->ticks;
        sum->any_ticks += cover_add(&sum->cover, point);
        sum->n_samples++;
    }
    sum->workers = workers > sum->workers ? workers : sum->workers;
}

/* CPU time over wall time is right however short the region is, but leaves out threads that wait or
 * are in the kernel; what is seen at the same time leaves out none that work, but of a region
 * shorter than the sampling period little is seen at the same time. One sample in a region much
 * shorter than its period would stand for many threads: there are no more than worked near it. */
static double threads_of(const struct concurrency *c, size_t wall)
{
    const struct rl_samples *s = c->samples;
    const struct sum *sum = &c->sum[wall];
    double over_wall =
        sum->inside_ticks > 0 ? sum->work_ticks / s->point_fraction / sum->inside_ticks : 0;
    double at_once = sum->any_ticks > 0 ? sum->work_ticks / sum->any_ticks : 0;
    return fmin(fmax(over_wall, at_once), fmax(sum->workers, 1));
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
    qsort(s->region_span, s->n_region_span, sizeof *s->region_span, by_begin);
    for (size_t i = 0; i < s->n_region_span; i++)
        add_span(c, i);
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
        .near_span = calloc(samples->n_thread + 1, sizeof *c.near_span),
        .sum = calloc(samples->n_region_wall + 1, sizeof *c.sum),
    };
    bool has_memory = c.is_waiting && c.is_apart && c.near_span && c.sum;
    if (has_memory)
        sum_spans(&c);
    free(c.is_waiting);
    free(c.is_apart);
    free(c.near_span);
    free(c.sum);
    return has_memory ? RL_OK : rl_fail(err, RL_ENOMEM, "out of memory for regions");
}
