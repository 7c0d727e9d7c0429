/* The sampler counts, orders, rejects and stops as its contract says; statistics are hand-worked.
 */
#include "timing/sample_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_estimate_is_the_median_of_the_top(void **state)
{
    (void)state;
    /* top 5 of these ten are 10 9 8 7 6; their median 8; median of all 5.5 */
    const double rate[] = {1, 10, 2, 9, 3, 8, 4, 7, 5, 6};
    struct rl_estimate e = rl_estimate_top(rate, 10, 5);
    assert_true(fabs(e.value - 8) < 1e-12);
    assert_true(fabs(e.median - 5.5) < 1e-12);
    assert_true(e.spread > 0);
}

static void one_wild_reading_does_not_move_the_estimate(void **state)
{
    (void)state;
    double rate[64];
    for (int i = 0; i < 64; i++)
        rate[i] = 100;
    rate[17] = 150;
    assert_true(fabs(rl_estimate_top(rate, 64, 5).value - 100) < 1e-12);
}

static void two_samples_have_an_honest_spread_and_one_has_none(void **state)
{
    (void)state;
    /* mean 1.5, s = 0.7071, s/sqrt 2 = 0.5, t(1) = 12.706: half width 6.353 over the best, 2 */
    const double rate[] = {1, 2};
    assert_true(fabs(rl_estimate_top(rate, 2, 5).spread - 6.353 / 2) < 1e-3);
    assert_true(rl_estimate_top(rate, 1, 5).spread == 0);
    assert_true(rl_estimate_top(rate, 0, 5).value == 0);
}

static void drift_between_blocks_shows_in_the_spread(void **state)
{
    (void)state;
    double flat[64];
    double drifting[64];
    for (int i = 0; i < 64; i++) {
        flat[i] = 100 + 0.01 * (i % 3);
        drifting[i] = 100 + 0.5 * i;
    }
    assert_true(rl_estimate_top(flat, 64, 5).spread < 0.001);
    assert_true(rl_estimate_top(drifting, 64, 5).spread > 0.05);
}

static void places_of_different_speed_count_alike(void **state)
{
    (void)state;
    /* four places, two of them of half the speed; of each half of the samples are disturbed
     */
    double rate[80];
    unsigned place[80];
    for (unsigned i = 0; i < 80; i++) {
        place[i] = i % 4;
        rate[i] = (place[i] < 2 ? 40.0 : 20.0) * (i / 4 % 2 ? 1 : 0.5);
    }
    /* the mean of time: half of it at 40 takes 1/80, half at 20 takes 1/40, and all of it 3/80 */
    struct rl_estimate e = rl_estimate_places(rate, place, 80, 4, 3);
    assert_true(fabs(e.value - 80.0 / 3) < 1e-9);
    assert_true(fabs(e.median - 20) < 1e-9);
    assert_true(e.spread < 1e-9);
    assert_true(fabs(rl_estimate_top(rate, 80, 3).value - 40) < 1e-9);
}

static void too_few_samples_do_not_tell_places_apart(void **state)
{
    (void)state;
    const double rate[] = {10, 9, 40, 8};
    const unsigned place[] = {0, 1, 2, 3};
    struct rl_estimate e = rl_estimate_places(rate, place, 4, 4, 5);
    assert_true(fabs(e.value - rl_estimate_top(rate, 4, 5).value) < 1e-12);
    assert_true(rl_estimate_places(rate, place, 0, 4, 5).value == 0);
}

/* The best few of ever more would be ever better. */
static void more_samples_select_no_better_value(void **state)
{
    (void)state;
    enum { MOST = 4096, PLACES = 4 };
    static double rate[MOST];
    static unsigned place[MOST];
    for (unsigned i = 0; i < MOST; i++) {
        place[i] = i % PLACES;
        rate[i] = 100 + (double)(i / PLACES * 37 % 101) / 10; /* evenly from 100 to 110 */
    }
    double few = rl_estimate_places(rate, place, MOST / 8, PLACES, 5).value;
    double many = rl_estimate_places(rate, place, MOST, PLACES, 5).value;
    assert_true(fabs(many - few) < 0.1);
    assert_true(many < 109.8); /* and not the best five of a thousand */
}

static void places_that_nothing_was_sampled_at_are_left_out(void **state)
{
    (void)state;
    double rate[30];
    unsigned place[30];
    for (unsigned i = 0; i < 30; i++) {
        place[i] = i % 2 ? 7 : 0;
        rate[i] = 100;
    }
    assert_true(fabs(rl_estimate_places(rate, place, 30, 8, 5).value - 100) < 1e-9);
}

