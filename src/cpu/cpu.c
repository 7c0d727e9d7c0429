#include "cpu/cpu.h"

#include "base/error.h"
#include "cpu/cpu_internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E. */
static const struct rl_cpuid_bit sse2 = {1, 0, EDX, 26};
static const struct rl_cpuid_bit osxsave = {1, 0, ECX, 27};
static const struct rl_cpuid_bit avx = {1, 0, ECX, 28};
static const struct rl_cpuid_bit fma3 = {1, 0, ECX, 12};
static const struct rl_cpuid_bit avx2 = {7, 0, EBX, 5};
static const struct rl_cpuid_bit avx512f = {7, 0, EBX, 16};
static const struct rl_cpuid_bit avx512dq = {7, 0, EBX, 17};
static const struct rl_cpuid_bit avx512bw = {7, 0, EBX, 30};
static const struct rl_cpuid_bit avx512vl = {7, 0, EBX, 31};
static const struct rl_cpuid_bit avx512_vnni = {7, 0, ECX, 11};
static const struct rl_cpuid_bit avx512_fp16 = {7, 0, EDX, 23};
static const struct rl_cpuid_bit amx_bf16 = {7, 0, EDX, 22};
static const struct rl_cpuid_bit amx_tile = {7, 0, EDX, 24};
static const struct rl_cpuid_bit amx_int8 = {7, 0, EDX, 25};
static const struct rl_cpuid_bit avx_vnni = {7, 1, EAX, 4};
static const struct rl_cpuid_bit avx512_bf16 = {7, 1, EAX, 5};
static const struct rl_cpuid_bit amx_fp16 = {7, 1, EAX, 21};

/* XCR0 components the operating system must save: SDM vol. 1, 13.1. */
static const uint64_t xcr0_ymm = 0x06;
static const uint64_t xcr0_zmm = 0xE6;
static const uint64_t xcr0_tile = 0x60006;
enum { COMPONENT_TILE_DATA = 18, MAX_FEATURES = 5 };

struct isa_row {
    const char *name;
    const char *title;
    const struct rl_cpuid_bit *needs[MAX_FEATURES]; /* NULL-terminated if shorter */
    uint64_t xcr0;                                  /* 0: none beyond what every process has */
    bool tile;                                      /* the kernel must be asked */
    bool x86;
};

static const struct isa_row rows[RL_ISA_COUNT] = {
    [RL_ISA_C] = {.name = "c", .title = "portable C"},
    [RL_ISA_SCALAR] = {.name = "scalar", .title = "x86-64 scalar", .needs = {&sse2}, .x86 = true},
    [RL_ISA_SSE2] = {.name = "sse2", .title = "SSE2", .needs = {&sse2}, .x86 = true},
    [RL_ISA_FMA] =
        {.name = "fma", .title = "FMA3", .needs = {&avx, &fma3}, .xcr0 = xcr0_ymm, .x86 = true},
    [RL_ISA_AVX2] = {.name = "avx2",
                     .title = "AVX2 with FMA",
                     .needs = {&avx, &avx2, &fma3},
                     .xcr0 = xcr0_ymm,
                     .x86 = true},
    [RL_ISA_AVX_VNNI] = {.name = "avx-vnni",
                         .title = "AVX-VNNI",
                         .needs = {&avx2, &avx_vnni},
                         .xcr0 = xcr0_ymm,
                         .x86 = true},
    [RL_ISA_AVX512] = {.name = "avx512",
                       .title = "AVX-512",
                       .needs = {&avx512f, &avx512dq, &avx512bw, &avx512vl},
                       .xcr0 = xcr0_zmm,
                       .x86 = true},
    [RL_ISA_AVX512_VNNI] = {.name = "avx512-vnni",
                            .title = "AVX512-VNNI",
                            .needs = {&avx512f, &avx512bw, &avx512_vnni},
                            .xcr0 = xcr0_zmm,
                            .x86 = true},
    [RL_ISA_AVX512_BF16] = {.name = "avx512-bf16",
                            .title = "AVX512-BF16",
                            .needs = {&avx512f, &avx512bw, &avx512_bf16},
                            .xcr0 = xcr0_zmm,
                            .x86 = true},
    [RL_ISA_AVX512_FP16] = {.name = "avx512-fp16",
                            .title = "AVX512-FP16",
                            .needs = {&avx512f, &avx512bw, &avx512_fp16},
                            .xcr0 = xcr0_zmm,
                            .x86 = true},
    [RL_ISA_AMX_INT8] = {.name = "amx-int8",
                         .title = "AMX-INT8",
                         .needs = {&amx_tile, &amx_int8},
                         .xcr0 = xcr0_tile,
                         .tile = true,
                         .x86 = true},
    [RL_ISA_AMX_BF16] = {.name = "amx-bf16",
                         .title = "AMX-BF16",
                         .needs = {&amx_tile, &amx_bf16},
                         .xcr0 = xcr0_tile,
                         .tile = true,
                         .x86 = true},
    [RL_ISA_AMX_FP16] = {.name = "amx-fp16",
                         .title = "AMX-FP16",
                         .needs = {&amx_tile, &amx_fp16},
                         .xcr0 = xcr0_tile,
                         .tile = true,
                         .x86 = true},
};

