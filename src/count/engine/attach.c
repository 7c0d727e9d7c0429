#include "count/engine/attach.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "count/engine/branch.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/recheck.h"
#include "count/engine/result.h"
#include "count/engine/rseq.h"
#include "count/engine/signals.h"
#include "count/engine/takeover.h"

enum { WAIT_NS = 10000000 };

/** Longest that threads wait for each other: stopped by nothing but the end of the launcher. */
#define PATIENCE_NS 1000000000ul

extern const char engine_start[] __asm__("__ehdr_start");
extern const char engine_end[] __asm__("_end");

struct rle_thread *rle_attach(const struct rle_attach_slot *slot);

struct rle_control rle_control = {
    .magic = {'R', 'L', 'E', 'N', 'G', 'C', 'T', 'L'},
    .version = RLE_CONTROL_VERSION,
    .enter = (uint64_t)rle_attach_entry,
    .syscall_end = (uint64_t)rle_syscall_end,
    .object_start = (uint64_t)engine_start,
    .object_end = (uint64_t)engine_end,
    .in_use_at = offsetof(struct rle_thread, in_use),
    .waits_at = offsetof(struct rle_thread, waits),
    .tid_at = offsetof(struct rle_thread, tid),
};

/* Under the engine's lock. */
static bool has_result;   /* since it was first attached to */
static bool has_handlers; /* the kernel knows the engine's, not the program's */

static uint32_t state(void)
{
    return __atomic_load_n(&rle_control.state, __ATOMIC_ACQUIRE);
}

