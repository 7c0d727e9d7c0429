#include "timing/timing.h"

#include "base/error.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Of many samples the best twentieth counts, so that their number does not select clock errors. */
enum {
    RING = 8,
    MOST_REPEATS = 65536,
    CALIBRATION_TRIES = 2,
    CALIBRATION_STEP = 4,
    TOP_SHARE = 20
};
static const double clock_quantile = 0.75;  /* readings are more often too low than too high */
static const double clock_agreement = 0.01; /* relative; readings below are disturbed ones */
static const double clock_steady = 0.005;   /* relative; a larger step is a change of clock */
static const double near_s = 1e-3;          /* clock readings this close in time are as one */
static const double least_sample_s = 20e-6; /* for jobs that name no sample length */
static const double progress_interval_s = 0.05;
static const double long_call_s = 0.05;
static const double steady_interval_s = 0.25;
static const double clean_share = 0.95;

struct sample {
    double loop_s;   /* seconds a loop; negative: the rank lost its CPU */
    double clock_hz; /* negative: it changed meanwhile */
};

/* What one rank writes while sampling; nobody else touches it until the run is over. */
struct rank_state {
    _Alignas(64) double ring_hz[RING];
    uint64_t ring_ticks[RING];
    unsigned ring_at;
    unsigned turn;         /* barriers passed where the run could have been stopped */
    struct sample *sample; /* [n_job][max_repeats] */
    double *nop;           /* [max_rounds] per cycle */
    size_t n_nop;
    double calibration_s; /* duration of the last calibration sample */
};

struct sampler {
    struct rl_team *team; /* NULL: the calling thread */
    unsigned n_rank;
    const struct rl_job *job;
    unsigned n_job;
    const struct rl_sampling *how;
    struct rl_clock clock;
    struct rank_state *rank; /* [n_rank] */
    uint64_t *loops;         /* [n_job] */
    unsigned *repeats;       /* [n_job] */
    unsigned round;
    double start_s;
    double end_s;
    double told_s;
    double checked_s;
    atomic_uint stop_turn; /* ranks leave at this barrier */
    bool cancelled;
    bool steady;
};

static void meet(struct sampler *s)
{
    if (s->team)
        rl_team_barrier(s->team);
}

static long switches(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0)
        return usage.ru_nivcsw;
#endif
    return 0;
}

static double push_reading(struct sampler *s, struct rank_state *r)
{
    double hz = rl_core_clock_hz(&s->clock);
    r->ring_at = (r->ring_at + 1) % RING;
    r->ring_hz[r->ring_at] = hz;
    r->ring_ticks[r->ring_at] = rl_ticks();
    return hz;
}

/* A reading is believed when it agrees with one shortly before, and if there is none, with a second
 * one: alone, a disturbed reading would make a sample look faster than the core.
 * @return whether it agrees. */
static bool read_clock(struct sampler *s, struct rank_state *r)
{
    double last_hz = r->ring_hz[r->ring_at];
    uint64_t last_ticks = r->ring_ticks[r->ring_at];
    double hz = push_reading(s, r);
    if ((double)(r->ring_ticks[r->ring_at] - last_ticks) >= near_s * s->clock.tick_hz) {
        last_hz = hz;
        hz = push_reading(s, r);
    }
    return hz < last_hz * (1 + clock_steady) && hz > last_hz * (1 - clock_steady);
}

static bool is_near(const struct sampler *s, const struct rank_state *r, unsigned i, uint64_t now)
{
    return r->ring_hz[i] > 0 && (double)(now - r->ring_ticks[i]) < near_s * s->clock.tick_hz;
}

/* A disturbed chain reads low, so of the readings close in time those near the largest count; their
 * mean, because a counter that advances in steps makes the largest one too large. */
static double clock_near(const struct sampler *s, const struct rank_state *r)
{
    uint64_t now = rl_ticks();
    double best = 0;
    double sum = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < RING; i++)
        if (is_near(s, r, i, now) && r->ring_hz[i] > best)
            best = r->ring_hz[i];
    for (unsigned i = 0; i < RING; i++)
        if (is_near(s, r, i, now) && r->ring_hz[i] > (1 - clock_agreement) * best) {
            sum += r->ring_hz[i];
            n++;
        }
    return n ? sum / n : r->ring_hz[r->ring_at];
}

