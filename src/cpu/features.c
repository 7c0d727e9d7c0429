/* What tells one core from another whatever it calls itself: instructions, and sizes of caches. */
#include "cpu/cpu_internal.h"

#include <string.h>

struct feature {
    const char *name;
    struct rl_cpuid_bit bit;
};

/* Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E. Newest first, as messages name the first
 * few. Left out is what hypervisors emulate (rdpid, umip) and what firmware or licences switch. */
static const struct feature features[] = {
    {"amx_complex", {7, 1, EDX, 8}},
    {"amx_fp16", {7, 1, EAX, 21}},
    {"amx_tile", {7, 0, EDX, 24}},
    {"amx_int8", {7, 0, EDX, 25}},
    {"amx_bf16", {7, 0, EDX, 22}},
    {"avx512_fp16", {7, 0, EDX, 23}},
    {"sha512", {7, 1, EAX, 0}},
    {"sm3", {7, 1, EAX, 1}},
    {"sm4", {7, 1, EAX, 2}},
    {"avx_vnni_int16", {7, 1, EDX, 10}},
    {"avx_vnni_int8", {7, 1, EDX, 4}},
    {"avx_ne_convert", {7, 1, EDX, 5}},
    {"avx_ifma", {7, 1, EAX, 23}},
    {"cmpccxadd", {7, 1, EAX, 7}},
    {"prefetchi", {7, 1, EDX, 14}},
    {"avx_vnni", {7, 1, EAX, 4}},
    {"avx512_bf16", {7, 1, EAX, 5}},
    {"serialize", {7, 0, EDX, 14}},
    {"tsxldtrk", {7, 0, EDX, 16}},
    {"waitpkg", {7, 0, ECX, 5}},
    {"movdir64b", {7, 0, ECX, 28}},
    {"movdiri", {7, 0, ECX, 27}},
    {"avx512_vp2intersect", {7, 0, EDX, 8}},
    {"avx512_vbmi2", {7, 0, ECX, 6}},
    {"avx512_bitalg", {7, 0, ECX, 12}},
    {"avx512_vpopcntdq", {7, 0, ECX, 14}},
    {"avx512vbmi", {7, 0, ECX, 1}},
    {"avx512ifma", {7, 0, EBX, 21}},
    {"gfni", {7, 0, ECX, 8}},
    {"vaes", {7, 0, ECX, 9}},
    {"vpclmulqdq", {7, 0, ECX, 10}},
    {"sha_ni", {7, 0, EBX, 29}},
    {"avx512_vnni", {7, 0, ECX, 11}},
    {"avx512f", {7, 0, EBX, 16}},
    {"avx512dq", {7, 0, EBX, 17}},
    {"avx512cd", {7, 0, EBX, 28}},
    {"avx512bw", {7, 0, EBX, 30}},
    {"avx512vl", {7, 0, EBX, 31}},
    {"adx", {7, 0, EBX, 19}},
    {"avx2", {7, 0, EBX, 5}},
    {"fma", {1, 0, ECX, 12}},
};

enum { N_FEATURES = sizeof features / sizeof features[0] };
_Static_assert(N_FEATURES <= 64, "a bit each");

const char *rl_feature_name(unsigned index)
{
    return index < N_FEATURES ? features[index].name : NULL;
}

uint64_t rl_feature_find(const char *name, size_t n)
{
    for (unsigned i = 0; i < N_FEATURES; i++)
        if (strlen(features[i].name) == n && strncmp(features[i].name, name, n) == 0)
            return UINT64_C(1) << i;
    return 0;
}

/* One cache of leaf 4 or, the same form, 0x8000001D. */
static void note_cache(const uint32_t abcd[4], struct rl_cpu *cpu)
{
    enum { DATA = 1, CODE = 2, UNIFIED = 3 };
    unsigned type = abcd[EAX] & 0x1F;
    unsigned level = abcd[EAX] >> 5 & 7;
    uint64_t ways = (abcd[EBX] >> 22) + 1;
    uint64_t parts = (abcd[EBX] >> 12 & 0x3FF) + 1;
    uint64_t line = (abcd[EBX] & 0xFFF) + 1;
    uint64_t bytes = ways * parts * line * ((uint64_t)abcd[ECX] + 1);
    if (level == 1 && type == DATA)
        cpu->l1d_bytes = bytes;
    else if (level == 1 && type == CODE)
        cpu->l1i_bytes = bytes;
    else if (level == 2 && type == UNIFIED)
        cpu->l2_bytes = bytes;
}

static void read_caches(const struct rl_cpuid *cpuid, uint32_t leaf, struct rl_cpu *cpu)
{
    enum { MOST_CACHES = 8 };
    uint32_t abcd[4];
    for (uint32_t i = 0; i < MOST_CACHES; i++) {
        cpuid->leaf(cpuid->context, leaf, i, abcd);
        if ((abcd[EAX] & 0x1F) == 0)
            return;
        note_cache(abcd, cpu);
    }
}

void rl_cpuid_read_features(const struct rl_cpuid *cpuid, struct rl_cpu *cpu)
{
    const uint32_t leaf_intel = 4, leaf_amd = 0x8000001D;
    uint32_t abcd[4];
    for (unsigned i = 0; i < N_FEATURES; i++)
        if (rl_cpuid_has(cpuid, &features[i].bit))
            cpu->features |= UINT64_C(1) << i;
    bool is_amd = strcmp(cpu->vendor, "AuthenticAMD") == 0;
    cpuid->leaf(cpuid->context, is_amd ? 0x80000000 : 0, 0, abcd);
    if (abcd[EAX] >= (is_amd ? leaf_amd : leaf_intel))
        read_caches(cpuid, is_amd ? leaf_amd : leaf_intel, cpu);
}