static void quantiles_interpolate(void **state)
{
    (void)state;
    const double x[] = {4, 1, 3, 2};
    assert_true(fabs(rl_quantile(x, 4, 0) - 1) < 1e-12);
    assert_true(fabs(rl_quantile(x, 4, 1) - 4) < 1e-12);
    assert_true(fabs(rl_quantile(x, 4, 0.5) - 2.5) < 1e-12);
    assert_true(rl_quantile(x, 0, 0.5) == 0);
}

struct tally {
    atomic_ulong loops[4];
    atomic_ulong prepared;
};

static void count_loops(void *arg, unsigned rank, uint64_t loops)
{
    struct tally *tally = arg;
    atomic_fetch_add(&tally->loops[rank], loops);
    for (uint64_t i = 0; i < loops; i++)
        rl_core_chain();
}

static void count_prepare(void *arg, unsigned rank)
{
    (void)rank;
    struct tally *tally = arg;
    atomic_fetch_add(&tally->prepared, 1);
}

static void a_job_is_sampled_as_often_as_asked(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct rl_job job = {
        .name = "count", .run = count_loops, .prepare = count_prepare, .arg = &tally, .loops = 3};
    struct rl_sampling how = rl_sampling_default();
    how.budget_s = 60;
    how.max_repeats = 12;
    struct rl_timing t;
    struct rl_sampling_report report;
    struct rl_error err = {0};
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, &report, &err), RL_OK);
    assert_int_equal(tally.loops[0], 3 * 12);
    assert_int_equal(tally.prepared, 12);
    assert_int_equal(t.repeats + t.rejected, 12);
    assert_int_equal(t.loops, 3);
    assert_int_equal(report.rounds, 12);
    assert_true(t.time_s > 0 && t.clock_hz > 0);
    assert_true(fabs(t.time_s * t.loops_per_s - 1) < 1e-9);
}

struct walk {
    unsigned at;
    unsigned asked;
};

static void walk_on(void *arg, unsigned rank, uint64_t loops)
{
    struct walk *walk = arg;
    (void)rank;
    (void)loops;
    walk->at = (walk->at + 1) % 3;
    double until = rl_now_s() + (walk->at == 2 ? 6e-4 : 1e-4);
    while (rl_now_s() < until) {
    }
}

static unsigned where(void *arg, unsigned rank)
{
    struct walk *walk = arg;
    (void)rank;
    walk->asked++;
    return walk->at;
}

static void a_job_with_places_has_their_mean(void **state)
{
    (void)state;
    struct walk walk = {0};
    struct rl_job job = {.name = "walk",
                         .run = walk_on,
                         .arg = &walk,
                         .loops = 1,
                         .shared = true,
                         .place = where,
                         .places = 3};
    struct rl_sampling how = rl_sampling_default();
    struct rl_timing t;
    how.budget_s = 0;
    how.min_repeats = 60;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, NULL, NULL), RL_OK);
    assert_int_equal(walk.asked, 60);
    /* the mean is 8/3 of the fast places' time; without places it would be 1 */
    assert_true(t.time_s > 2e-4);
}

static void every_rank_of_a_team_runs_every_sample(void **state)
{
    (void)state;
    struct tally tally = {0};
    const int cpu[] = {-1, -1, -1};
    struct rl_team *team = NULL;
    struct rl_error err = {0};
    assert_int_equal(rl_team_new(cpu, 3, &team, &err), RL_OK);
    struct rl_job jobs[] = {
        {.name = "a", .run = count_loops, .arg = &tally, .loops = 1, .shared = true},
        {.name = "b", .run = count_loops, .arg = &tally, .loops = 1, .every = 2},
    };
    struct rl_sampling how = rl_sampling_default();
    how.budget_s = 0;
    how.min_repeats = 4;
    how.probe = true;
    struct rl_timing t[2];
    assert_int_equal(rl_sample(team, jobs, 2, &how, t, NULL, &err), RL_OK);
    rl_team_free(team);
    assert_int_equal(tally.loops[0], tally.loops[1]);
    assert_int_equal(tally.loops[0], tally.loops[2]);
    assert_true(tally.loops[0] >= 4 + 4);
    /* the second job is due every other round: after round 0, 2, 4, 6 it has its four */
    assert_int_equal(tally.loops[0], 7 + 4);
    assert_true(fabs(t[0].time_s * t[0].loops_per_s - 3) < 1e-9);
}

