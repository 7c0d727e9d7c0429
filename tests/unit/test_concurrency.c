/* How many threads work in a region of the main thread, from spans and samples written by hand. */
#include "sample/concurrency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* A period is 1 ms of 16 ticks; samples stand for one period unless a test says otherwise. */
#define TICKS   16
#define TICK_NS 62500u
#define MOST    4096

static struct rl_sample_module modules[] = {{.path = (char *)"/bin/a"},
                                            {.path = (char *)"/usr/lib/libgomp.so.1.0.0"}};
static struct rl_sample_process processes[] = {{.pid = 10}, {.pid = 20}};
static struct rl_sample_thread threads[] = {{.tid = 10}, {.tid = 11}, {.process = 1, .tid = 20}};
/* Thread 0 and 1 at work, thread 1 in the run-time library, the main thread of the other process.
 */
static struct rl_sample_bucket buckets[] = {
    {.thread = 0}, {.thread = 1}, {.thread = 1, .module = 1}, {.thread = 2}};
enum { MAIN, WORKER, WAITING, STRANGER };

static struct rl_sample_point points[MOST];
static struct rl_sample_region_span spans[MOST];
static struct rl_sample_region_wall walls[] = {{.name = (char *)"r"}, {.name = (char *)"other"}};
static struct rl_sample_region regions[2];

static struct rl_samples empty(void)
{
    memset(regions, 0, sizeof regions);
    walls[0].threads = walls[1].threads = 0;
    walls[0].n_samples = walls[1].n_samples = 0;
    return (struct rl_samples){
        .module = modules,
        .n_module = 2,
        .process = processes,
        .n_process = 2,
        .thread = threads,
        .n_thread = 3,
        .bucket = buckets,
        .n_bucket = 4,
        .point = points,
        .tick_s = TICK_NS * 1e-9,
        .point_fraction = 1,
        .region = regions,
        .region_wall = walls,
        .n_region_wall = 2,
        .region_span = spans,
    };
}

static void sample(struct rl_samples *s, uint32_t bucket, uint32_t period)
{
    points[s->n_point++] =
        (struct rl_sample_point){.bucket = bucket, .tick = period * TICKS, .ticks = TICKS};
}

/* The main thread is in the region from the end of one period to that of another, but a bit. */
static void stay(struct rl_samples *s, uint32_t wall, uint32_t from, uint32_t to)
{
    spans[s->n_region_span++] = (struct rl_sample_region_span){
        wall, (uint64_t)from * TICKS * TICK_NS + 1, (uint64_t)to * TICKS * TICK_NS + 1};
}

static double threads_in(struct rl_samples *s, unsigned wall)
{
    struct rl_error err = {0};
    assert_int_equal(concurrency_of_regions(s, &err), RL_OK);
    return walls[wall].threads;
}

static void workers_count_while_the_main_thread_is_in_the_region(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    /* 1 to 100 both work, the region is 21 to 60. */
    for (uint32_t i = 1; i <= 100; i++) {
        sample(&s, MAIN, i);
        sample(&s, WORKER, i);
    }
    stay(&s, 0, 20, 60);
    assert_true(fabs(threads_in(&s, 0) - 2) < 1e-3);
    assert_int_equal(walls[0].n_samples, 80);
    assert_int_equal(walls[1].n_samples, 0);
    assert_true(walls[1].threads == 0);
}

static void what_is_serial_and_what_is_parallel_is_averaged_by_time(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    for (uint32_t i = 1; i <= 80; i++) {
        sample(&s, MAIN, i);
        if (i > 40)
            sample(&s, WORKER, i);
    }
    stay(&s, 0, 0, 80);
    stay(&s, 1, 40, 80); /* nested */
    assert_true(fabs(threads_in(&s, 0) - 1.5) < 1e-3);
    assert_true(fabs(walls[1].threads - 2) < 1e-3);
}

static void threads_that_spin_in_the_runtime_library_do_not_work(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    for (uint32_t i = 1; i <= 80; i++) {
        sample(&s, MAIN, i);
        sample(&s, WAITING, i);
    }
    stay(&s, 0, 0, 80);
    assert_true(fabs(threads_in(&s, 0) - 1) < 1e-3);
}

/* A sample of 1 ms in 0.2 ms of a region: five threads by the times alone, of which there are one,
 * then two. One that works long before or after the region is none of its. */