static double timed_s(struct sampler *s, const struct rl_job *job, unsigned rank, uint64_t loops)
{
    uint64_t from = rl_ticks();
    job->run(job->arg, rank, loops);
    uint64_t to = rl_ticks();
    return rl_ticks_s(&s->clock, from, to);
}

/* Of a shared job every rank runs every try, so that barriers of its own stay in step, and the
 * slowest rank decides. Private jobs are rank 0's alone: meeting costs a time slice where cores are
 * busy. */
static double calibration_s(struct sampler *s, const struct rl_job *job, unsigned rank,
                            uint64_t loops, unsigned tries)
{
    double best = 1e30;
    for (unsigned i = 0; i < tries; i++) {
        if (job->prepare)
            job->prepare(job->arg, rank);
        if (!job->shared) {
            double took_s = timed_s(s, job, rank, loops);
            best = took_s < best ? took_s : best;
            continue;
        }
        meet(s);
        s->rank[rank].calibration_s = timed_s(s, job, rank, loops);
        meet(s);
        double slowest = 0;
        for (unsigned k = 0; k < s->n_rank; k++)
            if (s->rank[k].calibration_s > slowest)
                slowest = s->rank[k].calibration_s;
        meet(s);
        if (slowest < best)
            best = slowest;
    }
    return best;
}

/* The first call pays for page faults and cold caches, so it decides only for jobs so long that
 * this cannot matter. */
static uint64_t calibrated_loops(struct sampler *s, const struct rl_job *job, unsigned rank)
{
    double wanted_s = job->sample_s > 0 ? job->sample_s : least_sample_s;
    uint64_t loops = 1;
    if (job->loops)
        return job->loops;
    if (calibration_s(s, job, rank, 1, 1) > long_call_s)
        return 1;
    for (;;) {
        double took_s = calibration_s(s, job, rank, loops, CALIBRATION_TRIES);
        if (took_s >= wanted_s / CALIBRATION_STEP || loops > UINT64_MAX / CALIBRATION_STEP / 2) {
            double scaled = took_s > 0 ? (double)loops * wanted_s / took_s + 0.5 : 1;
            return scaled < 1 ? 1 : (uint64_t)scaled;
        }
        loops *= CALIBRATION_STEP;
    }
}

static void calibrate(struct sampler *s, unsigned j, unsigned rank)
{
    bool takes_part = rank == 0 || s->job[j].shared;
    uint64_t loops = takes_part ? calibrated_loops(s, &s->job[j], rank) : 0;
    if (rank == 0)
        s->loops[j] = loops;
    meet(s);
}

static bool due(const struct sampler *s, unsigned j)
{
    unsigned every = s->job[j].every ? s->job[j].every : 1;
    return s->repeats[j] < s->how->max_repeats && s->round % every == 0;
}

static void probe(struct sampler *s, struct rank_state *r)
{
    double nop_hz = rl_nop_rate(&s->clock);
    double core_hz = clock_near(s, r);
    if (core_hz > 0 && r->n_nop < MOST_REPEATS)
        r->nop[r->n_nop++] = nop_hz / core_hz;
}

static void request_stop(struct sampler *s)
{
    atomic_store(&s->stop_turn, s->rank[0].turn + 1);
}

static void tell(struct sampler *s, const struct rl_job *job)
{
    const struct rl_sampling *how = s->how;
    double now_s = rl_now_s();
    if (how->progress && now_s - s->told_s >= progress_interval_s) {
        double fraction = how->budget_s > 0 ? (now_s - s->start_s) / how->budget_s : 1;
        how->progress(how->context, fraction < 1 ? fraction : 1, job->name);
        s->told_s = now_s;
    }
    if (how->cancelled && !s->cancelled && how->cancelled(how->context)) {
        s->cancelled = true;
        request_stop(s);
    }
}

