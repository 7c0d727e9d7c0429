/* Whatever perf_event_open and read answer: each answer has its own reason and its own sentence,
 * and nothing that was not counted has a value. A fake stands in for the system. */
#include "../support/cmocka_all.h"

#include "count/perf_event/counter.h"
#include "count/perf_event/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct rl_pmu_table table;
static const struct rl_pmu_core *core;

static int load(void **state)
{
    (void)state;
    if (rl_pmu_table_load(&table, NULL) != RL_OK)
        return -1;
    core = rl_pmu_core_find(&table, "broadwell");
    return core ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    rl_pmu_table_release(&table);
    return 0;
}

/* A kernel of our making. */
struct fake {
    int error;                 /* of every open; 0: none */
    uint64_t bad_config;       /* only this event fails with `error`, if not 0 */
    bool refuses_group_format; /* as kernels did with inherited groups */
    bool system_only;          /* only events that count everybody fail */
    uint64_t enabled_ns, running_ns;
    uint64_t value;  /* of every event */
    size_t short_by; /* bytes a read lacks */
    unsigned n_open;
    bool has_group[1024]; /* by descriptor */
};

static int fake_open(void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
    struct fake *fake = context;
    (void)pid;
    assert_true(cpu >= 0 || (attr->exclude_kernel && attr->exclude_hv));
    if (fake->error && (!fake->bad_config || fake->bad_config == attr->config) &&
        (!fake->system_only || cpu >= 0)) {
        errno = fake->error;
        return -1;
    }
    if (fake->refuses_group_format && attr->read_format & PERF_FORMAT_GROUP && attr->inherit) {
        errno = EINVAL;
        return -1;
    }
    fake->n_open++;
    assert_true(group_fd == -1 || fake->n_open > 1);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_in_range(fd, 0, 1023);
    fake->has_group[fd] = attr->read_format & PERF_FORMAT_GROUP;
    return fd;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    struct fake *fake = context;
    uint64_t *out = buffer;
    if (fake->short_by)
        return (ssize_t)(size - fake->short_by);
    size_t n = size / 8;
    if (fake->has_group[fd]) {
        out[0] = n - 3;
        out[1] = fake->enabled_ns;
        out[2] = fake->running_ns;
        for (size_t i = 3; i < n; i++)
            out[i] = fake->value;
    } else {
        out[0] = fake->value;
        out[1] = fake->enabled_ns;
        out[2] = fake->running_ns;
    }
    return (ssize_t)size;
}

static size_t fill_slots(struct rl_pmu_slot *slot, const char *const *metric, size_t n)
{
    size_t used = 0;
    for (size_t m = 0; m < n; m++) {
        for (size_t i = 0; i < core->n_event; i++) {
            const struct rl_pmu_event *event = &core->event[i];
            if (strcmp(rl_pmu_metric[event->metric].name, metric[m]) != 0)
                continue;
            slot[used] = (struct rl_pmu_slot){.event = event,
                                              .type = 4,
                                              .config = event->config,
                                              .config1 = event->config1,
                                              .cpu = event->is_system ? 0 : -1};
            snprintf(slot[used++].device, sizeof slot->device, "%s",
                     event->is_system ? "uncore_imc" : "cpu");
        }
    }
    return used;
}

static const char *const metrics[] = {"instructions", "flop_any", "bytes_l2_fill",
                                      "bytes_dram_core_rd", "bytes_dram_rd"};

/* Count one program with a fake kernel and a metric table that has been tested. */
static struct rl_pmu_counts count_with(struct fake *fake, const struct rl_pmu_host *host)
{
    const struct rl_pmu_calls calls = {fake_open, fake_read, fake};
    struct rl_pmu_slot slot[16];
    struct rl_pmu_target target = {.pid = 1, .on_exec = true};
    struct rl_pmu_counter *counter;
    struct rl_pmu_reading reading;
    struct rl_pmu_trust trust;
    struct rl_pmu_counts counts;
    size_t n = fill_slots(slot, metrics, sizeof metrics / sizeof *metrics);
    assert_int_equal(rl_pmu_counter_open(&calls, host, slot, n, &target, &counter, NULL), RL_OK);
    fake->value += 1000; /* while the program runs */
    fake->enabled_ns += 2000;
    fake->running_ns += fake->running_ns == UINT64_MAX ? 1 : 2000;
    assert_int_equal(rl_pmu_counter_read(counter, &reading, NULL), RL_OK);
    struct rl_pmu_readings readings = {
        .core = {core}, .n_core = 1, .vector_bits = 256, .reading = &reading, .n_reading = 1};
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        trust.verdict[0][m] = (struct rl_pmu_verdict){RL_PMU_FINE, 1};
    rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
    rl_pmu_reading_release(&reading);
    rl_pmu_counter_close(counter);
    return counts;
}

