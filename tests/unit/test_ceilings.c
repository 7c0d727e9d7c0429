/* Limits follow from the catalogue by hand-worked rules, levels from a sweep's plateaus, and a
 * short measurement gives a complete record. No rate is compared with an absolute number. */
#include "ceilings/ceilings.h"
#include "ceilings/ceilings_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../support/cmocka_all.h"

static struct rl_catalog catalog;

static int load(void **state)
{
    (void)state;
    return rl_catalog_load(&catalog, NULL) != RL_OK;
}

static int unload(void **state)
{
    (void)state;
    rl_catalog_release(&catalog);
    return 0;
}

static double limit(const char *core, enum rl_precision p, const char *op, const char *width,
                    unsigned bits)
{
    return rl_compute_limit(rl_catalog_core(&catalog, core), p, op, width, bits).value;
}

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%g is not %g", got, want);
}

static void narrower_vectors_have_a_part_of_the_limit(void **state)
{
    (void)state;
    /* two 512-bit pipes: 2 pipes x 8 lanes x 2 FLOP */
    near(limit("amd-zen5", RL_FP64, "fma", "avx512", 512), 32);
    near(limit("amd-zen5", RL_FP64, "fma", "avx2", 256), 16);
    near(limit("amd-zen5", RL_FP64, "fma", "sse2", 128), 8);
    near(limit("amd-zen5", RL_FP64, "fma", "scalar", 0), 4);
    near(limit("amd-zen5", RL_FP32, "fma", "avx2", 256), 32);
    near(limit("amd-zen5", RL_FP32, "fma", "scalar", 0), 4);
}

static void wide_vectors_on_narrow_pipes_gain_nothing(void **state)
{
    (void)state;
    near(limit("amd-zen4", RL_FP64, "fma", "avx512", 512), 16);
    near(limit("amd-zen4", RL_FP64, "fma", "avx2", 256), 16);
}

static void mixed_additions_and_multiplications_share_the_pipes(void **state)
{
    (void)state;
    /* Zen 3: 2 FMA and 2 ADD pipes of 4 lanes, so 8 of each a cycle */
    near(limit("amd-zen3", RL_FP64, "add+mul", "avx2", 256), 16);
    /* Haswell: additions on one port only: 4 and 4 */
    near(limit("intel-haswell", RL_FP64, "add+mul", "avx2", 256), 8);
    /* Golden Cove: three ports of 4 lanes for both together */
    near(limit("intel-golden-cove", RL_FP64, "add+mul", "avx2", 256), 12);
    /* its server sibling has that third pipe for 256 bits and less only */
    near(limit("intel-sapphirerapids", RL_FP64, "add+mul", "avx512", 512), 16);
    near(limit("intel-sapphirerapids", RL_FP64, "add+mul", "avx2", 256), 12);
    near(limit("intel-sapphirerapids", RL_FP32, "add+mul", "scalar", 0), 3);
    /* two FMA and an addition in turn on two pipes that do both: less than FMA alone */
    near(limit("intel-sapphirerapids", RL_FP64, "fma+add", "avx512", 512), 32 * 5 / 6.0);
    near(limit("intel-sapphirerapids", RL_FP64, "fma+add", "sse2", 128), 10);
}

static void what_is_reached_stands_apart_from_the_pipe_limit(void **state)
{
    (void)state;
    struct rl_limit l =
        rl_compute_limit(rl_catalog_core(&catalog, "amd-zen3"), RL_FP64, "fma+add", "avx2", 256);
    near(l.value, 24);
    near(l.reachable, 20.3);
    assert_true(strlen(l.note) > 0);
}

static void the_divider_counts_at_the_full_width_only(void **state)
{
    (void)state;
    near(limit("amd-zen3", RL_FP64, "div", "avx2", 256), 4 / 4.5);
    near(limit("amd-zen3", RL_FP64, "div", "sse2", 128), 0);
}

