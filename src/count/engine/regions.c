#include "count/engine/regions.h"

#include <sys/mman.h>

#include "count/engine/engine.h"
#include "count/engine/result.h"
#include "count/engine/trace_format.h"
#include "region/mark.h"
#include "region/name.h"

enum {
    DEPTH_MAX = 128,
    REGIONS_MAX = 4096, /* beyond, work counts in the region around */
    OUTSIDE = 0,
};

/* Regions are numbered from 1, as in extents. */
struct rle_region_state {
    uint32_t stack[DEPTH_MAX];
    uint32_t depth;
    uint64_t *seen;              /* counters at the last event */
    uint64_t *taken_off;         /* extent of region 0 that holds what moved; NULL: nothing yet */
    uint64_t *part[REGIONS_MAX]; /* extents by region */
};

_Static_assert(REGIONS_MAX <= RLE_TRACE_REGIONS, "the reader knows them all");

static bool in_use; /* since the first event */

static uint64_t *counters_of(const struct rle_thread *thread)
{
    return (uint64_t *)((char *)thread + RLE_TB_COUNTERS);
}

static uint32_t innermost(const struct rle_thread *thread)
{
    const struct rle_region_state *s = thread->regions;
    return s && s->depth ? s->stack[s->depth - 1] : OUTSIDE;
}

static uint32_t current(const struct rle_thread *thread)
{
    uint32_t own = innermost(thread);
    return own ? own : innermost(rle_engine.threads[0]);
}

static uint64_t *new_extent(const struct rle_thread *thread, uint32_t region)
{
    uint64_t *at = rle_map(rle_result_counter_bytes());
    if (!at || rle_is_error(rle_result_map_extent(thread->slot, region, (uint64_t)at))) {
        rle_result_uncounted(RLE_UNCOUNTED_CAPACITY, RLE_NO_ROOM_FOR_REGION);
        return NULL;
    }
    return at;
}

static bool watch(struct rle_thread *thread)
{
    struct rle_region_state *s = thread->regions;
    if (s)
        return true;
    s = rle_map(sizeof(*s));
    if (!s || !(s->seen = rle_map(rle_result_counter_bytes())))
        return false;
    rle_copy(s->seen, counters_of(thread), rle_result_n_counters() * sizeof(uint64_t));
    thread->regions = s;
    return true;
}

/* Move what the thread counted since the last time to the region it is in. */
static void account(struct rle_thread *thread)
{
    struct rle_region_state *s = thread->regions;
    uint32_t region = current(thread), n = rle_result_n_counters();
    const uint64_t *now = counters_of(thread);
    if (region >= REGIONS_MAX)
        region = OUTSIDE;
    if (region && !s->part[region])
        s->part[region] = new_extent(thread, region);
    if (region && !s->taken_off)
        s->taken_off = new_extent(thread, OUTSIDE);
    bool moves = region && s->part[region] && s->taken_off;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t value = __atomic_load_n(&now[i], __ATOMIC_RELAXED);
        uint64_t more = value - s->seen[i];
        if (!more)
            continue;
        s->seen[i] = value;
        if (moves) {
            s->part[region][i] += more;
            s->taken_off[i] -= more;
        }
    }
}

/* The thread, and those that count where the first thread does if it is that one. */
static void account_all_concerned(struct rle_thread *thread)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        struct rle_thread *t = rle_engine.threads[i];
        bool follows = thread->slot == 0 && t->in_use && !innermost(t);
        if ((t == thread || follows) && t->regions)
            account(t);
    }
}

/* Is a region, or one around it, among those that were asked for? */
static bool is_selected(uint32_t region)
{
    while (region) {
        const struct rle_result_region *r = rle_result_record(RLE_SECTION_REGIONS, region - 1);
        if (rle_options_selects(rle_engine.options.only,
                                rle_result_record(RLE_SECTION_STRINGS, r->name)))
            return true;
        region = r->parent == RLE_NONE ? OUTSIDE : r->parent + 1;
    }
    return false;
}

void rle_regions_tell(struct rle_thread *thread)
{
    const struct rle_instrument *instrument = rle_engine.instrument;
    void *area = (char *)thread + RLE_TB_INSTRUMENT;
    if (rle_engine.options.only[0] && instrument->select)
        instrument->select(area, is_selected(current(thread)));
    if (in_use && instrument->region)
        instrument->region(area, thread->slot, current(thread));
}

static void tell_all_concerned(struct rle_thread *thread)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        struct rle_thread *t = rle_engine.threads[i];
        if (t == thread || (thread->slot == 0 && t->in_use && !innermost(t)))
            rle_regions_tell(t);
    }
}

