/* Who the processor is and which instruction sets may be used here.
 *
 * An instruction set is usable when CPUID names it, the operating system saves its registers
 * (XGETBV), the kernel grants it (AMX) and the caller's mask allows it. Everything else comes with
 * the reason why not. Machine code runs only after rl_cpu_usable said so. */
#ifndef RL_CPU_CPU_H
#define RL_CPU_CPU_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Instruction sets that kernels are written for, narrow to wide. */
enum rl_isa {
    RL_ISA_C = 0,  /**< portable C: any processor */
    RL_ISA_SCALAR, /**< x86-64 scalar: SSE2 registers, one lane */
    RL_ISA_SSE2,
    RL_ISA_FMA, /**< one-lane and 128-bit VEX encoding with FMA3 */
    RL_ISA_AVX2,
    RL_ISA_AVX_VNNI,
    RL_ISA_AVX512, /**< F, BW, DQ and VL together */
    RL_ISA_AVX512_VNNI,
    RL_ISA_AVX512_BF16,
    RL_ISA_AVX512_FP16,
    RL_ISA_AMX_INT8,
    RL_ISA_AMX_BF16,
    RL_ISA_AMX_FP16,
    RL_ISA_COUNT
};

/** What keeps an instruction set from being used. */
enum rl_isa_state {
    RL_ISA_USABLE = 0,
    RL_ISA_NO_HARDWARE, /**< CPUID does not name it */
    RL_ISA_NO_SYSTEM,   /**< the operating system does not save its registers, or refused it */
    RL_ISA_MASKED,      /**< left out by the caller's mask */
};

/** Identity and usable instruction sets. All-zero: an unknown processor with nothing usable. */
struct rl_cpu {
    char vendor[20];     /**< "GenuineIntel", "AuthenticAMD", "ARM"; empty when unknown */
    char model_name[64]; /**< as the processor calls itself; empty when unknown */
    char hypervisor[16]; /**< "KVM", or the signature as it is; empty on bare metal */
    bool is_arm;         /**< identified by MIDR_EL1 and not by CPUID */
    /** CPUID signature. Arm: implementer, part, and variant times 16 plus revision. */
    unsigned family, model, stepping;
    unsigned core_type; /**< CPUID leaf 0x1A of the CPU that answered: 0x40 P core, 0x20 E core */
    enum rl_isa_state isa[RL_ISA_COUNT];
    uint64_t features; /**< what CPUID offers of rl_feature_name, a bit each, whatever the mask */
    uint64_t l1i_bytes, l1d_bytes, l2_bytes; /**< as CPUID says; 0 unknown */
};

/** Where CPUID answers come from: the processor, or a table in tests. */
struct rl_cpuid {
    void (*leaf)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t ret_abcd[4]);
    uint64_t (*xcr0)(void *context);                   /**< asked only if CPUID says XGETBV works */
    bool (*permit)(void *context, unsigned component); /**< ask the kernel for a register set */
    void *context;
};

/**
 * Ask this processor.
 *
 * @param mask  comma-separated instruction sets to allow, e.g. "sse2,avx2"; what is not named is
 *              masked, the portable and scalar ones stay. NULL: allow everything.
 * @return RL_OK; RL_EINVAL if the mask names something unknown (the message lists the names).
 */
enum rl_status rl_cpu_detect(const char *mask, struct rl_cpu *ret_cpu, struct rl_error *err);

/** The same from given CPUID answers. */
enum rl_status rl_cpu_decode(const struct rl_cpuid *cpuid, const char *mask, struct rl_cpu *ret_cpu,
                             struct rl_error *err);

/**
 * Who an Arm processor is, from MIDR_EL1.
 *
 * @param root    in front of /sys and /proc; NULL: this machine.
 * @param number  of the CPU to look at: cores may be of several kinds.
 * @param cpu     identity written, the rest kept; nothing written if false is returned.
 * @return false if Linux shows no such register there: not an Arm processor.
 */
bool rl_cpu_identify_arm(const char *root, unsigned number, struct rl_cpu *cpu);

bool rl_cpu_usable(const struct rl_cpu *cpu, enum rl_isa isa);

/**
 * Instructions by which one core is told from another, each a bit of rl_cpu.features. None of them
 * can be offered by a hypervisor to programs on a core that lacks it.
 * @return name as Linux writes it, e.g. "avx512_fp16"; NULL for an index beyond the last.
 */
const char *rl_feature_name(unsigned index);

/** @param name  [n]. @return its bit; 0: no such feature. */
uint64_t rl_feature_find(const char *name, size_t n);

/** Name in masks and records: "c", "scalar", "sse2", "fma", "avx2", "avx-vnni", … */
const char *rl_isa_name(enum rl_isa isa);

/** Name for people: "AVX512-FP16". */
const char *rl_isa_title(enum rl_isa isa);

/** One phrase why an instruction set is not usable; "" when it is. */
const char *rl_cpu_why_not(const struct rl_cpu *cpu, enum rl_isa isa);

/** Space-separated names of usable instruction sets, e.g. "scalar sse2 fma avx2". */
void rl_cpu_isa_list(const struct rl_cpu *cpu, char *buffer, unsigned n_buffer);

#endif
