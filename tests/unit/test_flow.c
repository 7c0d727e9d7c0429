/* From executed blocks to loops: nesting, entries and iterations, found in the code bytes. */
#include "decode/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- a tiny assembler: block i is one nop and a way out --- */

enum way_out { FALL, JUMP, BRANCH, RETURN, SWITCH, CALL };

struct piece {
    enum way_out out;
    unsigned target; /* JUMP, BRANCH: block */
    uint64_t executions;
};

#define MOST_PIECES 64

struct program {
    uint8_t code[MOST_PIECES * 8];
    uint64_t offset[MOST_PIECES];
    struct rl_flow_block blocks[MOST_PIECES];
    size_t n;
};

static size_t piece_size(enum way_out out)
{
    static const size_t sizes[] = {
        [FALL] = 1, [JUMP] = 6, [BRANCH] = 7, [RETURN] = 2, [SWITCH] = 3, [CALL] = 6};
    return sizes[out];
}

static void assemble(const struct piece *pieces, size_t n, struct program *ret)
{
    uint64_t at = 0x1000;
    for (size_t i = 0; i < n; i++) {
        ret->offset[i] = at;
        at += piece_size(pieces[i].out);
    }
    uint8_t *code = ret->code;
    for (size_t i = 0; i < n; i++) {
        size_t size = piece_size(pieces[i].out);
        ret->blocks[i] = (struct rl_flow_block){.offset = ret->offset[i],
                                                .code = code,
                                                .size = size,
                                                .executions = pieces[i].executions};
        *code++ = 0x90;
        int32_t far = (int32_t)(ret->offset[pieces[i].target] - ret->offset[i] - size);
        switch (pieces[i].out) {
        case FALL:
            break;
        case JUMP:
        case CALL:
            *code++ = pieces[i].out == JUMP ? 0xe9 : 0xe8;
            memcpy(code, &far, 4);
            code += 4;
            break;
        case BRANCH:
            *code++ = 0x0f, *code++ = 0x85;
            memcpy(code, &far, 4);
            code += 4;
            break;
        case RETURN:
            *code++ = 0xc3;
            break;
        case SWITCH:
            *code++ = 0xff, *code++ = 0xe0;
            break;
        }
    }
    ret->n = n;
}

static void build(const struct piece *pieces, size_t n, struct program *program,
                  struct rl_flow *ret_flow)
{
    struct rl_error err = {0};
    assemble(pieces, n, program);
    if (rl_flow_build(program->blocks, n, program->offset[0], ret_flow, &err))
        fail_msg("%s", err.text);
}

#define BUILD(pieces, program, flow) build(pieces, sizeof pieces / sizeof pieces[0], program, flow)

/* The loop whose header is block i, or NULL. */
static const struct rl_flow_loop *loop_at(const struct rl_flow *flow, const struct program *program,
                                          unsigned i)
{
    for (size_t l = 0; l < flow->n_loops; l++)
        if (flow->loops[l].header == program->offset[i])
            return &flow->loops[l];
    return NULL;
}

static const struct rl_flow_loop *innermost_of(const struct rl_flow *flow,
                                               const struct program *program, unsigned i)
{
    for (size_t k = 0; k < flow->n_insns; k++)
        if (flow->insns[k].offset == program->offset[i])
            return flow->insns[k].loop == RL_FLOW_NO_LOOP ? NULL
                                                          : &flow->loops[flow->insns[k].loop];
    return NULL;
}

static void check_loop(const struct rl_flow_loop *loop, unsigned depth, uint64_t entries,
                       uint64_t iterations)
{
    assert_non_null(loop);
    assert_int_equal(loop->depth, depth);
    assert_true(loop->entries_known);
    assert_true(loop->iterations_known);
    assert_int_equal(loop->entries, entries);
    assert_int_equal(loop->iterations, iterations);
}

static void straight_code_has_no_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {{BRANCH, 2, 10}, {FALL, 0, 4}, {RETURN, 0, 10}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 0);
    assert_int_equal(flow.n_nodes, 3);
    assert_true(flow.entered_known);
    assert_int_equal(flow.entered, 10);
    rl_flow_release(&flow);
}

