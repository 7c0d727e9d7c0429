/* When the timed run is said to have executed other code than the counted run. */
#include "profile/agree_code.h"

#include <string.h>

#include "../support/cmocka_all.h"

/* Two functions of one file, of which the counted run executed [0x100, 0x140) and [0x200, 0x280).
 */
struct world {
    struct rl_tally_module counted[1];
    struct rl_tally_code code[2];
    struct rl_tally_unit unit[2];
    struct rl_tally tally;
    struct rl_sample_module sampled[1];
    struct rl_sample_bucket bucket[2];
    struct rl_samples timed;
};

/* One second, a thousand samples: `first` of them at 0x110, the rest at `offset`. */
static void make(struct world *w, unsigned first, uint64_t offset)
{
    *w = (struct world){
        .counted = {{.path = (char *)"/bin/app"}},
        .code = {{.begin = 0x100, .end = 0x140}, {.begin = 0x200, .end = 0x280}},
        .unit = {{.begin = 0x100,
                  .end = 0x180,
                  .instructions = 6e9,
                  .kernel = {.name = (char *)"busy"}},
                 {.function = 1,
                  .begin = 0x200,
                  .end = 0x280,
                  .instructions = 2e9,
                  .kernel = {.name = (char *)"quiet"}}},
        .sampled = {{.path = (char *)"/bin/app"}},
        .bucket = {{.offset = 0x110, .cpu_s = first * 1e-3, .n_samples = first},
                   {.offset = offset, .cpu_s = (1000 - first) * 1e-3, .n_samples = 1000 - first}},
    };
    w->tally = (struct rl_tally){.module = w->counted,
                                 .n_module = 1,
                                 .unit = w->unit,
                                 .n_unit = 2,
                                 .n_function = 2,
                                 .code = w->code,
                                 .n_code = 2};
    w->timed = (struct rl_samples){.method = RL_SAMPLE_PERF,
                                   .module = w->sampled,
                                   .n_module = 1,
                                   .bucket = w->bucket,
                                   .n_bucket = first == 1000 ? 1 : 2,
                                   .rate_hz = 1000,
                                   .sampled_s = 1,
                                   .user_s = 1,
                                   .n_thread = 1,
                                   .n_process = 1};
}

/* Does the profile say so, and with these words? */
static bool says(struct world *w, double counted_s, const char *words)
{
    struct rl_profile profile = {0};
    struct agree_ours ours = {"/lib/engine.so", "/lib/sample.so", NULL};
    assert_int_equal(agree_check_code(&w->timed, &w->tally, counted_s, ours, &profile, NULL),
                     RL_OK);
    bool is_it = profile.n_note == 1 && strstr(profile.note[0], words);
    assert_true(is_it || !profile.n_note);
    rl_profile_release(&profile);
    return is_it;
}

static void samples_where_nothing_was_counted_are_told(void **state)
{
    (void)state;
    struct world w;
    make(&w, 900, 0x150); /* a tenth of the time in a part of `busy` that never ran */
    assert_true(says(&w, 2, "10 % of the first run's time"));
    assert_true(says(&w, 2, "executed, in app")); /* a file without symbols */
    make(&w, 900, 0x900);                         /* … and in no function that is known */
    assert_true(says(&w, 2, "10 % of the first run's time"));
    make(&w, 900, 0x27f);
    assert_false(says(&w, 2, ""));
}

static void few_samples_and_those_of_others_are_not(void **state)
{
    (void)state;
    struct world w;
    make(&w, 960, 0x150); /* 4 % */
    w.unit[0].instructions = w.unit[1].instructions = 0;
    assert_false(says(&w, 2, ""));
    const char *const others[] = {"/lib64/ld-linux-x86-64.so.2", "/elsewhere/engine.so"};
    for (size_t i = 0; i < 2; i++) {
        make(&w, 900, 0x150);
        w.unit[0].instructions = w.unit[1].instructions = 0;
        w.sampled[0].path = (char *)others[i];
        assert_false(says(&w, 2, "never executed"));
    }
    make(&w, 900, 0x150);
    w.unit[0].instructions = w.unit[1].instructions = 0;
    w.sampled[0].kind = RL_SAMPLE_JIT;
    assert_false(says(&w, 2, "never executed"));
}

/* The region library runs in the timed run only; a file that moved is not found again. */
static void what_cannot_be_matched_is_not_told(void **state)
{
    (void)state;
    struct world w;
    make(&w, 900, 0x150);
    w.unit[0].instructions = w.unit[1].instructions = 0;
    w.timed.n_region = 1;
    assert_false(says(&w, 2, ""));
    w.timed.n_region = 0;
    assert_true(says(&w, 2, "10 % of the first run's time"));
    w.sampled[0].path = (char *)"/tmp/unpacked-17/app";
    assert_false(says(&w, 2, ""));
}

static void timers_may_not_have_seen_a_function(void **state)
{
    (void)state;
    struct world w;
    make(&w, 1000, 0);
    w.timed.method = RL_SAMPLE_TIMER;
    assert_false(says(&w, 2, ""));
}

static void instructions_that_take_time_and_were_not_seen_are_told(void **state)
{
    (void)state;
    struct world w;
    make(&w, 1000, 0); /* 2e9 instructions take 2e9 / 48e9 = 0.042 s at least: 42 samples */
    assert_true(says(&w, 2, "2e+09 instructions in quiet, 25 % of all"));
    w.unit[1].instructions = 3.5e8; /* 7.3 samples */
    assert_false(says(&w, 2, ""));
    make(&w, 1000, 0);
    w.timed.n_thread = 2; /* then it may have waited, … */
    assert_false(says(&w, 2, ""));
    w.unit[1].kernel.flop = rl_value(1e9, RL_SOURCE_COUNTED, 0); /* … unless it computes */
    assert_true(says(&w, 2, "quiet"));
}

static void less_time_than_the_timed_run_had_is_told(void **state)
{
    (void)state;
    struct world w;
    make(&w, 900, 0x210);
    assert_true(says(&w, 0.5, "1 s on processors in the first run and 0.5 s in the counted run"));
    assert_false(says(&w, 0.7, ""));
    assert_false(says(&w, 0, "")); /* it is not known */
    w.timed.user_s = 0.2;
    assert_false(says(&w, 0.1, "")); /* too short to say */
}

static void counts_that_are_not_whole_are_not_compared(void **state)
{
    (void)state;
    struct world w;
    make(&w, 900, 0x150);
    w.tally.is_cut = true;
    assert_false(says(&w, 0.1, ""));
    make(&w, 900, 0x150);
    w.tally.any_child_uncounted = true;
    assert_false(says(&w, 0.1, ""));
    make(&w, 900, 0x150);
    w.tally.uncounted_share = 0.05;
    assert_false(says(&w, 0.1, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_where_nothing_was_counted_are_told),
        cmocka_unit_test(few_samples_and_those_of_others_are_not),
        cmocka_unit_test(what_cannot_be_matched_is_not_told),
        cmocka_unit_test(timers_may_not_have_seen_a_function),
        cmocka_unit_test(instructions_that_take_time_and_were_not_seen_are_told),
        cmocka_unit_test(less_time_than_the_timed_run_had_is_told),
        cmocka_unit_test(counts_that_are_not_whole_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
