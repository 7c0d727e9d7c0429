/* Reports made by hand for the tests of renderers: a two-core machine and the usual kernels. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <math.h>
#include <roofline/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct rl_machine machine;
    struct rl_profile profile;
    struct rl_report report;
};

static inline void fixture_compute(struct fixture *f, enum rl_precision precision, const char *op,
                                   const char *isa, double rate, const char *unit, bool contended)
{
    struct rl_compute_ceiling c = {.precision = precision, .threads = 2, .contended = contended};
    snprintf(c.op, sizeof c.op, "%s", op);
    snprintf(c.isa, sizeof c.isa, "%s", isa);
    snprintf(c.unit, sizeof c.unit, "%s", unit);
    c.rate = rl_value(rate, RL_SOURCE_MEASURED, 0.01);
    rl_machine_add_compute(&f->machine, &c, NULL);
}

static inline void fixture_memory(struct fixture *f, const char *level, double rate)
{
    struct rl_memory_ceiling m = {.threads = 2};
    snprintf(m.level, sizeof m.level, "%s", level);
    snprintf(m.pattern, sizeof m.pattern, "load");
    m.rate = rl_value(rate, RL_SOURCE_MEASURED, 0.02);
    rl_machine_add_memory(&f->machine, &m, NULL);
}

static inline void fixture_machine(struct fixture *f)
{
    rl_string_set(&f->machine.name, "AMD EPYC 7B13 (2 cores)", NULL);
    rl_string_set(&f->machine.environment.date, "2026-03-01T12:00:00Z", NULL);
    rl_string_set(&f->machine.environment.program, "roofline 0.1.0", NULL);
    fixture_compute(f, RL_FP64, "fma", "avx2", 100e9, "FLOP/s", false);
    fixture_compute(f, RL_FP64, "add", "avx2", 50e9, "FLOP/s", false);
    fixture_compute(f, RL_FP64, "fma", "scalar", 25e9, "FLOP/s", false);
    fixture_compute(f, RL_FP32, "fma", "avx2", 200e9, "FLOP/s", true);
    fixture_compute(f, RL_FP64, "exp", "libmvec", 1.6e9, "elem/s", false);
    fixture_memory(f, "L1", 400e9);
    fixture_memory(f, "L2", 200e9);
    fixture_memory(f, "L3", 100e9);
    fixture_memory(f, "DRAM", 40e9);
}

/** A kernel doing `flop` in `time_s`; bytes of a level <= 0: that level is not known. */
static inline struct rl_kernel *fixture_kernel(struct fixture *f, const char *name, double flop,
                                               const double bytes[4], double time_s)
{
    static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
    struct rl_kernel *k = NULL;
    rl_profile_add(&f->profile, RL_KIND_BENCH, name, &k, NULL);
    k->threads = rl_value(2, RL_SOURCE_DECLARED, 0);
    if (time_s > 0)
        k->time_s = rl_value(time_s, RL_SOURCE_MEASURED, 0.01);
    if (flop >= 0) {
        struct rl_op_count ops = {.precision = RL_FP64, .op = RL_OP_FMA, .isa = "avx2"};
        ops.count = rl_value(flop / 2, RL_SOURCE_COUNTED, 0);
        rl_kernel_add_ops(k, &ops, NULL);
    }
    for (int i = 0; i < 4; i++) {
        struct rl_traffic *t = NULL;
        if (bytes[i] > 0 && rl_kernel_traffic(k, levels[i], &t, NULL) == RL_OK)
            t->bytes = rl_value(bytes[i], RL_SOURCE_SIMULATED, 0.02);
    }
    return k;
}