static void portable_code_has_the_limit_of_the_full_width(void **state)
{
    (void)state;
    near(limit("arm-neoverse-v1", RL_FP64, "fma", "c", 0), 16);
    near(limit("arm-neoverse-n1", RL_FP32, "add", "c", 0), 8);
    near(limit("arm-neoverse-n1", RL_FP64, "div", "c", 0), 2 / 10.0);
}

static void an_unknown_core_has_no_limits(void **state)
{
    (void)state;
    near(rl_compute_limit(NULL, RL_FP64, "fma", "avx2", 256).value, 0);
    near(rl_memory_limit(NULL, "L1", RL_LOAD).value, 0);
    near(limit("amd-zen5", RL_INT32, "add", "avx2", 256), 0);
}

static void first_level_mixes_are_bound_by_loads_stores_or_both(void **state)
{
    (void)state;
    const struct rl_core *zen3 = rl_catalog_core(&catalog, "amd-zen3");
    const struct rl_core *zen5 = rl_catalog_core(&catalog, "amd-zen5");
    near(rl_memory_limit(zen3, "L1", RL_LOAD).value, 64);
    near(rl_memory_limit(zen3, "L1", RL_STORE).value, 32);
    near(rl_memory_limit(zen3, "L1", RL_COPY).value, 64); /* a store of 32 B each cycle */
    near(rl_memory_limit(zen3, "L1", RL_TWO_ONE).value, 96);
    near(rl_memory_limit(zen5, "L1", RL_TRIAD).value, 192);
    near(rl_memory_limit(zen5, "L2", RL_LOAD).value, 64);
    const struct rl_core *gnr = rl_catalog_core(&catalog, "intel-graniterapids");
    near(rl_memory_limit(gnr, "L1", RL_TRIAD).value, 192);
    near(rl_memory_limit(gnr, "L1", RL_TRIAD).reachable, 159);
    near(rl_memory_limit(gnr, "L1", RL_TWO_ONE).reachable, 0);
    near(rl_memory_limit(zen5, "L2", RL_STORE).value, 0);
    near(rl_memory_limit(zen5, "DRAM", RL_LOAD).value, 0);
}

/* A machine with levels of 48 KiB, 1 MiB and 32 MiB, dips and drift included. */
static unsigned synthetic(double *set, double *rate)
{
    unsigned n = 0;
    for (double s = 8192; s <= (64 << 20); s *= 1.189207115, n++) {
        set[n] = s;
        rate[n] = s <= 48 * 1024 ? 128 : s <= (1 << 20) ? 60 : s <= (32 << 20) ? 26 : 10;
        rate[n] *= 1 - 0.02 * (n % 3);
    }
    rate[3] *= 0.4; /* disturbed samples */
    rate[17] *= 0.5;
    rate[40] = 200; /* and a clock error */
    return n;
}

static void plateaus_end_where_the_levels_do(void **state)
{
    (void)state;
    double set[96];
    double rate[96];
    double end[8];
    unsigned n = synthetic(set, rate);
    assert_int_equal(rl_sweep_ends(set, rate, n, end), 3);
    assert_true(end[0] > 38 * 1024 && end[0] <= 48 * 1024);
    assert_true(end[1] > 850 * 1024 && end[1] <= 1024 * 1024);
    assert_true(end[2] > 26.0 * 1024 * 1024 && end[2] <= 32.0 * 1024 * 1024);
    assert_int_equal(rl_sweep_ends(set, rate, 0, end), 0);
}

static struct rl_level level(const char *name, uint64_t bytes)
{
    struct rl_level l = {
        .size_bytes = bytes, .reported_size_bytes = bytes, .source = RL_SOURCE_SPECIFIED};
    snprintf(l.name, sizeof l.name, "%s", name);
    return l;
}

