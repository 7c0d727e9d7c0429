/* The cache model equals a naive one that follows its header word by word, at every access. */
#include "naive_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_CORES = NAIVE_CORES, MAX_SETS = NAIVE_SETS, GROUPS = NAIVE_GROUPS };

/* ---- streams ---- */

static uint64_t rng_state;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

struct access {
    uint32_t core;
    uint64_t address;
    uint64_t size;
    enum rl_cache_kind kind;
};

/* A mixture: uniform over a small area, sequential, strided by a power of two, a hot line, and far
 * apart regions; mostly small sizes, some spanning lines. */
static struct access next_access(uint64_t i, uint32_t n_cores, uint64_t area)
{
    struct access a = {.core = (uint32_t)(rng() % n_cores)};
    switch (rng() % 6) {
    case 0:
    case 1:
        a.address = rng() % area;
        break;
    case 2:
        a.address = i * 8 % (2 * area);
        break;
    case 3:
        a.address = (i % 32) * 4096;
        break;
    case 4:
        a.address = 128 + rng() % 64;
        break;
    default:
        a.address = ((rng() % 300) << 24) + rng() % 256;
    }
    a.address += 0x7f0000000000u;
    a.size = rng() % 8 ? 1u << rng() % 7 : rng() % 200;
    uint64_t kind = rng() % 16;
    a.kind = kind < 9    ? RL_CACHE_LOAD
             : kind < 13 ? RL_CACHE_STORE
             : kind < 15 ? RL_CACHE_UPDATE
                         : RL_CACHE_NT_STORE;
    return a;
}

static struct rl_cache_geometry random_geometry(void)
{
    static const uint32_t sets[] = {1, 2, 3, 4, 7, 8, 16, 24, 64, 128, 192, 320};
    struct rl_cache_geometry g = {.n_levels = 1 + (uint32_t)(rng() % RL_CACHE_LEVELS_MAX)};
    uint32_t privates = (uint32_t)(rng() % (g.n_levels + 1));
    for (uint32_t k = 0; k < g.n_levels; k++) {
        g.level[k].sets = sets[rng() % (sizeof sets / sizeof *sets)];
        g.level[k].ways = 1 + (uint32_t)(rng() % (rng() % 4 ? 6 : RL_CACHE_WAYS_MAX));
        g.level[k].shared = k >= privates;
        g.level[k].policy = k == 0 ? RL_CACHE_NON_INCLUSIVE : (enum rl_cache_policy)(rng() % 3);
    }
    return g;
}

/* Random groups of both models and, half of the time, sets that are in none. */
static void random_groups(struct naive *n, struct rl_cache *cache)
{
    const struct rl_cache_geometry *g = &n->geometry;
    bool with_out = rng() % 2;
    for (uint32_t k = 0; k < g->n_levels; k++) {
        for (uint32_t set = 0; set < g->level[k].sets; set++)
            n->group[k][set] =
                with_out && rng() % 4 == 0 ? RL_CACHE_OUT : (uint8_t)(rng() % GROUPS);
        assert_int_equal(rl_cache_choose_sets(cache, k, RL_CACHE_ALL, n->group[k], NULL), RL_OK);
    }
}

/* Levels with one group each store their sets in another order than those with several. */
static void new_cache(const struct rl_cache_geometry *g, bool grouped, struct rl_cache **ret)
{
    const uint32_t groups[RL_CACHE_LEVELS_MAX] = {GROUPS, GROUPS, GROUPS, GROUPS};
    assert_int_equal(rl_cache_new(g, grouped ? groups : NULL, ret, NULL), RL_OK);
    rl_cache_use_vectors(*ret, rng() % 2);
}

static bool is_equal(const struct naive *naive, bool grouped, const struct rl_cache_flow flow[])
{
    uint32_t step = grouped ? GROUPS : 1;
    for (uint32_t k = 0; k < naive->geometry.n_levels; k++)
        if (memcmp(&flow[k * step], &naive->flow[k * GROUPS], step * sizeof *flow) != 0)
            return false;
    return true;
}