static bool at_once(void *context)
{
    (void)context;
    return true;
}

static void cancelling_leaves_nothing_written(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct rl_job job = {.name = "x", .run = count_loops, .arg = &tally, .loops = 1};
    struct rl_sampling how = rl_sampling_default();
    how.budget_s = 60;
    how.cancelled = at_once;
    struct rl_timing t = {.repeats = 77};
    struct rl_error err = {0};
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, NULL, &err), RL_ECANCEL);
    assert_int_equal(t.repeats, 77);
}

static void senseless_limits_are_refused(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct rl_job job = {.name = "x", .run = count_loops, .arg = &tally};
    struct rl_timing t;
    struct rl_sampling how = rl_sampling_default();
    assert_int_equal(rl_sample(NULL, &job, 0, &how, &t, NULL, NULL), RL_EINVAL);
    how.top = 0;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, NULL, NULL), RL_EINVAL);
    how = rl_sampling_default();
    how.budget_s = NAN;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, NULL, NULL), RL_EINVAL);
    struct rl_team *team = NULL;
    assert_int_equal(rl_team_new(NULL, 0, &team, NULL), RL_EINVAL);
    assert_null(team);
}

static void a_cpu_that_does_not_exist_is_named(void **state)
{
    (void)state;
    const int cpu[] = {-1, 100000};
    struct rl_team *team = NULL;
    struct rl_error err = {0};
    assert_int_equal(rl_team_new(cpu, 2, &team, &err), RL_ESYS);
    assert_non_null(strstr(err.text, "100000"));
    assert_null(team);
}

static void filled_memory_holds_no_zero_and_only_ordinary_numbers(void **state)
{
    (void)state;
    struct rl_buffer buffer = {0};
    assert_int_equal(rl_buffer_map(&buffer, 1 << 20, NULL), RL_OK);
    assert_int_equal((uintptr_t)buffer.base % (2u << 20), 0);
    rl_buffer_fill(buffer.base, buffer.bytes);
    for (size_t i = 0; i < buffer.bytes / sizeof(float); i++) {
        float f;
        memcpy(&f, buffer.base + i * sizeof f, sizeof f);
        assert_true(f >= 1 && f < 2);
    }
    for (size_t i = 0; i < buffer.bytes / sizeof(double); i++) {
        double d;
        memcpy(&d, buffer.base + i * sizeof d, sizeof d);
        assert_true(d >= 0.0078125 && d < 2);
    }
    rl_buffer_release(&buffer);
    assert_null(buffer.base);
    assert_int_equal(rl_buffer_map(&buffer, 0, NULL), RL_EINVAL);
}

static void the_clock_counts_real_time(void **state)
{
    (void)state;
    struct rl_clock clock = rl_clock_calibrate();
    assert_true(clock.tick_hz > 1e6);
    double before = rl_now_s();
    uint64_t from = rl_ticks();
    for (int i = 0; i < 2000; i++)
        rl_core_chain();
    uint64_t to = rl_ticks();
    double after = rl_now_s();
    assert_true(rl_ticks_s(&clock, from, to) <= (after - before) * 1.01);
    assert_true(rl_core_clock_hz(&clock) > 0);
    assert_true(rl_nop_rate(&clock) > 0);
    assert_true(rl_window_rate(&clock) >= 0); /* 0 where there is no such probe */
}

static void a_multiplication_takes_the_whole_cycles_that_most_pairs_show(void **state)
{
    (void)state;
    const double quiet[] = {3.002, 2.997, 3.000, 3.4, 2.999};
    assert_float_equal(rl_mul_cycles(quiet, 5), 3, 0);
    /* additions slowed by 9 % make three cycles look like 2.75, but not always */
    double beside[40];
    for (int i = 0; i < 40; i++)
        beside[i] = i < 3 ? 3.001 : 2.75;
    assert_float_equal(rl_mul_cycles(beside, 40), 3, 0);
    /* one that is never undisturbed says nothing, nor does none */
    for (int i = 0; i < 40; i++)
        beside[i] = i == 7 ? 4.0 : 3.2 + 0.01 * i;
    assert_float_equal(rl_mul_cycles(beside, 40), 0, 0);
    assert_float_equal(rl_mul_cycles(beside, 0), 0, 0);
}