/* for i < 10: for j < 20: do k 30 times. Two calls. */
static void a_nest_of_three_has_its_trip_counts(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {FALL, 0, 2},       /* 0 prologue */
        {FALL, 0, 20},      /* 1 i loop head */
        {FALL, 0, 400},     /* 2 j loop head */
        {BRANCH, 3, 12000}, /* 3 k loop: tests at the bottom */
        {BRANCH, 2, 400},   /* 4 next j */
        {BRANCH, 1, 20},    /* 5 next i */
        {RETURN, 0, 2},
    };
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 3);
    check_loop(loop_at(&flow, &p, 1), 1, 2, 20);
    check_loop(loop_at(&flow, &p, 2), 2, 20, 400);
    check_loop(loop_at(&flow, &p, 3), 3, 400, 12000);
    assert_true(loop_at(&flow, &p, 3)->innermost);
    assert_false(loop_at(&flow, &p, 1)->innermost);
    assert_ptr_equal(innermost_of(&flow, &p, 4), loop_at(&flow, &p, 2));
    assert_null(innermost_of(&flow, &p, 6));
    rl_flow_release(&flow);
}

/* A vector loop of 16 with a scalar remainder, as compilers make of n = 100: 6 x 16 + 4. Block
 * counts alone do not say how often the remainder is skipped; how block 2 was left does. */
static void a_remainder_loop_is_a_loop_of_its_own(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {BRANCH, 3, 50},  /* 0 short arrays skip the vector loop: never here */
        {BRANCH, 1, 300}, /* 1 vector loop */
        {BRANCH, 4, 50},  /* 2 nothing left? never here */
        {BRANCH, 3, 200}, /* 3 remainder */
        {RETURN, 0, 50},
    };
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 2);
    check_loop(loop_at(&flow, &p, 1), 1, 50, 300);
    assert_false(loop_at(&flow, &p, 3)->entries_known);
    assert_true(loop_at(&flow, &p, 3)->iterations_known);
    assert_int_equal(loop_at(&flow, &p, 3)->iterations, 200);
    rl_flow_release(&flow);
    p.blocks[2].has_next = true;
    p.blocks[2].next = p.offset[3];
    p.blocks[2].to_next = 50;
    assert_int_equal(rl_flow_build(p.blocks, p.n, p.offset[0], &flow, NULL), RL_OK);
    check_loop(loop_at(&flow, &p, 3), 1, 50, 200);
    rl_flow_release(&flow);
}

/* while (test) body: 5 entries, 7 rounds each: the test runs 40 times, the body 35. */
static void a_loop_that_tests_first_counts_its_bodies(void **state)
{
    (void)state;
    const struct piece pieces[] = {{FALL, 0, 5}, {BRANCH, 3, 40}, {JUMP, 1, 35}, {RETURN, 0, 5}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    check_loop(loop_at(&flow, &p, 1), 1, 5, 35);
    rl_flow_release(&flow);
}

/* The rotated form: jump to the test at the bottom. */
static void a_loop_entered_at_its_test_is_one_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {{JUMP, 2, 5}, {FALL, 0, 35}, {BRANCH, 1, 40}, {RETURN, 0, 5}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 1);
    check_loop(loop_at(&flow, &p, 2), 1, 5, 35);
    assert_int_equal(flow.loops[0].begin, p.offset[1]);
    rl_flow_release(&flow);
}

/* Two loops that leave into one common tail, which neither contains. */
static void a_shared_tail_belongs_to_no_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {BRANCH, 3, 10},                  /* 0: 4 go to the second loop */
        {BRANCH, 1, 60},                  /* 1 first loop: 6 entries of 10 */
        {JUMP, 4, 6},    {BRANCH, 3, 20}, /* 3 second loop: 4 entries of 5 */
        {RETURN, 0, 10},                  /* 4 tail */
    };
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    check_loop(loop_at(&flow, &p, 1), 1, 6, 60);
    check_loop(loop_at(&flow, &p, 3), 1, 4, 20);
    assert_null(innermost_of(&flow, &p, 4));
    rl_flow_release(&flow);
}

static void two_ways_back_to_one_head_are_one_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {FALL, 0, 1}, {BRANCH, 3, 100}, {JUMP, 1, 30}, {BRANCH, 1, 70}, {RETURN, 0, 1}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 1);
    check_loop(loop_at(&flow, &p, 1), 1, 1, 100);
    rl_flow_release(&flow);
}

/* goto into the middle: blocks 1 and 2 both are entered from outside. */
static void a_loop_with_two_entries_is_kept_as_one_and_named(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {BRANCH, 2, 10}, {FALL, 0, 53}, {BRANCH, 1, 57}, {RETURN, 0, 10}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 1);
    assert_true(flow.loops[0].irreducible);
    /* 47 rounds back of 57, so 53 - 47 = 6 came in at block 1 and 4 at block 2. */
    assert_true(flow.loops[0].entries_known);
    assert_int_equal(flow.loops[0].entries, 10);
    rl_flow_release(&flow);
}

