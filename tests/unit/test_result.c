/* Result files of the counting engine become executions; damaged ones become messages. */
#include "count/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/cmocka_all.h"
#include "../support/result_image.h"

static const uint8_t nops[32] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};

/* A module at 0x5000 of file offset 0x1000, and one fragment of three blocks: entered 100 times,
 * left 30 times behind its first block and 20 times behind its second. */
static void three_blocks(struct result_image *image)
{
    image_init(image);
    image_module(image, "/bin/app", 0x5000, 0x1000, 0x1000);
    uint32_t first = image_block(image, 0, 0x5010, nops, 4, 4, 2);
    image_block(image, 0, 0x5014, nops, 3, 3, 3);
    image_block(image, 0, 0x5017, nops, 5, 5, RLE_NONE);
    image_fragment(image, first, 1);
}

static void parse(const struct result_image *image, struct rl_result *ret)
{
    struct rl_error err = {0};
    if (rl_result_parse(image->data, sizeof image->data, "test", ret, &err))
        fail_msg("%s", err.text);
}

static void check_piece(const struct rl_result *result, size_t i, uint64_t offset, uint32_t size,
                        uint64_t executions)
{
    assert_true(i < result->n_pieces);
    assert_int_equal(result->pieces[i].offset, offset);
    assert_int_equal(result->pieces[i].size, size);
    assert_int_equal(result->pieces[i].executions, executions);
}

static void executions_are_the_head_less_earlier_exits(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    three_blocks(&image);
    image_counters(&image, 0, 0, (uint64_t[]){0, 60, 20, 5}, 4);
    image_counters(&image, 1, 0, (uint64_t[]){0, 40, 10, 15}, 4);
    parse(&image, &result);
    assert_int_equal(result.n_pieces, 3);
    check_piece(&result, 0, 0x1010, 4, 100);
    check_piece(&result, 1, 0x1014, 3, 70);
    check_piece(&result, 2, 0x1017, 5, 50);
    assert_true(result.pieces[0].has_next);
    assert_int_equal(result.pieces[0].next, 0x1014);
    assert_int_equal(result.pieces[0].to_next, 70);
    assert_false(result.pieces[2].has_next);
    assert_string_equal(result.modules[0].path, "/bin/app");
    assert_string_equal(result.problem, "");
    rl_result_release(&result);
}

/* Seven instructions in two blocks; twice left before the third, five times before the sixth. */
static void corrections_split_the_block_they_fall_into(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    three_blocks(&image);
    const struct rle_result_correction late = {.fragment = 0, .insn = 5, .counter = 5},
                                       early = {.fragment = 0, .insn = 2, .counter = 4};
    image_add(&image, RLE_SECTION_CORRECTIONS, &late, sizeof late);
    image_add(&image, RLE_SECTION_CORRECTIONS, &early, sizeof early);
    image_counters(&image, 0, 0, (uint64_t[]){0, 100, 30, 20, 2, 5}, 6);
    parse(&image, &result);
    assert_int_equal(result.n_pieces, 5);
    check_piece(&result, 0, 0x1010, 2, 100);
    check_piece(&result, 1, 0x1012, 2, 98);
    assert_int_equal(result.pieces[1].first, 2);
    check_piece(&result, 2, 0x1014, 1, 68);
    check_piece(&result, 3, 0x1015, 2, 63);
    check_piece(&result, 4, 0x1017, 5, 43);
    assert_int_equal(result.pieces[1].next, 0x1014);
    rl_result_release(&result);
}

