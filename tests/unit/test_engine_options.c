#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "count/engine/options.h"

static void what_is_formatted_is_parsed_back(void **state)
{
    (void)state;
    struct rle_options in = {0}, out = {0};
    char text[RLE_OPTIONS_TEXT_MAX];
    rle_options_default(&in);
    in.mode = RLE_MODE_TRAFFIC;
    in.max_blocks = 7;
    in.follow = false;
    in.jit_native = true;
    in.fsgsbase = false;
    in.real_calls = false;
    in.launch = true;
    in.sample_seed = 4000000000u;
    in.channel = 9;
    strcpy(in.only, "solve, 100%\nC\xc3\xa9line*");
    strcpy(in.output, "/tmp/with,comma=and blank");
    size_t length = rle_options_format(&in, text, sizeof(text));
    assert_true(length > 0);
    assert_int_equal(length, strlen(text));
    assert_true(rle_options_parse(text, &out));
    assert_memory_equal(&in, &out, sizeof(in));
}

static void a_buffer_that_is_too_small_is_refused(void **state)
{
    (void)state;
    struct rle_options in;
    char text[16];
    rle_options_default(&in);
    assert_int_equal(rle_options_format(&in, text, sizeof(text)), 0);
}

static void left_out_keys_keep_their_default(void **state)
{
    (void)state;
    struct rle_options options;
    assert_true(rle_options_parse("output=x", &options));
    assert_int_equal(options.mode, RLE_MODE_COUNT);
    assert_int_equal(options.max_blocks, 16);
    assert_true(options.follow);
    assert_true(options.fsgsbase);
    assert_true(options.real_calls);
    assert_false(options.launch);
}

static void patterns_select_whole_names(void **state)
{
    (void)state;
    assert_true(rle_options_selects("solve", "solve"));
    assert_false(rle_options_selects("solve", "solver"));
    assert_false(rle_options_selects("solver", "solve"));
    assert_true(rle_options_selects("init\nsol?e", "solve"));
    assert_true(rle_options_selects("*mv*", "spmv/2"));
    assert_true(rle_options_selects("a*b*c", "a-b-b-c"));
    assert_false(rle_options_selects("a*b*c", "a-b-b-d"));
    assert_true(rle_options_selects("*", "anything"));
    assert_false(rle_options_selects("", "anything"));
    assert_false(rle_options_selects("in*\n*ve", "vector"));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "mode=count",
        "output=",
        "mode=slow,output=x",
        "blocks=0,output=x",
        "blocks=33,output=x",
        "colour=1,output=x",
        "follow=2,output=x",
        "only=%,output=x",
        "only=%0G,output=x",
        "only=%00,output=x",
        "sample=99999999999,output=x",
        "mode=counts,output=x",
        "jit=nat,output=x",
        "fsgsbase=2,output=x",
        "calls=,output=x",
        "blocks=1x,output=x",
    };
    struct rle_options options;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(rle_options_parse(texts[i], &options));
    char longest[RLE_OUTPUT_MAX + 16] = "output=";
    memset(longest + 7, 'x', RLE_OUTPUT_MAX);
    assert_false(rle_options_parse(longest, &options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_formatted_is_parsed_back),
        cmocka_unit_test(a_buffer_that_is_too_small_is_refused),
        cmocka_unit_test(left_out_keys_keep_their_default),
        cmocka_unit_test(patterns_select_whole_names),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
