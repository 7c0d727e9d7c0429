/* Events counted in marked regions: the region library opens and reads them by the real system
 * calls, with software events, which need no hardware. Page faults are known exactly. */
#include "../support/cmocka_all.h"

#include "base/child.h"
#include "base/file.h"
#include "base/scratch.h"
#include "count/perf_event/counter.h"
#include "count/perf_event/regional.h"
#include "region/counting.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES BINARY_DIR "/tests/programs/pages"

static const struct rl_pmu_event row[2] = {
    {.pmu = "core", .has_config = true, .config = PERF_COUNT_SW_PAGE_FAULTS, .weight = 1},
    {.pmu = "core", .has_config = true, .config = PERF_COUNT_SW_TASK_CLOCK, .weight = 1},
};
static struct rl_pmu_slot slot[2] = {
    {.event = &row[0], .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .cpu = -1},
    {.event = &row[1], .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .cpu = -1},
};
static const struct rl_pmu_core core = {.name = "software"};
static struct rl_pmu_pass pass = {.slot = slot, .n_slot = 2};
static const struct rl_pmu_plan plan = {.core = {&core}, .n_core = 1, .pass = &pass, .n_pass = 1};
static const struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};

/* The errno of perf_event_open here; 0: it works. */
static int perf_refusal(void)
{
    struct region_plan wire;
    uint16_t error[REGION_EVENT_MAX];
    assert_int_equal(rl_pmu_regions_encode(&pass, REGION_SCOPE_THREAD, &wire, NULL), RL_OK);
    struct region_counters *c = region_counters_open(&wire, &region_system_calls, error);
    int refusal = c ? 0 : error[0];
    region_counters_close(c);
    return refusal;
}

/* Where it is refused there is nothing to test. */
static void need_perf(void)
{
    int error = perf_refusal();
    if (error) {
        print_message("perf_event_open: %s\n", strerror(error));
        skip();
    }
}

static void add_files(const char *folder, enum region_scope scope, struct rl_pmu_regions *ret)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        struct rl_pmu_region_file file = {.scope = scope};
        char *data;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, REGION_FILE_PREFIX, strlen(REGION_FILE_PREFIX)) != 0)
            continue;
        assert_int_equal(rl_file_read(path, 1 << 24, &data, &file.n, NULL), RL_OK);
        file.data = data;
        assert_int_equal(rl_pmu_regions_add(&file, &plan, &host, ret, NULL), RL_OK);
        free(data);
    }
    closedir(dir);
    rl_pmu_regions_judge(ret);
}

/* Run the program that touches pages under a plan. */
static struct rl_pmu_regions run_under(const void *wire, size_t size, enum region_scope scope,
                                       const char *argument)
{
    struct rl_scratch scratch = {0};
    struct rl_pmu_regions regions = {0};
    struct rl_child child;
    struct rl_child_end end = {0};
    char variable[512], path[512];
    bool ended = false;
    const char *argv[] = {PAGES, argument, NULL};
    const char *envp[] = {variable, NULL};
    assert_int_equal(rl_scratch_make(NULL, &scratch, NULL), RL_OK);
    snprintf(variable, sizeof variable, REGION_DIR_VARIABLE "=%s", scratch.path);
    snprintf(path, sizeof path, "%s/" REGION_PLAN_FILE, scratch.path);
    assert_int_equal(rl_file_write(path, wire, size, NULL), RL_OK);
    assert_int_equal(rl_child_start(argv, envp, true, &child, NULL), RL_OK);
    assert_int_equal(rl_child_release(&child, NULL), RL_OK);
    while (!ended)
        assert_int_equal(rl_child_wait(&child, NULL, 0, 100, &ended, NULL, NULL), RL_OK);
    assert_int_equal(rl_child_finish(&child, &end, NULL), RL_OK);
    assert_int_equal(end.wait_status, 0);
    add_files(scratch.path, scope, &regions);
    rl_scratch_remove(&scratch);
    return regions;
}

static struct rl_pmu_regions run(enum region_scope scope, const char *argument)
{
    struct region_plan wire;
    assert_int_equal(rl_pmu_regions_encode(&pass, scope, &wire, NULL), RL_OK);
    return run_under(&wire, sizeof wire, scope, argument);
}

