/* Counted code becomes functions, loops and regions with their operations and bytes. */
#include "profile/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/cmocka_all.h"
#include "../support/counted_kernel.h"
#include "../support/result_image.h"

static const struct rl_tally_unit *unit_named(const struct rl_tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->n_unit; i++)
        if (!strcmp(tally->unit[i].kernel.name, name))
            return &tally->unit[i];
    fail_msg("no unit is called %s", name);
    return NULL;
}

static double ops_of(const struct rl_kernel *kernel, enum rl_precision precision,
                     enum rl_op_class op, const char *isa)
{
    for (size_t i = 0; i < kernel->n_ops; i++)
        if (kernel->ops[i].precision == precision && kernel->ops[i].op == op &&
            !strcmp(kernel->ops[i].isa, isa))
            return kernel->ops[i].count.value;
    return 0;
}

static const char *parameter(const struct rl_kernel *kernel, const char *key)
{
    for (size_t i = 0; i < kernel->n_parameter; i++)
        if (!strcmp(kernel->parameter[i].key, key))
            return kernel->parameter[i].value;
    return "";
}

static void a_function_has_its_operations_bytes_and_calls(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    kernel_image(f, &image);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    build(f, &image, NULL, &tally);
    assert_int_equal(tally.n_function, 1);
    const struct rl_tally_unit *unit = unit_named(&tally, "rl_test_kernel");
    const struct rl_kernel *k = &unit->kernel;
    assert_int_equal(unit->begin, f->offset);
    assert_int_equal(unit->end, f->offset + SIZE);
    assert_true(k->calls.value == CALLS);
    assert_int_equal(k->calls.source, RL_SOURCE_COUNTED);
    double passes = CALLS * OUTER * INNER;
    assert_true(ops_of(k, RL_FP64, RL_OP_MUL, "scalar") == passes);
    assert_true(ops_of(k, RL_FP64, RL_OP_ADD, "scalar") == passes);
    assert_true(rl_kernel_flop(k).value == 2 * passes);
    assert_true(rl_known(rl_kernel_iop(k)) && rl_kernel_iop(k).value == 0);
    assert_true(k->load_bytes.value == 16 * passes + 8 * CALLS);
    assert_true(k->store_bytes.value == 8 * CALLS * OUTER);
    const struct rl_traffic *l1 = rl_kernel_find_traffic(k, "L1");
    assert_non_null(l1);
    assert_true(l1->bytes.value == k->load_bytes.value + k->store_bytes.value);
    assert_true(rl_kernel_flop(&tally.program).value == 2 * passes);
    assert_int_equal(k->missing.n, 0);
    assert_true(tally.uncounted_share == 0);
    rl_tally_release(&tally);
}

static void loops_nest_and_hold_their_own_code_only(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    kernel_image(f, &image);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    build(f, &image, NULL, &tally);
    assert_int_equal(tally.n_unit, 3);
    const struct rl_tally_unit *outer = &tally.unit[1], *inner = &tally.unit[2];
    assert_int_equal(outer->begin, f->offset + 5);
    assert_int_equal(outer->end, f->offset + 34);
    assert_int_equal(inner->begin, f->offset + 10);
    assert_int_equal(inner->parent, 1);
    assert_int_equal(inner->function, 0);
    assert_int_equal(inner->kernel.depth, 2);
    assert_true(outer->kernel.calls.value == CALLS);
    assert_true(inner->kernel.calls.value == CALLS * OUTER);
    assert_string_equal(parameter(&inner->kernel, "iterations"), "384");
    assert_true(rl_kernel_flop(&inner->kernel).value == 2 * CALLS * OUTER * INNER);
    assert_true(rl_kernel_flop(&outer->kernel).value == 0);
    assert_true(outer->kernel.store_bytes.value == 8 * CALLS * OUTER);
    assert_true(inner->kernel.store_bytes.value == 0);
    assert_true(rl_known(inner->kernel.latency_bound_loads));
    assert_true(inner->kernel.latency_bound_loads.value == 0);
    assert_string_equal(inner->kernel.group, "rl_test_kernel");
    assert_string_not_equal(inner->kernel.name, outer->kernel.name);
    uint32_t function, loop;
    rl_tally_find(&tally, 0, f->offset + 14, &function, &loop);
    assert_int_equal(function, 0);
    assert_int_equal(loop, 2);
    rl_tally_find(&tally, 0, f->offset + 26, &function, &loop);
    assert_int_equal(loop, 1);
    rl_tally_release(&tally);
    build(f, &image, &(struct rl_tally_options){.loops = false}, &tally);
    assert_int_equal(tally.n_unit, 1);
    rl_tally_release(&tally);
}

