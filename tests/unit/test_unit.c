/* Numbers for people and from people. */
#include "../support/cmocka_all.h"

#include "base/unit.h"

#include <math.h>
#include <string.h>

static void rates_have_three_significant_digits_and_decimal_prefixes(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(rl_format_si(buf, sizeof buf, 1.2345e11, "FLOP/s"), "123 GFLOP/s");
    assert_string_equal(rl_format_si(buf, sizeof buf, 9.996e9, "B/s"), "10.0 GB/s");
    assert_string_equal(rl_format_si(buf, sizeof buf, 999.6e9, "B/s"), "1.00 TB/s");
    assert_string_equal(rl_format_si(buf, sizeof buf, 0, "B/s"), "0 B/s");
    assert_string_equal(rl_format_si(buf, sizeof buf, 4.2e-9, "s"), "4.20 ns");
    assert_string_equal(rl_format_si(buf, sizeof buf, NAN, "B/s"), "–");
}

static void sizes_are_binary_and_say_so(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(rl_format_size(buf, sizeof buf, 49152), "48 KiB");
    assert_string_equal(rl_format_size(buf, sizeof buf, 1), "1 B");
    assert_string_equal(rl_format_size(buf, sizeof buf, 1536), "1.50 KiB");
    assert_string_equal(rl_format_size(buf, sizeof buf, 32ull << 20), "32 MiB");
}

static void binary_and_decimal_suffixes_differ(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_int_equal(rl_parse_size("2GiB", &bytes, NULL), RL_OK);
    assert_int_equal(bytes, 2147483648u);
    assert_int_equal(rl_parse_size("2 GB", &bytes, NULL), RL_OK);
    assert_int_equal(bytes, 2000000000u);
    assert_int_equal(rl_parse_size("1.5K", &bytes, NULL), RL_OK);
    assert_int_equal(bytes, 1536);
}

static void nonsense_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "1Q", "-1", "1e30", "nan", "1 GB/s", "0x"};
    uint64_t bytes = 7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(rl_parse_size(bad[i], &bytes, NULL), RL_EINVAL);
    assert_int_equal(bytes, 7);
    struct rl_error err = {0};
    double value;
    assert_int_equal(rl_parse_double("1,5", "--budget", 0, 10, &value, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "--budget"));
    assert_int_equal(rl_parse_uint("-3", "--threads", 0, 10, &bytes, &err), RL_EINVAL);
    assert_int_equal(rl_parse_uint("99999999999999999999", "--n", 0, UINT64_MAX, &bytes, &err),
                     RL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_have_three_significant_digits_and_decimal_prefixes),
        cmocka_unit_test(sizes_are_binary_and_say_so),
        cmocka_unit_test(binary_and_decimal_suffixes_differ),
        cmocka_unit_test(nonsense_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
