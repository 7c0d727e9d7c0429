/* When a program is said to run for a fixed time. */
#include "profile/agree.h"

#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_takes_no_longer_and_sets_a_timer_is_doubted),
        cmocka_unit_test(one_that_keeps_looking_at_the_clock_must_take_just_as_long),
        cmocka_unit_test(one_that_sleeps_or_is_soon_over_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
