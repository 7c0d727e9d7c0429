/* Bound times per resource, and the verdict that follows from them. */
#include "base/error.h"

#include <math.h>
#include <roofline/model.h>
#include <stdio.h>
#include <string.h>

const char *rl_verdict_name(enum rl_verdict verdict)
{
    static const char *const names[RL_VERDICT_COUNT] = {
        [RL_VERDICT_UNKNOWN] = "unknown",       [RL_VERDICT_MEMORY] = "memory",
        [RL_VERDICT_COMPUTE] = "compute",       [RL_VERDICT_NEAR_RIDGE] = "near-ridge",
        [RL_VERDICT_LATENCY] = "latency",       [RL_VERDICT_NO_FLOP] = "no-flop",
        [RL_VERDICT_ABOVE_ROOF] = "above-roof",
    };
    return (unsigned)verdict < RL_VERDICT_COUNT ? names[verdict] : "unknown";
}

struct rl_thresholds rl_thresholds_default(void)
{
    return (struct rl_thresholds){
        .near_ridge = 0.10, .latency = 0.50, .above_roof = 1.05, .time_spread = 0.10};
}

double rl_intensity(const struct rl_kernel *kernel, const char *level)
{
    struct rl_value flop = rl_kernel_flop(kernel);
    const struct rl_traffic *traffic = rl_kernel_find_traffic(kernel, level);
    if (!rl_known(flop) || !traffic || !rl_known(traffic->bytes) || !(traffic->bytes.value > 0))
        return 0;
    return flop.value / traffic->bytes.value;
}

/* A number in a record must be finite and not negative. */
static bool is_sound(struct rl_value v)
{
    return !rl_known(v) || (isfinite(v.value) && v.value >= 0);
}

static enum rl_status check_kernel(const struct rl_kernel *kernel, struct rl_error *err)
{
    bool sound = is_sound(kernel->time_s) && is_sound(kernel->flop) && is_sound(kernel->threads) &&
                 is_sound(kernel->load_bytes) && is_sound(kernel->store_bytes);
    for (size_t i = 0; i < kernel->n_ops; i++)
        sound = sound && is_sound(kernel->ops[i].count);
    for (size_t i = 0; i < kernel->n_traffic; i++)
        sound = sound && is_sound(kernel->traffic[i].bytes);
    if (!sound)
        return rl_fail(err, RL_EINVAL, "kernel \"%s\" holds a negative or endless number",
                       kernel->name ? kernel->name : "");
    return RL_OK;
}

static void add_resource(struct rl_placement *place, const struct rl_resource *resource)
{
    if (place->n_resource == RL_MAX_RESOURCES || !(resource->bound_time_s > 0))
        return;
    unsigned i = place->n_resource++;
    for (; i > 0 && place->resource[i - 1].bound_time_s < resource->bound_time_s; i--)
        place->resource[i] = place->resource[i - 1];
    place->resource[i] = *resource;
}

static void add_memory_resources(const struct rl_machine *machine, const struct rl_kernel *kernel,
                                 struct rl_placement *place)
{
    struct rl_mix mix = rl_mix_of(kernel);
    for (size_t i = 0; i < kernel->n_traffic; i++) {
        const struct rl_traffic *traffic = &kernel->traffic[i];
        double scale = 1;
        const struct rl_memory_ceiling *m =
            rl_bandwidth(machine, traffic->level, &mix, place->threads, &scale);
        if (!m || !rl_known(traffic->bytes))
            continue;
        struct rl_resource r = {.is_memory = true, .amount = traffic->bytes.value};
        snprintf(r.name, sizeof r.name, "memory:%s", traffic->level);
        snprintf(r.level, sizeof r.level, "%s", traffic->level);
        snprintf(r.ceiling, sizeof r.ceiling, "%s", m->id);
        r.ceiling_rate = m->rate.value * scale;
        r.bound_time_s = r.amount / r.ceiling_rate;
        add_resource(place, &r);
    }
}

/* Compute time of a kernel, summed over parts that each have a ceiling of their own. */
struct compute_sum {
    double time_s;
    double amount;
    double longest_s;
    char name[2 * RL_WORD_LEN];
    char ceiling[RL_ID_LEN];
};

/* Operations of one precision that the general-purpose units do. */
struct simple_ops {
    double add, mul, fma;  /* operations, not FLOP */
    char isa[RL_WORD_LEN]; /* vector width of the largest part */
    double largest;
};

struct search {
    const struct rl_machine *machine;
    unsigned threads;
    bool keep_isa; /* prefer ceilings of the vector width the kernel uses */
};

