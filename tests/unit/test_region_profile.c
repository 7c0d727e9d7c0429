/* What hardware counters counted in regions becomes of a profile: files as a program would leave
 * them, replayed. No hardware is needed; a stand-in counts the program itself. */
#include "../support/cmocka_all.h"
#include "../support/pmu_stand_in.h"

#include "profile/profile.h"
#include "profile/region_counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENABLED_NS UINT64_C(1000000000)
#define PID        1000

/** What a process leaves of one region. */
struct left {
    const char *name;
    int32_t tid;
    uint64_t running_ns; /* of ENABLED_NS */
    uint64_t read_ns;    /* of a second */
    uint64_t missed;
    uint64_t each; /* of every event */
};

static const struct left good = {"solve", PID, ENABLED_NS, 1000, 0, 2000000};

/* Every event of a pass counted `each` in the region. */
static void replay(struct rl_pmu *pmu, unsigned pass, enum region_scope scope,
                   const struct left *left, size_t n)
{
    struct region_plan plan;
    struct region_counted_file *made = calloc(1, sizeof *made);
    struct rl_pmu_region_file file = {made, sizeof *made, scope, pass};
    assert_non_null(made);
    assert_int_equal(rl_pmu_region_plan(pmu, pass, scope, &plan, NULL), RL_OK);
    made->times.head = (struct region_head){.magic = REGION_MAGIC,
                                            .version = REGION_VERSION,
                                            .pid = PID,
                                            .n_entry = (uint32_t)n,
                                            .n_slot = (uint32_t)n,
                                            .counting = REGION_COUNTING_ON,
                                            .n_event = plan.n_event};
    for (size_t i = 0; i < n; i++) {
        struct region_count *count = &made->count[i];
        strcpy(made->times.entry[i].name, left[i].name);
        made->times.slot[i] = (struct region_slot){.entry = (uint32_t)i, .tid = left[i].tid};
        *count = (struct region_count){.n_counted = 1,
                                       .n_missed = left[i].missed,
                                       .time_ns = 1000000000,
                                       .read_ns = left[i].read_ns,
                                       .enabled_ns = {ENABLED_NS},
                                       .running_ns = {left[i].running_ns}};
        for (uint32_t k = 0; k < plan.n_event; k++)
            count->value[k] = left[i].each;
    }
    assert_int_equal(rl_pmu_region_add(pmu, &file, NULL), RL_OK);
    free(made);
}

/* A profile as the engine leaves it: a region that did that many FLOP and moved 30 MB. */
static struct rl_profile profile_with(const char *name, double flop)
{
    struct rl_profile profile = {0};
    struct rl_kernel *kernel;
    struct rl_traffic *traffic;
    struct rl_op_count ops = {.precision = RL_FP64,
                              .op = RL_OP_ADD,
                              .isa = "avx2",
                              .count = rl_value(flop, RL_SOURCE_COUNTED, 0)};
    assert_int_equal(rl_profile_add(&profile, RL_KIND_REGION, name, &kernel, NULL), RL_OK);
    if (flop > 0) {
        assert_int_equal(rl_kernel_add_ops(kernel, &ops, NULL), RL_OK);
        assert_int_equal(rl_kernel_traffic(kernel, "L2", &traffic, NULL), RL_OK);
        traffic->bytes = rl_value(30e6, RL_SOURCE_SIMULATED, 0);
    }
    return profile;
}

static const struct counters_use all = {.flop = true, .bytes = true};
static const struct counters_use only = {.flop = true, .bytes = true, .is_only = true};

static struct rl_profile apply(struct rl_pmu *pmu, const char *name, double flop,
                               const struct counters_use *use, unsigned n_runs)
{
    struct rl_profile profile = profile_with(name, flop);
    assert_int_equal(region_counters_apply(pmu, n_runs, use, &profile, NULL), RL_OK);
    return profile;
}

/* All passes, each event 2e6: fp64 in 1, 2 and 4 lanes is 14e6, fp32 in 1, 4 and 8 lanes 26e6; L2
 * fills and write-backs of 64 bytes are 256e6. */
