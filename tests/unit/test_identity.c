/* A processor is the core it names unless it offers instructions which that core never had; then it
 * is looked for by what it offers. */
#include "../support/cmocka_all.h"

#include "catalog/catalog.h"

#include <string.h>

static struct rl_catalog catalog;

static int load(void **state)
{
    (void)state;
    return rl_catalog_load(&catalog, NULL) == RL_OK ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    rl_catalog_release(&catalog);
    return 0;
}

static uint64_t features(const char *words)
{
    uint64_t all = 0;
    while (*words) {
        size_t n = strcspn(words, " ");
        uint64_t bit = rl_feature_find(words, n);
        if (!bit)
            fail_msg("no feature \"%.*s\"", (int)n, words);
        all |= bit;
        words += n;
        words += strspn(words, " ");
    }
    return all;
}

static struct rl_cpu intel(unsigned model, uint64_t offered)
{
    return (struct rl_cpu){
        .vendor = "GenuineIntel", .family = 6, .model = model, .features = offered};
}

static struct rl_cpu amd(unsigned family, unsigned model, uint64_t offered)
{
    return (struct rl_cpu){
        .vendor = "AuthenticAMD", .family = family, .model = model, .features = offered};
}

static struct rl_identity identify(const struct rl_cpu *cpu)
{
    struct rl_identity identity;
    assert_int_equal(rl_catalog_identify(&catalog, cpu, &identity, NULL), RL_OK);
    return identity;
}

static void is_believed(const struct rl_cpu *cpu, const char *core)
{
    struct rl_identity identity = identify(cpu);
    assert_false(identity.is_contradicted);
    assert_non_null(identity.core);
    assert_string_equal(identity.core->name, core);
    assert_string_equal(identity.name, core);
    assert_string_equal(identity.note, "");
    rl_identity_release(&identity);
}

static uint64_t of(const char *core)
{
    return rl_catalog_core(&catalog, core)->features;
}

static const uint64_t everything = ~UINT64_C(0);

static void every_core_is_consistent_with_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog.n_core; i++) {
        const struct rl_core *core = &catalog.core[i];
        if (strncmp(core->name, "intel-", 6) && strncmp(core->name, "amd-", 4))
            continue;
        if (!core->features)
            fail_msg("%s has no features", core->name);
    }
    struct rl_cpu cpu = intel(0x8f, of("intel-sapphirerapids"));
    is_believed(&cpu, "intel-sapphirerapids");
    cpu = intel(0xa7, of("intel-icelake-server")); /* Rocket Lake has what those have in common */
    is_believed(&cpu, "intel-icelake-client");
    cpu = intel(0x3c, features("fma avx2"));
    is_believed(&cpu, "intel-haswell");
    cpu = amd(25, 1, of("amd-zen3"));
    is_believed(&cpu, "amd-zen3");
}

static void masked_features_leave_the_core_what_it_is(void **state)
{
    (void)state;
    struct rl_cpu cpu = intel(0x6a, features("fma avx2 sha_ni")); /* AVX-512 hidden */
    is_believed(&cpu, "intel-icelake-server");
    cpu = intel(0x8f, 0);
    is_believed(&cpu, "intel-sapphirerapids");
    cpu = amd(26, 2, of("amd-zen2"));
    is_believed(&cpu, "amd-zen5");
}

/* Both kinds of a hybrid processor offer the same, whichever of them answers. */
static void cores_of_a_hybrid_processor_are_believed(void **state)
{
    (void)state;
    struct rl_cpu cpu = intel(0x97, of("intel-gracemont"));
    cpu.core_type = 0x40;
    is_believed(&cpu, "intel-golden-cove");
    cpu.core_type = 0x20;
    is_believed(&cpu, "intel-gracemont");
    cpu = intel(0xc6, of("intel-skymont"));
    cpu.core_type = 0x40;
    is_believed(&cpu, "intel-lion-cove");
}

/* Firmware of the first Alder Lakes could switch AVX-512 on. */
static void alder_lake_may_offer_avx512(void **state)
{
    (void)state;
    struct rl_cpu cpu = intel(0x97, of("intel-golden-cove") | features("avx512_fp16"));
    cpu.core_type = 0x40;
    is_believed(&cpu, "intel-golden-cove");
}

static void an_arm_processor_has_nothing_to_contradict_it(void **state)
{
    (void)state;
    struct rl_cpu cpu = {.is_arm = true, .vendor = "ARM", .family = 0x41, .model = 0xd40};
    is_believed(&cpu, "arm-neoverse-v1");
}

static void an_unknown_processor_stays_unknown(void **state)
{
    (void)state;
    struct rl_cpu cpu = intel(0xff, everything);
    struct rl_identity identity = identify(&cpu);
    assert_false(identity.is_contradicted);
    assert_null(identity.core);
    assert_null(identity.name);
    cpu = (struct rl_cpu){0};
    identity = identify(&cpu);
    assert_null(identity.core);
}

/* Rocket Lake by its model, with tiles, fp16 and the rest of a server two generations later. */
static struct rl_cpu liar(void)
{
    struct rl_cpu cpu = intel(0xa7, of("intel-sapphirerapids"));
    cpu.l1i_bytes = 32 << 10;
    cpu.l1d_bytes = 48 << 10;
    cpu.l2_bytes = 2 << 20;
    return cpu;
}