const char *rl_isa_name(enum rl_isa isa)
{
    return rows[isa].name;
}

const char *rl_isa_title(enum rl_isa isa)
{
    return rows[isa].title;
}

bool rl_cpu_usable(const struct rl_cpu *cpu, enum rl_isa isa)
{
    return cpu->isa[isa] == RL_ISA_USABLE;
}

const char *rl_cpu_why_not(const struct rl_cpu *cpu, enum rl_isa isa)
{
    switch (cpu->isa[isa]) {
    case RL_ISA_USABLE:
        return "";
    case RL_ISA_NO_HARDWARE:
        return "this processor does not have it";
    case RL_ISA_NO_SYSTEM:
        return "the processor has it, but the operating system does not enable its registers";
    case RL_ISA_MASKED:
        return "left out by the instruction-set mask";
    }
    return "";
}

void rl_cpu_isa_list(const struct rl_cpu *cpu, char *buffer, unsigned n_buffer)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < RL_ISA_COUNT; i++) {
        if (i == RL_ISA_C || !rl_cpu_usable(cpu, (enum rl_isa)i))
            continue;
        int n = snprintf(buffer + used, n_buffer - used, "%s%s", used ? " " : "", rows[i].name);
        if (n < 0 || used + (size_t)n >= n_buffer)
            return;
        used += (size_t)n;
    }
}

bool rl_cpuid_has(const struct rl_cpuid *cpuid, const struct rl_cpuid_bit *f)
{
    uint32_t abcd[4];
    cpuid->leaf(cpuid->context, 0, 0, abcd);
    if (abcd[EAX] < f->leaf)
        return false;
    if (f->subleaf > 0) {
        cpuid->leaf(cpuid->context, f->leaf, 0, abcd);
        if (abcd[EAX] < f->subleaf)
            return false;
    }
    cpuid->leaf(cpuid->context, f->leaf, f->subleaf, abcd);
    return abcd[f->reg] >> f->bit & 1;
}

static enum rl_isa_state state_of(const struct rl_cpuid *cpuid, const struct isa_row *row,
                                  uint64_t xcr0)
{
    if (!row->x86)
        return RL_ISA_USABLE;
    if (!cpuid->leaf)
        return RL_ISA_NO_HARDWARE;
    for (int i = 0; i < MAX_FEATURES && row->needs[i]; i++)
        if (!rl_cpuid_has(cpuid, row->needs[i]))
            return RL_ISA_NO_HARDWARE;
    if ((xcr0 & row->xcr0) != row->xcr0)
        return RL_ISA_NO_SYSTEM;
    if (row->tile && (!cpuid->permit || !cpuid->permit(cpuid->context, COMPONENT_TILE_DATA)))
        return RL_ISA_NO_SYSTEM;
    return RL_ISA_USABLE;
}

static void decode_signature(uint32_t eax, struct rl_cpu *cpu)
{
    unsigned family = eax >> 8 & 0xF;
    unsigned model = eax >> 4 & 0xF;
    cpu->stepping = eax & 0xF;
    if (family == 0xF || family == 6)
        model |= (eax >> 16 & 0xF) << 4;
    if (family == 0xF)
        family += eax >> 20 & 0xFF;
    cpu->family = family;
    cpu->model = model;
}

