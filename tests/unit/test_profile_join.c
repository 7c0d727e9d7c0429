/* Time and counts joined, from data made by hand: no program is run. */
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "/nowhere/program"
#define OTHER   "/nowhere/library"

enum { FUNCTION = 0, SECOND = 1, OUTER = 2, INNER = 3, N_UNITS = 4 };

static struct rl_tally_module counted_modules[] = {{.path = (char *)PROGRAM}};

/* One function of two nested loops, one of none. */
static struct rl_tally_unit counted_units[N_UNITS] = {
    [FUNCTION] = {RL_KIND_FUNCTION,
                  0,
                  FUNCTION,
                  RL_TALLY_NONE,
                  0x100,
                  0x200,
                  {.name = (char *)"spmv", .file = (char *)"a.c", .line = 7}},
    [SECOND] = {RL_KIND_FUNCTION, 0, SECOND, RL_TALLY_NONE, 0x200, 0x280, {.name = (char *)"init"}},
    [OUTER] = {RL_KIND_LOOP,
               0,
               FUNCTION,
               RL_TALLY_NONE,
               0x110,
               0x1F0,
               {.name = (char *)"spmv:8", .depth = 1}},
    [INNER] =
        {RL_KIND_LOOP, 0, FUNCTION, OUTER, 0x140, 0x180, {.name = (char *)"spmv:9", .depth = 2}},
};

static struct rl_tally_region counted_regions[] = {{.name = (char *)"solve"}};

static struct rl_tally tally(void)
{
    counted_units[FUNCTION].kernel.flop = rl_value(1e6, RL_SOURCE_COUNTED, 0);
    counted_units[INNER].kernel.flop = rl_value(9e5, RL_SOURCE_COUNTED, 0);
    counted_regions[0].kernel.flop = rl_value(8e5, RL_SOURCE_COUNTED, 0);
    return (struct rl_tally){
        .module = counted_modules,
        .n_module = 1,
        .unit = counted_units,
        .n_unit = N_UNITS,
        .n_function = 2,
        .region = counted_regions,
        .n_region = 1,
        .program = {.flop = rl_value(1e6, RL_SOURCE_COUNTED, 0)},
    };
}

static struct rl_sample_module modules[] = {{.path = (char *)PROGRAM}, {.path = (char *)OTHER}};
static struct rl_sample_process process = {.pid = 1, .command = (char *)PROGRAM};
static struct rl_sample_thread threads[] = {{.tid = 1}, {.tid = 2}};
static struct rl_sample_region regions[] = {{(char *)"solve", 0, 1, 10, 0.5, 0.5, 0, 0, 0},
                                            {(char *)"solve", 0, 2, 10, 0.5, 0.5, 0, 0, 0}};
static struct rl_sample_region_wall walls[] = {{(char *)"solve", 0, 0.5, 0, 0}};

/* 400 samples in the inner loop by each of two threads at once, 100 beside it by the first alone,
 * 100 in a library that was not counted; 1 ms each. */
static struct rl_sample_bucket buckets[] = {{0, 0, 0x150, 0.4, 400},
                                            {0, 1, 0x154, 0.4, 400},
                                            {0, 0, 0x120, 0.1, 100},
                                            {1, 0, 0x10, 0.1, 100}};
static struct rl_sample_point points[1000];

static struct rl_samples samples(void)
{
    size_t n = 0;
    for (uint32_t i = 0; i < 600; i++) {
        points[n++] = (struct rl_sample_point){i < 400 ? 0 : 2 + i % 2, i * 16, 16, 0};
        if (i < 400)
            points[n++] = (struct rl_sample_point){1, i * 16 + 4, 16, 0};
    }
    return (struct rl_samples){
        .method = RL_SAMPLE_PERF,
        .rate_hz = 1000,
        .elapsed_s = 0.6,
        .user_s = 1.0,
        .sampled_s = 1.0,
        .mean_threads = 1.67,
        .module = modules,
        .n_module = 2,
        .process = &process,
        .n_process = 1,
        .thread = threads,
        .n_thread = 2,
        .bucket = buckets,
        .n_bucket = 4,
        .point = points,
        .n_point = n,
        .tick_s = 1e-3 / 16,
        .point_fraction = 1,
        .region = regions,
        .n_region = 2,
        .region_wall = walls,
        .n_region_wall = 1,
    };
}