static bool change_state(uint32_t from, uint32_t to)
{
    bool changed = __atomic_compare_exchange_n(&rle_control.state, &from, to, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (changed)
        rle_sys4(SYS_futex, (long)&rle_control.state, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
    return changed;
}

static void wait_while(uint32_t seen)
{
    uint64_t time[2] = {0, WAIT_NS};
    rle_sys4(SYS_futex, (long)&rle_control.state, FUTEX_WAIT_PRIVATE, seen, (long)time);
}

/* ---- coming -----------------------------------------------------------------------------------
 */

static bool complain(const char *what)
{
    struct rle_text text = {rle_control.message, sizeof(rle_control.message), 0};
    rle_text_add(&text, what);
    return false;
}

/* The first time, or with a result of its own. */
static bool prepare_under_lock(void)
{
    if (has_result && !rle_recheck())
        return complain("the engine's tables are full of code that changed");
    rle_branch_stop_writers();
    if (has_result && rle_control.session == rle_control.last_session) {
        rle_result_resume();
        return true;
    }
    const char *problem = has_result
                              ? rle_renew(rle_control.options)
                              : rle_prepare(rle_control.options, rle_control.has_fsgsbase != 0);
    if (problem)
        return complain(problem);
    if (rle_engine.options.mode == RLE_MODE_MIX)
        rle_engine.options.follow = false;
    struct rle_text path = {rle_engine.object_path, sizeof(rle_engine.object_path), 0};
    rle_text_add(&path, rle_control.object_path);
    rle_result_set_arguments(rle_control.arguments, rle_control.arguments_bytes);
    rle_result_before(rle_control.process_start_ns);
    rle_engine.refuse_rseq = true;
    rle_control.last_session = rle_control.session;
    has_result = true;
    return true;
}

/* Once for each time that threads gather. */
static bool prepare(void)
{
    static struct rle_lock preparing;
    rle_lock(&preparing);
    if (!rle_control.prepared) {
        rle_lock(&rle_engine.lock);
        rle_control.prepared = prepare_under_lock();
        rle_unlock(&rle_engine.lock);
    }
    bool prepared = rle_control.prepared;
    rle_unlock(&preparing);
    return prepared;
}

/* All that were redirected are there: from here on the kernel knows the engine's handlers. */
static void open_gate(void)
{
    if (!change_state(RLE_PRESENCE_GATHERING, RLE_PRESENCE_OPENING))
        return;
    __atomic_store_n(&rle_control.detaching, 0, __ATOMIC_RELEASE);
    if (!has_handlers)
        rle_signals_init();
    has_handlers = true;
    change_state(RLE_PRESENCE_OPENING, RLE_PRESENCE_IN);
}

/* Where no thread had to be redirected, one that comes by out of a system call opens the gate. */
static void open_unexpected(void)
{
    if (rle_control.expected)
        return;
    if (!__atomic_load_n(&rle_control.wanted, __ATOMIC_ACQUIRE))
        change_state(RLE_PRESENCE_GATHERING, RLE_PRESENCE_OUT);
    else if (prepare())
        open_gate();
    else
        change_state(RLE_PRESENCE_GATHERING, RLE_PRESENCE_ABORTED);
}

/* Until it is decided whether to be in. */
static void wait_for_gate(void)
{
    uint64_t give_up_ns = rle_now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    uint32_t seen = state();
    for (; seen == RLE_PRESENCE_GATHERING || seen == RLE_PRESENCE_OPENING; seen = state()) {
        open_unexpected();
        wait_while(seen);
        if (rle_now_ns(CLOCK_MONOTONIC) > give_up_ns &&
            change_state(RLE_PRESENCE_GATHERING, RLE_PRESENCE_ABORTED))
            complain("not all of its threads arrived in time");
    }
}

static bool gather(void)
{
    if (__atomic_add_fetch(&rle_control.arrived, 1, __ATOMIC_ACQ_REL) == rle_control.expected)
        open_gate();
    wait_for_gate();
    return state() == RLE_PRESENCE_IN || state() == RLE_PRESENCE_LEAVING;
}

static _Noreturn void refuse(const struct rle_attach_slot *slot, struct rle_thread *thread)
{
    struct rle_native_state native = {.pc = slot->pc,
                                      .cs = RLE_USER_CS,
                                      .rflags = slot->rflags,
                                      .sp = slot->reg[RLE_RSP],
                                      .ss = RLE_USER_SS};
    change_state(RLE_PRESENCE_GATHERING, RLE_PRESENCE_ABORTED);
    if (thread) {
        rle_rseq_return(&thread->rseq);
        rle_thread_end(thread);
        __atomic_store_n(&thread->in_use, 0, __ATOMIC_RELEASE);
    }
    rle_copy(native.reg, slot->reg, sizeof(native.reg));
    rle_restore_signals(slot->mask);
    rle_return_natively(&native);
}

/**
 * A thread was redirected here, onto the stack behind its slot.
 *
 * @return its block, on whose stack it goes on to rle_thread_start; does not return if it has to go
 *         back.
 */
struct rle_thread *rle_attach(const struct rle_attach_slot *slot)
{
    struct rle_thread *thread = NULL;
    rle_block_signals();
    if (state() == RLE_PRESENCE_GATHERING && prepare()) {
        thread = rle_thread_new(NULL);
        if (!thread)
            complain("no memory for its threads, or too many of them");
    }
    if (!thread)
        refuse(slot, NULL);
    rle_copy(thread->reg, slot->reg, sizeof(thread->reg));
    thread->rflags = slot->rflags;
    thread->next_pc = slot->pc;
    thread->signal.mask = slot->mask;
    thread->waits = slot->waits;
    thread->rseq = (struct rle_rseq){slot->rseq, slot->rseq_bytes, slot->rseq_signature};
    rle_rseq_take(&thread->rseq);
    rle_sys3(SYS_sigaltstack, 0, (long)&thread->program_altstack, 0);
    thread->program_altstack.flags &= ~RLE_SS_ONSTACK;
    if (!gather())
        refuse(slot, thread);
    return thread;
}

/* ---- leaving ----------------------------------------------------------------------------------
 */

bool rle_is_kick(int signal, const uint8_t *info)
{
    int32_t word[3];
    rle_copy(word, info, sizeof(word));
    return signal == SIGTRAP && word[1] == RLE_KICK_ERRNO && word[2] == SI_QUEUE;
}

enum { KICK_VALUE_AT = 24 };

/** Of a kick that comes from within the process, which cannot change another thread's mask. */
#define NO_MASK (~0ul)

uint64_t rle_kick_mask(const uint8_t *info, uint64_t current)
{
    uint64_t mask;
    rle_copy(&mask, info + KICK_VALUE_AT, sizeof(mask));
    return mask == NO_MASK ? current : mask;
}

void rle_kick_make(uint8_t *ret_info)
{
    static const int32_t word[3] = {SIGTRAP, RLE_KICK_ERRNO, SI_QUEUE};
    static const uint64_t mask = NO_MASK;
    for (unsigned i = 0; i < RLE_SIGINFO_BYTES; i++)
        ret_info[i] = 0;
    rle_copy(ret_info, word, sizeof(word));
    rle_copy(ret_info + KICK_VALUE_AT, &mask, sizeof(mask));
}

/* Every other thread waits here too, or in a system call of the program's. Under the lock. */
static bool all_others_wait(const struct rle_thread *thread)
{
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        const struct rle_thread *t = rle_engine.threads[i];
        if (t != thread && __atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE) && !t->parked &&
            !__atomic_load_n(&t->in_syscall, __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

static void stay(void)
{
    rle_lock(&rle_engine.lock);
    if (state() == RLE_PRESENCE_LEAVING) {
        __atomic_store_n(&rle_control.detaching, 0, __ATOMIC_RELEASE);
        change_state(RLE_PRESENCE_LEAVING, RLE_PRESENCE_IN);
    }
    rle_unlock(&rle_engine.lock);
}

/* Nobody is in the cache. Under the lock. */
static void give_back_handlers(void)
{
    if (!has_handlers)
        return;
    rle_uninstall_actions();
    rle_result_pause("the counting engine left on request");
    has_handlers = false;
}

static bool goes_native(void)
{
    rle_lock(&rle_engine.lock);
    bool is_out = state() == RLE_PRESENCE_OUT || state() == RLE_PRESENCE_ABORTED;
    if (is_out)
        give_back_handlers();
    rle_unlock(&rle_engine.lock);
    return is_out;
}

/* The last one to wait lets all go. A thread that comes out of a system call meanwhile may be
 * stopped by a launcher and asked to leave, by a signal that the program's handlers could not cope
 * with. A launcher that has seen LEAVING since is seen here by the second look; later ones see
 * CLOSING. Under the lock. */
static void close_gate(const struct rle_thread *thread)
{
    if (state() != RLE_PRESENCE_LEAVING || !all_others_wait(thread) ||
        !change_state(RLE_PRESENCE_LEAVING, RLE_PRESENCE_CLOSING))
        return;
    if (!all_others_wait(thread)) {
        change_state(RLE_PRESENCE_CLOSING, RLE_PRESENCE_LEAVING);
        return;
    }
    give_back_handlers();
    change_state(RLE_PRESENCE_CLOSING, RLE_PRESENCE_OUT);
}

static bool is_leaving(uint32_t seen)
{
    return seen == RLE_PRESENCE_LEAVING || seen == RLE_PRESENCE_CLOSING;
}

/* Once the gate is not in question: until the others can leave too, or it is asked for again. */
static void wait_for_others(struct rle_thread *thread)
{
    uint64_t give_up_ns = rle_now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    rle_lock(&rle_engine.lock);
    __atomic_store_n(&thread->parked, 1, __ATOMIC_RELEASE);
    close_gate(thread);
    rle_unlock(&rle_engine.lock);
    for (uint32_t seen = state(); is_leaving(seen); seen = state()) {
        wait_while(seen);
        if (rle_now_ns(CLOCK_MONOTONIC) > give_up_ns)
            stay();
    }
}

bool rle_park(struct rle_thread *thread)
{
    do {
        wait_for_gate();
        wait_for_others(thread);
        if (goes_native())
            return true; /* and stays marked: it must not be kicked any more */
        __atomic_store_n(&thread->parked, 0, __ATOMIC_RELEASE);
    } while (state() == RLE_PRESENCE_GATHERING || state() == RLE_PRESENCE_OPENING);
    return false;
}

void rle_leave_block(struct rle_thread *thread)
{
    rle_sys3(SYS_sigaltstack, (long)&thread->program_altstack, 0, 0);
    rle_rseq_return(&thread->rseq);
    rle_thread_end(thread);
    if (rle_engine.has_fsgsbase)
        __asm__ volatile("wrgsbase %0" ::"r"(0ul));
    else
        rle_sys3(SYS_arch_prctl, ARCH_SET_GS, 0, 0);
    __atomic_store_n(&thread->in_use, 0, __ATOMIC_RELEASE);
}

bool rle_attach_leaves_children(void)
{
    return state() != RLE_PRESENCE_FIXED && rle_engine.options.mode == RLE_MODE_MIX;
}

void rle_attach_after_fork(void)
{
    if (state() == RLE_PRESENCE_FIXED)
        return;
    if (rle_attach_leaves_children()) {
        rle_control.state = RLE_PRESENCE_LEAVING;
        rle_control.detaching = true;
    } else {
        rle_control.state = RLE_PRESENCE_IN;
        rle_control.detaching = false;
    }
}