/* One sample of one job by one rank. false: the run was stopped instead. */
static bool take_sample(struct sampler *s, unsigned j, unsigned rank)
{
    const struct rl_job *job = &s->job[j];
    struct rank_state *r = &s->rank[rank];
    if (rank == 0)
        tell(s, job);
    long before = switches();
    if (job->prepare)
        job->prepare(job->arg, rank);
    if (s->how->probe)
        probe(s, r);
    r->turn++;
    meet(s);
    if (r->turn >= atomic_load(&s->stop_turn))
        return false;
    double seconds = timed_s(s, job, rank, s->loops[j]);
    bool steady = read_clock(s, r);
    struct sample *sample = &r->sample[(size_t)j * s->how->max_repeats + s->repeats[j]];
    sample->clock_hz = steady ? clock_near(s, r) : -clock_near(s, r);
    sample->loop_s = seconds / (double)s->loops[j];
    if (switches() != before)
        sample->loop_s = -sample->loop_s;
    return true;
}

static bool enough_repeats(const struct sampler *s)
{
    for (unsigned j = 0; j < s->n_job; j++)
        if (s->repeats[j] < s->how->min_repeats)
            return false;
    return true;
}

static bool all_full(const struct sampler *s)
{
    for (unsigned j = 0; j < s->n_job; j++)
        if (s->repeats[j] < s->how->max_repeats)
            return false;
    return true;
}

/* Rates of one job over its kept samples: joint rates of all ranks, or one rank's own. */
struct series {
    double *rate;      /* [n] loops a second */
    double *per_cycle; /* [n] loops a cycle */
    double *clock_hz;  /* [n] */
    size_t n;
    size_t rejected;
};

static void series_release(struct series *x)
{
    free(x->rate);
    free(x->per_cycle);
    free(x->clock_hz);
}

static bool series_alloc(struct series *x, size_t n)
{
    *x = (struct series){.rate = malloc((n + 1) * sizeof *x->rate),
                         .per_cycle = malloc((n + 1) * sizeof *x->per_cycle),
                         .clock_hz = malloc((n + 1) * sizeof *x->clock_hz)};
    if (x->rate && x->per_cycle && x->clock_hz)
        return true;
    series_release(x);
    return false;
}

/* Ranks from..to taken together: a sample is as slow as its slowest rank and as clean as its most
 * disturbed one. */
static void series_fill(struct series *x, const struct sampler *s, unsigned j, unsigned from,
                        unsigned to, bool keep_disturbed)
{
    x->n = x->rejected = 0;
    for (unsigned i = 0; i < s->repeats[j]; i++) {
        double loop_s = 0;
        double clock_hz = 0;
        bool clean = true;
        for (unsigned k = from; k < to; k++) {
            const struct sample *sample = &s->rank[k].sample[(size_t)j * s->how->max_repeats + i];
            double seconds = fabs(sample->loop_s);
            bool steady = s->job[j].shared || sample->clock_hz > 0;
            clean = clean && steady && sample->loop_s > 0;
            loop_s = seconds > loop_s ? seconds : loop_s;
            clock_hz += fabs(sample->clock_hz) / (to - from);
        }
        if (!clean)
            x->rejected++;
        if ((!clean && !keep_disturbed) || loop_s <= 0 || clock_hz <= 0)
            continue;
        x->rate[x->n] = 1 / loop_s;
        x->per_cycle[x->n] = 1 / loop_s / clock_hz;
        x->clock_hz[x->n++] = clock_hz;
    }
}

/* @return false without memory. */
static bool estimate_ranks(const struct sampler *s, unsigned j, unsigned from, unsigned to,
                           struct rl_timing *t, struct rl_estimate *ret_rate,
                           struct rl_estimate *ret_per_cycle)
{
    struct series x;
    if (!series_alloc(&x, s->repeats[j]))
        return false;
    unsigned wanted = s->how->min_repeats < s->repeats[j] ? s->how->min_repeats : s->repeats[j];
    series_fill(&x, s, j, from, to, false);
    unsigned rejected = (unsigned)x.rejected;
    if (x.n < (wanted + 1) / 2 || x.n == 0) {
        series_fill(&x, s, j, from, to, true);
        t->disturbed = true;
        rejected = 0;
    }
    size_t top = x.n / TOP_SHARE > s->how->top ? x.n / TOP_SHARE : s->how->top;
    *ret_rate = rl_estimate_top(x.rate, x.n, top);
    *ret_per_cycle = rl_estimate_top(x.per_cycle, x.n, top);
    t->clock_hz = rl_quantile(x.clock_hz, x.n, clock_quantile);
    t->repeats = (unsigned)x.n;
    t->rejected += rejected;
    series_release(&x);
    return true;
}

