/* Recorded readings of counters become the same FLOP and bytes to the last bit, worked out by hand
 * here, and the same text again. */
#include "../support/cmocka_all.h"

#include "base/file.h"
#include "count/perf_event/counts.h"

#include <stdio.h>
#include <stdlib.h>
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

static char *text_of(const char *name)
{
    char path[200];
    char *text;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/fixture/counts/%s", name);
    assert_int_equal(rl_file_read(path, 1 << 20, &text, NULL, NULL), RL_OK);
    return text;
}

static struct rl_pmu_readings readings_of(const char *name)
{
    struct rl_pmu_readings readings;
    struct rl_error err = {0};
    char *text = text_of(name);
    if (rl_pmu_readings_parse(text, name, &table, &readings, &err) != RL_OK)
        fail_msg("%s", err.text);
    free(text);
    return readings;
}

static struct rl_pmu_trust all_tested(void)
{
    struct rl_pmu_trust trust;
    for (size_t i = 0; i < 2 * RL_PMU_METRICS; i++)
        trust.verdict[i / RL_PMU_METRICS][i % RL_PMU_METRICS] =
            (struct rl_pmu_verdict){RL_PMU_FINE, 1};
    return trust;
}

static struct rl_pmu_counts counts_of(const char *name)
{
    struct rl_pmu_readings readings = readings_of(name);
    struct rl_pmu_trust trust = all_tested();
    struct rl_pmu_counts counts;
    rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
    rl_pmu_readings_release(&readings);
    return counts;
}

/* fp64 1000 + 2 x 2000 + 4 x 3000 + 8 x 4000 = 49000; fp32 7 + 16 x 11 = 183. */
static void flop_are_lanes_times_counts(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("icelake-sp.tsv");
    assert_true(counts.flop_of[RL_FP64].value.value == 49000);
    assert_true(counts.flop_of[RL_FP32].value.value == 183);
    assert_true(counts.flop.value.value == 49183);
    assert_false(rl_known(counts.flop_of[RL_FP16].value));
}

static void bytes_are_lines_times_counts(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("icelake-sp.tsv");
    const struct rl_pmu_level *l2 = &counts.level[RL_PMU_LEVEL_L2];
    const struct rl_pmu_level *l3 = &counts.level[RL_PMU_LEVEL_L3];
    assert_true(l2->fill.value.value == 64.0 * 1000003);
    assert_true(l2->total.value.value == 64.0 * 1600003);
    assert_true(l3->total.value.value == 64.0 * 600);
    assert_true(counts.level[RL_PMU_LEVEL_DRAM].fill.value.value == 64.0 * 300);
}

/* What a core cannot tell is unknown; two sockets' controllers are added up. */
static void write_backs_to_memory_come_from_the_controllers_only(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("icelake-sp.tsv");
    struct rl_kernel kernel = {0};
    assert_false(rl_known(counts.level[RL_PMU_LEVEL_DRAM].total.value));
    assert_true(counts.system_dram.total.value.value == 64.0 * 2 * (1000 + 250));
    assert_int_equal(rl_pmu_counts_fill(&counts, &kernel, NULL), RL_OK);
    const struct rl_traffic *dram = rl_kernel_find_traffic(&kernel, "DRAM");
    assert_non_null(dram);
    assert_true(dram->bytes.value == 160000);
    assert_int_equal(dram->bytes.source, RL_SOURCE_MEASURED);
    assert_true(rl_kernel_flop(&kernel).value == 49183);
    rl_kernel_release(&kernel);
}

static void the_same_text_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"icelake-sp.tsv", "alderlake-both.tsv", "zen3.tsv"};
    for (size_t i = 0; i < 3; i++) {
        char *text = text_of(names[i]);
        char *again = NULL;
        size_t size = 0;
        struct rl_pmu_readings readings = readings_of(names[i]);
        FILE *stream = open_memstream(&again, &size);
        assert_non_null(stream);
        assert_int_equal(rl_pmu_readings_write(&readings, stream, NULL), RL_OK);
        fclose(stream);
        assert_string_equal(again, text);
        struct rl_pmu_counts a = counts_of(names[i]);
        struct rl_pmu_counts b = counts_of(names[i]);
        assert_memory_equal(&a.flop.value, &b.flop.value, sizeof a.flop.value);
        assert_memory_equal(&a.level[0].fill.value, &b.level[0].fill.value,
                            sizeof a.level[0].fill.value);
        rl_pmu_readings_release(&readings);
        free(again);
        free(text);
    }
}

static void what_was_not_tested_has_no_value(void **state)
{
    (void)state;
    struct rl_pmu_readings readings = readings_of("icelake-sp.tsv");
    struct rl_pmu_trust trust;
    struct rl_pmu_counts counts;
    rl_pmu_trust_init(&trust);
    rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
    assert_int_equal(counts.flop.why, RL_PMU_UNTESTED);
    assert_int_equal(counts.level[RL_PMU_LEVEL_L2].fill.why, RL_PMU_UNTESTED);
    assert_true(rl_known(counts.instructions.value));
    trust = all_tested();
    trust.verdict[0][rl_pmu_metric_find("flop_fp64_512")] =
        (struct rl_pmu_verdict){RL_PMU_WRONG, 0.5};
    rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
    assert_int_equal(counts.flop.why, RL_PMU_WRONG);
    assert_non_null(strstr(counts.flop.detail, "0.5 times"));
    rl_pmu_readings_release(&readings);
}

