/* The self-test believes counters that count known work right and no others; what it found can be
 * kept. A processor made here does the work and counts it, well or badly. */
#include "../support/cmocka_all.h"

#include "count/perf_event/pmu.h"
#include "timing/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FDS = 256 };

/* What the processor has done so far, and how its counters misbehave. */
static struct machine {
    uint64_t lanes[2][4]; /* instructions x lanes by fp64/fp32 and width: FLOP */
    uint64_t instructions;
    uint64_t cycles; /* of work, at 3 GHz; readings take none, however long they wait */
    double half;     /* FLOP counters show this part of the truth */
    bool mixes;      /* fp64 events count fp32 as well */
    bool is_asleep;  /* instructions hardly count */
    bool is_shared;  /* counters are taken away for a while */
    int refusal;     /* errno of every open; 0: none */
    uint64_t config[FDS];
    int group_of[FDS];
    int leader;
    uint64_t reads;
} machine;

static const unsigned lanes[2][4] = {{1, 2, 4, 8}, {1, 4, 8, 16}};

/* FP_ARITH: unit mask bits are scalar fp64, scalar fp32, 128-bit fp64, … */
static uint64_t arith(unsigned umask)
{
    uint64_t count = 0;
    for (unsigned width = 0; width < 4; width++) {
        for (unsigned precision = 0; precision < 2; precision++) {
            bool is_on = umask >> (2 * width + precision) & 1;
            if (machine.mixes && precision == 1 && umask >> (2 * width) & 1)
                is_on = true;
            if (is_on)
                count += machine.lanes[precision][width] / lanes[precision][width];
        }
    }
    return (uint64_t)((double)count * machine.half);
}

static uint64_t value_of(uint64_t config)
{
    if (config == 0xc0)
        return machine.is_asleep ? machine.reads : machine.instructions;
    if (config == 0x3c)
        return machine.cycles;
    if ((config & 0xff) == 0xc7)
        return arith((unsigned)config >> 8);
    return 0;
}

static int fake_open(void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
    (void)context;
    (void)pid;
    (void)cpu;
    if (machine.refusal) {
        errno = machine.refusal;
        return -1;
    }
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_in_range(fd, 0, FDS - 1);
    machine.config[fd] = attr->config;
    machine.group_of[fd] = group_fd < 0 ? fd : group_fd;
    return fd;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    uint64_t *out = buffer;
    size_t n = 0;
    (void)context;
    machine.reads++;
    for (int i = 0; i < FDS; i++) {
        if (machine.group_of[i] == fd && 3 + n < size / 8 && machine.config[i])
            out[3 + n++] = value_of(machine.config[i]);
    }
    out[0] = n;
    out[1] = 1000 * machine.reads;
    out[2] = machine.is_shared ? 900 * machine.reads : out[1];
    return (ssize_t)size;
}

static const struct rl_pmu_calls calls = {.open = fake_open, .read = fake_read};

static void work(const struct rl_pmu_trial *trial)
{
    unsigned width = (unsigned)__builtin_ctz(trial->widths ? trial->widths : 1);
    machine.instructions += 2 * trial->loops;
    if (trial->flop)
        machine.lanes[trial->precision][width] += (uint64_t)trial->flop;
    double start_s = rl_now_s(), spent_s = 0;
    while (spent_s < 1e-5)
        spent_s = rl_now_s() - start_s;
    machine.cycles += (uint64_t)(spent_s * 3e9);
}

#define TRIAL(p, w)                                                                                \
    {                                                                                              \
        .name = #p, .run = work, .loops = 500000, .instructions = 1e6, .flop = 1e6, .scale = 1e6,  \
        .precision = (p), .widths = (w)                                                            \
    }

static const struct rl_pmu_trial trials[] = {
    {.name = "integer", .run = work, .loops = 500000, .instructions = 1e6, .scale = 1e6},
    TRIAL(RL_FP64, RL_PMU_SCALAR),
    TRIAL(RL_FP64, RL_PMU_128),
    TRIAL(RL_FP64, RL_PMU_256),
    TRIAL(RL_FP32, RL_PMU_SCALAR),
    TRIAL(RL_FP32, RL_PMU_128),
    TRIAL(RL_FP32, RL_PMU_256),
};