static const struct rl_compute_ceiling *find_ceiling(const struct search *search,
                                                     enum rl_precision precision, const char *op,
                                                     const char *isa, double *ret_scale)
{
    const struct rl_compute_ceiling *c = NULL;
    if (search->keep_isa && isa[0])
        c = rl_peak(search->machine, precision, op, isa, search->threads, ret_scale);
    return c ? c : rl_peak(search->machine, precision, op, NULL, search->threads, ret_scale);
}

/* Add `amount` FLOP (or calls) done at the ceiling of `op`; false when there is no such ceiling. */
static bool add_part(struct compute_sum *sum, const struct search *search,
                     enum rl_precision precision, const char *op, const char *isa, double amount)
{
    double scale = 1;
    if (!(amount > 0))
        return true;
    const struct rl_compute_ceiling *c = find_ceiling(search, precision, op, isa, &scale);
    if (!c)
        return false;
    double time_s = amount / (c->rate.value * scale);
    sum->time_s += time_s;
    sum->amount += amount;
    if (time_s > sum->longest_s) {
        sum->longest_s = time_s;
        snprintf(sum->name, sizeof sum->name, "compute:%s.%s", rl_precision_name(precision), c->op);
        snprintf(sum->ceiling, sizeof sum->ceiling, "%s", c->id);
    }
    return true;
}

/* As add_part, falling back to the general peak where the machine has no ceiling of that name. */
static void add_general(struct compute_sum *sum, const struct search *search,
                        enum rl_precision precision, const char *op, const char *isa, double amount)
{
    if (!add_part(sum, search, precision, op, isa, amount))
        add_part(sum, search, precision, NULL, isa, amount);
}

static void add_simple(struct compute_sum *sum, const struct search *search,
                       enum rl_precision precision, const struct simple_ops *ops)
{
    enum { FLOP_PER_PAIR = 2, FLOP_PER_FMA = 2, FLOP_PER_FMA_ADD = 3 };
    double pairs = fmin(ops->add, ops->mul);
    double add = ops->add - pairs;
    double mul = ops->mul - pairs;
    double mixed = fmin(add, ops->fma);
    double scale;
    if (!find_ceiling(search, precision, "fma+add", ops->isa, &scale))
        mixed = 0;
    add_general(sum, search, precision, "add+mul", ops->isa, FLOP_PER_PAIR * pairs);
    add_general(sum, search, precision, "fma+add", ops->isa, FLOP_PER_FMA_ADD * mixed);
    add_general(sum, search, precision, "fma", ops->isa, FLOP_PER_FMA * (ops->fma - mixed));
    add_general(sum, search, precision, "add", ops->isa, add - mixed);
    add_general(sum, search, precision, "mul", ops->isa, mul);
}

static void collect(struct simple_ops *simple, const struct rl_op_count *row)
{
    double *slot = row->op == RL_OP_FMA   ? &simple->fma
                   : row->op == RL_OP_ADD ? &simple->add
                                          : &simple->mul;
    *slot += row->count.value;
    if (row->count.value > simple->largest) {
        simple->largest = row->count.value;
        snprintf(simple->isa, sizeof simple->isa, "%s", row->isa);
    }
}

static struct compute_sum sum_compute(const struct search *search, const struct rl_kernel *kernel)
{
    struct compute_sum sum = {0};
    struct simple_ops simple[RL_PRECISION_COUNT] = {0};
    for (size_t i = 0; i < kernel->n_ops; i++) {
        const struct rl_op_count *row = &kernel->ops[i];
        if (!rl_known(row->count))
            continue;
        switch (row->op) {
        case RL_OP_ADD:
        case RL_OP_MUL:
        case RL_OP_FMA:
            collect(&simple[row->precision], row);
            break;
        case RL_OP_DIV:
        case RL_OP_SQRT:
            add_general(&sum, search, row->precision, rl_op_class_name(row->op), row->isa,
                        row->count.value);
            break;
        case RL_OP_SPECIAL:
            add_part(&sum, search, row->precision, row->func, row->isa, row->count.value);
            break;
        default:
            break;
        }
    }
    for (int p = 0; p < RL_PRECISION_COUNT; p++)
        add_simple(&sum, search, (enum rl_precision)p, &simple[p]);
    return sum;
}

static void add_compute_resource(const struct rl_machine *machine, const struct rl_kernel *kernel,
                                 struct rl_placement *place)
{
    struct search search = {.machine = machine, .threads = place->threads};
    struct compute_sum sum = sum_compute(&search, kernel);
    if (!(sum.time_s > 0))
        return;
    struct rl_resource r = {
        .amount = sum.amount, .ceiling_rate = sum.amount / sum.time_s, .bound_time_s = sum.time_s};
    snprintf(r.name, sizeof r.name, "%s", sum.name);
    snprintf(r.ceiling, sizeof r.ceiling, "%s", sum.ceiling);
    add_resource(place, &r);

