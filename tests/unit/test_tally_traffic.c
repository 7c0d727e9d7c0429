/* Simulated traffic goes to the code and the regions that caused it. */
#include "count/traffic.h"
#include "profile/tally.h"

#include "../support/cmocka_all.h"
#include "../support/counted_kernel.h"
#include "../support/result_image.h"

/* A model of two levels that knows one flow a level and no error, but at the last. */
static void add_flows(const void *model, struct rl_cache_flow *sum,
                      const struct rl_cache_flow *account)
{
    (void)model;
    for (unsigned i = 0; i < 2; i++) {
        sum[i].reads += account[i].reads;
        sum[i].writebacks += account[i].writebacks;
    }
}

static void estimate_flows(const void *model, const struct rl_cache_flow *account, uint32_t level,
                           struct rl_traffic_value *ret)
{
    (void)model;
    *ret = (struct rl_traffic_value){.read_bytes = 64.0 * (double)account[level].reads,
                                     .writeback_bytes = 64.0 * (double)account[level].writebacks};
    ret->bytes = ret->read_bytes + ret->writeback_bytes;
    ret->error_bytes = level ? 0.05 * ret->bytes : 0;
}

static double traffic_bytes(const struct rl_kernel *kernel, const char *level)
{
    const struct rl_traffic *row = rl_kernel_find_traffic(kernel, level);
    return row ? row->bytes.value : -1;
}

static void simulated_traffic_goes_to_the_code_that_caused_it(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    static const struct rl_cache_flow flow[2] = {{.reads = 10, .writebacks = 1}, {.reads = 2}};
    const struct rl_traffic_row rows[] = {
        {.pid = 7, .block = 0, .insn = 0, .account = flow},   /* a process without a result */
        {.pid = 100, .block = 0, .insn = 2, .account = flow}, /* offset 10: inner loop */
        {.pid = 100, .block = 1, .insn = 0, .account = flow}, /* offset 26: outer loop */
        {.pid = 100, .block = 2, .insn = 0, .account = flow}, /* offset 34: no loop */
        {.pid = 100, .block = 3, .insn = 1, .account = flow}, /* offset 14: inner loop */
        {.pid = 100, .block = 99, .insn = 1, .account = flow}};
    const struct rl_tally_traffic traffic = {.row = rows,
                                             .n_row = 6,
                                             .n_flows = 2,
                                             .n_levels = 2,
                                             .add = add_flows,
                                             .estimate = estimate_flows,
                                             .sampled = true,
                                             .n_followed = 4,
                                             .n_classes = 64,
                                             .widened = true,
                                             .missed = 3};
    kernel_image(f, &image);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    build(f, &image, &(struct rl_tally_options){.loops = true, .traffic = &traffic}, &tally);
    assert_true(traffic_bytes(&tally.program, "L2") == 6 * 11 * 64);
    assert_true(traffic_bytes(&tally.program, "DRAM") == 6 * 2 * 64);
    assert_true(traffic_bytes(&tally.unit[0].kernel, "L2") == 4 * 11 * 64);
    assert_true(traffic_bytes(&tally.unit[1].kernel, "L2") == 11 * 64);
    assert_true(traffic_bytes(&tally.unit[2].kernel, "DRAM") == 2 * 2 * 64);
    const struct rl_traffic *l2 = rl_kernel_find_traffic(&tally.unit[2].kernel, "L2");
    assert_int_equal(l2->bytes.source, RL_SOURCE_SIMULATED);
    assert_true(l2->bytes.spread == 0 && l2->write.value == 128);
    const struct rl_traffic *dram = rl_kernel_find_traffic(&tally.unit[2].kernel, "DRAM");
    assert_true(dram->bytes.spread > 0.049 && dram->bytes.spread < 0.051);
    assert_int_equal(tally.n_note, 2);
    assert_non_null(strstr(tally.note[0], "4 of 64 classes (more than usual"));
    rl_tally_release(&tally);
}

static void simulated_traffic_goes_to_its_region_and_those_around_it(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    static const struct rl_cache_flow flow[2] = {{.reads = 10, .writebacks = 1}, {.reads = 2}};
    const struct rl_traffic_row rows[] = {
        {.pid = 100, .block = 0, .insn = 2, .region = 0, .account = flow},
        {.pid = 100, .block = 0, .insn = 2, .region = 1, .account = flow},
        {.pid = 100, .block = 0, .insn = 2, .region = 2, .account = flow},
        {.pid = 100, .block = 3, .insn = 1, .region = 3, .account = flow},
        {.pid = 100, .block = 99, .insn = 1, .region = 2, .account = flow},
        {.pid = 100, .block = 3, .insn = 1, .region = 99, .account = flow}};
    const struct rl_tally_traffic traffic = {.row = rows,
                                             .n_row = 6,
                                             .n_flows = 2,
                                             .n_levels = 2,
                                             .add = add_flows,
                                             .estimate = estimate_flows};
    kernel_image(f, &image);
    const struct rle_result_region outer = {.name = image_string(&image, "step"),
                                            .parent = RLE_NONE},
                                   inner = {.name = image_string(&image, "solve"), .parent = 0},
                                   again = {.name = outer.name, .parent = 1};
    image_add(&image, RLE_SECTION_REGIONS, &outer, sizeof outer);
    image_add(&image, RLE_SECTION_REGIONS, &inner, sizeof inner);
    image_add(&image, RLE_SECTION_REGIONS, &again, sizeof again);
    for (uint32_t region = 0; region <= 3; region++) {
        kernel_counters(1, counters);
        image_counters(&image, 0, region, counters, 8);
    }
    build(f, &image, &(struct rl_tally_options){.loops = true, .traffic = &traffic}, &tally);
    assert_int_equal(tally.n_region, 2);
    assert_string_equal(tally.region[0].name, "step"); /* rows of 1, 2, 3, once each */
    assert_true(traffic_bytes(&tally.region[0].kernel, "L2") == 4 * 11 * 64);
    assert_string_equal(tally.region[1].name, "solve"); /* rows of 2 and 3 */
    assert_true(traffic_bytes(&tally.region[1].kernel, "DRAM") == 3 * 2 * 64);
    const struct rl_traffic *dram = rl_kernel_find_traffic(&tally.region[1].kernel, "DRAM");
    assert_int_equal(dram->bytes.source, RL_SOURCE_SIMULATED);
    assert_true(dram->bytes.spread > 0.049 && dram->bytes.spread < 0.051);
    assert_int_equal(tally.region[1].kernel.missing.n, 0);
    assert_true(traffic_bytes(&tally.program, "DRAM") == 6 * 2 * 64);
    rl_tally_release(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_traffic_goes_to_the_code_that_caused_it),
        cmocka_unit_test(simulated_traffic_goes_to_its_region_and_those_around_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