/* Assembly in a C file has lines of whatever stood before it, or (some compilers) none. */
static void lines_add_up_to_their_function(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    kernel_image(f, &image);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    build(f, &image, &(struct rl_tally_options){.lines = true}, &tally);
    if (!tally.n_line) {
        rl_tally_release(&tally);
        skip();
    }
    double flop = 0, loads = 0;
    for (size_t i = 0; i < tally.n_line; i++) {
        assert_true(tally.line[i].file && tally.line[i].line);
        flop += tally.line[i].flop;
        loads += tally.line[i].load_bytes;
    }
    assert_true(flop == rl_kernel_flop(&tally.unit[0].kernel).value);
    assert_true(loads == tally.unit[0].kernel.load_bytes.value);
    rl_tally_release(&tally);
}

static void regions_include_those_nested_in_them(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    kernel_image(f, &image);
    const struct rle_result_region outer = {.name = image_string(&image, "step"),
                                            .parent = RLE_NONE,
                                            .entries = 5},
                                   inner = {.name = image_string(&image, "solve"),
                                            .parent = 0,
                                            .entries = 2},
                                   again = {.name = outer.name, .parent = 1, .entries = 1};
    image_add(&image, RLE_SECTION_REGIONS, &outer, sizeof outer);
    image_add(&image, RLE_SECTION_REGIONS, &inner, sizeof inner);
    image_add(&image, RLE_SECTION_REGIONS, &again, sizeof again);
    for (uint32_t region = 0; region <= 3; region++) {
        kernel_counters(1u << region, counters);
        image_counters(&image, 0, region, counters, 8);
    }
    build(f, &image, NULL, &tally);
    assert_int_equal(tally.n_region, 2);
    double flop = 2.0 * OUTER * INNER;
    assert_string_equal(tally.region[0].name, "step");
    assert_true(rl_kernel_flop(&tally.region[0].kernel).value == (2 + 4 + 8) * flop);
    assert_true(rl_kernel_flop(&tally.region[1].kernel).value == (4 + 8) * flop);
    assert_true(tally.region[0].kernel.calls.value == 6);
    assert_true(rl_kernel_flop(&tally.program).value == (1 + 2 + 4 + 8) * flop);
    rl_tally_release(&tally);
    /* Asked for alone, the inner region and what is nested in it is all there is. */
    build(f, &image, &(struct rl_tally_options){.loops = true, .only = "other\nsol*"}, &tally);
    assert_int_equal(tally.n_region, 1);
    assert_string_equal(tally.region[0].name, "solve");
    assert_true(rl_kernel_flop(&tally.program).value == (4 + 8) * flop);
    assert_true(rl_kernel_flop(&unit_named(&tally, "rl_test_kernel")->kernel).value ==
                (4 + 8) * flop);
    rl_tally_release(&tally);
    build(f, &image, &(struct rl_tally_options){.only = "none"}, &tally);
    assert_int_equal(tally.n_region, 0);
    assert_int_equal(tally.n_unit, 0);
    rl_tally_release(&tally);
}

static void masks_and_string_instructions_are_pointed_out(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    image_init(&image);
    image_module(&image, "/proc/self/exe", 0x400000, 1u << 24, 0);
    uint32_t first =
        image_block(&image, 0, 0x400000 + f->offset + SIZE, rl_test_after, 9, 3, RLE_NONE);
    image_fragment(&image, first, 1);
    image_counters(&image, 0, 0, (uint64_t[]){0, 10}, 2);
    build(f, &image, NULL, &tally);
    const struct rl_kernel *k = &unit_named(&tally, "rl_test_after")->kernel;
    assert_true(ops_of(k, RL_FP64, RL_OP_FMA, "avx512") == 80);
    assert_true(rl_kernel_flop(k).value == 160);
    assert_string_equal(parameter(k, "masked_flop_share"), "1");
    assert_int_equal(k->missing.n, 1);
    assert_non_null(strstr(k->missing.item[0].why, "string instructions moved, executed 10 times"));
    assert_true(k->store_bytes.value == 0);
    assert_int_equal(tally.n_note, 1);
    assert_non_null(strstr(tally.note[0], "under a mask"));
    rl_tally_release(&tally);
}