static void a_level_that_lies_about_its_size_is_corrected(void **state)
{
    (void)state;
    struct rl_level levels[] = {level("L1", 48 << 10), level("L2", 1 << 20),
                                level("L3", 256u << 20), level("DRAM", 1u << 30)};
    const double end[] = {45056, 900000, 30e6};
    rl_sweep_apply(levels, 4, end, 3);
    assert_int_equal(levels[0].size_bytes, 48 << 10);
    assert_int_equal(levels[0].measured_size_bytes, 45056);
    assert_int_equal(levels[0].source, RL_SOURCE_SPECIFIED);
    assert_int_equal(levels[2].size_bytes, 30000000);
    assert_int_equal(levels[2].reported_size_bytes, 256u << 20);
    assert_int_equal(levels[2].source, RL_SOURCE_MEASURED);
    assert_int_equal(levels[3].measured_size_bytes, 0);
}

static void an_end_nobody_saw_leaves_the_level_as_reported(void **state)
{
    (void)state;
    struct rl_level levels[] = {level("L1", 48 << 10), level("L2", 1 << 20),
                                level("L3", 32u << 20)};
    const double end[] = {45056, 30e6};
    rl_sweep_apply(levels, 3, end, 2);
    assert_int_equal(levels[1].size_bytes, 1 << 20);
    assert_int_equal(levels[1].measured_size_bytes, 0);
    assert_int_equal(levels[2].measured_size_bytes, 30000000);
}

/* As found on a core with an L2 of 1 MiB before a cache that is hardly slower. */
static void what_the_catalogue_knows_of_a_core_stands_for_ends_nobody_reports(void **state)
{
    (void)state;
    const double zen4[] = {32 << 10, 1 << 20};
    double end[8] = {32768, 9973760, 28213248};
    assert_int_equal(rl_sweep_known_ends(zen4, end, 3), 3);
    near(end[1], 1 << 20);
    near(end[2], 28213248);
    assert_int_equal(rl_sweep_known_ends(zen4, end, 2), 2);
    assert_int_equal(rl_sweep_known_ends(zen4, end, 0), 2);
    double alone[8] = {32768, 9973760};
    assert_int_equal(rl_sweep_known_ends((double[]){0, 0}, alone, 2), 2);
    near(alone[1], 9973760);
}

static void add_rate(struct rl_machine *machine, const char *level, const char *pattern,
                     double rate)
{
    struct rl_memory_ceiling m = {
        .threads = 2, .rate = rl_value(rate, RL_SOURCE_MEASURED, 0.01), .per_cycle = 5};
    snprintf(m.level, sizeof m.level, "%s", level);
    snprintf(m.pattern, sizeof m.pattern, "%s", pattern);
    assert_int_equal(rl_machine_add_memory(machine, &m, NULL), RL_OK);
}

static void rates_that_moved_are_found_and_taken_over(void **state)
{
    (void)state;
    struct rl_machine then = {0}, now = {0}, later = {0};
    struct rl_drift drift;
    add_rate(&then, "L3", "load", 200e9);
    add_rate(&then, "DRAM", "load", 40e9);
    add_rate(&then, "DRAM", "triad", 38e9);
    add_rate(&then, "DRAM", "copy", 30e9);
    add_rate(&now, "DRAM", "load", 42e9);
    add_rate(&now, "DRAM", "triad", 36e9);
    assert_false(rl_refresh_drift(&then, &now, 0.1, &drift));
    add_rate(&later, "DRAM", "load", 80e9);
    add_rate(&later, "DRAM", "triad", 35e9);
    rl_refresh_keep_faster(&now, &later);
    near(now.memory[0].rate.value, 80e9);
    near(now.memory[1].rate.value, 36e9);
    assert_true(rl_refresh_drift(&then, &now, 0.1, &drift));
    assert_string_equal(drift.id, "DRAM.load@2");
    near(drift.then_bytes_per_s, 40e9);
    near(drift.now_bytes_per_s, 80e9);
    rl_refresh_apply(&then, &now);
    near(then.memory[0].rate.value, 200e9);
    near(then.memory[1].rate.value, 80e9);
    near(then.memory[2].rate.value, 36e9);
    near(then.memory[3].rate.value, 60e9); /* as the load: twice */
    assert_int_equal(then.memory[3].rate.source, RL_SOURCE_MODELLED);
    rl_machine_release(&then);
    rl_machine_release(&now);
    rl_machine_release(&later);
}

