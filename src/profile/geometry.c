#include "profile/geometry.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define USUAL_WAYS_L1    8
#define USUAL_WAYS_OUTER 16

static bool is_amd(const struct rl_machine *machine)
{
    const char *vendor = machine->cpu.vendor;
    return vendor && (!strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine"));
}

/* More ways than the model has are as many sets more: capacity is what counts. */
static struct rl_cache_level convert(const struct rl_level *level, bool is_first, unsigned smt)
{
    uint32_t ways = level->ways ? level->ways : is_first ? USUAL_WAYS_L1 : USUAL_WAYS_OUTER;
    while (ways > RL_CACHE_WAYS_MAX)
        ways /= 2;
    uint64_t sets = level->size_bytes / RL_CACHE_LINE_BYTES / ways;
    return (struct rl_cache_level){
        .sets = sets < 1                   ? 1
                : sets > RL_CACHE_SETS_MAX ? RL_CACHE_SETS_MAX
                                           : (uint32_t)sets,
        .ways = ways,
        .shared = !is_first && level->shared_by > (smt ? smt : 1),
        .policy = RL_CACHE_NON_INCLUSIVE,
    };
}

enum rl_status geometry_of(const struct rl_machine *machine, struct rl_cache_geometry *ret,
                           struct rl_error *err)
{
    struct rl_cache_geometry g = {0};
    for (unsigned i = 0; i < RL_CACHE_LEVELS_MAX; i++) {
        char name[RL_WORD_LEN];
        snprintf(name, sizeof name, "L%u", i + 1);
        const struct rl_level *level = rl_machine_level(machine, name);
        if (!level || !level->size_bytes)
            break;
        g.level[i] = convert(level, i == 0, machine->topology.smt);
        if (i && g.level[i - 1].shared)
            g.level[i].shared = true;
        g.n_levels = i + 1;
    }
    if (!g.n_levels)
        return rl_fail(err, RL_ENODATA, "the caches of this machine are not known");
    if (g.n_levels > 2 && is_amd(machine))
        g.level[g.n_levels - 1].policy = RL_CACHE_VICTIM;
    /* A record measured in a container may say nothing of sharing: the last cache is shared. */
    if (g.n_levels > 2)
        g.level[g.n_levels - 1].shared = true;
    *ret = g;
    return RL_OK;
}
