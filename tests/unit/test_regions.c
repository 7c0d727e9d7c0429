/* Marked regions: own markers and those of other tools, in programs that run. */
#include "markers.h"
#include "region/wire.h"
#include "sample/regions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PROGRAMS BINARY_DIR "/tests/programs/"
#define PRELOAD  BINARY_DIR "/src/sample/librooflinesample.so"

extern char **environ;

static struct rl_samples run(const char *program, const char *preload)
{
    const char *argv[] = {program, NULL};
    struct rl_samples samples = {0};
    struct rl_error err = {0};
    struct rl_sample_options options = {
        .method = RL_SAMPLE_NONE, .preload = preload, .regions = true};
    if (rl_sample_run(argv, (const char *const *)environ, &options, &samples, &err) != RL_OK)
        fail_msg("%s", err.text);
    assert_true(WIFEXITED(samples.wait_status));
    assert_int_equal(WEXITSTATUS(samples.wait_status), 0);
    return samples;
}

struct sum {
    uint64_t calls, unended;
    double time_s, self_s, wall_s;
    unsigned n_threads;
};

static struct sum sum_of(const struct rl_samples *s, const char *name)
{
    struct sum sum = {0};
    for (size_t i = 0; i < s->n_region; i++) {
        const struct rl_sample_region *r = &s->region[i];
        if (strcmp(r->name, name) != 0)
            continue;
        sum.calls += r->calls;
        sum.unended += r->unended;
        sum.time_s += r->time_s;
        sum.self_s += r->self_s;
        sum.n_threads++;
    }
    for (size_t i = 0; i < s->n_region_wall; i++)
        sum.wall_s += strcmp(s->region_wall[i].name, name) ? 0 : s->region_wall[i].wall_s;
    return sum;
}

static struct rl_samples shapes;

static int run_shapes(void **state)
{
    (void)state;
    shapes = run(PROGRAMS "regions", NULL);
    return 0;
}

static int release_shapes(void **state)
{
    (void)state;
    rl_samples_release(&shapes);
    return 0;
}

static void own_markers_need_no_preloaded_object(void **state)
{
    (void)state;
    assert_true(shapes.n_region >= 8);
}

static void nested_time_is_inclusive_and_self_is_without(void **state)
{
    (void)state;
    struct sum outer = sum_of(&shapes, "outer");
    struct sum inner = sum_of(&shapes, "inner");
    assert_true(inner.time_s >= 0.010 && outer.time_s >= inner.time_s + 0.005);
    assert_true(outer.self_s >= 0.005 && outer.self_s <= outer.time_s - inner.time_s + 1e-9);
}

static void recursion_counts_its_time_once(void **state)
{
    (void)state;
    struct sum r = sum_of(&shapes, "recursive");
    assert_int_equal(r.calls, 3);
    assert_true(r.time_s >= 0.006);
    assert_true(r.time_s - r.self_s < 1e-6);
}

static void overlapping_and_mismatched_regions_are_survived(void **state)
{
    (void)state;
    assert_int_equal(sum_of(&shapes, "first").calls, 1);
    assert_int_equal(sum_of(&shapes, "second").calls, 1);
    assert_int_equal(sum_of(&shapes, "never begun").calls, 0);
    assert_int_equal(sum_of(&shapes, "never ended").unended, 1);
    assert_int_equal(sum_of(&shapes, "never ended").calls, 0);
}

static void names_are_told_apart_by_their_text(void **state)
{
    (void)state;
    assert_int_equal(sum_of(&shapes, "buffer0").calls, 5);
    assert_int_equal(sum_of(&shapes, "buffer1").calls, 5);
    assert_int_equal(sum_of(&shapes, "many").calls, 10000);
}

static void threads_at_once_take_wall_time_once(void **state)
{
    (void)state;
    struct sum t = sum_of(&shapes, "threads");
    assert_int_equal(t.n_threads, 4);
    assert_int_equal(t.calls, 4);
    assert_true(t.time_s >= 0.080);
    assert_true(t.wall_s >= 0.020 && t.wall_s < t.time_s);
}