static const struct rl_pmu_region *find(const struct rl_pmu_regions *regions, const char *name)
{
    const struct rl_pmu_region *region = rl_pmu_regions_find(regions, name);
    if (!region)
        fail_msg("no region %s", name);
    return region;
}

static uint64_t faults(const struct rl_pmu_regions *regions, const char *name)
{
    const struct rl_pmu_region *region = find(regions, name);
    assert_int_equal(region->readings.n_reading, 1);
    assert_int_equal(region->readings.reading[0].n_group, 1);
    const struct rl_pmu_group *group = &region->readings.reading[0].group[0];
    assert_int_equal(group->n_count, 2);
    assert_int_equal(group->count[0].why, RL_PMU_FINE);
    return group->count[0].value;
}

/* The program once under each scope; empty where perf_event_open is refused. */
static struct rl_pmu_regions own, all;

static int run_both(void **state)
{
    (void)state;
    if (perf_refusal())
        return 0;
    own = run(REGION_SCOPE_THREAD, NULL);
    all = run(REGION_SCOPE_PROCESS, NULL);
    return 0;
}

static void each_regions_events_are_its_own_to_the_last_one(void **state)
{
    (void)state;
    need_perf();
    assert_int_equal(faults(&own, "exact"), 1000);
    assert_int_equal(faults(&own, "inner"), 50);
    assert_int_equal(faults(&own, "outer"), 150);
    assert_int_equal(faults(&own, "recursive"), 30);
    assert_int_equal(faults(&own, "first"), 40);
    assert_int_equal(faults(&own, "second"), 40);
    assert_int_equal(faults(&own, "many"), 5000);
    assert_int_equal(find(&own, "many")->n_counted, 5000);
    assert_int_equal(find(&own, "recursive")->n_counted, 2);
}

static void threads_that_open_a_region_add_up_and_children_have_their_own(void **state)
{
    (void)state;
    need_perf();
    assert_int_equal(faults(&own, "threads"), 400);
    assert_int_equal(find(&own, "threads")->n_thread, 2);
    assert_int_equal(faults(&own, "child"), 70);
}

/* Of 300 pages that another thread touched, none is the first thread's. */
static void a_threads_own_events_leave_its_helpers_out(void **state)
{
    (void)state;
    need_perf();
    assert_int_equal(faults(&own, "pooled"), 0);
    assert_in_range(faults(&own, "inside"), 0, 100);
}

/* What a thread needs to start faults some pages as well. */
static void the_process_counts_with_its_first_thread_whoever_works(void **state)
{
    enum { OTHERS = 10 }; /* pages that threads fault by living, whenever they come to it */
    (void)state;
    need_perf();
    assert_in_range(faults(&all, "exact"), 1000, 1000 + OTHERS);
    assert_in_range(faults(&all, "outer"), 150, 150 + OTHERS);
    assert_in_range(faults(&all, "many"), 5000, 5000 + OTHERS);
    assert_in_range(faults(&all, "pooled"), 300, 300 + OTHERS);
    assert_in_range(faults(&all, "inside"), 800, 900);
    assert_int_equal(find(&all, "exact")->why, RL_PMU_FINE);
    assert_int_equal(find(&all, "threads")->why, RL_PMU_OTHER_THREADS);
}

static void software_events_have_their_counters_all_of_the_time(void **state)
{
    (void)state;
    need_perf();
    for (size_t i = 0; i < own.n_region; i++) {
        const struct rl_pmu_group *group = &own.region[i].readings.reading[0].group[0];
        assert_int_equal(group->enabled_ns, group->running_ns);
        assert_true(own.region[i].coverage == 1);
    }
    assert_true(find(&own, "exact")->readings.reading[0].group[0].enabled_ns > 0);
}

/* One fault a call, of a microsecond or so: reading takes as long. */
static void a_region_that_reading_takes_too_much_of_is_refused(void **state)
{
    (void)state;
    need_perf();
    const struct rl_pmu_region *many = find(&own, "many");
    assert_int_equal(many->why, RL_PMU_SHORT);
    assert_non_null(strstr(many->detail, "reading them takes"));
    assert_true(many->read_ns > 0 && many->read_ns < many->time_ns);
}