static void there_are_no_more_threads_than_work_when_it_runs(void **state)
{
    (void)state;
    const uint64_t length_ns = 200000;
    for (int most = 1; most <= 2; most++) {
        struct rl_samples s = empty();
        for (uint32_t i = 1; i <= 60; i++)
            sample(&s, i >= 40 || (i == 15 && most == 2) ? WORKER : MAIN, i);
        spans[s.n_region_span++] = (struct rl_sample_region_span){
            0, 10 * TICKS * TICK_NS - length_ns / 2, 10 * TICKS * TICK_NS + length_ns / 2};
        assert_true(fabs(threads_in(&s, 0) - most) < 1e-9);
        assert_int_equal(walls[0].n_samples, 1);
    }
}

static void other_processes_do_not_work_for_the_region(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    for (uint32_t i = 1; i <= 80; i++) {
        sample(&s, MAIN, i);
        sample(&s, STRANGER, i);
    }
    stay(&s, 0, 0, 80);
    assert_true(fabs(threads_in(&s, 0) - 1) < 1e-3);
}

static void a_thread_with_regions_apart_works_for_its_own(void **state)
{
    (void)state;
    for (uint64_t apart = 0; apart <= 10; apart += 10) {
        struct rl_samples s = empty();
        regions[0] = (struct rl_sample_region){.tid = 11, .calls = 10, .apart = apart};
        s.n_region = 1;
        for (uint32_t i = 1; i <= 80; i++) {
            sample(&s, MAIN, i);
            sample(&s, WORKER, i);
        }
        stay(&s, 0, 0, 80);
        assert_true(fabs(threads_in(&s, 0) - (apart ? 1 : 2)) < 1e-3);
    }
}

/* Both wait for half of the time: at work are two, though the CPU time is that of one. */
static void threads_that_wait_together_still_are_two(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    for (uint32_t i = 1; i <= 80; i++) {
        sample(&s, MAIN, 2 * i);
        sample(&s, WORKER, 2 * i);
    }
    stay(&s, 0, 0, 160);
    assert_true(fabs(threads_in(&s, 0) - 2) < 1e-3);
}

/* Calls of a tenth of a period, half of the time: samples of both threads fall into them, and never
 * into the same call. */
static void calls_shorter_than_the_sampling_period_have_their_threads(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    enum { N = 1000, STEP_NS = TICK_NS * TICKS / 10 };
    for (uint32_t i = 0; i < N; i++) {
        /* 1.6 ticks of every 3.2, of which each thread is sampled in every tenth */
        uint64_t begin_ns = (uint64_t)i * 2 * STEP_NS;
        spans[s.n_region_span++] = (struct rl_sample_region_span){0, begin_ns, begin_ns + STEP_NS};
        uint64_t at_ns = begin_ns + STEP_NS / 2;
        if (i % 10 == 0 || i % 10 == 5)
            points[s.n_point++] = (struct rl_sample_point){
                .bucket = i % 10 ? WORKER : MAIN,
                .tick = (uint32_t)(at_ns / TICK_NS),
                .part = (uint16_t)(at_ns % TICK_NS * RL_SAMPLE_TICK_PARTS / TICK_NS),
                .ticks = TICKS,
            };
    }
    /* Each of 2000 steps of a tenth of a period stands for 1.6 ticks; 200 samples for 16. */
    assert_true(fabs(threads_in(&s, 0) - 2) < 1e-2);
    /* Those that fall between calls do not count. */
    for (size_t i = 0; i < s.n_point; i++)
        points[i].tick += 2;
    walls[0].threads = 0;
    threads_in(&s, 0);
    assert_int_equal(walls[0].n_samples, 0);
}

static void without_samples_nothing_is_known(void **state)
{
    (void)state;
    struct rl_samples s = empty();
    stay(&s, 0, 0, 80);
    assert_true(threads_in(&s, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_count_while_the_main_thread_is_in_the_region),
        cmocka_unit_test(what_is_serial_and_what_is_parallel_is_averaged_by_time),
        cmocka_unit_test(threads_that_spin_in_the_runtime_library_do_not_work),
        cmocka_unit_test(there_are_no_more_threads_than_work_when_it_runs),
        cmocka_unit_test(other_processes_do_not_work_for_the_region),
        cmocka_unit_test(a_thread_with_regions_apart_works_for_its_own),
        cmocka_unit_test(threads_that_wait_together_still_are_two),
        cmocka_unit_test(calls_shorter_than_the_sampling_period_have_their_threads),
        cmocka_unit_test(without_samples_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
