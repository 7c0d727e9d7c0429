/* Rules for kernels that no roof explains: latency, the ridge, no FLOP, above the roof, unknown. */
#include "analysis/advice.h"

#include "base/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_WILLIAMS "Williams, Waterman, Patterson, CACM 52(4), 2009"

/* The resource that was used most, in words. */
static void busiest(const struct rl_evidence *e, char *text, size_t size)
{
    const struct rl_resource *top = &e->place->resource[0];
    double percent = 100 * top->utilization;
    snprintf(text, size, percent < 0.95 ? "%s at %.1g %%" : "%s at %.0f %%", top->name, percent);
}

/* At least this part of a time or of an amount, and at most its inverse. */
static const double some = 0.5;

/* Whether a level handed inward as many lines as there are loads that wait for it; true where that
 * is not known. The first level hands on what is asked for, not lines. */
static bool sent_as_many_lines(const struct rl_kernel *kernel, const char *level)
{
    enum { LINE_BYTES = 64 };
    const struct rl_traffic *t = rl_kernel_find_traffic(kernel, level);
    if (!t || !rl_known(t->read) || strcmp(level, "L1") == 0)
        return true;
    return t->read.value >= some * kernel->latency_bound_loads.value * LINE_BYTES;
}

const struct rl_latency *rl_awaited_latency(const struct rl_evidence *e)
{
    if (e->place->verdict != RL_VERDICT_LATENCY || !rl_known(e->kernel->latency_bound_loads))
        return NULL;
    for (size_t i = 0; i < e->machine->n_latency; i++) {
        const struct rl_latency *l = &e->machine->latency[i];
        double share =
            e->kernel->latency_bound_loads.value * l->time_s.value / e->kernel->time_s.value;
        if (rl_known(l->time_s) && share > some && share < 1 / some &&
            sent_as_many_lines(e->kernel, l->level))
            return l;
    }
    return NULL;
}

static bool chain(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const struct rl_latency *awaited = rl_awaited_latency(e);
    if (!awaited)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "waits for dependent loads: %.3g of them at %s latency explain its time; walk several "
             "chains at once, prefetch, or store the data in order of use",
             e->kernel->latency_bound_loads.value, awaited->level);
    return true;
}

/* Of two threads that share a core each has at least half of it: what is slower has other causes.
 */
static bool disturbed(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worst_share = 0.5;
    const double good = 0.8;
    const struct rl_placement *p = e->place;
    double attained = fmax(p->attained, p->isa_attained);
    if (attained < worst_share || attained >= good ||
        !rl_missing_has(&e->kernel->missing, RL_UNDISTURBED_TIME))
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "shared its cores with other work whenever it was timed, which alone can explain %.0f "
             "%% of %s: time it again on a quiet machine before acting",
             100 * attained,
             p->isa_attained > p->attained ? "what its own instructions allow" : "its roof");
    return true;
}

static bool latency(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (e->place->verdict != RL_VERDICT_LATENCY)
        return false;
    char most[64];
    busiest(e, most, sizeof most);
    *ret_gain = 0;
    snprintf(text, size,
             "is far from every roof (%s): look for dependent loads, short or irregular loops, "
             "branch misses, waiting threads or time outside the loop",
             most);
    return true;
}

static bool short_calls(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double too_short_s = 10e-6;
    const struct rl_kernel *k = e->kernel;
    if (e->place->verdict != RL_VERDICT_LATENCY || !(e->flop > 0) || !rl_known(k->calls) ||
        !(k->calls.value > 0))
        return false; /* a small library function that computes nothing is no kernel to batch */
    double each_s = k->time_s.value / k->calls.value;
    if (each_s >= too_short_s)
        return false;
    char each[32];
    *ret_gain = 0;
    snprintf(text, size,
             k->kind == RL_KIND_LOOP
                 ? "takes only %s each time it is entered: its beginning and end weigh in; make it "
                   "longer (interchange or collapse loops) or unroll it whole"
                 : "takes only %s a call: start-up and call overhead weigh in; batch the calls",
             rl_format_time(each, sizeof each, each_s));
    return true;
}