static void dram_is_measured_alone(void **state)
{
    (void)state;
    static const unsigned one = 1;
    struct rl_measure_options options = rl_measure_options_default();
    struct rl_machine machine = {0};
    options.threads = &one;
    options.n_threads = 1;
    options.budget_s = 0.05;
    struct rl_error err = {0};
    if (rl_measure_dram(&options, &machine, &err) != RL_OK)
        fail_msg("%s", err.text);
    assert_true(machine.n_memory > 0 && machine.n_compute == 0);
    for (size_t i = 0; i < machine.n_memory; i++)
        assert_string_equal(machine.memory[i].level, "DRAM");
    assert_true(machine.environment.clock_max_hz > 0);
    rl_machine_release(&machine);
}

static void a_disturbed_trial_decides_nothing(void **state)
{
    (void)state;
    static const struct rl_compute_kernel kernel[] = {
        {.precision = RL_FP64, .op = "add", .width = "avx2", .work = 48},
        {.precision = RL_FP64, .op = "add", .width = "avx2", .work = 48},
        {.precision = RL_FP64, .op = "add", .width = "avx2", .work = 48},
        {.precision = RL_FP64, .op = "mul", .width = "avx2", .work = 48},
    };
    struct rl_compute_item item[4];
    struct rl_timing timing[4] = {
        {.per_cycle = 0.5}, {.per_cycle = 1}, {.per_cycle = 0.99}, {.per_cycle = 0.1}};
    for (size_t i = 0; i < 4; i++)
        item[i] = (struct rl_compute_item){.kernel = &kernel[i]};
    assert_int_equal(rl_compute_keep_best(item, 4, timing), 3); /* not the slow addition */
    assert_ptr_equal(item[0].kernel, &kernel[1]);
    assert_ptr_equal(item[1].kernel, &kernel[2]);
    assert_ptr_equal(item[2].kernel, &kernel[3]);
    for (size_t i = 0; i < 4; i++)
        item[i] = (struct rl_compute_item){.kernel = &kernel[i]};
    timing[0].disturbed = true;
    assert_int_equal(rl_compute_keep_best(item, 4, timing), 4);
}

static unsigned kept_of(const char *level, unsigned n_disturbed)
{
    static const struct rl_memory_kernel kernel = {.pattern = RL_LOAD, .granule = 64};
    struct rl_memory_item item[5];
    struct rl_timing timing[5];
    for (unsigned i = 0; i < 5; i++) {
        item[i] = (struct rl_memory_item){.kernel = &kernel, .level = level, .set_bytes = 4096};
        timing[i] =
            (struct rl_timing){.loops_per_s = i == 4 ? 1e6 : 0.9e6, .disturbed = i < n_disturbed};
    }
    return rl_memory_keep_best(item, 5, timing);
}

static void a_disturbed_trial_drops_no_access_to_a_private_cache(void **state)
{
    (void)state;
    assert_int_equal(kept_of("L1", 0), 1); /* the others are 10 % slower */
    assert_int_equal(kept_of("L1", 4), 5);
    assert_int_equal(kept_of("L2", 1), 2);
    assert_int_equal(kept_of("L3", 4), 1); /* shared, so hardly ever undisturbed */
}

/* Working sets of a made-up session. */
static size_t set_of(struct rl_machine *machine, unsigned threads, const char *name)
{
    struct rl_session session = {.machine = machine, .threads = threads};
    return rl_level_set_bytes(&session, name);
}

