#include "sample/period.h"
#include "base/array.h"

#include <stdlib.h>

static bool same_event(const void *context, uint32_t position, const void *key)
{
    const struct periods *p = context;
    return p->opened[position] == *(const uint64_t *)key;
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

bool period_open(struct periods *p, uint64_t event)
{
    uint64_t *slot = rl_array_append(&p->opened, &p->n_opened, sizeof *slot);
    if (slot)
        *slot = event;
    return slot && index_add(&p->index, index_mix(0, event), (uint32_t)(p->n_opened - 1));
}

uint64_t period_of(const struct periods *p, uint64_t event, uint64_t own_ns, uint64_t time_ns)
{
    uint32_t at = index_find(&p->index, index_mix(0, event), same_event, p, &event);
    return at == INDEX_NONE && own_ns ? own_ns : in_force(p, time_ns);
}

void period_release(struct periods *p)
{
    free(p->change);
    free(p->opened);
    index_release(&p->index);
    *p = (struct periods){0};
}