static bool ridge(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (e->place->verdict != RL_VERDICT_NEAR_RIDGE || !e->memory || !e->compute)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "stands at the ridge (%s %.0f %%, %s %.0f %%): traffic and instructions must shrink "
             "together to gain",
             e->memory->name, 100 * e->memory->utilization, e->compute->name,
             100 * e->compute->utilization);
    return true;
}

static bool no_flop(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (e->place->verdict != RL_VERDICT_NO_FLOP || !e->memory)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "does no floating-point work and is judged on bandwidth: %.0f %% of %s (%s)",
             100 * e->memory->utilization, e->memory->level, e->memory->ceiling);
    return true;
}

static bool above_roof(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (e->place->verdict != RL_VERDICT_ABOVE_ROOF)
        return false;
    const struct rl_resource *top = &e->place->resource[0];
    *ret_gain = 0;
    if (top->is_memory)
        snprintf(text, size,
                 "stands %.2fx above %s: in order of likelihood, the data fit a nearer cache, the "
                 "bytes are the algorithm's and not the traffic, the roof was measured on a busy "
                 "machine, or kernel and roof cover different parts of the machine",
                 e->place->attained, top->ceiling);
    else
        snprintf(text, size,
                 "stands %.2fx above %s: in order of likelihood, the roof was measured at a lower "
                 "clock or on a busy machine, the FLOP are the algorithm's and not the executed "
                 "ones, the precision is another, or more cores worked than were counted",
                 e->place->attained, top->ceiling);
    return true;
}

static bool unknown(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (e->place->verdict != RL_VERDICT_UNKNOWN)
        return false;
    *ret_gain = 0;
    const struct rl_missing_list *missing = &e->kernel->missing;
    if (missing->n)
        snprintf(text, size, "cannot be judged: %s (%s: %s)", e->place->why, missing->item[0].what,
                 missing->item[0].why);
    else
        snprintf(text, size, "cannot be judged: %s", e->place->why);
    return true;
}

static bool unknown_levels(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double leaves_room = 0.8; /* above, an unknown level cannot explain much */
    enum rl_verdict v = e->place->verdict;
    bool names_one = v == RL_VERDICT_MEMORY || v == RL_VERDICT_COMPUTE ||
                     v == RL_VERDICT_NEAR_RIDGE || v == RL_VERDICT_NO_FLOP;
    if (!names_one || !e->place->beyond[0] || e->place->attained >= leaves_room)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "its %s traffic is not known: what is named needs most of what is known (%.0f %% of "
             "the time), and %s may need more",
             e->place->beyond, 100 * e->place->attained, e->place->beyond);
    return true;
}

static const struct rl_rule rules[] = {
    {.id = "time.disturbed",
     .summary = "half to four fifths of the roof, timed beside other work",
     .source = SOURCE_WILLIAMS,
     .turn = RL_TURN_FIRST,
     .speak = disturbed},
    {.id = "latency.chain",
     .summary = "the latency of dependent loads explains half of the time at least",
     .source = SOURCE_WILLIAMS,
     .turn = RL_TURN_FIRST,
     .speak = chain},
    {.id = "latency.cause",
     .summary = "no resource is used for more than half of the time",
     .source = SOURCE_WILLIAMS,
     .turn = RL_TURN_LAST_RESORT,
     .speak = latency},
    {.id = "latency.short",
     .summary = "calls of less than 10 microseconds; of loops, entries",
     .source = SOURCE_WILLIAMS,
     .speak = short_calls},
    {.id = "ridge.both",
     .summary = "memory and compute need about the same time",
     .source = SOURCE_WILLIAMS,
     .speak = ridge},
    {.id = "no-flop.bandwidth",
     .summary = "no floating-point operations",
     .source = SOURCE_WILLIAMS,
     .speak = no_flop},
    {.id = "above-roof.scope",
     .summary = "more than 105 % of a roof",
     .source = SOURCE_WILLIAMS,
     .speak = above_roof},
    {.id = "unknown.data",
     .summary = "FLOP, bytes, time or the ceiling are not known",
     .source = SOURCE_WILLIAMS,
     .speak = unknown},
    {.id = "unknown.levels",
     .summary = "the traffic of the outermost memory level is not known",
     .source = SOURCE_WILLIAMS,
     .speak = unknown_levels},
};

const struct rl_rule_table rl_rules_other = {rules, sizeof rules / sizeof rules[0]};