static void a_loop_inside_an_irreducible_one_is_still_found(void **state)
{
    (void)state;
    const struct piece pieces[] = {{BRANCH, 2, 10},  {FALL, 0, 53},   {FALL, 0, 57},
                                   {BRANCH, 3, 570}, {BRANCH, 1, 57}, {RETURN, 0, 10}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 2);
    check_loop(loop_at(&flow, &p, 3), 2, 57, 570);
    assert_true(flow.loops[flow.loops[1].parent].irreducible);
    rl_flow_release(&flow);
}

/* A switch of three cases in a loop: nothing in the code names the cases. */
static void switch_cases_are_inside_the_loop_around_them(void **state)
{
    (void)state;
    const struct piece pieces[] = {{FALL, 0, 1},  {SWITCH, 0, 100}, {JUMP, 5, 20}, {JUMP, 5, 30},
                                   {FALL, 0, 50}, {BRANCH, 1, 100}, {RETURN, 0, 1}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_true(flow.has_indirect);
    assert_int_equal(flow.n_loops, 1);
    check_loop(loop_at(&flow, &p, 1), 1, 1, 100);
    for (unsigned i = 1; i <= 5; i++)
        assert_ptr_equal(innermost_of(&flow, &p, i), &flow.loops[0]);
    rl_flow_release(&flow);
}

/* Each handler jumps to the next through a table: one loop over all handlers. */
static void a_threaded_interpreter_is_one_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {SWITCH, 0, 1}, {SWITCH, 0, 400}, {SWITCH, 0, 300}, {SWITCH, 0, 300}, {RETURN, 0, 1}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 1);
    for (unsigned i = 1; i <= 3; i++)
        assert_non_null(innermost_of(&flow, &p, i));
    rl_flow_release(&flow);
}

static void calls_do_not_end_a_loop(void **state)
{
    (void)state;
    const struct piece pieces[] = {{FALL, 0, 3}, {CALL, 3, 30}, {BRANCH, 1, 30}, {RETURN, 0, 3}};
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    assert_int_equal(flow.n_loops, 1);
    check_loop(loop_at(&flow, &p, 1), 1, 3, 30);
    rl_flow_release(&flow);
}

/* The engine reports code once per translation: pieces of the same code add up. */
static void overlapping_blocks_add_up(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x90, 0x90, 0x75, 0xfd, 0xc3}; /* nop; L: nop; jnz L; ret */
    const struct rl_flow_block blocks[] = {
        {.offset = 0x10, .code = code, .size = 4, .executions = 7},
        {.offset = 0x11, .code = code + 1, .size = 3, .executions = 93},
        {.offset = 0x14, .code = code + 4, .size = 1, .executions = 7},
        {.offset = 0x11, .code = code + 1, .size = 3, .executions = 0}};
    struct rl_flow flow;
    assert_int_equal(rl_flow_build(blocks, 4, 0x10, &flow, NULL), RL_OK);
    assert_int_equal(flow.n_insns, 4);
    assert_int_equal(flow.insns[0].executions, 7);
    assert_int_equal(flow.insns[1].executions, 100);
    assert_int_equal(flow.n_loops, 1);
    assert_int_equal(flow.loops[0].header, 0x11);
    assert_int_equal(flow.loops[0].entries, 7);
    assert_int_equal(flow.loops[0].iterations, 100);
    assert_int_equal(flow.loops[0].end, 0x14);
    rl_flow_release(&flow);
}

/* Two diamonds whose edges cannot be told apart by block counts alone. */
static void what_the_counts_do_not_say_is_not_claimed(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {BRANCH, 2, 10}, /* 0 -> 1 or 2 */
        {BRANCH, 3, 6},  /* 1 -> 2 or 3, a loop entry with 0 -> 2 */
        {BRANCH, 3, 8},  /* 2 -> 3 or 3' */
        {BRANCH, 1, 9},  /* 3 -> 1 or out */
        {RETURN, 0, 10},
    };
    struct program p;
    struct rl_flow flow;
    BUILD(pieces, &p, &flow);
    for (size_t l = 0; l < flow.n_loops; l++)
        if (!flow.loops[l].entries_known)
            assert_true(flow.loops[l].irreducible);
    rl_flow_release(&flow);
}

static void undecodable_bytes_are_reported_not_skipped(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x90, 0x06, 0x90};
    const struct rl_flow_block blocks[] = {{.code = code, .size = 3, .executions = 12}};
    struct rl_flow flow;
    assert_int_equal(rl_flow_build(blocks, 1, 0, &flow, NULL), RL_OK);
    assert_int_equal(flow.n_insns, 2);
    assert_int_equal(flow.insns[1].insn.length, 0);
    assert_int_equal(flow.undecodable, 12);
    rl_flow_release(&flow);
    assert_int_equal(rl_flow_build(NULL, 0, 0, &flow, NULL), RL_OK);
    assert_int_equal(flow.n_insns, 0);
    rl_flow_release(&flow);
}