static struct rl_profile join_tally(const struct rl_tally *t, const char *engine,
                                    const char *preload)
{
    struct rl_samples s = samples();
    struct rl_profile profile = {0};
    struct rl_error err = {0};
    struct rl_profile_inputs inputs = {&s, 1, t};
    struct rl_profile_options options = {.functions = true, .loops = true, .regions = true};
    options.engine = engine;
    options.preload = preload;
    if (rl_profile_join(&inputs, &options, &profile, &err) != RL_OK)
        fail_msg("%s", err.text);
    return profile;
}

static struct rl_profile join_with(bool is_counted, const char *engine, const char *preload)
{
    struct rl_tally t = tally();
    return join_tally(is_counted ? &t : NULL, engine, preload);
}

static struct rl_profile join(bool is_counted)
{
    return join_with(is_counted, NULL, NULL);
}

static const struct rl_kernel *find(const struct rl_profile *p, enum rl_kernel_kind kind,
                                    const char *name)
{
    for (size_t i = 0; i < p->n_kernel; i++) {
        if (p->kernel[i].kind == kind && (!name || !strcmp(p->kernel[i].name, name)))
            return &p->kernel[i];
    }
    return NULL;
}

static void a_function_has_its_loops_time_and_counts(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    const struct rl_kernel *k = find(&p, RL_KIND_FUNCTION, "spmv");
    assert_non_null(k);
    /* 0.8 s of two threads together and 0.1 s of one alone: half a second of wall time. */
    assert_true(fabs(k->time_s.value - 0.5) < 0.01);
    assert_true(fabs(k->threads.value - 1.8) < 0.04);
    assert_int_equal(k->time_s.source, RL_SOURCE_SAMPLED);
    assert_true(p.cpu_s.value == 1 && p.cpu_s.source == RL_SOURCE_MEASURED);
    /* The first thread comes into it 100 times, the second once: 1.96 * sqrt(101) / 900. */
    assert_true(fabs(k->time_s.spread - 0.0219) < 1e-4);
    assert_true(k->flop.value == 1e6 && k->line == 7 && !strcmp(k->file, "a.c"));
    assert_string_equal(k->module, PROGRAM);
    rl_profile_release(&p);
}

static void a_loop_has_only_its_own(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    const struct rl_kernel *inner = find(&p, RL_KIND_LOOP, "spmv:9");
    const struct rl_kernel *outer = find(&p, RL_KIND_LOOP, "spmv:8");
    assert_true(inner && outer);
    assert_true(fabs(inner->time_s.value - 0.4) < 0.01);
    assert_true(fabs(inner->threads.value - 2) < 0.02);
    assert_true(fabs(outer->time_s.value - 0.1) < 0.01);
    assert_int_equal(inner->depth, 2);
    rl_profile_release(&p);
}

static void what_was_not_counted_is_listed_and_says_so(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    const struct rl_kernel *k = NULL;
    for (size_t i = 0; i < p.n_kernel; i++) {
        if (p.kernel[i].module && !strcmp(p.kernel[i].module, OTHER))
            k = &p.kernel[i];
    }
    assert_non_null(k);
    assert_false(rl_known(rl_kernel_flop(k)));
    assert_true(fabs(k->time_s.value - 0.1) < 0.01);
    assert_true(k->missing.n >= 1);
    rl_profile_release(&p);
}

static void assert_other_is_no_kernel(struct rl_profile p)
{
    for (size_t i = 0; i < p.n_kernel; i++)
        assert_true(!p.kernel[i].module || strcmp(p.kernel[i].module, OTHER) != 0);
    assert_non_null(find(&p, RL_KIND_FUNCTION, "spmv"));
    rl_profile_release(&p);
}

static void code_of_the_engine_is_no_kernel(void **state)
{
    (void)state;
    assert_other_is_no_kernel(join_with(true, "/elsewhere/library", NULL)); /* called as OTHER is */
}