static void the_chain_that_a_neighbour_spares_tells_the_clock(void **state)
{
    (void)state;
    assert_float_equal(rl_faster_chain(3.39e9, 3.69e9), 3.69e9, 1);
    assert_float_equal(rl_faster_chain(3.69e9, 3.2e9), 3.69e9, 1);
    /* four cycles taken for five */
    assert_float_equal(rl_faster_chain(3e9, 3.75e9), 3e9, 1);
    assert_float_equal(rl_faster_chain(3e9, 0), 3e9, 1);
}

static void the_front_end_width_follows_from_what_the_probe_shows(void **state)
{
    (void)state;
    /* of each width 97 % are within reach */
    assert_float_equal(rl_nop_expected(3.9), 0.97 * 4, 1e-9);
    assert_float_equal(rl_nop_expected(5.97), 0.97 * 6, 1e-9);
    assert_float_equal(rl_nop_expected(7.45), 0.97 * 8, 1e-9);
    /* a clock read 0.2 % too low does not make 12 no-operations a cycle into 13 */
    assert_float_equal(rl_nop_expected(12.02), 0.97 * 12, 1e-9);
}

static void a_neighbour_that_spares_the_front_end_shows_in_the_reorder_buffer(void **state)
{
    (void)state;
    /* 3 GHz: 18e9 no-operations a second are 6 a cycle */
    assert_float_equal(rl_probe_value(18e9, 0, 3e9), 6, 1e-9);
    assert_float_equal(rl_probe_value(18e9, 2.97e9, 3e9), 6, 1e-9); /* 60.6 cycles instead of 60 */
    /* 79 cycles for the chain's 60: 0.759 of the clock, of 0.95 that are there otherwise */
    assert_float_equal(rl_probe_value(18e9, 3e9 * 60 / 79, 3e9), 6 * (60.0 / 79) / 0.95, 1e-9);
    assert_float_equal(rl_probe_value(18e9, 3e9, 0), 0, 1e-9);
}

enum { SAMPLES = 20 };

/* One private job of 1e6 loops a second, a loop in 1000 cycles of 1 GHz; from sample `from` on the
 * probe shows 4 of 8 no-operations a cycle, and the clock seems 8 % slower than it is. */
static struct rl_sampler sampler_with(const struct rl_sampling *how, const struct rl_job *job,
                                      struct rl_sample_rank *rank, struct rl_sample *sample,
                                      unsigned *repeats, bool *wanting, unsigned from)
{
    static uint64_t loops = 1;
    for (unsigned i = 0; i < SAMPLES; i++)
        sample[i] = (struct rl_sample){.loop_s = 1e-6,
                                       .clock_hz = i < from ? 1e9 : 0.92e9,
                                       .nop = i < from ? 7.9 : 4.0,
                                       .nop_before = i < from ? 7.9 : 4.0};
    *rank = (struct rl_sample_rank){.sample = sample};
    *repeats = SAMPLES;
    return (struct rl_sampler){.n_rank = 1,
                               .job = job,
                               .n_job = 1,
                               .how = how,
                               .rank = rank,
                               .loops = &loops,
                               .repeats = repeats,
                               .wanting = wanting};
}

static void samples_on_a_shared_core_do_not_count(void **state)
{
    (void)state;
    struct rl_sampling how = rl_sampling_default();
    how.probe = true;
    how.nop_per_cycle = 8;
    how.max_repeats = SAMPLES;
    struct rl_job job = {.name = "private"};
    struct rl_sample_rank rank;
    struct rl_sample sample[SAMPLES];
    unsigned repeats;
    bool wanting;
    struct rl_timing t;
    struct rl_sampler s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 12);
    assert_false(rl_sampler_judge(&s));
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_float_equal(t.per_cycle, 1e-3, 1e-9);
    assert_int_equal(t.repeats, 12);
    assert_int_equal(t.rejected, SAMPLES - 12);
    assert_false(t.disturbed);
    sample[15].loop_s = 0; /* left out, so not rejected either */
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_int_equal(t.repeats, 12);
    assert_int_equal(t.rejected, SAMPLES - 13);
}

static void a_job_hardly_seen_undisturbed_wants_more_and_says_so(void **state)
{
    (void)state;
    struct rl_sampling how = rl_sampling_default();
    how.probe = true;
    how.nop_per_cycle = 8;
    how.max_repeats = SAMPLES + 1;
    struct rl_job job = {.name = "private"};
    struct rl_sample_rank rank;
    struct rl_sample sample[SAMPLES];
    unsigned repeats;
    bool wanting;
    struct rl_timing t;
    struct rl_sampler s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 9);
    assert_true(rl_sampler_judge(&s)); /* 9 of the 10 wanted */
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_true(t.disturbed);
    assert_int_equal(t.clean, 9);
    assert_int_equal(t.repeats, 9); /* which count all the same */
    s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 1);
    assert_true(rl_sampler_judge(&s));
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_true(t.disturbed);
    assert_int_equal(t.repeats, SAMPLES);
    assert_int_equal(t.clean, 0);
    /* what is shared keeps its samples */
    job.shared = true;
    s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 1);
    assert_false(rl_sampler_judge(&s));
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_int_equal(t.repeats, SAMPLES);
    assert_true(t.disturbed); /* one sample on a core of its own */
    s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 2);
    assert_false(rl_sampler_judge(&s));
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_false(t.disturbed);
}

