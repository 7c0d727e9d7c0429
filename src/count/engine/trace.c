/* What happens outside translated code: the channel, slots and sites, waiting for the reader, and
 * the accesses that translated code leaves to a call: repeated strings and gathers. */
#include "count/engine/trace.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

#include "count/engine/engine.h"
#include "count/engine/result.h"

enum {
    PLACES_MAX = 1 << 18,   /* masks in code; further ones are read from the slot */
    WAIT_MS = 100,          /* one wait for the reader */
    SILENT_WAITS_MAX = 100, /* without a heartbeat: then nobody reads any more */
    PATH_BYTES = 64,
    RING_SPACE =
        RLE_TRACE_RING + 2 * RLE_TRACE_CHUNK, /* with the first chunk again, and to align */
};

static struct {
    struct rle_trace_header *header;
    struct rle_trace_process *process;
    struct rle_trace_site *sites;
    uint32_t process_index;
    uint64_t ring[RLE_THREADS_MAX]; /* where a slot's ring is mapped; 0: nowhere yet */
    uint32_t slot[RLE_THREADS_MAX]; /* its slot in the channel … */
    bool shared[RLE_THREADS_MAX];   /* … if it has one, ready; else nobody reads what it writes */
    bool unread;                    /* the reader is gone: changes of region wait for it no more */
    /* Masks in translated code, and where: write addresses. */
    uint32_t mask[RLE_TRACE_FORMS][RLE_TRACE_REACHES];
    uint8_t **place[RLE_TRACE_FORMS][RLE_TRACE_REACHES];
    uint32_t n_places[RLE_TRACE_FORMS][RLE_TRACE_REACHES];
} trace;

/* ---- the channel ---- */

static long open_channel(void)
{
    char path[PATH_BYTES];
    struct rle_text text = {path, sizeof(path), 0};
    rle_text_add(&text, "/proc/");
    rle_text_add_number(&text, rle_engine.options.reader);
    rle_text_add(&text, "/fd/");
    rle_text_add_number(&text, rle_engine.options.channel);
    return rle_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0);
}

static long map_shared(uint64_t at, uint64_t bytes, long fd, uint64_t offset)
{
    uint64_t hint = at ? at : rle_far_from_code(bytes);
    return rle_sys6(SYS_mmap, (long)hint, (long)bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | (at ? MAP_FIXED : 0), fd, (long)offset);
}

/* A process area of our own, which may already be mapped for a parent. */
static bool take_process(long fd)
{
    struct rle_trace_header *header = trace.header;
    uint32_t index =
        rle_trace_take(header->process_state, RLE_TRACE_PROCESSES, &header->n_processes);
    if (index == RLE_TRACE_PROCESSES)
        return false;
    long at = map_shared(0, RLE_TRACE_PROCESS_BYTES, fd, rle_trace_process_offset(index));
    if (rle_is_error(at)) {
        rle_trace_set_state(&header->process_state[index], RLE_TRACE_FREE);
        return false;
    }
    struct rle_trace_process *process = (struct rle_trace_process *)at;
    struct rle_trace_site *sites = (struct rle_trace_site *)(at + RLE_TRACE_PAGE);
    process->pid = (int32_t)rle_sys3(SYS_getpid, 0, 0, 0);
    process->sequence = rle_result_sequence();
    uint32_t n = trace.process ? trace.process->n_sites : 1;
    if (trace.process) {
        rle_copy(sites, trace.sites, n * sizeof(*sites));
        process->skipped = trace.process->skipped;
        process->overflow = trace.process->overflow;
        rle_sys3(SYS_munmap, (long)trace.process, RLE_TRACE_PROCESS_BYTES, 0);
    }
    __atomic_store_n(&process->n_sites, n, __ATOMIC_RELEASE);
    rle_trace_set_state(&header->process_state[index], RLE_TRACE_IN_USE);
    trace.process = process;
    trace.sites = sites;
    trace.process_index = index;
    return true;
}

static bool make_places(void)
{
    for (unsigned i = 0; i < RLE_TRACE_FORMS * RLE_TRACE_REACHES; i++) {
        uint8_t ***place = &trace.place[i / RLE_TRACE_REACHES][i % RLE_TRACE_REACHES];
        *place = rle_map(sizeof(**place) * PLACES_MAX);
        if (!*place)
            return false;
    }
    return true;
}

