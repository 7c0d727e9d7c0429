/* data/events is well formed, says nothing twice, uses no encoding that is banned, and encodes as
 * libpfm4 does. */
#include "../support/cmocka_all.h"

#include "count/perf_event/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if ROOFLINE_HAVE_PFM
#include <perfmon/pfmlib.h>
#endif

static struct rl_pmu_table table;

static int load(void **state)
{
    (void)state;
    struct rl_error err = {0};
    enum rl_status status = rl_pmu_table_load(&table, &err);
    if (status != RL_OK)
        print_error("%s\n", err.text);
    return status == RL_OK ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    rl_pmu_table_release(&table);
    return 0;
}

#define EACH_EVENT(core, event)                                                                    \
    for (const struct rl_pmu_core *core = table.core; core < table.core + table.n_core; core++)    \
        for (const struct rl_pmu_event *event = core->event; event < core->event + core->n_event;  \
             event++)

static void forty_four_cores_and_their_rows_are_there(void **state)
{
    (void)state;
    size_t n = 0;
    EACH_EVENT(core, event)
    n++;
    assert_int_equal(table.n_core, 44);
    assert_true(n > 780);
}

static void no_core_adds_the_same_event_to_a_metric_twice(void **state)
{
    (void)state;
    EACH_EVENT(core, event)
    {
        for (const struct rl_pmu_event *other = event + 1; other < core->event + core->n_event;
             other++) {
            bool same = other->metric == event->metric && !strcmp(other->pmu, event->pmu) &&
                        other->config == event->config && other->config1 == event->config1 &&
                        event->has_config;
            if (same)
                fail_msg("%s: %s twice", core->name, rl_pmu_metric[event->metric].name);
        }
    }
}

static void what_has_no_event_has_no_other_row(void **state)
{
    (void)state;
    EACH_EVENT(core, event)
    {
        if (event->certainty != RL_PMU_NONE)
            continue;
        assert_non_null(event->note);
        assert_false(event->has_config);
        for (size_t i = 0; i < core->n_event; i++)
            assert_true(&core->event[i] == event || core->event[i].metric != event->metric);
    }
}

static double expected_weight(const struct rl_pmu_metric *m)
{
    unsigned bytes = m->precisions == 1u << RL_FP64   ? 8
                     : m->precisions == 1u << RL_FP32 ? 4
                     : m->precisions == 1u << RL_FP16 ? 2
                                                      : 0;
    unsigned bits = m->widths == RL_PMU_128   ? 128
                    : m->widths == RL_PMU_256 ? 256
                    : m->widths == RL_PMU_512 ? 512
                                              : 0;
    if (m->widths == RL_PMU_SCALAR)
        return 1;
    return bytes && bits ? bits / 8.0 / bytes : 0;
}

static void a_count_of_vectors_weighs_their_lanes(void **state)
{
    (void)state;
    size_t n = 0;
    EACH_EVENT(core, event)
    {
        const struct rl_pmu_metric *m = &rl_pmu_metric[event->metric];
        double weight = m->kind == RL_PMU_FLOP ? expected_weight(m) : 0;
        if (!weight || event->certainty == RL_PMU_NONE)
            continue;
        n++;
        if (event->weight != weight)
            fail_msg("%s: %s weighs %g", core->name, m->name, event->weight);
    }
    assert_true(n > 150);
}

static void bytes_come_in_whole_lines(void **state)
{
    (void)state;
    EACH_EVENT(core, event)
    {
        const struct rl_pmu_metric *m = &rl_pmu_metric[event->metric];
        double line = strcmp(core->name, "a64fx") == 0 ? 256 : 64;
        if (m->kind != RL_PMU_BYTES || event->certainty == RL_PMU_NONE ||
            strncmp(event->pmu, "nvidia", 6) == 0)
            continue;
        if (event->weight != line && event->weight != -line)
            fail_msg("%s: %s weighs %g", core->name, m->name, event->weight);
    }
}

/* 0x3c7 = scalar fp64 and fp32, so that the parts of flop_any are those of the typed metrics. */
static void the_parts_of_all_flop_are_those_of_the_typed_rows(void **state)
{
    (void)state;
    for (const struct rl_pmu_core *core = table.core; core < table.core + table.n_core; core++) {
        unsigned any = 0;
        unsigned typed = 0;
        for (size_t i = 0; i < core->n_event; i++) {
            const struct rl_pmu_event *event = &core->event[i];
            const struct rl_pmu_metric *m = &rl_pmu_metric[event->metric];
            bool is_arith = (event->config & 0xff) == 0xc7 && strcmp(core->maker, "intel") == 0;
            if (is_arith && strcmp(m->name, "flop_any") == 0)
                any |= (unsigned)event->config >> 8;
            else if (is_arith && m->kind == RL_PMU_FLOP)
                typed |= (unsigned)event->config >> 8;
        }
        assert_int_equal(any, typed);
    }
}

