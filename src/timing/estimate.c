/* What samples amount to: the estimates of jobs, and what the run saw of clock and contention. */
#include "timing/sample_internal.h"

#include <math.h>
#include <stdlib.h>

static const double clock_quantile = 0.75; /* readings are more often too low than too high */
/* An undisturbed probe repeats to 0.5 %; a neighbour that only polls costs 4 %, and a first level
 * cache half of its stores. */
static const double clean_share = 0.985;
static const double lasting_share = 0.6; /* of good probes, with a good one behind the sample */
/* Samples as close as this to the value, relative, bear it out; one so far above, refutes it. */
static const double settled_width = 0.01;
static const double settled_spread = 0.02;
enum { SETTLED_FROM_BEST = 3, LEAST_PROBES = 200 };

/* Rates of one job over its kept samples: joint rates of all ranks, or one rank's own. */
struct series {
    double *rate;      /* [n] loops a second */
    double *per_cycle; /* [n] loops a cycle */
    double *clock_hz;  /* [n] */
    unsigned *place;   /* [n] */
    size_t n;
    size_t rejected;
    size_t alone; /* with no rank next to a low probe */
};

static void series_release(struct series *x)
{
    free(x->rate);
    free(x->per_cycle);
    free(x->clock_hz);
    free(x->place);
}

static bool series_alloc(struct series *x, size_t n)
{
    *x = (struct series){.rate = malloc((n + 1) * sizeof *x->rate),
                         .per_cycle = malloc((n + 1) * sizeof *x->per_cycle),
                         .clock_hz = malloc((n + 1) * sizeof *x->clock_hz),
                         .place = malloc((n + 1) * sizeof *x->place)};
    if (x->rate && x->per_cycle && x->clock_hz && x->place)
        return true;
    series_release(x);
    return false;
}

/* A core that is shared is slow, and what measures its clock is slow, too: a job that suffers less
 * than that would seem faster than the core. Ranks that share a resource are hardly ever all
 * undisturbed at once, and what they are after does not depend on the core's front end. */
static bool is_clean(const struct rl_sampler *s, unsigned j, const struct rl_sample *sample)
{
    bool is_shared = s->job[j].shared;
    return sample->loop_s > 0 && (is_shared || sample->clock_hz > 0) &&
           (is_shared || sample->nop >= s->nop_bar);
}

static const struct rl_sample *sample_of(const struct rl_sampler *s, unsigned rank, unsigned j,
                                         unsigned i)
{
    return &s->rank[rank].sample[(size_t)j * s->how->max_repeats + i];
}

static bool was_taken(const struct rl_sample *sample)
{
    return sample->loop_s != 0;
}

static unsigned settled_least(const struct rl_sampler *s)
{
    unsigned least = 2 * s->how->top;
    return least < s->how->max_repeats ? least : s->how->max_repeats;
}

