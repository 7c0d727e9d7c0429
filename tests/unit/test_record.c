/* From a program to its profile: time and counts together, on programs that know the truth. */
#include "markers.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS BINARY_DIR "/tests/programs/"
#define PRELOAD  BINARY_DIR "/src/sample/librooflinesample.so"
#define ENGINE   BINARY_DIR "/src/count/engine/libroofline-engine.so"
#define LAUNCHER BINARY_DIR "/src/count/engine/roofline-engine-launch"

extern char **environ;

static struct rl_profile_options defaults(void)
{
    return (struct rl_profile_options){
        .functions = true,
        .loops = true,
        .regions = true,
        .traffic = RL_TRAFFIC_NONE,
        .preload = PRELOAD,
        .engine = ENGINE,
        .launcher = LAUNCHER,
        .program = "roofline test",
    };
}

static struct rl_profile record(const char *const *argv, const struct rl_profile_options *options)
{
    struct rl_profile profile = {0};
    struct rl_error err = {0};
    if (access(ENGINE, R_OK) != 0) {
        print_message("skipped: no counting engine for this architecture\n");
        skip();
    }
    enum rl_status status =
        rl_profile_run(argv, (const char *const *)environ, options, &profile, &err);
    if (status != RL_OK)
        fail_msg("%s", err.text);
    return profile;
}

static const struct rl_kernel *find(const struct rl_profile *p, enum rl_kernel_kind kind,
                                    const char *name)
{
    for (size_t i = 0; i < p->n_kernel; i++) {
        if (p->kernel[i].kind == kind && (!name || !strcmp(p->kernel[i].name, name)))
            return &p->kernel[i];
    }
    fail_msg("no %s %s", rl_kind_name(kind), name ? name : "");
    return NULL;
}

static bool has_note(const struct rl_profile *p, const char *text)
{
    for (size_t i = 0; i < p->n_note; i++) {
        if (strstr(p->note[i], text))
            return true;
    }
    return false;
}

static bool lacks(const struct rl_profile *p, const char *what, const char *why)
{
    for (size_t i = 0; i < p->missing.n; i++) {
        if (!strcmp(p->missing.item[i].what, what) && strstr(p->missing.item[i].why, why))
            return true;
    }
    return false;
}

/* phases N T: an n x n x n product T times by as many threads, then a triad, both known exactly. */
static void flop_and_threads_are_exact(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "phases", "96", "2", NULL};
    struct rl_profile_options options = defaults();
    struct rl_profile p = record(argv, &options);
    const double n = 96;
    const struct rl_kernel *gemm = find(&p, RL_KIND_FUNCTION, "gemm");
    const struct rl_kernel *triad = find(&p, RL_KIND_FUNCTION, "triad");
    assert_true(rl_kernel_flop_of(gemm, RL_FP64).value == 2 * n * n * n * 2 * 20);
    assert_true(rl_kernel_flop_of(triad, RL_FP64).value == 2 * 100000.0 * 20);
    assert_true(gemm->calls.value == 2 * 20 && triad->calls.value == 20);
    assert_true(gemm->load_bytes.value > 0 && gemm->store_bytes.value > 0);
    assert_int_equal(p.exit_status, 3);
    const struct rl_kernel *region = find(&p, RL_KIND_REGION, "multiply");
    assert_true(region->calls.value == 2 * 20);
    assert_true(rl_known(region->time_s));
    rl_profile_release(&p);
}

static void loops_add_up_to_their_function(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "phases", "64", "1", NULL};
    struct rl_profile_options options = defaults();
    struct rl_profile p = record(argv, &options);
    double sum = 0;
    for (size_t i = 0; i < p.n_kernel; i++) {
        const struct rl_kernel *k = &p.kernel[i];
        if (k->kind == RL_KIND_LOOP && k->group && !strcmp(k->group, "gemm") &&
            rl_known(rl_kernel_flop_of(k, RL_FP64)))
            sum += rl_kernel_flop_of(k, RL_FP64).value;
    }
    assert_true(sum == rl_kernel_flop_of(find(&p, RL_KIND_FUNCTION, "gemm"), RL_FP64).value);
    rl_profile_release(&p);
}

static void a_single_pass_says_where_its_time_is_from(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "phases", "64", "1", NULL};
    struct rl_profile_options options = defaults();
    options.single_pass = true;
    struct rl_profile p = record(argv, &options);
    assert_true(lacks(&p, "rate", "counted run"));
    assert_false(rl_known(find(&p, RL_KIND_FUNCTION, "gemm")->time_s));
    assert_true(rl_known(find(&p, RL_KIND_PROGRAM, NULL)->time_s));
    rl_profile_release(&p);
}