static void a_region_has_its_operations_and_traffic_as_measured(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    for (unsigned i = 0; i < rl_pmu_passes(pmu); i++)
        replay(pmu, i, REGION_SCOPE_PROCESS, &good, 1);
    struct rl_profile profile = apply(pmu, "solve", 0, &only, rl_pmu_passes(pmu));
    const struct rl_kernel *region = &profile.kernel[0];
    assert_true(region->flop.value == 40e6);
    assert_int_equal(region->flop.source, RL_SOURCE_MEASURED);
    const struct rl_traffic *l2 = rl_kernel_find_traffic(region, "L2");
    assert_true(l2->bytes.value == 256e6);
    assert_int_equal(l2->bytes.source, RL_SOURCE_MEASURED);
    assert_true(profile_has_note(&profile, "regions under hardware counters"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

/* 14e6 of the counters against what the engine says; measured traffic takes the place of the
 * simulated one. */
static void the_engine_and_the_counters_are_compared(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    for (unsigned i = 0; i < rl_pmu_passes(pmu); i++)
        replay(pmu, i, REGION_SCOPE_PROCESS, &good, 1);
    struct rl_profile profile = apply(pmu, "solve", 14.5e6, &all, 1);
    assert_true(rl_kernel_flop(&profile.kernel[0]).value == 14.5e6);
    assert_false(profile_has_note(&profile, "fp64 FLOP of region solve disagree"));
    assert_true(profile_has_note(&profile, "L2 bytes of region solve disagree: 3e+07 simulated, "
                                           "2.56e+08 by hardware counters, 88 % apart"));
    assert_true(rl_kernel_find_traffic(&profile.kernel[0], "L2")->bytes.value == 256e6);
    rl_profile_release(&profile);
    profile = apply(pmu, "solve", 13e6, &all, 1);
    assert_true(profile_has_note(&profile, "fp64 FLOP of region solve disagree: 1.3e+07 counted by "
                                           "the engine, 1.4e+07 by hardware counters, 7 % apart"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void expect_refusal(const struct left *left, const char *why)
{
    struct rl_pmu *pmu = pmu_stand_in_believed();
    for (unsigned i = 0; i < rl_pmu_passes(pmu); i++)
        replay(pmu, i, REGION_SCOPE_PROCESS, left, 1);
    struct rl_profile profile = apply(pmu, left->name, 0, &only, 1);
    const struct rl_kernel *region = &profile.kernel[0];
    assert_false(rl_known(rl_kernel_flop(region)));
    const char *said = why_missing(&region->missing, "flop");
    if (!said || !strstr(said, why))
        fail_msg("%s", said ? said : "nothing");
    for (size_t i = 0; i < region->n_traffic; i++)
        assert_false(rl_known(region->traffic[i].bytes));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void what_is_not_to_be_used_has_a_reason_and_no_value(void **state)
{
    (void)state;
    struct left left = good;
    left.running_ns = ENABLED_NS / 4 * 3;
    expect_refusal(&left, "75.0 % of the time");
    left.running_ns = 0;
    expect_refusal(&left, "never got a counter");
    left = good;
    left.read_ns = 100000000; /* of a call of 1 s, which is so long without it: 11 % */
    expect_refusal(&left, "too short for them: reading them takes 1e+05 us of a call of 1e+06 us");
    left = good;
    left.missed = 1;
    expect_refusal(&left, "returned less than the counters asked for");
    left = good;
    left.tid = PID + 1;
    expect_refusal(&left, "threads beside the first opened the region");
}

static void lost_time_is_told_even_where_the_engine_counted(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct left left = good;
    left.running_ns = ENABLED_NS / 2;
    replay(pmu, 0, REGION_SCOPE_PROCESS, &left, 1);
    struct rl_profile profile = apply(pmu, "solve", 1e6, &all, 1);
    assert_true(rl_kernel_flop(&profile.kernel[0]).value == 1e6);
    assert_true(rl_kernel_find_traffic(&profile.kernel[0], "L2")->bytes.value == 30e6);
    assert_true(profile_has_note(&profile, "the events of region solve had their counters for 50.0 "
                                           "% of its time"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void threads_and_runs_add_up_to_what_each_has(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct left both[2] = {good, good};
    both[1].tid = PID + 1;
    for (unsigned i = 0; i < rl_pmu_passes(pmu); i++) {
        replay(pmu, i, REGION_SCOPE_PROCESS, both, 2);
        replay(pmu, i, REGION_SCOPE_THREAD, both, 2);
    }
    struct rl_profile profile = apply(pmu, "solve", 0, &only, 2);
    assert_true(profile.kernel[0].flop.value == 80e6);
    assert_true(profile_has_note(&profile, "these threads' own work"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void a_region_that_was_not_entered_or_not_run_says_so(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    replay(pmu, 0, REGION_SCOPE_PROCESS, &good, 1);
    struct rl_profile profile = apply(pmu, "other", 0, &only, 1);
    assert_non_null(strstr(why_missing(&profile.kernel[0].missing, "flop"), "did not enter it"));
    rl_profile_release(&profile);
    profile = apply(pmu, "solve", 0, &only, 0);
    assert_non_null(strstr(why_missing(&profile.kernel[0].missing, "bytes"), "runs of their own"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

static void a_library_of_another_version_is_named(void **state)
{
    (void)state;
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct region_head head = {.magic = REGION_MAGIC, .version = 1};
    const struct rl_pmu_region_file file = {&head, sizeof head, REGION_SCOPE_PROCESS, 0};
    assert_int_equal(rl_pmu_region_add(pmu, &file, NULL), RL_OK);
    struct rl_profile profile = apply(pmu, "solve", 0, &only, 1);
    assert_true(profile_has_note(&profile, "1 process of the program had a roofline-region library "
                                           "of another version"));
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

/* Who opens regions decides whose work has to be counted. */
static void scopes_follow_the_threads_of_the_timed_run(void **state)
{
    (void)state;
    char a[] = "a", b[] = "b";
    struct rl_sample_process process = {.pid = PID};
    struct rl_sample_region region[3] = {
        {.name = a, .tid = PID}, {.name = b, .tid = PID}, {.name = b, .tid = PID + 1}};
    struct rl_samples samples = {
        .process = &process, .n_process = 1, .region = region, .n_region = 1};
    assert_true(region_scopes_of(&samples).process);
    assert_false(region_scopes_of(&samples).thread);
    samples.n_region = 3;
    assert_true(region_scopes_of(&samples).process);
    assert_true(region_scopes_of(&samples).thread);
    samples.region = region + 1;
    samples.n_region = 2;
    assert_false(region_scopes_of(&samples).process);
    assert_true(region_scopes_of(&samples).thread);
}

/* In a real program the events of a Skylake are refused here, or count something: either way the
 * region has a value or a reason, and the program's own run is apart. */
static void a_program_is_run_once_more_for_its_regions(void **state)
{
    (void)state;
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    static const char *const argv[] = {BINARY_DIR "/tests/programs/regions", NULL};
    struct rl_pmu *pmu = pmu_stand_in_believed();
    struct rl_profile profile = {0};
    struct rl_profile_options options = {
        .count = RL_COUNT_PMU, .sampling = RL_SAMPLE_NONE, .counters = pmu, .regions = true};
    assert_int_equal(rl_profile_run(argv, env, &options, &profile, NULL), RL_OK);
    const struct rl_pmu_regions *first = rl_pmu_regions_counted(pmu, REGION_SCOPE_PROCESS);
    const struct rl_pmu_regions *own = rl_pmu_regions_counted(pmu, REGION_SCOPE_THREAD);
    assert_non_null(rl_pmu_regions_find(first, "outer"));
    assert_non_null(rl_pmu_regions_find(own, "threads"));
    assert_int_equal(rl_pmu_regions_find(first, "threads")->why, RL_PMU_OTHER_THREADS);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, rl_pmu_passes(pmu));
    for (size_t i = 0; i < profile.n_kernel; i++) {
        const struct rl_kernel *k = &profile.kernel[i];
        if (k->kind == RL_KIND_REGION && !rl_known(rl_kernel_flop(k)))
            assert_non_null(why_missing(&k->missing, "flop"));
    }
    rl_profile_release(&profile);
    rl_pmu_free(pmu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_has_its_operations_and_traffic_as_measured),
        cmocka_unit_test(the_engine_and_the_counters_are_compared),
        cmocka_unit_test(what_is_not_to_be_used_has_a_reason_and_no_value),
        cmocka_unit_test(lost_time_is_told_even_where_the_engine_counted),
        cmocka_unit_test(threads_and_runs_add_up_to_what_each_has),
        cmocka_unit_test(a_region_that_was_not_entered_or_not_run_says_so),
        cmocka_unit_test(a_library_of_another_version_is_named),
        cmocka_unit_test(scopes_follow_the_threads_of_the_timed_run),
        cmocka_unit_test(a_program_is_run_once_more_for_its_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
