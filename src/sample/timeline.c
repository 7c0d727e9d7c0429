#include "sample/timeline.h"
#include "base/array.h"
#include "base/error.h"
#include "sample/cover.h"

#include <math.h>
#include <stdlib.h>

/* 24 million points are 288 MiB: about eight minutes of sixteen busy threads at 3 kHz. */
#define DEFAULT_MAX_POINTS ((size_t)24 << 20)
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

/* Both ends are cut to ticks alike, so that what follows on each other in time does so in ticks,
 * and the length of many is right. */
enum rl_status timeline_add(struct timeline *line, uint32_t bucket, uint64_t since_start_ns,
                            uint64_t weight_ns, struct rl_error *err)
{
    uint64_t tick = since_start_ns / line->tick_ns;
    uint64_t begin_ns = since_start_ns > weight_ns ? since_start_ns - weight_ns : 0;
    uint64_t span = tick - begin_ns / line->tick_ns;
    line->n_offered++;
    if (tick >= UINT32_MAX || !is_kept(line, (uint32_t)tick))
        return RL_OK;
    if (line->out->n_point >= line->max_points)
        thin(line);
    struct rl_sample_point *point =
        rl_array_append(&line->out->point, &line->out->n_point, sizeof *point);
    if (!point)
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    *point = (struct rl_sample_point){
        .bucket = bucket,
        .tick = (uint32_t)tick,
        .ticks = span < UINT16_MAX ? (uint16_t)span : UINT16_MAX,
        .part = (uint16_t)(since_start_ns % line->tick_ns * RL_SAMPLE_TICK_PARTS / line->tick_ns),
    };
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

static void add_walls(const struct rl_samples *s, const uint32_t *group_of_bucket,
                      struct cover *cover, struct rl_sample_time *time)
{
    for (size_t i = 0; i < s->n_point; i++) {
        uint32_t group = group_of_bucket[s->point[i].bucket];
        if (group == RL_SAMPLE_NO_GROUP)
            continue;
        time[group].threads += s->point[i].ticks;
        time[group].wall_s += cover_add(&cover[group], &s->point[i]);
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
    struct cover *cover = calloc(n_group + 1, sizeof *cover);
    uint32_t *entries = calloc(n_group + 1, sizeof *entries);
    if (!time || !cover || !entries || !count_entries(samples, group_of_bucket, entries)) {
        free(time);
        free(cover);
        free(entries);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    for (size_t i = 0; i < samples->n_bucket; i++) {
        if (group_of_bucket[i] == RL_SAMPLE_NO_GROUP)
            continue;
        time[group_of_bucket[i]].cpu_s += samples->bucket[i].cpu_s;
        time[group_of_bucket[i]].n_samples += samples->bucket[i].n_samples;
    }
    add_walls(samples, group_of_bucket, cover, time);
    for (size_t i = 0; i < n_group; i++) {
        struct rl_sample_time *t = &time[i];
        /* Until here `threads` is in ticks, of all threads, and so is `wall_s`, of any. */
        t->threads = t->wall_s > 0 ? fmax(t->threads / t->wall_s, 1) : t->n_samples ? 1 : 0;
        t->wall_s = t->threads > 0 ? t->cpu_s / t->threads : 0;
        t->spread = sampling_spread(samples, t->n_samples, entries[i]);
        ret_time[i] = *t;
    }
    free(time);
    free(cover);
    free(entries);
    return RL_OK;
}

/* The most threads that have samples within one period. @return false without memory. */
static bool count_threads(const struct rl_samples *s, unsigned *ret_most)
{
    uint32_t *n = calloc(s->n_thread + 1, sizeof *n);
    unsigned present = 0;
    size_t begin = 0;
    for (size_t i = 0; n && i < s->n_point; i++) {
        present += n[s->bucket[s->point[i].bucket].thread]++ == 0;
        for (; s->point[begin].tick + (uint64_t)TIMELINE_TICKS <= s->point[i].tick; begin++)
            present -= --n[s->bucket[s->point[begin].bucket].thread] == 0;
        *ret_most = present > *ret_most ? present : *ret_most;
    }
    bool is_counted = n != NULL;
    free(n);
    return is_counted;
}

enum rl_status timeline_finish(struct timeline *line, struct rl_error *err)
{
    struct rl_samples *out = line->out;
    if (line->n_offered)
        out->point_fraction = (double)out->n_point / (double)line->n_offered;
    if (!is_sorted(out))
        qsort(out->point, out->n_point, sizeof *out->point, by_tick);
    uint32_t *all = calloc(out->n_bucket + 1, sizeof *all);
    if (!all || !count_threads(out, &out->max_threads)) {
        free(all);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    struct rl_sample_time time = {0};
    enum rl_status status = rl_samples_group(out, all, 1, &time, err);
    out->mean_threads = time.threads;
    free(all);
    return status;
}
