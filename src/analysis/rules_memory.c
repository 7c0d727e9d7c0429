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

/* Far from every roof, but a memory level is the nearest of them, and not by an idle margin. */
static bool leans_on_memory(const struct rl_evidence *e)
{
    const double some = 0.25;
    return e->memory && e->place->verdict == RL_VERDICT_LATENCY && e->memory->utilization >= some &&
           rl_memory_is_nearest(e);
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

/* Bytes read through `t`'s level for every byte that the instructions load, at the least that its
 * error allows; 0 unknown. */
static double read_per_load(const struct rl_evidence *e, const struct rl_traffic *t)
{
    if (!rl_known(t->read) || !rl_known(e->kernel->load_bytes) ||
        !(e->kernel->load_bytes.value > 0))
        return 0;
    return t->read.value * (1 - t->read.spread) / e->kernel->load_bytes.value;
}

static bool stride(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 1.5;
    bool latency = e->place->verdict == RL_VERDICT_LATENCY;
    if ((!is_memory_bound(e) && !latency) || rl_awaited_latency(e))
        return false;
    const struct rl_traffic *worst = NULL;
    double most = worth_it;
    for (size_t i = 0; i < e->kernel->n_traffic; i++) {
        const struct rl_traffic *t = &e->kernel->traffic[i];
        double ratio = strcmp(t->level, "L1") == 0 ? 0 : read_per_load(e, t);
        if (ratio >= most && (latency || strcmp(t->level, e->memory->level) == 0)) {
            worst = t;
            most = ratio;
        }
    }
    if (!worst)
        return false;
    *ret_gain = latency ? 0 : gain_if_traffic(e, worst->bytes.value / most);
    snprintf(text, size,
             "reads %.1f bytes through %s for every byte it loads: most of each cache line goes "
             "unused, so walk arrays in the order they are stored (interchange loops, transpose or "
             "pack what is walked across) and keep together what is used together",
             most, worst->level);
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
    bool leans = leans_on_memory(e);
    if ((!is_memory_bound(e) && !leans) || strcmp(e->memory->level, "L1") != 0)
        return false;
    double ai = rl_intensity(e->kernel, "L1");
    if (leans)
        *ret_gain = 1 / e->memory->utilization;
    else
        *ret_gain = e->compute ? e->memory->bound_time_s / e->compute->bound_time_s : 0;
    if (ai > 0)
        snprintf(text, size,
                 "moves %.2g bytes to and from L1 for every FLOP: keep values in registers (unroll "
                 "and jam, register blocking) and use full-width loads",
                 1 / ai);
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
    bool between = is_memory_bound(e) && e->memory->utilization >= low;
    if ((!between && !leans_on_memory(e)) || strcmp(e->memory->level, "L1") == 0 ||
        e->memory->utilization >= high)
        return false;
    *ret_gain = 1 / e->memory->utilization;
    snprintf(
        text, size,
        "reaches %.0f %% of the %s bandwidth: make accesses contiguous, let several streams run "
        "at once, and back large arrays with huge pages",
        100 * e->memory->utilization, e->memory->level);
    return true;
}

/* 0: unknown. */
static double bytes_of(const struct rl_traffic *t)
{
    return rl_known(t->bytes) ? t->bytes.value : 0;
}

/* Without what a cache fetches in order to write to it, which is as much as is written at most:
 * that is no puzzle and has a rule of its own. */
static double bytes_asked_of(const struct rl_traffic *t)
{
    struct rl_value fetched = rl_known(t->write_allocate) ? t->write_allocate : t->write;
    return bytes_of(t) - (rl_known(fetched) ? fetched.value : 0);
}

/* Levels nearer to the core usually move more, so that intensity grows outwards. Where it does not,
 * readers suspect an error. */
static bool unusual_order(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double noticeable = 1.5;
    const struct rl_traffic *inner = NULL, *outer = NULL;
    for (size_t i = 0; i < e->kernel->n_traffic; i++) {
        for (size_t j = 0; j < e->kernel->n_traffic; j++) {
            const struct rl_traffic *a = &e->kernel->traffic[i], *b = &e->kernel->traffic[j];
            bool is_outwards = rl_level_rank(a->level) < rl_level_rank(b->level);
            bool is_odd =
                is_outwards && bytes_of(a) > 0 && bytes_asked_of(b) > noticeable * bytes_of(a);
            if (is_odd && (!inner || bytes_asked_of(b) / bytes_of(a) >
                                         bytes_asked_of(outer) / bytes_of(inner))) {
                inner = a;
                outer = b;
            }
        }
    }
    if (!inner)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "moves %.2g times as many bytes through %s (%s) as through %s (%s): lines that are "
             "fetched ahead, for a few of their bytes or past a cache count further out only; what "
             "binds is the level used most, whatever the order of intensities",
             bytes_of(outer) / bytes_of(inner), outer->level, rl_source_name(outer->bytes.source),
             inner->level, rl_source_name(inner->bytes.source));
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
    {.id = "memory.stride",
     .summary = "half as much again is read through a level than the instructions load",
     .source = SOURCE_HAGER,
     .turn = RL_TURN_FIRST,
     .speak = stride},
    {.id = "memory.registers",
     .summary = "L1 binds: loads and stores, not where the data lies",
     .source = SOURCE_HAGER,
     .speak = fewer_loads},
    {.id = "memory.threads",
     .summary = "one thread cannot draw the bandwidth that all cores can",
     .source = SOURCE_HAGER,
     .turn = RL_TURN_LAST_RESORT,
     .speak = more_threads},
    {.id = "memory.pattern",
     .summary = "a quarter to four fifths of the bandwidth of the nearest limit is reached",
     .source = SOURCE_WILLIAMS,
     .speak = access_pattern},
    {.id = "memory.floor",
     .summary = "at the roof with no more than compulsory traffic",
     .source = SOURCE_WILLIAMS,
     .speak = at_floor},
    {.id = "memory.order",
     .summary = "an outer level moves half as much again as an inner one, or worse",
     .source = SOURCE_WILLIAMS,
     .speak = unusual_order},
};

const struct rl_rule_table rl_rules_memory = {rules, sizeof rules / sizeof rules[0]};
