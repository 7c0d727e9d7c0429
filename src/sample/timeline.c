#include "sample/timeline.h"
#include "base/array.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/* 32 million points are 256 MiB: about ten minutes of sixteen busy threads at 3 kHz. */
#define DEFAULT_MAX_POINTS ((size_t)1 << 25)
/* Thinning drops whole frames of this many periods, so that what is kept stays dense. */
#define FRAME_TICKS (TIMELINE_TICKS * 64)

struct timeline {
    struct rl_samples *out;
    size_t max_points;
    uint64_t tick_ns;
    uint64_t n_offered;
    uint32_t stride; /**< every stride-th frame is kept */
};

enum rl_status timeline_new(struct rl_samples *samples, uint64_t period_ns, size_t max_points,
                            struct timeline **ret, struct rl_error *err)
{
    struct timeline *line = calloc(1, sizeof *line);
    if (!line)
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    line->out = samples;
    line->max_points = max_points ? max_points : DEFAULT_MAX_POINTS;
    line->tick_ns = period_ns < TIMELINE_TICKS ? 1 : period_ns / TIMELINE_TICKS;
    line->stride = 1;
    samples->tick_s = (double)line->tick_ns * 1e-9;
    samples->point_fraction = 1;
    *ret = line;
    return RL_OK;
}

void timeline_free(struct timeline *line)
{
    free(line);
}

static bool is_kept(const struct timeline *line, uint32_t tick)
{
    return tick / FRAME_TICKS % line->stride == 0;
}

static void thin(struct timeline *line)
{
    size_t kept = 0;
    struct rl_sample_point *point = line->out->point;
    line->stride *= 2;
    for (size_t i = 0; i < line->out->n_point; i++) {
        if (is_kept(line, point[i].tick))
            point[kept++] = point[i];
    }
    line->out->n_point = kept;
}

enum rl_status timeline_add(struct timeline *line, uint32_t bucket, uint64_t since_start_ns,
                            struct rl_error *err)
{
    uint64_t tick = since_start_ns / line->tick_ns;
    line->n_offered++;
    if (tick >= UINT32_MAX || !is_kept(line, (uint32_t)tick))
        return RL_OK;
    if (line->out->n_point >= line->max_points)
        thin(line);
    struct rl_sample_point *point =
        rl_array_append(&line->out->point, &line->out->n_point, sizeof *point);
    if (!point)
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    *point = (struct rl_sample_point){bucket, (uint32_t)tick};
    return RL_OK;
}

static int by_tick(const void *a, const void *b)
{
    const struct rl_sample_point *p = a;
    const struct rl_sample_point *q = b;
    return p->tick < q->tick ? -1 : p->tick > q->tick;
}

static bool is_sorted(const struct rl_samples *s)
{
    for (size_t i = 1; i < s->n_point; i++) {
        if (s->point[i].tick < s->point[i - 1].tick)
            return false;
    }
    return true;
}

/* Walking the points in time order with a window of one period centred on each: how many samples
 * of each group, and of one thread in it, the window holds. */
struct window {
    const struct rl_samples *samples;
    const uint32_t *group_of_bucket;
    uint32_t *in_group; /**< [n_group] */
    size_t begin, end;  /**< points in the window */
};

static void window_count(struct window *w, size_t i, int by)
{
    uint32_t group = w->group_of_bucket[w->samples->point[i].bucket];
    if (group != RL_SAMPLE_NO_GROUP)
        w->in_group[group] += (uint32_t)by;
}

static void window_move(struct window *w, size_t centre)
{
    const struct rl_sample_point *point = w->samples->point;
    uint64_t tick = point[centre].tick;
    while (w->end < w->samples->n_point && point[w->end].tick < tick + TIMELINE_TICKS / 2)
        window_count(w, w->end++, 1);
    while (point[w->begin].tick + (uint64_t)(TIMELINE_TICKS / 2) < tick)
        window_count(w, w->begin++, -1);
}

/* Samples of the same thread and group near the centre, itself included. */
static uint32_t own_samples(const struct window *w, size_t centre, uint32_t group)
{
    const struct rl_samples *s = w->samples;
    uint32_t thread = s->bucket[s->point[centre].bucket].thread;
    uint32_t n = 0;
    for (size_t i = w->begin; i < w->end; i++) {
        uint32_t bucket = s->point[i].bucket;
        n += s->bucket[bucket].thread == thread && w->group_of_bucket[bucket] == group;
    }
    return n;
}

