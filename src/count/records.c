#include "count/records.h"

#include <stdlib.h>

enum {
    STEPS_AT_ONCE = 64,
    RECORDS_PER_LINE = RL_CACHE_LINE_BYTES / sizeof(struct rle_trace_record),
    PREFETCH_RECORDS = 64,
};

#define NO_LINE    UINT64_MAX /* no address lies in it */
#define LINES_MASK (UINT64_MAX / RL_CACHE_LINE_BYTES)

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
    struct rl_cache_step step[1 + 2 * STEPS_AT_ONCE];
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
    if (b->n >= STEPS_AT_ONCE)
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

/* ---- everything is followed: what repeats the line touched last, the writer has left out ---- */

/* Steps of one record on their way to the model, and into a pattern as long as they fit. */
struct following {
    struct batch *b;
    uint64_t first_line;
    bool fits;
    struct rl_account_pattern pattern;
};

static void follow_step(struct following *f, uint32_t site, uint64_t line, enum rl_cache_kind kind,
                        uint64_t bytes)
{
    struct rl_account_pattern *p = &f->pattern;
    struct rl_cache_flow *flow = account_of(f->b, site);
    if (flow && p->n < RL_ACCOUNT_STEPS)
        p->step[p->n++] =
            (struct rl_cache_step){line - f->first_line, flow, NULL, (uint8_t)kind, (uint8_t)bytes};
    else
        f->fits = false;
    if (f->b->own >> line % RLE_TRACE_CLASSES & 1)
        begin_step(f->b, site, line, kind, bytes);
}

/* Accesses of one record that follow each other within a line: the first, and the first store. */
static void follow_lines(struct following *f, const struct rl_records *r,
                         const struct rle_trace_record *record)
{
    uint64_t before = NO_LINE;
    bool stored = false;
    for (uint32_t i = record->site;; i++) {
        const struct rle_trace_site *site = &r->sites[i];
        enum rl_cache_kind kind = (enum rl_cache_kind)(site->kind & RLE_TRACE_NT_STORE);
        uint64_t address = record->address + (uint64_t)(int64_t)site->offset;
        uint64_t size = site->size;
        if (site->flags & RLE_TRACE_COUNTED)
            size *= record->count;
        for (uint64_t bytes; size > 0; address += bytes, size -= bytes) {
            uint64_t line = address / RL_CACHE_LINE_BYTES;
            bytes = RL_CACHE_LINE_BYTES - address % RL_CACHE_LINE_BYTES;
            bytes = bytes < size ? bytes : size;
            bool repeats = line == before && (stored || kind == RL_CACHE_LOAD);
            stored = kind != RL_CACHE_LOAD || (line == before && stored);
            before = kind == RL_CACHE_NT_STORE ? NO_LINE : line;
            if (!repeats || kind == RL_CACHE_NT_STORE)
                follow_step(f, i, line, kind, bytes);
        }
        f->fits &= !(site->flags & RLE_TRACE_COUNTED);
        if (!(site->flags & RLE_TRACE_MORE) || i + 1 >= r->n_sites)
            break;
    }
}

static void keep_pattern(struct batch *b, uint32_t site, const struct rl_account_pattern *pattern)
{
    struct rl_account_pattern **at = &b->table->pattern[site];
    if (!*at)
        *at = malloc(sizeof **at);
    if (*at)
        **at = *pattern;
}

/* Whether the record was like the site's last one. */
static bool repeat_pattern(struct batch *b, const struct rle_trace_record *record)
{
    const struct rl_account_pattern *p =
        record->site < b->table->n_forms ? b->table->pattern[record->site] : NULL;
    if (!p || p->start != record->address % RL_CACHE_LINE_BYTES)
        return false;
    uint64_t first_line = record->address / RL_CACHE_LINE_BYTES;
    for (uint32_t k = 0; k < p->n; k++) {
        uint64_t line = (first_line + p->step[k].line) & LINES_MASK;
        if (!(b->own >> line % RLE_TRACE_CLASSES & 1))
            continue;
        b->step[++b->n] = p->step[k];
        b->step[b->n].line = line;
        if (b->n >= STEPS_AT_ONCE)
            pass_on(b);
    }
    return true;
}

