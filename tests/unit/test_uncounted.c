/* What is said of the time in which a process ran uncounted. */
#include "count/engine/options.h"
#include "profile/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/cmocka_all.h"
#include "../support/result_image.h"

static void add_uncounted(struct result_image *image, uint32_t reason, const char *detail,
                          uint64_t begin_ns, uint64_t end_ns)
{
    const struct rle_result_uncounted u = {.events = 1,
                                           .reason = reason,
                                           .begin_ns = begin_ns,
                                           .end_ns = end_ns,
                                           .detail = image_string(image, detail)};
    image_add(image, RLE_SECTION_UNCOUNTED, &u, sizeof u);
}

static void build(const struct result_image *image, struct rl_tally *ret)
{
    char path[] = "/tmp/test_uncounted.XXXXXX";
    const char *file = path;
    struct rl_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0 &&
                write(fd, image->data, sizeof image->data) == (ssize_t)sizeof image->data);
    close(fd);
    enum rl_status status = rl_tally_build(&file, 1, NULL, ret, &err);
    unlink(path);
    if (status != RL_OK)
        fail_msg("%s", err.text);
}

/* Counted from 1000 to 2000 but for twice 100; it had run for 600 before: 800 of 1600. */
static void attached(struct result_image *image)
{
    image_init(image);
    struct rle_result_header *header = image_header(image);
    header->start_ns = 1000;
    header->end_ns = 2000;
    add_uncounted(image, RLE_UNCOUNTED_BEFORE, "", 400, 1000);
    add_uncounted(image, RLE_UNCOUNTED_PAUSED, "", 1200, 1300);
    add_uncounted(image, RLE_UNCOUNTED_PAUSED, "", 1500, 1600);
}

static void what_ran_before_and_between_is_uncounted(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_tally tally;
    attached(&image);
    build(&image, &tally);
    assert_true(tally.uncounted_share == 0.5);
    assert_false(tally.is_cut);
    assert_int_equal(tally.n_note, 2); /* pauses are told once */
    assert_non_null(strstr(tally.note[0], "before it was attached to"));
    assert_non_null(strstr(tally.note[1], "for a while"));
    rl_tally_release(&tally);
}

static void bursts_are_made_of_pauses(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_tally tally;
    attached(&image);
    image_header(&image)->mode = RLE_MODE_MIX;
    image_header(&image)->state = RLE_STATE_DETACHED;
    strcpy(image_header(&image)->message, "left on request");
    build(&image, &tally);
    assert_int_equal(tally.n_note, 0);
    assert_true(tally.uncounted_share == 0);
    assert_false(tally.is_cut);
    rl_tally_release(&tally);
}

/* The engine left, and nothing it could leave behind says when the process ended. */
static void a_process_that_ran_on_for_nobody_knows_how_long_is_cut(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_tally tally;
    image_init(&image);
    image_header(&image)->state = RLE_STATE_DETACHED;
    strcpy(image_header(&image)->message, "it confines itself");
    add_uncounted(&image, RLE_UNCOUNTED_DETACHED, "it confines itself", 1500, 0);
    build(&image, &tally);
    assert_true(tally.is_cut);
    assert_int_equal(tally.n_note, 1); /* of its state; its stretch of time says the same */
    rl_tally_release(&tally);
}

/* A call that the program was refused leaves all counts, and what it did then, to be compared. */
static void what_is_worth_knowing_cuts_nothing(void **state)
{
    (void)state;
    static struct result_image image;
    struct rl_tally tally;
    image_init(&image);
    strcpy(image_header(&image)->message, "a thread was refused memory");
    build(&image, &tally);
    assert_int_equal(tally.n_note, 1);
    assert_non_null(strstr(tally.note[0], "process 100: a thread was refused memory"));
    assert_false(tally.is_cut);
    rl_tally_release(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_before_and_between_is_uncounted),
        cmocka_unit_test(bursts_are_made_of_pauses),
        cmocka_unit_test(a_process_that_ran_on_for_nobody_knows_how_long_is_cut),
        cmocka_unit_test(what_is_worth_knowing_cuts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
