/* struct rl_error carries one readable message and survives being absent. */
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_returns_its_status_and_fills_the_text(void **state)
{
    (void)state;
    struct rl_error err = {0};
    assert_int_equal(rl_fail(&err, RL_EDATA, "%s: line %d", "a.json", 3), RL_EDATA);
    assert_int_equal(err.status, RL_EDATA);
    assert_string_equal(err.text, "a.json: line 3");
}

static void a_missing_buffer_is_fine(void **state)
{
    (void)state;
    assert_int_equal(rl_fail(NULL, RL_EINVAL, "unused"), RL_EINVAL);
    assert_int_equal(rl_fail_errno(NULL, "unused"), RL_ESYS);
}

static void errno_is_named_in_words(void **state)
{
    (void)state;
    struct rl_error err = {0};
    errno = ENOENT;
    assert_int_equal(rl_fail_errno(&err, "x.json"), RL_ESYS);
    assert_string_equal(err.text, "x.json: No such file or directory");
}

static void context_goes_in_front(void **state)
{
    (void)state;
    struct rl_error err = {0};
    rl_fail(&err, RL_EDATA, "no key \"schema\"");
    rl_fail_within(&err, RL_EDATA, "m.json");
    assert_string_equal(err.text, "m.json: no key \"schema\"");
}

static void an_overlong_text_ends_in_an_ellipsis(void **state)
{
    (void)state;
    struct rl_error err = {0};
    char longer[2 * sizeof err.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    rl_fail(&err, RL_EDATA, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_non_null(strstr(err.text, "…"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_returns_its_status_and_fills_the_text),
        cmocka_unit_test(a_missing_buffer_is_fine),
        cmocka_unit_test(errno_is_named_in_words),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(an_overlong_text_ends_in_an_ellipsis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
