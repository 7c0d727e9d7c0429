/* What is counted on which machine: identity, kernel and privileges in, groups of events out. The
 * machines are folders of tests/fixture/machine. */
#include "../support/cmocka_all.h"

#include "count/perf_event/plan.h"

#include <stdio.h>
#include <string.h>

static struct rl_pmu_table table;

static int load(void **state)
{
    (void)state;
    return rl_pmu_table_load(&table, NULL) == RL_OK ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    rl_pmu_table_release(&table);
    return 0;
}

/* A machine of a maker, family, model and stepping. */
struct processor {
    const char *vendor;
    unsigned family, model, stepping;
    bool has_512;
};

static const struct processor icx = {"GenuineIntel", 6, 0x6a, 6, true};
static const struct processor skx = {"GenuineIntel", 6, 0x55, 4, true};
static const struct processor adl = {"GenuineIntel", 6, 0x97, 2, false};
static const struct processor skl = {"GenuineIntel", 6, 0x9e, 9, false};
static const struct processor hsw = {"GenuineIntel", 6, 0x3c, 3, false};
static const struct processor zen3 = {"AuthenticAMD", 0x19, 0x01, 1, false};
static const struct processor zen5 = {"AuthenticAMD", 0x1a, 0x02, 1, true};
static const struct processor arm = {"", 0, 0, 0, false};

static struct rl_pmu_host host_of(const char *folder, const struct processor *processor)
{
    char root[160];
    struct rl_cpu cpu = {
        .family = processor->family, .model = processor->model, .stepping = processor->stepping};
    struct rl_pmu_host host;
    snprintf(cpu.vendor, sizeof cpu.vendor, "%s", processor->vendor);
    cpu.isa[RL_ISA_AVX512] = processor->has_512 ? RL_ISA_USABLE : RL_ISA_NO_HARDWARE;
    snprintf(root, sizeof root, SOURCE_DIR "/tests/fixture/machine/%s", folder);
    rl_pmu_host_detect(root, &cpu, &host);
    return host;
}

static struct rl_pmu_plan plan_of(const struct rl_pmu_host *host, enum rl_pmu_detail detail,
                                  unsigned max_passes)
{
    struct rl_pmu_plan plan;
    struct rl_pmu_plan_options options = rl_pmu_plan_options_default();
    options.detail = detail;
    options.max_passes = max_passes;
    assert_int_equal(rl_pmu_plan_make(&table, host, &options, &plan, NULL), RL_OK);
    return plan;
}

/* The thread events of a pass: "cpu c0 3c 1c7 …", with offcore registers as 1b7/73c000477. */
static const char *describe(const struct rl_pmu_plan *plan, size_t pass)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned k = 0; k < plan->n_core; k++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k ? "; " : "",
                                 plan->device[k].name);
        for (size_t i = 0; i < plan->pass[pass].n_slot; i++) {
            const struct rl_pmu_slot *slot = &plan->pass[pass].slot[i];
            if (slot->core != k || slot->cpu >= 0)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, " %llx",
                                     (unsigned long long)slot->config);
            if (slot->config1)
                used += (size_t)snprintf(text + used, sizeof text - used, "/%llx",
                                         (unsigned long long)slot->config1);
        }
    }
    return text;
}

static size_t system_slots(const struct rl_pmu_plan *plan, size_t pass, const char *device)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->pass[pass].n_slot; i++)
        n += plan->pass[pass].slot[i].cpu >= 0 &&
             rl_pmu_fits(device, plan->pass[pass].slot[i].device);
    return n;
}

static enum rl_pmu_why gap(const struct rl_pmu_plan *plan, unsigned core, const char *metric)
{
    return plan->gap[core][rl_pmu_metric_find(metric)].why;
}

/* One group of eight: 4 x fp64, fills and write-backs of L2 and L3, reads of memory. */
static void icelake_sp_takes_fp64_and_all_traffic_in_one_run(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp", &icx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.n_pass, 2);
    assert_string_equal(describe(&plan, 0),
                        "cpu c0 3c 1c7 4c7 10c7 40c7 151 1ff1 40f0 1b7/73c000477");
    assert_string_equal(describe(&plan, 1),
                        "cpu c0 3c 2c7 8c7 20c7 80c7 10f0 1b7/94000800 1bb/94002380 81d0");
    assert_int_equal(gap(&plan, 0, "ins_store"), RL_PMU_NOT_PLANNED);
    rl_pmu_plan_release(&plan);
}