static void working_sets_lie_inside_their_level_and_outside_the_one_before(void **state)
{
    (void)state;
    struct rl_level levels[] = {level("L1", 48 << 10), level("L2", 1 << 20),
                                level("L3", 32u << 20)};
    levels[0].count = levels[1].count = 8;
    levels[2].count = 1;
    struct rl_machine machine = {.topology = {.levels = levels, .n_levels = 3}};
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        size_t l1 = set_of(&machine, threads, "L1");
        size_t l2 = set_of(&machine, threads, "L2");
        size_t l3 = set_of(&machine, threads, "L3");
        assert_true(l1 > 0 && l1 < (48 << 10));
        assert_true(l2 > (48 << 10) && l2 < (1 << 20));
        assert_true(l3 > (1 << 20) && l3 * threads < (32u << 20));
    }
    /* with a share no larger than L2 the last cache cannot be told from it */
    levels[2].size_bytes = 2 << 20;
    assert_int_equal(set_of(&machine, 8, "L3"), 0);
}

static void a_buffer_for_dram_allows_for_more_cache_than_was_measured(void **state)
{
    (void)state;
    struct rl_level levels[] = {level("L1", 48 << 10), level("L2", 1 << 20), level("L3", 8u << 20)};
    struct rl_machine machine = {.topology = {.levels = levels, .n_levels = 3}};
    struct rl_session session = {.machine = &machine, .threads = 1};
    levels[2].reported_size_bytes = 8u << 20;
    assert_int_equal(rl_rank_buffer_bytes(&session), 32u << 20);
    levels[2].reported_size_bytes = 48u << 20;
    assert_int_equal(rl_rank_buffer_bytes(&session), 192u << 20);
    /* hosts report what no guest gets, so of this not all counts */
    levels[2].reported_size_bytes = 512u << 20;
    assert_int_equal(rl_rank_buffer_bytes(&session), 256u << 20);
    levels[2].size_bytes = 96u << 20;
    assert_int_equal(rl_rank_buffer_bytes(&session), 384u << 20);
}

static void do_nothing(const struct rl_kernel_args *args)
{
    (void)args;
}

/* The first of so many kernels of a round, in as many rounds as there are places. */
static void comes_to_all(size_t bytes, unsigned kernels)
{
    static const struct rl_memory_kernel kernel = {
        .run = do_nothing, .pattern = RL_LOAD, .granule = 4096};
    struct rl_rank rank = {.buffer = {.bytes = bytes}};
    struct rl_session session = {.rank = &rank, .threads = 1};
    struct rl_memory_item item = {.kernel = &kernel,
                                  .session = &session,
                                  .level = "DRAM",
                                  .set_bytes = 8u << 20,
                                  .rolling = true,
                                  .places = rl_memory_places(bytes),
                                  .round = kernels};
    struct rl_job job = rl_memory_job(&item);
    uint64_t seen = 0;
    for (unsigned turn = 0; turn < item.places * kernels; turn++) {
        job.run(job.arg, 0, 1);
        if (turn % kernels == 0)
            seen |= 1ull << job.place(job.arg, 0);
    }
    if (seen != (1ull << item.places) - 1)
        fail_msg("%u kernels, %u places: %#llx", kernels, item.places, (unsigned long long)seen);
}

static void every_kernel_of_a_round_comes_to_all_of_a_buffer_for_dram(void **state)
{
    (void)state;
    static const unsigned buffer_mib[] = {8, 16, 32, 64, 128, 256};
    for (unsigned i = 0; i < sizeof buffer_mib / sizeof *buffer_mib; i++) {
        size_t bytes = (size_t)buffer_mib[i] << 20;
        assert_true(rl_memory_used(bytes) <= bytes || rl_memory_places(bytes) == 1);
        for (unsigned kernels = 1; kernels <= 12; kernels++)
            comes_to_all(bytes, kernels);
    }
    assert_in_range(rl_memory_places((size_t)256 << 20), 28, 32);
    assert_int_equal(rl_memory_places(1 << 20), 1); /* less than a place */
}

