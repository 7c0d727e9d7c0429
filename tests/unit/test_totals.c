/* Sums over functions and what they called, on call graphs made by hand. */
#include "profile/totals.h"

#include "../support/cmocka_all.h"

enum { MAIN, A, B, LEAF, OTHER, N };

struct graph {
    struct rl_tally tally;
    struct rl_tally_unit unit[N];
    struct rl_tally_call call[16];
    struct totals_sum sum[N];
};

static void calls(struct graph *g, uint32_t caller, uint32_t callee, double n, bool is_exact)
{
    g->call[g->tally.n_call++] = (struct rl_tally_call){caller, callee, n, is_exact};
}

static void sum(struct graph *g, const double self[N])
{
    g->tally.unit = g->unit;
    g->tally.n_function = N;
    g->tally.call = g->call;
    assert_int_equal(totals_sum(&g->tally, self, g->sum, NULL), RL_OK);
}

static void what_has_one_caller_is_all_its_caller_s(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 10, true);
    calls(&g, A, B, 20, true);
    calls(&g, B, LEAF, 70, true);
    sum(&g, (double[N]){[MAIN] = 1, [A] = 2, [B] = 4, [LEAF] = 8, [OTHER] = 16});
    assert_true(g.sum[LEAF].value == 8 && g.sum[B].value == 12 && g.sum[A].value == 14);
    assert_true(g.sum[MAIN].value == 15 && g.sum[OTHER].value == 16);
    for (int i = 0; i < N; i++)
        assert_true(g.sum[i].is_exact && g.sum[i].is_known);
}

static void what_two_call_is_shared_by_calls_and_exact_for_their_caller(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, MAIN, B, 1, true);
    calls(&g, A, LEAF, 30, true);
    calls(&g, B, LEAF, 10, true);
    sum(&g, (double[N]){[MAIN] = 1, [A] = 2, [B] = 2, [LEAF] = 80});
    assert_true(g.sum[A].value == 62 && g.sum[B].value == 22); /* 3/4 and 1/4 of 80 */
    assert_false(g.sum[A].is_exact || g.sum[B].is_exact);
    assert_true(g.sum[MAIN].value == 85 && g.sum[MAIN].is_exact);
    assert_true(g.sum[LEAF].is_exact);
}

static void sharing_what_does_next_to_nothing_is_exact_enough(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, MAIN, B, 1, true);
    calls(&g, A, LEAF, 1, true);
    calls(&g, B, LEAF, 1, true);
    sum(&g, (double[N]){[A] = 1000, [B] = 20, [LEAF] = 2});
    assert_true(g.sum[A].is_exact);
    assert_false(g.sum[B].is_exact); /* 2 of 21 may be its or not */
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, A, A, 99, true);
    calls(&g, A, LEAF, 100, true);
    sum(&g, (double[N]){[A] = 5, [LEAF] = 7});
    assert_true(g.sum[A].value == 12 && g.sum[A].is_exact);
    assert_true(g.sum[MAIN].value == 12 && g.sum[MAIN].is_exact);
}

/* main calls A, A and B call each other: A is where the circle is entered. */
static void a_circle_has_one_total_exact_where_it_is_entered(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 2, true);
    calls(&g, A, B, 50, true);
    calls(&g, B, A, 48, true);
    calls(&g, B, LEAF, 50, true);
    sum(&g, (double[N]){[MAIN] = 1, [A] = 10, [B] = 20, [LEAF] = 30});
    assert_true(g.sum[A].value == 60 && g.sum[B].value == 60 && g.sum[MAIN].value == 61);
    assert_true(g.sum[A].is_exact && g.sum[MAIN].is_exact);
    assert_false(g.sum[B].is_exact);
}

static void a_call_that_is_none_for_certain_makes_an_estimate(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, A, LEAF, 4, false);
    sum(&g, (double[N]){[LEAF] = 9});
    assert_true(g.sum[A].value == 9 && g.sum[A].is_known);
    assert_false(g.sum[A].is_exact || g.sum[MAIN].is_exact);
}

/* LEAF was entered 10 times from nobody knows where; B made 10 calls to nobody knows whom. */
static void who_may_have_called_what_matters_has_no_total(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, MAIN, B, 1, true);
    g.unit[B].unknown_callees = 10;
    g.unit[LEAF].unknown_callers = 10;
    sum(&g, (double[N]){[A] = 5, [B] = 5, [LEAF] = 90});
    assert_false(g.sum[B].is_known || g.sum[MAIN].is_known);
    assert_true(g.sum[A].is_known && g.sum[A].is_exact && g.sum[LEAF].is_known);
}

static void a_pointer_called_too_seldom_to_matter_does_not_hide_a_total(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    calls(&g, MAIN, B, 1, true);
    g.unit[B].unknown_callees = 1;
    g.unit[LEAF].unknown_callers = 1e6;
    sum(&g, (double[N]){[A] = 5, [B] = 5, [LEAF] = 90});
    assert_true(g.sum[B].is_known && g.sum[MAIN].is_known);
}

/* A thread's start: it calls through pointers itself, but who called it is no callee of its. */
static void a_function_is_not_hidden_by_what_called_it(void **state)
{
    (void)state;
    struct graph g = {0};
    calls(&g, MAIN, A, 1, true);
    g.unit[MAIN].unknown_callers = 1;
    g.unit[A].unknown_callees = 7;
    sum(&g, (double[N]){[MAIN] = 1, [A] = 5});
    assert_true(g.sum[A].is_known && g.sum[MAIN].is_known);
    assert_true(g.sum[MAIN].value == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_one_caller_is_all_its_caller_s),
        cmocka_unit_test(what_two_call_is_shared_by_calls_and_exact_for_their_caller),
        cmocka_unit_test(sharing_what_does_next_to_nothing_is_exact_enough),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(a_circle_has_one_total_exact_where_it_is_entered),
        cmocka_unit_test(a_call_that_is_none_for_certain_makes_an_estimate),
        cmocka_unit_test(who_may_have_called_what_matters_has_no_total),
        cmocka_unit_test(a_pointer_called_too_seldom_to_matter_does_not_hide_a_total),
        cmocka_unit_test(a_function_is_not_hidden_by_what_called_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