static void code_of_the_sampler_is_no_kernel(void **state)
{
    (void)state;
    assert_other_is_no_kernel(join_with(true, NULL, "/elsewhere/library"));
    assert_other_is_no_kernel(join_with(true, "/elsewhere/engine", "/elsewhere/library"));
}

static void a_time_of_many_short_visits_is_uncertain(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    const struct rl_kernel *k = find(&p, RL_KIND_LOOP, "spmv:8");
    assert_non_null(k);
    assert_true(k->time_s.spread > 0.1);
    assert_int_equal(k->missing.n, 0);
    rl_profile_release(&p);
}

/* The second thread is in a program of its own, started by the first. */
static void a_job_of_two_programs_has_a_row_for_each(void **state)
{
    (void)state;
    struct rl_sample_process processes[] = {{.pid = 1, .command = (char *)"/nowhere/first"},
                                            {.pid = 2, .command = (char *)"/nowhere/second"}};
    struct rl_sample_thread two[] = {{.tid = 1, .process = 0, .cpu_s = 0.6},
                                     {.tid = 2, .process = 1, .cpu_s = 0.4}};
    struct rl_tally_image images[] = {
        {(char *)"/nowhere/first", 1, {.flop = rl_value(1e5, RL_SOURCE_COUNTED, 0)}},
        {(char *)"/nowhere/second", 3, {.flop = rl_value(9e5, RL_SOURCE_COUNTED, 0)}},
        {(char *)"/nowhere/idle", 1, {.flop = rl_value(0, RL_SOURCE_COUNTED, 0)}}};
    struct rl_samples s = samples();
    struct rl_tally t = tally();
    struct rl_profile p = {0};
    struct rl_profile_inputs inputs = {&s, 1, &t};
    struct rl_profile_options options = {.functions = true};
    s.process = processes;
    s.n_process = 2;
    s.thread = two;
    t.image = images;
    t.n_image = 3;
    assert_int_equal(rl_profile_join(&inputs, &options, &p, NULL), RL_OK);
    assert_string_equal(p.kernel[0].name, "all processes");
    const struct rl_kernel *second = find(&p, RL_KIND_PROGRAM, "second");
    assert_true(second && find(&p, RL_KIND_PROGRAM, "first"));
    assert_null(find(&p, RL_KIND_PROGRAM, "idle"));
    assert_true(second->flop.value == 9e5 && fabs(second->time_s.value - 0.4) < 0.01);
    assert_string_equal(second->module, "/nowhere/second");
    assert_string_equal(second->parameter[0].key, "processes");
    assert_string_equal(second->parameter[0].value, "3");
    rl_profile_release(&p);
}

/* Of two programs that were timed one was counted: its counts are not those of both, unless it did
 * nearly all the work; and where a counted one goes by a name that was not timed, who knows. */
static bool knows_flop_of_all(double uncounted_s, const char *counted)
{
    struct rl_sample_process processes[] = {{.pid = 1, .command = (char *)"/nowhere/sh"},
                                            {.pid = 2, .command = (char *)"/nowhere/solver"}};
    struct rl_sample_thread two[] = {{.tid = 1, .process = 0, .cpu_s = 1 - uncounted_s},
                                     {.tid = 2, .process = 1, .cpu_s = uncounted_s}};
    struct rl_tally_image image = {(char *)counted, 1, {0}};
    struct rl_samples s = samples();
    struct rl_tally t = tally();
    struct rl_profile p = {0};
    struct rl_profile_inputs inputs = {&s, 1, &t};
    struct rl_profile_options options = {.functions = true};
    s.process = processes;
    s.n_process = 2;
    s.thread = two;
    t.image = &image;
    t.n_image = 1;
    assert_int_equal(rl_profile_join(&inputs, &options, &p, NULL), RL_OK);
    bool knows = rl_known(rl_kernel_flop(&p.kernel[0]));
    if (!knows)
        assert_string_equal(p.kernel[0].missing.item[0].why,
                            "solver took 90 % of the time and was not counted");
    rl_profile_release(&p);
    return knows;
}

