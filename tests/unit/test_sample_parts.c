/* The parts of the sampler that need no program: rings, mappings, the time line, build ids. */
#include "sample/buildid.h"
#include "sample/cost.h"
#include "sample/event.h"
#include "sample/perf.h"
#include "sample/ring.h"
#include "sample/scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

static struct rl_error err;

#define ok(call) assert_int_equal(call, RL_OK)

/* Rings */

static void content_of_anything_is_survived(void **state)
{
    (void)state;
    static uint8_t data[4096];
    for (unsigned seed = 0; seed < 20000; seed++) {
        struct event_list list = {0};
        srand(seed);
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (uint8_t)rand();
        /* Half of them begin with a plausible header, so that bodies are looked at too. */
        if (seed % 2) {
            struct perf_event_header head = {.type = seed / 2 % 12,
                                             .size = (uint16_t)(8 + seed % 120)};
            memcpy(data, &head, sizeof head);
        }
        ok(ring_decode(data, seed % sizeof data, &list, &err));
        event_list_release(&list);
    }
}

static void a_record_longer_than_the_ring_ends_it(void **state)
{
    (void)state;
    struct event_list list = {0};
    struct perf_event_header head = {.type = PERF_RECORD_SAMPLE, .size = 64};
    uint8_t data[16];
    memcpy(data, &head, sizeof head);
    ok(ring_decode(data, sizeof data, &list, &err));
    assert_int_equal(list.n, 0);
    assert_int_equal(list.n_corrupt, 1);
    event_list_release(&list);
}

static void samples_and_losses_are_read(void **state)
{
    (void)state;
    struct {
        struct perf_event_header head;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t time, event, period;
    } sample = {{PERF_RECORD_SAMPLE, 0, sizeof sample}, 0x1234, 7, 8, 99, 3, 500};
    struct {
        struct perf_event_header head;
        uint64_t id, lost;
        uint32_t pid, tid;
        uint64_t time, event;
    } lost = {{PERF_RECORD_LOST, 0, sizeof lost}, 1, 42, 7, 8, 100, 3};
    uint8_t data[sizeof sample + sizeof lost];
    struct event_list list = {0};
    memcpy(data, &sample, sizeof sample);
    memcpy(data + sizeof sample, &lost, sizeof lost);
    ok(ring_decode(data, sizeof data, &list, &err));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.event[0].ip, 0x1234);
    assert_int_equal(list.event[0].pid, 7);
    assert_int_equal(list.event[0].tid, 8);
    assert_int_equal(list.event[0].time_ns, 99);
    assert_int_equal(list.event[0].weight_ns, 500);
    assert_int_equal(list.n_lost, 42);
    assert_int_equal(list.n_corrupt, 0);
    event_list_release(&list);
}

/* Mappings */

static void map(struct collector *c, int pid, uint64_t start, uint64_t length, uint64_t offset,
                const char *path)
{
    struct collect_map m = {start, length, offset, 1, path};
    ok(collect_mmap(c, pid, &m, &err));
}

static const struct rl_sample_bucket *last(const struct rl_samples *s)
{
    return &s->bucket[s->n_bucket - 1];
}

static void an_address_belongs_to_what_is_mapped_at_its_time(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x1000, 0x3000, 0x800, "/lib/a.so");
    ok(collect_sample(c, 100, 100, 0x2010, MS, MS, &err));
    assert_string_equal(s.module[last(&s)->module].path, "/lib/a.so");
    assert_int_equal(last(&s)->offset, 0x1810);
    /* Another file takes the middle: what is left of the first keeps its offsets. */
    map(c, 100, 0x2000, 0x1000, 0, "/lib/b.so");
    ok(collect_sample(c, 100, 100, 0x2010, 2 * MS, MS, &err));
    assert_string_equal(s.module[last(&s)->module].path, "/lib/b.so");
    assert_int_equal(last(&s)->offset, 0x10);
    ok(collect_sample(c, 100, 100, 0x1fff, 3 * MS, MS, &err));
    assert_int_equal(last(&s)->offset, 0x17ff);
    ok(collect_sample(c, 100, 100, 0x3004, 3 * MS, MS, &err));
    assert_string_equal(s.module[last(&s)->module].path, "/lib/a.so");
    assert_int_equal(last(&s)->offset, 0x2804);
    ok(collect_sample(c, 100, 100, 0x4000, 3 * MS, MS, &err));
    assert_int_equal(s.module[last(&s)->module].kind, RL_SAMPLE_UNKNOWN);
    ok(collector_finish(c, 4 * MS, &err));
    rl_samples_release(&s);
}