static bool estimate_shared(const struct sampler *s, unsigned j, struct rl_timing *t)
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
static bool estimate_private(const struct sampler *s, unsigned j, struct rl_timing *t)
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

static bool estimate_job(const struct sampler *s, unsigned j, struct rl_timing *t)
{
    *t = (struct rl_timing){.loops = s->loops[j]};
    return s->job[j].shared ? estimate_shared(s, j, t) : estimate_private(s, j, t);
}

static bool all_steady(const struct sampler *s)
{
    enum { LEAST_FOR_STEADY = 16 };
    for (unsigned j = 0; j < s->n_job; j++) {
        struct rl_timing t;
        if (s->repeats[j] < LEAST_FOR_STEADY || !estimate_job(s, j, &t) || t.disturbed ||
            t.spread > s->how->steady_spread)
            return false;
    }
    return true;
}

/* Rank 0, while the others wait at the barrier that ends a round. */
static void judge_round(struct sampler *s)
{
    double now_s = rl_now_s();
    s->round++;
    if (all_full(s) || (now_s - s->start_s >= s->how->budget_s && enough_repeats(s))) {
        request_stop(s);
        return;
    }
    if (s->how->steady_spread > 0 && now_s - s->start_s >= s->how->least_s &&
        now_s - s->checked_s >= steady_interval_s) {
        s->checked_s = now_s;
        if (all_steady(s)) {
            s->steady = true;
            request_stop(s);
        }
    }
}

static void sample_on(void *arg, unsigned rank)
{
    struct sampler *s = arg;
    struct rank_state *r = &s->rank[rank];
    for (unsigned j = 0; j < s->n_job; j++)
        calibrate(s, j, rank);
    if (rank == 0)
        s->start_s = s->checked_s = rl_now_s();
    read_clock(s, r);
    for (;;) {
        for (unsigned j = 0; j < s->n_job; j++) {
            if (!due(s, j))
                continue;
            if (!take_sample(s, j, rank))
                return;
            meet(s);
            if (rank == 0)
                s->repeats[j]++;
            meet(s);
        }
        meet(s); /* what is due depends on what a judgement changes */
        if (rank == 0)
            judge_round(s);
        r->turn++;
        meet(s);
        if (r->turn >= atomic_load(&s->stop_turn))
            return;
    }
}

static void report_clocks(const struct sampler *s, struct rl_sampling_report *report)
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
                hz[n++] = fabs(s->rank[k].sample[(size_t)j * s->how->max_repeats + i].clock_hz);
    report->clock_min_hz = rl_quantile(hz, n, 0.02);
    report->clock_hz = rl_quantile(hz, n, 0.5);
    report->clock_max_hz = rl_quantile(hz, n, 0.98);
    free(hz);
}

/* Without a known width the least whole number, 4 or more, that is not below what was seen: no
 * core with vector units decodes fewer than four a cycle. */
static double expected_nop(const struct sampler *s, double seen)
{
    const double reachable = 0.97; /* of the width, loop overhead included */
    if (s->how->nop_per_cycle > 0)
        return s->how->nop_per_cycle;
    double width = 4;
    while (reachable * width < 0.98 * seen)
        width += 1;
    return reachable * width;
}

