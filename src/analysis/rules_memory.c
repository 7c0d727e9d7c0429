/* Rules for kernels held back by a memory level. */
#include "analysis/advice.h"

#include "base/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_WILLIAMS "Williams, Waterman, Patterson, CACM 52(4), 2009"
#define SOURCE_HAGER    "Hager and Wellein, Introduction to High Performance Computing, 2010, ch. 3"

static bool is_memory_bound(const struct rl_evidence *e)
{
    return e->memory &&
           (e->place->verdict == RL_VERDICT_MEMORY || e->place->verdict == RL_VERDICT_NO_FLOP ||
            (e->place->verdict == RL_VERDICT_NEAR_RIDGE));
}

/* Time the kernel would still need if the traffic of its binding level shrank to `bytes`. */
static double gain_if_traffic(const struct rl_evidence *e, double bytes)
{
    double left_s = bytes / e->memory->ceiling_rate;
    for (unsigned i = 0; i < e->place->n_resource; i++) {
        const struct rl_resource *r = &e->place->resource[i];
        if (r != e->memory)
            left_s = fmax(left_s, r->bound_time_s);
    }
    return left_s > 0 ? e->memory->bound_time_s / left_s : 0;
}

/* The cache one step nearer to the core than `level`, with a known size; NULL if none. */
static const struct rl_level *nearer_cache(const struct rl_machine *machine, const char *level)
{
    const struct rl_level *best = NULL;
    for (size_t i = 0; i < machine->topology.n_levels; i++) {
        const struct rl_level *l = &machine->topology.levels[i];
        if (rl_level_rank(l->name) < rl_level_rank(level) && l->size_bytes &&
            (!best || rl_level_rank(l->name) > rl_level_rank(best->name)))
            best = l;
    }
    return best;
}

static bool reuse(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 1.5;
    if (!is_memory_bound(e) || strcmp(e->memory->level, "L1") == 0)
        return false;
    const struct rl_traffic *t = rl_kernel_find_traffic(e->kernel, e->memory->level);
    if (!t || !rl_known(t->compulsory) || !(t->compulsory.value > 0) ||
        t->bytes.value < worth_it * t->compulsory.value)
        return false;
    const struct rl_level *cache = nearer_cache(e->machine, e->memory->level);
    char moved[32], least[32], room[32] = "", where[80] = "a nearer cache";
    rl_format_si(moved, sizeof moved, t->bytes.value, "B");
    rl_format_si(least, sizeof least, t->compulsory.value, "B");
    if (cache)
        snprintf(where, sizeof where, "%s (%s)", cache->name,
                 rl_format_size(room, sizeof room, cache->size_bytes));
    *ret_gain = gain_if_traffic(e, t->compulsory.value);
    snprintf(text, size,
             "moves %s through %s where %s would do (%.1fx): tile the loops so that data is reused "
             "from %s",
             moved, e->memory->level, least, t->bytes.value / t->compulsory.value, where);
    return true;
}

static bool at_floor(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double close = 1.1, near_roof = 0.8;
    if (!is_memory_bound(e) || strcmp(e->memory->level, "L1") == 0)
        return false;
    const struct rl_traffic *t = rl_kernel_find_traffic(e->kernel, e->memory->level);
    if (!t || !rl_known(t->compulsory) || t->bytes.value > close * t->compulsory.value ||
        e->memory->utilization < near_roof)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "runs at %.0f %% of the %s roof and moves no more than it must: only fusing it with a "
             "neighbouring loop, a smaller data type or another algorithm makes it faster",
             100 * e->memory->utilization, e->memory->level);
    return true;
}

static bool write_allocate(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 0.1;
    if (!is_memory_bound(e) || rl_level_rank(e->memory->level) < rl_level_rank("DRAM"))
        return false;
    const struct rl_traffic *t = rl_kernel_find_traffic(e->kernel, e->memory->level);
    if (!t || !rl_known(t->write_allocate) || t->write_allocate.value < worth_it * t->bytes.value)
        return false;
    *ret_gain = gain_if_traffic(e, t->bytes.value - t->write_allocate.value);
    snprintf(
        text, size,
        "%.0f %% of its %s traffic reads lines only to overwrite them: non-temporal (streaming) "
        "stores save that",
        100 * t->write_allocate.value / t->bytes.value, e->memory->level);
    return true;
}

static bool fewer_loads(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (!is_memory_bound(e) || strcmp(e->memory->level, "L1") != 0)
        return false;
    double ai = rl_intensity(e->kernel, "L1");
    *ret_gain = e->compute ? e->memory->bound_time_s / e->compute->bound_time_s : 0;
    if (ai > 0)
        snprintf(text, size,
                 "asks L1 for a byte every %.2g FLOP: keep values in registers (unroll and jam, "
                 "register blocking) and use full-width loads",
                 ai);
    else
        snprintf(text, size,
                 "is bound by loads and stores to L1: keep values in registers and use full-width "
                 "accesses");
    return true;
}

static bool more_threads(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 1.2;
    unsigned cores = e->machine->topology.usable_cores;
    if (!is_memory_bound(e) || e->place->threads >= cores)
        return false;
    double scale = 1;
    const struct rl_memory_ceiling *all =
        rl_bandwidth(e->machine, e->memory->level, &e->mix, cores, &scale);
    double factor = all ? all->rate.value * scale / e->memory->ceiling_rate : 0;
    if (factor < worth_it)
        return false;
    *ret_gain = factor;
    snprintf(text, size,
             "uses %u of %u cores: %s delivers %.1fx the bandwidth to all of them together",
             e->place->threads, cores, e->memory->level, factor);
    return true;
}

static bool access_pattern(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double low = 0.5, high = 0.8;
    if (!is_memory_bound(e) || strcmp(e->memory->level, "L1") == 0 ||
        e->memory->utilization < low || e->memory->utilization >= high)
        return false;
    *ret_gain = 1 / e->memory->utilization;
    snprintf(
        text, size,
        "reaches %.0f %% of the %s bandwidth: make accesses contiguous, let several streams run "
        "at once, and back large arrays with huge pages",
        100 * e->memory->utilization, e->memory->level);
    return true;
}

static const struct rl_rule rules[] = {
    {.id = "memory.reuse",
     .summary = "traffic at the binding level exceeds the compulsory traffic by half or more",
     .source = SOURCE_WILLIAMS,
     .speak = reuse},
    {.id = "memory.write-allocate",
     .summary = "a tenth or more of the memory traffic is reading lines that are overwritten",
     .source = SOURCE_HAGER,
     .speak = write_allocate},
    {.id = "memory.registers",
     .summary = "L1 binds: loads and stores, not where the data lies",
     .source = SOURCE_HAGER,
     .speak = fewer_loads},
    {.id = "memory.threads",
     .summary = "one thread cannot draw the bandwidth that all cores can",
     .source = SOURCE_HAGER,
     .last_resort = true,
     .speak = more_threads},
    {.id = "memory.pattern",
     .summary = "between half and four fifths of the bandwidth is reached",
     .source = SOURCE_WILLIAMS,
     .speak = access_pattern},
    {.id = "memory.floor",
     .summary = "at the roof with no more than compulsory traffic",
     .source = SOURCE_WILLIAMS,
     .speak = at_floor},
};

const struct rl_rule_table rl_rules_memory = {rules, sizeof rules / sizeof rules[0]};
