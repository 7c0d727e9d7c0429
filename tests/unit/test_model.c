/* The model: attainable performance, ridge, which ceiling applies, bound times and verdicts. */
#include "../support/cmocka_all.h"
#include "../support/machines.h"

#include <math.h>
#include <roofline/model.h>
#include <roofline/profile.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_KERNELS = 2000 };

static struct rl_kernel kernel_with(double fma, const char *isa, double dram_bytes, double time_s)
{
    struct rl_kernel k = {0};
    rl_string_set(&k.name, "k", NULL);
    if (fma > 0) {
        struct rl_op_count ops = {
            .precision = RL_FP64, .op = RL_OP_FMA, .count = rl_value(fma, RL_SOURCE_COUNTED, 0)};
        snprintf(ops.isa, sizeof ops.isa, "%s", isa);
        rl_kernel_add_ops(&k, &ops, NULL);
    }
    if (dram_bytes > 0) {
        struct rl_traffic *t;
        rl_kernel_traffic(&k, "DRAM", &t, NULL);
        t->bytes = rl_value(dram_bytes, RL_SOURCE_MODELLED, 0);
    }
    k.time_s = rl_value(time_s, RL_SOURCE_MEASURED, 0.01);
    k.threads = rl_value(1, RL_SOURCE_MEASURED, 0);
    return k;
}

static struct rl_placement place(const struct rl_machine *m, const struct rl_kernel *k)
{
    struct rl_placement p;
    struct rl_error err = {0};
    assert_int_equal(rl_place(m, k, NULL, &p, &err), RL_OK);
    return p;
}

static void attainable_is_the_lower_of_slope_and_peak(void **state)
{
    (void)state;
    assert_true(rl_attainable(100, 10, 5) == 50);   /* 10 B/s x 5 FLOP/B */
    assert_true(rl_attainable(100, 10, 10) == 100); /* the ridge */
    assert_true(rl_attainable(100, 10, 1000) == 100);
    assert_true(rl_attainable(100, 10, 0) == 0);
    assert_true(rl_ridge(100, 10) == 10);
}

static void attainable_never_falls_with_intensity_and_never_exceeds_the_peak(void **state)
{
    (void)state;
    double last = 0;
    for (double ai = 1e-5; ai < 1e5; ai *= 1.07) {
        double p = rl_attainable(50e9, 20e9, ai);
        assert_true(p >= last && p <= 50e9);
        last = p;
    }
}

static void the_peak_is_the_best_general_ceiling_and_divides_are_not_general(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    double scale = 0;
    assert_string_equal(rl_peak(&m, RL_FP64, NULL, NULL, 1, &scale)->op, "fma");
    assert_true(scale == 1);
    assert_true(rl_peak(&m, RL_FP64, NULL, NULL, 2, &scale)->rate.value == 100e9);
    assert_null(rl_peak(&m, RL_FP16, NULL, NULL, 1, &scale));
    assert_true(rl_peak(&m, RL_FP64, "fma", "scalar", 1, &scale)->rate.value == 12.5e9);
    rl_machine_release(&m);
}

static void an_unmeasured_thread_count_scales_private_resources_only(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    double scale = 0;
    assert_int_equal(rl_peak(&m, RL_FP64, "fma", NULL, 4, &scale)->threads, 2);
    assert_true(scale == 2);
    assert_int_equal(rl_bandwidth(&m, "L1", NULL, 4, &scale)->threads, 2);
    assert_true(scale == 2);
    rl_bandwidth(&m, "DRAM", NULL, 4, &scale);
    assert_true(scale == 1);
    rl_machine_release(&m);
}