/* A team is contended when its worst rank never saw its core undisturbed. */
static void report_probe(const struct sampler *s, struct rl_sampling_report *report)
{
    size_t clean = 0;
    size_t total = 0;
    for (unsigned k = 0; k < s->n_rank; k++) {
        double seen = rl_quantile(s->rank[k].nop, s->rank[k].n_nop, 0.98);
        if (k == 0 || seen < report->nop_per_cycle)
            report->nop_per_cycle = seen;
    }
    report->nop_expected = expected_nop(s, report->nop_per_cycle);
    double bar = clean_share * report->nop_expected;
    for (unsigned k = 0; k < s->n_rank; k++)
        for (size_t i = 0; i < s->rank[k].n_nop; i++, total++)
            clean += s->rank[k].nop[i] >= bar;
    report->clean_share = total ? (double)clean / (double)total : 0;
    report->contended = report->nop_per_cycle < bar;
}

static enum rl_status summarise(struct sampler *s, struct rl_timing *ret_timing,
                                struct rl_sampling_report *ret_report, struct rl_error *err)
{
    struct rl_sampling_report report = {
        .rounds = s->round, .elapsed_s = s->end_s - s->start_s, .steady = s->steady};
    report_clocks(s, &report);
    if (s->how->probe)
        report_probe(s, &report);
    for (unsigned j = 0; j < s->n_job; j++)
        if (!estimate_job(s, j, &ret_timing[j]))
            return rl_fail(err, RL_ENOMEM, "no memory to evaluate samples");
    if (ret_report)
        *ret_report = report;
    return RL_OK;
}

static bool sampler_alloc(struct sampler *s)
{
    size_t n_sample = (size_t)s->n_job * s->how->max_repeats;
    s->loops = calloc(s->n_job, sizeof *s->loops);
    s->repeats = calloc(s->n_job, sizeof *s->repeats);
    s->rank = aligned_alloc(_Alignof(struct rank_state), s->n_rank * sizeof *s->rank);
    if (!s->loops || !s->repeats || !s->rank)
        return false;
    memset(s->rank, 0, s->n_rank * sizeof *s->rank);
    for (unsigned k = 0; k < s->n_rank; k++) {
        s->rank[k].sample = calloc(n_sample, sizeof *s->rank[k].sample);
        s->rank[k].nop = s->how->probe ? calloc(MOST_REPEATS, sizeof *s->rank[k].nop) : NULL;
        if (!s->rank[k].sample || (s->how->probe && !s->rank[k].nop))
            return false;
    }
    return true;
}

static void sampler_release(struct sampler *s)
{
    for (unsigned k = 0; s->rank && k < s->n_rank; k++) {
        free(s->rank[k].sample);
        free(s->rank[k].nop);
    }
    free(s->rank);
    free(s->repeats);
    free(s->loops);
}

struct rl_sampling rl_sampling_default(void)
{
    return (struct rl_sampling){.budget_s = 1, .min_repeats = 3, .max_repeats = 1024, .top = 5};
}

enum rl_status rl_sample(struct rl_team *team, const struct rl_job *job, unsigned n_job,
                         const struct rl_sampling *how, struct rl_timing *ret_timing,
                         struct rl_sampling_report *ret_report, struct rl_error *err)
{
    if (n_job == 0 || how->top == 0 || how->min_repeats == 0 ||
        how->min_repeats > how->max_repeats || how->max_repeats > MOST_REPEATS ||
        !(how->budget_s >= 0))
        return rl_fail(err, RL_EINVAL, "nothing to sample, or sampling limits out of range");
    struct sampler s = {.team = team,
                        .n_rank = team ? rl_team_size(team) : 1,
                        .job = job,
                        .n_job = n_job,
                        .how = how,
                        .clock = rl_clock_calibrate()};
    atomic_init(&s.stop_turn, UINT32_MAX);
    enum rl_status status = RL_OK;
    if (!sampler_alloc(&s)) {
        status = rl_fail(err, RL_ENOMEM, "no memory for samples of %u jobs", n_job);
    } else {
        if (team)
            rl_team_run(team, sample_on, &s);
        else
            sample_on(&s, 0);
        s.end_s = rl_now_s();
        status = s.cancelled ? rl_fail(err, RL_ECANCEL, "interrupted")
                             : summarise(&s, ret_timing, ret_report, err);
    }
    sampler_release(&s);
    return status;
}