/* The string instruction is the second of its block: 10 executions, 700 repetitions, of which 3 and
 * 200 in a region. */
static void repetitions_that_were_counted_are_bytes(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    const struct rle_result_correction repeats = {0, 1, 2, RLE_CORRECTION_REPEATS};
    image_init(&image);
    image_module(&image, "/proc/self/exe", 0x400000, 1u << 24, 0);
    uint32_t first =
        image_block(&image, 0, 0x400000 + f->offset + SIZE, rl_test_after, 9, 3, RLE_NONE);
    image_fragment(&image, first, 1);
    image_add(&image, RLE_SECTION_CORRECTIONS, &repeats, sizeof repeats);
    const struct rle_result_region region = {
        .name = image_string(&image, "solve"), .parent = RLE_NONE, .entries = 1};
    image_add(&image, RLE_SECTION_REGIONS, &region, sizeof region);
    image_counters(&image, 0, 0, (uint64_t[]){0, 7, 500}, 3);
    image_counters(&image, 0, 1, (uint64_t[]){0, 3, 200}, 3);
    build(f, &image, NULL, &tally);
    const struct rl_kernel *k = &unit_named(&tally, "rl_test_after")->kernel;
    assert_true(k->store_bytes.value == 700 && k->load_bytes.value == 8 * 10); /* and the return */
    assert_int_equal(k->missing.n, 0);
    assert_true(tally.region[0].kernel.store_bytes.value == 200);
    rl_tally_release(&tally);
    build(f, &image, &(struct rl_tally_options){.only = "solve"}, &tally);
    assert_true(tally.program.store_bytes.value == 200);
    rl_tally_release(&tally);
}

/* No file to look names up in: functions begin where calls lead. */
static void code_without_tables_is_divided_by_its_calls(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[10];
    static const uint8_t caller[] = {0xe8, 0x1b, 0, 0, 0, 0xc3}; /* call 0x1020; ret */
    image_init(&image);
    image_module(&image, "/nonexistent/app", 0x400000, 1u << 24, 0);
    add_kernel(&image, 0, 0x400000 + 0x1020);
    uint32_t first = image_block(&image, 0, 0x400000 + 0x1000, caller, 6, 2, RLE_NONE);
    image_fragment(&image, first, 8);
    kernel_counters(CALLS, counters);
    counters[8] = CALLS;
    image_counters(&image, 0, 0, counters, 9);
    build(f, &image, NULL, &tally);
    assert_int_equal(tally.n_function, 2);
    const struct rl_tally_unit *unit = unit_named(&tally, "app+0x1020");
    assert_int_equal(unit->begin, 0x1020);
    assert_true(rl_kernel_flop(&unit->kernel).value == 2 * CALLS * OUTER * INNER);
    assert_int_equal(unit_named(&tally, "app+0x102a")->kernel.depth, 2);
    assert_int_equal(rl_tally_find_module(&tally, "/nonexistent/app", NULL, 0), 0);
    rl_tally_release(&tally);
}

static void generated_code_is_kept_apart_by_process(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    image_init(&image);
    image_module(&image, "", 0x400000, 1u << 24, 0);
    add_kernel(&image, 0, 0x401000);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    build(f, &image, NULL, &tally);
    assert_string_equal(tally.module[0].path, "[jit]");
    assert_int_equal(tally.module[0].pid, 100);
    assert_int_equal(tally.n_unit, 1);
    assert_true(rl_kernel_flop(&tally.unit[0].kernel).value == 2 * CALLS * OUTER * INNER);
    rl_tally_release(&tally);
}

