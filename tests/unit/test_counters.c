/* Hardware counters in a profile: they speak of the whole program, check the engine, and are never
 * mistaken for a kernel's. A stand-in for the kernel counts. */
#include "../support/cmocka_all.h"
#include "../support/pmu_stand_in.h"

#include "base/file.h"
#include "cli/counters.h"
#include "cli/lock.h"
#include "profile/counters.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENGINE BINARY_DIR "/src/count/engine/libroofline-engine.so"

static struct rl_profile profile_of(const struct rl_profile_options *options,
                                    const char *const *argv)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct rl_profile profile = {0};
    struct rl_error err = {0};
    if (rl_profile_run(argv, env, options, &profile, &err) != RL_OK)
        fail_msg("%s", err.text);
    return profile;
}

static const char *const runs_true[] = {"true", NULL};

static const struct rl_kernel *program_of(const struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        if (profile->kernel[i].kind == RL_KIND_PROGRAM)
            return &profile->kernel[i];
    }
    fail_msg("no program");
    return NULL;
}

/* fp64: 1, 2 and 4 lanes, a million each: 7e6; fp32: 1, 4 and 8 lanes: 13e6. */
static void counters_alone_give_the_program_its_operations(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct rl_profile_options options = {
        .count = RL_COUNT_PMU, .sampling = RL_SAMPLE_NONE, .counters = pmu, .functions = true};
    struct rl_profile profile = profile_of(&options, runs_true);
    const struct rl_kernel *program = program_of(&profile);
    assert_true(program->flop.value == 20e6);
    assert_int_equal(program->flop.source, RL_SOURCE_MEASURED);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, rl_pmu_passes(pmu));
    assert_true(rl_pmu_passes(pmu) > 1);
    assert_true(rl_known(profile.elapsed_s));
    assert_true(profile_has_note(&profile, "hardware counters of"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void one_pass_is_one_run(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    const char *const argv[] = {"sh", "-c", "exit 3", NULL};
    struct rl_profile_options options = {
        .count = RL_COUNT_PMU, .single_pass = true, .counters = pmu, .functions = true};
    struct rl_profile profile = profile_of(&options, argv);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, 1);
    assert_int_equal(profile.exit_status, 3);
    assert_true(rl_known(profile.elapsed_s));
    assert_true(profile_has_note(&profile, "time is from the run under hardware counters"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

/* The gap stays for kernels, but not for the program. */
static void where_the_engine_does_not_work_counters_count_all_they_can(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct rl_profile_options options = {
        .sampling = RL_SAMPLE_NONE, .counters = pmu, .functions = true};
    struct rl_profile profile = profile_of(&options, runs_true);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, rl_pmu_passes(pmu));
    assert_non_null(why_missing(&profile.missing, "flop"));
    assert_true(program_of(&profile)->flop.value == 20e6);
    assert_true(rl_known(rl_kernel_find_traffic(program_of(&profile), "L2")->bytes));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

#ifdef __x86_64__
static void beside_the_engine_counters_take_one_run_more(void **state)
{
    (void)state;
    if (access(ENGINE, R_OK) != 0)
        skip();
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct rl_profile_options options = {.traffic = RL_TRAFFIC_NONE,
                                         .sampling = RL_SAMPLE_NONE,
                                         .engine = ENGINE,
                                         .counters = pmu,
                                         .functions = true};
    struct rl_profile profile = profile_of(&options, runs_true);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, 1);
    assert_true(program_of(&profile)->n_ops > 0);
    assert_true(profile_has_note(&profile, "fp64 FLOP of the program disagree"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}
#endif

static void what_is_switched_off_is_not_shown(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct rl_profile_options options = {.count = RL_COUNT_PMU,
                                         .traffic = RL_TRAFFIC_NONE,
                                         .sampling = RL_SAMPLE_NONE,
                                         .counters = pmu};
    struct rl_profile profile = profile_of(&options, runs_true);
    assert_int_equal(program_of(&profile)->n_traffic, 0);
    assert_string_equal(why_missing(&profile.missing, "bytes"), "traffic was switched off");
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
    pmu = pmu_stand_in_believed();
    options.counters = pmu;
    options.count = RL_COUNT_NONE;
    options.traffic = RL_TRAFFIC_PMU;
    profile = profile_of(&options, runs_true);
    assert_true(program_of(&profile)->n_traffic > 0);
    assert_false(rl_known(rl_kernel_flop(program_of(&profile))));
    assert_string_equal(why_missing(&profile.missing, "flop"), "counting was switched off");
    assert_null(why_missing(&profile.missing, "bytes"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void without_counters_nothing_is_run_for_them(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo it must not run", NULL};
    struct rl_profile_options options = {.count = RL_COUNT_PMU, .sampling = RL_SAMPLE_NONE};
    struct rl_profile profile;
    struct rl_error err = {0};
    assert_int_equal(rl_profile_run(argv, NULL, &options, &profile, &err), RL_EUNAVAIL);
    options.count = RL_COUNT_ENGINE;
    options.traffic = RL_TRAFFIC_PMU;
    assert_int_equal(rl_profile_run(argv, NULL, &options, &profile, &err), RL_EUNAVAIL);
    options.single_pass = true;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    options.counters = pmu;
    assert_int_equal(rl_profile_run(argv, NULL, &options, &profile, &err), RL_EINVAL);
    rl_pmu_free(pmu);
}

/* A profile as the engine leaves it: the program, and a function that is all of it. */
static struct rl_profile engine_profile(double flop)
{
    struct rl_profile profile = {0};
    struct rl_kernel *kernel;
    struct rl_traffic *traffic;
    static const enum rl_kernel_kind kinds[] = {RL_KIND_PROGRAM, RL_KIND_FUNCTION};
    struct rl_op_count ops = {.precision = RL_FP64,
                              .op = RL_OP_ADD,
                              .isa = "avx2",
                              .count = rl_value(flop, RL_SOURCE_COUNTED, 0)};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rl_profile_add(&profile, kinds[i], "k", &kernel, NULL), RL_OK);
        assert_int_equal(rl_kernel_add_ops(kernel, &ops, NULL), RL_OK);
        assert_int_equal(rl_kernel_traffic(kernel, "L2", &traffic, NULL), RL_OK);
        traffic->bytes = rl_value(30e6, RL_SOURCE_SIMULATED, 0);
        traffic->read = rl_value(20e6, RL_SOURCE_SIMULATED, 0);
        traffic->write = rl_value(10e6, RL_SOURCE_SIMULATED, 0);
        assert_int_equal(rl_kernel_traffic(kernel, "DRAM", &traffic, NULL), RL_OK);
        traffic->bytes = rl_value(5e6, RL_SOURCE_SIMULATED, 0);
    }
    return profile;
}

static struct rl_pmu_value measured(double value)
{
    return (struct rl_pmu_value){.value = rl_value(value, RL_SOURCE_MEASURED, 0)};
}

static struct rl_pmu_counts no_counts(void)
{
    static const struct rl_pmu_value none = {.why = RL_PMU_NO_ROW};
    struct rl_pmu_counts counts = {.n_runs = 1, .flop = none, .system_dram = {.name = "DRAM"}};
    static const char *const names[] = {"L2", "L3", "DRAM"};
    for (size_t i = 0; i < RL_PRECISION_COUNT; i++)
        counts.flop_of[i] = none;
    for (size_t i = 0; i < RL_PMU_LEVELS; i++)
        counts.level[i] = (struct rl_pmu_level){names[i], none, none, none};
    return counts;
}

static const struct counters_use all = {.flop = true, .bytes = true};

static bool disagrees(double own, double counted)
{
    struct rl_profile profile = engine_profile(own);
    struct rl_pmu_counts counts = no_counts();
    counts.flop_of[RL_FP64] = measured(counted);
    counts.flop = measured(counted);
    assert_int_equal(counters_apply(&counts, &all, &profile, NULL), RL_OK);
    assert_true(rl_kernel_flop(program_of(&profile)).value == own);
    bool found = profile_has_note(&profile, "fp64 FLOP of the program disagree");
    rl_profile_release(&profile);
    return found;
}

static void sources_that_differ_by_more_than_5_per_cent_are_named(void **state)
{
    (void)state;
    assert_false(disagrees(100e6, 100e6));
    assert_false(disagrees(100e6, 95.5e6));
    assert_false(disagrees(95.5e6, 100e6));
    assert_true(disagrees(100e6, 94e6));
    assert_true(disagrees(94e6, 100e6));
    assert_true(disagrees(100e6, 0));
    assert_false(disagrees(100, 900));
}

static void measured_traffic_replaces_the_programs_and_no_functions(void **state)
{
    (void)state;
    struct rl_profile profile = engine_profile(1e6);
    struct rl_pmu_counts counts = no_counts();
    counts.level[RL_PMU_LEVEL_L2].fill = measured(25e6);
    counts.level[RL_PMU_LEVEL_L2].write = measured(15e6);
    counts.level[RL_PMU_LEVEL_L2].total = measured(40e6);
    assert_int_equal(counters_apply(&counts, &all, &profile, NULL), RL_OK);
    const struct rl_traffic *l2 = rl_kernel_find_traffic(&profile.kernel[0], "L2");
    assert_true(l2->bytes.value == 40e6);
    assert_int_equal(l2->bytes.source, RL_SOURCE_MEASURED);
    assert_true(l2->write.value == 15e6);
    assert_false(rl_known(l2->read));
    l2 = rl_kernel_find_traffic(&profile.kernel[1], "L2");
    assert_true(l2->bytes.value == 30e6);
    assert_int_equal(l2->bytes.source, RL_SOURCE_SIMULATED);
    assert_true(profile_has_note(&profile,
                                 "L2 bytes of the program disagree: 3e+07 simulated, 4e+07 by "
                                 "hardware counters, 25 % apart"));
    assert_null(why_missing(&profile.kernel[0].missing, "bytes.DRAM"));
    assert_non_null(why_missing(&profile.kernel[0].missing, "bytes.L3"));
    rl_profile_release(&profile);
}

static void what_everybody_moved_is_no_better_than_a_simulation(void **state)
{
    (void)state;
    struct rl_profile profile = engine_profile(1e6);
    struct rl_pmu_counts counts = no_counts();
    counts.system_dram.total = measured(50e6);
    assert_int_equal(counters_apply(&counts, &all, &profile, NULL), RL_OK);
    const struct rl_traffic *dram = rl_kernel_find_traffic(&profile.kernel[0], "DRAM");
    assert_true(dram->bytes.value == 5e6);
    assert_true(profile_has_note(&profile, "DRAM bytes of the program disagree"));
    rl_profile_release(&profile);
}

static void fills_are_compared_where_write_backs_cannot_be_counted(void **state)
{
    (void)state;
    struct rl_profile profile = engine_profile(1e6);
    struct rl_pmu_counts counts = no_counts();
    counts.level[RL_PMU_LEVEL_L2].fill = measured(40e6);
    assert_int_equal(counters_apply(&counts, &all, &profile, NULL), RL_OK);
    assert_true(rl_kernel_find_traffic(&profile.kernel[0], "L2")->bytes.value == 30e6);
    assert_true(profile_has_note(&profile, "L2 bytes towards the core of the program disagree"));
    rl_profile_release(&profile);
}

static void functions_say_that_counters_do_not_know_them(void **state)
{
    (void)state;
    struct rl_profile profile = {0};
    struct rl_kernel *kernel;
    struct rl_pmu_counts counts = no_counts();
    const struct counters_use only = {.flop = true, .bytes = true, .is_only = true};
    counts.flop = measured(7e6);
    assert_int_equal(rl_profile_add(&profile, RL_KIND_PROGRAM, "p", &kernel, NULL), RL_OK);
    assert_int_equal(rl_profile_add(&profile, RL_KIND_FUNCTION, "f", &kernel, NULL), RL_OK);
    assert_int_equal(counters_apply(&counts, &only, &profile, NULL), RL_OK);
    assert_true(rl_kernel_flop(&profile.kernel[0]).value == 7e6);
    assert_false(rl_known(rl_kernel_flop(&profile.kernel[1])));
    assert_non_null(strstr(why_missing(&profile.kernel[1].missing, "flop"),
                           "as a whole and its marked regions only"));
    rl_profile_release(&profile);
}

/* Where records are kept in a test, which may fail anywhere. */
static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/roofline-counters-XXXXXX");
    return mkdtemp(folder) && setenv("XDG_DATA_HOME", folder, 1) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Somebody who measures, and when done leaves `text` at `path`. */
static pid_t measure_elsewhere(const char *path, const char *text)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct rl_lock lock = {0};
        if (rl_lock_take(&lock, NULL) != RL_OK || write(ready[1], "r", 1) != 1)
            _exit(1);
        usleep(300000);
        _exit(rl_file_write(path, text, strlen(text), NULL) != RL_OK);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void a_self_test_waits_and_takes_what_another_has_found(void **state)
{
    (void)state;
    char path[128];
    char *text;
    int status = 0;
    struct rl_counters counters;
    struct rl_error err = {0};
    struct rl_pmu_options options = pmu_stand_in_options();
    char key[] = "this-machine";
    const struct rl_machine machine = {.key = key};
    pmu_stand_in = (struct pmu_stand_in){0};
    pmu_stand_in.runs_away = true;
    snprintf(path, sizeof path, "%s/roofline/%s.counters", folder, key);
    assert_int_equal(rl_counters_open(&options, &counters, &err), RL_OK);
    assert_int_equal(rl_counters_test(&counters, &machine, false, &err), RL_OK);
    assert_int_equal(rl_file_read(path, 1 << 20, &text, NULL, &err), RL_OK);
    unlink(path);
    int n_read = pmu_stand_in.n_read;
    pid_t other = measure_elsewhere(path, text);
    assert_int_equal(rl_counters_test(&counters, &machine, false, &err), RL_OK);
    assert_int_equal(pmu_stand_in.n_read, n_read);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    free(text);
    rl_counters_close(&counters);
}

/* Counters that show anything fail the self-test; that is kept, and not tried again. */
static void a_self_test_is_run_once_and_kept(void **state)
{
    (void)state;
    char path[128];
    struct rl_counters counters;
    struct rl_error err = {0};
    struct rl_pmu_options options = pmu_stand_in_options();
    char key[] = "this-machine";
    const struct rl_machine machine = {.key = key};
    pmu_stand_in = (struct pmu_stand_in){0};
    pmu_stand_in.runs_away = true;
    assert_int_equal(rl_counters_open(&options, &counters, &err), RL_OK);
    assert_int_equal(rl_counters_test(&counters, &machine, false, &err), RL_OK);
    assert_int_equal(rl_pmu_check(counters.pmu, RL_PMU_FLOP, &err), RL_EUNAVAIL);
    rl_counters_close(&counters);
    snprintf(path, sizeof path, "%s/roofline/%s.counters", folder, key);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(rl_counters_open(&options, &counters, &err), RL_OK);
    int n_read = pmu_stand_in.n_read;
    assert_int_equal(rl_counters_test(&counters, &machine, false, &err), RL_OK);
    assert_int_equal(pmu_stand_in.n_read, n_read);
    assert_int_equal(rl_pmu_check(counters.pmu, RL_PMU_FLOP, &err), RL_EUNAVAIL);
    assert_non_null(strstr(err.text, "failed their self-test"));
    /* Asked for, or with a failure of more than a day ago, it is done again. */
    assert_int_equal(rl_counters_test(&counters, &machine, true, &err), RL_OK);
    assert_true(pmu_stand_in.n_read > n_read);
    n_read = pmu_stand_in.n_read;
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 25 * 3600},
                                    {.tv_sec = time(NULL) - 25 * 3600}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(rl_counters_test(&counters, &machine, false, &err), RL_OK);
    assert_true(pmu_stand_in.n_read > n_read);
    rl_counters_close(&counters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_alone_give_the_program_its_operations),
        cmocka_unit_test(one_pass_is_one_run),
        cmocka_unit_test(where_the_engine_does_not_work_counters_count_all_they_can),
#ifdef __x86_64__
        cmocka_unit_test(beside_the_engine_counters_take_one_run_more),
#endif
        cmocka_unit_test(what_is_switched_off_is_not_shown),
        cmocka_unit_test(without_counters_nothing_is_run_for_them),
        cmocka_unit_test(sources_that_differ_by_more_than_5_per_cent_are_named),
        cmocka_unit_test(measured_traffic_replaces_the_programs_and_no_functions),
        cmocka_unit_test(what_everybody_moved_is_no_better_than_a_simulation),
        cmocka_unit_test(fills_are_compared_where_write_backs_cannot_be_counted),
        cmocka_unit_test(functions_say_that_counters_do_not_know_them),
        cmocka_unit_test_setup_teardown(a_self_test_is_run_once_and_kept, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_self_test_waits_and_takes_what_another_has_found,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