static void a_limit_that_was_exceeded_is_taken_back(void **state)
{
    (void)state;
    struct rl_exceeded exceeded = {0};
    struct rl_limit l = {.value = 16, .reachable = 15, .note = "verified; a manual"};
    char text[384];
    rl_limit_check(&l, "fp64.fma.avx512@1", 16.7, false, &exceeded); /* the clock is not perfect */
    near(l.value, 16);
    assert_false(rl_exceeded_text(&exceeded, "amd-zen4", text, sizeof text));
    rl_limit_check(&l, "fp64.fma.avx512@1", 31.9, false, &exceeded);
    near(l.value, 0);
    near(l.reachable, 0);
    assert_non_null(strstr(l.note, "exceeded: 16 a cycle"));
    assert_non_null(strstr(l.note, "a manual"));
    l.value = 64;
    rl_limit_check(&l, "L1.load@1", 80, false, &exceeded);
    assert_int_equal(exceeded.n, 2);
    l.value = 64;
    rl_limit_check(&l, "L1.load@2", 70, false, &exceeded); /* a clock that changed may do that */
    near(l.value, 0);
    assert_non_null(strstr(l.note, "clock"));
    assert_int_equal(exceeded.n, 2);
    assert_true(rl_exceeded_text(&exceeded, "amd-zen4", text, sizeof text));
    assert_non_null(strstr(text,
                           "fp64.fma.avx512@1 came out at 31.9 a cycle where amd-zen4 is said "
                           "to do 16, and 1 other ceiling"));
}

static void a_lower_bound_that_meets_the_limit_is_the_rate(void **state)
{
    (void)state;
    struct rl_limit limit = {.value = 16};
    struct rl_limit unknown = {0};
    assert_true(rl_limit_is_met(&limit, 15.9, 3));
    assert_false(rl_limit_is_met(&limit, 15.9, 2)); /* no clock that can be believed */
    assert_false(rl_limit_is_met(&limit, 15.8, 3)); /* 1.25 % below */
    assert_false(rl_limit_is_met(&limit, 16.2, 3));
    assert_false(rl_limit_is_met(&unknown, 15.9, 3));
}

/* A variant that never came near the winner leaves no doubt, however much its own rates vary. */
static void a_slower_rival_leaves_no_doubt(void **state)
{
    (void)state;
    struct rl_timing rival = {.disturbed = true, .clean = 50, .best_per_cycle = 1.0};
    assert_false(rl_rival_is_unsure(&rival, true, 64, 64)); /* as fast at its best */
    assert_false(rl_rival_is_unsure(&rival, true, 64, 63.5));
    assert_true(rl_rival_is_unsure(&rival, true, 64, 63));   /* 1.6 % faster */
    assert_true(rl_rival_is_unsure(&rival, false, 64, 100)); /* slow beside a neighbour, perhaps */
    rival.clean = 49;
    assert_true(rl_rival_is_unsure(&rival, true, 64, 100)); /* seldom seen undisturbed */
    rival.disturbed = false;
    assert_false(
        rl_rival_is_unsure(&rival, true, 64, 63)); /* settled: then the winner would be this */
}

/* A shared core slows the chain that measures the clock: rates per cycle come out too high. */
static void a_disturbed_core_says_nothing_of_its_limits(void **state)
{
    (void)state;
    struct rl_exceeded exceeded = {0};
    struct rl_limit l = {.value = 16, .note = "verified; a manual"};
    rl_limit_check(&l, "fp64.fma.avx512@1", 31.9, true, &exceeded);
    near(l.value, 0);
    assert_non_null(strstr(l.note, "clock"));
    assert_int_equal(exceeded.n, 0);
}

static struct rl_measure_options short_options(const unsigned *threads)
{
    struct rl_measure_options options = rl_measure_options_default();
    options.mode = RL_MEASURE_QUICK;
    options.threads = threads;
    options.n_threads = 1;
    options.budget_s = 0.5;
    options.memory_bytes = 64u << 20;
    return options;
}