static void a_descriptor_that_became_the_programs_own_is_not_read(void **state)
{
    (void)state;
    need_perf();
    struct rl_pmu_regions regions = run(REGION_SCOPE_THREAD, "closed");
    const struct rl_pmu_region *closed = find(&regions, "closed");
    assert_int_equal(closed->n_missed, 1);
    assert_int_equal(closed->why, RL_PMU_SHORT_READ);
    rl_pmu_regions_release(&regions);
}

/* The strict mode of seccomp forbids the instruction that reads the TSC: where that is the clock, a
 * program ends when it asks for the time, whoever asks. */
static bool has_clock_under_strict_seccomp(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        region_now_ns();
        syscall(SYS_exit, 0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void a_program_under_strict_seccomp_is_counted_and_not_ended(void **state)
{
    (void)state;
    need_perf();
    if (!has_clock_under_strict_seccomp()) {
        print_message("the clock cannot be read under strict seccomp here\n");
        skip();
    }
    struct rl_pmu_regions regions = run(REGION_SCOPE_THREAD, "strict");
    assert_int_equal(faults(&regions, "strict"), 2 * 30);
    rl_pmu_regions_release(&regions);
}

static void a_plan_of_another_version_is_not_followed_and_said_to_be(void **state)
{
    (void)state;
    struct region_plan wire;
    assert_int_equal(rl_pmu_regions_encode(&pass, REGION_SCOPE_THREAD, &wire, NULL), RL_OK);
    wire.version = REGION_VERSION + 1;
    struct rl_pmu_regions regions = run_under(&wire, sizeof wire, REGION_SCOPE_THREAD, NULL);
    assert_int_equal(regions.n_region, 0);
    assert_int_equal(regions.n_foreign, 2); /* the program and its child */
    wire.version = REGION_VERSION;
    regions = run_under(&wire, sizeof wire - 1, REGION_SCOPE_THREAD, NULL);
    assert_int_equal(regions.n_foreign, 2);
}

static void a_plan_that_is_a_pipe_is_not_waited_for(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_region_counters.XXXXXX", path[sizeof folder + 16];
    struct region_plan read_plan;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/" REGION_PLAN_FILE, folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    enum region_counting counting = region_plan_load(folder, &read_plan);
    unlink(path);
    rmdir(folder);
    assert_int_equal(counting, REGION_COUNTING_FOREIGN);
}

static void a_pass_without_events_of_threads_has_no_plan(void **state)
{
    (void)state;
    struct rl_pmu_slot system = slot[0];
    struct region_plan wire;
    system.cpu = 0;
    const struct rl_pmu_pass none = {.slot = &system, .n_slot = 1};
    assert_int_equal(rl_pmu_regions_encode(&none, REGION_SCOPE_THREAD, &wire, NULL), RL_ENODATA);
}

/* --- whatever the kernel answers --- */

static struct {
    int error;    /* of opening event `which`, or every one */
    int which;    /* -1: every one */
    int short_by; /* bytes a read lacks */
    uint64_t enabled_ns, running_ns, value;
    int n_open;
} fake;

static int fake_open(struct perf_event_attr *attr, pid_t pid, int group_fd)
{
    (void)pid, (void)group_fd;
    assert_true(attr->exclude_kernel && attr->exclude_hv);
    if (fake.error && (fake.which < 0 || attr->config == row[fake.which].config)) {
        errno = fake.error;
        return -1;
    }
    fake.n_open++;
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static ssize_t fake_read(int fd, void *buffer, size_t size)
{
    uint64_t *out = buffer;
    (void)fd;
    fake.enabled_ns += 1000;
    fake.value += 10;
    out[0] = size / sizeof *out - 3;
    out[1] = fake.enabled_ns;
    out[2] = fake.running_ns ? fake.enabled_ns - fake.running_ns : fake.enabled_ns;
    for (size_t i = 3; i < size / sizeof *out; i++)
        out[i] = fake.value;
    if (fake.running_ns)
        fake.running_ns += 250; /* a quarter of the time is lost */
    return (ssize_t)size - fake.short_by;
}

static bool fake_is_event(int fd)
{
    (void)fd;
    return true;
}

static const struct region_calls fake_calls = {fake_open, fake_read, fake_is_event};

/* One call of one region in one thread, as the library would leave it. */
static struct rl_pmu_region *count_one(struct rl_pmu_regions *regions)
{
    struct region_plan wire;
    struct region_counted_file *made = calloc(1, sizeof *made);
    struct rl_pmu_region_file file = {.data = made, .n = sizeof *made};
    assert_non_null(made);
    assert_int_equal(rl_pmu_regions_encode(&pass, REGION_SCOPE_THREAD, &wire, NULL), RL_OK);
    made->times.head = (struct region_head){.magic = REGION_MAGIC,
                                            .version = REGION_VERSION,
                                            .n_entry = 1,
                                            .n_slot = 1,
                                            .counting = REGION_COUNTING_ON,
                                            .n_event = wire.n_event};
    strcpy(made->times.entry[0].name, "r");
    struct region_thread_counting *t = region_counting_new(&wire, &fake_calls, 1);
    assert_non_null(t);
    uint64_t now_ns = region_now_ns();
    region_counting_begin(t, 0, now_ns);
    region_counting_read(t);
    region_counting_end(t, 0, now_ns + 1000000000, &made->count[0]);
    region_counting_free(t);
    assert_int_equal(rl_pmu_regions_add(&file, &plan, &host, regions, NULL), RL_OK);
    rl_pmu_regions_judge(regions);
    free(made);
    assert_int_equal(regions->n_region, 1);
    return &regions->region[0];
}

static void each_refusal_of_the_kernel_is_the_regions_reason(void **state)
{
    (void)state;
    static const struct {
        int error;
        enum rl_pmu_why why;
    } cases[] = {
        {EACCES, RL_PMU_POLICY},      {EPERM, RL_PMU_SECCOMP},     {ENOENT, RL_PMU_NO_PMU},
        {ENXIO, RL_PMU_NO_REGISTER},  {EINVAL, RL_PMU_BAD_GROUP},  {EMFILE, RL_PMU_FILES},
        {ENFILE, RL_PMU_FILES_ALL},   {EBUSY, RL_PMU_BUSY},        {ENODEV, RL_PMU_NO_DEVICE},
        {EOPNOTSUPP, RL_PMU_NO_MODE}, {ENOSYS, RL_PMU_NO_CALL},    {ENOMEM, RL_PMU_NO_MEMORY},
        {E2BIG, RL_PMU_OTHER_KERNEL}, {EIO, RL_PMU_SYSTEM_REFUSED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rl_pmu_regions regions = {0};
        memset(&fake, 0, sizeof fake);
        fake.which = -1;
        fake.error = cases[i].error;
        const struct rl_pmu_region *region = count_one(&regions);
        if (region->why != cases[i].why)
            fail_msg("errno %d: %s", cases[i].error, rl_pmu_why_name(region->why));
        assert_int_equal(region->readings.reading[0].group[0].why, cases[i].why);
        assert_int_equal(region->n_counted, 0);
        rl_pmu_regions_release(&regions);
    }
}

static void one_event_that_is_refused_leaves_the_others(void **state)
{
    (void)state;
    struct rl_pmu_regions regions = {0};
    memset(&fake, 0, sizeof fake);
    fake.error = ENOENT; /* of the first, so that the second one leads */
    const struct rl_pmu_region *region = count_one(&regions);
    const struct rl_pmu_group *group = &region->readings.reading[0].group[0];
    assert_int_equal(region->why, RL_PMU_FINE);
    assert_int_equal(group->count[0].why, RL_PMU_NO_EVENT);
    assert_int_equal(group->count[0].value, 0);
    assert_int_equal(group->count[1].why, RL_PMU_FINE);
    assert_int_equal(group->count[1].value, 10);
    rl_pmu_regions_release(&regions);
}

static void a_short_read_counts_nothing(void **state)
{
    (void)state;
    struct rl_pmu_regions regions = {0};
    memset(&fake, 0, sizeof fake);
    fake.short_by = 8;
    const struct rl_pmu_region *region = count_one(&regions);
    assert_int_equal(region->why, RL_PMU_SHORT_READ);
    assert_string_equal(region->detail, "1 of 1 times");
    rl_pmu_regions_release(&regions);
}

/* The whole is judged, whichever file came first and however often it was judged before. */
static void a_file_that_comes_later_is_judged_with_the_others(void **state)
{
    (void)state;
    struct rl_pmu_regions regions = {0};
    memset(&fake, 0, sizeof fake);
    fake.which = -1;
    fake.error = EACCES;
    assert_int_equal(count_one(&regions)->why, RL_PMU_POLICY);
    memset(&fake, 0, sizeof fake);
    assert_int_equal(count_one(&regions)->why, RL_PMU_FINE); /* counted once, of two times */
    assert_int_equal(regions.region[0].n_counted, 1);
    fake.short_by = 8;
    const struct rl_pmu_region *region = count_one(&regions);
    assert_int_equal(region->why, RL_PMU_SHORT_READ);
    assert_string_equal(region->detail, "1 of 2 times");
    rl_pmu_regions_release(&regions);
}

static void counters_that_others_had_meanwhile_are_seen_to_be(void **state)
{
    (void)state;
    struct rl_pmu_regions regions = {0};
    memset(&fake, 0, sizeof fake);
    fake.running_ns = 1;
    const struct rl_pmu_region *region = count_one(&regions);
    const struct rl_pmu_group *group = &region->readings.reading[0].group[0];
    assert_int_equal(group->enabled_ns, 1000);
    assert_int_equal(group->running_ns, 750);
    assert_true(region->coverage == 0.75);
    rl_pmu_regions_release(&regions);
}

static void files_of_anything_are_survived(void **state)
{
    (void)state;
    struct region_head head = {.magic = REGION_MAGIC, .version = 1};
    struct rl_pmu_regions regions = {0};
    struct rl_pmu_region_file file = {.data = &head, .n = sizeof head};
    assert_int_equal(rl_pmu_regions_add(&file, &plan, &host, &regions, NULL), RL_OK);
    assert_int_equal(regions.n_foreign, 1);
    head.version = REGION_VERSION; /* cut short: nothing is in it */
    assert_int_equal(rl_pmu_regions_add(&file, &plan, &host, &regions, NULL), RL_OK);
    file.n = 3;
    assert_int_equal(rl_pmu_regions_add(&file, &plan, &host, &regions, NULL), RL_OK);
    assert_int_equal(regions.n_foreign, 1);
    assert_int_equal(regions.n_region, 0);
}

static int release(void **state)
{
    (void)state;
    rl_pmu_regions_release(&own);
    rl_pmu_regions_release(&all);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_regions_events_are_its_own_to_the_last_one),
        cmocka_unit_test(threads_that_open_a_region_add_up_and_children_have_their_own),
        cmocka_unit_test(a_threads_own_events_leave_its_helpers_out),
        cmocka_unit_test(the_process_counts_with_its_first_thread_whoever_works),
        cmocka_unit_test(software_events_have_their_counters_all_of_the_time),
        cmocka_unit_test(a_region_that_reading_takes_too_much_of_is_refused),
        cmocka_unit_test(a_descriptor_that_became_the_programs_own_is_not_read),
        cmocka_unit_test(a_program_under_strict_seccomp_is_counted_and_not_ended),
        cmocka_unit_test(a_plan_of_another_version_is_not_followed_and_said_to_be),
        cmocka_unit_test(a_plan_that_is_a_pipe_is_not_waited_for),
        cmocka_unit_test(a_pass_without_events_of_threads_has_no_plan),
        cmocka_unit_test(each_refusal_of_the_kernel_is_the_regions_reason),
        cmocka_unit_test(one_event_that_is_refused_leaves_the_others),
        cmocka_unit_test(a_short_read_counts_nothing),
        cmocka_unit_test(a_file_that_comes_later_is_judged_with_the_others),
        cmocka_unit_test(counters_that_others_had_meanwhile_are_seen_to_be),
        cmocka_unit_test(files_of_anything_are_survived),
    };
    return cmocka_run_group_tests(tests, run_both, release);
}