static const char *map_channel(long fd)
{
    long at = map_shared(0, RLE_TRACE_HEADER, fd, 0);
    if (rle_is_error(at))
        return "the channel to the traffic model cannot be mapped";
    trace.header = (struct rle_trace_header *)at;
    if (__atomic_load_n(&trace.header->magic, __ATOMIC_ACQUIRE) != RLE_TRACE_MAGIC ||
        trace.header->bytes != rle_trace_file_bytes())
        return "the traffic model is of another version than this engine: install both from one "
               "build";
    if (!take_process(fd))
        return "the traffic model has no room for another process";
    return make_places() ? NULL : "no memory for where the code asks for sampled lines";
}

const char *rle_trace_open(void)
{
    long fd = open_channel();
    if (rle_is_error(fd))
        return "the channel to the traffic model cannot be opened";
    const char *problem = map_channel(fd);
    rle_sys3(SYS_close, fd, 0, 0);
    return problem;
}

/* Sites of our own that nobody reads: the parent's are not ours to add to. */
static void leave_process(void)
{
    uint64_t at = (uint64_t)trace.process;
    uint32_t n = trace.process->n_sites;
    struct rle_trace_process *copy = rle_map(RLE_TRACE_PROCESS_BYTES);
    if (!copy)
        rle_die("no memory for the trace of a child process", 0);
    rle_copy((uint8_t *)copy + RLE_TRACE_PAGE, trace.sites, n * sizeof(*trace.sites));
    copy->n_sites = n;
    rle_sys3(SYS_munmap, (long)at, RLE_TRACE_PROCESS_BYTES, 0);
    trace.process = copy;
    trace.sites = (struct rle_trace_site *)((uint8_t *)copy + RLE_TRACE_PAGE);
    trace.process_index = RLE_TRACE_PROCESSES;
}

/* ---- slots ---- */

static uint64_t space_for_ring(void)
{
    long at = rle_sys6(SYS_mmap, (long)rle_far_from_code(RING_SPACE), RING_SPACE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rle_is_error(at))
        rle_die("no address space for a thread's trace", 0);
    return ((uint64_t)at + RLE_TRACE_CHUNK - 1) / RLE_TRACE_CHUNK * RLE_TRACE_CHUNK;
}

static bool map_slot(uint64_t area, uint64_t ring, uint32_t slot)
{
    long fd = open_channel();
    if (rle_is_error(fd))
        return false;
    uint64_t offset = rle_trace_slot_offset(slot);
    bool ok = !rle_is_error(map_shared(area, RLE_TRACE_AREA, fd, offset)) &&
              !rle_is_error(map_shared(ring, RLE_TRACE_RING, fd, offset + RLE_TRACE_AREA)) &&
              !rle_is_error(
                  map_shared(ring + RLE_TRACE_RING, RLE_TRACE_CHUNK, fd, offset + RLE_TRACE_AREA));
    rle_sys3(SYS_close, fd, 0, 0);
    return ok;
}

static void map_private(uint64_t at, uint64_t bytes)
{
    if (rle_is_error(rle_sys6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)))
        rle_die("no memory for a thread's trace", 0);
}

/* Nobody reads: stop asking for records, and throw away what is written all the same. */
static void go_deaf(struct rle_trace_slot *slot)
{
    slot->deaf = 1;
    rle_trace_drop(slot);
    rle_trace_want(slot, 0, trace.header->centre);
}