static const struct rl_pmu_value *value_of(const struct rl_pmu_counts *counts, const char *name)
{
    return &counts->metric[0][rl_pmu_metric_find(name)];
}

static void what_is_counted_is_weighted(void **state)
{
    (void)state;
    struct fake fake = {0};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    /* Broadwell: scalar x 1, 128-bit fp64 x 2, (128-bit fp32, 256-bit fp64) x 4, 256-bit fp32 x 8
     */
    assert_float_equal(counts.flop.value.value, 15000, 0);
    assert_int_equal(counts.flop.value.source, RL_SOURCE_MEASURED);
    assert_float_equal(value_of(&counts, "bytes_l2_fill")->value.value, 64000, 0);
    assert_float_equal(counts.instructions.value.value, 1000, 0);
}

static void inherited_groups_of_old_kernels_are_read_one_by_one(void **state)
{
    (void)state;
    struct fake fake = {.refuses_group_format = true};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    assert_float_equal(counts.flop.value.value, 15000, 0);
}

struct answer {
    int error;
    int paranoid;
    enum rl_pmu_why why;
    const char *says;
};

static void each_errno_has_its_own_reason_and_sentence(void **state)
{
    (void)state;
    static const struct answer answers[] = {
        {EACCES, 4, RL_PMU_PARANOID, "kernel.perf_event_paranoid is 4"},
        {EACCES, 2, RL_PMU_POLICY, "although kernel.perf_event_paranoid is 2: probably a security"},
        {EPERM, 3, RL_PMU_PARANOID, "kernel.perf_event_paranoid is 3"},
        {EPERM, 2, RL_PMU_SECCOMP, "seccomp"},
        {ENOENT, 2, RL_PMU_NO_PMU, "no hardware counters"},
        {ENXIO, 2, RL_PMU_NO_REGISTER, "register"},
        {EINVAL, 2, RL_PMU_BAD_GROUP, "refuses these events together"},
        {ENODEV, 2, RL_PMU_NO_DEVICE, "device"},
        {EOPNOTSUPP, 2, RL_PMU_NO_MODE, "cannot count in this way"},
        {EBUSY, 2, RL_PMU_BUSY, "another program"},
        {EMFILE, 2, RL_PMU_FILES, "file descriptors are granted"},
        {ENFILE, 2, RL_PMU_FILES_ALL, "out of file descriptors"},
        {ESRCH, 2, RL_PMU_GONE, "ended before"},
        {E2BIG, 2, RL_PMU_OTHER_KERNEL, "too old"},
        {ENOMEM, 2, RL_PMU_NO_MEMORY, "no memory"},
        {ENOSYS, 2, RL_PMU_NO_CALL, "no perf_event_open"},
        {EIO, 2, RL_PMU_SYSTEM_REFUSED, "failed"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct fake fake = {.error = answers[i].error};
        struct rl_pmu_host host = {.has_paranoid = true, .paranoid = answers[i].paranoid};
        struct rl_pmu_counts counts = count_with(&fake, &host);
        char text[256];
        if (counts.flop.why != answers[i].why)
            fail_msg("%s: %s", strerror(answers[i].error), rl_pmu_why_name(counts.flop.why));
        assert_false(rl_known(counts.flop.value));
        assert_false(rl_known(counts.level[RL_PMU_LEVEL_L2].fill.value));
        rl_pmu_why_text(counts.flop.why, &host, NULL, text, sizeof text);
        if (!strstr(text, answers[i].says))
            fail_msg("%s: %s", strerror(answers[i].error), text);
    }
}

static void reasons_are_all_different(void **state)
{
    (void)state;
    char text[RL_PMU_WHY_COUNT][256];
    for (unsigned i = 0; i < RL_PMU_WHY_COUNT; i++) {
        rl_pmu_why_text((enum rl_pmu_why)i, NULL, NULL, text[i], sizeof text[i]);
        assert_true(text[i][0]);
        assert_int_equal(rl_pmu_why_find(rl_pmu_why_name((enum rl_pmu_why)i)), i);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(text[i], text[j]);
    }
}

static void one_event_that_is_refused_costs_only_its_metric(void **state)
{
    (void)state;
    struct fake fake = {.error = ENXIO, .bad_config = 0x1b7};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    assert_true(rl_known(counts.flop.value));
    assert_int_equal(value_of(&counts, "bytes_dram_core_rd")->why, RL_PMU_NO_REGISTER);
}

static void a_missing_part_of_a_sum_leaves_no_sum(void **state)
{
    (void)state;
    struct fake fake = {.error = ENOENT, .bad_config = 0x18c7};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    assert_false(rl_known(counts.flop.value));
    assert_int_equal(counts.flop.why, RL_PMU_NO_EVENT);
}

static void counting_everybody_has_its_own_refusal(void **state)
{
    (void)state;
    struct fake fake = {.error = EACCES, .system_only = true};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 1};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    assert_true(rl_known(counts.flop.value));
    assert_int_equal(counts.system_dram.fill.why, RL_PMU_SYSTEM_ONLY);
}

