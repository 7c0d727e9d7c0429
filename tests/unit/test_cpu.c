/* CPUID answers turn into identity and usable instruction sets; every refusal has its reason. */
#include "cpu/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct answer {
    uint32_t leaf, subleaf, abcd[4];
};

struct machine {
    struct answer answer[16];
    uint64_t xcr0;
    bool tiles;
    unsigned asked_component;
};

static void leaf(void *context, uint32_t number, uint32_t subleaf, uint32_t ret_abcd[4])
{
    const struct machine *m = context;
    memset(ret_abcd, 0, 4 * sizeof *ret_abcd);
    for (size_t i = 0; i < sizeof m->answer / sizeof m->answer[0]; i++)
        if (m->answer[i].leaf == number && m->answer[i].subleaf == subleaf) {
            memcpy(ret_abcd, m->answer[i].abcd, sizeof m->answer[i].abcd);
            return;
        }
}

static uint64_t xcr0(void *context)
{
    return ((const struct machine *)context)->xcr0;
}

static bool permit(void *context, unsigned component)
{
    struct machine *m = context;
    m->asked_component = component;
    return m->tiles;
}

static struct rl_cpu decode(struct machine *m, const char *mask)
{
    struct rl_cpuid cpuid = {.leaf = leaf, .xcr0 = xcr0, .permit = permit, .context = m};
    struct rl_cpu cpu;
    assert_int_equal(rl_cpu_decode(&cpuid, mask, &cpu, NULL), RL_OK);
    return cpu;
}

enum { MAX_LEAF = 0x1F };
static const uint32_t leaf1_ecx = 1u << 27 | 1u << 28 | 1u << 12 | 1u << 31;
static const uint32_t leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
static const uint32_t leaf7_ecx = 1u << 11;
static const uint32_t leaf7_edx = 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;

/* Family 6 model 0x8F stepping 8: signature 0x000806F8. */
static struct machine server(void)
{
    return (struct machine){
        .answer =
            {
                {0, 0, {MAX_LEAF, 0x756E6547, 0x6C65746E, 0x49656E69}},
                {1, 0, {0x000806F8, 0, leaf1_ecx, 1u << 26}},
                {7, 0, {1, leaf7_ebx, leaf7_ecx, leaf7_edx}},
                {7, 1, {1u << 4 | 1u << 5, 0, 0, 0}},
                /* 48 KiB of data and 32 KiB of code in L1, 2 MiB in L2: ways, line, sets less one
                 */
                {4, 0, {1u << 5 | 1, 11u << 22 | 63, 63, 0}},
                {4, 1, {1u << 5 | 2, 7u << 22 | 63, 63, 0}},
                {4, 2, {2u << 5 | 3, 15u << 22 | 63, 2047, 0}},
                {0x1A, 0, {0x40000000, 0, 0, 0}},
                {0x40000000, 0, {0, 0x4B4D564B, 0x564B4D56, 0x0000004D}},
                {0x80000000, 0, {0x80000004, 0, 0, 0}},
                {0x80000002, 0, {0x65542020, 0x20207473, 0x55504320, 0x20202020}},
            },
        .xcr0 = 0x600E7,
        .tiles = true,
    };
}

static void identity_is_read_from_the_signature(void **state)
{
    (void)state;
    struct machine m = server();
    struct rl_cpu cpu = decode(&m, NULL);
    assert_string_equal(cpu.vendor, "GenuineIntel");
    assert_int_equal(cpu.family, 6);
    assert_int_equal(cpu.model, 0x8F);
    assert_int_equal(cpu.stepping, 8);
    assert_int_equal(cpu.core_type, 0x40);
    assert_string_equal(cpu.hypervisor, "KVM");
    assert_string_equal(cpu.model_name, "Test CPU");
}

static bool offers(const struct rl_cpu *cpu, const char *name)
{
    uint64_t bit = rl_feature_find(name, strlen(name));
    assert_true(bit != 0);
    return (cpu->features & bit) != 0;
}

static void features_are_what_cpuid_offers_whatever_the_mask(void **state)
{
    (void)state;
    struct machine m = server();
    struct rl_cpu cpu = decode(&m, "sse2");
    m.xcr0 = 0;
    struct rl_cpu disabled = decode(&m, NULL);
    assert_true(offers(&cpu, "amx_tile") && offers(&cpu, "avx512_fp16") && offers(&cpu, "fma"));
    assert_false(offers(&cpu, "amx_fp16") || offers(&cpu, "sha512") || offers(&cpu, "gfni"));
    assert_true(disabled.features == cpu.features);
    m.answer[0].abcd[0] = 1; /* leaf 7 is beyond the highest */
    assert_true(decode(&m, NULL).features == rl_feature_find("fma", 3));
    assert_int_equal(rl_feature_find("fm", 2), 0);
    assert_int_equal(rl_feature_find("no-such-feature", 15), 0);
}

