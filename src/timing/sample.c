#include "timing/sample_internal.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { CALIBRATION_TRIES = 2, CALIBRATION_STEP = 4 };
/* Of a private job's sample, run before it untimed: cores change their clock, and stall for some
 * microseconds, when wide vectors begin. */
enum { SETTLING_PART = 4 };
static const double clock_agreement = 0.01; /* relative; readings below are disturbed ones */
static const double clock_steady = 0.005;   /* relative; a larger step is a change of clock */
static const double near_s = 1e-3;          /* clock readings this close in time are as one */
static const double least_sample_s = 20e-6; /* for jobs that name no sample length */
static const double progress_interval_s = 0.05;
/* What has settled is sampled in every so many-th round, while there is what has not. */
enum { SETTLED_EVERY = 4, LEAST_FOR_SETTLED = 16 };
/* Enough for a lower bound, should no moment be undisturbed. */
enum { LEAST_DISTURBED = 50 };
static const double long_call_s = 0.05;
static const double steady_interval_s = 0.25;
static const double judge_interval_s = 0.05;
static const double judge_pause = 20; /* times what a judgement took, while all ranks waited */

static void meet(struct rl_sampler *s)
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

static double push_reading(struct rl_sampler *s, struct rl_sample_rank *r)
{
    double hz = rl_core_clock_hz(&s->clock);
    r->ring_at = (r->ring_at + 1) % RL_SAMPLE_RING;
    r->ring_hz[r->ring_at] = hz;
    r->ring_ticks[r->ring_at] = rl_ticks();
    return hz;
}

/* A reading is believed when it agrees with one shortly before, and if there is none, with a second
 * one: alone, a disturbed reading would make a sample look faster than the core.
 * @return whether it agrees. */
static bool read_clock(struct rl_sampler *s, struct rl_sample_rank *r)
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

static bool is_near(const struct rl_sampler *s, const struct rl_sample_rank *r, unsigned i,
                    uint64_t now)
{
    return r->ring_hz[i] > 0 && (double)(now - r->ring_ticks[i]) < near_s * s->clock.tick_hz;
}

/* After a reading that agrees with the one before: the mean of the last ones that agree, because a
 * counter that advances in steps makes single ones wrong. What came before a change is of another
 * clock: wide vectors lower it for the time they run and some hundred microseconds more. */
static double clock_agreed(const struct rl_sampler *s, const struct rl_sample_rank *r)
{
    uint64_t now = rl_ticks();
    double newest = r->ring_hz[r->ring_at];
    double sum = 0;
    unsigned n = 0;
    for (; n < RL_SAMPLE_RING; n++) {
        unsigned i = (r->ring_at + RL_SAMPLE_RING - n) % RL_SAMPLE_RING;
        if (!is_near(s, r, i, now) || fabs(r->ring_hz[i] - newest) > clock_agreement * newest)
            break;
        sum += r->ring_hz[i];
    }
    return n ? sum / n : newest;
}

/* Otherwise: a disturbed chain reads low, so of the readings close in time the largest. */
static double clock_highest(const struct rl_sampler *s, const struct rl_sample_rank *r)
{
    uint64_t now = rl_ticks();
    double best = r->ring_hz[r->ring_at];
    for (unsigned i = 0; i < RL_SAMPLE_RING; i++)
        if (is_near(s, r, i, now) && r->ring_hz[i] > best)
            best = r->ring_hz[i];
    return best;
}

static double timed_s(struct rl_sampler *s, const struct rl_job *job, unsigned rank, uint64_t loops)
{
    uint64_t from = rl_ticks();
    job->run(job->arg, rank, loops);
    uint64_t to = rl_ticks();
    return rl_ticks_s(&s->clock, from, to);
}

/* Of a shared job every rank runs every try, so that barriers of its own stay in step, and the
 * slowest rank decides. Private jobs are rank 0's alone: meeting costs a time slice where cores are
 * busy. */