/* The same job on a core that the probe finds undisturbed throughout; all but `fast` samples take
 * `slow` times as long, every seventh after another or the last ones. */
static bool is_disturbed(const struct rl_sampling *how, unsigned fast, double slow, bool mixed)
{
    static const struct rl_job job = {.name = "private"};
    struct rl_sample_rank rank;
    struct rl_sample sample[SAMPLES];
    unsigned repeats;
    bool wanting;
    struct rl_timing t;
    struct rl_sampler s = sampler_with(how, &job, &rank, sample, &repeats, &wanting, SAMPLES);
    for (unsigned i = 0; i < SAMPLES; i++)
        if ((mixed ? 7 * i % SAMPLES : i) >= fast)
            sample[i].loop_s *= slow;
    bool wants = rl_sampler_judge(&s);
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_int_equal(wants, t.disturbed);
    assert_int_equal(t.clean, SAMPLES);
    return t.disturbed;
}

static void samples_that_do_not_agree_with_the_best_settle_nothing(void **state)
{
    (void)state;
    struct rl_sampling how = rl_sampling_default();
    how.probe = true;
    how.nop_per_cycle = 8;
    how.max_repeats = SAMPLES + 1;
    assert_false(is_disturbed(&how, SAMPLES, 1, true));
    assert_false(is_disturbed(&how, 10, 1.05, true)); /* ten at the best rate: twice the top 5 */
    assert_true(is_disturbed(&how, 9, 1.05, true));
    assert_false(is_disturbed(&how, 9, 1.005, true)); /* within 1 % */
    /* two may be wrong for the clock's sake; three are the rate of a core that was left alone */
    assert_false(is_disturbed(&how, 2, 1.03, true));
    assert_true(is_disturbed(&how, 3, 1.03, true));
    /* ten at the best rate, and then none: two of five blocks of samples never saw it */
    assert_true(is_disturbed(&how, 10, 1.05, false));
}

static void a_neighbour_quicker_than_samples_settles_nothing(void **state)
{
    (void)state;
    struct rl_sampling how = rl_sampling_default();
    how.probe = true;
    how.nop_per_cycle = 8;
    how.max_repeats = SAMPLES + 1;
    struct rl_job job = {.name = "private"};
    struct rl_sample_rank rank;
    struct rl_sample sample[SAMPLES];
    unsigned repeats;
    bool wanting;
    struct rl_timing t;
    struct rl_sampler s = sampler_with(&how, &job, &rank, sample, &repeats, &wanting, 12);
    assert_false(rl_sampler_judge(&s));
    for (unsigned i = 12; i < SAMPLES; i++)
        sample[i].nop_before = 7.9; /* a good probe before all 20, behind 12 of them: 60 % */
    assert_false(rl_sampler_judge(&s));
    sample[11].nop = 4; /* 11 of 20 */
    assert_true(rl_sampler_judge(&s));
    assert_true(rl_sampler_estimate(&s, 0, &t));
    assert_true(t.disturbed);
    assert_int_equal(t.clean, 11);
}

static void a_neighbour_that_only_polls_is_noticed_by_a_core_that_showed_more(void **state)
{
    (void)state;
    enum { MANY = 400 };
    struct rl_sampling how = rl_sampling_default();
    how.probe = true;
    how.nop_per_cycle = 7.6; /* at least, wherever the probe's code lies */
    how.max_repeats = MANY;
    struct rl_job job = {.name = "private"};
    struct rl_sample_rank rank;
    struct rl_sample few[SAMPLES];
    struct rl_sample sample[MANY];
    unsigned repeats;
    bool wanting;
    struct rl_sampler s = sampler_with(&how, &job, &rank, few, &repeats, &wanting, SAMPLES);
    rank.sample = sample;
    repeats = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        sample[i] = few[0];
        sample[i].nop = sample[i].nop_before = i % 20 ? 7.6 : 7.9;
    }
    (void)rl_sampler_judge(&s);
    assert_float_equal(s.nop_bar, 0.985 * 7.9, 1e-9);
    how.nop_per_cycle = 6.9; /* more than the whole width is the clock's error */
    (void)rl_sampler_judge(&s);
    assert_float_equal(s.nop_bar, 0.985 * 7, 1e-9);
    how.nop_per_cycle = s.nop_bar / 0.985; /* as another phase begins with it */
    (void)rl_sampler_judge(&s);
    assert_float_equal(s.nop_bar, 0.985 * 7, 1e-9);
    repeats = SAMPLES; /* too few to tell */
    how.nop_per_cycle = 6.9;
    (void)rl_sampler_judge(&s);
    assert_float_equal(s.nop_bar, 0.985 * 6.9, 1e-9);
}

