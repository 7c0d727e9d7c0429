#include "profile/region_threads.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* A program that used this many times its wall time on processors had more threads than one. */
#define ONE_THREAD 1.1

/* Half of a 95 % interval, in standard deviations; that of n samples is their root. */
#define HALF_INTERVAL 1.96

/* Of threads in a region, those that its process's main thread is in, and others that are not but
 * work for it. Elsewhere threads are in a region by being in it themselves. */
struct threads {
    double inside_s;  /* time of all threads in it, as marked */
    double at_work_s; /* the same, or what samples show to be more */
    double main_s;    /* of it, that of main threads */
    bool is_seen;
    uint64_t n_samples;
};

static void add_process(const struct rl_samples *s, const char *name,
                        const struct rl_sample_region_wall *wall, struct threads *threads)
{
    double inside_s = 0, main_s = 0;
    for (size_t i = 0; i < s->n_region; i++) {
        const struct rl_sample_region *region = &s->region[i];
        if (region->process != wall->process || strcmp(region->name, name) != 0)
            continue;
        inside_s += region->time_s;
        if (region->tid == s->process[wall->process].pid)
            main_s += region->time_s;
    }
    threads->inside_s += inside_s;
    threads->at_work_s += fmax(inside_s, wall->threads * main_s);
    threads->main_s += main_s;
    threads->is_seen |= wall->n_samples > 0;
    threads->n_samples += wall->n_samples;
}

/* Threads that are begun elsewhere are seen by samples only; one alone needs none. */
enum rl_status region_threads(const struct rl_samples *s, const char *name, double wall_s,
                              struct rl_kernel *kernel, struct rl_error *err)
{
    struct threads threads = {0};
    for (size_t i = 0; i < s->n_region_wall; i++)
        if (!strcmp(s->region_wall[i].name, name))
            add_process(s, name, &s->region_wall[i], &threads);
    bool is_alone = s->user_s + s->system_s < ONE_THREAD * s->elapsed_s;
    bool is_of_main = threads.main_s > 0 && threads.main_s == threads.inside_s;
    if (is_of_main && !threads.is_seen && !is_alone)
        return rl_missing_add(
            &kernel->missing, "threads",
            "no sample fell into it that would tell how many threads worked there", err);
    bool is_sampled = threads.at_work_s > threads.inside_s;
    double spread = is_sampled ? HALF_INTERVAL / sqrt((double)threads.n_samples) : 0;
    kernel->threads = rl_value(threads.at_work_s / wall_s,
                               is_sampled ? RL_SOURCE_SAMPLED : RL_SOURCE_MEASURED, spread);
    return RL_OK;
}