static void sizes_of_caches_are_ways_times_sets(void **state)
{
    (void)state;
    struct machine m = server();
    struct rl_cpu cpu = decode(&m, NULL);
    assert_int_equal(cpu.l1d_bytes, 48 << 10);
    assert_int_equal(cpu.l1i_bytes, 32 << 10);
    assert_int_equal(cpu.l2_bytes, 2 << 20);
    m.answer[0].abcd[0] = 1;
    assert_int_equal(decode(&m, NULL).l1d_bytes, 0);
}

static void amd_lists_its_caches_in_a_leaf_of_its_own(void **state)
{
    (void)state;
    struct machine m = {.answer = {{0, 0, {1, 0x68747541, 0x444D4163, 0x69746E65}},
                                   {1, 0, {0x00A00F11, 0, 0, 1u << 26}},
                                   {0x80000000, 0, {0x8000001E, 0, 0, 0}},
                                   {0x8000001D, 0, {1u << 5 | 1, 7u << 22 | 63, 63, 0}},
                                   {0x8000001D, 1, {2u << 5 | 3, 7u << 22 | 63, 1023, 0}}}};
    struct rl_cpu cpu = decode(&m, NULL);
    assert_string_equal(cpu.vendor, "AuthenticAMD");
    assert_int_equal(cpu.l1d_bytes, 32 << 10);
    assert_int_equal(cpu.l2_bytes, 512 << 10);
}

static const char fixtures[] = SOURCE_DIR "/tests/fixture/machine/";

static bool identify(const char *name, unsigned number, struct rl_cpu *cpu)
{
    char root[512];
    snprintf(root, sizeof root, "%s%s", fixtures, name);
    return rl_cpu_identify_arm(root, number, cpu);
}

static void an_arm_processor_is_known_by_its_register(void **state)
{
    (void)state;
    struct rl_cpu cpu = {0};
    assert_true(identify("grace", 0, &cpu)); /* 0x410fd4f0 */
    assert_true(cpu.is_arm);
    assert_string_equal(cpu.vendor, "ARM");
    assert_int_equal(cpu.family, 0x41);
    assert_int_equal(cpu.model, 0xd4f);
    assert_int_equal(cpu.stepping, 0);
}

static void an_arm_processor_is_known_by_cpuinfo_too(void **state)
{
    (void)state;
    struct rl_cpu cpu = {0};
    assert_true(identify("arm-cpuinfo", 0, &cpu));
    assert_int_equal(cpu.model, 0xd03);
    assert_int_equal(cpu.stepping, 4);
    assert_true(identify("arm-cpuinfo", 4, &cpu)); /* another kind of core: r1p2 */
    assert_int_equal(cpu.model, 0xd08);
    assert_int_equal(cpu.stepping, 0x12);
    assert_false(identify("arm-cpuinfo", 7, &cpu));
    assert_int_equal(cpu.model, 0xd08);
}

static void what_is_no_arm_processor_is_not_taken_for_one(void **state)
{
    (void)state;
    struct rl_cpu cpu = {0};
    assert_false(identify("zen3", 0, &cpu));
    assert_false(identify("no-such-machine", 0, &cpu));
    assert_false(cpu.is_arm);
    assert_int_equal(rl_cpu_detect(NULL, &cpu, NULL), RL_OK);
#if defined(__x86_64__)
    assert_false(cpu.is_arm);
#endif
}

static void an_extended_family_adds_up(void **state)
{
    (void)state;
    struct machine m = server();
    m.answer[1].abcd[0] = 0x00B00F21; /* 0xF + 0xB = 26, model 2, stepping 1 */
    struct rl_cpu cpu = decode(&m, NULL);
    assert_int_equal(cpu.family, 26);
    assert_int_equal(cpu.model, 2);
    assert_int_equal(cpu.stepping, 1);
}

static void everything_the_hardware_and_system_grant_is_usable(void **state)
{
    (void)state;
    struct machine m = server();
    struct rl_cpu cpu = decode(&m, NULL);
    assert_true(rl_cpu_usable(&cpu, RL_ISA_AVX512_FP16));
    assert_true(rl_cpu_usable(&cpu, RL_ISA_AMX_INT8));
    assert_int_equal(m.asked_component, 18);
    assert_int_equal(cpu.isa[RL_ISA_AMX_FP16], RL_ISA_NO_HARDWARE);
    assert_non_null(strstr(rl_cpu_why_not(&cpu, RL_ISA_AMX_FP16), "does not have"));
}

