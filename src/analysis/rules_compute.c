/* Rules for kernels held back by the execution units. */
#include "analysis/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_WILLIAMS "Williams, Waterman, Patterson, CACM 52(4), 2009"
#define SOURCE_AGNER    "Fog, Optimizing software in C++, ch. 9-12"

static bool is_compute_bound(const struct rl_evidence *e)
{
    return e->compute && e->flop > 0 &&
           (e->place->verdict == RL_VERDICT_COMPUTE || e->place->verdict == RL_VERDICT_NEAR_RIDGE);
}

/* The kernel cannot become faster than its memory levels allow. */
static double cap_by_memory(const struct rl_evidence *e, double gain)
{
    double time_s = e->place->attained > 0 ? e->place->bound_time_s / e->place->attained : 0;
    if (e->memory && time_s > 0)
        gain = fmin(gain, time_s / e->memory->bound_time_s);
    return gain;
}

/* Rate of the same operations done `isa` wide, best op; 0 when not measured. */
static double peak_of(const struct rl_evidence *e, const char *isa)
{
    double scale = 1;
    const struct rl_compute_ceiling *c =
        rl_peak(e->machine, e->main_precision, NULL, isa, e->place->threads, &scale);
    return c ? c->rate.value * scale : 0;
}

/* The foreign library whose kernel this is; NULL: none. */
static const char *library_of(const struct rl_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_parameter; i++)
        if (strcmp(kernel->parameter[i].key, "library") == 0)
            return kernel->parameter[i].value;
    return NULL;
}

/* Far from every roof, yet computing: narrow code or too little parallelism may be the cause. Not
 * so where FLOP are a rarity between other work, or where a memory level is nearer its limit. */
static bool may_be_compute(const struct rl_evidence *e)
{
    const double rarity = 0.02; /* of what its main instruction set could do */
    bool latency = e->compute && e->flop > 0 && e->place->verdict == RL_VERDICT_LATENCY &&
                   !rl_memory_is_nearest(e);
    double time_s = e->kernel->time_s.value;
    double peak = latency ? peak_of(e, e->main_isa) : 0;
    return is_compute_bound(e) || (latency && (peak <= 0 || e->flop >= rarity * peak * time_s));
}

static bool vectorise(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double mostly = 0.5, worth_it = 1.3;
    double scale;
    const struct rl_compute_ceiling *best =
        rl_peak(e->machine, e->main_precision, NULL, NULL, e->place->threads, &scale);
    double narrow = peak_of(e, "scalar");
    if (!may_be_compute(e) || e->scalar_share < mostly || !best || narrow <= 0)
        return false;
    double factor = best->rate.value * scale / narrow;
    if (factor < worth_it)
        return false;
    *ret_gain = cap_by_memory(e, factor);
    snprintf(text, size,
             "%.0f %% of its FLOP are scalar: vectorise it (unit-stride inner loop, restrict "
             "pointers, -O3 -march=native, or an OpenMP simd directive); %s gives %.1fx the rate",
             100 * e->scalar_share, best->isa, factor);
    return true;
}

static bool widen(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 1.3;
    double scale;
    const struct rl_compute_ceiling *best =
        rl_peak(e->machine, e->main_precision, NULL, NULL, e->place->threads, &scale);
    if (!may_be_compute(e) || !e->main_isa[0] || !best || strcmp(e->main_isa, "scalar") == 0 ||
        strcmp(e->main_isa, best->isa) == 0)
        return false;
    double narrow = peak_of(e, e->main_isa);
    double factor = narrow > 0 ? best->rate.value * scale / narrow : 0;
    if (factor < worth_it)
        return false;
    *ret_gain = cap_by_memory(e, factor);
    snprintf(text, size, "computes in %s vectors where this machine's %s gives %.1fx the rate",
             e->main_isa, best->isa, factor);
    return true;
}

static bool use_fma(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double enough = 0.5, unpaired = 0.2, worth_it = 1.1;
    double scale;
    const struct rl_compute_ceiling *fma =
        rl_peak(e->machine, e->main_precision, "fma", NULL, e->place->threads, &scale);
    if (!is_compute_bound(e) || !fma || e->mix.fma_share > enough ||
        fmin(e->mix.add_share, e->mix.mul_share) < unpaired)
        return false;
    double factor = fma->rate.value * scale / e->compute->ceiling_rate;
    if (factor < worth_it)
        return false;
    *ret_gain = cap_by_memory(e, factor);
    snprintf(text, size,
             "only %.0f %% of its FLOP are fused: contract multiply and add into FMA "
             "(-march=native -ffp-contract=fast)",
             100 * e->mix.fma_share);
    return true;
}

/* What a library executes is its own choice, by what it takes the processor for. */
static bool other_library(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double full = 0.8;
    const char *library = library_of(e->kernel);
    /* Bytes are rarely known of a library: it is spoken of without a verdict, too. */
    if (!library || !e->compute || e->compute->utilization >= full ||
        e->place->verdict == RL_VERDICT_MEMORY)
        return false;
    *ret_gain = cap_by_memory(e, 1 / e->compute->utilization);
    snprintf(text, size,
             "is %s, which reaches %.0f %% of %s: have it choose its code for this processor "
             "(OpenBLAS: OPENBLAS_CORETYPE), or try another library",
             library, 100 * e->compute->utilization, e->compute->ceiling);
    return true;
}