static struct rl_cpu skylake(void)
{
    struct rl_cpu cpu = {.vendor = "GenuineIntel", .family = 6, .model = 0x9e, .stepping = 9};
    cpu.isa[RL_ISA_AVX512] = RL_ISA_NO_HARDWARE;
    return cpu;
}

static void reset(void)
{
    memset(&machine, 0, sizeof machine);
    memset(machine.group_of, -1, sizeof machine.group_of);
    machine.half = 1;
}

static struct rl_pmu_trust test_machine(void)
{
    struct rl_pmu_table table;
    struct rl_pmu_host host;
    struct rl_pmu_plan plan;
    struct rl_pmu_trust trust;
    struct rl_cpu cpu = skylake();
    struct rl_pmu_plan_options options = rl_pmu_plan_options_default();
    options.wants_system = false;
    assert_int_equal(rl_pmu_table_load(&table, NULL), RL_OK);
    rl_pmu_host_detect(SOURCE_DIR "/tests/fixture/machine/skylake-client", &cpu, &host);
    assert_int_equal(rl_pmu_plan_make(&table, &host, &options, &plan, NULL), RL_OK);
    assert_int_equal(rl_pmu_self_test_run(&calls, &host, &plan, trials,
                                          sizeof trials / sizeof *trials, &trust, NULL),
                     RL_OK);
    rl_pmu_plan_release(&plan);
    rl_pmu_table_release(&table);
    return trust;
}

static const struct rl_pmu_verdict *verdict(const struct rl_pmu_trust *trust, const char *metric)
{
    return &trust->verdict[0][rl_pmu_metric_find(metric)];
}

static void counters_that_count_right_are_believed(void **state)
{
    (void)state;
    reset();
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "flop_fp64_256")->why, RL_PMU_FINE);
    assert_float_equal(verdict(&trust, "flop_fp64_256")->ratio, 1, 1e-9);
    assert_int_equal(verdict(&trust, "flop_fp32_scalar")->why, RL_PMU_FINE);
}

static void what_no_trial_shows_stays_untested(void **state)
{
    (void)state;
    reset();
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "bytes_l2_fill")->why, RL_PMU_UNTESTED);
    assert_int_equal(verdict(&trust, "flop_fp64_512")->why, RL_PMU_UNTESTED);
}

static void a_counter_that_shows_half_is_refused_with_its_ratio(void **state)
{
    (void)state;
    reset();
    machine.half = 0.5;
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "flop_fp64_256")->why, RL_PMU_WRONG);
    assert_float_equal(verdict(&trust, "flop_fp64_256")->ratio, 0.5, 1e-9);
}

static void one_per_cent_off_is_wrong(void **state)
{
    (void)state;
    reset();
    machine.half = 0.99;
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "flop_fp32_128")->why, RL_PMU_WRONG);
}

static void a_counter_that_counts_other_work_too_is_refused(void **state)
{
    (void)state;
    reset();
    machine.mixes = true;
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "flop_fp64_256")->why, RL_PMU_WRONG);
    assert_int_equal(verdict(&trust, "flop_fp32_256")->why, RL_PMU_FINE);
}

static void counters_of_a_virtual_machine_that_count_nonsense_are_refused(void **state)
{
    (void)state;
    reset();
    machine.is_asleep = true;
    struct rl_pmu_trust trust = test_machine();
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        assert_int_equal(trust.verdict[0][m].why, RL_PMU_WRONG);
}

static void counters_that_are_shared_show_nothing(void **state)
{
    (void)state;
    reset();
    machine.is_shared = true;
    struct rl_pmu_trust trust = test_machine();
    assert_int_equal(verdict(&trust, "flop_fp64_256")->why, RL_PMU_UNTESTED);
}