static void begin_slot(void *area, uint32_t thread)
{
    if (!trace.ring[thread])
        trace.ring[thread] = space_for_ring();
    uint64_t ring = trace.ring[thread];
    struct rle_trace_header *header = trace.header;
    struct rle_trace_slot *slot = area;
    uint32_t index = RLE_TRACE_SLOTS;
    if (trace.process_index < RLE_TRACE_PROCESSES)
        index = rle_trace_take(header->slot_state, RLE_TRACE_SLOTS, &header->n_slots);
    if (index == RLE_TRACE_SLOTS || !map_slot((uint64_t)area, ring, index)) {
        if (index < RLE_TRACE_SLOTS)
            rle_trace_set_state(&header->slot_state[index], RLE_TRACE_FREE);
        map_private((uint64_t)area, RLE_TRACE_AREA);
        map_private(ring, 2 * RLE_TRACE_CHUNK);
        rle_trace_begin(slot, ring);
        go_deaf(slot);
        return;
    }
    trace.slot[thread] = index;
    slot->process = trace.process_index;
    slot->thread = thread;
    rle_trace_forget(slot);
    rle_trace_begin(slot, ring);
    slot->paused = rle_engine.options.only[0] != '\0';
    rle_trace_want(slot, __atomic_load_n(&header->classes, __ATOMIC_ACQUIRE), header->centre);
    rle_trace_set_state(&header->slot_state[index], RLE_TRACE_IN_USE);
    __atomic_store_n(&trace.shared[thread], true, __ATOMIC_RELEASE);
}

/* Table and switch are changed in an order that leaves them in step with the reader's changes. */
static void select_thread(void *area, bool wanted)
{
    struct rle_trace_slot *slot = area;
    uint64_t classes;
    if (slot->deaf || slot->paused == !wanted)
        return;
    __atomic_store_n(&slot->paused, !wanted, __ATOMIC_SEQ_CST);
    do {
        classes = __atomic_load_n(&trace.header->classes, __ATOMIC_SEQ_CST);
        rle_trace_want(slot, classes, trace.header->centre);
    } while (__atomic_load_n(&trace.header->classes, __ATOMIC_SEQ_CST) != classes);
}

static void thread_end(void *area, uint32_t thread)
{
    (void)area;
    if (trace.shared[thread])
        rle_trace_set_state(&trace.header->slot_state[trace.slot[thread]], RLE_TRACE_ENDED);
    trace.shared[thread] = false;
}

/* The area still shows the parent's slot, which the parent goes on using. */
static void fork_child(void *area, uint32_t thread)
{
    uint64_t ring = ((struct rle_trace_slot *)area)->ring;
    for (uint32_t i = 0; i < RLE_THREADS_MAX; i++) {
        if (trace.ring[i] && trace.ring[i] != ring)
            rle_sys3(SYS_munmap, (long)trace.ring[i], RLE_TRACE_RING + RLE_TRACE_CHUNK, 0);
        trace.ring[i] = 0;
        trace.shared[i] = false;
    }
    trace.ring[thread] = ring;
    long fd = open_channel();
    if (rle_is_error(fd) || !take_process(fd))
        leave_process();
    if (!rle_is_error(fd))
        rle_sys3(SYS_close, fd, 0, 0);
    begin_slot(area, thread);
}

/* ---- sites ---- */

uint32_t rle_trace_add_sites(const struct rle_trace_site *sites, unsigned n)
{
    struct rle_trace_process *process = trace.process;
    uint32_t first = process->n_sites;
    if (n == 0 || first + n > RLE_TRACE_SITES) {
        process->overflow += n;
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        trace.sites[first + i] = sites[i];
        if (i + 1 < n)
            trace.sites[first + i].flags |= RLE_TRACE_MORE;
    }
    __atomic_store_n(&process->n_sites, first + n, __ATOMIC_RELEASE);
    return first;
}

void rle_trace_skip(void)
{
    trace.process->skipped++;
}

/* ---- masks in translated code ---- */

uint32_t rle_trace_centre(void)
{
    return trace.header->centre;
}

uint32_t rle_trace_apart(void)
{
    uint32_t n = trace.header->n_apart;
    return n > 0 && n <= RLE_TRACE_CLASSES && (n & (n - 1)) == 0 ? n : 1;
}

uint32_t rle_trace_ways(void)
{
    return trace.header->n_ways;
}

bool rle_trace_mask_in_code(enum rle_trace_form form, unsigned reach, uint32_t *ret_mask)
{
    *ret_mask = trace.mask[form][reach];
    return trace.n_places[form][reach] < PLACES_MAX;
}

void rle_trace_keep_place(enum rle_trace_form form, unsigned reach, uint8_t *at)
{
    trace.place[form][reach][trace.n_places[form][reach]++] = at;
}

static void change_mask(enum rle_trace_form form, unsigned reach, uint32_t mask)
{
    if (mask == trace.mask[form][reach])
        return;
    trace.mask[form][reach] = mask;
    for (uint32_t i = 0; i < trace.n_places[form][reach]; i++)
        __atomic_store_n((uint32_t *)(void *)trace.place[form][reach][i], mask, __ATOMIC_RELAXED);
}

