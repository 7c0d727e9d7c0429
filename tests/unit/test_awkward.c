/* Programs that do with signals, waits and threads what samples taken inside them could spoil. */
#include "sample/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#define AWKWARD BINARY_DIR "/tests/programs/awkward"
#define PRELOAD BINARY_DIR "/src/sample/librooflinesample.so"

extern char **environ;

static struct rl_samples sample(const char *const *argv, enum rl_sample_method method)
{
    struct rl_samples samples = {0};
    struct rl_error err = {0};
    struct rl_sample_options how = {.method = method, .preload = PRELOAD};
    if (rl_sample_run(argv, (const char *const *)environ, &how, &samples, &err) != RL_OK)
        fail_msg("%s", err.text);
    return samples;
}

static void skip_without(enum rl_sample_method method)
{
    struct rl_error err = {0};
    if (rl_sample_probe(method, PRELOAD, &err) != RL_OK) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
}

static const enum rl_sample_method methods[] = {RL_SAMPLE_PERF, RL_SAMPLE_TIMER};

static enum rl_sample_method method_of(void **state)
{
    return *(const enum rl_sample_method *)*state;
}

static struct rl_samples sample_awkward(const char *how, enum rl_sample_method method)
{
    const char *argv[] = {AWKWARD, how, NULL};
    struct rl_samples s = sample(argv, method);
    if (s.wait_status)
        fail_msg("%s: status %#x", how, (unsigned)s.wait_status);
    return s;
}

static void signals_and_waits_are_as_without_samples(void **state)
{
    static const char *const how[] = {"reset",   "sigwait", "wait",  "signalfd", "pause",
                                      "suspend", "ppoll",   "timed", "socket",   "c11"};
    skip_without(method_of(state));
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct rl_samples s = sample_awkward(how[i], method_of(state));
        rl_samples_release(&s);
    }
}

/* Four of five parts of its work come after the jumps. */
static void a_thread_that_jumps_out_of_waits_is_sampled_on(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_TIMER);
    struct rl_samples s = sample_awkward("jump", RL_SAMPLE_TIMER);
    assert_true(s.sampled_s > 0.5 * (s.user_s + s.system_s));
    rl_samples_release(&s);
}

static void threads_of_c11_are_sampled(void **state)
{
    skip_without(method_of(state));
    struct rl_samples s = sample_awkward("c11", method_of(state));
    double second_s = 0;
    for (size_t i = 0; i < s.n_thread; i++)
        second_s += s.thread[i].tid != s.process[0].pid ? s.thread[i].cpu_s : 0;
    assert_true(second_s > 0);
    rl_samples_release(&s);
}

static void a_thread_without_a_timer_is_told_of(void **state)
{
    bool said = false;
    (void)state;
    skip_without(RL_SAMPLE_TIMER);
    struct rl_samples s = sample_awkward("no-timers", RL_SAMPLE_TIMER);
    for (size_t i = 0; i < s.n_note; i++)
        said |=
            strstr(s.note[i], "1 thread could not be sampled: the system refused a timer") != NULL;
    assert_true(said);
    rl_samples_release(&s);
}

#define BOTH(test)                                                                                 \
    {#test " (perf)", test, NULL, NULL, (void *)&methods[0]},                                      \
    {                                                                                              \
#test " (timer)", test, NULL, NULL, (void *)&methods[1]                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(signals_and_waits_are_as_without_samples),
        cmocka_unit_test(a_thread_that_jumps_out_of_waits_is_sampled_on),
        BOTH(threads_of_c11_are_sampled),
        cmocka_unit_test(a_thread_without_a_timer_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