static struct rl_pmu *new_pmu(const char *folder, const struct rl_cpu *cpu)
{
    char root[200];
    struct rl_pmu *pmu;
    struct rl_pmu_options options = rl_pmu_options_default(cpu);
    snprintf(root, sizeof root, SOURCE_DIR "/tests/fixture/machine/%s", folder);
    options.root = root;
    options.calls = &calls;
    options.plan.wants_system = false;
    assert_int_equal(rl_pmu_new(&options, &pmu, NULL), RL_OK);
    return pmu;
}

static char *saved(const struct rl_pmu *pmu)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(rl_pmu_self_test_save(pmu, stream, NULL), RL_OK);
    fclose(stream);
    return text;
}

static void results_can_be_kept_for_the_same_machine_only(void **state)
{
    (void)state;
    reset();
    struct rl_cpu cpu = skylake();
    struct rl_pmu *pmu = new_pmu("skylake-client", &cpu);
    char *first = saved(pmu);
    char *text;
    assert_true(asprintf(&text, "%sverdict\t0\tflop_fp64_256\tfine\t0x1p+0\n", first) > 0);
    assert_false(rl_pmu_is_tested(pmu));
    assert_int_equal(rl_pmu_self_test_load(pmu, text, NULL), RL_OK);
    assert_true(rl_pmu_is_tested(pmu));
    char *again = saved(pmu);
    assert_string_equal(again, text);
    cpu.stepping = 10;
    struct rl_pmu *other = new_pmu("skylake-client", &cpu);
    assert_int_equal(rl_pmu_self_test_load(other, text, NULL), RL_ENODATA);
    for (size_t i = strlen(text) - 1; i > 0; i--) {
        struct rl_error err = {0};
        text[i] = '\0';
        enum rl_status status = rl_pmu_self_test_load(pmu, text, &err);
        assert_true(status == RL_OK || status == RL_EDATA || status == RL_ENODATA);
    }
    rl_pmu_free(other);
    rl_pmu_free(pmu);
    free(again);
    free(first);
    free(text);
}

/* Two million fp64 FLOP in 256-bit vectors while "the program" runs. */
static void a_program_is_counted_over_all_runs(void **state)
{
    (void)state;
    reset();
    struct rl_cpu cpu = skylake();
    struct rl_pmu *pmu = new_pmu("skylake-client", &cpu);
    struct rl_pmu_counts counts;
    char title[128];
    assert_int_equal(rl_pmu_probe(pmu, NULL), RL_OK);
    assert_true(rl_pmu_passes(pmu) >= 2);
    assert_string_equal(rl_pmu_pass_title(pmu, 0, title, sizeof title), "fp64, L2 traffic");
    struct rl_pmu_trial program = trials[3];
    program.flop = 2e6;
    for (unsigned i = 0; i < rl_pmu_passes(pmu); i++) {
        assert_int_equal(rl_pmu_start(pmu, i, 1, NULL), RL_OK);
        assert_int_equal(rl_pmu_start(pmu, i, 1, NULL), RL_EINVAL);
        work(&program);
        assert_int_equal(rl_pmu_stop(pmu, NULL), RL_OK);
        memset(machine.lanes, 0, sizeof machine.lanes);
        machine.instructions = 0;
    }
    assert_int_equal(rl_pmu_stop(pmu, NULL), RL_EINVAL);
    rl_pmu_counts(pmu, &counts);
    assert_false(rl_known(counts.flop.value));
    assert_int_equal(counts.flop.why, RL_PMU_UNTESTED);
    assert_true(counts.instructions.value.value == 1e6);
    char *text = saved(pmu);
    char *all = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&all, &size);
    fputs(text, stream);
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        fprintf(stream, "verdict\t0\t%s\tfine\t0x1p+0\n", rl_pmu_metric[m].name);
    fclose(stream);
    assert_int_equal(rl_pmu_self_test_load(pmu, all, NULL), RL_OK);
    free(text);
    free(all);
    rl_pmu_counts(pmu, &counts);
    assert_true(counts.flop.value.value == 2e6);
    assert_true(counts.flop_of[RL_FP32].value.value == 0);
    assert_int_equal(rl_pmu_readings(pmu)->n_reading, rl_pmu_passes(pmu));
    rl_pmu_free(pmu);
}

