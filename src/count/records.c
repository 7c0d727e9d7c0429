#include "count/records.h"

enum {
    STEPS_AT_ONCE = 64,
    RECORDS_PER_LINE = RL_CACHE_LINE_BYTES / sizeof(struct rle_trace_record),
    PREFETCH_RECORDS = 64,
};

#define NO_LINE UINT64_MAX /* no address lies in it */

/* Steps on their way to the model: step[1] to step[n]; what precedes the first is of no line. */
struct batch {
    struct rl_cache *cache;
    struct rl_account_table *table;
    uint32_t core;
    uint32_t n_flows;
    uint64_t own;
    uint64_t apart; /* bits of a line's number in which lines that share a set agree */
    bool out_of_memory;
    uint32_t n;
    struct rl_cache_step step[1 + STEPS_AT_ONCE];
    /* By those bits: twice the number of the line touched last, and 1 if it was stored to. */
    uint64_t recent[RLE_TRACE_CLASSES];
};

static void pass_on(struct batch *b)
{
    rl_cache_run(b->cache, b->core, &b->step[1], b->n);
    b->n = 0;
}

static inline struct rl_cache_flow *account_of(struct batch *b, uint32_t site)
{
    struct rl_cache_flow *flow = rl_account_need(b->table, site, b->n_flows);
    b->out_of_memory |= !flow;
    return flow;
}

static inline void begin_step(struct batch *b, uint32_t site, uint64_t line,
                              enum rl_cache_kind kind, uint64_t bytes)
{
    struct rl_cache_flow *flow = account_of(b, site);
    if (!flow)
        return;
    b->step[++b->n] = (struct rl_cache_step){
        .line = line, .flow = flow, .kind = (uint8_t)kind, .bytes = (uint8_t)bytes};
    if (b->n == STEPS_AT_ONCE)
        pass_on(b);
}

/* Nothing has touched the sets of the line touched last among those that could share one with it:
 * one more access finds it the most recent one of each, so that only a first store changes
 * anything. No other core does anything meanwhile. */
static inline void add_step(struct batch *b, uint32_t site, uint64_t line, enum rl_cache_kind kind,
                            uint64_t bytes)
{
    if (!(b->own >> line % RLE_TRACE_CLASSES & 1))
        return;
    uint64_t *recent = &b->recent[line & b->apart];
    bool repeats = *recent >> 1 == line;
    if (kind == RL_CACHE_LOAD) {
        if (repeats)
            return;
        *recent = line << 1;
    } else if (kind != RL_CACHE_NT_STORE) {
        if (repeats && *recent & 1)
            return;
        *recent = line << 1 | 1;
        struct rl_cache_step *last = &b->step[b->n];
        if (repeats && last->line == line) {
            last->store_flow = account_of(b, site);
            return;
        }
    } else {
        *recent = NO_LINE;
    }
    begin_step(b, site, line, kind, bytes);
}

static void add_lines(struct batch *b, uint32_t site, uint64_t address, uint64_t size,
                      enum rl_cache_kind kind)
{
    while (size > 0) {
        uint64_t bytes = RL_CACHE_LINE_BYTES - address % RL_CACHE_LINE_BYTES;
        if (bytes > size)
            bytes = size;
        add_step(b, site, address / RL_CACHE_LINE_BYTES, kind, bytes);
        address += bytes;
        size -= bytes;
    }
}

/* False if it names no site. */
static inline bool add_record(struct batch *b, const struct rle_trace_site *sites, uint32_t n_sites,
                              const struct rle_trace_record *record)
{
    uint32_t i = record->site;
    if (i == 0 || i >= n_sites)
        return false;
    for (;; i++) {
        const struct rle_trace_site *site = &sites[i];
        enum rl_cache_kind kind = (enum rl_cache_kind)(site->kind & RLE_TRACE_NT_STORE);
        uint64_t address = record->address + (uint64_t)(int64_t)site->offset;
        uint64_t size = site->size;
        if (site->flags & RLE_TRACE_COUNTED)
            size *= record->count;
        if (size > 0 && address % RL_CACHE_LINE_BYTES + size <= RL_CACHE_LINE_BYTES)
            add_step(b, i, address / RL_CACHE_LINE_BYTES, kind, size);
        else
            add_lines(b, i, address, size, kind);
        if (!(site->flags & RLE_TRACE_MORE) || i + 1 >= n_sites)
            return true;
    }
}

bool rl_records_run(const struct rl_records *records, struct rl_cache *cache, uint32_t core,
                    struct rl_account_table *table, uint32_t n_flows, uint64_t *ret_watched,
                    uint64_t *ret_malformed)
{
    struct batch batch;
    batch.cache = cache;
    batch.table = table;
    batch.core = core;
    batch.n_flows = n_flows;
    batch.own = records->own;
    batch.out_of_memory = false;
    batch.n = 0;
    batch.apart = records->n_apart - 1;
    batch.step[0] = (struct rl_cache_step){.line = NO_LINE};
    for (unsigned i = 0; i < RLE_TRACE_CLASSES; i++)
        batch.recent[i] = NO_LINE;
    uint64_t n_watched = 0;
    for (uint64_t i = 0; i < records->n; i++) {
        uint64_t line = records->record[i].address / RL_CACHE_LINE_BYTES;
        n_watched += records->watched >> line % RLE_TRACE_CLASSES & 1;
        if (i % RECORDS_PER_LINE == 0) /* they lie in the cache of the core that wrote them */
            __builtin_prefetch(&records->record[i + PREFETCH_RECORDS]);
        if (!add_record(&batch, records->sites, records->n_sites, &records->record[i]))
            ++*ret_malformed;
    }
    pass_on(&batch);
    *ret_watched += n_watched;
    return !batch.out_of_memory;
}
