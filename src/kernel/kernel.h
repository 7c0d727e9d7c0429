/* Microbenchmark kernels: the instructions whose rate is a ceiling, with what they do written
 * beside.
 *
 * Not benchmarks: timing, choice of working sets and of the best variant are the caller's. Kernels
 * of one precision, operation and width (or one access pattern) are variants of each other. On
 * x86-64 they are fixed assembly, so that no compiler changes what is measured; elsewhere plain C.
 */
#ifndef RL_KERNEL_KERNEL_H
#define RL_KERNEL_KERNEL_H

#include "cpu/cpu.h"

#include <roofline/value.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Registers travel as an image: register n at 64 * n bytes, tile n at 1024 * n. */
#define RL_KERNEL_IMAGE_BYTES 8192

/** What a kernel is called with. The assembly knows these offsets. */
struct rl_kernel_args {
    uint64_t loops; /**< iterations (compute, chase) or passes over the arrays (memory), >= 1 */
    const void *in; /**< [RL_KERNEL_IMAGE_BYTES] register image before; 64-byte aligned */
    void *out;      /**< [RL_KERNEL_IMAGE_BYTES] register image after; may equal `in` */
    char *a;        /**< memory kernels: loaded by load, written by all others; 64-byte aligned.
                         Chase: first element of the chain */
    const char *b;  /**< copy, triad, 2:1: loaded */
    const char *c;  /**< triad, 2:1: loaded */
    uint64_t bytes; /**< of each array, a multiple of the kernel's `granule` */
};

/**
 * One way to reach a compute ceiling. An iteration executes `instructions` arithmetic instructions
 * on independent chains.
 */
struct rl_compute_kernel {
    const char *name; /**< e.g. "fp64_fma_c12_avx2"; unique */
    enum rl_precision precision;
    const char *op;        /**< fma add mul add+mul fma+add div sqrt rsqrt madd dot */
    const char *width;     /**< word of the ceiling's `isa`: scalar sse2 avx2 avx512 avx-vnni … */
    enum rl_isa isa;       /**< must be usable */
    unsigned bits;         /**< vector width; 0 for scalar and tiles */
    unsigned work;         /**< FLOP, integer operations or elements an iteration, see `unit` */
    unsigned instructions; /**< arithmetic instructions an iteration */
    const char *unit;      /**< of work per time: "FLOP/s", "OP/s", "elem/s" */
    const char *variant;   /**< for people: "12 chains" */
    void (*run)(const struct rl_kernel_args *args);
};

enum rl_pattern {
    RL_LOAD = 0,
    RL_STORE,
    RL_COPY,
    RL_TRIAD,   /**< a = b + factor * c */
    RL_TWO_ONE, /**< two loads, one unrelated store */
    RL_NT_STORE,
    RL_NT_COPY,
    RL_NT_TRIAD,
    RL_PATTERN_COUNT
};

/** Word in records: "load", "2:1", "nt-copy" … */
const char *rl_pattern_name(enum rl_pattern pattern);
/** Arrays that the pattern loads from and stores to. */
unsigned rl_pattern_loads(enum rl_pattern pattern);
unsigned rl_pattern_stores(enum rl_pattern pattern);
/** Arrays altogether. */
unsigned rl_pattern_arrays(enum rl_pattern pattern);

/** One way to reach a memory ceiling. A pass touches every byte of each array once. */
struct rl_memory_kernel {
    const char *name;
    enum rl_pattern pattern;
    enum rl_isa isa;
    unsigned bits;
    unsigned granule; /**< `bytes` must be a multiple */
    const char *variant;
    void (*run)(const struct rl_kernel_args *args);
};

/** All kernels of this build, usable here or not, variants together. Static; never NULL. */
const struct rl_compute_kernel *rl_compute_kernels(size_t *ret_n);
const struct rl_memory_kernel *rl_memory_kernels(size_t *ret_n);

/** Dependent loads an iteration of rl_chase follows. */
#define RL_CHASE_STEPS 16

/** Follow pointers from args->a for loops * RL_CHASE_STEPS steps; the last one goes to args->out.
 */
void rl_chase(const struct rl_kernel_args *args);

/**
 * Make the branch predictor forget: execute more branches than it keeps targets for, about 50 µs.
 * Routines of a few cycles run at one of several speeds, up to 10 % apart, by what the predictor
 * held when their branches were first met, and stay there. Nothing where no such code exists.
 */
void rl_forget_branches(void);

/** Push the lines of `bytes` bytes from `start` on out of all caches. Nothing where programs
 * cannot. */
void rl_flush_lines(const void *start, size_t bytes);
/** Whether rl_flush_lines does anything. */
bool rl_can_flush_lines(void);

/** A register image that suits every kernel: ordinary, varied, no operand that grows or shrinks to
 * infinity, zero or a denormal within 1e7 iterations. `image` is [RL_KERNEL_IMAGE_BYTES]. */
void rl_kernel_image(enum rl_precision precision, void *image);

#endif