static void doctor_says_what_is_missing_and_how_to_get_it(void **state)
{
    (void)state;
    struct rl_pmu_line line[4];
    struct rl_error err = {0};
    reset();
    struct rl_cpu cpu = skylake();
    struct rl_pmu *pmu = new_pmu("skylake-client", &cpu);
    assert_int_equal(rl_pmu_doctor(pmu, line, 4), 4);
    assert_true(line[0].works);
    assert_false(line[3].works);
    rl_pmu_free(pmu);
    pmu = new_pmu("guest-without-pmu", &cpu);
    assert_int_equal(rl_pmu_doctor(pmu, line, 4), 1);
    assert_false(line[0].works);
    assert_non_null(strstr(line[0].text, "no hardware counters"));
    assert_int_equal(rl_pmu_probe(pmu, &err), RL_EUNAVAIL);
    rl_pmu_free(pmu);
    pmu = new_pmu("no-perf-events", &cpu);
    assert_int_equal(rl_pmu_doctor(pmu, line, 4), 1);
    assert_non_null(strstr(line[0].text, "no perf_event_open"));
    rl_pmu_free(pmu);
    cpu.model = 0xff;
    pmu = new_pmu("skylake-client", &cpu);
    assert_int_equal(rl_pmu_doctor(pmu, line, 4), 1);
    assert_non_null(strstr(line[0].text, "intel family 0x6 model 0xff"));
    rl_pmu_free(pmu);
}

/* What `record --count pmu` is refused with, and what `doctor` prints: the same cause, and the line
 * that mends it. */
static void every_refusal_names_its_cause_and_the_line_that_mends_it(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        int refusal;
        const char *cause, *enable;
    } cases[] = {
        {"paranoid-4", EACCES, "kernel.perf_event_paranoid is 4",
         "sudo sysctl kernel.perf_event_paranoid=2"},
        {"paranoid-4", EPERM, "kernel.perf_event_paranoid is 4",
         "sudo sysctl kernel.perf_event_paranoid=2"},
        {"skylake-client", EPERM,
         "although kernel.perf_event_paranoid is 0: probably the container",
         "run the container with a seccomp profile that allows perf_event_open"},
        {"skylake-client", EACCES, "although kernel.perf_event_paranoid is 0: probably a security",
         "have the administrator permit perf_event for this user there"},
        {"skylake-client", ENOENT, "offers no hardware counters", "(vPMU)"},
        {"guest-without-pmu", 0, "offers no hardware counters", "(vPMU)"},
        {"skylake-client", EMFILE, "too few file descriptors are granted", "ulimit -n 65536"},
        {"skylake-client", ENFILE, "the system is out of file descriptors", "fs.file-max"},
        {"skylake-client", EBUSY, "another program holds the counters", "end the other profiler"},
        {"skylake-client", EINVAL, "refuses these events together", "kernel.nmi_watchdog=0"},
        {"skylake-client", ENOSYS, "no perf_event_open", ""},
        {"no-perf-events", 0, "no perf_event_open", ""},
    };
    struct rl_cpu cpu = skylake();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rl_pmu_line line[4];
        struct rl_error err = {0};
        reset();
        machine.refusal = cases[i].refusal;
        struct rl_pmu *pmu = new_pmu(cases[i].machine, &cpu);
        assert_int_equal(rl_pmu_probe(pmu, &err), RL_EUNAVAIL);
        if (!strstr(err.text, cases[i].cause) || !strstr(err.text, cases[i].enable))
            fail_msg("errno %d: %s", cases[i].refusal, err.text);
        assert_int_equal(!strstr(err.text, "to enable: "), !cases[i].enable[0]);
        assert_int_equal(rl_pmu_doctor(pmu, line, 4), 1);
        assert_false(line[0].works);
        if (!strstr(line[0].text, cases[i].cause) || !strstr(line[0].enable, cases[i].enable))
            fail_msg("errno %d: %s (%s)", cases[i].refusal, line[0].text, line[0].enable);
        rl_pmu_free(pmu);
    }
}