static void a_fork_inherits_and_an_exec_forgets(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x1000, 0x1000, 0, "/bin/a");
    ok(collect_process(c, 200, 100, MS, &err));
    ok(collect_sample(c, 200, 200, 0x1010, MS, MS, &err));
    assert_string_equal(s.module[last(&s)->module].path, "/bin/a");
    ok(collect_exec(c, 200, 2 * MS, "b", &err));
    ok(collect_sample(c, 200, 200, 0x1010, 2 * MS, MS, &err));
    assert_int_equal(s.module[last(&s)->module].kind, RL_SAMPLE_UNKNOWN);
    assert_int_equal(s.n_process, 3);
    assert_true(s.process[1].end_s >= 0);
    ok(collector_finish(c, 4 * MS, &err));
    rl_samples_release(&s);
}

static void code_of_no_file_keeps_its_address(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x7000, 0x1000, 0, "//anon");
    ok(collect_sample(c, 100, 100, 0x7123, MS, MS, &err));
    assert_int_equal(s.module[last(&s)->module].kind, RL_SAMPLE_JIT);
    assert_int_equal(last(&s)->offset, 0x7123);
    ok(collector_finish(c, 4 * MS, &err));
    rl_samples_release(&s);
}

static void a_maps_file_of_anything_is_survived(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n",
        "1000-2000 r-xp 00000000 08:01 5",
        "1000-2000 r-xp 00000000 08:01 5   /bin/a\n",
        "2000-1000 r-xp 00000000 08:01 5 /bin/a\n",
        "zzzz\n1000-\n-\n1000-2000 r--p 0 0:0 0\n",
        "ffffffffffff0000-ffffffffffffffff r-xp ffffffffffffffff 08:01 1 /x\n",
    };
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ok(collect_maps_text(c, 100, texts[i], &err));
    ok(collect_sample(c, 100, 100, 0x1010, MS, MS, &err));
    assert_string_equal(s.module[last(&s)->module].path, "/bin/a");
    ok(collector_finish(c, 4 * MS, &err));
    rl_samples_release(&s);
}

/* Its code must not be looked for in what lies there now; it goes by the whole line. */
static void a_program_whose_file_was_replaced_keeps_its_name(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    ok(collect_exec(c, 100, 0, "process", &err));
    ok(collect_maps_text(c, 100, "1000-2000 r-xp 0 08:01 5 /bin/a (deleted)\n", &err));
    ok(collect_sample(c, 100, 100, 0x1010, MS, MS, &err));
    assert_string_equal(s.process[0].command, "/bin/a");
    assert_string_equal(s.module[last(&s)->module].path, "/bin/a (deleted)");
    ok(collector_finish(c, 4 * MS, &err));
    rl_samples_release(&s);
}

/* The time line */

static void a_long_run_keeps_a_part_of_its_time_line(void **state)
{
    (void)state;
    enum { MOST = 1000, N = 100000 };
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, MOST, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x1000, 0x1000, 0, "/bin/a");
    for (uint64_t i = 0; i < N; i++) {
        ok(collect_sample(c, 100, 100, 0x1010, i * MS, MS, &err));
        ok(collect_sample(c, 100, 101, 0x1020, i * MS + 1000, MS, &err));
    }
    ok(collector_finish(c, (uint64_t)N * MS, &err));
    assert_true(s.n_point <= MOST && s.n_point >= MOST / 8);
    assert_true(s.point_fraction < 1);
    assert_true(fabs(s.sampled_s - 2 * N * 1e-3) < 1e-6);
    assert_true(fabs(s.mean_threads - 2) < 0.05);
    uint32_t groups[] = {0, 0};
    struct rl_sample_time time;
    ok(rl_samples_group(&s, groups, 1, &time, &err));
    assert_true(fabs(time.threads - 2) < 0.05);
    assert_true(fabs(time.wall_s - N * 1e-3) < 0.05 * N * 1e-3);
    rl_samples_release(&s);
}

static void threads_at_work_in_turns_are_one(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x1000, 0x1000, 0, "/bin/a");
    for (uint64_t i = 0; i < 1000; i++)
        ok(collect_sample(c, 100, 100 + (int)(i / 100 % 2), 0x1010, i * MS, MS, &err));
    ok(collector_finish(c, (uint64_t)1000 * MS, &err));
    uint32_t groups[] = {0, 0};
    struct rl_sample_time time;
    ok(rl_samples_group(&s, groups, 1, &time, &err));
    assert_true(fabs(time.threads - 1) < 0.02);
    /* Each thread came into it once: known to a sample or two of a thousand. */
    assert_true(fabs(time.spread - 1.96 * sqrt(2) / 1000) < 1e-6);
    uint32_t wrong[] = {0, 5};
    assert_int_equal(rl_samples_group(&s, wrong, 1, &time, &err), RL_EINVAL);
    rl_samples_release(&s);
}