static void overtime_ends(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct rl_job job = {.name = "count", .run = count_loops, .arg = &tally, .loops = 1};
    struct rl_sampling how = rl_sampling_default();
    how.budget_s = 0.01;
    how.overtime_s = 0.03;
    how.max_repeats = 65536;
    how.probe = true;
    how.nop_per_cycle = 1e6; /* no core is ever undisturbed */
    struct rl_timing t;
    struct rl_sampling_report report;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, &report, NULL), RL_OK);
    assert_true(t.disturbed && report.contended);
    assert_true(report.elapsed_s >= how.budget_s + how.overtime_s);
    how.overtime_s = -1;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, &report, NULL), RL_EINVAL);
}

/* A probe takes 5 us, so that samples in each moment of the overtime would be more than allowed. */
static void waiting_for_a_quiet_moment_uses_up_no_repeats(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct rl_job job = {.name = "count", .run = count_loops, .arg = &tally, .loops = 1};
    struct rl_sampling how = rl_sampling_default();
    how.budget_s = 0.005;
    how.overtime_s = 0.05;
    how.max_repeats = 1500;
    how.probe = true;
    how.nop_per_cycle = 1e6;
    struct rl_timing t;
    struct rl_sampling_report report;
    assert_int_equal(rl_sample(NULL, &job, 1, &how, &t, &report, NULL), RL_OK);
    assert_true(report.elapsed_s >= how.budget_s + how.overtime_s);
    assert_true(t.disturbed && t.repeats < how.max_repeats);
    assert_true(report.probes > t.repeats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_the_median_of_the_top),
        cmocka_unit_test(one_wild_reading_does_not_move_the_estimate),
        cmocka_unit_test(two_samples_have_an_honest_spread_and_one_has_none),
        cmocka_unit_test(drift_between_blocks_shows_in_the_spread),
        cmocka_unit_test(places_of_different_speed_count_alike),
        cmocka_unit_test(too_few_samples_do_not_tell_places_apart),
        cmocka_unit_test(more_samples_select_no_better_value),
        cmocka_unit_test(places_that_nothing_was_sampled_at_are_left_out),
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(a_job_is_sampled_as_often_as_asked),
        cmocka_unit_test(a_job_with_places_has_their_mean),
        cmocka_unit_test(every_rank_of_a_team_runs_every_sample),
        cmocka_unit_test(cancelling_leaves_nothing_written),
        cmocka_unit_test(senseless_limits_are_refused),
        cmocka_unit_test(a_cpu_that_does_not_exist_is_named),
        cmocka_unit_test(filled_memory_holds_no_zero_and_only_ordinary_numbers),
        cmocka_unit_test(the_clock_counts_real_time),
        cmocka_unit_test(a_multiplication_takes_the_whole_cycles_that_most_pairs_show),
        cmocka_unit_test(the_chain_that_a_neighbour_spares_tells_the_clock),
        cmocka_unit_test(the_front_end_width_follows_from_what_the_probe_shows),
        cmocka_unit_test(samples_on_a_shared_core_do_not_count),
        cmocka_unit_test(a_job_hardly_seen_undisturbed_wants_more_and_says_so),
        cmocka_unit_test(a_neighbour_that_spares_the_front_end_shows_in_the_reorder_buffer),
        cmocka_unit_test(samples_that_do_not_agree_with_the_best_settle_nothing),
        cmocka_unit_test(a_neighbour_quicker_than_samples_settles_nothing),
        cmocka_unit_test(a_neighbour_that_only_polls_is_noticed_by_a_core_that_showed_more),
        cmocka_unit_test(overtime_ends),
        cmocka_unit_test(waiting_for_a_quiet_moment_uses_up_no_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