static void the_access_mix_picks_the_memory_ceiling(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    double scale;
    struct rl_mix only_loads = {0}, triad = {.store_share = 1.0 / 3}, stores = {.store_share = 1};
    assert_string_equal(rl_bandwidth(&m, "DRAM", &only_loads, 1, &scale)->pattern, "load");
    assert_string_equal(rl_bandwidth(&m, "DRAM", &triad, 1, &scale)->pattern, "triad");
    assert_string_equal(rl_bandwidth(&m, "DRAM", &stores, 1, &scale)->pattern, "store");
    assert_null(rl_bandwidth(&m, "HBM", NULL, 1, &scale));
    rl_machine_release(&m);
}

static void ceilings_in_bytes_asked_for_become_bytes_moved(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    double scale;
    struct rl_mix loads = {0}, triad = {.store_share = 1.0 / 3}, stores = {.store_share = 1};
    rl_bandwidth(&m, "DRAM", &loads, 1, &scale);
    assert_true(scale == 1);
    rl_bandwidth(&m, "DRAM", &triad, 1, &scale); /* 2 loads and a store move 4: 4/3 */
    assert_true(fabs(scale - 4.0 / 3) < 1e-12);
    rl_bandwidth(&m, "DRAM", &stores, 1, &scale); /* read before it is overwritten: 2 */
    assert_true(scale == 2);
    test_add_memory(&m, "DRAM", "nt-store", 1, 12e9);
    struct rl_mix streaming = {.store_share = 1, .nontemporal_share = 1};
    assert_string_equal(rl_bandwidth(&m, "DRAM", &streaming, 1, &scale)->pattern, "nt-store");
    assert_true(scale == 1);
    /* The level's roof is the fastest that surely moves what it asks for: 20 load, not 15 x 4/3
     * triad. */
    assert_string_equal(rl_bandwidth(&m, "DRAM", NULL, 1, &scale)->pattern, "load");
    test_add_memory(&m, "DRAM", "nt-copy", 1, 22e9);
    assert_string_equal(rl_bandwidth(&m, "DRAM", NULL, 1, &scale)->pattern, "nt-copy");
    test_add_memory(&m, "L1", "2:1", 1, 300e9);
    assert_string_equal(rl_bandwidth(&m, "L1", NULL, 1, &scale)->pattern, "2:1");
    rl_machine_release(&m);
}

