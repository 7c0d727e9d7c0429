/* Which ceiling applies: by precision, operation, thread count and access mix. */
#include <math.h>
#include <roofline/model.h>
#include <string.h>

double rl_attainable(double peak_flop_per_s, double bytes_per_s, double ai)
{
    return fmin(peak_flop_per_s, bytes_per_s * ai);
}

double rl_ridge(double peak_flop_per_s, double bytes_per_s)
{
    return peak_flop_per_s / bytes_per_s;
}

struct rl_mix rl_mix_of(const struct rl_kernel *kernel)
{
    struct rl_mix mix = {0};
    double flop = 0, fma = 0, add = 0, mul = 0;
    for (size_t i = 0; i < kernel->n_ops; i++) {
        const struct rl_op_count *row = &kernel->ops[i];
        double n = row->count.value * rl_op_class_weight(row->op);
        if (!rl_known(row->count) || !rl_precision_is_float(row->precision))
            continue;
        flop += n;
        fma += row->op == RL_OP_FMA ? n : 0;
        add += row->op == RL_OP_ADD ? n : 0;
        mul += row->op == RL_OP_MUL ? n : 0;
    }
    if (flop > 0) {
        mix.fma_share = fma / flop;
        mix.add_share = add / flop;
        mix.mul_share = mul / flop;
    }
    double moved = kernel->load_bytes.value + kernel->store_bytes.value;
    if (rl_known(kernel->load_bytes) && rl_known(kernel->store_bytes) && moved > 0) {
        mix.store_share = kernel->store_bytes.value / moved;
        if (rl_known(kernel->nontemporal_bytes) && kernel->store_bytes.value > 0)
            mix.nontemporal_share = kernel->nontemporal_bytes.value / kernel->store_bytes.value;
    }
    return mix;
}

/* How well a ceiling measured with `have` threads stands for `want`: exact first, then the largest
 * smaller count, then the smallest larger one. Smaller is better. */
static double thread_distance(unsigned have, unsigned want)
{
    const double larger_penalty = 1e6;
    if (have == want)
        return 0;
    return have < want ? (double)(want - have) : larger_penalty + (double)(have - want);
}

static bool is_general_op(const char *op)
{
    return strcmp(op, "fma") == 0 || strcmp(op, "add+mul") == 0 || strcmp(op, "fma+add") == 0 ||
           strcmp(op, "add") == 0 || strcmp(op, "mul") == 0 || strcmp(op, "dot") == 0;
}

const struct rl_compute_ceiling *rl_peak(const struct rl_machine *machine,
                                         enum rl_precision precision, const char *op,
                                         const char *isa, unsigned threads, double *ret_scale)
{
    const struct rl_compute_ceiling *best = NULL;
    double best_distance = INFINITY;
    for (size_t i = 0; i < machine->n_compute; i++) {
        const struct rl_compute_ceiling *c = &machine->compute[i];
        if (c->precision != precision || !rl_known(c->rate) || !(c->rate.value > 0))
            continue;
        if (op ? strcmp(op, c->op) != 0 : !is_general_op(c->op))
            continue;
        if (isa && strcmp(isa, c->isa) != 0)
            continue;
        double distance = thread_distance(c->threads, threads);
        if (distance < best_distance ||
            (distance == best_distance && c->rate.value > best->rate.value)) {
            best = c;
            best_distance = distance;
        }
    }
    if (best && ret_scale)
        *ret_scale = best->threads ? (double)threads / best->threads : 1;
    return best;
}

/* Access mixes as the share of stored bytes they contain; non-temporal ones stand apart. */
struct pattern {
    const char *name;
    double store_share;
    bool nontemporal;
};

static const struct pattern patterns[] = {
    {"load", 0, false},     {"triad", 1.0 / 3, false}, {"2:1", 1.0 / 3, false},
    {"copy", 0.5, false},   {"store", 1, false},       {"nt-triad", 1.0 / 3, true},
    {"nt-copy", 0.5, true}, {"nt-store", 1, true},
};

static const struct pattern *find_pattern(const char *name)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (strcmp(patterns[i].name, name) == 0)
            return &patterns[i];
    return NULL;
}

double rl_moved_per_asked(const struct rl_memory_ceiling *ceiling)
{
    const struct pattern *p = find_pattern(ceiling->pattern);
    if (!p || p->nontemporal || rl_level_rank(ceiling->level) <= 1)
        return 1;
    return 1 + p->store_share;
}

/* How far a ceiling's access mix is from the kernel's; INFINITY when it must not be used. */
static double mix_distance(const struct rl_memory_ceiling *m, const struct rl_mix *mix)
{
    const double other_pattern = 10;
    const struct pattern *p = find_pattern(m->pattern);
    if (!p)
        return other_pattern;
    bool wants_nontemporal = mix->nontemporal_share > 0.5;
    if (p->nontemporal != wants_nontemporal)
        return p->nontemporal ? INFINITY : other_pattern / 2;
    return fabs(p->store_share - mix->store_share);
}

/* Each core has its own: only then does bandwidth grow with the threads. */
static bool is_private(const struct rl_machine *machine, const char *level)
{
    const int last_usually_private = 2;
    const struct rl_level *found = rl_machine_level(machine, level);
    if (found && found->shared_by)
        return found->shared_by <= (machine->topology.smt ? machine->topology.smt : 1);
    return rl_level_rank(level) <= last_usually_private;
}

const struct rl_memory_ceiling *rl_bandwidth(const struct rl_machine *machine, const char *level,
                                             const struct rl_mix *mix, unsigned threads,
                                             double *ret_scale)
{
    const double same_mix = 1e-9;
    const struct rl_memory_ceiling *best = NULL;
    double best_distance = INFINITY, best_threads = INFINITY, best_moved = 0;
    for (size_t i = 0; i < machine->n_memory; i++) {
        const struct rl_memory_ceiling *m = &machine->memory[i];
        if (strcmp(m->level, level) != 0 || !rl_known(m->rate) || !(m->rate.value > 0))
            continue;
        double away = thread_distance(m->threads, threads);
        double distance = mix ? mix_distance(m, mix) : rl_moved_per_asked(m) - 1;
        double moved = m->rate.value * rl_moved_per_asked(m);
        if (isinf(distance) || away > best_threads)
            continue;
        bool better = away < best_threads || distance < best_distance - same_mix ||
                      (distance < best_distance + same_mix && moved > best_moved);
        if (better) {
            best = m;
            best_distance = distance;
            best_threads = away;
            best_moved = moved;
        }
    }
    if (best && ret_scale) {
        bool grows = is_private(machine, level) && best->threads;
        *ret_scale = rl_moved_per_asked(best) * (grows ? (double)threads / best->threads : 1);
    }
    return best;
}