    search.keep_isa = true;
    struct compute_sum own = sum_compute(&search, kernel);
    place->isa_bound_time_s = own.time_s;
    snprintf(place->isa_ceiling, sizeof place->isa_ceiling, "%s", own.ceiling);
}

/* Only the total is known: take the fp64 peak, the usual meaning of a bare FLOP count. */
static void add_bare_flop(const struct rl_machine *machine, const struct rl_kernel *kernel,
                          struct rl_placement *place)
{
    double scale = 1;
    const struct rl_compute_ceiling *c =
        rl_peak(machine, RL_FP64, NULL, NULL, place->threads, &scale);
    if (!c || !rl_known(kernel->flop))
        return;
    struct rl_resource r = {.amount = kernel->flop.value, .ceiling_rate = c->rate.value * scale};
    snprintf(r.name, sizeof r.name, "compute:fp64.%s", c->op);
    snprintf(r.ceiling, sizeof r.ceiling, "%s", c->id);
    r.bound_time_s = r.amount / r.ceiling_rate;
    add_resource(place, &r);
}

static void set_bound(struct rl_placement *place, enum rl_verdict verdict, const char *bound)
{
    place->verdict = verdict;
    snprintf(place->bound, sizeof place->bound, "%s", bound);
}

static void set_unknown(struct rl_placement *place, const char *why)
{
    set_bound(place, RL_VERDICT_UNKNOWN, "unknown");
    snprintf(place->why, sizeof place->why, "%s", why);
}

/* Marking takes about a tenth of a call that is shorter. */
#define SHORTEST_CALL_S 500e-9

static double call_s(const struct rl_kernel *kernel)
{
    double threads = rl_known(kernel->threads) ? kernel->threads.value : 1;
    return kernel->time_s.value * threads / kernel->calls.value;
}

static bool is_too_short(const struct rl_kernel *kernel)
{
    return kernel->kind == RL_KIND_REGION && rl_known(kernel->time_s) && rl_known(kernel->calls) &&
           kernel->calls.value > 0 && call_s(kernel) < SHORTEST_CALL_S;
}

static void set_too_short(const struct rl_kernel *kernel, struct rl_placement *place)
{
    set_bound(place, RL_VERDICT_UNKNOWN, "unknown");
    snprintf(place->why, sizeof place->why,
             "a call of it took %.0f ns, which is too short to be timed: mark a longer part",
             call_s(kernel) * 1e9);
}

/* Records without thread counts are of one thread, unless they say otherwise. */
static bool lacks_threads(const struct rl_kernel *kernel)
{
    return !rl_known(kernel->threads) && rl_missing_has(&kernel->missing, "threads");
}

/* The uncertainty of a sampled time falls with the root of the number of samples, or of runs. */
static void set_vague(struct rl_placement *place, double spread, double limit)
{
    double times = ceil(spread / limit * (spread / limit));
    set_bound(place, RL_VERDICT_UNKNOWN, "unknown");
    snprintf(
        place->why, sizeof place->why,
        "its time is uncertain by %.0f %%, from few samples or runs that differ: it takes %.0f "
        "times the samples at least, by a longer run or record --repeat",
        100 * spread, times);
}

/* The outermost level the machine has a ceiling of, where the kernel's bytes there are unknown. */
static void find_beyond(const struct rl_machine *machine, const struct rl_kernel *kernel,
                        struct rl_placement *place)
{
    const char *outermost = "";
    for (size_t i = 0; i < machine->n_memory; i++) {
        const char *level = machine->memory[i].level;
        if (!outermost[0] || rl_level_rank(level) > rl_level_rank(outermost))
            outermost = level;
    }
    bool touches_none = rl_known(kernel->load_bytes) && rl_known(kernel->store_bytes) &&
                        kernel->load_bytes.value + kernel->store_bytes.value == 0;
    const struct rl_traffic *traffic = rl_kernel_find_traffic(kernel, outermost);
    if (outermost[0] && !touches_none && (!traffic || !rl_known(traffic->bytes)))
        snprintf(place->beyond, sizeof place->beyond, "%s", outermost);
}

/* Memory and compute need about the same time: the kernel stands at the ridge. */
static bool is_near_ridge(const struct rl_placement *place, double tolerance)
{
    double memory = 0, compute = 0;
    for (unsigned i = 0; i < place->n_resource; i++) {
        double *largest = place->resource[i].is_memory ? &memory : &compute;
        *largest = fmax(*largest, place->resource[i].bound_time_s);
    }
    return memory > 0 && compute > 0 && fabs(memory - compute) <= tolerance * fmax(memory, compute);
}