static void a_static_program_is_counted_by_the_launcher(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "phases_static", "64", "1", NULL};
    struct rl_profile_options options = defaults();
    if (access(argv[0], X_OK) != 0) {
        print_message("skipped: no static C library\n");
        skip();
    }
    struct rl_profile p = record(argv, &options);
    const struct rl_kernel *gemm = find(&p, RL_KIND_FUNCTION, "gemm");
    assert_true(rl_kernel_flop_of(gemm, RL_FP64).value == 2 * 64.0 * 64 * 64 * 20);
    rl_profile_release(&p);
}

static void without_an_engine_there_is_time_and_a_reason(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "phases", "64", "1", NULL};
    struct rl_profile_options options = defaults();
    options.engine = NULL;
    struct rl_profile p = record(argv, &options);
    assert_false(rl_known(rl_kernel_flop(find(&p, RL_KIND_PROGRAM, NULL))));
    assert_string_equal(p.missing.item[0].what, "flop");
    rl_profile_release(&p);
    struct rl_error err = {0};
    options.count = RL_COUNT_ENGINE;
    assert_int_equal(rl_profile_run(argv, (const char *const *)environ, &options, &p, &err),
                     RL_EUNAVAIL);
}

static void markers_of_other_tools_are_counted(void **state)
{
    (void)state;
    const char *argv[] = {PROGRAMS "markers", NULL};
    struct rl_profile_options options = defaults();
    struct rl_profile p = record(argv, &options);
    assert_int_equal(p.exit_status, 0);
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++) {
        const struct rl_kernel *k = find(&p, RL_KIND_REGION, marked[i]);
        assert_true(k->time_s.value >= 0.001);
        assert_int_equal(k->load_bytes.source, RL_SOURCE_COUNTED);
        /* Each call of a stand-in does one, outside its own region; two regions hold two calls. */
        bool holds_another = !strcmp(marked[i], "likwid") || !strcmp(marked[i], "nvtx2");
        assert_true(rl_kernel_flop(k).value == (holds_another ? 2 : 0));
    }
    rl_profile_release(&p);
}

static void a_program_that_differs_from_run_to_run_is_named(void **state)
{
    (void)state;
    char flag[] = "/tmp/roofline-test-XXXXXX";
    char script[128];
    int fd = mkstemp(flag);
    assert_true(fd >= 0);
    close(fd);
    unlink(flag);
    snprintf(script, sizeof script, "test -e %s && exit 5; touch %s", flag, flag);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct rl_profile_options options = defaults();
    struct rl_profile p = record(argv, &options);
    unlink(flag);
    assert_true(has_note(&p, "differently from run to run"));
    assert_int_equal(p.exit_status, 0);
    rl_profile_release(&p);
}

/* Cancelled once it was asked as often as `context` says. */
static bool cancel(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

static void cancelled_before_it_starts_no_program_is_run(void **state)
{
    (void)state;
    int left = 0;
    const char *argv[] = {"/no/such/program", NULL};
    struct rl_profile p;
    struct rl_error err = {0};
    struct rl_profile_options options = defaults();
    options.cancelled = cancel;
    options.context = &left;
    assert_int_equal(rl_profile_run(argv, (const char *const *)environ, &options, &p, &err),
                     RL_ECANCEL);
}

static void cancelled_between_runs_what_is_known_is_kept(void **state)
{
    (void)state;
    int left = 1;
    const char *argv[] = {"/bin/true", NULL};
    struct rl_profile_options options = defaults();
    options.cancelled = cancel;
    options.context = &left;
    options.repeats = 5;
    struct rl_profile p = record(argv, &options);
    assert_true(rl_known(p.kernel[0].time_s));
    assert_string_equal(p.missing.item[0].why, "the program was interrupted before it was counted");
    rl_profile_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flop_and_threads_are_exact),
        cmocka_unit_test(loops_add_up_to_their_function),
        cmocka_unit_test(a_single_pass_says_where_its_time_is_from),
        cmocka_unit_test(a_static_program_is_counted_by_the_launcher),
        cmocka_unit_test(without_an_engine_there_is_time_and_a_reason),
        cmocka_unit_test(markers_of_other_tools_are_counted),
        cmocka_unit_test(a_program_that_differs_from_run_to_run_is_named),
        cmocka_unit_test(cancelled_before_it_starts_no_program_is_run),
        cmocka_unit_test(cancelled_between_runs_what_is_known_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