/** Rows in the order of the profile, longest first being up to the caller. */
static inline void fixture_place(struct fixture *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->profile.n_kernel; i++)
        sum += f->profile.kernel[i].time_s.value;
    f->report.machine = &f->machine;
    f->report.profile = f->profile.n_kernel || f->profile.name ? &f->profile : NULL;
    f->report.threads = 2;
    f->report.n_row = f->profile.n_kernel;
    f->report.row = calloc(f->report.n_row + 1, sizeof *f->report.row);
    for (size_t i = 0; i < f->report.n_row; i++) {
        struct rl_row *row = &f->report.row[i];
        row->kernel = &f->profile.kernel[i];
        rl_place(&f->machine, row->kernel, NULL, &row->place, NULL);
        if (rl_known(row->kernel->time_s) && sum > 0)
            row->time_share = row->kernel->time_s.value / sum;
    }
}

static inline void fixture_advise(struct fixture *f, size_t row, const char *id, const char *text,
                                  double gain)
{
    struct rl_row *r = &f->report.row[row];
    r->advice = realloc(r->advice, (r->n_advice + 1) * sizeof *r->advice);
    r->advice[r->n_advice] = (struct rl_advice){.text = strdup(text), .gain = gain};
    snprintf(r->advice[r->n_advice].id, sizeof r->advice->id, "%s", id);
    r->n_advice++;
}

static inline void fixture_release(struct fixture *f)
{
    for (size_t i = 0; i < f->report.n_row; i++) {
        for (size_t j = 0; j < f->report.row[i].n_advice; j++)
            free(f->report.row[i].advice[j].text);
        free(f->report.row[i].advice);
    }
    free(f->report.row);
    rl_missing_release(&f->report.missing);
    rl_profile_release(&f->profile);
    rl_machine_release(&f->machine);
    *f = (struct fixture){0};
}

/** The everyday report: eight kernels of every verdict, two of them without a point. */
static inline void fixture_everyday(struct fixture *f)
{
    *f = (struct fixture){0};
    fixture_machine(f);
    rl_string_set(&f->profile.name, "roofline bench", NULL);
    rl_string_set(&f->profile.date, "2026-03-02T09:30:00Z", NULL);
    struct rl_kernel *k;
    fixture_kernel(f, "gemm f64 packed", 8.6e11, (double[]){4.3e11, 1.1e11, 3.6e10, 1.0e10}, 9.4);
    fixture_kernel(f, "spmv csr 27-point", 5.2e10, (double[]){3.4e11, 3.3e11, 3.2e11, 3.1e11}, 8.6);
    fixture_kernel(f, "stencil 3d 7-point", 3.1e10, (double[]){2.6e11, 9.0e10, 8.0e10, 6.4e10},
                   3.2);
    fixture_kernel(f, "conv2d 3x3 direct", 1.9e11, (double[]){2.2e11, 4.1e10, 1.2e10, 4e9}, 2.9);
    fixture_kernel(f, "triad", 4.0e9, (double[]){4.8e10, 4.8e10, 6.3e10, 6.4e10}, 1.7);
    k = fixture_kernel(f, "copy", 0, (double[]){3.2e10, 3.2e10, 4.7e10, 4.8e10}, 1.3);
    k = fixture_kernel(f, "exp f64", -1, (double[]){1.6e9, 1.6e9, 1.6e9, 1.6e9}, 0.8);
    rl_missing_add(&k->missing, "flop", "calls of exp are not FLOP; judged on calls", NULL);
    struct rl_op_count calls = {.precision = RL_FP64, .op = RL_OP_SPECIAL, .isa = "libmvec"};
    snprintf(calls.func, sizeof calls.func, "exp");
    calls.count = rl_value(1.2e9, RL_SOURCE_COUNTED, 0);
    rl_kernel_add_ops(k, &calls, NULL);
    fixture_kernel(f, "gemm f64 naive", 1.6e9, (double[]){2.6e10, 1.3e10, 1.1e10, 2e8}, 0.7);
    fixture_place(f);
    fixture_advise(f, 0, "compute.at-roof",
                   "91 % of the fp64 FMA peak with AVX2: at the roof; only fewer FLOP would help.",
                   0);
    fixture_advise(
        f, 1, "memory.reuse",
        "Reads 310 GB from DRAM where 290 GB are compulsory: store the indices in 16 bit "
        "or the values in fp32 to move fewer bytes.",
        1.6);
}

#endif