/* Without 512 bit one of the eight counters stays free, but traffic can only use the first four. */
static void traffic_takes_the_first_four_counters_only(void **state)
{
    (void)state;
    const struct processor narrow = {"GenuineIntel", 6, 0x6a, 6, false};
    struct rl_pmu_host host = host_of("icelake-sp", &narrow);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 1c7 4c7 10c7 151 1ff1 40f0 1b7/73c000477");
    assert_string_equal(describe(&plan, 1),
                        "cpu c0 3c 2c7 8c7 20c7 10f0 1b7/94000800 1bb/94002380 81d0");
    rl_pmu_plan_release(&plan);
}

/* A core made up for this, with three events that need a register of their own each. */
static void two_offcore_registers_serve_two_events(void **state)
{
    (void)state;
    const struct rl_pmu_texts texts = {
        .cores = "uarch\tmaker\tids\tkind\tcounters\tcounters_smt\tplan\tflop\tl3\tsource\tnote\n"
                 "x\tintel\t6:0x9e\t-\t8\t8\tp\tretired\tvictim\t-\t-\n",
        .events =
            "uarch\tmetric\tpmu\tconfig\tconfig1\tsysfs\tweight\tplace\tscope\tcertainty\t"
            "event\tlibpfm4\tsource\tnote\n"
            "x\tbytes_dram_core_rd\tcore\t0x1b7\t0x1\t-\t64\tany\tthread\tvendor\t-\t-\ts\t-\n"
            "x\tbytes_dram_core_nt\tcore\t0x1b7\t0x2\t-\t64\tany\tthread\tvendor\t-\t-\ts\t-\n"
            "x\tbytes_dram_core_wb\tcore\t0x1b7\t0x4\t-\t64\tany\tthread\tvendor\t-\t-\ts\t-\n",
        .plans = "plan\tdetail\tmetrics\n"
                 "p\tfull\tbytes_dram_core_rd bytes_dram_core_nt bytes_dram_core_wb\n",
        .never = "uarch\tpmu\tconfig\tmask\tmetric\treason\tsource\n",
    };
    struct rl_pmu_table made;
    struct rl_pmu_plan plan;
    struct rl_pmu_plan_options options = rl_pmu_plan_options_default();
    struct rl_pmu_host host = host_of("skylake-client", &skl);
    assert_int_equal(rl_pmu_table_parse(&texts, &made, NULL), RL_OK);
    assert_int_equal(rl_pmu_plan_make(&made, &host, &options, &plan, NULL), RL_OK);
    assert_int_equal(plan.n_pass, 2);
    assert_string_equal(describe(&plan, 0), "cpu 1b7/1 1b7/2");
    assert_string_equal(describe(&plan, 1), "cpu 1b7/4");
    rl_pmu_plan_release(&plan);
    rl_pmu_table_release(&made);
}

static void one_run_takes_all_flop_in_five_counters(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp", &icx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(plan.n_pass, 1);
    assert_string_equal(describe(&plan, 0),
                        "cpu c0 3c 3c7 4c7 18c7 60c7 80c7 151 1ff1 1b7/73c000477");
    assert_int_equal(gap(&plan, 0, "bytes_l3_wb"), RL_PMU_NOT_PLANNED);
    assert_int_equal(gap(&plan, 0, "flop_fp64_512"), RL_PMU_NOT_PLANNED);
    rl_pmu_plan_release(&plan);
}

/* 8 channels x 2 sockets x 2 directions; the ninth channel has no memory. */
static void memory_controllers_of_all_sockets_are_opened(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp", &icx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(system_slots(&plan, 0, "uncore_imc_*"), 32);
    assert_int_equal(system_slots(&plan, 0, "uncore_imc_8"), 0);
    assert_int_equal(gap(&plan, 0, "bytes_dram_rd"), RL_PMU_FINE);
    rl_pmu_plan_release(&plan);
}

static void memory_controllers_need_privileges(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp", &icx);
    host.paranoid = 2;
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(system_slots(&plan, 0, "*"), 0);
    assert_int_equal(gap(&plan, 0, "bytes_dram_rd"), RL_PMU_SYSTEM_ONLY);
    rl_pmu_plan_release(&plan);
    host.is_privileged = true;
    plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(system_slots(&plan, 0, "*"), 32);
    rl_pmu_plan_release(&plan);
}

static void no_group_is_larger_than_the_counters(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp", &icx);
    host.has_watchdog = true;
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.capacity[0], 7);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 1c7 4c7 10c7 40c7 151 1ff1 40f0");
    rl_pmu_plan_release(&plan);
}