static void regions_have_their_own_executions(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    three_blocks(&image);
    const struct rle_result_region outer = {.name = image_string(&image, "outer"),
                                            .parent = RLE_NONE,
                                            .entries = 3},
                                   inner = {.name = image_string(&image, "inner"), .parent = 0};
    image_add(&image, RLE_SECTION_REGIONS, &outer, sizeof outer);
    image_add(&image, RLE_SECTION_REGIONS, &inner, sizeof inner);
    image_counters(&image, 0, 0, (uint64_t[]){0, 60, 20, 5}, 4);
    image_counters(&image, 0, 1, (uint64_t[]){0, 40, 10, 15}, 4);
    parse(&image, &result);
    assert_int_equal(result.n_regions, 2);
    assert_string_equal(result.regions[0].name, "outer");
    assert_int_equal(result.regions[0].entries, 3);
    assert_int_equal(result.regions[1].parent, 0);
    check_piece(&result, 1, 0x1014, 3, 70);
    assert_int_equal(result.regions[0].executions[1], 30);
    assert_null(result.regions[1].executions);
    rl_result_release(&result);
}

static void generated_code_is_known_by_its_address(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    image_init(&image);
    image_module(&image, "", 0x7000, 0x1000, 0);
    uint32_t first = image_block(&image, 0, 0x7010, nops, 4, 4, RLE_NONE);
    image_fragment(&image, first, 1);
    first = image_block(&image, RLE_NONE, 0x9010, nops, 4, 4, RLE_NONE);
    image_fragment(&image, first, RLE_NONE);
    image_counters(&image, 0, 0, (uint64_t[]){0, 9}, 2);
    parse(&image, &result);
    assert_true(result.modules[0].is_generated);
    assert_int_equal(result.n_pieces, 1);
    check_piece(&result, 0, 0x7010, 4, 9);
    assert_int_equal(result.uncounted_blocks, 1);
    rl_result_release(&result);
}

static void what_is_no_result_is_refused_with_a_reason(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    struct rl_error err = {0};
    assert_int_equal(rl_result_parse((const uint8_t *)"hello", 5, "x", &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "x: not a result"));
    assert_int_equal(rl_result_parse(NULL, 0, "x", &result, &err), RL_EDATA);
    three_blocks(&image);
    image_header(&image)->version = 99;
    assert_int_equal(rl_result_parse(image.data, sizeof image, "x", &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "version 99"));
    three_blocks(&image);
    image_header(&image)->isa = RLE_ISA_AARCH64;
    assert_int_equal(rl_result_parse(image.data, sizeof image, "x", &result, &err), RL_EDATA);
    three_blocks(&image);
    image_header(&image)->sections[RLE_SECTION_BLOCKS].offset = sizeof image - 8;
    assert_int_equal(rl_result_parse(image.data, sizeof image, "x", &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "end of the file"));
    assert_int_equal(rl_result_read("/proc/self/nonexistent", &result, &err), RL_ESYS);
    assert_int_equal(rl_result_read("/tmp", &result, &err), RL_EDATA);
}

static void references_outside_the_file_lose_only_what_they_touch(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    three_blocks(&image);
    uint32_t first = image_block(&image, 7, 0x5000, nops, 4, 4, RLE_NONE); /* no such module */
    image_fragment(&image, first, 1);
    const struct rle_result_fragment wild = {
        .first_block = 60000, .n_blocks = 1, .head_counter = 1};
    image_add(&image, RLE_SECTION_FRAGMENTS, &wild, sizeof wild);
    image_counters(&image, 0, 0, (uint64_t[]){0, 100, 30, 20}, 4);
    image_counters(&image, 0, 9, (uint64_t[]){0, 1}, 2); /* no such region */
    parse(&image, &result);
    assert_int_equal(result.n_pieces, 3);
    check_piece(&result, 2, 0x1017, 5, 50);
    assert_string_not_equal(result.problem, "");
    rl_result_release(&result);
}

