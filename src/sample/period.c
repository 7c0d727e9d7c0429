#include "sample/period.h"
#include "base/array.h"

#include <stdlib.h>

static bool same_tid(const void *context, uint32_t position, const void *key)
{
    const struct periods *p = context;
    return p->thread[position].tid == *(const int32_t *)key;
}

static uint32_t find_thread(const struct periods *p, int32_t tid)
{
    return index_find(&p->threads, index_mix(0, (uint64_t)(uint32_t)tid), same_tid, p, &tid);
}

uint64_t period_draw(struct periods *p)
{
    uint64_t half_ns = p->nominal_ns / 2;
    p->random ^= p->random << 13; /* Marsaglia's xorshift64 */
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return p->nominal_ns - half_ns / 2 + (half_ns ? p->random % half_ns : 0);
}

bool period_change(struct periods *p, uint64_t time_ns, uint64_t period_ns)
{
    struct period_change *change = rl_array_append(&p->change, &p->n_change, sizeof *change);
    if (change)
        *change = (struct period_change){time_ns, period_ns};
    return change != NULL;
}

/* The last change at or before the time; a sample is seldom older than a few of them. */
static uint64_t in_force(const struct periods *p, uint64_t time_ns)
{
    for (size_t i = p->n_change; i-- > 0;) {
        if (p->change[i].time_ns <= time_ns || i == 0)
            return p->change[i].period_ns;
    }
    return p->nominal_ns;
}

bool period_born(struct periods *p, int32_t tid, uint64_t time_ns)
{
    uint32_t at = find_thread(p, tid);
    if (at == INDEX_NONE) {
        struct period_thread *thread = rl_array_append(&p->thread, &p->n_thread, sizeof *thread);
        if (!thread)
            return false;
        thread->tid = tid;
        at = (uint32_t)(p->n_thread - 1);
        if (!index_add(&p->threads, index_mix(0, (uint64_t)(uint32_t)tid), at))
            return false;
    }
    p->thread[at].period_ns = in_force(p, time_ns);
    return true;
}

uint64_t period_of(const struct periods *p, int32_t tid, uint64_t time_ns)
{
    uint32_t at = find_thread(p, tid);
    return at == INDEX_NONE ? in_force(p, time_ns) : p->thread[at].period_ns;
}

void period_release(struct periods *p)
{
    free(p->change);
    free(p->thread);
    index_release(&p->threads);
    *p = (struct periods){0};
}