static size_t top_of(const struct rl_sampler *s, size_t n)
{
    return rl_top_of(n, s->how->top);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The best that does not owe its rank to an error of the clock.
 * @param rate  [n], n > 0, best first. */
static double best_of(const double *rate, size_t n)
{
    return rate[n < SETTLED_FROM_BEST ? n - 1 : SETTLED_FROM_BEST - 1];
}

/* Undisturbed samples of one core lie on top of each other. Where a neighbour slipped between the
 * probes they do not: few reach the best, and the next run's value will be another.
 * @param rate  [n] in the order they were taken; will be sorted. */
static bool is_settled(const struct rl_sampler *s, double *rate, size_t n)
{
    size_t near = 0;
    if (n < settled_least(s))
        return false;
    struct rl_estimate estimate = rl_estimate_top(rate, n, top_of(s, n));
    if (estimate.spread > settled_spread)
        return false;
    double value = estimate.value;
    qsort(rate, n, sizeof *rate, descending);
    while (near < n && rate[near] >= (1 - settled_width) * value)
        near++;
    return near >= settled_least(s) && best_of(rate, n) <= (1 + settled_width) * value;
}

/* Ranks from..to taken together: a sample is as slow as its slowest rank and as clean as its most
 * disturbed one. */
static void series_fill(struct series *x, const struct rl_sampler *s, unsigned j, unsigned from,
                        unsigned to, bool keep_disturbed)
{
    x->n = x->rejected = x->alone = 0;
    for (unsigned i = 0; i < s->repeats[j]; i++) {
        double loop_s = 0;
        double clock_hz = 0;
        bool clean = true;
        bool alone = true;
        bool taken = true;
        for (unsigned k = from; k < to; k++) {
            const struct rl_sample *sample = sample_of(s, k, j, i);
            double seconds = fabs(sample->loop_s);
            taken = taken && was_taken(sample);
            clean = clean && is_clean(s, j, sample);
            alone = alone && sample->nop >= s->nop_bar;
            loop_s = seconds > loop_s ? seconds : loop_s;
            clock_hz += fabs(sample->clock_hz) / (to - from);
        }
        x->rejected += taken && !clean;
        if ((!clean && !keep_disturbed) || loop_s <= 0 || clock_hz <= 0)
            continue;
        x->alone += alone;
        x->rate[x->n] = 1 / loop_s;
        x->per_cycle[x->n] = 1 / loop_s / clock_hz;
        x->place[x->n] = sample_of(s, from, j, i)->place;
        x->clock_hz[x->n++] = clock_hz;
    }
}

static struct rl_estimate estimate_series(const struct rl_sampler *s, unsigned j,
                                          const struct series *x, const double *rate)
{
    if (s->job[j].place)
        return rl_estimate_places(rate, x->place, x->n, s->job[j].places, s->how->top);
    return rl_estimate_top(rate, x->n, top_of(s, x->n));
}

/* @return false without memory. */
static bool estimate_ranks(const struct rl_sampler *s, unsigned j, unsigned from, unsigned to,
                           struct rl_timing *t, struct rl_estimate *ret_rate,
                           struct rl_estimate *ret_per_cycle)
{
    struct series x;
    if (!series_alloc(&x, s->repeats[j]))
        return false;
    unsigned wanted = s->how->min_repeats < s->repeats[j] ? s->how->min_repeats : s->repeats[j];
    series_fill(&x, s, j, from, to, false);
    unsigned rejected = (unsigned)x.rejected;
    unsigned clean = (unsigned)x.n;
    if (x.n < (wanted + 1) / 2 || x.n == 0) {
        series_fill(&x, s, j, from, to, true);
        t->disturbed = true;
        rejected = clean = 0;
    }
    t->disturbed |= x.alone < (wanted + 1) / 2;
    t->clean = from == 0 || clean < t->clean ? clean : t->clean;
    *ret_rate = estimate_series(s, j, &x, x.rate);
    *ret_per_cycle = estimate_series(s, j, &x, x.per_cycle);
    t->clock_hz = rl_quantile(x.clock_hz, x.n, clock_quantile);
    t->repeats = (unsigned)x.n;
    t->rejected += rejected;
    if (s->how->probe && !s->job[j].shared && !t->disturbed)
        t->disturbed = !s->rank[from].lasting || !is_settled(s, x.per_cycle, x.n);
    if (clean > 0) {
        qsort(x.per_cycle, x.n, sizeof *x.per_cycle, descending);
        t->best_per_cycle = fmax(t->best_per_cycle, best_of(x.per_cycle, x.n));
    }
    series_release(&x);
    return true;
}

static bool estimate_shared(const struct rl_sampler *s, unsigned j, struct rl_timing *t)
{
    struct rl_estimate rate;
    struct rl_estimate per_cycle;
    if (!estimate_ranks(s, j, 0, s->n_rank, t, &rate, &per_cycle))
        return false;
    t->loops_per_s = rate.value * s->n_rank;
    t->per_cycle = t->clock_hz > 0 ? rate.value / t->clock_hz : 0;
    t->spread = rate.spread;
    t->time_s = rate.value > 0 ? 1 / rate.value : 0;
    t->median_s = rate.median > 0 ? 1 / rate.median : 0;
    return true;
}

/* Loops a cycle repeat far better than loops a second on a core whose clock wanders, so the rate is
 * loops a cycle at the clock seen beside this job's own samples: wide vectors may lower it. */
static bool estimate_private(const struct rl_sampler *s, unsigned j, struct rl_timing *t)
{
    double per_cycle_sum = 0;
    double rate_sum = 0;
    double squares = 0;
    double clock_sum = 0;
    double median = 0;
    unsigned least_repeats = s->repeats[j];
    for (unsigned k = 0; k < s->n_rank; k++) {
        struct rl_estimate rate;
        struct rl_estimate per_cycle;
        if (!estimate_ranks(s, j, k, k + 1, t, &rate, &per_cycle))
            return false;
        double width = per_cycle.value * per_cycle.spread;
        per_cycle_sum += per_cycle.value;
        rate_sum += per_cycle.value * t->clock_hz;
        squares += width * width;
        median += rate.median;
        clock_sum += t->clock_hz;
        least_repeats = t->repeats < least_repeats ? t->repeats : least_repeats;
    }
    t->per_cycle = per_cycle_sum / s->n_rank;
    t->loops_per_s = rate_sum;
    t->time_s = rate_sum > 0 ? s->n_rank / rate_sum : 0;
    t->spread = per_cycle_sum > 0 ? sqrt(squares) / per_cycle_sum : 0;
    t->median_s = median > 0 ? s->n_rank / median : 0;
    t->clock_hz = clock_sum / s->n_rank;
    t->repeats = least_repeats;
    return true;
}

bool rl_sampler_estimate(const struct rl_sampler *s, unsigned j, struct rl_timing *t)
{
    *t = (struct rl_timing){.loops = s->loops[j]};
    return s->job[j].shared ? estimate_shared(s, j, t) : estimate_private(s, j, t);
}

static void report_clocks(const struct rl_sampler *s, struct rl_sampling_report *report)
{
    size_t n = 0;
    for (unsigned j = 0; j < s->n_job; j++)
        n += (size_t)s->repeats[j] * s->n_rank;
    double *hz = malloc((n + 1) * sizeof *hz);
    if (!hz)
        return;
    n = 0;
    for (unsigned k = 0; k < s->n_rank; k++)
        for (unsigned j = 0; j < s->n_job; j++)
            for (unsigned i = 0; i < s->repeats[j]; i++)
                if (was_taken(sample_of(s, k, j, i)))
                    hz[n++] = fabs(sample_of(s, k, j, i)->clock_hz);
    report->clock_min_hz = rl_quantile(hz, n, 0.02);
    report->clock_hz = rl_quantile(hz, n, 0.5);
    report->clock_max_hz = rl_quantile(hz, n, 0.98);
    free(hz);
}

double rl_nop_expected(double seen)
{
    const double reachable = 0.97; /* of the width, loop overhead included */
    double width = 4;
    while (width < 0.98 * seen)
        width += 1;
    return reachable * width;
}

double rl_probe_value(double nop_hz, double window_hz, double core_hz)
{
    const double reachable = 0.95; /* of the window's rate, the start of its loop included */
    if (core_hz <= 0)
        return 0;
    double share = window_hz > 0 ? window_hz / core_hz / reachable : 1;
    return nop_hz / core_hz * (share < 1 ? share : 1);
}

static size_t count_probes(const struct rl_sampler *s)
{
    size_t n = 0;
    for (unsigned j = 0; j < s->n_job; j++)
        n += s->repeats[j];
    return n;
}

/* 98 % quantile of one rank's probes; 0 without any, or without memory. */
static double nop_seen(const struct rl_sampler *s, unsigned rank)
{
    size_t n = count_probes(s);
    double *nop = n ? malloc(n * sizeof *nop) : NULL;
    if (!nop)
        return 0;
    n = 0;
    for (unsigned j = 0; j < s->n_job; j++)
        for (unsigned i = 0; i < s->repeats[j]; i++)
            nop[n++] = sample_of(s, rank, j, i)->nop;
    double seen = rl_quantile(nop, n, 0.98);
    free(nop);
    return seen;
}

/* The rank that saw most shows what the others could see. What is known of a core is what it shows
 * at least: a few per cent depend on where the probe's code lies. Beyond its whole width it is not
 * the probe but the clock. */
static double expected_nop(const struct rl_sampler *s)
{
    double most = 0;
    double known = s->how->nop_per_cycle;
    if (known > 0 && count_probes(s) < LEAST_PROBES)
        return known;
    for (unsigned k = 0; k < s->n_rank; k++) {
        double seen = nop_seen(s, k);
        most = seen > most ? seen : most;
    }
    if (known <= 0)
        return rl_nop_expected(most);
    return fmax(known, fmin(most, ceil(known)));
}

/* A team is contended when its worst rank never saw its core undisturbed. */
static void report_probe(const struct rl_sampler *s, struct rl_sampling_report *report)
{
    size_t clean = 0;
    size_t total = 0;
    for (unsigned k = 0; k < s->n_rank; k++) {
        double seen = nop_seen(s, k);
        if (k == 0 || seen < report->nop_per_cycle)
            report->nop_per_cycle = seen;
        for (unsigned j = 0; j < s->n_job; j++)
            for (unsigned i = 0; i < s->repeats[j]; i++, total++)
                clean += sample_of(s, k, j, i)->nop >= s->nop_bar;
    }
    total += (size_t)s->waited * s->n_rank;
    report->nop_expected = s->nop_bar / clean_share;
    report->clean_share = total ? (double)clean / (double)total : 0;
    report->probes = (unsigned)total;
    report->contended = report->nop_per_cycle < s->nop_bar;
}

static bool is_lasting(const struct rl_sampler *s, unsigned rank)
{
    size_t before = 0;
    size_t both = 0;
    for (unsigned j = 0; j < s->n_job; j++)
        for (unsigned i = 0; i < s->repeats[j]; i++) {
            const struct rl_sample *sample = sample_of(s, rank, j, i);
            before += sample->nop_before >= s->nop_bar;
            both += sample->nop >= s->nop_bar;
        }
    return (double)both >= lasting_share * (double)before;
}

/* @return whether the job's samples by this rank have settled; false without memory. */
static bool has_settled(const struct rl_sampler *s, unsigned rank, unsigned j)
{
    unsigned n = 0;
    double *rate = malloc((s->repeats[j] + 1) * sizeof *rate);
    for (unsigned i = 0; rate && i < s->repeats[j]; i++) {
        const struct rl_sample *sample = sample_of(s, rank, j, i);
        if (is_clean(s, j, sample))
            rate[n++] = 1 / sample->loop_s / sample->clock_hz;
    }
    bool settled = rate && s->rank[rank].lasting && is_settled(s, rate, n);
    free(rate);
    return settled;
}

bool rl_sampler_judge(struct rl_sampler *s)
{
    bool any = false;
    if (!s->how->probe)
        return false;
    s->nop_bar = clean_share * expected_nop(s);
    for (unsigned k = 0; k < s->n_rank; k++)
        s->rank[k].lasting = is_lasting(s, k);
    for (unsigned j = 0; j < s->n_job; j++) {
        bool may_want =
            !s->job[j].shared && !s->job[j].untimed && s->repeats[j] < s->how->max_repeats;
        s->wanting[j] = false;
        for (unsigned k = 0; k < s->n_rank && may_want && !s->wanting[j]; k++)
            s->wanting[j] = !has_settled(s, k, j);
        any |= s->wanting[j];
    }
    return any;
}

void rl_sampler_report(const struct rl_sampler *s, struct rl_sampling_report *report)
{
    report_clocks(s, report);
    if (s->how->probe)
        report_probe(s, report);
}
