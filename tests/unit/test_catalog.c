/* The built-in catalogue is well formed and finds cores; malformed text is refused by line. */
#include "catalog/catalog.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct rl_catalog catalog;

static int load(void **state)
{
    (void)state;
    struct rl_error err = {0};
    int failed = rl_catalog_load(&catalog, &err) != RL_OK;
    if (failed)
        print_error("%s\n", err.text);
    return failed;
}

static int unload(void **state)
{
    (void)state;
    rl_catalog_release(&catalog);
    return 0;
}

static void every_core_has_identifiers_and_the_basic_limits(void **state)
{
    (void)state;
    static const char *const needed[] = {"ids", "vector_bits", "fp64_fma_flop", "fp32_fma_flop"};
    assert_int_equal(catalog.n_core, 42);
    for (size_t i = 0; i < catalog.n_core; i++)
        for (size_t k = 0; k < sizeof needed / sizeof needed[0]; k++)
            if (!rl_core_spec(&catalog.core[i], needed[k]))
                fail_msg("%s lacks %s", catalog.core[i].name, needed[k]);
}

static const char *const metrics[] = {
    "amx_bf16_flop",
    "amx_fp16_flop",
    "amx_int8_op",
    "bf16_dot_flop",
    "bf16_mmla_flop",
    "div_fp64_vec_cycles",
    "features",
    "fma512_units",
    "fma512_units_low_sku",
    "fma_latency_cycles",
    "fma_pipe_bits",
    "fma_pipes",
    "fma_plus_add_flop",
    "fma_plus_add_flop_256",
    "fma_plus_add_flop_measured",
    "fp16_fma_flop",
    "fp32_fma_flop",
    "fp64_add_flop",
    "fp64_fma_flop",
    "fp64_fma_flop_1fma512",
    "fp64_mul_flop",
    "ids",
    "int8_dot_op",
    "int8_mmla_op",
    "l1_load_bytes",
    "l1_load_store_bytes",
    "l1_store_bytes",
    "l1_triad_bytes_measured",
    "l1_to_l2_bytes",
    "l1d_bytes",
    "l1i_bytes",
    "l2_bytes",
    "l2_to_l1_bytes",
    "l2_to_l1_bytes_measured",
    "l3_to_l2_bytes_per_core",
    "l3_to_l2_bytes_per_core_measured",
    "line_bytes",
    "load_latency_l1_cycles",
    "load_latency_l2_cycles",
    "load_latency_l3_cycles",
    "load_latency_mid_cache_cycles",
    "mid_cache_bytes",
    "nop_per_cycle",
    "reorder_entries",
    "sqrt_fp64_vec_cycles",
    "vector_bits",
};

static void every_metric_is_a_known_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog.n_core; i++)
        for (size_t k = 0; k < catalog.core[i].n_spec; k++) {
            int known = 0;
            for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++)
                known |= strcmp(metrics[m], catalog.core[i].spec[k].metric) == 0;
            if (!known)
                fail_msg("%s: unknown metric %s", catalog.core[i].name,
                         catalog.core[i].spec[k].metric);
        }
}

static void fp32_is_never_slower_than_fp64_and_pipes_agree_with_rates(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog.n_core; i++) {
        const struct rl_core *core = &catalog.core[i];
        double fp64 = rl_core_value(core, "fp64_fma_flop");
        if (rl_core_value(core, "fp32_fma_flop") < fp64)
            fail_msg("%s: fp32 below fp64", core->name);
        double sum = rl_core_value(core, "fma_plus_add_flop");
        if (sum > 0 && sum < fp64)
            fail_msg("%s: fma+add below fma", core->name);
        if (rl_core_value(core, "fma_plus_add_flop_measured") > 1.05 * sum)
            fail_msg("%s: measured fma+add above the pipes", core->name);
        if (rl_core_value(core, "l1_load_bytes") > 256)
            fail_msg("%s: l1_load_bytes", core->name);
    }
}

static void processors_are_found_by_signature(void **state)
{
    (void)state;
    const struct rl_core *core = rl_catalog_x86(&catalog, "AuthenticAMD", 25, 1, 1, 0);
    assert_non_null(core);
    assert_string_equal(core->name, "amd-zen3");
    assert_true(fabs(rl_core_value(core, "fp64_fma_flop") - 16) < 1e-12);
    assert_true(fabs(rl_core_value(core, "div_fp64_vec_cycles") - 4.5) < 1e-12);
    core = rl_catalog_x86(&catalog, "AuthenticAMD", 26, 2, 1, 0);
    assert_string_equal(core->name, "amd-zen5");
    assert_null(rl_catalog_x86(&catalog, "GenuineIntel", 25, 1, 1, 0));
    assert_null(rl_catalog_x86(&catalog, "", 0, 0, 0, 0));
}