static void registers_the_system_does_not_save_are_not_used(void **state)
{
    (void)state;
    struct machine m = server();
    m.xcr0 = 0x7;
    struct rl_cpu cpu = decode(&m, NULL);
    assert_true(rl_cpu_usable(&cpu, RL_ISA_AVX2));
    assert_int_equal(cpu.isa[RL_ISA_AVX512], RL_ISA_NO_SYSTEM);
    m.xcr0 = 0x3;
    assert_int_equal(decode(&m, NULL).isa[RL_ISA_AVX2], RL_ISA_NO_SYSTEM);
    assert_true(strlen(rl_cpu_why_not(&cpu, RL_ISA_AVX512)) > 0);
}

static void xgetbv_is_not_executed_unless_cpuid_allows_it(void **state)
{
    (void)state;
    struct machine m = server();
    m.answer[1].abcd[2] &= ~(1u << 27);
    assert_int_equal(decode(&m, NULL).isa[RL_ISA_AVX2], RL_ISA_NO_SYSTEM);
}

static void tiles_the_kernel_refuses_are_not_used(void **state)
{
    (void)state;
    struct machine m = server();
    m.tiles = false;
    assert_int_equal(decode(&m, NULL).isa[RL_ISA_AMX_BF16], RL_ISA_NO_SYSTEM);
}

static void leaves_beyond_the_highest_count_as_absent(void **state)
{
    (void)state;
    struct machine m = server();
    m.answer[0].abcd[0] = 1;
    struct rl_cpu cpu = decode(&m, NULL);
    assert_int_equal(cpu.isa[RL_ISA_AVX2], RL_ISA_NO_HARDWARE);
    assert_true(rl_cpu_usable(&cpu, RL_ISA_FMA));
}

static void a_mask_leaves_what_it_names_and_the_portable_ones(void **state)
{
    (void)state;
    struct machine m = server();
    struct rl_cpu cpu = decode(&m, "sse2,avx2");
    assert_true(rl_cpu_usable(&cpu, RL_ISA_C));
    assert_true(rl_cpu_usable(&cpu, RL_ISA_SCALAR));
    assert_true(rl_cpu_usable(&cpu, RL_ISA_FMA));
    assert_true(rl_cpu_usable(&cpu, RL_ISA_AVX2));
    assert_int_equal(cpu.isa[RL_ISA_AVX512], RL_ISA_MASKED);
    char list[64];
    rl_cpu_isa_list(&cpu, list, sizeof list);
    assert_string_equal(list, "scalar sse2 fma avx2");
}

static void an_unknown_word_in_the_mask_is_named(void **state)
{
    (void)state;
    struct rl_cpu cpu;
    struct rl_error err = {0};
    assert_int_equal(rl_cpu_detect("sse2,avx1024", &cpu, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "\"avx1024\""));
    assert_non_null(strstr(err.text, "avx512-vnni"));
}

static void a_foreign_processor_has_the_portable_set_only(void **state)
{
    (void)state;
    struct rl_cpuid none = {0};
    struct rl_cpu cpu;
    assert_int_equal(rl_cpu_decode(&none, NULL, &cpu, NULL), RL_OK);
    assert_true(rl_cpu_usable(&cpu, RL_ISA_C));
    for (int i = RL_ISA_SCALAR; i < RL_ISA_COUNT; i++)
        assert_int_equal(cpu.isa[i], RL_ISA_NO_HARDWARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_read_from_the_signature),
        cmocka_unit_test(features_are_what_cpuid_offers_whatever_the_mask),
        cmocka_unit_test(sizes_of_caches_are_ways_times_sets),
        cmocka_unit_test(amd_lists_its_caches_in_a_leaf_of_its_own),
        cmocka_unit_test(an_arm_processor_is_known_by_its_register),
        cmocka_unit_test(an_arm_processor_is_known_by_cpuinfo_too),
        cmocka_unit_test(what_is_no_arm_processor_is_not_taken_for_one),
        cmocka_unit_test(an_extended_family_adds_up),
        cmocka_unit_test(everything_the_hardware_and_system_grant_is_usable),
        cmocka_unit_test(registers_the_system_does_not_save_are_not_used),
        cmocka_unit_test(xgetbv_is_not_executed_unless_cpuid_allows_it),
        cmocka_unit_test(tiles_the_kernel_refuses_are_not_used),
        cmocka_unit_test(leaves_beyond_the_highest_count_as_absent),
        cmocka_unit_test(a_mask_leaves_what_it_names_and_the_portable_ones),
        cmocka_unit_test(an_unknown_word_in_the_mask_is_named),
        cmocka_unit_test(a_foreign_processor_has_the_portable_set_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
