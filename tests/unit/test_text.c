/* Numbers, shares and names as every renderer writes them. */
#include "../support/cmocka_all.h"

#include "render/text.h"

static void numbers_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},       {1, "1.00"},       {9.994, "9.99"},  {9.996, "10.0"},
                 {99.96, "100"}, {999.4, "999"},    {1234.5, "1234"}, {0.0417, "0.0417"},
                 {0.5, "0.500"}, {0.99951, "1.00"}, {1e-5, "1e-05"},  {5e7, "5e+07"},
                 {-2.5, "-2.50"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        rl_text_number(text, sizeof text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

/* A share that is known is neither shown as 0 nor as a row of digits. */
static void shares_are_short(void **state)
{
    (void)state;
    const double share[] = {0, 1e-9, 0.0417, 0.0999, 0.873, 188.2, 9999.99, 1.88e8};
    const char *const texts[] = {"0", "<0.1", "4.2", "10", "87", "18820", "999999", "1.88e+10"};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        char text[32];
        rl_text_share(text, sizeof text, share[i]);
        assert_string_equal(text, texts[i]);
    }
}

static void shortened_names_keep_head_and_tail(void **state)
{
    (void)state;
    char name[RL_TEXT_LEN] = "solver::kernel<double>(int*)";
    rl_text_elide(name, sizeof name, 14, true);
    assert_string_equal(name, "solver::…int*)");
    assert_int_equal(rl_text_columns(name), 14);
    char wide[RL_TEXT_LEN] = "核心计算核心计算";
    rl_text_elide(wide, sizeof wide, 9, true);
    assert_true(rl_text_columns(wide) <= 9);
    char small[RL_TEXT_LEN] = "abcdef";
    rl_text_elide(small, sizeof small, 2, false);
    assert_string_equal(small, "ab");
    rl_text_elide(small, sizeof small, 0, true);
    assert_string_equal(small, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_three_digits),
        cmocka_unit_test(shares_are_short),
        cmocka_unit_test(shortened_names_keep_head_and_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