static void compare_run(const struct rl_cache_geometry *g, uint32_t n_cores, bool grouped,
                        uint64_t n_accesses)
{
    struct naive *naive = malloc(sizeof *naive);
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[RL_CACHE_LEVELS_MAX * GROUPS] = {0};
    naive_init(naive, g, 1);
    new_cache(g, grouped, &cache);
    if (grouped)
        random_groups(naive, cache);
    uint64_t area = 4096u << rng() % 5;
    for (uint64_t i = 0; i < n_accesses; i++) {
        if (i == n_accesses / 8) { /* threads appear while the program runs */
            naive->n_cores = n_cores;
            assert_int_equal(rl_cache_reserve_cores(cache, n_cores, NULL), RL_OK);
        }
        struct access a = next_access(i, naive->n_cores, area);
        naive_access(naive, a.core, a.address, a.size, a.kind);
        rl_cache_access(cache, a.core, a.address, a.size, a.kind, flow);
        if (!is_equal(naive, grouped, flow))
            fail_msg("access %llu differs", (unsigned long long)i);
    }
    assert_int_equal(rl_cache_forgotten(cache), 0);
    rl_cache_free(cache);
    naive_release(naive);
    free(naive);
}

static void one_core_equals_the_naive_model(void **state)
{
    (void)state;
    rng_state = 0x1234567;
    for (int i = 0; i < 40; i++) {
        struct rl_cache_geometry g = random_geometry();
        compare_run(&g, 1, i % 2, 10000);
    }
}

static void several_cores_equal_the_naive_model(void **state)
{
    (void)state;
    rng_state = 0x7654321;
    for (int i = 0; i < 80; i++) {
        struct rl_cache_geometry g = random_geometry();
        compare_run(&g, 2 + (uint32_t)(rng() % (MAX_CORES - 1)), i % 2, 10000);
    }
}

/* Steps of one core at once, some with a store behind them, of more or fewer regions. */
static void compare_in_runs(const struct rl_cache_geometry *g, uint32_t n_cores, bool grouped,
                            uint64_t n_runs)
{
    enum { STEPS_MAX = 100 };
    struct naive *naive = malloc(sizeof *naive);
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[RL_CACHE_LEVELS_MAX * GROUPS] = {0};
    struct rl_cache_step step[STEPS_MAX];
    naive_init(naive, g, n_cores);
    new_cache(g, grouped, &cache);
    assert_int_equal(rl_cache_reserve_cores(cache, n_cores, NULL), RL_OK);
    if (grouped)
        random_groups(naive, cache);
    uint64_t area = 4096u << rng() % 8;
    for (uint64_t run = 0; run < n_runs; run++) {
        uint32_t n = (uint32_t)(rng() % (STEPS_MAX + 1));
        uint32_t core = (uint32_t)(rng() % n_cores);
        for (uint32_t i = 0; i < n; i++) {
            struct access a = next_access(run * STEPS_MAX + i, n_cores, area);
            bool stores = a.kind != RL_CACHE_NT_STORE && rng() % 4 == 0;
            uint64_t bytes = RL_CACHE_LINE_BYTES - a.address % RL_CACHE_LINE_BYTES;
            step[i] = (struct rl_cache_step){.line = a.address / RL_CACHE_LINE_BYTES,
                                             .flow = flow,
                                             .store_flow = stores ? flow : NULL,
                                             .kind = (uint8_t)a.kind,
                                             .bytes = (uint8_t)bytes};
            naive_access(naive, core, a.address, bytes, a.kind);
            if (stores)
                naive_access(naive, core, a.address, bytes, RL_CACHE_STORE);
        }
        rl_cache_run(cache, core, step, n);
        if (!is_equal(naive, grouped, flow))
            fail_msg("run %llu differs", (unsigned long long)run);
    }
    rl_cache_free(cache);
    naive_release(naive);
    free(naive);
}

