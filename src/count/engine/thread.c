#include "count/engine/thread.h"

#include <asm/prctl.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/regions.h"
#include "count/engine/result.h"

enum {
    OWN_STACK_BYTES = 256 << 10,
    ALT_STACK_BYTES = 64 << 10,
    RED_ZONE_BYTES = 64, /* keep the very top free */
};

size_t rle_thread_block_bytes(void)
{
    return RLE_TB_COUNTERS + rle_result_counter_bytes();
}

static size_t stacks_bytes(void)
{
    return OWN_STACK_BYTES + ALT_STACK_BYTES +
           ((rle_engine.xstate_bytes + RLE_PAGE - 1) & -RLE_PAGE);
}

static struct rle_thread *map_block(uint32_t slot)
{
    struct rle_thread *t = rle_map(rle_thread_block_bytes());
    uint8_t *stacks = rle_map(stacks_bytes());
    if (!t || !stacks ||
        rle_is_error(rle_result_map_extent(slot, 0, (uint64_t)t + RLE_TB_COUNTERS)))
        return NULL;
    t->self = t;
    t->slot = slot;
    t->entry_exit = (uint64_t)rle_exit;
    t->entry_return_miss = (uint64_t)rle_return_miss;
    t->entry_jump_miss = (uint64_t)rle_jump_miss;
    t->entry_callout = (uint64_t)rle_callout;
    t->own_stack = stacks;
    t->engine_sp = (uint64_t)stacks + OWN_STACK_BYTES - RED_ZONE_BYTES;
    t->alt_stack = stacks + OWN_STACK_BYTES;
    t->xstate = t->alt_stack + ALT_STACK_BYTES;
    return t;
}

/* Nobody is told when a process ends that shares memory, and that its parent does not wait for. */
static void free_slots_of_the_dead(void)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        struct rle_thread *t = rle_engine.threads[i];
        if (t->process && rle_sys3(SYS_kill, t->process, 0, 0) == -ESRCH) {
            t->process = 0;
            __atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
        }
    }
}

static struct rle_thread *find_free(void)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++)
        if (!__atomic_load_n(&rle_engine.threads[i]->in_use, __ATOMIC_ACQUIRE))
            return rle_engine.threads[i];
    return NULL;
}

/* A slot nobody uses, or a new one. */
static struct rle_thread *find_slot(void)
{
    struct rle_engine *engine = &rle_engine;
    struct rle_thread *known = find_free();
    if (!known) {
        free_slots_of_the_dead();
        known = find_free();
    }
    if (known)
        return known;
    if (engine->n_threads == RLE_THREADS_MAX || !rle_result_append(RLE_SECTION_THREADS))
        return NULL;
    struct rle_thread *t = map_block(engine->n_threads);
    if (!t)
        return NULL;
    rle_result_commit(RLE_SECTION_THREADS);
    engine->threads[engine->n_threads++] = t;
    return t;
}

struct rle_thread *rle_thread_new(struct rle_thread *parent)
{
    rle_lock(&rle_engine.lock);
    struct rle_thread *t = find_slot();
    if (t) {
        struct rle_result_thread *record = rle_result_record(RLE_SECTION_THREADS, t->slot);
        t->in_use = 1;
        t->process = 0;
        t->shares_memory = false;
        t->clears_handlers = false;
        t->realigns = false;
        t->stepping = false;
        t->traced = false;
        t->pending = 0;
        t->in_syscall = 0;
        t->parked = 0;
        t->waits = 0;
        t->kicked = false;
        t->rseq = (struct rle_rseq){0};
        t->has_temporary_mask = false;
        t->program_altstack = (struct rle_altstack){.flags = RLE_SS_DISABLE};
        t->actions = parent ? parent->actions : &rle_engine.actions;
        record->n_threads++;
        record->alive = 1;
        record->vfork = 0;
        record->tid = 0;
        record->end_ns = 0;
        record->start_ns = rle_now_ns(CLOCK_MONOTONIC);
        rle_regions_thread_begin(t);
    }
    rle_unlock(&rle_engine.lock);
    return t;
}

