/* Reports: textbook kernels get the textbook verdict and the advice that goes with it. */
#include "../support/cmocka_all.h"
#include "../support/machines.h"

#include "analysis/advice.h"
#include "base/file.h"

#include <math.h>
#include <roofline/report.h>
#include <stdlib.h>
#include <string.h>

static struct rl_kernel *add_kernel(struct rl_profile *p, const char *name, double time_s)
{
    struct rl_kernel *k;
    assert_int_equal(rl_profile_add(p, RL_KIND_BENCH, name, &k, NULL), RL_OK);
    k->time_s = rl_value(time_s, RL_SOURCE_MEASURED, 0.01);
    k->threads = rl_value(1, RL_SOURCE_MEASURED, 0);
    return k;
}

static void add_ops(struct rl_kernel *k, enum rl_op_class op, const char *isa, const char *func,
                    double count)
{
    struct rl_op_count ops = {.precision = RL_FP64, .op = op};
    snprintf(ops.isa, sizeof ops.isa, "%s", isa);
    snprintf(ops.func, sizeof ops.func, "%s", func);
    ops.count = rl_value(count, RL_SOURCE_COUNTED, 0);
    rl_kernel_add_ops(k, &ops, NULL);
}

static struct rl_traffic *add_bytes(struct rl_kernel *k, const char *level, double bytes,
                                    double compulsory)
{
    struct rl_traffic *t;
    rl_kernel_traffic(k, level, &t, NULL);
    t->bytes = rl_value(bytes, RL_SOURCE_MODELLED, 0);
    if (compulsory > 0)
        t->compulsory = rl_value(compulsory, RL_SOURCE_MODELLED, 0);
    return t;
}

static const struct rl_advice *find_advice(const struct rl_row *row, const char *id)
{
    for (size_t i = 0; i < row->n_advice; i++)
        if (strcmp(row->advice[i].id, id) == 0)
            return &row->advice[i];
    return NULL;
}

static struct rl_report build(const struct rl_machine *m, const struct rl_profile *p,
                              const struct rl_report_options *o)
{
    struct rl_report report;
    struct rl_error err = {0};
    assert_int_equal(rl_report_build(m, p, o, &report, &err), RL_OK);
    return report;
}