/* Four counters with SMT, and the watchdog holds one of them: fp64 does not fit together. */
static void skylake_sp_with_watchdog_has_three_counters(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("skylake-sp", &skx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.capacity[0], 3);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 1c7 4c7 10c7");
    rl_pmu_plan_release(&plan);
    host.has_watchdog = false;
    plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 1c7 4c7 10c7 40c7");
    assert_string_equal(describe(&plan, 1), "cpu c0 3c 151 1ff1 40f0 10f0");
    assert_string_equal(describe(&plan, 2), "cpu c0 3c 1b7/3fbc000491 1bb/3fbc000122 81d0 82d0");
    assert_string_equal(describe(&plan, 3), "cpu c0 3c 2c7 8c7 20c7 80c7");
    assert_int_equal(plan.n_pass, 4);
    rl_pmu_plan_release(&plan);
    host.has_smt = false;
    plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.capacity[0], 8);
    assert_int_equal(plan.n_pass, 2);
    rl_pmu_plan_release(&plan);
}

static void hybrids_count_on_both_kinds_of_core(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("alderlake", &adl);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(plan.n_core, 2);
    assert_int_equal(plan.device[0].type, 4);
    assert_int_equal(plan.device[1].type, 10);
    assert_string_equal(describe(&plan, 0),
                        "cpu_core c0 3c 3c7 4c7 18c7 20c7 151 1f25 4023; cpu_atom c0 3c");
    assert_int_equal(gap(&plan, 1, "flop_any"), RL_PMU_NO_ROW);
    rl_pmu_plan_release(&plan);
}

/* A FLOP event is wide and takes two of the six counters. */
static void zen_flop_takes_a_pair(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("zen3", &zen3);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 0);
    assert_string_equal(describe(&plan, 0), "cpu f03 5f44 864 1f71 1f72");
    assert_string_equal(describe(&plan, 1), "cpu 4844 1f72 76 c0");
    assert_int_equal(gap(&plan, 0, "bytes_l2_wb"), RL_PMU_NO_ROW);
    rl_pmu_plan_release(&plan);
}

static void zen5_tells_precisions_apart_in_further_runs(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("zen5", &zen5);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_string_equal(describe(&plan, 0), "cpu f03 df44 10000de65 100004865 76");
    assert_string_equal(describe(&plan, 1), "cpu 8f03 af03 2f03");
    assert_string_equal(describe(&plan, 2), "cpu 4f03 6f03 c0 129");
    rl_pmu_plan_release(&plan);
}

/* Eight channels, four counters: the sum needs two runs. */
static void zen3_data_fabric_needs_two_runs(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("zen3", &zen3);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 0);
    assert_int_equal(system_slots(&plan, 0, "amd_df"), 4);
    assert_int_equal(system_slots(&plan, 1, "amd_df"), 4);
    rl_pmu_plan_release(&plan);
}

static void a_guest_without_offcore_register_has_no_memory_traffic(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("icelake-sp-guest", &icx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(gap(&plan, 0, "bytes_dram_core_rd"), RL_PMU_FORMAT);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 3c7 4c7 18c7 60c7 80c7 151 1ff1 40f0");
    rl_pmu_plan_release(&plan);
}

static void a_guest_without_pmu_counts_nothing_and_says_so(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("guest-without-pmu", &icx);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.why, RL_PMU_NO_PMU);
    assert_int_equal(plan.n_pass, 0);
    rl_pmu_plan_release(&plan);
}

static void an_unknown_processor_counts_nothing_and_says_so(void **state)
{
    (void)state;
    const struct processor next = {"AuthenticAMD", 0x1b, 0x01, 0, true};
    struct rl_pmu_host host = host_of("zen5", &next);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_FULL, 0);
    assert_int_equal(plan.why, RL_PMU_UNKNOWN_CORE);
    rl_pmu_plan_release(&plan);
}

/* Rocket Lake's events on a core with tiles would count something else under the same numbers. */
static void a_processor_that_is_not_what_it_says_counts_nothing_and_says_so(void **state)
{
    (void)state;
    char root[] = SOURCE_DIR "/tests/fixture/machine/icelake-sp";
    struct rl_cpu cpu = {.vendor = "GenuineIntel", .family = 6, .model = 0xa7, .stepping = 1};
    struct rl_pmu_host host;
    cpu.features = rl_feature_find("avx512f", 7);
    rl_pmu_host_detect(root, &cpu, &host);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(plan.why, RL_PMU_FINE);
    rl_pmu_plan_release(&plan);

    cpu.features |= rl_feature_find("amx_tile", 8);
    rl_pmu_host_detect(root, &cpu, &host);
    plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(plan.why, RL_PMU_CONTRADICTED);
    assert_int_equal(plan.n_core, 0);
    assert_int_equal(plan.n_pass, 0);
    rl_pmu_plan_release(&plan);
}

static void haswell_has_traffic_and_no_flop(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("paranoid-4", &hsw);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(gap(&plan, 0, "flop_any"), RL_PMU_NO_ROW);
    assert_string_equal(describe(&plan, 0), "cpu c0 3c 151 7f1 1b7/3fffc007f7 40f0 10f0");
    rl_pmu_plan_release(&plan);
}