static void a_streaming_kernel_is_bound_by_dram(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    /* 1e9 fma = 2e9 FLOP: 0.04 s at 50 GFLOP/s; 20e9 B: 1 s at 20 GB/s; took 1.25 s: 80 %. */
    struct rl_kernel k = kernel_with(1e9, "avx2", 20e9, 1.25);
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_MEMORY);
    assert_string_equal(p.bound, "memory:DRAM");
    assert_true(fabs(p.attained - 0.8) < 1e-12);
    assert_true(fabs(p.headroom - 1.25) < 1e-12);
    assert_true(fabs(p.roof_flop_per_s - 2e9) < 1);
    assert_true(fabs(p.flop_per_s - 1.6e9) < 1);
    assert_int_equal(p.n_resource, 2);
    assert_true(fabs(p.resource[1].utilization - 0.032) < 1e-12); /* 0.04 / 1.25 */
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void a_blocked_gemm_is_bound_by_fma(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(25e9, "avx2", 1e9, 1.1); /* 1 s of FMA, 0.05 s of DRAM */
    struct rl_placement p = place(&m, &k);
    assert_string_equal(p.bound, "compute:fp64.fma");
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void scalar_code_near_its_own_limit_is_compute_bound_not_latency(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    /* 12.5 GFLOP in 1.1 s: 23 % of the AVX2 peak, 91 % of what scalar FMA allows. */
    struct rl_kernel k = kernel_with(6.25e9, "scalar", 1e8, 1.1);
    struct rl_placement p = place(&m, &k);
    assert_string_equal(p.bound, "compute:fp64.fma");
    assert_true(fabs(p.isa_attained - 1 / 1.1) < 1e-12);
    assert_string_equal(p.isa_ceiling, "fp64.fma.scalar@1");
    assert_true(p.attained < 0.25);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void far_from_every_roof_is_latency(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 2e9, 1.0);
    assert_int_equal(place(&m, &k).verdict, RL_VERDICT_LATENCY);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void without_the_outermost_level_nothing_is_called_latency(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 2e9, 1.0);
    snprintf(k.traffic[0].level, sizeof k.traffic[0].level, "L1");
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_UNKNOWN);
    assert_string_equal(p.beyond, "DRAM");
    assert_non_null(strstr(p.why, "DRAM traffic is not known"));
    k.time_s.value = 0.05; /* 80 % of the FMA peak: that much is certain */
    p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_COMPUTE);
    assert_string_equal(p.beyond, "DRAM");
    k.n_traffic = 0; /* it touches no memory: there is nothing to know */
    k.load_bytes = k.store_bytes = rl_value(0, RL_SOURCE_COUNTED, 0);
    k.time_s.value = 1.0;
    assert_int_equal(place(&m, &k).verdict, RL_VERDICT_LATENCY);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void memory_and_compute_within_a_tenth_is_near_ridge(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(25e9, "avx2", 19e9, 1.2); /* 1 s and 0.95 s */
    assert_int_equal(place(&m, &k).verdict, RL_VERDICT_NEAR_RIDGE);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void a_value_above_the_roof_is_kept_and_explained(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 20e9, 0.5);
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_ABOVE_ROOF);
    assert_true(fabs(p.attained - 2) < 1e-12);
    assert_true(strlen(p.why) > 0);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void a_copy_is_judged_on_bandwidth(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(0, "", 20e9, 1.1);
    k.flop = rl_value(0, RL_SOURCE_COUNTED, 0);
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_NO_FLOP);
    assert_true(fabs(p.attained - 1 / 1.1) < 1e-12);
    assert_true(p.flop_per_s == 0);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void what_is_not_known_gives_unknown_with_a_reason(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel no_time = kernel_with(1e9, "avx2", 1e9, 1);
    no_time.time_s = (struct rl_value){0};
    struct rl_kernel nothing = kernel_with(0, "", 0, 1);
    struct rl_kernel no_flop = kernel_with(0, "", 1e9, 1);
    assert_string_equal(place(&m, &no_time).why, "the time is not known");
    assert_string_equal(place(&m, &nothing).why, "neither FLOP nor bytes are known");
    assert_string_equal(place(&m, &no_flop).why, "the FLOP are not known");
    rl_kernel_release(&no_time);
    rl_kernel_release(&nothing);
    rl_kernel_release(&no_flop);
    rl_machine_release(&m);
}