static double calibration_s(struct rl_sampler *s, const struct rl_job *job, unsigned rank,
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
static uint64_t calibrated_loops(struct rl_sampler *s, const struct rl_job *job, unsigned rank)
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

static void calibrate(struct rl_sampler *s, unsigned j, unsigned rank)
{
    bool takes_part = rank == 0 || s->job[j].shared;
    uint64_t loops = takes_part ? calibrated_loops(s, &s->job[j], rank) : 0;
    if (rank == 0)
        s->loops[j] = loops;
    meet(s);
}

static bool due(const struct rl_sampler *s, unsigned j)
{
    unsigned every = s->job[j].every ? s->job[j].every : 1;
    if (s->overtime && !s->wanting[j] && !s->job[j].untimed)
        return false;
    if (s->judged && !s->wanting[j] && !s->job[j].shared && !s->job[j].untimed &&
        s->repeats[j] >= LEAST_FOR_SETTLED)
        every *= SETTLED_EVERY;
    return s->repeats[j] < s->how->max_repeats && s->round % every == 0;
}

/* No-operations a cycle now; they are behind the last sample and before the next. */
static double probe(struct rl_sampler *s, struct rl_sample_rank *r)
{
    double nop_hz = rl_nop_rate(&s->clock);
    double window_hz = s->how->probe_window ? rl_window_rate(&s->clock) : 0;
    bool steady = read_clock(s, r);
    if (!steady) /* changed since the last sample, or disturbed */
        (void)push_reading(s, r);
    double core_hz = steady ? clock_agreed(s, r) : clock_highest(s, r);
    double nop = rl_probe_value(nop_hz, window_hz, core_hz);
    if (r->last && nop < r->last->nop)
        r->last->nop = nop;
    return nop;
}

static void request_stop(struct rl_sampler *s)
{
    atomic_store(&s->stop_turn, s->rank[0].turn + 1);
}

static void tell(struct rl_sampler *s, const struct rl_job *job)
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

/* Are there samples enough to go on in quiet moments only? */
static bool can_wait(const struct rl_sampler *s, unsigned j)
{
    const struct rl_job *job = &s->job[j];
    return s->judged && !job->shared && !job->untimed && s->repeats[j] >= LEAST_DISTURBED &&
           s->repeats[j] >= s->how->min_repeats;
}

/* One sample of one job by one rank. false: the run was stopped instead. */
static bool take_sample(struct rl_sampler *s, unsigned j, unsigned rank)
{
    const struct rl_job *job = &s->job[j];
    struct rl_sample_rank *r = &s->rank[rank];
    if (rank == 0)
        tell(s, job);
    long before = switches();
    if (job->prepare)
        job->prepare(job->arg, rank);
    if (!job->shared && s->loops[j] > SETTLING_PART)
        job->run(job->arg, rank, s->loops[j] / SETTLING_PART);
    double nop = s->how->probe ? probe(s, r) : 0;
    r->turn++;
    meet(s);
    if (r->turn >= atomic_load(&s->stop_turn))
        return false;
    struct rl_sample *sample = &r->sample[(size_t)j * s->how->max_repeats + s->repeats[j]];
    r->last = NULL;
    if (can_wait(s, j) && nop < s->nop_bar) {
        *sample = (struct rl_sample){.nop = nop, .nop_before = nop}; /* it could not count */
        return true;
    }
    atomic_store(&s->taken, true);
    double seconds = timed_s(s, job, rank, s->loops[j]);
    bool steady = read_clock(s, r);
    sample->clock_hz = steady ? clock_agreed(s, r) : -clock_highest(s, r);
    sample->loop_s = seconds / (double)s->loops[j];
    sample->place = job->place ? job->place(job->arg, rank) : 0;
    if (switches() != before)
        sample->loop_s = -sample->loop_s;
    sample->nop = sample->nop_before = nop;
    r->last = sample;
    return true;
}

static bool enough_repeats(const struct rl_sampler *s)
{
    for (unsigned j = 0; j < s->n_job; j++)
        if (s->repeats[j] < s->how->min_repeats)
            return false;
    return true;
}

static bool all_full(const struct rl_sampler *s)
{
    for (unsigned j = 0; j < s->n_job; j++)
        if (s->repeats[j] < s->how->max_repeats)
            return false;
    return true;
}

static bool all_steady(struct rl_sampler *s)
{
    enum { LEAST_FOR_STEADY = 16 };
    if (rl_sampler_judge(s))
        return false;
    for (unsigned j = 0; j < s->n_job; j++) {
        struct rl_timing t;
        if (s->repeats[j] < LEAST_FOR_STEADY || !rl_sampler_estimate(s, j, &t) || t.disturbed ||
            t.spread > s->how->steady_spread)
            return false;
    }
    return true;
}

/* Many ranks with many samples each take long to judge. */
static bool judge(struct rl_sampler *s, double now_s)
{
    s->judged = rl_sampler_judge(s);
    s->judged_s = rl_now_s();
    s->judge_gap_s = fmax(judge_interval_s, judge_pause * (s->judged_s - now_s));
    return s->judged;
}

/* The budget is used up. @return whether jobs go on that were disturbed most of the time. */
static bool goes_on(struct rl_sampler *s, double now_s)
{
    if (now_s - s->start_s >= s->how->budget_s + s->how->overtime_s)
        return false;
    if (!s->overtime || now_s - s->judged_s >= s->judge_gap_s)
        s->overtime = judge(s, now_s);
    return s->overtime;
}

/* Rank 0, while the others wait at the second barrier that ends a round. */
static void judge_round(struct rl_sampler *s)
{
    double now_s = rl_now_s();
    s->round++;
    bool budget_used = now_s - s->start_s >= s->how->budget_s && enough_repeats(s);
    if (all_full(s) || (budget_used && !goes_on(s, now_s))) {
        request_stop(s);
        return;
    }
    if (s->overtime)
        return;
    if (s->how->overtime_s > 0 && now_s - s->judged_s >= s->judge_gap_s)
        judge(s, now_s);
    if (s->how->steady_spread > 0 && now_s - s->start_s >= s->how->least_s &&
        now_s - s->checked_s >= steady_interval_s) {
        if (all_steady(s)) {
            s->steady = true;
            request_stop(s);
        }
        s->checked_s = rl_now_s();
    }
}

/* Waiting uses up no repeats, or a neighbour busy for seconds would use them all. */
static void end_turn(struct rl_sampler *s, unsigned j)
{
    if (atomic_exchange(&s->taken, false))
        s->repeats[j]++;
    else
        s->waited++;
}

static void sample_on(void *arg, unsigned rank)
{
    struct rl_sampler *s = arg;
    struct rl_sample_rank *r = &s->rank[rank];
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
                end_turn(s, j);
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

static enum rl_status summarise(struct rl_sampler *s, struct rl_timing *ret_timing,
                                struct rl_sampling_report *ret_report, struct rl_error *err)
{
    struct rl_sampling_report report = {
        .rounds = s->round, .elapsed_s = s->end_s - s->start_s, .steady = s->steady};
    (void)rl_sampler_judge(s);
    rl_sampler_report(s, &report);
    for (unsigned j = 0; j < s->n_job; j++)
        if (!rl_sampler_estimate(s, j, &ret_timing[j]))
            return rl_fail(err, RL_ENOMEM, "no memory to evaluate samples");
    if (ret_report)
        *ret_report = report;
    return RL_OK;
}

static bool sampler_alloc(struct rl_sampler *s)
{
    size_t n_sample = (size_t)s->n_job * s->how->max_repeats;
    s->loops = calloc(s->n_job, sizeof *s->loops);
    s->repeats = calloc(s->n_job, sizeof *s->repeats);
    s->wanting = calloc(s->n_job, sizeof *s->wanting);
    s->rank = aligned_alloc(_Alignof(struct rl_sample_rank), s->n_rank * sizeof *s->rank);
    if (!s->loops || !s->repeats || !s->wanting || !s->rank)
        return false;
    memset(s->rank, 0, s->n_rank * sizeof *s->rank);
    for (unsigned k = 0; k < s->n_rank; k++) {
        s->rank[k].sample = calloc(n_sample, sizeof *s->rank[k].sample);
        if (!s->rank[k].sample)
            return false;
    }
    return true;
}

static void sampler_release(struct rl_sampler *s)
{
    for (unsigned k = 0; s->rank && k < s->n_rank; k++)
        free(s->rank[k].sample);
    free(s->rank);
    free(s->repeats);
    free(s->wanting);
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
        how->min_repeats > how->max_repeats || how->max_repeats > RL_SAMPLE_MOST_REPEATS ||
        !(how->budget_s >= 0) || !(how->overtime_s >= 0))
        return rl_fail(err, RL_EINVAL, "nothing to sample, or sampling limits out of range");
    struct rl_sampler s = {.team = team,
                           .n_rank = team ? rl_team_size(team) : 1,
                           .job = job,
                           .n_job = n_job,
                           .how = how,
                           .clock = how->clock ? *how->clock : rl_clock_calibrate()};
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