/* Geometries of real machines: power of two and not, victim, inclusive. */
static const struct rl_cache_geometry real[] = {
    {3, {{64, 8, false, 0}, {1024, 8, false, 0}, {2048, 16, true, RL_CACHE_VICTIM}}},
    {3, {{64, 12, false, 0}, {1024, 16, false, 0}, {2048, 16, true, RL_CACHE_NON_INCLUSIVE}}},
    {3, {{64, 12, false, 0}, {512, 16, false, 0}, {1472, 16, true, RL_CACHE_VICTIM}}},
    {3,
     {{64, 8, false, 0},
      {512, 8, false, RL_CACHE_INCLUSIVE},
      {1920, 20, true, RL_CACHE_INCLUSIVE}}},
    {2, {{256, 2, false, 0}, {1536, 12, true, RL_CACHE_NON_INCLUSIVE}}},
    {3, {{16, 5, false, 0}, {32, 8, false, 0}, {24, 15, true, RL_CACHE_VICTIM}}},
    {4, {{8, 8, false, 0}, {16, 2, false, 0}, {24, 16, false, 0}, {64, 3, true, RL_CACHE_VICTIM}}},
};

static void a_run_of_steps_equals_its_accesses_in_turn(void **state)
{
    (void)state;
    rng_state = 0x5ca1ab1e;
    for (uint32_t i = 0; i < 60; i++) {
        struct rl_cache_geometry g = random_geometry();
        compare_in_runs(&g, 1 + i % MAX_CORES, i % 2, 200);
    }
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        compare_in_runs(&real[i], 1, false, 2000);
        compare_in_runs(&real[i], 1, true, 2000);
        compare_in_runs(&real[i], 3, false, 500);
    }
}

static void real_geometries_equal_the_naive_model(void **state)
{
    (void)state;
    rng_state = 0xabcdef;
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        compare_run(&real[i], 1, false, 100000);
        compare_run(&real[i], 3, false, 100000);
    }
}

/* ---- worked by hand ---- */

static const struct rl_cache_geometry tiny = {
    2, {{1, 2, false, RL_CACHE_NON_INCLUSIVE}, {1, 4, true, RL_CACHE_NON_INCLUSIVE}}};

static void a_streaming_triad_moves_three_lines_in_and_one_out(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[3] = {0};
    assert_int_equal(rl_cache_new(&real[1], NULL, &cache, NULL), RL_OK);
    for (uint64_t i = 0; i < N;
         i++) { /* a[i] = b[i] + s * c[i], arrays of 512 KiB apart by 64 MiB */
        rl_cache_access(cache, 0, (1u << 26) + 8 * i, 8, RL_CACHE_LOAD, flow);
        rl_cache_access(cache, 0, (2u << 26) + 8 * i, 8, RL_CACHE_LOAD, flow);
        rl_cache_access(cache, 0, (3u << 26) + 8 * i, 8, RL_CACHE_STORE, flow);
    }
    rl_cache_flush(cache, flow);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(flow[k].reads, 2 * N / 8);
        assert_int_equal(flow[k].allocates, N / 8);
        assert_int_equal(flow[k].writebacks, N / 8);
        assert_int_equal(rl_cache_flow_bytes(&flow[k]), 32 * N);
    }
    rl_cache_free(cache);
}

static void non_temporal_stores_go_past_the_caches(void **state)
{
    (void)state;
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    assert_int_equal(rl_cache_new(&tiny, NULL, &cache, NULL), RL_OK);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_STORE, flow); /* line 0 is dirty in L1 */
    for (uint64_t a = 0; a < 128; a += 16)
        rl_cache_access(cache, 0, a, 16, RL_CACHE_NT_STORE, flow);
    assert_int_equal(flow[0].allocates, 1);
    assert_int_equal(flow[0].writebacks, 1); /* moved out of the way, once */
    assert_int_equal(flow[1].writebacks, 1);
    assert_int_equal(flow[1].nt_bytes, 128);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_LOAD, flow);
    assert_int_equal(flow[0].reads, 1); /* and is no longer cached */
    assert_int_equal(flow[1].reads, 1);
    rl_cache_free(cache);
}