/* Build ids */

static void build_ids_are_found_behind_other_notes(void **state)
{
    (void)state;
    const uint8_t notes[] = {
        4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 9, 9, 9, 9,
        4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 0,
    };
    uint8_t id[RL_SAMPLE_BUILD_ID_MAX];
    assert_int_equal(build_id_from_notes(notes, sizeof notes, id), 3);
    assert_memory_equal(id, "\1\2\3", 3);
    for (size_t n = 0; n < sizeof notes - 1; n++)
        assert_int_equal(build_id_from_notes(notes, n, id), 0);
}

static void notes_of_anything_are_survived(void **state)
{
    (void)state;
    uint8_t id[RL_SAMPLE_BUILD_ID_MAX];
    for (unsigned seed = 0; seed < 20000; seed++) {
        uint8_t notes[64];
        srand(seed);
        for (size_t i = 0; i < sizeof notes; i++)
            notes[i] = (uint8_t)(rand() % (seed % 2 ? 256 : 8));
        assert_true(build_id_from_notes(notes, sizeof notes, id) <= sizeof id);
    }
}

/* What perf missed */

static void times_sum_to_what_the_kernel_counted(void **state)
{
    (void)state;
    static const struct {
        double user_s, sampled_s, factor;
        bool children_left;
    } cases[] = {
        {2, 1.6, 1.25, false}, {2, 2.1, 1, false}, /* children that nobody waited for */
        {2, 1.99, 1, false},                       /* chance */
        {2, 0.9, 1, false},                        /* a part was not sampled */
        {0.2, 0.16, 1, false},                     /* ticks do not know so well */
        {2, 1.6, 1, true},     {2, 0, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double sampled_s = cases[i].sampled_s, factor = cases[i].factor;
        struct rl_sample_bucket buckets[] = {{.cpu_s = 0.75 * sampled_s},
                                             {.cpu_s = 0.25 * sampled_s}};
        struct rl_sample_thread thread = {.cpu_s = sampled_s};
        struct rl_samples s = {.user_s = cases[i].user_s,
                               .sampled_s = sampled_s,
                               .children_left = cases[i].children_left,
                               .bucket = buckets,
                               .n_bucket = 2,
                               .thread = &thread,
                               .n_thread = 1};
        assert_true(fabs(samples_scale(&s) - factor) < 1e-12);
        assert_true(fabs(s.sampled_s - factor * sampled_s) < 1e-12);
        assert_true(fabs(thread.cpu_s - factor * sampled_s) < 1e-12);
        assert_true(fabs(buckets[0].cpu_s - 0.75 * factor * sampled_s) < 1e-12);
        assert_true(fabs(buckets[1].cpu_s - 0.25 * factor * sampled_s) < 1e-12);
    }
    /* of many short processes all time may be called user time */
    struct rl_samples s = {.user_s = 2, .sampled_s = 1.6, .n_process = 100};
    assert_true(fabs(samples_scale(&s) - 1) < 1e-12);
    s.n_process = 4;
    assert_true(fabs(samples_scale(&s) - 1.25) < 1e-12);
}

/* Rates */

static void samples_take_their_part_of_the_time_and_no_more(void **state)
{
    (void)state;
    for (double cost_s = 0.2e-6; cost_s < 49e-6; cost_s *= 1.1) {
        unsigned hz = cost_rate_hz(cost_s);
        assert_true(hz * cost_s <= COST_PART);
        assert_true(hz == 3989 || (hz + 1) * cost_s > COST_PART);
    }
    assert_int_equal(cost_rate_hz(1e-6), 3989);
    assert_int_equal(cost_rate_hz(30e-6), 416);
    assert_int_equal(cost_rate_hz(1), 251);
    assert_int_equal(cost_rate_hz(0), 1999);
}

static void an_inherited_clock_keeps_its_period(void **state)
{
    (void)state;
    struct periods p = {.nominal_ns = 1000, .random = 1};
    assert_int_equal(period_of(&p, 7, 0, 50), 1000);
    assert_true(period_open(&p, 7));
    assert_true(period_change(&p, 0, 800) && period_change(&p, 100, 1200));
    assert_int_equal(period_of(&p, 7, 800, 99), 800);
    assert_int_equal(period_of(&p, 7, 800, 100), 1200);
    assert_int_equal(period_of(&p, 8, 900, 500), 900);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t ns = period_draw(&p);
        assert_true(ns >= 750 && ns < 1250);
        sum += (double)ns;
    }
    assert_true(fabs(sum / 10000 - 1000) < 10);
    period_release(&p);
}