/* Next time it goes faster, if this is a record of the usual form. */
static void learn(struct batch *b, const struct rl_records *r, uint32_t i)
{
    const struct rle_trace_site site = r->sites[i]; /* a copy: the program might change its own */
    bool two = site.flags & RLE_TRACE_MORE;
    if (site.flags & RLE_TRACE_COUNTED || site.kind >= RLE_TRACE_NT_STORE || site.size < 1 ||
        site.size > RL_CACHE_LINE_BYTES)
        return;
    if (two) {
        if (i + 1 >= r->n_sites)
            return;
        const struct rle_trace_site next = r->sites[i + 1];
        if (next.flags & (RLE_TRACE_MORE | RLE_TRACE_COUNTED) || next.kind != RLE_TRACE_STORE ||
            site.kind != RLE_TRACE_LOAD || next.offset != site.offset || next.size != site.size)
            return;
    }
    b->out_of_memory |= !rl_account_learn(b->table, i, two ? i + 1 : 0, &site, b->n_flows);
}

static void follow_unusual(struct batch *b, const struct rl_records *r,
                           const struct rle_trace_record *record, uint64_t *malformed)
{
    uint32_t i = record->site;
    if (i == 0 || i >= r->n_sites) {
        ++*malformed;
        return;
    }
    if (repeat_pattern(b, record))
        return;
    struct following f = {.b = b,
                          .first_line = record->address / RL_CACHE_LINE_BYTES,
                          .fits = true,
                          .pattern.start = (uint8_t)(record->address % RL_CACHE_LINE_BYTES)};
    follow_lines(&f, r, record);
    if (i >= b->table->n) /* it moved nothing */
        return;
    if (!rl_account_reserve_forms(b->table)) {
        b->out_of_memory = true;
        return;
    }
    if (f.fits)
        keep_pattern(b, i, &f.pattern);
    if (b->table->form[i].last_start < 0)
        learn(b, r, i);
}

/* Up to so many records, each a step at most but for unusual ones. */
static void follow_some(struct batch *b, const struct rl_records *r,
                        const struct rle_trace_record *record, uint64_t n, uint64_t *malformed)
{
    const struct rle_trace_record *end = record + n;
    const struct rl_account_form *form = b->table->form;
    uint32_t n_forms = b->table->n_forms;
    uint64_t own = b->own;
    struct rl_cache_step *step = &b->step[1 + b->n];
    for (; record < end; record++) {
        if (record->site < n_forms) {
            const struct rl_account_form *f = &form[record->site];
            uint64_t address = record->address + (uint64_t)f->offset;
            uint64_t line = address / RL_CACHE_LINE_BYTES;
            if ((int)(address % RL_CACHE_LINE_BYTES) <= f->last_start) {
                /* Written in any case: whose lines they are is no pattern to predict. */
                *step = (struct rl_cache_step){line, f->flow, f->store_flow, f->kind, f->bytes};
                step += own >> line % RLE_TRACE_CLASSES & 1;
                continue;
            }
        }
        b->n = (uint32_t)(step - &b->step[1]);
        follow_unusual(b, r, record, malformed);
        step = &b->step[1 + b->n];
        form = b->table->form;
        n_forms = b->table->n_forms;
    }
    b->n = (uint32_t)(step - &b->step[1]);
}

static void follow_all(struct batch *b, const struct rl_records *r, uint64_t *malformed)
{
    for (uint64_t i = 0; i < r->n; i += STEPS_AT_ONCE) {
        uint64_t n = r->n - i < STEPS_AT_ONCE ? r->n - i : STEPS_AT_ONCE;
        for (uint64_t k = 0; k < STEPS_AT_ONCE; k += RECORDS_PER_LINE) /* as above */
            __builtin_prefetch(&r->record[i + PREFETCH_RECORDS + k]);
        follow_some(b, r, &r->record[i], n, malformed);
        if (b->n >= STEPS_AT_ONCE)
            pass_on(b);
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
    if (records->full) {
        follow_all(&batch, records, ret_malformed);
        pass_on(&batch);
        return !batch.out_of_memory;
    }
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