static void two_cores_pass_a_written_line_through_the_shared_level(void **state)
{
    (void)state;
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    assert_int_equal(rl_cache_new(&tiny, NULL, &cache, NULL), RL_OK);
    assert_int_equal(rl_cache_reserve_cores(cache, 2, NULL), RL_OK);
    for (int i = 0; i < 10; i++)
        rl_cache_access(cache, (uint32_t)i % 2, 64, 8, RL_CACHE_UPDATE, flow);
    assert_int_equal(flow[0].reads, 10); /* each takes it from the other */
    assert_int_equal(flow[0].writebacks, 9);
    assert_int_equal(flow[1].reads, 1); /* memory was read once */
    assert_int_equal(flow[1].writebacks, 0);
    rl_cache_free(cache);
}

static void a_victim_level_takes_what_the_level_before_evicts(void **state)
{
    (void)state;
    struct rl_cache_geometry g = tiny;
    g.level[1].policy = RL_CACHE_VICTIM;
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    assert_int_equal(rl_cache_new(&g, NULL, &cache, NULL), RL_OK);
    for (int round = 0; round < 2; round++) /* 6 lines fit the 2 + 4 ways of both levels together */
        for (uint64_t line = 0; line < 6; line++)
            rl_cache_access(cache, 0, 64 * line, 8, RL_CACHE_LOAD, flow);
    assert_int_equal(flow[0].reads, 12);
    assert_int_equal(flow[0].castouts, 10); /* all but the two that L1 holds at the end */
    assert_int_equal(flow[1].reads, 6);
    rl_cache_free(cache);
}

enum { ARRAY_LINES = 1 << 14 }; /* twice what L2 of real[0] holds, half of what L3 does */

static void walk_array(struct rl_cache *cache, enum rl_cache_kind kind, struct rl_cache_flow *flow)
{
    for (uint64_t i = 0; i < ARRAY_LINES; i++)
        rl_cache_access(cache, 0, 64 * i, 64, kind, flow);
}

static void lines_only_read_again_are_cast_out_and_still_reach_memory(void **state)
{
    (void)state;
    enum { N = ARRAY_LINES, IN_L2 = N / 2 };
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[3] = {0};
    assert_int_equal(rl_cache_new(&real[0], NULL, &cache, NULL), RL_OK);
    walk_array(cache, RL_CACHE_STORE, flow);
    assert_int_equal(flow[1].writebacks, N - IN_L2);
    for (int round = 0; round < 3; round++)
        walk_array(cache, RL_CACHE_LOAD, flow);
    assert_int_equal(flow[1].allocates, N);
    assert_int_equal(flow[1].reads, 3 * N);
    assert_int_equal(flow[1].writebacks, N); /* what stores had left in L2 follows, once */
    assert_int_equal(flow[1].castouts, 3 * N - IN_L2);
    assert_int_equal(rl_cache_flow_bytes(&flow[1]), 64 * (N + 3 * N + N));
    rl_cache_flush(cache, flow);
    assert_int_equal(flow[1].writebacks, N);
    assert_int_equal(flow[2].allocates, N);
    assert_int_equal(flow[2].writebacks, N);
    rl_cache_free(cache);
}