static void a_compact_copy_says_the_same(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result whole, copy;
    struct rl_error err = {0};
    three_blocks(&image);
    const struct rle_result_region region = {.name = image_string(&image, "solve"),
                                             .parent = RLE_NONE};
    image_add(&image, RLE_SECTION_REGIONS, &region, sizeof region);
    image_counters(&image, 0, 0, (uint64_t[]){0, 60, 20, 5}, 4);
    image_counters(&image, 1, 1, (uint64_t[]){0, 30, 10, 15}, 4);
    image_counters(&image, 2, 1, (uint64_t[]){0, 10}, 2);
    /* What moved to a region is taken off outside of it. */
    image_counters(&image, 1, 0, (uint64_t[]){0, 0, (uint64_t)-8, 0}, 4);
    char from[] = "/tmp/rl_result_XXXXXX", to[] = "/tmp/rl_result_XXXXXX";
    int fd = mkstemp(from);
    assert_int_equal(write(fd, image.data, sizeof image), sizeof image);
    close(fd);
    close(mkstemp(to));
    if (rl_result_compact(from, to, &err) || rl_result_read(from, &whole, &err) ||
        rl_result_read(to, &copy, &err))
        fail_msg("%s", err.text);
    assert_true(copy.storage_size < sizeof image / 8);
    assert_int_equal(copy.n_pieces, whole.n_pieces);
    for (size_t i = 0; i < whole.n_pieces; i++) {
        check_piece(&copy, i, whole.pieces[i].offset, whole.pieces[i].size,
                    whole.pieces[i].executions);
        assert_int_equal(copy.regions[0].executions[i], whole.regions[0].executions[i]);
    }
    assert_string_equal(copy.modules[0].path, "/bin/app");
    assert_string_equal(copy.regions[0].name, "solve");
    rl_result_release(&whole);
    rl_result_release(&copy);
    unlink(from);
    unlink(to);
}

static void counters_that_share_memory_are_refused(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    struct rl_error err = {0};
    three_blocks(&image);
    struct rle_result_header *h = image_header(&image);
    h->n_counters = (IMAGE_BYTES / 2 + IMAGE_BYTES / 4) / 8;
    const struct rle_result_extent all = {.offset = IMAGE_BYTES / 4};
    image_add(&image, RLE_SECTION_EXTENTS, &all, sizeof all);
    image_add(&image, RLE_SECTION_EXTENTS, &all, sizeof all);
    char path[] = "/tmp/rl_result_XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, image.data, sizeof image), sizeof image);
    assert_int_equal(rl_result_read(path, &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "overlap"));
    assert_int_equal(ftruncate(fd, sizeof *h - 1), 0);
    assert_int_equal(rl_result_read(path, &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "not a result"));
    close(fd);
    unlink(path);
}

/* Only what a process leaves that was killed as it began is blank; what is damaged is not. */
static void a_blank_result_is_told_from_a_damaged_one(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_result result;
    struct rl_error err = {0};
    char path[] = "/tmp/rl_result_XXXXXX";
    int fd = mkstemp(path);
    assert_true(rl_result_is_blank(path));
    assert_int_equal(rl_result_read(path, &result, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "killed before it was counted"));
    assert_int_equal(ftruncate(fd, sizeof image), 0);
    assert_true(rl_result_is_blank(path));
    assert_int_equal(ftruncate(fd, sizeof(struct rle_result_header) - 1), 0);
    assert_false(rl_result_is_blank(path));
    three_blocks(&image);
    assert_int_equal(pwrite(fd, image.data, sizeof image, 0), sizeof image);
    assert_false(rl_result_is_blank(path));
    image_header(&image)->version = 99;
    assert_int_equal(pwrite(fd, image.data, sizeof image, 0), sizeof image);
    assert_false(rl_result_is_blank(path));
    assert_int_equal(rl_result_read(path, &result, &err), RL_EDATA);
    close(fd);
    unlink(path);
    assert_false(rl_result_is_blank(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executions_are_the_head_less_earlier_exits),
        cmocka_unit_test(corrections_split_the_block_they_fall_into),
        cmocka_unit_test(regions_have_their_own_executions),
        cmocka_unit_test(generated_code_is_known_by_its_address),
        cmocka_unit_test(what_is_no_result_is_refused_with_a_reason),
        cmocka_unit_test(references_outside_the_file_lose_only_what_they_touch),
        cmocka_unit_test(a_compact_copy_says_the_same),
        cmocka_unit_test(counters_that_share_memory_are_refused),
        cmocka_unit_test(a_blank_result_is_told_from_a_damaged_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
