#include "base/error.h"
#include "topology/topology.h"

#include <stdlib.h>

void rl_places_release(struct rl_places *places)
{
    free(places->cpu);
    *places = (struct rl_places){0};
}

enum rl_status rl_places_pick(const struct rl_places *places, unsigned threads, int *ret_cpu,
                              struct rl_error *err)
{
    if (threads == 0 || threads > places->n)
        return rl_fail(err, RL_EINVAL,
                       "%u threads cannot be placed: %zu hardware threads may be used", threads,
                       places->n);
    unsigned most_siblings = 0;
    for (size_t i = 0; i < places->n; i++)
        if (places->cpu[i].sibling > most_siblings)
            most_siblings = places->cpu[i].sibling;
    unsigned n = 0;
    for (unsigned sibling = 0; sibling <= most_siblings; sibling++)
        for (unsigned kind = 0; kind < places->n_kinds; kind++)
            for (size_t i = 0; i < places->n && n < threads; i++)
                if (places->cpu[i].sibling == sibling && places->cpu[i].kind == kind)
                    ret_cpu[n++] = places->cpu[i].cpu;
    return RL_OK;
}