static void lines_written_again_are_written_back_again(void **state)
{
    (void)state;
    enum { N = ARRAY_LINES };
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[3] = {0};
    assert_int_equal(rl_cache_new(&real[0], NULL, &cache, NULL), RL_OK);
    for (int round = 0; round < 3; round++)
        walk_array(cache, RL_CACHE_STORE, flow);
    rl_cache_flush(cache, flow);
    assert_int_equal(flow[1].allocates, 3 * N);
    assert_int_equal(flow[1].writebacks, 3 * N);
    assert_int_equal(flow[1].castouts, 0);
    assert_int_equal(flow[2].writebacks, N);
    rl_cache_free(cache);
}

static void an_inclusive_level_takes_its_lines_away_from_the_core(void **state)
{
    (void)state;
    struct rl_cache_geometry g = {
        2, {{1, 4, false, RL_CACHE_NON_INCLUSIVE}, {1, 2, true, RL_CACHE_INCLUSIVE}}};
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    assert_int_equal(rl_cache_new(&g, NULL, &cache, NULL), RL_OK);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_STORE, flow);
    rl_cache_access(cache, 0, 64, 8, RL_CACHE_LOAD, flow);
    rl_cache_access(cache, 0, 128, 8, RL_CACHE_LOAD, flow); /* evicts line 0 from L2, hence L1 */
    assert_int_equal(flow[0].writebacks, 1);
    assert_int_equal(flow[1].writebacks, 1);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_LOAD, flow);
    assert_int_equal(flow[0].reads, 3);
    rl_cache_free(cache);
}

static void the_flows_of_a_subset_are_those_of_its_lines_in_the_full_model(void **state)
{
    (void)state;
    const uint32_t two[] = {2, 2, 2};
    struct rl_cache *full = NULL;
    struct rl_cache *part = NULL;
    struct rl_cache_flow in_full[3 * 2] = {0};
    struct rl_cache_flow in_part[3 * 2] = {0};
    assert_int_equal(rl_cache_new(&real[0], two, &full, NULL), RL_OK);
    assert_int_equal(rl_cache_new(&real[0], two, &part, NULL), RL_OK);
    uint8_t group[MAX_SETS];
    for (uint32_t k = 0; k < 3; k++) { /* lines whose number modulo 64 is 5 or 40 */
        for (uint32_t set = 0; set < real[0].level[k].sets; set++)
            group[set] = set % 64 == 5 || set % 64 == 40;
        assert_int_equal(rl_cache_choose_sets(full, k, RL_CACHE_ALL, group, NULL), RL_OK);
        for (uint32_t set = 0; set < real[0].level[k].sets; set++)
            group[set] = group[set] ? 1 : RL_CACHE_OUT;
        assert_int_equal(rl_cache_choose_sets(part, k, 0, group, NULL), RL_OK);
    }
    rng_state = 99;
    for (uint64_t i = 0; i < 200000; i++) {
        struct access a = next_access(i, 1, 1 << 22);
        rl_cache_access(full, 0, a.address, a.size, a.kind, in_full);
        rl_cache_access(part, 0, a.address, a.size, a.kind, in_part);
    }
    for (int k = 0; k < 3; k++) {
        assert_memory_equal(&in_full[2 * k + 1], &in_part[2 * k + 1], sizeof *in_full);
        assert_true(in_full[2 * k + 1].reads > 0);
        assert_int_equal(in_part[2 * k].reads, 0);
    }
    rl_cache_free(full);
    rl_cache_free(part);
}

static void a_set_can_leave_and_return(void **state)
{
    (void)state;
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    const uint8_t in = 0;
    assert_int_equal(rl_cache_new(&tiny, NULL, &cache, NULL), RL_OK);
    assert_int_equal(rl_cache_choose_sets(cache, 0, 0, &in, NULL), RL_OK);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_LOAD, flow);
    rl_cache_choose_set(cache, 0, 0, 0, RL_CACHE_OUT);
    rl_cache_access(cache, 0, 64, 8, RL_CACHE_LOAD, flow);
    rl_cache_choose_set(cache, 0, 0, 0, 0);
    rl_cache_access(cache, 0, 0, 8, RL_CACHE_LOAD, flow);
    assert_int_equal(flow[0].reads, 1);
    rl_cache_free(cache);
}