static bool more_parallelism(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double full = 0.8, some = 0.1;
    const struct rl_placement *p = e->place;
    if (library_of(e->kernel) || !may_be_compute(e) || p->isa_attained <= 0 ||
        p->isa_attained >= full || p->isa_attained < some)
        return false;
    *ret_gain = cap_by_memory(e, 1 / p->isa_attained);
    snprintf(text, size,
             "reaches %.0f %% of what its own instructions allow (%s): break the dependence chain "
             "with several independent accumulators, unroll, and cut overhead instructions",
             100 * p->isa_attained, p->isa_ceiling);
    return true;
}

static const char *bound_op(const struct rl_evidence *e)
{
    const char *dot = strrchr(e->compute->name, '.');
    return dot ? dot + 1 : "";
}

static bool avoid_division(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    if (!is_compute_bound(e) ||
        (strcmp(bound_op(e), "div") != 0 && strcmp(bound_op(e), "sqrt") != 0))
        return false;
    *ret_gain = 0;
    snprintf(
        text, size,
        "is bound by %s, which is not pipelined like add and multiply: hoist it, multiply by a "
        "reciprocal, or use an approximate reciprocal with a Newton step",
        bound_op(e));
    return true;
}

static bool vector_math(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double worth_it = 1.2;
    if (!e->compute ||
        (e->place->verdict != RL_VERDICT_COMPUTE && e->place->verdict != RL_VERDICT_LATENCY))
        return false;
    const struct rl_op_count *special = NULL;
    for (size_t i = 0; i < e->kernel->n_ops && !special; i++)
        if (e->kernel->ops[i].op == RL_OP_SPECIAL &&
            strcmp(e->kernel->ops[i].func, bound_op(e)) == 0)
            special = &e->kernel->ops[i];
    if (!special)
        return false;
    double scale, own_scale;
    const struct rl_compute_ceiling *best =
        rl_peak(e->machine, special->precision, special->func, NULL, e->place->threads, &scale);
    const struct rl_compute_ceiling *own = rl_peak(e->machine, special->precision, special->func,
                                                   special->isa, e->place->threads, &own_scale);
    double factor = best && own ? best->rate.value * scale / (own->rate.value * own_scale) : 1;
    *ret_gain = factor;
    if (factor >= worth_it)
        snprintf(text, size,
                 "spends its time in %s from %s: the vector version of %s does %.1fx as many (%s)",
                 special->func, own->isa, best->isa, factor,
                 best->accuracy[0] ? best->accuracy : "accuracy as its library states");
    else
        snprintf(text, size,
                 "is bound by %s itself: a lower accuracy, a smaller precision, a table or fewer "
                 "calls help; more bandwidth does not",
                 special->func);
    return true;
}

static bool more_threads(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    unsigned cores = e->machine->topology.usable_cores;
    if (!is_compute_bound(e) || e->place->threads >= cores)
        return false;
    double scale, all_scale;
    const struct rl_compute_ceiling *one =
        rl_peak(e->machine, e->main_precision, NULL, NULL, e->place->threads, &scale);
    const struct rl_compute_ceiling *all =
        rl_peak(e->machine, e->main_precision, NULL, NULL, cores, &all_scale);
    if (!one || !all)
        return false;
    *ret_gain = cap_by_memory(e, all->rate.value * all_scale / (one->rate.value * scale));
    snprintf(text, size, "uses %u of %u cores", e->place->threads, cores);
    return true;
}

static bool at_roof(const struct rl_evidence *e, char *text, size_t size, double *ret_gain)
{
    const double full = 0.8;
    if (!is_compute_bound(e) || e->place->attained < full)
        return false;
    *ret_gain = 0;
    snprintf(text, size,
             "runs at %.0f %% of %s: only fewer operations or a smaller precision make it faster",
             100 * e->place->attained, e->compute->ceiling);
    return true;
}

static const struct rl_rule rules[] = {
    {.id = "compute.vectorise",
     .summary = "half or more of the FLOP are scalar",
     .source = SOURCE_WILLIAMS,
     .speak = vectorise},
    {.id = "compute.width",
     .summary = "vectors narrower than the machine's fastest",
     .source = SOURCE_AGNER,
     .speak = widen},
    {.id = "compute.fma",
     .summary = "multiplies and adds that are not fused",
     .source = SOURCE_WILLIAMS,
     .speak = use_fma},
    {.id = "compute.ilp",
     .summary = "below four fifths of what the kernel's own instructions allow",
     .source = SOURCE_AGNER,
     .speak = more_parallelism},
    {.id = "compute.library",
     .summary = "a library's kernel below four fifths of the roof",
     .source = SOURCE_WILLIAMS,
     .speak = other_library},
    {.id = "compute.division",
     .summary = "divides or square roots bind",
     .source = SOURCE_AGNER,
     .speak = avoid_division},
    {.id = "compute.special",
     .summary = "special functions bind",
     .source = SOURCE_AGNER,
     .speak = vector_math},
    {.id = "compute.threads",
     .summary = "fewer threads than usable cores",
     .source = SOURCE_WILLIAMS,
     .turn = RL_TURN_LAST_RESORT,
     .speak = more_threads},
    {.id = "compute.roof",
     .summary = "at four fifths of the roof or more",
     .source = SOURCE_WILLIAMS,
     .speak = at_roof},
};

const struct rl_rule_table rl_rules_compute = {rules, sizeof rules / sizeof rules[0]};