static void add_walls(struct window *w, struct rl_sample_time *time)
{
    for (size_t i = 0; i < w->samples->n_point; i++) {
        window_move(w, i);
        uint32_t group = w->group_of_bucket[w->samples->point[i].bucket];
        if (group == RL_SAMPLE_NO_GROUP)
            continue;
        uint32_t threads = 1 + w->in_group[group] - own_samples(w, i, group);
        time[group].wall_s += 1.0 / threads;
        time[group].threads += 1;
    }
}

/* How often a thread was seen to come into each group: [n_group] of entries. */
static bool count_entries(const struct rl_samples *samples, const uint32_t *group_of_bucket,
                          uint32_t *entries)
{
    uint32_t *last = malloc((samples->n_thread + 1) * sizeof *last);
    if (!last)
        return false;
    for (size_t i = 0; i < samples->n_thread; i++)
        last[i] = RL_SAMPLE_NO_GROUP;
    for (size_t i = 0; i < samples->n_point; i++) {
        uint32_t bucket = samples->point[i].bucket;
        uint32_t group = group_of_bucket[bucket];
        uint32_t *before = &last[samples->bucket[bucket].thread];
        if (group != RL_SAMPLE_NO_GROUP && group != *before)
            entries[group]++;
        *before = group;
    }
    free(last);
    return true;
}

/* Samples are taken at regular times, so a stretch within one group is known to about a sample, no
 * matter how long: the number of samples varies by the square root of the number of stretches. When
 * groups change faster than samples come, that is the binomial variance. */
static double sampling_spread(const struct rl_samples *samples, uint64_t n, uint32_t entries)
{
    double stretches = entries ? entries / samples->point_fraction : 1;
    if (!n)
        return 0;
    return 1.96 * sqrt(stretches < (double)n ? stretches : (double)n) / (double)n;
}

enum rl_status rl_samples_group(const struct rl_samples *samples, const uint32_t *group_of_bucket,
                                size_t n_group, struct rl_sample_time *ret_time,
                                struct rl_error *err)
{
    for (size_t i = 0; i < samples->n_bucket; i++) {
        if (group_of_bucket[i] >= n_group && group_of_bucket[i] != RL_SAMPLE_NO_GROUP)
            return rl_fail(err, RL_EINVAL, "bucket %zu is in group %u of %zu", i,
                           group_of_bucket[i], n_group);
    }
    struct rl_sample_time *time = calloc(n_group + 1, sizeof *time);
    uint32_t *in_group = calloc(n_group + 1, sizeof *in_group);
    uint32_t *entries = calloc(n_group + 1, sizeof *entries);
    if (!time || !in_group || !entries || !count_entries(samples, group_of_bucket, entries)) {
        free(time);
        free(in_group);
        free(entries);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    for (size_t i = 0; i < samples->n_bucket; i++) {
        if (group_of_bucket[i] == RL_SAMPLE_NO_GROUP)
            continue;
        time[group_of_bucket[i]].cpu_s += samples->bucket[i].cpu_s;
        time[group_of_bucket[i]].n_samples += samples->bucket[i].n_samples;
    }
    struct window window = {samples, group_of_bucket, in_group, 0, 0};
    add_walls(&window, time);
    for (size_t i = 0; i < n_group; i++) {
        struct rl_sample_time *t = &time[i];
        /* Until here `threads` is the number of points and `wall_s` the sum of 1/threads. */
        t->threads = t->wall_s > 0 ? t->threads / t->wall_s : t->n_samples ? 1 : 0;
        t->wall_s = t->threads > 0 ? t->cpu_s / t->threads : 0;
        t->spread = sampling_spread(samples, t->n_samples, entries[i]);
        ret_time[i] = *t;
    }
    free(time);
    free(in_group);
    free(entries);
    return RL_OK;
}

enum rl_status timeline_finish(struct timeline *line, struct rl_error *err)
{
    struct rl_samples *out = line->out;
    if (line->n_offered)
        out->point_fraction = (double)out->n_point / (double)line->n_offered;
    if (!is_sorted(out))
        qsort(out->point, out->n_point, sizeof *out->point, by_tick);
    uint32_t *all = calloc(out->n_bucket + 1, sizeof *all);
    if (!all)
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    struct rl_sample_time time = {0};
    enum rl_status status = rl_samples_group(out, all, 1, &time, err);
    out->mean_threads = time.threads;
    uint32_t most = 0;
    struct window window = {out, all, &most, 0, 0};
    for (size_t i = 0; i < out->n_point; i++) {
        window_move(&window, i);
        uint32_t threads = 1 + most - own_samples(&window, i, 0);
        if (threads > out->max_threads)
            out->max_threads = threads;
    }
    free(all);
    return status;
}