/* --- against a naive reference, on random graphs walked at random --- */

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

struct walk {
    struct piece pieces[MOST_PIECES];
    unsigned n;
    uint64_t taken[MOST_PIECES][MOST_PIECES];
};

static bool branches(enum way_out out)
{
    return out == BRANCH || out == JUMP;
}

/* Executions by walking: every edge that is possible is taken a random number of times. */
static void walk_at_random(struct walk *w)
{
    memset(w->taken, 0, sizeof w->taken);
    for (unsigned run = 0; run < 50; run++) {
        unsigned at = 0;
        for (unsigned step = 0;; step++) {
            w->pieces[at].executions++;
            enum way_out out = w->pieces[at].out;
            if (out == RETURN)
                break;
            bool jump = out == JUMP || (out == BRANCH && below(2));
            unsigned to = jump ? w->pieces[at].target : at + 1;
            if (step > 2000 && out == BRANCH)
                to = at + 1; /* an end must come; forward jumps only lead on */
            w->taken[at][to]++;
            at = to;
        }
    }
}

static void random_graph(struct walk *w)
{
    w->n = 4 + below(20);
    for (unsigned i = 0; i + 1 < w->n; i++) {
        enum way_out out = below(3) ? (below(4) ? BRANCH : FALL) : JUMP;
        unsigned target = below(w->n);
        if (out == JUMP && target <= i)
            target = i + 1;
        w->pieces[i] = (struct piece){out, target, 0};
    }
    w->pieces[w->n - 1] = (struct piece){RETURN, 0, 0};
    walk_at_random(w);
}

static bool has_edge(const struct walk *w, unsigned from, unsigned to)
{
    const struct piece *p = &w->pieces[from];
    return (p->out != RETURN && p->out != JUMP && to == from + 1) ||
           (branches(p->out) && to == p->target);
}

/* Reach `to` from block 0 without passing `avoid` (n: none). */
static bool reaches(const struct walk *w, unsigned start, unsigned to, unsigned avoid)
{
    bool seen[MOST_PIECES] = {false};
    unsigned stack[MOST_PIECES], n = 0;
    if (start == avoid)
        return false;
    stack[n++] = start;
    seen[start] = true;
    while (n) {
        unsigned at = stack[--n];
        if (at == to)
            return true;
        for (unsigned next = 0; next < w->n; next++)
            if (has_edge(w, at, next) && next != avoid && !seen[next]) {
                seen[next] = true;
                stack[n++] = next;
            }
    }
    return false;
}

static bool dominates(const struct walk *w, unsigned a, unsigned b)
{
    return a == b || !reaches(w, 0, b, a);
}

/* Natural loop of header h: its blocks, or false if h heads none. */
static bool natural_loop(const struct walk *w, unsigned h, bool *ret_in)
{
    bool any = false;
    memset(ret_in, 0, MOST_PIECES * sizeof *ret_in);
    for (unsigned latch = 0; latch < w->n; latch++) {
        if (!has_edge(w, latch, h) || !dominates(w, h, latch))
            continue;
        any = true;
        for (unsigned i = 0; i < w->n; i++)
            if (i == latch || (i != h && dominates(w, h, i) && reaches(w, i, latch, h)))
                ret_in[i] = true;
        ret_in[h] = true;
    }
    return any;
}

static bool is_reducible(const struct walk *w)
{
    /* Every cycle has a block that dominates the rest of it: remove back edges, look for cycles by
     * repeatedly deleting blocks without predecessors. */
    bool gone[MOST_PIECES] = {false};
    for (unsigned round = 0; round < w->n; round++)
        for (unsigned i = 0; i < w->n; i++) {
            bool needed = false;
            for (unsigned p = 0; p < w->n; p++)
                needed |= !gone[p] && has_edge(w, p, i) && !dominates(w, i, p);
            gone[i] |= !needed;
        }
    for (unsigned i = 0; i < w->n; i++)
        if (!gone[i])
            return false;
    return true;
}

static bool all_executed(const struct walk *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (!w->pieces[i].executions)
            return false;
    return true;
}

