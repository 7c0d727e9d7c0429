/* Groups are opened and read by the real system call, with software events, which need no
 * hardware: layout, times, start at exec, threads and children. */
#include "../support/cmocka_all.h"

#include "base/child.h"
#include "count/perf_event/counter.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct rl_pmu_event row[3] = {
    {.pmu = "core", .has_config = true, .config = PERF_COUNT_SW_TASK_CLOCK, .weight = 1},
    {.pmu = "core", .has_config = true, .config = PERF_COUNT_SW_PAGE_FAULTS, .weight = 1},
    {.pmu = "core", .has_config = true, .config = 0x7fff, .weight = 1},
};

static const struct rl_pmu_slot slot[3] = {
    {.event = &row[0], .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .cpu = -1},
    {.event = &row[1], .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .cpu = -1},
    {.event = &row[2], .type = PERF_TYPE_SOFTWARE, .config = 0x7fff, .cpu = -1},
};

static const struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};

static struct rl_pmu_counter *open_on(pid_t pid, size_t n)
{
    struct rl_pmu_counter *counter;
    struct rl_pmu_target target = {.pid = pid, .on_exec = pid != 0};
    assert_int_equal(
        rl_pmu_counter_open(&rl_pmu_system_calls, &host, slot, n, &target, &counter, NULL), RL_OK);
    return counter;
}

static struct rl_pmu_reading read_of(struct rl_pmu_counter *counter)
{
    struct rl_pmu_reading reading;
    assert_int_equal(rl_pmu_counter_read(counter, &reading, NULL), RL_OK);
    assert_int_equal(reading.n_group, 1);
    return reading;
}

/* perf_event_open may be refused here: then there is nothing to test. */
static void need_perf(void)
{
    struct rl_pmu_counter *counter = open_on(0, 2);
    struct rl_pmu_reading reading = read_of(counter);
    enum rl_pmu_why why = reading.group[0].why;
    rl_pmu_reading_release(&reading);
    rl_pmu_counter_close(counter);
    if (why != RL_PMU_FINE) {
        print_message("perf_event_open: %s\n", rl_pmu_why_name(why));
        skip();
    }
}

static void touch_pages(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, n * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < n; i++)
        ((volatile char *)memory)[i * page] = 1;
    munmap(memory, n * page);
}

static void the_calling_thread_is_counted_from_the_opening_on(void **state)
{
    (void)state;
    need_perf();
    touch_pages(500);
    struct rl_pmu_counter *counter = open_on(0, 2);
    touch_pages(200);
    struct rl_pmu_reading reading = read_of(counter);
    const struct rl_pmu_group *group = &reading.group[0];
    assert_int_equal(group->n_count, 2);
    assert_true(group->count[0].value > 0);
    assert_in_range(group->count[1].value, 200, 260);
    assert_true(group->enabled_ns > 0);
    assert_int_equal(group->enabled_ns, group->running_ns);
    rl_pmu_reading_release(&reading);
    rl_pmu_counter_close(counter);
}

static void an_event_the_kernel_does_not_know_leaves_the_others_alone(void **state)
{
    (void)state;
    need_perf();
    struct rl_pmu_counter *counter = open_on(0, 3);
    struct rl_pmu_reading reading = read_of(counter);
    assert_int_equal(reading.group[0].why, RL_PMU_FINE);
    assert_int_equal(reading.group[0].count[0].why, RL_PMU_FINE);
    assert_int_equal(reading.group[0].count[2].why, RL_PMU_NO_EVENT);
    assert_int_equal(reading.group[0].count[2].value, 0);
    rl_pmu_reading_release(&reading);
    rl_pmu_counter_close(counter);
}

/* Page faults of a shell and `n` children of it, from its exec on. */
static uint64_t faults_of_shell(unsigned n)
{
    static const char *const scripts[] = {
        ":", "/bin/true; :", "/bin/true; /bin/true; /bin/true; /bin/true; :"};
    const char *argv[] = {"/bin/sh", "-c", scripts[n], NULL};
    const char *envp[] = {"PATH=/bin:/usr/bin", NULL};
    struct rl_child child;
    struct rl_child_end end;
    bool ended = false;
    assert_int_equal(rl_child_start(argv, envp, true, &child, NULL), RL_OK);
    struct rl_pmu_counter *counter = open_on(child.pid, 2);
    struct rl_pmu_reading before = read_of(counter);
    assert_int_equal(before.group[0].enabled_ns, 0);
    assert_int_equal(before.group[0].count[1].value, 0);
    rl_pmu_reading_release(&before);
    assert_int_equal(rl_child_release(&child, NULL), RL_OK);
    while (!ended)
        assert_int_equal(rl_child_wait(&child, NULL, 0, 100, &ended, NULL, NULL), RL_OK);
    assert_int_equal(rl_child_finish(&child, &end, NULL), RL_OK);
    struct rl_pmu_reading after = read_of(counter);
    uint64_t faults = after.group[0].count[1].value;
    assert_int_equal(after.group[0].why, RL_PMU_FINE);
    assert_true(after.group[0].count[0].value > 0);
    assert_int_equal(after.group[0].enabled_ns, after.group[0].running_ns);
    rl_pmu_reading_release(&after);
    rl_pmu_counter_close(counter);
    return faults;
}

/* A process that does nothing but start takes some 50 faults and more. */
static void a_program_is_counted_from_its_exec_with_its_children(void **state)
{
    (void)state;
    need_perf();
    uint64_t none = faults_of_shell(0);
    uint64_t one = faults_of_shell(1);
    uint64_t four = faults_of_shell(2);
    assert_true(none > 20);
    assert_true(one > none + 20);
    assert_true(four > one + 60);
}

static void a_process_that_is_gone_is_named_as_such(void **state)
{
    (void)state;
    need_perf();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct rl_pmu_counter *counter = open_on(pid, 2);
    struct rl_pmu_reading reading = read_of(counter);
    assert_int_equal(reading.group[0].why, RL_PMU_GONE);
    rl_pmu_reading_release(&reading);
    rl_pmu_counter_close(counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calling_thread_is_counted_from_the_opening_on),
        cmocka_unit_test(an_event_the_kernel_does_not_know_leaves_the_others_alone),
        cmocka_unit_test(a_program_is_counted_from_its_exec_with_its_children),
        cmocka_unit_test(a_process_that_is_gone_is_named_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
