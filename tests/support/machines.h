/* Machines with round numbers for tests: every expected value can be worked out by hand. */
#ifndef TESTS_SUPPORT_MACHINES_H
#define TESTS_SUPPORT_MACHINES_H

#include <roofline/machine.h>
#include <stdio.h>

static inline void test_add_compute(struct rl_machine *m, enum rl_precision precision,
                                    const char *op, const char *isa, unsigned threads, double rate)
{
    struct rl_compute_ceiling c = {.precision = precision, .threads = threads};
    snprintf(c.op, sizeof c.op, "%s", op);
    snprintf(c.isa, sizeof c.isa, "%s", isa);
    snprintf(c.unit, sizeof c.unit, "FLOP/s");
    c.rate = rl_value(rate, RL_SOURCE_MEASURED, 0.01);
    rl_machine_add_compute(m, &c, NULL);
}

static inline void test_add_memory(struct rl_machine *m, const char *level, const char *pattern,
                                   unsigned threads, double rate)
{
    struct rl_memory_ceiling c = {.threads = threads};
    snprintf(c.level, sizeof c.level, "%s", level);
    snprintf(c.pattern, sizeof c.pattern, "%s", pattern);
    c.rate = rl_value(rate, RL_SOURCE_MEASURED, 0.02);
    rl_machine_add_memory(m, &c, NULL);
}

/* Two cores. One thread: fp64 fma 50, add+mul 50, add 25, mul 25, scalar fma 12.5 and add 6.25, div
 * 3, exp 0.5 Gcall/s, fp32 fma 100 GFLOP/s; L1 200, L2 100, L3 60, DRAM 20 GB/s (store 10, triad
 * 15). Two threads: core-bound twice that; L3 90, DRAM 30. */
static inline struct rl_machine test_machine(void)
{
    struct rl_machine m = {0};
    rl_string_set(&m.name, "test machine", NULL);
    rl_string_set(&m.key, "test", NULL);
    m.topology.cores = m.topology.usable_cores = m.topology.hw_threads = 2;
    m.topology.smt = 1;
    for (unsigned t = 1; t <= 2; t++) {
        test_add_compute(&m, RL_FP64, "fma", "avx2", t, 50e9 * t);
        test_add_compute(&m, RL_FP64, "add+mul", "avx2", t, 50e9 * t);
        test_add_compute(&m, RL_FP64, "add", "avx2", t, 25e9 * t);
        test_add_compute(&m, RL_FP64, "mul", "avx2", t, 25e9 * t);
        test_add_compute(&m, RL_FP64, "fma", "scalar", t, 12.5e9 * t);
        test_add_compute(&m, RL_FP64, "add", "scalar", t, 6.25e9 * t);
        test_add_compute(&m, RL_FP64, "div", "avx2", t, 3e9 * t);
        test_add_compute(&m, RL_FP64, "exp", "libmvec", t, 0.5e9 * t);
        test_add_compute(&m, RL_FP32, "fma", "avx2", t, 100e9 * t);
        test_add_memory(&m, "L1", "load", t, 200e9 * t);
        test_add_memory(&m, "L2", "load", t, 100e9 * t);
        test_add_memory(&m, "L3", "load", t, t == 1 ? 60e9 : 90e9);
        test_add_memory(&m, "DRAM", "load", t, t == 1 ? 20e9 : 30e9);
        test_add_memory(&m, "DRAM", "store", t, 10e9);
        test_add_memory(&m, "DRAM", "triad", t, 15e9);
    }
    return m;
}

#endif