static void flop_of_a_job_without_its_main_program_are_unknown(void **state)
{
    (void)state;
    assert_false(knows_flop_of_all(0.9, "/nowhere/sh"));
    assert_true(knows_flop_of_all(0.05, "/nowhere/sh"));
    assert_true(knows_flop_of_all(0.9, "/elsewhere/solver"));
}

static void a_function_without_time_or_work_has_no_row(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    assert_null(find(&p, RL_KIND_FUNCTION, "init"));
    rl_profile_release(&p);
}

static void a_region_takes_wall_time_over_threads(void **state)
{
    (void)state;
    struct rl_profile p = join(true);
    const struct rl_kernel *k = find(&p, RL_KIND_REGION, "solve");
    assert_non_null(k);
    assert_true(k->time_s.value == 0.5 && k->time_s.source == RL_SOURCE_MEASURED);
    assert_true(k->calls.value == 20 && k->threads.value == 2);
    assert_true(k->flop.value == 8e5);
    /* of 20 calls in 1 s of two threads the marks take 50 ns each */
    assert_true(fabs(k->time_s.spread - 20 * 50e-9) < 1e-12);
    rl_profile_release(&p);
}

static void assert_has_no_flop(const struct rl_profile *p, enum rl_kernel_kind kind)
{
    const struct rl_kernel *k = find(p, kind, kind == RL_KIND_REGION ? "solve" : NULL);
    assert_non_null(k);
    assert_false(rl_known(k->flop));
    assert_string_equal(k->missing.item[0].what, "flop");
}

/* What was counted of a part is neither the whole's nor 0. */
static void counts_of_a_part_are_missing_and_not_small(void **state)
{
    (void)state;
    struct rl_tally t = tally();
    t.is_cut = true;
    struct rl_profile p = join_tally(&t, NULL, NULL);
    assert_has_no_flop(&p, RL_KIND_PROGRAM);
    assert_has_no_flop(&p, RL_KIND_REGION);
    rl_profile_release(&p);
    t = tally();
    t.regions_overflowed = true;
    p = join_tally(&t, NULL, NULL);
    assert_true(rl_known(find(&p, RL_KIND_PROGRAM, NULL)->flop));
    assert_has_no_flop(&p, RL_KIND_REGION);
    rl_profile_release(&p);
}

/* Opened by the main thread alone, 0.5 s. */
static struct rl_profile join_of_main(double at_work, uint64_t n_samples)
{
    struct rl_sample_region region = {.name = (char *)"solve", .tid = 1, .calls = 1, .time_s = 0.5};
    struct rl_sample_region_wall wall = {(char *)"solve", 0, 0.5, at_work, n_samples};
    struct rl_samples s = samples();
    struct rl_profile profile = {0};
    struct rl_error err = {0};
    struct rl_profile_inputs inputs = {&s, 1, NULL};
    struct rl_profile_options options = {.regions = true};
    s.region = &region;
    s.region_wall = &wall;
    s.n_region = 1;
    if (rl_profile_join(&inputs, &options, &profile, &err) != RL_OK)
        fail_msg("%s", err.text);
    return profile;
}

static void a_region_of_the_main_thread_has_the_threads_that_worked_meanwhile(void **state)
{
    (void)state;
    struct rl_profile p = join_of_main(1.9, 400);
    const struct rl_kernel *k = find(&p, RL_KIND_REGION, "solve");
    assert_non_null(k);
    assert_true(fabs(k->threads.value - 1.9) < 1e-9 && k->threads.source == RL_SOURCE_SAMPLED);
    assert_true(fabs(k->threads.spread - 1.96 / 20) < 1e-9);
    rl_profile_release(&p);
    /* It waited for half of the time, and still was in the region alone. */
    p = join_of_main(0.5, 100);
    k = find(&p, RL_KIND_REGION, "solve");
    assert_true(k && k->threads.value == 1 && k->threads.source == RL_SOURCE_MEASURED);
    rl_profile_release(&p);
}

static void a_region_that_no_sample_fell_into_has_no_threads(void **state)
{
    (void)state;
    struct rl_profile p = join_of_main(0, 0);
    const struct rl_kernel *k = find(&p, RL_KIND_REGION, "solve");
    assert_true(k && !rl_known(k->threads));
    assert_true(k->missing.n == 1 && !strcmp(k->missing.item[0].what, "threads"));
    rl_profile_release(&p);
}

