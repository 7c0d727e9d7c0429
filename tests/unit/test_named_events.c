/* Events that users name: encoded by libpfm4, counted for a program by the real call with the
 * kernel's own events; a stand-in for the kernel gives the odd readings. */
#include "../support/cmocka_all.h"

#include "base/child.h"
#include "count/perf_event/named.h"
#include "count/perf_event/pfm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char faults[] = "perf::PAGE-FAULTS";

static void need_library(void)
{
    struct rl_error err = {0};
    if (rl_pfm_probe(&err) != RL_OK) {
        assert_non_null(strstr(err.text, "to enable: sudo apt-get install libpfm4"));
        print_message("%s\n", err.text);
        skip();
    }
}

static struct rl_named_events *events_of(const char *name, const struct rl_pmu_calls *calls)
{
    struct rl_named_events *events;
    struct rl_error err = {0};
    if (rl_named_events_new(&name, 1, NULL, calls, &events, &err) != RL_OK) {
        print_message("%s\n", err.text);
        skip();
    }
    return events;
}

static struct rl_named_event run(struct rl_named_events *events)
{
    static const char *const argv[] = {"sh", "-c", "true; sh -c true", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct rl_child child;
    struct rl_child_end end;
    bool ended = false;
    size_t n;
    assert_int_equal(rl_child_start(argv, env, true, &child, NULL), RL_OK);
    assert_int_equal(rl_named_events_start(events, child.pid, NULL), RL_OK);
    assert_int_equal(rl_child_release(&child, NULL), RL_OK);
    while (!ended)
        assert_int_equal(rl_child_wait(&child, NULL, 0, 1000, &ended, NULL, NULL), RL_OK);
    assert_int_equal(rl_child_finish(&child, &end, NULL), RL_OK);
    rl_named_events_stop(events);
    struct rl_named_event event = rl_named_events_list(events, &n)[0];
    assert_int_equal(n, 1);
    return event;
}

static void an_event_of_the_kernel_is_counted_for_the_program(void **state)
{
    (void)state;
    need_library();
    struct rl_named_events *events = events_of(faults, NULL);
    struct rl_named_event event = run(events);
    assert_string_equal(event.name, faults);
    assert_int_equal(event.why, RL_PMU_FINE);
    assert_in_range(event.value, 20, 1000000); /* two programs are loaded */
    rl_named_events_free(events);
}

static void an_unknown_name_is_refused_with_near_ones(void **state)
{
    (void)state;
    static const char *const wrong[] = {"perf::PAGE-FAULT", "perf::PAGEFALTS"};
    struct rl_named_events *events = NULL;
    struct rl_error err = {0};
    need_library();
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rl_named_events_new(&wrong[i], 1, NULL, NULL, &events, &err), RL_EINVAL);
        assert_non_null(strstr(err.text, wrong[i]));
        assert_non_null(strstr(err.text, "PAGE-FAULTS"));
    }
    const char *far = "zzzzzzzzzzzz";
    assert_int_equal(rl_named_events_new(&far, 1, NULL, NULL, &events, &err), RL_EINVAL);
    assert_null(strstr(err.text, "near it"));
    assert_null(events);
}

/* ---- a stand-in for the kernel ---- */

static struct {
    uint64_t enabled, running;
    int error;  /* of open */
    short size; /* of read */
    struct perf_event_attr attr;
} fake;

static int fake_open(void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
    (void)context, (void)pid, (void)cpu, (void)group_fd;
    fake.attr = *attr;
    errno = fake.error;
    return fake.error ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    const uint64_t out[] = {42, fake.enabled, fake.running};
    (void)context, (void)fd, (void)size;
    memcpy(buffer, out, sizeof out);
    return fake.size;
}

static const struct rl_pmu_calls calls = {.open = fake_open, .read = fake_read};

static void a_count_of_part_of_the_time_is_no_count(void **state)
{
    (void)state;
    const struct {
        uint64_t enabled, running;
        short size;
        enum rl_pmu_why why;
    } readings[] = {{1000, 1000, 24, RL_PMU_FINE},
                    {1000, 600, 24, RL_PMU_SHARED},
                    {1000, 0, 24, RL_PMU_NEVER_RAN},
                    {1000, 1000, 8, RL_PMU_SHORT_READ}};
    need_library();
    for (size_t i = 0; i < 4; i++) {
        memset(&fake, 0, sizeof fake);
        fake.enabled = readings[i].enabled;
        fake.running = readings[i].running;
        fake.size = readings[i].size;
        struct rl_named_events *events = events_of(faults, &calls);
        struct rl_named_event event = run(events);
        assert_int_equal(event.why, readings[i].why);
        assert_int_equal(event.value, event.why == RL_PMU_FINE ? 42 : 0);
        assert_true(fake.attr.inherit && fake.attr.enable_on_exec && fake.attr.exclude_kernel);
        rl_named_events_free(events);
    }
}

static void what_the_kernel_refuses_is_said_at_once(void **state)
{
    (void)state;
    struct rl_named_events *events = NULL;
    struct rl_error err = {0};
    const char *name = faults;
    need_library();
    memset(&fake, 0, sizeof fake);
    fake.error = ENOENT;
    assert_int_equal(rl_named_events_new(&name, 1, NULL, &calls, &events, &err), RL_EUNAVAIL);
    assert_int_equal(strncmp(err.text, faults, strlen(faults)), 0);
    fake.error = 0;
    name = "";
    assert_int_equal(rl_named_events_new(&name, 1, NULL, &calls, &events, &err), RL_EINVAL);
    assert_null(events);
}

/* libpfm4 encodes events of processors that are not here only if it is told to. */
static void events_of_a_core_that_this_is_not_are_refused(void **state)
{
    (void)state;
    const char *name = "skl::INST_RETIRED:ANY_P";
    struct rl_cpu cpu = {.vendor = "GenuineIntel", .family = 6, .model = 0xa7};
    struct rl_named_events *events = NULL;
    struct rl_error err = {0};
    need_library();
    memset(&fake, 0, sizeof fake);
    if (rl_named_events_new(&name, 1, &cpu, &calls, &events, &err) != RL_OK) {
        print_message("%s\n", err.text);
        skip();
    }
    rl_named_events_free(events);
    events = NULL;
    cpu.features = rl_feature_find("amx_tile", 8);
    assert_int_equal(rl_named_events_new(&name, 1, &cpu, &calls, &events, &err), RL_EUNAVAIL);
    assert_non_null(strstr(err.text, "not the core that CPUID names"));
    assert_null(events);
    name = faults; /* what the kernel counts by itself means the same anywhere */
    assert_int_equal(rl_named_events_new(&name, 1, &cpu, &calls, &events, &err), RL_OK);
    rl_named_events_free(events);
}

int main(void)
{
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_of_the_kernel_is_counted_for_the_program),
        cmocka_unit_test(an_unknown_name_is_refused_with_near_ones),
        cmocka_unit_test(a_count_of_part_of_the_time_is_no_count),
        cmocka_unit_test(what_the_kernel_refuses_is_said_at_once),
        cmocka_unit_test(events_of_a_core_that_this_is_not_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