static void short_reads_and_shared_counters_have_no_value(void **state)
{
    (void)state;
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct fake cut = {.short_by = 8};
    struct fake nothing = {.short_by = 0, .value = UINT64_MAX - 999};
    struct rl_pmu_counts counts = count_with(&cut, &host);
    assert_int_equal(counts.flop.why, RL_PMU_SHORT_READ);
    struct fake shared = {.enabled_ns = 1};
    counts = count_with(&shared, &host);
    assert_int_equal(counts.flop.why, RL_PMU_SHARED);
    assert_false(rl_known(counts.flop.value));
    struct fake unused = {.running_ns = UINT64_MAX};
    counts = count_with(&unused, &host);
    assert_int_equal(counts.flop.why, RL_PMU_NEVER_RAN);
    struct fake asleep = {.enabled_ns = (uint64_t)-2000, .running_ns = (uint64_t)-2000};
    counts = count_with(&asleep, &host);
    assert_int_equal(counts.flop.why, RL_PMU_NEVER_ON);
    counts = count_with(&nothing, &host);
    assert_int_equal(counts.flop.why, RL_PMU_ZERO);
}

static void records_say_what_is_missing_and_why(void **state)
{
    (void)state;
    struct fake fake = {.error = EMFILE};
    struct rl_pmu_host host = {.has_paranoid = true, .paranoid = 2};
    struct rl_pmu_counts counts = count_with(&fake, &host);
    struct rl_kernel kernel = {0};
    bool found = false;
    assert_int_equal(rl_pmu_counts_fill(&counts, &kernel, NULL), RL_OK);
    assert_false(rl_known(kernel.flop));
    assert_int_equal(kernel.n_traffic, 0);
    for (size_t i = 0; i < kernel.missing.n; i++)
        found = found || (!strcmp(kernel.missing.item[i].what, "flop") &&
                          strstr(kernel.missing.item[i].why, "file descriptors"));
    assert_true(found);
    rl_kernel_release(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_counted_is_weighted),
        cmocka_unit_test(inherited_groups_of_old_kernels_are_read_one_by_one),
        cmocka_unit_test(each_errno_has_its_own_reason_and_sentence),
        cmocka_unit_test(reasons_are_all_different),
        cmocka_unit_test(one_event_that_is_refused_costs_only_its_metric),
        cmocka_unit_test(a_missing_part_of_a_sum_leaves_no_sum),
        cmocka_unit_test(counting_everybody_has_its_own_refusal),
        cmocka_unit_test(short_reads_and_shared_counters_have_no_value),
        cmocka_unit_test(records_say_what_is_missing_and_why),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