static void without_counts_functions_are_found_by_symbols(void **state)
{
    (void)state;
    struct rl_profile p = join(false);
    assert_null(find(&p, RL_KIND_LOOP, NULL));
    unsigned n = 0;
    double time_s = 0;
    for (size_t i = 0; i < p.n_kernel; i++) {
        if (p.kernel[i].kind == RL_KIND_FUNCTION) {
            n++;
            time_s += p.kernel[i].time_s.value;
            assert_false(rl_known(rl_kernel_flop(&p.kernel[i])));
        }
    }
    assert_true(n >= 2);
    assert_true(fabs(time_s - 0.6) < 0.02);
    assert_true(find(&p, RL_KIND_PROGRAM, NULL)->time_s.value == 0.6);
    rl_profile_release(&p);
}

static void repeats_give_the_spread(void **state)
{
    (void)state;
    struct rl_samples s[2] = {samples(), samples()};
    struct rl_profile p = {0};
    struct rl_error err = {0};
    struct rl_profile_inputs inputs = {s, 2, NULL};
    struct rl_profile_options options = {.functions = true};
    s[1].elapsed_s = 0.66;
    assert_int_equal(rl_profile_join(&inputs, &options, &p, &err), RL_OK);
    assert_true(fabs(p.elapsed_s.value - 0.63) < 1e-9);
    /* t(1) = 12.71; standard error 0.03; 12.71 * 0.03 / 0.63 */
    assert_true(fabs(p.elapsed_s.spread - 0.605) < 0.001);
    rl_profile_release(&p);
}

static void times_of_an_earlier_run_go_to_the_kernels_of_that_name(void **state)
{
    (void)state;
    struct rl_profile counted = join(true);
    struct rl_profile timed = join(true);
    struct rl_error err = {0};
    for (size_t i = 0; i < counted.n_kernel; i++)
        counted.kernel[i].time_s = (struct rl_value){0};
    size_t n = counted.n_kernel;
    /* What was timed and not counted is added. */
    assert_int_equal(rl_string_set(&timed.kernel[n - 1].name, "only timed", &err), RL_OK);
    double elapsed_s = timed.elapsed_s.value;
    assert_int_equal(rl_profile_take_times(&counted, &timed, &err), RL_OK);
    const struct rl_kernel *k = find(&counted, RL_KIND_FUNCTION, "spmv");
    assert_true(fabs(k->time_s.value - 0.5) < 0.01 && k->flop.value == 1e6);
    assert_int_equal(counted.n_kernel, n + 1);
    assert_string_equal(counted.kernel[n].name, "only timed");
    assert_true(counted.elapsed_s.value == elapsed_s);
    rl_profile_release(&counted);
    rl_profile_release(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_its_loops_time_and_counts),
        cmocka_unit_test(a_loop_has_only_its_own),
        cmocka_unit_test(what_was_not_counted_is_listed_and_says_so),
        cmocka_unit_test(code_of_the_engine_is_no_kernel),
        cmocka_unit_test(code_of_the_sampler_is_no_kernel),
        cmocka_unit_test(a_time_of_many_short_visits_is_uncertain),
        cmocka_unit_test(a_job_of_two_programs_has_a_row_for_each),
        cmocka_unit_test(flop_of_a_job_without_its_main_program_are_unknown),
        cmocka_unit_test(a_function_without_time_or_work_has_no_row),
        cmocka_unit_test(a_region_takes_wall_time_over_threads),
        cmocka_unit_test(counts_of_a_part_are_missing_and_not_small),
        cmocka_unit_test(a_region_of_the_main_thread_has_the_threads_that_worked_meanwhile),
        cmocka_unit_test(a_region_that_no_sample_fell_into_has_no_threads),
        cmocka_unit_test(without_counts_functions_are_found_by_symbols),
        cmocka_unit_test(repeats_give_the_spread),
        cmocka_unit_test(times_of_an_earlier_run_go_to_the_kernels_of_that_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