static void adds_and_multiplies_pair_before_they_stand_alone(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = {.time_s = rl_value(4, RL_SOURCE_MEASURED, 0)};
    struct rl_op_count add = {.precision = RL_FP64, .op = RL_OP_ADD, .isa = "avx2"};
    struct rl_op_count mul = {.precision = RL_FP64, .op = RL_OP_MUL, .isa = "avx2"};
    add.count = rl_value(50e9, RL_SOURCE_COUNTED, 0);
    mul.count = rl_value(25e9, RL_SOURCE_COUNTED, 0);
    rl_kernel_add_ops(&k, &add, NULL);
    rl_kernel_add_ops(&k, &mul, NULL);
    /* 25e9 pairs = 50e9 FLOP at 50 G: 1 s; 25e9 adds at 25 G: 1 s. */
    assert_true(fabs(place(&m, &k).bound_time_s - 2) < 1e-12);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void special_functions_and_divides_have_their_own_ceilings(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = {.time_s = rl_value(3, RL_SOURCE_MEASURED, 0)};
    struct rl_op_count exp_ops = {.precision = RL_FP64, .op = RL_OP_SPECIAL, .func = "exp"};
    struct rl_op_count div_ops = {.precision = RL_FP64, .op = RL_OP_DIV, .isa = "avx2"};
    exp_ops.count = rl_value(1e9, RL_SOURCE_COUNTED, 0);
    div_ops.count = rl_value(1.5e9, RL_SOURCE_COUNTED, 0);
    rl_kernel_add_ops(&k, &exp_ops, NULL);
    rl_kernel_add_ops(&k, &div_ops, NULL);
    struct rl_placement p = place(&m, &k); /* 2 s of exp, 0.5 s of div */
    assert_true(fabs(p.bound_time_s - 2.5) < 1e-12);
    assert_string_equal(p.bound, "compute:fp64.exp");
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void broken_numbers_are_refused(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_placement p;
    struct rl_error err = {0};
    struct rl_kernel negative = kernel_with(1e9, "avx2", 1e9, -1);
    struct rl_kernel endless = kernel_with(INFINITY, "avx2", 1e9, 1);
    assert_int_equal(rl_place(&m, &negative, NULL, &p, &err), RL_EINVAL);
    assert_int_equal(rl_place(&m, &endless, NULL, &p, &err), RL_EINVAL);
    rl_kernel_release(&negative);
    rl_kernel_release(&endless);
    rl_machine_release(&m);
}

static double random_between(unsigned *seed, double low, double high)
{
    return low * pow(high / low, (double)rand_r(seed) / RAND_MAX);
}

static void no_ratio_changes_when_work_and_time_scale_together(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    unsigned seed = 1;
    for (int i = 0; i < RANDOM_KERNELS; i++) {
        double fma = random_between(&seed, 1e3, 1e13), bytes = random_between(&seed, 1e3, 1e13);
        double time_s = random_between(&seed, 1e-6, 1e4), s = random_between(&seed, 1e-3, 1e3);
        struct rl_kernel a = kernel_with(fma, "avx2", bytes, time_s);
        struct rl_kernel b = kernel_with(fma * s, "avx2", bytes * s, time_s * s);
        struct rl_placement pa = place(&m, &a), pb = place(&m, &b);
        assert_true(fabs(pa.attained - pb.attained) <= 1e-9 * pa.attained);
        assert_int_equal(pa.verdict, pb.verdict);
        assert_true(pa.roof_flop_per_s <= 50e9 * (1 + 1e-9));
        rl_kernel_release(&a);
        rl_kernel_release(&b);
    }
    rl_machine_release(&m);
}

static void a_higher_ceiling_never_raises_the_share_attained(void **state)
{
    (void)state;
    struct rl_machine m = test_machine(), faster = test_machine();
    unsigned seed = 2;
    for (int i = 0; i < RANDOM_KERNELS; i++) {
        size_t c = (size_t)rand_r(&seed) % faster.n_compute;
        double before = faster.compute[c].rate.value;
        faster.compute[c].rate.value *= random_between(&seed, 1, 10);
        struct rl_kernel k = kernel_with(random_between(&seed, 1e3, 1e13), "avx2",
                                         random_between(&seed, 1e3, 1e13), 1);
        assert_true(place(&faster, &k).attained <= place(&m, &k).attained * (1 + 1e-12));
        faster.compute[c].rate.value = before;
        rl_kernel_release(&k);
    }
    rl_machine_release(&m);
    rl_machine_release(&faster);
}

static void a_region_shorter_than_its_marks_is_not_placed(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 1e9, 1);
    k.kind = RL_KIND_REGION;
    k.time_s = rl_value(1, RL_SOURCE_MEASURED, 0);
    k.calls = rl_value(1e6, RL_SOURCE_MEASURED, 0);
    assert_int_not_equal(place(&m, &k).verdict, RL_VERDICT_UNKNOWN);
    k.calls.value = 4e6;
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_UNKNOWN);
    assert_non_null(strstr(p.why, "a call of it took 250 ns"));
    assert_true(p.attained == 0 && p.flop_per_s == 0);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void what_lacks_its_threads_has_a_rate_and_no_roof_to_be_compared_with(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 1e9, 1);
    k.threads = (struct rl_value){0};
    assert_int_not_equal(place(&m, &k).verdict, RL_VERDICT_UNKNOWN);
    assert_int_equal(rl_missing_add(&k.missing, "threads", "no sample", NULL), RL_OK);
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_UNKNOWN);
    assert_non_null(strstr(p.why, "threads"));
    assert_true(p.attained == 0 && p.flop_per_s == 2e9);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void a_time_sampled_too_seldom_places_nothing(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 1e9, 1);
    k.time_s = rl_value(1, RL_SOURCE_SAMPLED, 0.09);
    assert_int_not_equal(place(&m, &k).verdict, RL_VERDICT_UNKNOWN);
    k.time_s.spread = 0.11;
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_UNKNOWN);
    assert_non_null(strstr(p.why, "uncertain by 11 %"));
    assert_true(p.attained == 0 && p.flop_per_s == 0);
    k.time_s.spread = 0.25; /* 2.5 times what is allowed: 6.25 times the samples */
    assert_non_null(strstr(place(&m, &k).why, "it takes 7 times the samples at least"));
    k.time_s.source = RL_SOURCE_MEASURED;
    assert_int_not_equal(place(&m, &k).verdict, RL_VERDICT_UNKNOWN);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