static void no_row_uses_an_encoding_that_is_banned(void **state)
{
    (void)state;
    EACH_EVENT(core, event)
    {
        const struct rl_pmu_ban *ban = rl_pmu_ban_find(&table, core, event);
        if (ban)
            fail_msg("%s %s: %s", core->name, rl_pmu_metric[event->metric].name, ban->reason);
    }
}

static void bans_catch_what_they_name(void **state)
{
    (void)state;
    struct rl_pmu_event event = {.pmu = "core", .has_config = true, .config = 0x7c6};
    event.metric = rl_pmu_metric_find("flop_any");
    assert_non_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "haswell-ep"), &event));
    assert_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "skylake"), &event));
    event.config = 0xa003;
    assert_non_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "zen5"), &event));
    event.config = 0xaf03;
    assert_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "zen5"), &event));
    event.config = 0xf03;
    assert_non_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "zen4"), &event));
    event.config = 0x20cf;
    assert_non_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "cascadelake"), &event));
    assert_null(rl_pmu_ban_find(&table, rl_pmu_core_find(&table, "cooperlake"), &event));
}

static void every_core_that_counts_has_both_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < table.n_core; i++) {
        const struct rl_pmu_core *core = &table.core[i];
        if (!core->plan)
            continue;
        assert_non_null(rl_pmu_order_find(&table, core, "quick"));
        assert_non_null(rl_pmu_order_find(&table, core, "full"));
    }
}

static void orders_name_metrics_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < table.n_order; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s", table.order[i].metrics);
        for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
            bool known = false;
            for (size_t m = 0; m < RL_PMU_METRICS; m++)
                known = known || rl_pmu_fits(word, rl_pmu_metric[m].name);
            if (!known)
                fail_msg("%s: no metric %s", table.order[i].plan, word);
        }
    }
}

struct identity {
    const char *maker;
    unsigned family, model, stepping;
    const char *core[2];
};