static void threads_of_unlike_periods_count_by_their_time(void **state)
{
    (void)state;
    struct rl_samples s = {0};
    struct collector *c;
    ok(collector_new(&s, MS, 0, &c, &err));
    ok(collect_process(c, 100, 1, 0, &err));
    map(c, 100, 0x1000, 0x1000, 0, "/bin/a");
    for (uint64_t i = 0; i < 8000; i++) {
        if (i % 8 == 3)
            ok(collect_sample(c, 100, 100, 0x1010, i * MS / 8, MS, &err));
        if (i % 10 == 0)
            ok(collect_sample(c, 100, 101, 0x1010, i * MS / 8, MS / 8 * 10, &err));
        if (i % 6 == 0)
            ok(collect_sample(c, 100, 102, 0x1010, i * MS / 8, MS / 8 * 6, &err));
    }
    ok(collector_finish(c, (uint64_t)1000 * MS, &err));
    assert_int_equal(s.max_threads, 3);
    assert_true(fabs(s.mean_threads - 3) < 0.05);
    rl_samples_release(&s);
}

/* Refusals */

/* Each cause by its name, and nothing of the others. */
static void each_refusal_of_sampling_has_its_own_cause(void **state)
{
    (void)state;
    static const char *const causes[] = {"seccomp",           "paranoid",
                                         "another user",      "security module",
                                         "no software clock", "perf_event_open: "};
    enum { SECCOMP, PARANOID, FOREIGN, POLICY, NO_CLOCK, OTHER };
    static const struct {
        struct perf_refusal why;
        int cause;
    } cases[] = {
        {{EPERM, true, 2, true, false}, SECCOMP},    {{EPERM, false, 0, true, true}, SECCOMP},
        {{EACCES, true, 3, false, false}, PARANOID}, {{EACCES, true, 4, true, true}, PARANOID},
        {{EPERM, true, 3, false, false}, PARANOID},  {{EACCES, true, 2, false, true}, FOREIGN},
        {{EACCES, true, 2, true, false}, POLICY},    {{EACCES, false, 0, false, false}, POLICY},
        {{EPERM, true, 1, false, false}, POLICY},    {{ENOSYS, true, 2, true, false}, NO_CLOCK},
        {{ENOENT, true, 3, false, false}, NO_CLOCK}, {{EOPNOTSUPP, true, 2, false, true}, NO_CLOCK},
        {{EMFILE, true, 3, true, false}, OTHER},     {{EBUSY, true, 2, false, false}, OTHER},
        {{ENODEV, false, 0, false, true}, OTHER},    {{EINVAL, true, -1, true, false}, OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(perf_refused(&cases[i].why, &err), RL_EUNAVAIL);
        for (int k = 0; k < (int)(sizeof causes / sizeof *causes); k++)
            if ((strstr(err.text, causes[k]) != NULL) != (k == cases[i].cause))
                fail_msg("case %zu, %s: %s", i, strerror(cases[i].why.error), err.text);
    }
}

/* Behind a filter the level would refuse as well. */
static void all_that_stands_in_the_way_of_sampling_is_said(void **state)
{
    (void)state;
    const struct perf_refusal both = {EPERM, true, 3, true, false};
    assert_int_equal(perf_refused(&both, &err), RL_EUNAVAIL);
    assert_non_null(strstr(err.text, "seccomp filter"));
    assert_non_null(strstr(err.text, "kernel.perf_event_paranoid at 2 or less"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_of_anything_is_survived),
        cmocka_unit_test(a_record_longer_than_the_ring_ends_it),
        cmocka_unit_test(samples_and_losses_are_read),
        cmocka_unit_test(an_address_belongs_to_what_is_mapped_at_its_time),
        cmocka_unit_test(a_fork_inherits_and_an_exec_forgets),
        cmocka_unit_test(code_of_no_file_keeps_its_address),
        cmocka_unit_test(a_maps_file_of_anything_is_survived),
        cmocka_unit_test(a_program_whose_file_was_replaced_keeps_its_name),
        cmocka_unit_test(a_long_run_keeps_a_part_of_its_time_line),
        cmocka_unit_test(threads_at_work_in_turns_are_one),
        cmocka_unit_test(build_ids_are_found_behind_other_notes),
        cmocka_unit_test(notes_of_anything_are_survived),
        cmocka_unit_test(an_inherited_clock_keeps_its_period),
        cmocka_unit_test(threads_of_unlike_periods_count_by_their_time),
        cmocka_unit_test(times_sum_to_what_the_kernel_counted),
        cmocka_unit_test(samples_take_their_part_of_the_time_and_no_more),
        cmocka_unit_test(each_refusal_of_sampling_has_its_own_cause),
        cmocka_unit_test(all_that_stands_in_the_way_of_sampling_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
