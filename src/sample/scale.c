#include "sample/scale.h"

/* Of a process, on average: 60 ticks at 250 a second, and what chance does to either side. Ticks
 * decide what of a process is user time; of one that none met in the kernel all of it is. */
#define MIN_USER_S 0.25
#define MIN_FACTOR 1.02
#define MAX_FACTOR 2.0

double samples_scale(struct rl_samples *s)
{
    double factor = s->sampled_s > 0 ? s->user_s / s->sampled_s : 1;
    double of_each_s = s->user_s / (s->n_process > 1 ? (double)s->n_process : 1);
    if (s->children_left || of_each_s < MIN_USER_S || factor < MIN_FACTOR || factor > MAX_FACTOR)
        return 1;
    for (size_t i = 0; i < s->n_bucket; i++)
        s->bucket[i].cpu_s *= factor;
    for (size_t i = 0; i < s->n_thread; i++)
        s->thread[i].cpu_s *= factor;
    s->sampled_s *= factor;
    return factor;
}
