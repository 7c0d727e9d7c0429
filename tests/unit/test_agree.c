/* When runs of a program are said to differ, or to last a fixed time. */
#include "profile/agree.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../support/cmocka_all.h"

/* Does the profile say that rates are not known? */
static bool is_doubted(double native_s, double cpu_s, double counted_s, const char *function,
                       double calls)
{
    struct rl_tally_unit unit = {
        .kernel = {.name = (char *)function, .calls = rl_value(calls, RL_SOURCE_COUNTED, 0)}};
    struct rl_tally tally = {.unit = &unit, .n_unit = 1, .n_function = 1};
    struct rl_samples timed = {.elapsed_s = native_s, .user_s = cpu_s};
    struct rl_profile profile = {0};
    assert_int_equal(agree_check_duration(&timed, counted_s, &tally, &profile, NULL), RL_OK);
    bool is_it = profile.missing.n == 1 && !strcmp(profile.missing.item[0].what, "rate");
    assert_true(is_it || !profile.missing.n);
    rl_profile_release(&profile);
    return is_it;
}

static void a_program_that_takes_no_longer_and_sets_a_timer_is_doubted(void **state)
{
    (void)state;
    assert_true(is_doubted(3, 3, 3.2, "alarm", 1));
    assert_true(is_doubted(3, 3, 3.0, "__GI___timer_settime", 1));
    assert_false(is_doubted(3, 3, 3.7, "alarm", 1));
    assert_false(is_doubted(3, 3, 3.0, "solve", 1));
    assert_false(is_doubted(3, 3, 3.0, "alarm", 0));
}

static void one_that_keeps_looking_at_the_clock_must_take_just_as_long(void **state)
{
    (void)state;
    assert_true(is_doubted(3, 3, 3.01, "__vdso_clock_gettime", 1e5));
    assert_false(is_doubted(3, 3, 3.2, "__vdso_clock_gettime", 1e5));
    assert_false(is_doubted(3, 3, 3.01, "__vdso_clock_gettime", 20));
}

static void one_that_sleeps_or_is_soon_over_is_not(void **state)
{
    (void)state;
    assert_false(is_doubted(3, 0.1, 3.0, "alarm", 1));
    assert_false(is_doubted(0.2, 0.2, 0.2, "alarm", 1));
}

/* Does the profile say that a region was entered a different number of times? */
static bool differs(uint64_t timed_calls, uint64_t unended, double counted_calls)
{
    char name[] = "solve", other[] = "elsewhere";
    struct rl_sample_region region[2] = {{.name = name, .calls = timed_calls - 1},
                                         {.name = name, .calls = 1, .unended = unended}};
    struct rl_samples timed = {.region = region, .n_region = 2};
    struct rl_tally_region counted[2] = {
        {.name = name, .kernel = {.calls = rl_value(counted_calls, RL_SOURCE_COUNTED, 0)}},
        {.name = other, .kernel = {.calls = rl_value(7, RL_SOURCE_COUNTED, 0)}}};
    struct rl_tally tally = {.region = counted, .n_region = 2};
    struct rl_profile profile = {0};
    assert_int_equal(agree_check_regions(&timed, &tally, &profile, NULL), RL_OK);
    bool is_it = profile.n_note == 1 && strstr(profile.note[0], "region solve 300 times");
    assert_true(is_it || !profile.n_note);
    rl_profile_release(&profile);
    return is_it;
}

static void regions_must_be_entered_as_often_in_both_runs(void **state)
{
    (void)state;
    assert_true(differs(300, 0, 100));
    assert_true(differs(300, 0, 310));
    assert_true(differs(299, 1, 290));
    assert_false(differs(300, 0, 300));
    assert_false(differs(300, 0, 305)); /* 1.6 % */
    assert_false(differs(300, 0, 0));   /* nothing is known of it */
}

static void a_pipe_is_spent_when_it_is_empty_and_nobody_writes(void **state)
{
    (void)state;
    int end[2];
    char c;
    assert_int_equal(pipe(end), 0);
    assert_false(agree_input_is_spent(end[0]));
    assert_int_equal(write(end[1], "x", 1), 1);
    assert_false(agree_input_is_spent(end[0]));
    close(end[1]);
    assert_false(agree_input_is_spent(end[0]));
    assert_int_equal(read(end[0], &c, 1), 1);
    assert_true(agree_input_is_spent(end[0]));
    close(end[0]);
    int file = open("/dev/null", O_RDONLY);
    assert_false(agree_input_is_spent(file));
    close(file);
    assert_false(agree_input_is_spent(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_takes_no_longer_and_sets_a_timer_is_doubted),
        cmocka_unit_test(one_that_keeps_looking_at_the_clock_must_take_just_as_long),
        cmocka_unit_test(one_that_sleeps_or_is_soon_over_is_not),
        cmocka_unit_test(regions_must_be_entered_as_often_in_both_runs),
        cmocka_unit_test(a_pipe_is_spent_when_it_is_empty_and_nobody_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