static void a_forked_child_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(sum_of(&shapes, "child").calls, 1);
}

static void markers_of_other_tools_are_timed_and_passed_on(void **state)
{
    (void)state;
    struct rl_samples s = run(PROGRAMS "markers", PRELOAD);
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++) {
        struct sum sum = sum_of(&s, marked[i]);
        if (sum.calls != 1 || sum.time_s < 0.001)
            fail_msg("%s: %u calls, %g s", marked[i], (unsigned)sum.calls, sum.time_s);
    }
    assert_int_equal(sum_of(&s, "inner").calls, 1);
    assert_true(sum_of(&s, "nvtx3 first").time_s < sum_of(&s, "nvtx3 second").time_s);
    rl_samples_release(&s);
}

/* Cancelled after 5 ms in both. */
static void a_thread_that_ends_inside_regions_ends_them(void **state)
{
    (void)state;
    static const char *const names[] = {"around cancelled", "cancelled"};
    for (int i = 0; i < 2; i++) {
        struct sum sum = sum_of(&shapes, names[i]);
        assert_int_equal(sum.calls, 1);
        assert_int_equal(sum.unended, 0);
        assert_true(sum.time_s >= 0.005);
        assert_true(sum.wall_s >= 0.005);
    }
    assert_true(sum_of(&shapes, names[1]).self_s >= 0.005);
}

/* 31 characters of three bytes fit into 95 bytes; both names that begin so are one. */
static void names_are_cut_between_characters(void **state)
{
    (void)state;
    char cut[3 * 31 + 1] = "";
    for (int i = 0; i < 31; i++)
        strcat(cut, "\xe6\xbc\xa2");
    struct rl_samples s = run(PROGRAMS "odd_names", NULL);
    assert_int_equal(sum_of(&s, cut).calls, 2);
    assert_int_equal(sum_of(&s, "").calls, 1);
    assert_int_equal(sum_of(&s, "cut\xe6").calls, 1); /* too short to have been cut */
    assert_int_equal(s.n_region, 10);
    rl_samples_release(&s);
}

static void a_file_of_anything_is_survived(void **state)
{
    (void)state;
    size_t n = sizeof(struct region_file);
    uint8_t *data = malloc(n);
    assert_non_null(data);
    for (unsigned seed = 1; seed <= 50; seed++) {
        struct rl_samples s = {0};
        struct rl_error err = {0};
        srand(seed);
        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)rand();
        struct region_file *file = (struct region_file *)data;
        file->head.magic = REGION_MAGIC;
        file->head.version = REGION_VERSION;
        assert_int_equal(regions_read(data, seed % 2 ? n : n / seed, 0, &s, &err), RL_OK);
        rl_samples_release(&s);
    }
    free(data);
}

static void a_file_of_another_version_is_refused_by_name(void **state)
{
    (void)state;
    struct region_head head = {.magic = REGION_MAGIC, .version = 1, .pid = 77};
    struct rl_samples s = {0};
    assert_int_equal(regions_read(&head, sizeof head, 0, &s, NULL), RL_OK);
    assert_int_equal(s.n_region, 0);
    assert_int_equal(s.n_note, 1);
    assert_non_null(strstr(s.note[0], "the regions of process 77 are left out"));
    rl_samples_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_markers_need_no_preloaded_object),
        cmocka_unit_test(nested_time_is_inclusive_and_self_is_without),
        cmocka_unit_test(recursion_counts_its_time_once),
        cmocka_unit_test(overlapping_and_mismatched_regions_are_survived),
        cmocka_unit_test(names_are_told_apart_by_their_text),
        cmocka_unit_test(threads_at_once_take_wall_time_once),
        cmocka_unit_test(a_forked_child_has_its_own),
        cmocka_unit_test(markers_of_other_tools_are_timed_and_passed_on),
        cmocka_unit_test(a_thread_that_ends_inside_regions_ends_them),
        cmocka_unit_test(names_are_cut_between_characters),
        cmocka_unit_test(a_file_of_anything_is_survived),
        cmocka_unit_test(a_file_of_another_version_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, run_shapes, release_shapes);
}
