/* What spmv adds up beside its multiply-adds. */
#include "workload/bench.h"
#include "workload/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double csr_flop(const char *settings)
{
    struct rl_work_env env = {0};
    const struct rl_bench_case which = {"spmv", settings, false};
    struct rl_work_config config;
    struct rl_work work;
    struct rl_kernel kernel = {0};
    assert_int_equal(rl_bench_configure(&which, &env, &config, NULL), RL_OK);
    assert_int_equal(rl_work_open(&work, &config, NULL), RL_OK);
    assert_int_equal(rl_work_account(&work, &kernel, NULL), RL_OK);
    double flop = rl_kernel_flop(&kernel).value;
    rl_kernel_release(&kernel);
    rl_work_release(&work);
    return flop;
}

/* The sum of four lanes and of what a vector leaves: 4 adds a row. None of the 125 rows has more
 * than 7 entries; 7 a row less one for each point of each of 6 faces. */
static void short_rows_take_four_adds(void **state)
{
    (void)state;
    double entries = 7 * 125.0 - 6 * 25;
    assert_true(csr_flop("variant=csr pattern=laplace7 n=5") == 2 * entries + 4 * 125);
}

/* Even corners have 8 entries, from which there are two vectors: 4 adds more. Along each edge 3
 * points see 2, 3 and 2. */
static void long_rows_take_eight_adds(void **state)
{
    (void)state;
    double entries = 7.0 * 7 * 7;
    assert_true(csr_flop("variant=csr pattern=laplace27 n=3") == 2 * entries + 8 * 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_rows_take_four_adds),
        cmocka_unit_test(long_rows_take_eight_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