/* Others may be executing what is changed: they test by the old or by the new mask. */
static void change_masks(struct rle_trace_slot *slot)
{
    rle_lock(&rle_engine.lock);
    __atomic_store_n(&slot->stale, 0, __ATOMIC_SEQ_CST);
    uint64_t classes = __atomic_load_n(&trace.header->classes, __ATOMIC_SEQ_CST);
    for (unsigned reach = 0; reach < RLE_TRACE_REACHES; reach++) {
        struct rle_trace_mask m = rle_trace_mask_for(classes, trace.header->centre, reach);
        change_mask(RLE_TRACE_BY_MASK, reach, m.mask);
        change_mask(RLE_TRACE_BY_DISTANCE, reach, m.mask | m.within);
    }
    rle_unlock(&rle_engine.lock);
}

/* ---- room ---- */

static bool nobody_reads(uint64_t *heartbeat, unsigned *silent)
{
    uint64_t now = __atomic_load_n(&trace.header->heartbeat, __ATOMIC_RELAXED);
    *silent = now == *heartbeat ? *silent + 1 : 0;
    *heartbeat = now;
    return *silent > SILENT_WAITS_MAX || __atomic_load_n(&trace.header->closed, __ATOMIC_ACQUIRE);
}

static void wait_for_reader(struct rle_trace_slot *slot, uint32_t room)
{
    static const struct timespec patience = {.tv_nsec = WAIT_MS * 1000000l};
    slot->waits++;
    rle_sys4(SYS_futex, (long)&slot->room, FUTEX_WAIT, room, (long)&patience);
}

static void make_room(struct rle_trace_slot *slot)
{
    uint64_t heartbeat = 0;
    unsigned silent = 0;
    uint32_t room;
    rle_trace_forget(slot); /* from time to time: other threads may have taken the lines away */
    if (slot->deaf) {
        rle_trace_drop(slot);
        return;
    }
    while (rle_trace_make_room(slot, &room) == RLE_TRACE_WAIT) {
        if (nobody_reads(&heartbeat, &silent)) {
            go_deaf(slot);
            return;
        }
        wait_for_reader(slot, room);
    }
}

/* Two threads never do so at once: they hold the engine's lock, which the reader does not need. */
static void change_region(void *area, uint32_t thread, uint32_t region)
{
    struct rle_trace_slot *slot = area;
    uint64_t heartbeat = 0;
    unsigned silent = 0;
    if (!__atomic_load_n(&trace.shared[thread], __ATOMIC_ACQUIRE) || slot->region == region)
        return;
    while (!slot->deaf && !trace.unread) {
        uint32_t room = __atomic_load_n(&slot->room, __ATOMIC_ACQUIRE);
        if (rle_trace_change_region(slot, region))
            return;
        trace.unread = nobody_reads(&heartbeat, &silent);
        if (!trace.unread)
            wait_for_reader(slot, room);
    }
}

static void write_record(struct rle_trace_slot *slot, uint64_t address, uint64_t site,
                         uint32_t count)
{
    if (rle_trace_write(slot, address, (uint32_t)site, count))
        make_room(slot);
}

/* ---- accesses left to a call ---- */

enum { DIRECTION_FLAG = 0x400 };

/* `count` elements from `first` on, upwards or downwards. */
static void write_string(const struct rle_thread *thread, struct rle_trace_slot *slot,
                         uint64_t site, uint64_t first, uint64_t count)
{
    uint64_t size = trace.sites[site].size;
    uint64_t at = thread->rflags & DIRECTION_FLAG ? first - (count - 1) * size : first;
    while (count > 0) {
        uint32_t part = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        write_record(slot, at, site, part);
        at += part * size;
        count -= part;
    }
}

/* staged[1] holds the sites of the operands at rsi and rdi, 0 where there is none. */
static void string_operands(const struct rle_thread *thread, struct rle_trace_slot *slot,
                            uint64_t rsi, uint64_t rdi, uint64_t count)
{
    uint64_t at_rsi = slot->staged[1] >> 32;
    uint64_t at_rdi = (uint32_t)slot->staged[1];
    if (count == 0 || slot->paused)
        return;
    rle_trace_forget(slot);
    if (at_rsi)
        write_string(thread, slot, at_rsi, rsi, count);
    if (at_rdi)
        write_string(thread, slot, at_rdi, rdi, count);
}