/* Number of the region `name` inside `parent`; OUTSIDE if there is no room for it. */
static uint32_t region_named(const char *name, uint32_t parent)
{
    uint32_t n = rle_result_used(RLE_SECTION_REGIONS);
    uint32_t around = parent ? parent - 1 : RLE_NONE;
    for (uint32_t i = 0; i < n; i++) {
        struct rle_result_region *r = rle_result_record(RLE_SECTION_REGIONS, i);
        const char *known = rle_result_record(RLE_SECTION_STRINGS, r->name);
        if (r->parent == around && rle_equal(known, name)) {
            r->entries++;
            return i + 1;
        }
    }
    struct rle_result_region *r = rle_result_append(RLE_SECTION_REGIONS);
    uint32_t text = r && n + 1 < REGIONS_MAX ? rle_result_add_string(name) : RLE_NONE;
    if (text == RLE_NONE)
        return OUTSIDE;
    *r = (struct rle_result_region){.name = text, .parent = around, .entries = 1};
    return rle_result_commit(RLE_SECTION_REGIONS) + 1;
}

static void begin(struct rle_thread *thread, const char *name)
{
    struct rle_region_state *s = thread->regions;
    uint32_t parent = current(thread);
    if (s->depth == DEPTH_MAX)
        return;
    uint32_t region = region_named(name, parent);
    s->stack[s->depth++] = region ? region : parent;
}

/* The innermost open one of that name, which may lie below others: they need not nest. */
static void end(struct rle_thread *thread, const char *name)
{
    struct rle_region_state *s = thread->regions;
    for (uint32_t i = s->depth; i-- > 0;) {
        const struct rle_result_region *r =
            s->stack[i] ? rle_result_record(RLE_SECTION_REGIONS, s->stack[i] - 1) : NULL;
        if (name && (!r || !rle_equal(rle_result_record(RLE_SECTION_STRINGS, r->name), name)))
            continue;
        s->depth--;
        for (; i < s->depth; i++)
            s->stack[i] = s->stack[i + 1];
        return;
    }
}

/* Copy a name, cut to what tells regions apart. Byte by byte: what follows it may be unmapped. */
static bool read_name(const char *name, char buffer[REGION_NAME_LEN])
{
    unsigned n = 0;
    do {
        if (rle_copy_guarded(&buffer[n], name + n, 1))
            return false;
    } while (buffer[n] && ++n < REGION_NAME_LEN - 1);
    buffer[region_name_bytes(buffer, n)] = '\0';
    return true;
}

static bool watch_all(void)
{
    in_use = true;
    for (uint32_t i = 0; i < rle_engine.n_threads; i++)
        if (!watch(rle_engine.threads[i]))
            return false;
    return true;
}

void rle_region_event(struct rle_thread *thread, uint32_t mark, const char *name)
{
    char text[REGION_NAME_LEN];
    bool named = mark != REGION_MARK_END_INNERMOST;
    if (rle_engine.options.mode == RLE_MODE_TRANSLATE || (named && !read_name(name, text)))
        return;
    rle_lock(&rle_engine.lock);
    if (watch_all()) {
        account_all_concerned(thread);
        if (mark == REGION_MARK_BEGIN)
            begin(thread, text);
        else
            end(thread, named ? text : NULL);
        tell_all_concerned(thread);
    }
    rle_unlock(&rle_engine.lock);
}

void rle_regions_thread_begin(struct rle_thread *thread)
{
    if (!in_use || !watch(thread))
        return;
    thread->regions->depth = 0;
    rle_copy(thread->regions->seen, counters_of(thread),
             rle_result_n_counters() * sizeof(uint64_t));
}

void rle_regions_thread_end(struct rle_thread *thread)
{
    if (!thread->regions)
        return;
    account(thread);
    thread->regions->depth = 0;
}

void rle_regions_flush(void)
{
    rle_lock(&rle_engine.lock);
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        struct rle_thread *t = rle_engine.threads[i];
        if (t->regions && t->in_use)
            account(t);
    }
    rle_unlock(&rle_engine.lock);
}

void rle_regions_after_fork(struct rle_thread *thread)
{
    struct rle_region_state *s = thread->regions;
    if (!s)
        return;
    uint64_t bytes = rle_result_counter_bytes();
    for (uint32_t r = 0; r < REGIONS_MAX; r++) {
        if (s->part[r])
            rle_sys3(SYS_munmap, (long)s->part[r], (long)bytes, 0);
        s->part[r] = NULL;
    }
    if (s->taken_off)
        rle_sys3(SYS_munmap, (long)s->taken_off, (long)bytes, 0);
    s->taken_off = NULL;
    rle_sys3(SYS_munmap, (long)s->seen, (long)bytes, 0);
    s->seen = rle_map(bytes);
    if (!s->seen)
        rle_die("no memory for the counts of regions", 0);
}