static void failures_of_the_engine_are_told(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    kernel_image(f, &image);
    struct rle_result_header *header = image_header(&image);
    header->state = RLE_STATE_DETACHED;
    strcpy(header->message, "it uses what is not understood");
    const struct rle_result_uncounted u = {.events = 1,
                                           .reason = RLE_UNCOUNTED_DETACHED,
                                           .begin_ns = 2000,
                                           .end_ns = 3000,
                                           .detail = image_string(&image, "details")};
    image_add(&image, RLE_SECTION_UNCOUNTED, &u, sizeof u);
    build(f, &image, NULL, &tally);
    assert_true(tally.is_cut);
    assert_true(tally.uncounted_share == 0.5);
    assert_int_equal(tally.n_note, 2);
    assert_non_null(strstr(tally.note[0], "what is not understood"));
    assert_non_null(strstr(tally.note[1], "details"));
    rl_tally_release(&tally);
}

/* The program ended well, but its result file ran out of space. */
/* What the loader did before the engine was there is in no count of its functions. */
static void the_loader_s_counts_are_unknown_if_it_began_uncounted(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    for (int preloaded = 0; preloaded < 2; preloaded++) {
        const struct rle_result_uncounted u = {.events = 1, .reason = RLE_UNCOUNTED_RUNTIME};
        image_init(&image);
        image_module(&image, "/lib64/ld-linux-x86-64.so.2", 0x400000, 1u << 24, 0);
        add_kernel(&image, 0, 0x401000);
        kernel_counters(CALLS, counters);
        image_counters(&image, 0, 0, counters, 8);
        if (preloaded)
            image_add(&image, RLE_SECTION_UNCOUNTED, &u, sizeof u);
        build(f, &image, NULL, &tally);
        assert_int_equal(rl_known(rl_kernel_flop(&tally.unit[0].kernel)), !preloaded);
        assert_int_equal(rl_known(tally.unit[0].kernel.load_bytes), !preloaded);
        assert_int_equal(tally.unit[0].kernel.missing.n, preloaded);
        assert_true(rl_kernel_flop(&tally.program).value == 2 * CALLS * OUTER * INNER);
        rl_tally_release(&tally);
    }
}

static void set_arguments(struct result_image *image, const char *name)
{
    struct rle_result_header *header = image_header(image);
    header->argv_offset = image_string(image, name);
    header->argv_bytes = (uint32_t)strlen(name) + 1;
}

/* Two processes run one program, of which the file was replaced before the second was counted; a
 * third another: one is called by its file's name, the other is
 * not, and is known by that only. */
static void counts_are_summed_by_program(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    struct rl_error err = {0};
    static const char *const program[] = {"/nowhere/bin/solver", "/nowhere/bin/solver (deleted)",
                                          "/nowhere/bin/other"};
    char paths[3][96];
    const char *path[3];
    uint64_t counters[8];
    kernel_counters(CALLS, counters);
    for (int i = 0; i < 3; i++) {
        image_init(&image);
        image_header(&image)->pid = 100 + i;
        set_arguments(&image, i < 2 ? "./solver" : "viewer");
        image_module(&image, "/nowhere/lib.so", 0x900000, 1u << 20, 0);
        image_module(&image, program[i], 0x400000, 1u << 20, 0);
        add_kernel(&image, 1, 0x401000);
        image_counters(&image, 0, 0, counters, 8);
        snprintf(paths[i], sizeof paths[i], "%s.%d", f->path, i);
        write_image(path[i] = paths[i], &image);
    }
    if (rl_tally_build(path, 3, NULL, &tally, &err))
        fail_msg("%s", err.text);
    assert_int_equal(tally.n_image, 2);
    assert_string_equal(tally.image[0].path, "/nowhere/bin/solver");
    assert_string_equal(tally.image[0].kernel.name, "solver");
    assert_int_equal(tally.image[0].n_process, 2);
    assert_true(rl_kernel_flop(&tally.image[0].kernel).value == 2.0 * 2 * CALLS * OUTER * INNER);
    assert_string_equal(tally.image[1].path, "viewer");
    assert_true(rl_kernel_flop(&tally.image[1].kernel).value == 2.0 * CALLS * OUTER * INNER);
    rl_tally_release(&tally);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
}