/* After a scan: registers have moved past the last element looked at. */
static void scanned(const struct rle_thread *thread, struct rle_trace_slot *slot)
{
    uint64_t count = slot->staged[2] - thread->reg[RLE_RCX];
    uint64_t at_rsi = slot->staged[1] >> 32;
    uint64_t at_rdi = (uint32_t)slot->staged[1];
    uint64_t size = trace.sites[at_rdi ? at_rdi : at_rsi].size;
    int64_t moved = (int64_t)(count * size);
    if (thread->rflags & DIRECTION_FLAG)
        moved = -moved;
    string_operands(thread, slot, thread->reg[RLE_RSI] - (uint64_t)moved,
                    thread->reg[RLE_RDI] - (uint64_t)moved, count);
}

static bool is_enabled(const struct rle_trace_slot *slot, struct rle_trace_gather g, unsigned i)
{
    if (g.mask_size == 0)
        return slot->vector[1][i / 8] >> i % 8 & 1;
    return slot->vector[1][(i + 1u) * g.mask_size - 1] >> 7;
}

static int64_t index_at(const struct rle_trace_slot *slot, struct rle_trace_gather g, unsigned i)
{
    if (g.index_size == sizeof(int32_t)) {
        int32_t narrow;
        __builtin_memcpy(&narrow, &slot->vector[0][i * sizeof(narrow)], sizeof(narrow));
        return narrow;
    }
    int64_t wide;
    __builtin_memcpy(&wide, &slot->vector[0][i * sizeof(wide)], sizeof(wide));
    return wide;
}

static void gather(struct rle_trace_slot *slot)
{
    struct rle_trace_gather g;
    __builtin_memcpy(&g, &slot->staged[3], sizeof(g));
    bool all = trace.header->full && !slot->paused;
    for (unsigned i = 0; i < g.count; i++) {
        uint64_t at = slot->staged[2] + (uint64_t)(index_at(slot, g, i) * g.scale);
        bool wanted = slot->wanted[0][at >> RLE_TRACE_GRAIN_SHIFT & (RLE_TRACE_GRAINS - 1)];
        if (!(all || wanted) || !is_enabled(slot, g, i))
            continue;
        rle_trace_forget_line(slot, rle_trace_apart(), at);
        rle_trace_forget_line(slot, rle_trace_apart(), at + RLE_TRACE_LINE);
        write_record(slot, at, slot->staged[1], 1);
    }
}

static void callout(void *area)
{
    struct rle_trace_slot *slot = area;
    const struct rle_thread *thread = (struct rle_thread *)((char *)area - RLE_TB_INSTRUMENT);
    if (slot->cursor >= slot->limit)
        make_room(slot);
    if (__atomic_load_n(&slot->stale, __ATOMIC_RELAXED))
        change_masks(slot);
    if (slot->staged[0] == RLE_TRACE_STRING)
        string_operands(thread, slot, thread->reg[RLE_RSI], thread->reg[RLE_RDI],
                        thread->reg[RLE_RCX]);
    else if (slot->staged[0] == RLE_TRACE_SCANNED)
        scanned(thread, slot);
    else if (slot->staged[0] == RLE_TRACE_GATHER)
        gather(slot);
}

const struct rle_instrument rle_instrument_sampled = {
    .name = "traffic",
    .loops_apart = true,
    .plan = rle_trace_plan_sampled,
    .enter = rle_trace_enter_sampled,
    .before = rle_trace_before_sampled,
    .thread_begin = begin_slot,
    .thread_end = thread_end,
    .fork_child = fork_child,
    .select = select_thread,
    .region = change_region,
    .callout = callout,
};

const struct rle_instrument rle_instrument_full = {
    .name = "full",
    .plan = rle_trace_plan_full,
    .before = rle_trace_before_full,
    .thread_begin = begin_slot,
    .thread_end = thread_end,
    .fork_child = fork_child,
    .select = select_thread,
    .region = change_region,
    .callout = callout,
};
