/* Memory rates that moved since a machine was measured: on a shared host they double and halve
 * within the hour, and a kernel would stand far above or below a roof that is no more. */
#include "ceilings/ceilings.h"

#include <math.h>
#include <string.h>

static struct rl_memory_ceiling *find(const struct rl_machine *machine, const char *id)
{
    for (size_t i = 0; i < machine->n_memory; i++)
        if (strcmp(machine->memory[i].id, id) == 0)
            return &machine->memory[i];
    return NULL;
}

void rl_refresh_keep_faster(struct rl_machine *fresh, const struct rl_machine *again)
{
    for (size_t i = 0; i < fresh->n_memory; i++) {
        const struct rl_memory_ceiling *other = find(again, fresh->memory[i].id);
        if (other && other->rate.value > fresh->memory[i].rate.value)
            fresh->memory[i].rate = other->rate;
    }
}

bool rl_refresh_drift(const struct rl_machine *then, const struct rl_machine *now, double tolerance,
                      struct rl_drift *ret_drift)
{
    double furthest = log1p(tolerance);
    bool moved = false;
    for (size_t i = 0; i < now->n_memory; i++) {
        const struct rl_memory_ceiling *old = find(then, now->memory[i].id);
        if (!old || !(old->rate.value > 0) || !(now->memory[i].rate.value > 0))
            continue;
        double distance = fabs(log(now->memory[i].rate.value / old->rate.value));
        if (distance <= furthest)
            continue;
        furthest = distance;
        moved = true;
        *ret_drift = (struct rl_drift){.id = old->id,
                                       .then_bytes_per_s = old->rate.value,
                                       .now_bytes_per_s = now->memory[i].rate.value};
    }
    return moved;
}

/* How the plain load of this level and number of threads moved; 1 when it was not measured again.
 */
static double load_ratio(const struct rl_machine *machine, const struct rl_machine *fresh,
                         const struct rl_memory_ceiling *ceiling)
{
    for (size_t i = 0; i < fresh->n_memory; i++) {
        const struct rl_memory_ceiling *now = &fresh->memory[i];
        if (strcmp(now->level, ceiling->level) != 0 || now->threads != ceiling->threads ||
            strcmp(now->pattern, "load") != 0)
            continue;
        const struct rl_memory_ceiling *old = find(machine, now->id);
        return old && old->rate.value > 0 ? now->rate.value / old->rate.value : 1;
    }
    return 1;
}

void rl_refresh_apply(struct rl_machine *machine, const struct rl_machine *fresh)
{
    for (size_t i = 0; i < machine->n_memory; i++) {
        struct rl_memory_ceiling *m = &machine->memory[i];
        double ratio = load_ratio(machine, fresh, m);
        if (find(fresh, m->id) || ratio == 1)
            continue;
        m->rate = rl_value(m->rate.value * ratio, RL_SOURCE_MODELLED, m->rate.spread);
        m->per_cycle *= ratio;
    }
    for (size_t i = 0; i < fresh->n_memory; i++) {
        struct rl_memory_ceiling *m = find(machine, fresh->memory[i].id);
        if (!m)
            continue;
        m->rate = fresh->memory[i].rate;
        m->per_cycle = fresh->memory[i].per_cycle;
        m->contended = fresh->memory[i].contended;
    }
}