static void check_against_natural_loop(const struct walk *w, const struct program *p,
                                       const struct rl_flow *flow, unsigned h, unsigned *n_counted)
{
    bool in[MOST_PIECES];
    const struct rl_flow_loop *loop = loop_at(flow, p, h);
    if (!natural_loop(w, h, in)) {
        assert_null(loop);
        return;
    }
    assert_non_null(loop);
    assert_false(loop->irreducible);
    uint32_t index = (uint32_t)(loop - flow->loops);
    uint64_t entries = h == 0 ? 50 : 0, leaving = 0;
    for (unsigned i = 0; i < w->n; i++) {
        uint32_t l = RL_FLOW_NO_LOOP;
        for (size_t k = 0; k < flow->n_insns; k++)
            if (flow->insns[k].offset == p->offset[i])
                l = flow->insns[k].loop;
        while (l != RL_FLOW_NO_LOOP && l != index)
            l = flow->loops[l].parent;
        assert_int_equal(l == index, in[i]);
        if (in[i])
            continue;
        entries += w->taken[i][h];
        leaving += has_edge(w, h, h) ? 0 : w->taken[h][i];
    }
    if (loop->iterations_known)
        assert_int_equal(loop->iterations, w->pieces[h].executions - leaving);
    if (loop->entries_known) {
        assert_int_equal(loop->entries, entries);
        ++*n_counted;
    }
}

static void random_reducible_graphs_give_natural_loops_and_true_entries(void **state)
{
    (void)state;
    seed = 0x9e3779b97f4a7c15u;
    unsigned n_graphs = 0, n_loops = 0, n_counted = 0;
    for (unsigned round = 0; round < 20000 && n_graphs < 1500; round++) {
        struct walk w;
        random_graph(&w);
        if (!is_reducible(&w) || !all_executed(&w))
            continue;
        struct program p;
        struct rl_flow flow;
        build(w.pieces, w.n, &p, &flow);
        n_graphs++;
        for (unsigned h = 0; h < w.n; h++)
            check_against_natural_loop(&w, &p, &flow, h, &n_counted);
        n_loops += (unsigned)flow.n_loops;
        rl_flow_release(&flow);
    }
    assert_true(n_graphs > 300);
    assert_true(n_loops > 300);
    assert_true(n_counted > n_loops / 2);
}

static void random_bytes_give_some_flow_and_no_crash(void **state)
{
    (void)state;
    seed = 12345;
    for (unsigned round = 0; round < 300; round++) {
        uint8_t code[256];
        struct rl_flow_block blocks[16];
        for (size_t i = 0; i < sizeof code; i++)
            code[i] = (uint8_t)(below(3) ? below(256) : 0x75);
        for (unsigned i = 0; i < 16; i++) {
            unsigned at = below(sizeof code);
            blocks[i] = (struct rl_flow_block){.offset = at,
                                               .code = code + at,
                                               .size = below(sizeof code - at + 1),
                                               .executions = below(2) ? UINT64_MAX : below(1000),
                                               .has_next = below(2),
                                               .next = below(256),
                                               .to_next = below(1000)};
        }
        struct rl_flow flow;
        assert_int_equal(rl_flow_build(blocks, 16, below(256), &flow, NULL), RL_OK);
        for (size_t l = 0; l < flow.n_loops; l++) {
            assert_true(flow.loops[l].parent == RL_FLOW_NO_LOOP || flow.loops[l].parent < l);
            assert_true(flow.loops[l].begin < flow.loops[l].end);
        }
        rl_flow_release(&flow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_code_has_no_loop),
        cmocka_unit_test(a_nest_of_three_has_its_trip_counts),
        cmocka_unit_test(a_remainder_loop_is_a_loop_of_its_own),
        cmocka_unit_test(a_loop_that_tests_first_counts_its_bodies),
        cmocka_unit_test(a_loop_entered_at_its_test_is_one_loop),
        cmocka_unit_test(a_shared_tail_belongs_to_no_loop),
        cmocka_unit_test(two_ways_back_to_one_head_are_one_loop),
        cmocka_unit_test(a_loop_with_two_entries_is_kept_as_one_and_named),
        cmocka_unit_test(a_loop_inside_an_irreducible_one_is_still_found),
        cmocka_unit_test(switch_cases_are_inside_the_loop_around_them),
        cmocka_unit_test(a_threaded_interpreter_is_one_loop),
        cmocka_unit_test(calls_do_not_end_a_loop),
        cmocka_unit_test(overlapping_blocks_add_up),
        cmocka_unit_test(what_the_counts_do_not_say_is_not_claimed),
        cmocka_unit_test(undecodable_bytes_are_reported_not_skipped),
        cmocka_unit_test(random_reducible_graphs_give_natural_loops_and_true_entries),
        cmocka_unit_test(random_bytes_give_some_flow_and_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