static void a_triad_with_write_allocate_is_told_of_streaming_stores(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "triad", 2.2);
    add_ops(k, RL_OP_FMA, "avx2", "", 1e9);
    struct rl_traffic *t = add_bytes(k, "DRAM", 32e9, 32e9); /* 1.6 s at 20 GB/s */
    t->write_allocate = rl_value(8e9, RL_SOURCE_MODELLED, 0);
    struct rl_report r = build(&m, &p, NULL);
    assert_string_equal(r.row[0].place.bound, "memory:DRAM");
    const struct rl_advice *a = find_advice(&r.row[0], "memory.write-allocate");
    assert_non_null(a);
    assert_true(fabs(a->gain - 32.0 / 24.0) < 1e-9);
    assert_non_null(strstr(a->text, "25 %"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void traffic_far_above_compulsory_asks_for_tiling_and_caps_the_gain(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "gemm naive", 1.1);
    add_ops(k, RL_OP_FMA, "avx2", "", 5e9); /* 0.2 s */
    add_bytes(k, "DRAM", 20e9, 0.5e9);      /* 1 s, could be 0.025 s: compute then binds at 0.2 s */
    struct rl_report r = build(&m, &p, NULL);
    const struct rl_advice *a = find_advice(&r.row[0], "memory.reuse");
    assert_non_null(a);
    assert_true(fabs(a->gain - 5) < 1e-9);
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* 1e9 loads of 8 B fetch a 64 B line each: 8 bytes read for one loaded. Far from every roof. */
static void columns_walked_across_lines_are_named_first(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "gemm naive", 10);
    add_ops(k, RL_OP_FMA, "scalar", "", 5e9);
    k->load_bytes = rl_value(8e9, RL_SOURCE_COUNTED, 0);
    struct rl_traffic *t = add_bytes(k, "DRAM", 64e9, 0); /* 3.2 s of 10 */
    t->read = rl_value(64e9, RL_SOURCE_SIMULATED, 0.02);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_LATENCY);
    assert_string_equal(r.row[0].advice[0].id, "memory.stride");
    assert_non_null(strstr(r.row[0].advice[0].text, "7.8 bytes through DRAM"));
    assert_string_equal(r.row[0].advice[1].id, "memory.pattern"); /* gains 1 / 32 % */
    assert_true(fabs(r.row[0].advice[1].gain - 3.125) < 1e-9);
    /* 1 GFLOP/s is 8 % of scalar code's 12.5: vectors would wait for the same bytes */
    assert_null(find_advice(&r.row[0], "compute.vectorise"));
    rl_report_release(&r);
    t->read = rl_value(64e9, RL_SOURCE_SIMULATED, 0.9); /* 0.8 at the least: nothing is known */
    r = build(&m, &p, NULL);
    assert_null(find_advice(&r.row[0], "memory.stride"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void a_verdict_without_the_outermost_level_says_so(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "region", 2);
    add_ops(k, RL_OP_FMA, "avx2", "", 30e9); /* 1.2 s of 2 */
    add_bytes(k, "L1", 8e9, 0);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_COMPUTE);
    const struct rl_advice *a = find_advice(&r.row[0], "unknown.levels");
    assert_non_null(a);
    assert_non_null(strstr(a->text, "its DRAM traffic is not known"));
    assert_true(a->gain == 0);
    rl_report_release(&r);
    add_bytes(k, "DRAM", 1e9, 0);
    r = build(&m, &p, NULL);
    assert_null(find_advice(&r.row[0], "unknown.levels"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* A kernel of 1e9 fp64 adds. */
static struct rl_report with_traffic(const struct rl_machine *m, struct rl_profile *p, double l2,
                                     double dram, double time_s)
{
    struct rl_kernel *k = add_kernel(p, "k", time_s);
    add_ops(k, RL_OP_ADD, "avx2", "", 1e9);
    add_bytes(k, "L2", l2, 0);
    add_bytes(k, "DRAM", dram, 0);
    return build(m, p, NULL);
}

/* DRAM gives 20 GB/s: of 8e9 bytes 0.4 s. L2 is so much faster that four times the bytes, and so a
 * quarter of the intensity, need less. */
static void the_binding_level_is_the_one_used_most_not_the_leftmost(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_report r = with_traffic(&m, &p, 32e9, 8e9, 0.5);
    assert_true(rl_intensity(&p.kernel[0], "L2") < rl_intensity(&p.kernel[0], "DRAM"));
    assert_string_equal(r.row[0].place.bound, "memory:DRAM");
    assert_null(find_advice(&r.row[0], "memory.order")); /* nothing to explain */
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void intensities_in_an_unusual_order_are_explained(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_report r = with_traffic(&m, &p, 4e9, 8e9, 0.5);
    assert_string_equal(r.row[0].place.bound, "memory:DRAM");
    const struct rl_advice *a = find_advice(&r.row[0], "memory.order");
    assert_non_null(a);
    assert_non_null(strstr(a->text, "moves 2 times as many bytes through DRAM (modelled) as "
                                    "through L2 (modelled)"));
    assert_true(a->gain <= 1);
    rl_report_release(&r);
    rl_profile_release(&p);
    p = (struct rl_profile){0};
    r = with_traffic(&m, &p, 8e9, 8.5e9, 0.5); /* within what two counts differ by */
    assert_null(find_advice(&r.row[0], "memory.order"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* Each byte loaded is read once: a stream, however slow, wastes nothing of its lines. */
static void a_stream_is_not_told_of_strides(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "triad", 2.2);
    add_ops(k, RL_OP_FMA, "avx2", "", 1e9);
    k->load_bytes = rl_value(16e9, RL_SOURCE_COUNTED, 0);
    struct rl_traffic *t = add_bytes(k, "DRAM", 32e9, 0);
    t->read = rl_value(16e9, RL_SOURCE_SIMULATED, 0.02);
    t->write_allocate = rl_value(8e9, RL_SOURCE_SIMULATED, 0.02);
    struct rl_report r = build(&m, &p, NULL);
    assert_string_equal(r.row[0].place.bound, "memory:DRAM");
    assert_null(find_advice(&r.row[0], "memory.stride"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void scalar_code_is_told_to_vectorise(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "scalar", 1.1);
    add_ops(k, RL_OP_FMA, "scalar", "", 6.25e9);
    add_bytes(k, "DRAM", 1e8, 1e8);
    struct rl_report r = build(&m, &p, NULL);
    const struct rl_advice *a = find_advice(&r.row[0], "compute.vectorise");
    assert_non_null(a);
    assert_true(fabs(a->gain - 4) < 1e-9); /* 50 against 12.5 GFLOP/s */
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* 20 of 50 GFLOP/s by instructions of the library's own choice. */
static void a_slow_library_is_asked_for_other_code_and_not_its_caller(void **state)
{
    (void)state;
    struct rl_error err = {0};
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "gemm/blas", 1);
    add_ops(k, RL_OP_FMA, "", "", 1e10);
    assert_int_equal(rl_kernel_set_parameter(k, "library", "libfast 1.0", &err), RL_OK);
    struct rl_report r = build(&m, &p, NULL);
    const struct rl_advice *a = find_advice(&r.row[0], "compute.library");
    assert_non_null(a);
    assert_non_null(strstr(a->text, "libfast 1.0"));
    assert_true(fabs(a->gain - 2.5) < 1e-9);
    assert_null(find_advice(&r.row[0], "compute.ilp"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* 30 of 50 GFLOP/s: a neighbour on the core explains that; 20 it does not, nor is 45 worth a word.
 */
static void a_disturbed_time_is_taken_again_before_anything_else(void **state)
{
    (void)state;
    struct rl_error err = {0};
    const struct {
        double fma;
        const char *isa;
        bool disturbed;
        const char *says; /* NULL: nothing */
    } of[] = {
        {1.5e10, "avx2", true, "60 % of its roof:"},
        {1.5e10, "avx2", false, NULL},
        {1e10, "avx2", true, NULL},
        {2.25e10, "avx2", true, NULL},
        {3.75e9, "scalar", true, "60 % of what its own instructions allow:"}, /* 15 % of its roof */
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct rl_machine m = test_machine();
        struct rl_profile p = {0};
        struct rl_kernel *k = add_kernel(&p, "gemm", 1);
        add_ops(k, RL_OP_FMA, of[i].isa, "", of[i].fma);
        if (of[i].disturbed)
            assert_int_equal(rl_missing_add(&k->missing, RL_UNDISTURBED_TIME, "busy", &err), RL_OK);
        struct rl_report r = build(&m, &p, NULL);
        assert_int_equal(find_advice(&r.row[0], "time.disturbed") != NULL, of[i].says != NULL);
        if (of[i].says) {
            assert_string_equal(r.row[0].advice[0].id, "time.disturbed");
            assert_non_null(strstr(r.row[0].advice[0].text, of[i].says));
        }
        rl_report_release(&r);
        rl_profile_release(&p);
        rl_machine_release(&m);
    }
}

static void a_rare_flop_between_other_work_is_no_cause_to_vectorise(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "parser", 1);
    add_ops(k, RL_OP_ADD, "scalar", "",
            1e6); /* 1 MFLOP/s where scalar code could do 12.5 GFLOP/s */
    add_bytes(k, "DRAM", 1e8, 1e8);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_LATENCY);
    assert_null(find_advice(&r.row[0], "compute.vectorise"));
    assert_non_null(find_advice(&r.row[0], "latency.cause"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* 1 s in a million of them is 1 µs each. */
static void what_begins_too_often_is_batched_as_a_function_and_made_longer_as_a_loop(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    const enum rl_kernel_kind kind[] = {RL_KIND_FUNCTION, RL_KIND_LOOP};
    for (size_t i = 0; i < 2; i++) {
        struct rl_kernel *k = add_kernel(&p, i ? "solve:7" : "solve", 1);
        k->kind = kind[i];
        k->calls = rl_value(1e6, RL_SOURCE_COUNTED, 0);
        add_ops(k, RL_OP_ADD, "scalar", "", 1e6);
        add_bytes(k, "DRAM", 1e8, 1e8);
    }
    struct rl_report r = build(&m, &p, NULL);
    assert_non_null(strstr(find_advice(&r.row[0], "latency.short")->text, "1.00 µs a call"));
    assert_non_null(strstr(find_advice(&r.row[1], "latency.short")->text, "time it is entered"));
    assert_null(strstr(find_advice(&r.row[1], "latency.short")->text, "call"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* On a processor for 4 of 10 s, as on a busy machine: a function sampled for 3 s is 3/4 of that. A
 * region's 5 s are by the clock, waiting included, and so is the row of the whole. */
static void shares_of_sampled_time_are_of_the_time_on_a_processor(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {.elapsed_s = rl_value(10, RL_SOURCE_MEASURED, 0),
                           .cpu_s = rl_value(8, RL_SOURCE_MEASURED, 0),
                           .threads = rl_value(2, RL_SOURCE_SAMPLED, 0)};
    const char *command = "./solver";
    assert_int_equal(rl_profile_set_command(&p, &command, 1, NULL), RL_OK);
    add_kernel(&p, "all", 10)->kind = RL_KIND_PROGRAM;
    struct rl_kernel *region = add_kernel(&p, "region", 5);
    region->kind = RL_KIND_REGION;
    struct rl_kernel *function = add_kernel(&p, "function", 3);
    function->kind = RL_KIND_FUNCTION;
    function->time_s.source = RL_SOURCE_SAMPLED;
    function->total_time_s = rl_value(4, RL_SOURCE_MODELLED, 0);
    struct rl_report r = build(&m, &p, NULL);
    assert_true(r.row[0].time_share == 1 && r.row[1].time_share == 0.5);
    assert_true(r.row[2].time_share == 0.75 && r.row[2].total_time_share == 1);
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void rows_that_only_call_are_for_totals(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *caller = add_kernel(&p, "caller", 0);
    caller->time_s = (struct rl_value){0};
    caller->total_time_s = rl_value(2, RL_SOURCE_SAMPLED, 0);
    add_kernel(&p, "callee", 1)->total_time_s = rl_value(1, RL_SOURCE_SAMPLED, 0);
    struct rl_kernel *start = add_kernel(&p, "__libc_start_main@@GLIBC_2.34", 0);
    start->kind = RL_KIND_FUNCTION;
    start->time_s = (struct rl_value){0};
    start->total_time_s = rl_value(2.1, RL_SOURCE_SAMPLED, 0);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.n_row, 1);
    rl_report_release(&r);
    struct rl_report_options options = {.totals = true};
    r = build(&m, &p, &options);
    assert_int_equal(r.n_row, 3);
    assert_string_equal(r.row[0].kernel->name, "caller");
    assert_string_equal(r.row[2].kernel->name, "__libc_start_main@@GLIBC_2.34"); /* calls all */
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void a_map_of_exp_is_bound_by_exp(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    test_add_compute(&m, RL_FP64, "exp", "libm", 1, 0.1e9);
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "exp", 1.05);
    add_ops(k, RL_OP_SPECIAL, "libm", "exp", 0.1e9);
    add_bytes(k, "DRAM", 1.6e9, 1.6e9);
    struct rl_report r = build(&m, &p, NULL);
    assert_string_equal(r.row[0].place.bound, "compute:fp64.exp");
    const struct rl_advice *a = find_advice(&r.row[0], "compute.special");
    assert_non_null(a);
    assert_true(fabs(a->gain - 5) < 1e-9);
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* 0.5e9 elem/s with libmvec and 0.45e9 calls in a second: 90 % of exp, while DRAM is used little.
 */
static void the_fastest_exp_at_its_limit_is_bound_by_exp_and_not_by_bandwidth(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "exp", 1);
    add_ops(k, RL_OP_SPECIAL, "libmvec", "exp", 0.45e9);
    add_bytes(k, "DRAM", 1.6e9, 1.6e9);
    struct rl_report r = build(&m, &p, NULL);
    assert_string_equal(r.row[0].place.bound, "compute:fp64.exp");
    assert_non_null(find_advice(&r.row[0], "compute.special"));
    assert_null(find_advice(&r.row[0], "no-flop.bandwidth"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* One second of 9 million dependent loads, whose number times the latency of DRAM explains 0.9 of
 * it, and the lines that came from there. */
static struct rl_kernel *add_chase(struct rl_machine *m, struct rl_profile *p, double lines)
{
    struct rl_latency l = {.level = "DRAM", .threads = 1};
    struct rl_traffic *t;
    l.time_s = rl_value(100e-9, RL_SOURCE_MEASURED, 0.05);
    rl_machine_add_latency(m, &l, NULL);
    struct rl_kernel *k = add_kernel(p, "chase", 1.0);
    k->flop = rl_value(0, RL_SOURCE_COUNTED, 0);
    k->latency_bound_loads = rl_value(9e6, RL_SOURCE_COUNTED, 0);
    add_bytes(k, "DRAM", lines * 64, lines * 64);
    assert_int_equal(rl_kernel_traffic(k, "DRAM", &t, NULL), RL_OK);
    t->read = rl_value(lines * 64, RL_SOURCE_SIMULATED, 0);
    return k;
}

static void a_pointer_chase_names_dependent_loads(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_chase(&m, &p, 9e6);
    /* A line is read for every pointer of 8 bytes, as it must be where the next one is elsewhere.
     */
    k->load_bytes = rl_value(9e6 * 8, RL_SOURCE_COUNTED, 0);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_LATENCY);
    assert_null(find_advice(&r.row[0], "memory.stride"));
    const struct rl_advice *a = find_advice(&r.row[0], "latency.chain");
    assert_non_null(a);
    assert_non_null(strstr(a->text, "dependent loads: 9e+06 of them at DRAM latency"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

/* Most of them were served nearer to the core. */
static void loads_do_not_wait_for_a_level_that_sent_few_lines(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    add_chase(&m, &p, 4e6);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_LATENCY);
    assert_null(find_advice(&r.row[0], "latency.chain"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void a_copy_is_judged_on_bandwidth_and_says_so(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    struct rl_kernel *k = add_kernel(&p, "copy", 1.0);
    k->flop = rl_value(0, RL_SOURCE_MODELLED, 0);
    add_bytes(k, "DRAM", 18e9, 18e9);
    struct rl_report r = build(&m, &p, NULL);
    assert_int_equal(r.row[0].place.verdict, RL_VERDICT_NO_FLOP);
    assert_non_null(find_advice(&r.row[0], "no-flop.bandwidth"));
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void rows_come_longest_first_and_can_be_selected(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_profile p = {0};
    add_kernel(&p, "a", 1);
    add_kernel(&p, "b", 8);
    add_kernel(&p, "ab", 1);
    struct rl_report r = build(&m, &p, NULL);
    assert_string_equal(r.row[0].kernel->name, "b");
    assert_true(fabs(r.row[0].time_share - 0.8) < 1e-12);
    assert_string_equal(r.row[1].kernel->name, "a"); /* ties keep file order */
    assert_non_null(find_advice(&r.row[0], "unknown.data"));
    rl_report_release(&r);
    struct rl_report_options only = {.select = "a*"};
    r = build(&m, &p, &only);
    assert_int_equal(r.n_row, 2);
    rl_report_release(&r);
    struct rl_report_options large = {.min_time_share = 0.5};
    r = build(&m, &p, &large);
    assert_int_equal(r.n_row, 1);
    rl_report_release(&r);
    rl_profile_release(&p);
    rl_machine_release(&m);
}

static void a_machine_without_ceilings_cannot_be_reported_on(void **state)
{
    (void)state;
    struct rl_machine empty = {0};
    struct rl_report r;
    struct rl_error err = {0};
    assert_int_equal(rl_report_build(&empty, NULL, NULL, &r, &err), RL_ENODATA);
    struct rl_machine m = test_machine();
    assert_int_equal(rl_report_build(&m, NULL, NULL, &r, &err), RL_OK);
    assert_int_equal(r.threads, 2);
    assert_int_equal(r.n_row, 0);
    rl_report_release(&r);
    rl_machine_release(&m);
}

static void every_rule_is_documented_and_every_row_has_a_rule(void **state)
{
    (void)state;
    char *text, id[64];
    size_t n_rules = 0, n_rows = 0;
    assert_int_equal(rl_file_read(SOURCE_DIR "/docs/advice.md", 1 << 20, &text, NULL, NULL), RL_OK);
    for (; rl_rule_at(n_rules); n_rules++) {
        snprintf(id, sizeof id, "| `%s` |", rl_rule_at(n_rules)->id);
        if (!strstr(text, id))
            fail_msg("docs/advice.md lacks %s", id);
    }
    for (const char *p = strstr(text, "\n| `"); p; p = strstr(p + 1, "\n| `"))
        n_rows++;
    assert_int_equal(n_rows, n_rules + RL_VERDICT_COUNT);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_triad_with_write_allocate_is_told_of_streaming_stores),
        cmocka_unit_test(traffic_far_above_compulsory_asks_for_tiling_and_caps_the_gain),
        cmocka_unit_test(columns_walked_across_lines_are_named_first),
        cmocka_unit_test(a_verdict_without_the_outermost_level_says_so),
        cmocka_unit_test(the_binding_level_is_the_one_used_most_not_the_leftmost),
        cmocka_unit_test(intensities_in_an_unusual_order_are_explained),
        cmocka_unit_test(a_stream_is_not_told_of_strides),
        cmocka_unit_test(scalar_code_is_told_to_vectorise),
        cmocka_unit_test(a_slow_library_is_asked_for_other_code_and_not_its_caller),
        cmocka_unit_test(a_disturbed_time_is_taken_again_before_anything_else),
        cmocka_unit_test(a_rare_flop_between_other_work_is_no_cause_to_vectorise),
        cmocka_unit_test(what_begins_too_often_is_batched_as_a_function_and_made_longer_as_a_loop),
        cmocka_unit_test(shares_of_sampled_time_are_of_the_time_on_a_processor),
        cmocka_unit_test(rows_that_only_call_are_for_totals),
        cmocka_unit_test(a_map_of_exp_is_bound_by_exp),
        cmocka_unit_test(the_fastest_exp_at_its_limit_is_bound_by_exp_and_not_by_bandwidth),
        cmocka_unit_test(a_pointer_chase_names_dependent_loads),
        cmocka_unit_test(loads_do_not_wait_for_a_level_that_sent_few_lines),
        cmocka_unit_test(a_copy_is_judged_on_bandwidth_and_says_so),
        cmocka_unit_test(rows_come_longest_first_and_can_be_selected),
        cmocka_unit_test(a_machine_without_ceilings_cannot_be_reported_on),
        cmocka_unit_test(every_rule_is_documented_and_every_row_has_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