/* Nothing of the one kind of core is missing where the program never ran on it. */
static void hybrids_are_whole_where_one_kind_was_not_used(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("alderlake-p-only.tsv");
    assert_true(counts.flop.value.value == 10 + 2 * 20 + 4 * 30 + 8 * 40);
    assert_true(counts.instructions.value.value == 5000);
}

/* 10 + 40 + 120 + 320 were counted on P cores; what E cores did is not known. */
static void hybrids_miss_what_the_other_kind_did(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("alderlake-both.tsv");
    assert_false(rl_known(counts.flop.value));
    assert_int_equal(counts.flop.why, RL_PMU_OTHER_CORE);
    assert_string_equal(counts.flop.detail, "alderlake-e");
    assert_true(counts.instructions.value.value == 8000);
}

static void time_on_both_kinds_must_add_up(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("alderlake-shared.tsv");
    assert_int_equal(counts.instructions.why, RL_PMU_SHARED);
    assert_false(rl_known(counts.flop.value));
}

/* Two runs, 98 and 102: mean 100, half the range 2 %. Fills from L3: 64 x (1 + 2 + 3). */
static void repeated_runs_give_a_mean_and_a_spread(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("zen3.tsv");
    assert_true(counts.flop.value.value == 100);
    assert_float_equal(counts.flop.value.spread, 0.02, 1e-12);
    assert_true(counts.level[RL_PMU_LEVEL_L3].fill.value.value == 384);
    assert_false(rl_known(counts.level[RL_PMU_LEVEL_L2].total.value));
    assert_int_equal(counts.level[RL_PMU_LEVEL_L2].total.why, RL_PMU_NO_ROW);
}

static void a_bound_is_no_value(void **state)
{
    (void)state;
    struct rl_pmu_counts counts = counts_of("sandybridge.tsv");
    assert_int_equal(counts.flop_of[RL_FP64].why, RL_PMU_BOUND);
    assert_non_null(strstr(counts.flop_of[RL_FP64].detail, "at most 70"));
    assert_false(rl_known(counts.flop.value));
}

static void damaged_text_is_refused_by_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "something\n",
        "roofline-counter-readings\t2\n",
        "roofline-counter-readings\t1\ncore\tz80\n",
        "roofline-counter-readings\t1\ngroup\t0\t-1\t1\t1\tfine\n",
        "roofline-counter-readings\t1\ncore\tzen3\nreading\t0\ngroup\t1\t-1\t1\t1\tfine\n",
        "roofline-counter-readings\t1\ncore\tzen3\nreading\t0\ngroup\t0\t-1\t1\t1\tperhaps\n",
        "roofline-counter-readings\t1\ncore\tzen3\nreading\t0\ngroup\t0\t-1\t1\t1\tfine\n"
        "count\tflop_any\tcore\t0xf04\t0x0\t-\t0x0p+0\t1\tfine\n",
        "roofline-counter-readings\t1\ncore\tzen3\nreading\t0\ngroup\t0\t-1\t1\t1\tfine\n"
        "count\tflop_any\tcore\t0xf03\t0x0\t-\t0x0p+0\t-1\tfine\n",
        "roofline-counter-readings\t1\ncount\tflop_any\tcore\t0xf03\t0x0\t-\t0x0p+0\t1\tfine\n",
        "roofline-counter-readings\t1\na\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rl_pmu_readings readings;
        struct rl_error err = {0};
        assert_int_equal(rl_pmu_readings_parse(bad[i], "x", &table, &readings, &err), RL_EDATA);
        assert_non_null(strstr(err.text, "x:"));
    }
}

/* Every way of cutting a recording off or of damaging one byte ends well. */
static void no_damage_makes_it_crash(void **state)
{
    (void)state;
    char *text = text_of("alderlake-both.tsv");
    struct rl_pmu_trust trust = all_tested();
    for (size_t i = 0; text[i]; i++) {
        static const char damage[] = {'\0', '\t', '\n', '9', '-'};
        char kept = text[i];
        for (size_t j = 0; j < sizeof damage; j++) {
            struct rl_pmu_readings readings;
            struct rl_pmu_counts counts;
            text[i] = damage[j];
            if (rl_pmu_readings_parse(text, "x", &table, &readings, NULL) == RL_OK) {
                rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
                rl_pmu_readings_release(&readings);
            }
        }
        text[i] = kept;
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flop_are_lanes_times_counts),
        cmocka_unit_test(bytes_are_lines_times_counts),
        cmocka_unit_test(write_backs_to_memory_come_from_the_controllers_only),
        cmocka_unit_test(the_same_text_gives_the_same_bits),
        cmocka_unit_test(what_was_not_tested_has_no_value),
        cmocka_unit_test(hybrids_are_whole_where_one_kind_was_not_used),
        cmocka_unit_test(hybrids_miss_what_the_other_kind_did),
        cmocka_unit_test(time_on_both_kinds_must_add_up),
        cmocka_unit_test(repeated_runs_give_a_mean_and_a_spread),
        cmocka_unit_test(a_bound_is_no_value),
        cmocka_unit_test(damaged_text_is_refused_by_line),
        cmocka_unit_test(no_damage_makes_it_crash),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