static void arm_multiplies_by_the_length_of_vectors(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("neoverse-v1", &arm);
    assert_string_equal(host.maker, "arm");
    assert_int_equal(host.vector_bits, 256);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_string_equal(describe(&plan, 0), "armv8_pmuv3_0 11 80c0 80c1 3 15 17 18");
    rl_pmu_plan_release(&plan);
    host.vector_bits = 0;
    plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(gap(&plan, 0, "flop_any"), RL_PMU_NO_ROW);
    rl_pmu_plan_release(&plan);
}

static void events_that_only_the_kernel_numbers_are_taken_from_it(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("grace", &arm);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    assert_int_equal(system_slots(&plan, 0, "nvidia_scf_pmu_*"), 2);
    for (size_t i = 0; i < plan.pass[0].n_slot; i++) {
        const struct rl_pmu_slot *slot = &plan.pass[0].slot[i];
        if (slot->cpu >= 0)
            assert_int_equal(slot->config,
                             strcmp(slot->event->sysfs, "cmem_rd_data") ? 0x19b : 0x1a5);
    }
    rl_pmu_plan_release(&plan);
}

static void the_kernel_s_scale_of_a_free_running_counter_wins(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("skylake-client", &skl);
    struct rl_pmu_plan plan = plan_of(&host, RL_PMU_QUICK, 1);
    size_t n = 0;
    for (size_t i = 0; i < plan.pass[0].n_slot; i++) {
        const struct rl_pmu_slot *slot = &plan.pass[0].slot[i];
        if (slot->cpu < 0)
            continue;
        n++;
        assert_true(slot->bytes > 63.999 && slot->bytes < 64.001);
    }
    assert_int_equal(n, 2);
    rl_pmu_plan_release(&plan);
}

static void bits_that_the_kernel_cannot_place_are_refused(void **state)
{
    (void)state;
    struct rl_pmu_host host = host_of("zen3", &zen3);
    assert_null(rl_pmu_format_lacks(&host, "cpu", UINT64_C(0x100003807), 0));
    assert_string_equal(rl_pmu_format_lacks(&host, "cpu", UINT64_C(0x1000003807), 0), "config");
    assert_string_equal(rl_pmu_format_lacks(&host, "cpu", 0xf03, 1), "offcore_rsp");
    assert_string_equal(rl_pmu_format_lacks(&host, "nothing", 0xf03, 0), "config");
}

static void cpu_lists_are_read(void **state)
{
    (void)state;
    int cpu[4];
    assert_int_equal(rl_pmu_cpu_list("0,28", cpu, 4), 2);
    assert_int_equal(cpu[1], 28);
    assert_int_equal(rl_pmu_cpu_list("3-9", cpu, 4), 4);
    assert_int_equal(cpu[3], 6);
    assert_int_equal(rl_pmu_cpu_list("", cpu, 4), 0);
    assert_int_equal(rl_pmu_cpu_list("x", cpu, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(icelake_sp_takes_fp64_and_all_traffic_in_one_run),
        cmocka_unit_test(traffic_takes_the_first_four_counters_only),
        cmocka_unit_test(two_offcore_registers_serve_two_events),
        cmocka_unit_test(one_run_takes_all_flop_in_five_counters),
        cmocka_unit_test(memory_controllers_of_all_sockets_are_opened),
        cmocka_unit_test(memory_controllers_need_privileges),
        cmocka_unit_test(no_group_is_larger_than_the_counters),
        cmocka_unit_test(skylake_sp_with_watchdog_has_three_counters),
        cmocka_unit_test(hybrids_count_on_both_kinds_of_core),
        cmocka_unit_test(zen_flop_takes_a_pair),
        cmocka_unit_test(zen5_tells_precisions_apart_in_further_runs),
        cmocka_unit_test(zen3_data_fabric_needs_two_runs),
        cmocka_unit_test(a_guest_without_offcore_register_has_no_memory_traffic),
        cmocka_unit_test(a_guest_without_pmu_counts_nothing_and_says_so),
        cmocka_unit_test(an_unknown_processor_counts_nothing_and_says_so),
        cmocka_unit_test(a_processor_that_is_not_what_it_says_counts_nothing_and_says_so),
        cmocka_unit_test(haswell_has_traffic_and_no_flop),
        cmocka_unit_test(arm_multiplies_by_the_length_of_vectors),
        cmocka_unit_test(events_that_only_the_kernel_numbers_are_taken_from_it),
        cmocka_unit_test(the_kernel_s_scale_of_a_free_running_counter_wins),
        cmocka_unit_test(bits_that_the_kernel_cannot_place_are_refused),
        cmocka_unit_test(cpu_lists_are_read),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