static const struct rl_resource *compute_resource(const struct rl_placement *place)
{
    for (unsigned i = 0; i < place->n_resource; i++)
        if (!place->resource[i].is_memory)
            return &place->resource[i];
    return NULL;
}

static void judge(struct rl_placement *place, bool has_flop, const struct rl_thresholds *limits)
{
    const struct rl_resource *compute = compute_resource(place);
    const struct rl_resource *top = &place->resource[0];
    if (place->attained > limits->above_roof) {
        set_bound(place, RL_VERDICT_ABOVE_ROOF, "above-roof");
        snprintf(place->why, sizeof place->why,
                 top->is_memory ? "the data came from a nearer level, or the bytes are the "
                                  "algorithm's and not the traffic"
                                : "the clock was higher than when the roof was measured, or the "
                                  "precision is another");
    } else if (place->attained < limits->latency && compute &&
               place->isa_attained >= limits->latency) {
        set_bound(place, RL_VERDICT_COMPUTE, compute->name);
    } else if (place->attained < limits->latency && place->beyond[0]) {
        set_bound(place, RL_VERDICT_UNKNOWN, "unknown");
        snprintf(place->why, sizeof place->why,
                 "nothing known explains its time, and its %s traffic is not known", place->beyond);
    } else if (place->attained < limits->latency) {
        set_bound(place, RL_VERDICT_LATENCY, "latency");
    } else if (!has_flop && top->is_memory) {
        set_bound(place, RL_VERDICT_NO_FLOP, "no-flop");
    } else if (has_flop && is_near_ridge(place, limits->near_ridge)) {
        set_bound(place, RL_VERDICT_NEAR_RIDGE, "near-ridge");
    } else {
        set_bound(place, top->is_memory ? RL_VERDICT_MEMORY : RL_VERDICT_COMPUTE, top->name);
    }
}

enum rl_status rl_place(const struct rl_machine *machine, const struct rl_kernel *kernel,
                        const struct rl_thresholds *thresholds, struct rl_placement *ret_place,
                        struct rl_error *err)
{
    struct rl_thresholds limits = thresholds ? *thresholds : rl_thresholds_default();
    struct rl_placement place = {.threads = 1};
    RL_TRY(check_kernel(kernel, err));
    if (rl_known(kernel->threads) && kernel->threads.value >= 1)
        place.threads = (unsigned)lround(kernel->threads.value);

    struct rl_value flop = rl_kernel_flop(kernel);
    bool has_flop = rl_known(flop) && flop.value > 0;
    add_memory_resources(machine, kernel, &place);
    find_beyond(machine, kernel, &place);
    if (kernel->n_ops)
        add_compute_resource(machine, kernel, &place);
    else
        add_bare_flop(machine, kernel, &place);

    bool is_vague = kernel->time_s.source == RL_SOURCE_SAMPLED && limits.time_spread > 0 &&
                    kernel->time_s.spread > limits.time_spread;
    bool is_short = is_too_short(kernel);
    bool has_time = rl_known(kernel->time_s) && kernel->time_s.value > 0 && !is_vague &&
                    !is_short && !kernel->is_mix;
    if (place.n_resource)
        place.bound_time_s = place.resource[0].bound_time_s;
    if (has_flop && place.bound_time_s > 0)
        place.roof_flop_per_s = flop.value / place.bound_time_s;
    if (has_flop && has_time)
        place.flop_per_s = flop.value / kernel->time_s.value;
    if (has_time && place.bound_time_s > 0 && !lacks_threads(kernel)) {
        place.attained = place.bound_time_s / kernel->time_s.value;
        place.headroom = kernel->time_s.value / place.bound_time_s;
        for (unsigned i = 0; i < place.n_resource; i++)
            place.resource[i].utilization = place.resource[i].bound_time_s / kernel->time_s.value;
        place.isa_attained = place.isa_bound_time_s / kernel->time_s.value;
    }
    if (!place.n_resource)
        set_unknown(&place, rl_known(flop) || kernel->n_traffic
                                ? "the machine record has no ceiling for what the kernel uses"
                                : "neither FLOP nor bytes are known");
    else if (kernel->is_mix)
        set_unknown(&place, "it was counted in bursts, which tell intensity but no rate");
    else if (is_vague)
        set_vague(&place, kernel->time_s.spread, limits.time_spread);
    else if (is_short)
        set_too_short(kernel, &place);
    else if (!has_time)
        set_unknown(&place, "the time is not known");
    else if (lacks_threads(kernel))
        set_unknown(&place, "how many threads worked in it is not known");
    else if (!rl_known(flop) && kernel->n_ops == 0)
        set_unknown(&place, "the FLOP are not known");
    else
        judge(&place, has_flop, &limits);
    *ret_place = place;
    return RL_OK;
}
