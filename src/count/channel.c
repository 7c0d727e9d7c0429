#include "count/channel.h"

#include "base/error.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct rl_channel {
    struct rl_channel_events events;
    int fd;
    struct rle_trace_header *header;
    struct rl_channel_process **process; /* each its own allocation: threads point to it */
    size_t n_process;
    struct rl_channel_thread *thread;
    size_t n_thread;
    uint32_t area[RLE_TRACE_PROCESSES]; /* index in `process` + 1 of the area's present user */
    bool known[RLE_TRACE_SLOTS];        /* slot is in `thread` */
    struct rl_channel_totals totals;
    bool closing;
};

static void *map(const struct rl_channel *c, uint64_t offset, uint64_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection, MAP_SHARED, c->fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

enum rl_status rl_channel_new(bool full, uint32_t n_apart, uint32_t n_ways, uint64_t classes,
                              uint32_t centre, const struct rl_channel_events *events,
                              struct rl_channel **ret_channel, struct rl_error *err)
{
    struct rl_channel *c = calloc(1, sizeof *c);
    if (!c)
        return rl_fail(err, RL_ENOMEM, "no memory for the trace channel");
    c->events = *events;
    c->fd = memfd_create("roofline-trace", MFD_CLOEXEC);
    if (c->fd < 0 || ftruncate(c->fd, (off_t)rle_trace_file_bytes()) < 0) {
        enum rl_status status = rl_fail_errno(err, "no shared memory for the trace channel");
        if (c->fd >= 0)
            close(c->fd);
        free(c);
        return status;
    }
    c->header = map(c, 0, RLE_TRACE_HEADER, PROT_READ | PROT_WRITE);
    if (!c->header) {
        enum rl_status status = rl_fail_errno(err, "cannot map the trace channel");
        close(c->fd);
        free(c);
        return status;
    }
    c->header->bytes = rle_trace_file_bytes();
    c->header->full = full;
    c->header->n_apart = n_apart;
    c->header->n_ways = n_ways;
    c->header->classes = classes;
    c->header->centre = centre;
    __atomic_store_n(&c->header->magic, RLE_TRACE_MAGIC, __ATOMIC_RELEASE);
    *ret_channel = c;
    return RL_OK;
}

int rl_channel_descriptor(const struct rl_channel *channel)
{
    return channel->fd;
}

void rl_channel_beat(struct rl_channel *channel)
{
    __atomic_add_fetch(&channel->header->heartbeat, 1, __ATOMIC_RELAXED);
}

static void wake(struct rle_trace_slot *slot)
{
    syscall(SYS_futex, &slot->room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void unmap_thread(struct rl_channel_thread *thread)
{
    munmap(thread->slot, RLE_TRACE_AREA);
    munmap((void *)(uintptr_t)thread->ring, RLE_TRACE_RING);
}

static void unmap_process(struct rl_channel_process *process)
{
    if (process->area)
        munmap(process->area, RLE_TRACE_PROCESS_BYTES);
    process->area = NULL;
    process->sites = NULL;
}

void rl_channel_close(struct rl_channel *channel)
{
    channel->closing = true;
    __atomic_store_n(&channel->header->closed, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < channel->n_thread; i++) {
        struct rle_trace_slot *slot = channel->thread[i].slot;
        __atomic_add_fetch(&slot->room, 1, __ATOMIC_ACQ_REL);
        wake(slot);
    }
}

void rl_channel_free(struct rl_channel *channel)
{
    if (!channel)
        return;
    rl_channel_close(channel);
    for (size_t i = 0; i < channel->n_thread; i++)
        unmap_thread(&channel->thread[i]);
    for (size_t i = 0; i < channel->n_process; i++) {
        unmap_process(channel->process[i]);
        free(channel->process[i]);
    }
    munmap(channel->header, RLE_TRACE_HEADER);
    close(channel->fd);
    free(channel->process);
    free(channel->thread);
    free(channel);
}

/* ---- who writes ---- */

static void ask(struct rle_trace_slot *slot, uint64_t classes, uint32_t centre)
{
    rle_trace_want(slot, classes, centre);
    __atomic_store_n(&slot->stale, 1, __ATOMIC_SEQ_CST);
}

static enum rl_status meet_process(struct rl_channel *c, uint32_t index,
                                   struct rl_channel_process **ret_process, struct rl_error *err)
{
    if (c->area[index]) {
        *ret_process = c->process[c->area[index] - 1];
        return RL_OK;
    }
    struct rl_channel_process **grown =
        realloc(c->process, (c->n_process + 1) * sizeof(struct rl_channel_process *));
    if (!grown)
        return rl_fail(err, RL_ENOMEM, "no memory for the processes traced");
    c->process = grown;
    struct rl_channel_process *process = calloc(1, sizeof *process);
    if (!process)
        return rl_fail(err, RL_ENOMEM, "no memory for the processes traced");
    process->area =
        map(c, rle_trace_process_offset(index), RLE_TRACE_PROCESS_BYTES, PROT_READ | PROT_WRITE);
    if (!process->area) {
        free(process);
        return rl_fail_errno(err, "cannot map what a traced process writes");
    }
    process->index = index;
    process->pid = process->area->pid;
    process->sequence = process->area->sequence;
    process->sites = (const struct rle_trace_site *)((const char *)process->area + RLE_TRACE_PAGE);
    c->process[c->n_process++] = process;
    c->area[index] = (uint32_t)c->n_process;
    c->totals.processes++;
    *ret_process = process;
    return RL_OK;
}

static enum rl_status meet_thread(struct rl_channel *c, uint32_t index, struct rl_error *err)
{
    struct rl_channel_thread *grown = realloc(c->thread, (c->n_thread + 1) * sizeof *grown);
    if (!grown)
        return rl_fail(err, RL_ENOMEM, "no memory for the threads traced");
    c->thread = grown;
    struct rl_channel_thread thread = {.index = index};
    uint64_t offset = rle_trace_slot_offset(index);
    thread.slot = map(c, offset, RLE_TRACE_AREA, PROT_READ | PROT_WRITE);
    thread.ring = map(c, offset + RLE_TRACE_AREA, RLE_TRACE_RING, PROT_READ);
    enum rl_status status = RL_OK;
    uint32_t process = thread.slot ? thread.slot->process : 0;
    if (!thread.slot || !thread.ring)
        status = rl_fail_errno(err, "cannot map what a traced thread writes");
    else if (process >= RLE_TRACE_PROCESSES)
        status = rl_fail(err, RL_EDATA, "a traced thread names process area %u of %u", process,
                         RLE_TRACE_PROCESSES);
    else
        status = meet_process(c, process, &thread.process, err);
    if (status != RL_OK) {
        if (thread.slot)
            munmap(thread.slot, RLE_TRACE_AREA);
        if (thread.ring)
            munmap((void *)(uintptr_t)thread.ring, RLE_TRACE_RING);
        return status;
    }
    thread.position = thread.released = thread.slot->tail;
    ask(thread.slot, c->header->classes, c->header->centre);
    c->thread[c->n_thread++] = thread;
    c->known[index] = true;
    c->totals.threads++;
    return c->events.thread_begins(c->events.context, &c->thread[c->n_thread - 1], err);
}

static void forget_thread(struct rl_channel *c, size_t at)
{
    struct rl_channel_thread *thread = &c->thread[at];
    c->events.thread_gone(c->events.context, thread);
    c->totals.lost += thread->slot->lost;
    c->totals.waits += thread->slot->waits;
    uint32_t index = thread->index;
    thread->slot->tail = 0;
    unmap_thread(thread);
    c->known[index] = false;
    rle_trace_set_state(&c->header->slot_state[index], RLE_TRACE_FREE);
    c->thread[at] = c->thread[--c->n_thread];
}

/* What the writer says is not believed beyond what exists. */
static void look_at_sites(struct rl_channel_process *process)
{
    uint32_t n = __atomic_load_n(&process->area->n_sites, __ATOMIC_ACQUIRE);
    process->n_sites = n < RLE_TRACE_SITES ? n : RLE_TRACE_SITES;
}

static enum rl_status forget_process(struct rl_channel *c, struct rl_channel_process *process,
                                     struct rl_error *err)
{
    look_at_sites(process);
    RL_TRY(c->events.process_gone(c->events.context, process, err));
    process->skipped = process->area->skipped;
    process->overflow = process->area->overflow;
    c->totals.skipped += process->skipped;
    c->totals.overflow += process->overflow;
    memset(process->area, 0, sizeof *process->area);
    unmap_process(process);
    c->area[process->index] = 0;
    rle_trace_set_state(&c->header->process_state[process->index], RLE_TRACE_FREE);
    return RL_OK;
}

/* A process image is gone if its process is, or runs another image by now. */
static bool is_gone(const struct rl_channel *c, const struct rl_channel_process *process)
{
    if (c->closing || (kill(process->pid, 0) < 0 && errno == ESRCH))
        return true;
    for (size_t i = c->n_process; i-- > 0 && c->process[i] != process;)
        if (c->process[i]->pid == process->pid && c->process[i]->sequence > process->sequence)
            return true;
    return false;
}

static bool has_threads(const struct rl_channel *c, const struct rl_channel_process *process)
{
    for (size_t i = 0; i < c->n_thread; i++)
        if (c->thread[i].process == process)
            return true;
    return false;
}

enum rl_status rl_channel_scan(struct rl_channel *channel, bool thorough, struct rl_error *err)
{
    struct rl_channel *c = channel;
    uint32_t n_slots = __atomic_load_n(&c->header->n_slots, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n_slots && i < RLE_TRACE_SLOTS; i++) {
        uint32_t state = __atomic_load_n(&c->header->slot_state[i], __ATOMIC_ACQUIRE);
        if (!c->known[i] && state >= RLE_TRACE_IN_USE)
            RL_TRY(meet_thread(c, i, err));
    }
    for (size_t i = 0; i < c->n_process && thorough; i++)
        if (c->process[i]->area && is_gone(c, c->process[i]))
            for (size_t t = 0; t < c->n_thread; t++)
                c->thread[t].ended |= c->thread[t].process == c->process[i];
    for (size_t t = c->n_thread; t-- > 0;) {
        struct rl_channel_thread *thread = &c->thread[t];
        uint32_t state = __atomic_load_n(&c->header->slot_state[thread->index], __ATOMIC_ACQUIRE);
        thread->ended |= state == RLE_TRACE_ENDED;
        if (thread->ended && rle_trace_head(thread->slot) <= thread->released)
            forget_thread(c, t);
    }
    for (size_t i = 0; i < c->n_process; i++) {
        struct rl_channel_process *process = c->process[i];
        if (!process->area || has_threads(c, process))
            continue;
        uint32_t state =
            __atomic_load_n(&c->header->process_state[process->index], __ATOMIC_ACQUIRE);
        if (state == RLE_TRACE_ENDED || (thorough && is_gone(c, process)))
            RL_TRY(forget_process(c, process, err));
    }
    return RL_OK;
}

/* ---- reading ---- */

struct rl_channel_thread *rl_channel_threads(struct rl_channel *channel, size_t *ret_n)
{
    *ret_n = channel->n_thread;
    return channel->thread;
}

const struct rle_trace_record *rl_channel_peek(const struct rl_channel_thread *thread,
                                               uint64_t *ret_n)
{
    const struct rle_trace_record *records =
        rle_trace_peek(thread->slot, thread->ring, thread->position, ret_n);
    look_at_sites(thread->process);
    return records;
}

uint32_t rl_channel_region(struct rl_channel_thread *thread, uint64_t *n)
{
    const struct rle_trace_change *next;
    bool wakes = false;
    while ((next = rle_trace_next_change(thread->slot)) && next->position <= thread->position) {
        thread->region = next->region;
        wakes |= rle_trace_see_change(thread->slot);
    }
    if (wakes)
        wake(thread->slot);
    uint64_t until = next ? next->position - thread->position : UINT64_MAX;
    if (until / sizeof(struct rle_trace_record) < *n)
        *n = until / sizeof(struct rle_trace_record);
    return thread->region;
}

void rl_channel_take(struct rl_channel_thread *thread, uint64_t n)
{
    thread->position += n * sizeof(struct rle_trace_record);
}

void rl_channel_release(struct rl_channel_thread *thread, uint64_t n)
{
    if (rle_trace_release(thread->slot, n))
        wake(thread->slot);
    thread->released = thread->slot->tail;
}

void rl_channel_want(struct rl_channel *channel, uint64_t classes)
{
    __atomic_store_n(&channel->header->classes, classes, __ATOMIC_RELEASE);
    for (size_t i = 0; i < channel->n_thread; i++)
        ask(channel->thread[i].slot, classes, channel->header->centre);
}

void rl_channel_totals(const struct rl_channel *channel, struct rl_channel_totals *ret_totals)
{
    *ret_totals = channel->totals;
    for (size_t i = 0; i < channel->n_thread; i++) {
        ret_totals->lost += channel->thread[i].slot->lost;
        ret_totals->waits += channel->thread[i].slot->waits;
    }
    for (size_t i = 0; i < channel->n_process; i++)
        if (channel->process[i]->area) {
            ret_totals->skipped += channel->process[i]->area->skipped;
            ret_totals->overflow += channel->process[i]->area->overflow;
        }
}

double rl_channel_cpu_s(struct rl_channel *channel)
{
    size_t n;
    const struct rl_channel_thread *thread = rl_channel_threads(channel, &n);
    double sum_s = 0;
    for (size_t i = 0; i < n; i++) {
        clockid_t clock;
        struct timespec now;
        size_t first = 0; /* thread of the same process */
        while (thread[first].process != thread[i].process)
            first++;
        if (first == i && clock_getcpuclockid(thread[i].process->pid, &clock) == 0 &&
            clock_gettime(clock, &now) == 0)
            sum_s += (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    return sum_s;
}