static void a_short_measurement_fills_a_record(void **state)
{
    (void)state;
    const unsigned one = 1;
    struct rl_measure_options options = short_options(&one);
    struct rl_machine machine = {0};
    struct rl_error err = {0};
    options.date = "2026-01-01T00:00:00Z";
    options.program = "test";
    if (rl_measure(&options, &machine, &err) != RL_OK)
        fail_msg("%s", err.text);
    assert_true(machine.n_compute >= 3);
    assert_non_null(rl_machine_memory(&machine, "DRAM.load@1"));
    for (size_t i = 0; i < machine.n_compute; i++) {
        const struct rl_compute_ceiling *c = &machine.compute[i];
        assert_true(c->rate.value > 0 && c->rate.source == RL_SOURCE_MEASURED);
        assert_true(c->per_cycle > 0 && c->repeats > 0 && c->clock_hz > 0);
        if (rl_is_above_limit(c->per_cycle, c->limit_per_cycle))
            fail_msg("%s: %g of %g a cycle", c->id, c->per_cycle, c->limit_per_cycle);
    }
    assert_string_equal(machine.environment.mode, "quick");
    assert_string_equal(machine.environment.date, "2026-01-01T00:00:00Z");
    assert_non_null(machine.environment.contention);
    rl_machine_release(&machine);
}

static void impossible_requests_are_refused(void **state)
{
    (void)state;
    unsigned count = 1000000;
    struct rl_measure_options options = short_options(&count);
    struct rl_machine machine = {0};
    assert_int_equal(rl_measure(&options, &machine, NULL), RL_EINVAL);
    count = 1;
    options.memory_bytes = 4096;
    assert_int_equal(rl_measure(&options, &machine, NULL), RL_ENOMEM);
    options = short_options(&count);
    options.isa_mask = "avx1024";
    assert_int_equal(rl_measure(&options, &machine, NULL), RL_EINVAL);
    assert_null(machine.compute);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void cancelling_ends_without_a_record(void **state)
{
    (void)state;
    const unsigned one = 1;
    struct rl_measure_options options = short_options(&one);
    struct rl_machine machine = {0};
    options.cancelled = always;
    assert_int_equal(rl_measure(&options, &machine, NULL), RL_ECANCEL);
    assert_null(machine.compute);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrower_vectors_have_a_part_of_the_limit),
        cmocka_unit_test(wide_vectors_on_narrow_pipes_gain_nothing),
        cmocka_unit_test(mixed_additions_and_multiplications_share_the_pipes),
        cmocka_unit_test(what_is_reached_stands_apart_from_the_pipe_limit),
        cmocka_unit_test(the_divider_counts_at_the_full_width_only),
        cmocka_unit_test(portable_code_has_the_limit_of_the_full_width),
        cmocka_unit_test(an_unknown_core_has_no_limits),
        cmocka_unit_test(a_buffer_for_dram_allows_for_more_cache_than_was_measured),
        cmocka_unit_test(every_kernel_of_a_round_comes_to_all_of_a_buffer_for_dram),
        cmocka_unit_test(a_limit_that_was_exceeded_is_taken_back),
        cmocka_unit_test(a_lower_bound_that_meets_the_limit_is_the_rate),
        cmocka_unit_test(a_slower_rival_leaves_no_doubt),
        cmocka_unit_test(a_disturbed_core_says_nothing_of_its_limits),
        cmocka_unit_test(first_level_mixes_are_bound_by_loads_stores_or_both),
        cmocka_unit_test(plateaus_end_where_the_levels_do),
        cmocka_unit_test(a_level_that_lies_about_its_size_is_corrected),
        cmocka_unit_test(rates_that_moved_are_found_and_taken_over),
        cmocka_unit_test(dram_is_measured_alone),
        cmocka_unit_test(a_disturbed_trial_decides_nothing),
        cmocka_unit_test(a_disturbed_trial_drops_no_access_to_a_private_cache),
        cmocka_unit_test(what_the_catalogue_knows_of_a_core_stands_for_ends_nobody_reports),
        cmocka_unit_test(an_end_nobody_saw_leaves_the_level_as_reported),
        cmocka_unit_test(working_sets_lie_inside_their_level_and_outside_the_one_before),
        cmocka_unit_test(a_short_measurement_fills_a_record),
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(cancelling_ends_without_a_record),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