/* Any function may lack some of its counts. */
static void counts_of_functions_are_unknown_where_some_were_lost(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    uint64_t counters[8];
    kernel_image(f, &image);
    kernel_counters(CALLS, counters);
    image_counters(&image, 0, 0, counters, 8);
    strcpy(image_header(&image)->message, "counts were lost: no space left");
    build(f, &image, NULL, &tally);
    assert_true(tally.is_cut);
    assert_int_equal(tally.n_note, 1);
    assert_non_null(strstr(tally.note[0], "process 100: counts were lost"));
    assert_int_equal(tally.n_unit, 3);
    for (size_t i = 0; i < tally.n_unit; i++) {
        const struct rl_kernel *kernel = &tally.unit[i].kernel;
        assert_false(rl_known(rl_kernel_flop(kernel)));
        assert_false(rl_known(kernel->load_bytes));
        assert_int_equal(kernel->n_traffic, 0);
        assert_string_equal(kernel->missing.item[0].what, "flop");
    }
    rl_tally_release(&tally);
}

/* tests/fixture/counts/kernels.c says what was recorded. Its program is not there any more. */
static void a_recorded_count_can_be_replayed_anywhere(void **state)
{
    (void)state;
    struct rl_tally tally;
    struct rl_error err = {0};
    const char *path = SOURCE_DIR "/tests/fixture/counts/kernels.counts";
    if (rl_tally_build(&path, 1, NULL, &tally, &err))
        fail_msg("%s", err.text);
    const double inner = 2.0 * 24 * 24 * 24;
    assert_true(ops_of(&tally.program, RL_FP64, RL_OP_MUL, "scalar") == inner);
    assert_true(ops_of(&tally.program, RL_FP64, RL_OP_ADD, "scalar") == inner + 500);
    assert_true(ops_of(&tally.program, RL_FP64, RL_OP_SQRT, "scalar") == 500);
    assert_true(ops_of(&tally.program, RL_FP32, RL_OP_FMA, "avx512") == 4 * 63 * 16);
    unsigned deepest = 0;
    for (size_t i = tally.n_function; i < tally.n_unit; i++) {
        const struct rl_kernel *loop = &tally.unit[i].kernel;
        if (loop->depth != 3)
            continue;
        deepest++;
        assert_true(loop->calls.value == 2 * 24 * 24);
        assert_true(rl_kernel_flop(loop).value == 2 * inner);
    }
    assert_int_equal(deepest, 1);
    assert_string_equal(tally.module[0].path, "/tmp/kernels");
    rl_tally_release(&tally);
}

static void what_is_no_result_is_left_out_or_refused(void **state)
{
    struct fixture *f = *state;
    static struct result_image image;
    struct rl_tally tally;
    struct rl_error err = {0};
    const char *files[] = {"/proc/self/cmdline", f->path};
    assert_int_equal(rl_tally_build(files, 1, NULL, &tally, &err), RL_EDATA);
    assert_int_equal(rl_tally_build(files, 0, NULL, &tally, &err), RL_EDATA);
    kernel_image(f, &image);
    build(f, &image, NULL, &tally);
    rl_tally_release(&tally);
    assert_int_equal(rl_tally_build(files, 2, NULL, &tally, &err), RL_OK);
    assert_non_null(strstr(tally.note[0], "left out"));
    rl_tally_release(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_its_operations_bytes_and_calls),
        cmocka_unit_test(loops_nest_and_hold_their_own_code_only),
        cmocka_unit_test(lines_add_up_to_their_function),
        cmocka_unit_test(regions_include_those_nested_in_them),
        cmocka_unit_test(masks_and_string_instructions_are_pointed_out),
        cmocka_unit_test(repetitions_that_were_counted_are_bytes),
        cmocka_unit_test(code_without_tables_is_divided_by_its_calls),
        cmocka_unit_test(generated_code_is_kept_apart_by_process),
        cmocka_unit_test(failures_of_the_engine_are_told),
        cmocka_unit_test(the_loader_s_counts_are_unknown_if_it_began_uncounted),
        cmocka_unit_test(counts_are_summed_by_program),
        cmocka_unit_test(counts_of_functions_are_unknown_where_some_were_lost),
        cmocka_unit_test(a_recorded_count_can_be_replayed_anywhere),
        cmocka_unit_test(what_is_no_result_is_left_out_or_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