static void a_contradicted_model_gives_way_to_what_features_and_caches_say(void **state)
{
    (void)state;
    struct rl_cpu cpu = liar();
    struct rl_identity identity = identify(&cpu);
    assert_true(identity.is_contradicted);
    assert_string_equal(identity.name, "intel-sapphirerapids");
    assert_true(rl_core_value(identity.core, "fp64_fma_flop") == 32);
    assert_string_equal(
        identity.note, "CPUID names family 6 model 167, intel-icelake-client, but that core has no "
                       "amx_tile, amx_int8, amx_bf16 and 6 more; by its features and caches it is "
                       "intel-sapphirerapids");
    rl_identity_release(&identity);

    cpu.l1i_bytes = 64 << 10;
    identity = identify(&cpu);
    assert_string_equal(identity.name, "intel-graniterapids");
    rl_identity_release(&identity);

    cpu.features |= features("amx_fp16"); /* one core alone has it: caches need not be asked */
    cpu.l1i_bytes = cpu.l1d_bytes = cpu.l2_bytes = 0;
    identity = identify(&cpu);
    assert_string_equal(identity.name, "intel-graniterapids");
    assert_non_null(strstr(identity.note, "by its features it is intel-graniterapids"));
    rl_identity_release(&identity);
}

static void of_several_cores_limits_count_on_which_they_agree(void **state)
{
    (void)state;
    struct rl_cpu cpu = liar();
    cpu.l2_bytes = 4 << 20; /* no core's: made up, so that the sizes say nothing */
    struct rl_identity identity = identify(&cpu);
    assert_true(identity.is_contradicted);
    assert_null(identity.name);
    assert_non_null(strstr(identity.note, "it is intel-sapphirerapids or intel-graniterapids, and "
                                          "limits are those on which they agree"));
    assert_true(rl_core_value(identity.core, "fp64_fma_flop") == 32);
    assert_true(rl_core_value(identity.core, "amx_int8_op") == 2048);
    assert_null(rl_core_spec(identity.core, "l1i_bytes"));     /* they differ */
    assert_null(rl_core_spec(identity.core, "amx_fp16_flop")); /* one of them has none */
    assert_true(rl_core_value(identity.core, "l2_to_l1_bytes") == 64);
    rl_identity_release(&identity);

    cpu = intel(0x3c, features("fma avx2 avx512f")); /* anything from Skylake on: one unit or two */
    identity = identify(&cpu);
    assert_true(identity.is_contradicted);
    assert_null(rl_core_spec(identity.core, "fp64_fma_flop"));
    rl_identity_release(&identity);
}

static void what_no_core_offers_has_no_limits(void **state)
{
    (void)state;
    struct rl_cpu cpu = intel(0xa7, everything);
    struct rl_identity identity = identify(&cpu);
    assert_true(identity.is_contradicted);
    assert_null(identity.core);
    assert_null(identity.name);
    assert_non_null(strstr(identity.note, "no core in the catalogue has them all"));
}

static void an_amd_processor_is_looked_for_among_amds(void **state)
{
    (void)state;
    struct rl_cpu cpu = amd(23, 0x31, of("amd-zen4")); /* Zen 2, with AVX-512 */
    cpu.l1d_bytes = 32 << 10;
    cpu.l2_bytes = 1 << 20;
    struct rl_identity identity = identify(&cpu);
    assert_true(identity.is_contradicted);
    assert_string_equal(identity.name, "amd-zen4");
    rl_identity_release(&identity);
}

static void refused(const char *text, const char *where)
{
    struct rl_catalog broken = {0};
    struct rl_error err = {0};
    assert_int_equal(rl_catalog_parse(text, strlen(text), "t.tsv", &broken, &err), RL_EDATA);
    if (!strstr(err.text, where))
        fail_msg("%s", err.text);
}

#define HEAD        "core\tmetric\tvalue\tunit\tcertainty\tsource\tnote\n"
#define ROW(who, f) who "\tfeatures\t" f "\tfeature\tsingle\ts\tn\n"

static void wrong_features_are_refused_with_their_core(void **state)
{
    (void)state;
    refused(HEAD ROW("a-b", "avx2,avx3"), "t.tsv: \"avx3\" among the features of a-b is unknown");
    refused(HEAD ROW("a-b", "a-c"), "\"a-c\" among the features of a-b");
    refused(HEAD ROW("a-b", "a-c") ROW("a-c", "a-b"), "are defined by themselves");
}

static void features_of_another_core_may_stand_before_or_behind(void **state)
{
    (void)state;
    static const char text[] = HEAD ROW("a-b", "a-c,avx2") ROW("a-c", "fma") ROW("a-d", "a-b");
    struct rl_catalog small;
    assert_int_equal(rl_catalog_parse(text, strlen(text), "t.tsv", &small, NULL), RL_OK);
    assert_true(rl_catalog_core(&small, "a-d")->features == features("fma avx2"));
    rl_catalog_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_core_is_consistent_with_itself),
        cmocka_unit_test(masked_features_leave_the_core_what_it_is),
        cmocka_unit_test(cores_of_a_hybrid_processor_are_believed),
        cmocka_unit_test(alder_lake_may_offer_avx512),
        cmocka_unit_test(an_arm_processor_has_nothing_to_contradict_it),
        cmocka_unit_test(an_unknown_processor_stays_unknown),
        cmocka_unit_test(a_contradicted_model_gives_way_to_what_features_and_caches_say),
        cmocka_unit_test(of_several_cores_limits_count_on_which_they_agree),
        cmocka_unit_test(what_no_core_offers_has_no_limits),
        cmocka_unit_test(an_amd_processor_is_looked_for_among_amds),
        cmocka_unit_test(wrong_features_are_refused_with_their_core),
        cmocka_unit_test(features_of_another_core_may_stand_before_or_behind),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