static void processors_are_told_apart(void **state)
{
    (void)state;
    static const struct identity rows[] = {
        {"intel", 6, 0x55, 4, {"skylake-sp", NULL}},
        {"intel", 6, 0x55, 7, {"cascadelake", NULL}},
        {"intel", 6, 0x55, 11, {"cooperlake", NULL}},
        {"intel", 6, 0x6c, 1, {"icelake-sp", NULL}},
        {"intel", 6, 0x97, 2, {"alderlake-p", "alderlake-e"}},
        {"intel", 6, 0xbe, 0, {"alderlake-e", NULL}},
        {"intel", 6, 0xcc, 0, {"pantherlake-p", NULL}},
        {"intel", 6, 0xff, 0, {NULL, NULL}},
        {"amd", 0x17, 0x01, 0, {"zen1", NULL}},
        {"amd", 0x17, 0x31, 0, {"zen2", NULL}},
        {"amd", 0x19, 0x01, 0, {"zen3", NULL}},
        {"amd", 0x19, 0x61, 0, {"zen4", NULL}},
        {"amd", 0x19, 0x7c, 0, {"zen4", NULL}},
        {"amd", 0x19, 0xa1, 0, {"zen4", NULL}},
        {"amd", 0x1a, 0x02, 0, {"zen5", NULL}},
        {"amd", 0x1a, 0x50, 0, {NULL, NULL}},
        {"arm", 0x41, 0xd40, 0, {"neoverse-v1", NULL}},
        {"arm", 0x46, 0x001, 0, {"a64fx", NULL}},
        {"intel", 6, 0xd40, 0, {NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rl_pmu_core *core[2] = {NULL, NULL};
        size_t n = rl_pmu_core_identify(&table, rows[i].maker, rows[i].family, rows[i].model,
                                        rows[i].stepping, core);
        for (size_t k = 0; k < 2; k++) {
            const char *name = k < n ? core[k]->name : NULL;
            if (!name != !rows[i].core[k] || (name && strcmp(name, rows[i].core[k]) != 0))
                fail_msg("row %zu: %s", i, name ? name : "nothing");
        }
    }
}

static void faults_are_named_with_file_and_line(void **state)
{
    (void)state;
    static const char cores[] =
        "uarch\tmaker\tids\tkind\tcounters\tcounters_smt\tplan\tflop\tl3\tsource\tnote\n"
        "x\tintel\t6:1\t-\t4\t4\tp\tretired\tvictim\t-\t-\n";
    static const char head[] = "uarch\tmetric\tpmu\tconfig\tconfig1\tsysfs\tweight\tplace\tscope\t"
                               "certainty\tevent\tlibpfm4\tsource\tnote\n";
    static const char orders[] = "plan\tdetail\tmetrics\n";
    static const char bans[] = "uarch\tpmu\tconfig\tmask\tmetric\treason\tsource\n";
    static const char *const row[] = {
        "y\tcycles\tcore\t0x3c\t-\t-\t1\tany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tflops\tcore\t0x3c\t-\t-\t1\tany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t0xzz\t-\t-\t1\tany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t-\t-\t-\t1\tany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t0x3c\t-\t-\t0\tany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t0x3c\t-\t-\t1\tmany\tthread\tvendor\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t0x3c\t-\t-\t1\tany\tthread\tsure\t-\t-\ts\t-\n",
        "x\tcycles\tcore\t0x3c\t-\t-\t1\tany\tthread\n",
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char events[1024];
        struct rl_error err = {0};
        struct rl_pmu_table out;
        snprintf(events, sizeof events, "%s%s", head, row[i]);
        const struct rl_pmu_texts texts = {cores, events, orders, bans};
        assert_int_equal(rl_pmu_table_parse(&texts, &out, &err), RL_EDATA);
        assert_non_null(strstr(err.text, "events.tsv:2"));
    }
}

#if ROOFLINE_HAVE_PFM
/* PFM_OS_NONE codes hold enable, privilege and interrupt bits beside the event: x86 the byte
 * 0x53 … 0x51 in bits 16-23, Arm bits 27-31. */
static uint64_t bare(const struct rl_pmu_core *core, const struct rl_pmu_event *event,
                     uint64_t code)
{
    if (event->is_system && strcmp(core->maker, "intel") == 0)
        return code;
    if (strcmp(core->maker, "arm") == 0)
        return code & 0xffff;
    return code & ~UINT64_C(0x730000);
}

static int compare(const struct rl_pmu_core *core, const struct rl_pmu_event *event)
{
    uint64_t *codes = NULL;
    int count = 0;
    pfm_pmu_encode_arg_t arg = {.codes = codes, .count = count, .size = sizeof arg};
    int ret = pfm_get_os_event_encoding(event->event, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg);
    if (ret != PFM_SUCCESS)
        return ret == PFM_ERR_NOTFOUND ? 0 : -1;
    uint64_t config = bare(core, event, arg.codes[0]);
    uint64_t config1 = arg.count > 1 ? arg.codes[1] : 0;
    free(arg.codes);
    return config == event->config && config1 == event->config1 ? 1 : -1;
}

static void libpfm4_encodes_the_same(void **state)
{
    (void)state;
    unsigned compared = 0;
    unsigned unknown = 0;
    unsigned different = 0;
    bool is_newer = false;
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    assert_int_equal(pfm_initialize(), PFM_SUCCESS);
    print_message("libpfm4 %d.%d\n", PFM_MAJ_VERSION(pfm_get_version()),
                  PFM_MIN_VERSION(pfm_get_version()));
    EACH_EVENT(core, event)
    {
        if (!event->event || !event->libpfm4)
            continue;
        int same = compare(core, event);
        if (same < 0 && strcmp(event->libpfm4, "4.13") == 0)
            print_error("%s %s: %s is encoded differently\n", core->name,
                        rl_pmu_metric[event->metric].name, event->event);
        different += same < 0 && strcmp(event->libpfm4, "4.13") == 0;
        is_newer = is_newer || (same != 0 && strcmp(event->libpfm4, "newer") == 0);
        compared += same > 0;
        unknown += same == 0;
    }
    pfm_terminate();
    print_message("%u events compared, %u are unknown to this libpfm4\n", compared, unknown);
    if (different && is_newer)
        skip();
    assert_int_equal(different, 0);
#if defined(__x86_64__)
    assert_true(compared >= 338);
#endif
}
#else
static void libpfm4_encodes_the_same(void **state)
{
    (void)state;
    print_message("libpfm4 is not installed\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forty_four_cores_and_their_rows_are_there),
        cmocka_unit_test(no_core_adds_the_same_event_to_a_metric_twice),
        cmocka_unit_test(what_has_no_event_has_no_other_row),
        cmocka_unit_test(a_count_of_vectors_weighs_their_lanes),
        cmocka_unit_test(bytes_come_in_whole_lines),
        cmocka_unit_test(the_parts_of_all_flop_are_those_of_the_typed_rows),
        cmocka_unit_test(no_row_uses_an_encoding_that_is_banned),
        cmocka_unit_test(bans_catch_what_they_name),
        cmocka_unit_test(every_core_that_counts_has_both_orders),
        cmocka_unit_test(orders_name_metrics_only),
        cmocka_unit_test(processors_are_told_apart),
        cmocka_unit_test(faults_are_named_with_file_and_line),
        cmocka_unit_test(libpfm4_encodes_the_same),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
