#include "kernel/kernel.h"

#include "kernel/ref/ref_internal.h"
#if defined(__x86_64__)
#include "kernel/x86/x86_internal.h"
#endif

#include <string.h>

const struct rl_compute_kernel *rl_compute_kernels(size_t *ret_n)
{
#if defined(__x86_64__)
    *ret_n = rl_x86_n_compute;
    return rl_x86_compute;
#else
    *ret_n = rl_ref_n_compute;
    return rl_ref_compute;
#endif
}

const struct rl_memory_kernel *rl_memory_kernels(size_t *ret_n)
{
#if defined(__x86_64__)
    *ret_n = rl_x86_n_memory;
    return rl_x86_memory;
#else
    *ret_n = rl_ref_n_memory;
    return rl_ref_memory;
#endif
}

void rl_chase(const struct rl_kernel_args *args)
{
#if defined(__x86_64__)
    rl_k_chase(args);
#else
    rl_ref_chase(args);
#endif
}

void rl_forget_branches(void)
{
#if defined(__x86_64__)
    rl_k_branches();
#endif
}

void rl_flush_lines(const void *start, size_t bytes)
{
#if defined(__x86_64__)
    rl_k_flush(start, bytes);
#else
    (void)start;
    (void)bytes;
#endif
}

bool rl_can_flush_lines(void)
{
#if defined(__x86_64__)
    return true;
#else
    return false;
#endif
}

struct pattern_row {
    const char *name;
    unsigned loads, stores;
};

static const struct pattern_row patterns[RL_PATTERN_COUNT] = {
    [RL_LOAD] = {"load", 1, 0},       [RL_STORE] = {"store", 0, 1},
    [RL_COPY] = {"copy", 1, 1},       [RL_TRIAD] = {"triad", 2, 1},
    [RL_TWO_ONE] = {"2:1", 2, 1},     [RL_NT_STORE] = {"nt-store", 0, 1},
    [RL_NT_COPY] = {"nt-copy", 1, 1}, [RL_NT_TRIAD] = {"nt-triad", 2, 1},
};

const char *rl_pattern_name(enum rl_pattern pattern)
{
    return patterns[pattern].name;
}

unsigned rl_pattern_loads(enum rl_pattern pattern)
{
    return patterns[pattern].loads;
}

unsigned rl_pattern_stores(enum rl_pattern pattern)
{
    return patterns[pattern].stores;
}

unsigned rl_pattern_arrays(enum rl_pattern pattern)
{
    return patterns[pattern].loads + patterns[pattern].stores;
}

enum { REGISTERS = 32, REGISTER_BYTES = 64, R_FACTOR = 12, R_ADDEND, R_FMA_A, R_FMA_B };

/* Accumulators 1.0 …, factor a little above 1, addend and FMA product small against them. */
static double operand(int reg, int lane)
{
    switch (reg) {
    case R_FACTOR:
        return 1.0 + 0x1p-23;
    case R_ADDEND:
    case R_FMA_A:
        return 0x1p-10 * (1 + 0.125 * (lane % 4));
    case R_FMA_B:
        return 0x1p-10 * (1 + 0.25 * (lane % 3));
    default:
        return 1.0 + 0.03125 * reg + 0.001 * lane;
    }
}

static void image_fp64(char *image)
{
    for (int reg = 0; reg < REGISTERS; reg++)
        for (int lane = 0; lane < 8; lane++) {
            double x = operand(reg, lane);
            memcpy(image + REGISTER_BYTES * reg + 8 * lane, &x, sizeof x);
        }
}

static void image_fp32(char *image)
{
    for (int reg = 0; reg < REGISTERS; reg++)
        for (int lane = 0; lane < 16; lane++) {
            float x = (float)operand(reg, lane);
            memcpy(image + REGISTER_BYTES * reg + 4 * lane, &x, sizeof x);
        }
}

/* 16-bit patterns that are about 1 as fp16 (0x3C00) and as bf16 (0x3F80 …), and odd bytes as
 * integers. */
static void image_narrow(char *image, uint16_t base, size_t bytes)
{
    for (size_t i = 0; i < bytes / 2; i++) {
        uint16_t x = (uint16_t)(base | (i * 7 % 16));
        memcpy(image + 2 * i, &x, sizeof x);
    }
}

void rl_kernel_image(enum rl_precision precision, void *image)
{
    memset(image, 0, RL_KERNEL_IMAGE_BYTES);
    switch (precision) {
    case RL_FP64:
        image_fp64(image);
        break;
    case RL_FP32:
        image_fp32(image);
        break;
    case RL_BF16:
        image_narrow(image, 0x3B80, RL_KERNEL_IMAGE_BYTES);
        break;
    default:
        image_narrow(image, 0x3C01, RL_KERNEL_IMAGE_BYTES);
        break;
    }
}
