/* Where the memory levels end: loads over growing working sets. */
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_PER_OCTAVE = 4, MOST_POINTS = 96, LEAST_PLATEAU = 3, MOST_PLATEAUS = 8 };
static const double least_set_bytes = 8192;
static const double plateau_tolerance = 0.15; /* of its rate */
static const double least_step = 1.5;         /* from one level's size to the next */
static const double disagreement = 0.7;       /* octaves between measured and reported size */

struct plateau {
    double rate;
    unsigned first, last;
};

static double middle(double a, double b, double c)
{
    double low = a < b ? a : b;
    double high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* A single point above both its neighbours is an error of measurement. */
static void flatten_spikes(double *rate, unsigned n)
{
    for (unsigned i = 1; i + 1 < n; i++)
        if (rate[i] > rate[i - 1] && rate[i] > rate[i + 1])
            rate[i] = middle(rate[i - 1], rate[i], rate[i + 1]);
}

/* The rate of a larger set is one a smaller set could reach too: what is lower was disturbed. */
static void lift(double *rate, unsigned n)
{
    for (unsigned i = n - 1; i > 0; i--)
        if (rate[i - 1] < rate[i])
            rate[i - 1] = rate[i];
}

static unsigned find_plateaus(const double *rate, unsigned n, struct plateau *plateau)
{
    unsigned found = 0;
    for (unsigned i = 0; i < n && found < MOST_PLATEAUS;) {
        unsigned j = i;
        while (j + 1 < n && rate[j + 1] >= (1 - plateau_tolerance) * rate[i])
            j++;
        if (j - i + 1 >= LEAST_PLATEAU) {
            plateau[found++] = (struct plateau){.rate = rate[(i + j) / 2], .first = i, .last = j};
            i = j + 1;
        } else {
            i++;
        }
    }
    return found;
}

/* Neighbours this close are one level whose rate drifts. */
static unsigned merge_plateaus(struct plateau *plateau, unsigned n)
{
    unsigned kept = n ? 1 : 0;
    for (unsigned i = 1; i < n; i++) {
        struct plateau *last = &plateau[kept - 1];
        if (plateau[i].rate > (1 - 1.5 * plateau_tolerance) * last->rate)
            last->last = plateau[i].last;
        else
            plateau[kept++] = plateau[i];
    }
    return kept;
}

unsigned rl_sweep_ends(const double *set_bytes, const double *rate, unsigned n, double *ret_end)
{
    double lifted[MOST_POINTS];
    struct plateau plateau[MOST_PLATEAUS];
    n = n < MOST_POINTS ? n : MOST_POINTS;
    if (n == 0)
        return 0;
    memcpy(lifted, rate, n * sizeof *rate);
    flatten_spikes(lifted, n);
    lift(lifted, n);
    unsigned m = merge_plateaus(plateau, find_plateaus(lifted, n, plateau));
    unsigned ends = 0;
    for (unsigned i = 0; i + 1 < m; i++) {
        double between = 0.5 * (plateau[i].rate + plateau[i + 1].rate);
        unsigned k = plateau[i].last;
        while (k + 1 < n && lifted[k + 1] >= between)
            k++;
        /* a stretch between two levels may pass for a plateau; it ends where the level does */
        if (ends && set_bytes[k] < least_step * ret_end[ends - 1])
            ends--;
        ret_end[ends++] = set_bytes[k];
    }
    return ends;
}

static double octaves(double a, double b)
{
    return fabs(log2(a / b));
}

/* The end nearest to what is reported; ends before the previous level's are spoken for. */
static int nearest(const double *end, unsigned n, double after, double reported)
{
    int best = -1;
    for (unsigned i = 0; i < n; i++)
        if (end[i] > 1.2 * after &&
            (best < 0 || octaves(end[i], reported) < octaves(end[best], reported)))
            best = (int)i;
    return best;
}

void rl_sweep_apply(struct rl_level *level, size_t n_levels, const double *end, unsigned n)
{
    double after = 0;
    size_t caches = 0;
    while (caches < n_levels && rl_level_rank(level[caches].name) < 10)
        caches++;
    for (size_t i = 0; i < caches; i++) {
        double reported = (double)level[i].reported_size_bytes;
        int k = nearest(end, n, after, reported);
        bool last = i + 1 == caches;
        if (k < 0 || (!last && octaves(end[k], reported) > 2))
            continue;
        /* an end that fits the next level better is that level's */
        if (!last &&
            octaves(end[k], (double)level[i + 1].reported_size_bytes) < octaves(end[k], reported))
            continue;
        level[i].measured_size_bytes = (uint64_t)end[k];
        if (octaves(end[k], reported) > disagreement) {
            level[i].size_bytes = (uint64_t)end[k];
            level[i].source = RL_SOURCE_MEASURED;
        }
        after = end[k];
    }
}

enum { MOST_KERNELS = 4, LARGE_REPEATS = 3 };
static const double most_small_bytes = 8 << 20;
static const double small_share = 0.5; /* of the sweep's budget; each octave above has another */
static const double octave_share = 0.1;

struct choice {
    const struct rl_memory_kernel *kernel[MOST_KERNELS];
    unsigned n;
};

/* The plain load of each width: on some cores the widest is fastest in one level only. */
static unsigned load_kernels(const struct rl_cpu *cpu, const struct rl_memory_kernel **ret_kernel)
{
    size_t n;
    unsigned found = 0;
    const struct rl_memory_kernel *kernel = rl_memory_kernels(&n);
    for (size_t i = 0; i < n && found < MOST_KERNELS; i++) {
        bool first_of_width = true;
        for (unsigned k = 0; k < found; k++)
            first_of_width = first_of_width && ret_kernel[k]->bits != kernel[i].bits;
        bool narrow = kernel[i].bits == 128 && rl_cpu_usable(cpu, RL_ISA_AVX2);
        if (kernel[i].pattern == RL_LOAD && rl_cpu_usable(cpu, kernel[i].isa) && !narrow &&
            first_of_width)
            ret_kernel[found++] = &kernel[i];
    }
    return found;
}

/* Sets from small to large, whole granules of every kernel. */
static unsigned list_sets(const struct rl_session *s, double *set)
{
    const double granule = 4096;
    double most = (double)s->rank[0].buffer.bytes;
    unsigned n = 0;
    for (unsigned i = 0; n < MOST_POINTS; i++) {
        double bytes = least_set_bytes * exp2((double)i / POINTS_PER_OCTAVE);
        bytes = floor(bytes / granule) * granule;
        if (bytes > most)
            break;
        if (n == 0 || bytes > set[n - 1])
            set[n++] = bytes;
    }
    return n;
}

unsigned rl_sweep_known_ends(const double known[2], double *end, unsigned n)
{
    if (!(known[0] > 0 && known[1] > known[0]))
        return n;
    double last = n ? end[n - 1] : 0;
    end[0] = known[0];
    end[1] = known[1];
    end[2] = last;
    return last > least_step * known[1] ? 3 : 2;
}

/* Without reported caches there are the ends, and what the catalogue knows of the core's own. */
static enum rl_status invent_levels(const struct rl_session *s, double *end, unsigned n,
                                    struct rl_error *err)
{
    struct rl_topology *topology = &s->machine->topology;
    struct rl_level dram = topology->n_levels ? topology->levels[0] : (struct rl_level){0};
    const double known[] = {s->core ? rl_core_value(s->core, "l1d_bytes") : 0,
                            s->core ? rl_core_value(s->core, "l2_bytes") : 0};
    n = rl_sweep_known_ends(known, end, n);
    topology->n_levels = 0;
    for (unsigned i = 0; i < n; i++) {
        struct rl_level level = {.size_bytes = (uint64_t)end[i], .count = topology->usable_cores};
        bool is_known = i < 2 && end[i] == known[i];
        snprintf(level.name, sizeof level.name, "L%u", i + 1);
        level.source = is_known ? RL_SOURCE_SPECIFIED : RL_SOURCE_MEASURED;
        level.measured_size_bytes = is_known ? 0 : level.size_bytes;
        if (i >= 2)
            level.count = 1; /* shared until shown otherwise */
        RL_TRY(rl_machine_add_level(s->machine, &level, err));
    }
    return rl_machine_add_level(s->machine, &dram, err);
}

/* Sets that are sampled together. */
struct stretch {
    const double *set; /* [n] bytes */
    double *rate;      /* [n] out: of loads, by the best kernel */
    unsigned n;
    bool large;       /* beyond what takes short: one pass a sample, few samples, DRAM as well */
    unsigned best;    /* out: the kernel that was best at the last set */
    double dram_rate; /* out, if large */
};

/* Room for what is sampled together, DRAM behind the rest. */
struct room {
    struct rl_memory_item item[MOST_KERNELS * MOST_POINTS + 1];
    struct rl_job job[MOST_KERNELS * MOST_POINTS + 1];
    struct rl_timing timing[MOST_KERNELS * MOST_POINTS + 1];
};

/* Push a set out of all caches. */
static void flush_set(void *arg, unsigned rank)
{
    const struct rl_memory_item *item = arg;
    rl_flush_lines(item->session->rank[rank].buffer.base, item->set_bytes);
}

static unsigned list_jobs(struct rl_session *s, const struct choice *choice,
                          const struct stretch *x, struct room *room)
{
    unsigned n = x->n * choice->n;
    for (unsigned i = 0; i < n; i++)
        room->item[i] = (struct rl_memory_item){.kernel = choice->kernel[i % choice->n],
                                                .session = s,
                                                .level = "L1",
                                                .set_bytes = (size_t)x->set[i / choice->n],
                                                .warm = 1};
    if (x->large)
        room->item[n++] = (struct rl_memory_item){.kernel = choice->kernel[0],
                                                  .session = s,
                                                  .level = "DRAM",
                                                  .set_bytes = rl_level_set_bytes(s, "DRAM")};
    for (unsigned i = 0; i < n; i++)
        room->job[i] = rl_memory_job(&room->item[i]);
    if (x->large)
        room->job[n - 1].prepare = flush_set;
    return n;
}

static double rate_of(const struct room *room, unsigned i)
{
    return room->timing[i].per_cycle * rl_memory_pass_bytes(&room->item[i]);
}

static enum rl_status sample_sets(struct rl_session *s, const struct choice *choice,
                                  double budget_s, struct stretch *x, struct rl_error *err)
{
    const struct rl_phase phase = {.label = "memory levels",
                                   .budget_s = budget_s,
                                   .trial = true,
                                   .min_repeats = x->large ? LARGE_REPEATS : 0};
    struct room *room = calloc(1, sizeof *room);
    if (!room)
        return rl_fail(err, RL_ENOMEM, "no memory for the sweep over working sets");
    unsigned n = list_jobs(s, choice, x, room);
    enum rl_status status = rl_session_sample(s, &phase, room->job, n, room->timing, err);
    for (unsigned i = 0; i < x->n * choice->n && status == RL_OK; i++) {
        unsigned kernel = i % choice->n;
        double *rate = &x->rate[i / choice->n];
        if (kernel > 0 && rate_of(room, i) <= *rate)
            continue;
        *rate = rate_of(room, i);
        x->best = kernel;
    }
    if (x->large && status == RL_OK)
        x->dram_rate = rate_of(room, n - 1);
    free(room);
    return status;
}

/* Are the last sets, three of them, as slow as memory? Larger ones would be, too. */
static bool beyond_caches(const double *rate, unsigned n, double dram_rate)
{
    if (n < LEAST_PLATEAU || !rl_can_flush_lines())
        return false;
    for (unsigned i = n - LEAST_PLATEAU; i < n; i++)
        if (rate[i] > (1 + plateau_tolerance) * dram_rate)
            return false;
    return true;
}

/* Small sets by every kernel; large ones, which take long, octave by octave by the kernel that was
 * best last, until memory is reached. *n is cut to how many sets that took. */
static enum rl_status sweep(struct rl_session *s, double budget_s, const double *set, double *rate,
                            unsigned *n, struct rl_error *err)
{
    struct choice choice;
    struct stretch x = {.set = set, .rate = rate};
    unsigned done;
    choice.n = load_kernels(&s->cpu, choice.kernel);
    if (choice.n == 0) { /* no instruction set with loads may be used: nothing is found */
        *n = 0;
        return RL_OK;
    }
    while (x.n < *n && set[x.n] <= most_small_bytes)
        x.n++;
    rl_session_fill(s, (size_t)most_small_bytes);
    RL_TRY(sample_sets(s, &choice, small_share * budget_s, &x, err));
    choice = (struct choice){.kernel = {choice.kernel[x.best]}, .n = 1};
    x.large = true;
    for (done = x.n; done < *n && !beyond_caches(rate, done, x.dram_rate); done += x.n) {
        x.set = set + done;
        x.rate = rate + done;
        x.n = *n - done < POINTS_PER_OCTAVE ? *n - done : POINTS_PER_OCTAVE;
        rl_session_fill(s, (size_t)x.set[x.n - 1]);
        RL_TRY(sample_sets(s, &choice, octave_share * budget_s, &x, err));
    }
    *n = done;
    return RL_OK;
}

enum rl_status rl_sweep_levels(struct rl_session *s, double budget_s, struct rl_error *err)
{
    double set[MOST_POINTS];
    double rate[MOST_POINTS];
    double end[MOST_PLATEAUS];
    unsigned n = list_sets(s, set);
    RL_TRY(sweep(s, budget_s, set, rate, &n, err));
    unsigned ends = rl_sweep_ends(set, rate, n, end);
    struct rl_topology *topology = &s->machine->topology;
    if (topology->n_levels < 2)
        return invent_levels(s, end, ends, err);
    rl_sweep_apply(topology->levels, topology->n_levels, end, ends);
    return RL_OK;
}