static void what_was_counted_in_bursts_is_placed_by_intensity_alone(void **state)
{
    (void)state;
    struct rl_machine m = test_machine();
    struct rl_kernel k = kernel_with(1e9, "avx2", 20e9, 1.25);
    k.is_mix = true;
    struct rl_placement p = place(&m, &k);
    assert_int_equal(p.verdict, RL_VERDICT_UNKNOWN);
    assert_non_null(strstr(p.why, "bursts"));
    assert_true(p.attained == 0 && p.flop_per_s == 0 && p.headroom == 0);
    assert_true(fabs(p.roof_flop_per_s - 2e9) < 1); /* 2e9 FLOP for 20e9 B at 20 GB/s */
    assert_true(p.resource[0].utilization == 0);
    rl_kernel_release(&k);
    rl_machine_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attainable_is_the_lower_of_slope_and_peak),
        cmocka_unit_test(attainable_never_falls_with_intensity_and_never_exceeds_the_peak),
        cmocka_unit_test(the_peak_is_the_best_general_ceiling_and_divides_are_not_general),
        cmocka_unit_test(an_unmeasured_thread_count_scales_private_resources_only),
        cmocka_unit_test(the_access_mix_picks_the_memory_ceiling),
        cmocka_unit_test(ceilings_in_bytes_asked_for_become_bytes_moved),
        cmocka_unit_test(a_streaming_kernel_is_bound_by_dram),
        cmocka_unit_test(a_blocked_gemm_is_bound_by_fma),
        cmocka_unit_test(scalar_code_near_its_own_limit_is_compute_bound_not_latency),
        cmocka_unit_test(far_from_every_roof_is_latency),
        cmocka_unit_test(without_the_outermost_level_nothing_is_called_latency),
        cmocka_unit_test(memory_and_compute_within_a_tenth_is_near_ridge),
        cmocka_unit_test(a_value_above_the_roof_is_kept_and_explained),
        cmocka_unit_test(a_copy_is_judged_on_bandwidth),
        cmocka_unit_test(what_is_not_known_gives_unknown_with_a_reason),
        cmocka_unit_test(adds_and_multiplies_pair_before_they_stand_alone),
        cmocka_unit_test(special_functions_and_divides_have_their_own_ceilings),
        cmocka_unit_test(broken_numbers_are_refused),
        cmocka_unit_test(no_ratio_changes_when_work_and_time_scale_together),
        cmocka_unit_test(a_higher_ceiling_never_raises_the_share_attained),
        cmocka_unit_test(a_region_shorter_than_its_marks_is_not_placed),
        cmocka_unit_test(what_lacks_its_threads_has_a_rate_and_no_roof_to_be_compared_with),
        cmocka_unit_test(a_time_sampled_too_seldom_places_nothing),
        cmocka_unit_test(what_was_counted_in_bursts_is_placed_by_intensity_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