/* The real kernels run, and what each must show is known. */
static void trials_are_made_of_the_kernels_that_run_here(void **state)
{
    (void)state;
    struct rl_cpu cpu;
    struct rl_pmu_trials made;
    const struct rl_pmu_sizes sizes = {.l1_bytes = 32 << 10,
                                       .l2_bytes = 512 << 10,
                                       .l3_bytes = 4 << 20,
                                       .llc_bytes = 4 << 20,
                                       .memory_bytes = 64 << 20};
    unsigned depths = 0;
    assert_int_equal(rl_cpu_detect(NULL, &cpu, NULL), RL_OK);
    assert_int_equal(rl_pmu_trials_make(&cpu, &sizes, &made, NULL), RL_OK);
    for (size_t i = 0; i < made.n_trial; i++) {
        const struct rl_pmu_trial *trial = &made.trial[i];
        trial->run(trial);
        assert_true(trial->scale > 0);
        assert_true(trial->name[0]);
        if (trial->is_memory)
            depths |= 1u << trial->depth;
    }
    assert_int_equal(depths, 15);
    rl_pmu_trials_release(&made);
}

static double expects(const struct rl_pmu_trial *trial, const char *metric)
{
    return rl_pmu_trial_expects(trial, &rl_pmu_metric[rl_pmu_metric_find(metric)]);
}

static void expectations_follow_precision_width_and_level(void **state)
{
    (void)state;
    const struct rl_pmu_trial fp64 = {.flop = 8, .precision = RL_FP64, .widths = RL_PMU_256};
    const struct rl_pmu_trial bf16 = {.flop = 8, .precision = RL_BF16, .widths = RL_PMU_512};
    const struct rl_pmu_trial some = {.flop = 8, .precision = RL_FP64, .widths = RL_PMU_ANY_WIDTH};
    const struct rl_pmu_trial copy = {.is_memory = true, .depth = 2, .fill = 20, .write = 10};
    assert_true(expects(&fp64, "flop_fp64_256") == 8);
    assert_true(expects(&fp64, "flop_fp64_packed") == 8);
    assert_true(expects(&fp64, "flop_any") == 8);
    assert_true(expects(&fp64, "flop_fp64_128") == 0);
    assert_true(expects(&fp64, "flop_fp32_256") == 0);
    assert_true(isnan(expects(&bf16, "flop_any")));
    assert_true(isnan(expects(&some, "flop_fp64_256")));
    assert_true(expects(&some, "flop_fp64") == 8);
    assert_true(expects(&copy, "bytes_l2_fill") == 20);
    assert_true(expects(&copy, "bytes_l3_wb") == 10);
    assert_true(expects(&copy, "bytes_dram_core_rd") == 0);
    assert_true(isnan(expects(&copy, "bytes_dram_rd")));
    assert_true(isnan(expects(&copy, "bytes_dram_core_rd_demand")));
    assert_true(expects(&copy, "flop_any") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_that_count_right_are_believed),
        cmocka_unit_test(what_no_trial_shows_stays_untested),
        cmocka_unit_test(a_counter_that_shows_half_is_refused_with_its_ratio),
        cmocka_unit_test(one_per_cent_off_is_wrong),
        cmocka_unit_test(a_counter_that_counts_other_work_too_is_refused),
        cmocka_unit_test(counters_of_a_virtual_machine_that_count_nonsense_are_refused),
        cmocka_unit_test(counters_that_are_shared_show_nothing),
        cmocka_unit_test(results_can_be_kept_for_the_same_machine_only),
        cmocka_unit_test(a_program_is_counted_over_all_runs),
        cmocka_unit_test(doctor_says_what_is_missing_and_how_to_get_it),
        cmocka_unit_test(every_refusal_names_its_cause_and_the_line_that_mends_it),
        cmocka_unit_test(trials_are_made_of_the_kernels_that_run_here),
        cmocka_unit_test(expectations_follow_precision_width_and_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
