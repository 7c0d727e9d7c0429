/* Records through the reader move what their accesses move one by one, though repeats are left
 * out: the same for every site, boundary and kind. */
#include "count/records.h"

#include <stdlib.h>
#include <string.h>

#include "../support/cmocka_all.h"

enum { SITES = 24, RECORDS = 4000, RUNS = 40, FLOWS = RL_CACHE_LEVELS_MAX, LINES = 96 };

/** A geometry, and the largest power of two that divides all its numbers of sets. */
struct subject {
    struct rl_cache_geometry geometry;
    uint32_t n_apart;
};

static const struct subject subject[] = {
    {{3, {{64, 2, false, 0}, {64, 4, false, 0}, {128, 4, true, RL_CACHE_VICTIM}}}, 64},
    {{3, {{16, 2, false, 0}, {16, 4, false, 0}, {48, 4, true, RL_CACHE_INCLUSIVE}}}, 16},
    {{2, {{2, 4, false, 0}, {6, 4, true, RL_CACHE_NON_INCLUSIVE}}}, 2},
    {{2, {{3, 2, false, 0}, {5, 3, false, 0}}}, 1},
};

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Sites of all kinds and sizes, some two or three to a record, some counted. */
static void draw_sites(struct rle_trace_site site[SITES], uint32_t *state)
{
    for (uint32_t i = 1; i < SITES; i++) {
        site[i] = (struct rle_trace_site){.block = i,
                                          .offset = (int32_t)draw(state, 160) - 80,
                                          .size = 1 + draw(state, 64),
                                          .kind = (uint8_t)draw(state, 4)};
        if (draw(state, 8) == 0)
            site[i].flags = RLE_TRACE_COUNTED;
        else if (draw(state, 2) && i + 1 < SITES)
            site[i].flags = RLE_TRACE_MORE;
    }
}

/* Mostly where the one before was, or next to it. */
static void draw_records(struct rle_trace_record record[RECORDS], uint32_t *state)
{
    const uint64_t base = 0x7f0000400000;
    uint64_t at = base;
    for (uint32_t i = 0; i < RECORDS; i++) {
        at = draw(state, 3) ? at + draw(state, 72) : base + draw(state, LINES * 64);
        record[i] = (struct rle_trace_record){
            .address = at, .site = 1 + draw(state, SITES - 1), .count = 1 + draw(state, 5)};
    }
}

static void access_one_by_one(struct rl_cache *cache, const struct rle_trace_site *sites,
                              const struct rle_trace_record *record,
                              struct rl_cache_flow flow[SITES][FLOWS])
{
    for (uint32_t i = record->site;; i++) {
        uint64_t size = sites[i].size;
        if (sites[i].flags & RLE_TRACE_COUNTED)
            size *= record->count;
        rl_cache_access(cache, 0, record->address + (uint64_t)(int64_t)sites[i].offset, size,
                        (enum rl_cache_kind)sites[i].kind, flow[i]);
        if (!(sites[i].flags & RLE_TRACE_MORE) || i + 1 >= SITES)
            return;
    }
}

static void compare(const struct subject *s, uint32_t seed, bool full)
{
    static struct rle_trace_site site[SITES];
    static struct rle_trace_record record[RECORDS];
    struct rl_cache_flow expected[SITES][FLOWS] = {0};
    const struct rl_cache_flow none[FLOWS] = {0};
    struct rl_account_table table = {0};
    struct rl_cache *cache;
    struct rl_cache *plain;
    uint64_t watched = 0;
    uint64_t malformed = 0;
    uint32_t state = seed;
    draw_sites(site, &state);
    draw_records(record, &state);
    assert_int_equal(rl_cache_new(&s->geometry, NULL, &cache, NULL), RL_OK);
    assert_int_equal(rl_cache_new(&s->geometry, NULL, &plain, NULL), RL_OK);
    const struct rl_records records = {.sites = site,
                                       .n_sites = SITES,
                                       .record = record,
                                       .n = RECORDS,
                                       .full = full,
                                       .own = UINT64_MAX,
                                       .n_apart = s->n_apart};
    assert_true(rl_records_run(&records, cache, 0, &table, FLOWS, &watched, &malformed));
    for (uint32_t i = 0; i < RECORDS; i++)
        access_one_by_one(plain, site, &record[i], expected);
    assert_int_equal(malformed, 0);
    for (uint32_t i = 1; i < SITES; i++) {
        const struct rl_cache_flow *got = i < table.n && table.account[i] ? table.account[i] : none;
        if (memcmp(got, expected[i], sizeof expected[i]) != 0)
            fail_msg("site %u differs, %u apart, seed %u, full %d", i, s->n_apart, seed, full);
    }
    rl_account_table_clear(&table);
    rl_cache_free(cache);
    rl_cache_free(plain);
}

static void records_move_what_their_accesses_move(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subject / sizeof *subject; i++)
        for (uint32_t seed = 1; seed <= RUNS; seed++)
            for (int full = 0; full < 2; full++)
                compare(&subject[i], seed, full);
}

static void records_of_no_site_move_nothing_and_are_counted(void **state)
{
    (void)state;
    const struct rle_trace_site site[2] = {{0}, {.block = 1, .size = 8}};
    const struct rle_trace_record record[2] = {{.address = 64}, {.address = 64, .site = 2}};
    struct rl_account_table table = {0};
    struct rl_cache *cache;
    uint64_t watched = 0;
    uint64_t malformed = 0;
    assert_int_equal(rl_cache_new(&subject[0].geometry, NULL, &cache, NULL), RL_OK);
    const struct rl_records records = {.sites = site,
                                       .n_sites = 2,
                                       .record = record,
                                       .n = 2,
                                       .watched = 2,
                                       .own = UINT64_MAX,
                                       .n_apart = 64};
    assert_true(rl_records_run(&records, cache, 0, &table, FLOWS, &watched, &malformed));
    assert_int_equal(malformed, 2);
    assert_int_equal(watched, 2);
    assert_int_equal(table.n, 0);
    rl_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_move_what_their_accesses_move),
        cmocka_unit_test(records_of_no_site_move_nothing_and_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