bool rle_thread_is_last(const struct rle_thread *thread)
{
    if (thread->shares_memory)
        return false;
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        const struct rle_thread *other = rle_engine.threads[i];
        if (other != thread && __atomic_load_n(&other->in_use, __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

size_t rle_altstack_bytes(void)
{
    return ALT_STACK_BYTES;
}

void rle_thread_end(struct rle_thread *thread)
{
    struct rle_result_thread *record = rle_result_record(RLE_SECTION_THREADS, thread->slot);
    thread->tid = 0;
    if (!record->alive)
        return;
    rle_lock(&rle_engine.lock);
    rle_regions_thread_end(thread);
    if (rle_engine.instrument->thread_end)
        rle_engine.instrument->thread_end((char *)thread + RLE_TB_INSTRUMENT, thread->slot);
    rle_unlock(&rle_engine.lock);
    record->end_ns = rle_now_ns(CLOCK_MONOTONIC);
    record->alive = 0;
}

void rle_thread_set_segment(struct rle_thread *thread)
{
    if (rle_engine.has_fsgsbase)
        __asm__ volatile("wrgsbase %0" ::"r"(thread));
    else
        rle_sys3(SYS_arch_prctl, ARCH_SET_GS, (long)thread, 0);
}

void rle_thread_begin(struct rle_thread *thread)
{
    struct rle_result_thread *record = rle_result_record(RLE_SECTION_THREADS, thread->slot);
    thread->tid = (int32_t)rle_sys3(SYS_gettid, 0, 0, 0);
    record->tid = thread->tid;
    struct rle_altstack stack = {.sp = (uint64_t)thread->alt_stack, .size = ALT_STACK_BYTES};
    rle_sys3(SYS_sigaltstack, (long)&stack, 0, 0);
    if (rle_engine.instrument->thread_begin)
        rle_engine.instrument->thread_begin((char *)thread + RLE_TB_INSTRUMENT, thread->slot);
    rle_lock(&rle_engine.lock);
    rle_regions_tell(thread);
    rle_unlock(&rle_engine.lock);
}

/* Its counters are from now on those of a new result file, all zero. */
static void record_anew(const struct rle_thread *thread, int32_t tid)
{
    struct rle_result_thread *record = rle_result_append(RLE_SECTION_THREADS);
    record->tid = tid;
    record->n_threads = thread->in_use;
    record->alive = thread->in_use;
    record->start_ns = rle_now_ns(CLOCK_MONOTONIC);
    rle_result_commit(RLE_SECTION_THREADS);
    uint64_t counters = (uint64_t)thread + RLE_TB_COUNTERS;
    if (rle_is_error(rle_result_map_extent(thread->slot, 0, counters)))
        rle_sys6(SYS_mmap, (long)counters, (long)rle_result_counter_bytes(), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void rle_threads_after_fork(struct rle_thread *survivor)
{
    struct rle_engine *engine = &rle_engine;
    for (uint32_t i = 0; i < engine->n_threads; i++) {
        struct rle_thread *t = engine->threads[i];
        engine->threads[i] = NULL;
        if (t == survivor)
            continue;
        rle_sys3(SYS_munmap, (long)t->own_stack, (long)stacks_bytes(), 0);
        rle_sys3(SYS_munmap, (long)t, (long)rle_thread_block_bytes(), 0);
    }
    engine->threads[0] = survivor;
    engine->n_threads = 1;
    survivor->slot = 0;
    survivor->tid = (int32_t)rle_sys3(SYS_gettid, 0, 0, 0);
    if (rle_result_is_open())
        record_anew(survivor, survivor->tid);
}

void rle_threads_renew(void)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        struct rle_thread *t = rle_engine.threads[i];
        record_anew(t, 0);
        if (t->regions)
            rle_regions_after_fork(t);
    }
}