static void more_address_space_than_fits_is_forgotten_and_said(void **state)
{
    (void)state;
    struct rl_cache *cache = NULL;
    struct rl_cache_flow flow[2] = {0};
    assert_int_equal(rl_cache_new(&tiny, NULL, &cache, NULL), RL_OK);
    for (uint64_t i = 0; i < 20000; i++)
        rl_cache_access(cache, 0, i << 24, 8, RL_CACHE_STORE, flow);
    assert_int_equal(flow[0].allocates, 20000);
    assert_int_equal(rl_cache_forgotten(cache), 4); /* 4095 regions at a time */
    rl_cache_free(cache);
}

static void impossible_geometries_are_refused_by_name(void **state)
{
    (void)state;
    struct rl_error err = {0};
    struct rl_cache_geometry g = tiny;
    g.n_levels = 0;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    g.n_levels = RL_CACHE_LEVELS_MAX + 1;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    g = tiny;
    g.level[1].ways = 33;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "L2: 33 ways"));
    g = tiny;
    g.level[0].sets = 0;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    g = tiny;
    g.level[0].shared = true;
    g.level[1].shared = false;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    g = tiny;
    g.level[0].policy = RL_CACHE_VICTIM;
    assert_int_equal(rl_cache_check(&g, &err), RL_EINVAL);
    struct rl_cache *cache = NULL;
    const uint32_t none[] = {1, 0};
    const uint32_t too_many[] = {1, RL_CACHE_GROUPS_MAX + 1};
    assert_int_equal(rl_cache_new(&tiny, none, &cache, &err), RL_EINVAL);
    assert_int_equal(rl_cache_new(&tiny, too_many, &cache, &err), RL_EINVAL);
    assert_null(cache);
}

static void sets_of_groups_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    struct rl_error err = {0};
    struct rl_cache *cache = NULL;
    const uint8_t group = 2;
    const uint32_t groups[] = {2, 1};
    assert_int_equal(rl_cache_new(&tiny, groups, &cache, NULL), RL_OK);
    assert_int_equal(rl_cache_choose_sets(cache, 0, 0, &group, &err), RL_EINVAL);
    assert_int_equal(rl_cache_choose_sets(cache, 2, 0, &group, &err), RL_EINVAL);
    assert_int_equal(rl_cache_choose_sets(cache, 0, 1, &group, &err), RL_EINVAL);
    assert_int_equal(rl_cache_reserve_cores(cache, RL_CACHE_CORES_MAX + 1, &err), RL_EINVAL);
    rl_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_core_equals_the_naive_model),
        cmocka_unit_test(several_cores_equal_the_naive_model),
        cmocka_unit_test(a_run_of_steps_equals_its_accesses_in_turn),
        cmocka_unit_test(real_geometries_equal_the_naive_model),
        cmocka_unit_test(a_streaming_triad_moves_three_lines_in_and_one_out),
        cmocka_unit_test(non_temporal_stores_go_past_the_caches),
        cmocka_unit_test(two_cores_pass_a_written_line_through_the_shared_level),
        cmocka_unit_test(a_victim_level_takes_what_the_level_before_evicts),
        cmocka_unit_test(lines_only_read_again_are_cast_out_and_still_reach_memory),
        cmocka_unit_test(lines_written_again_are_written_back_again),
        cmocka_unit_test(an_inclusive_level_takes_its_lines_away_from_the_core),
        cmocka_unit_test(the_flows_of_a_subset_are_those_of_its_lines_in_the_full_model),
        cmocka_unit_test(a_set_can_leave_and_return),
        cmocka_unit_test(more_address_space_than_fits_is_forgotten_and_said),
        cmocka_unit_test(impossible_geometries_are_refused_by_name),
        cmocka_unit_test(sets_of_groups_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