static void arm_processors_are_found_by_implementer_and_part(void **state)
{
    (void)state;
    struct rl_cpu cpu = {.is_arm = true, .vendor = "ARM", .family = 0x41, .model = 0xd40};
    assert_string_equal(rl_catalog_find(&catalog, &cpu)->name, "arm-neoverse-v1");
    assert_string_equal(rl_catalog_arm(&catalog, 0x46, 0x001)->name, "fujitsu-a64fx");
    assert_string_equal(rl_catalog_arm(&catalog, 0xc0, 0xac4)->name, "ampere-ampereone");
    assert_string_equal(rl_catalog_arm(&catalog, 0x41, 0xd4f)->name, "arm-neoverse-v2");
    assert_null(rl_catalog_arm(&catalog, 0x41, 0xfff));
    assert_null(rl_catalog_arm(&catalog, 6, 0x55)); /* an x86 signature is none */
    cpu = (struct rl_cpu){.vendor = "AuthenticAMD", .family = 25, .model = 1};
    assert_string_equal(rl_catalog_find(&catalog, &cpu)->name, "amd-zen3");
}

static void steppings_and_core_kinds_tell_cores_apart(void **state)
{
    (void)state;
    assert_string_equal(rl_catalog_x86(&catalog, "GenuineIntel", 6, 0x55, 4, 0)->name,
                        "intel-skylake-server");
    assert_string_equal(rl_catalog_x86(&catalog, "GenuineIntel", 6, 0x55, 7, 0)->name,
                        "intel-cascadelake-server");
    assert_string_equal(rl_catalog_x86(&catalog, "GenuineIntel", 6, 0x97, 2, 0x40)->name,
                        "intel-golden-cove");
    assert_string_equal(rl_catalog_x86(&catalog, "GenuineIntel", 6, 0x97, 2, 0x20)->name,
                        "intel-gracemont");
}

static void absent_values_are_absent(void **state)
{
    (void)state;
    assert_null(rl_core_spec(NULL, "fp64_fma_flop"));
    assert_null(rl_core_spec(rl_catalog_core(&catalog, "amd-zen5"), "no_such_metric"));
    assert_null(rl_catalog_core(&catalog, "no-such-core"));
}

static void refused(const char *text, const char *where)
{
    struct rl_catalog broken = {0};
    struct rl_error err = {0};
    assert_int_equal(rl_catalog_parse(text, strlen(text), "t.tsv", &broken, &err), RL_EDATA);
    assert_non_null(strstr(err.text, where));
    assert_null(broken.text);
}

#define HEAD "core\tmetric\tvalue\tunit\tcertainty\tsource\tnote\n"

static void malformed_rows_are_refused_with_their_line(void **state)
{
    (void)state;
    refused("core\tmetric\n", "t.tsv:1");
    refused("core\tmetric\tvalue\tunit\tsure\tsource\tnote\n", "\"sure\"");
    refused("# c\n" HEAD "a\tb\t1\tu\tverified\ts\n", "t.tsv:3: 6 columns");
    refused(HEAD "a\tb\tx\tu\tverified\ts\tn\n", "\"x\" is not a positive number");
    refused(HEAD "a\tb\t1\tu\tsurely\ts\tn\n", "\"surely\"");
    refused(HEAD "a\tb\t1\tu\tverified\t\tn\n", "source is empty");
    refused(HEAD "a\tb\t1\tu\tverified\ts\tn\na\tb\t2\tu\tverified\ts\tn\n", "two rows");
    refused(HEAD "a\tb\t1\tu\tverified\ts\tn\nc\tb\t1\tu\tverified\ts\tn\na\td\t1\tu\tverified\t"
                 "s\tn\n",
            "t.tsv:4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_core_has_identifiers_and_the_basic_limits),
        cmocka_unit_test(every_metric_is_a_known_one),
        cmocka_unit_test(fp32_is_never_slower_than_fp64_and_pipes_agree_with_rates),
        cmocka_unit_test(processors_are_found_by_signature),
        cmocka_unit_test(arm_processors_are_found_by_implementer_and_part),
        cmocka_unit_test(steppings_and_core_kinds_tell_cores_apart),
        cmocka_unit_test(absent_values_are_absent),
        cmocka_unit_test(malformed_rows_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