/* Text in registers: copied as far as it is printable, blanks at both ends and doubled ones cut. */
static void copy_text(char *to, size_t n_to, const uint32_t *words, size_t n_words)
{
    const char *from = (const char *)words;
    size_t used = 0;
    for (size_t i = 0; i < n_words * sizeof *words && from[i]; i++) {
        bool printable = from[i] >= 0x20 && from[i] < 0x7F;
        bool doubled = from[i] == ' ' && (used == 0 || to[used - 1] == ' ');
        if (printable && !doubled && used + 1 < n_to)
            to[used++] = from[i];
    }
    while (used > 0 && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
}

struct hypervisor_row {
    const char *signature;
    const char *name;
};

static const struct hypervisor_row hypervisors[] = {
    {"KVMKVMKVM", "KVM"},     {"Microsoft Hv", "Hyper-V"},    {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "Xen"},  {"TCGTCGTCGTCG", "QEMU"},       {"bhyve bhyve", "bhyve"},
    {"ACRNACRNACRN", "ACRN"}, {"VBoxVBoxVBox", "VirtualBox"},
};

static void name_hypervisor(struct rl_cpu *cpu, const uint32_t signature[3])
{
    copy_text(cpu->hypervisor, sizeof cpu->hypervisor, signature, 3);
    if (!cpu->hypervisor[0])
        snprintf(cpu->hypervisor, sizeof cpu->hypervisor, "unknown");
    for (size_t i = 0; i < sizeof hypervisors / sizeof hypervisors[0]; i++)
        if (strcmp(cpu->hypervisor, hypervisors[i].signature) == 0)
            snprintf(cpu->hypervisor, sizeof cpu->hypervisor, "%s", hypervisors[i].name);
}

static void decode_identity(const struct rl_cpuid *cpuid, struct rl_cpu *cpu)
{
    uint32_t r[4];
    cpuid->leaf(cpuid->context, 0, 0, r);
    uint32_t highest = r[EAX];
    const uint32_t vendor[] = {r[EBX], r[EDX], r[ECX]};
    copy_text(cpu->vendor, sizeof cpu->vendor, vendor, 3);
    cpuid->leaf(cpuid->context, 1, 0, r);
    decode_signature(r[EAX], cpu);
    if (r[ECX] >> 31) {
        cpuid->leaf(cpuid->context, 0x40000000, 0, r);
        name_hypervisor(cpu, r + 1);
    }
    if (highest >= 0x1A) {
        cpuid->leaf(cpuid->context, 0x1A, 0, r);
        cpu->core_type = r[EAX] >> 24;
    }
    cpuid->leaf(cpuid->context, 0x80000000, 0, r);
    if (r[EAX] >= 0x80000004) {
        uint32_t brand[12];
        for (uint32_t i = 0; i < 3; i++)
            cpuid->leaf(cpuid->context, 0x80000002 + i, 0, brand + 4 * i);
        copy_text(cpu->model_name, sizeof cpu->model_name, brand, 12);
    }
}

static enum rl_status fail_mask(const char *word, size_t n, struct rl_error *err)
{
    char names[256] = "";
    size_t used = 0;
    for (int i = RL_ISA_SCALAR; i < RL_ISA_COUNT; i++) {
        int k = snprintf(names + used, sizeof names - used, " %s", rows[i].name);
        used += k > 0 ? (size_t)k : 0;
    }
    return rl_fail(err, RL_EINVAL, "unknown instruction set \"%.*s\"; known are%s", (int)n, word,
                   names);
}

static enum rl_status parse_mask(const char *mask, bool allowed[RL_ISA_COUNT], struct rl_error *err)
{
    allowed[RL_ISA_C] = allowed[RL_ISA_SCALAR] = true;
    while (*mask) {
        size_t n = strcspn(mask, ", ");
        int found = -1;
        for (int i = 0; i < RL_ISA_COUNT; i++)
            if (strlen(rows[i].name) == n && strncmp(rows[i].name, mask, n) == 0)
                found = i;
        if (n > 0 && found < 0)
            return fail_mask(mask, n, err);
        if (n > 0)
            allowed[found] = true;
        mask += n;
        mask += strspn(mask, ", ");
    }
    allowed[RL_ISA_FMA] |= allowed[RL_ISA_AVX2];
    return RL_OK;
}

enum rl_status rl_cpu_decode(const struct rl_cpuid *cpuid, const char *mask, struct rl_cpu *ret_cpu,
                             struct rl_error *err)
{
    struct rl_cpu cpu = {0};
    bool allowed[RL_ISA_COUNT] = {0};
    uint64_t xcr0 = 0;
    RL_TRY(parse_mask(mask ? mask : "", allowed, err));
    if (cpuid->leaf) {
        decode_identity(cpuid, &cpu);
        rl_cpuid_read_features(cpuid, &cpu);
        if (rl_cpuid_has(cpuid, &osxsave))
            xcr0 = cpuid->xcr0(cpuid->context);
    }
    for (int i = 0; i < RL_ISA_COUNT; i++) {
        cpu.isa[i] = state_of(cpuid, &rows[i], xcr0);
        if (mask && cpu.isa[i] == RL_ISA_USABLE && !allowed[i])
            cpu.isa[i] = RL_ISA_MASKED;
    }
    *ret_cpu = cpu;
    return RL_OK;
}

enum rl_status rl_cpu_detect(const char *mask, struct rl_cpu *ret_cpu, struct rl_error *err)
{
    struct rl_cpuid native = rl_cpuid_native();
    struct rl_cpu cpu;
    RL_TRY(rl_cpu_decode(&native, mask, &cpu, err));
    int number = native.leaf ? -1 : sched_getcpu();
    if (number >= 0)
        rl_cpu_identify_arm(NULL, (unsigned)number, &cpu);
    *ret_cpu = cpu;
    return RL_OK;
}
