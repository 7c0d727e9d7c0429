#include "count/engine/dispatch.h"

#include "count/engine/arena.h"
#include "count/engine/attach.h"
#include "count/engine/branch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"
#include "count/engine/maps.h"
#include "count/engine/regions.h"
#include "count/engine/result.h"
#include "count/engine/signals.h"
#include "count/engine/syscalls.h"
#include "count/engine/translate.h"

#define VSYSCALL_PAGE 0xFFFFFFFFFF600000ul
enum { VSYSCALL_STRIDE = 1024 };

const char rle_why_traps[] = "the program traps after each of its instructions (trap flag)";

void rle_go_uncounted(void)
{
    __atomic_store_n(&rle_control.state, RLE_PRESENCE_FIXED, __ATOMIC_RELEASE);
    __atomic_store_n(&rle_control.detaching, 1, __ATOMIC_RELEASE);
}

/* Has everything been left for good? */
static bool is_over(void)
{
    return rle_control.detaching && rle_control.state == RLE_PRESENCE_FIXED;
}

/* Under the lock. */
static void detach(const char *why)
{
    if (is_over())
        return;
    rle_go_uncounted();
    rle_result_uncounted(RLE_UNCOUNTED_DETACHED, why);
    rle_result_detach(why);
}

/* May there be one of the kernel's three ancient system calls? */
static bool is_vsyscall(uint64_t pc)
{
    return pc == VSYSCALL_PAGE || pc == VSYSCALL_PAGE + VSYSCALL_STRIDE ||
           pc == VSYSCALL_PAGE + 2ul * VSYSCALL_STRIDE;
}

/* Under the lock: why code at `pc` is not to be translated, or NULL. */
static const char *reason_against(uint64_t pc)
{
    if (!rle_links_have_room())
        return "the translation tables are full";
    const struct rle_region *region = rle_region_at(pc);
    if (!region && rle_regions_unknown())
        return "its mappings cannot be read any more (/proc/self/maps): there is no /proc, or it "
               "may not open files";
    if (region && !region->readable)
        return "code that may be executed but not read";
    if (region && region->writable && rle_engine.options.jit_native)
        return "the program runs code that it writes itself";
    if (region && !rle_arena_near(pc))
        return "no memory near its code, or none that is executable";
    return NULL;
}

/* Another thread of the program's may have to provide the page (userfaultfd), and the lock until
 * then. What cannot be read any more, as of a file made shorter, is not as it was remembered. */
static void fetch_code(uint64_t pc)
{
    uint8_t first;
    rle_unlock(&rle_engine.lock);
    long error = rle_copy_guarded(&first, (const void *)pc, sizeof(first));
    rle_lock(&rle_engine.lock);
    if (error)
        rle_regions_forget();
}

/* The live fragment for `pc`, translated if need be; NULL if there is no code, or if this is the
 * end of translation. Under the lock. */
static struct rle_fragment *obtain(uint64_t pc, enum rle_via via)
{
    struct rle_fragment *f = rle_fragment_find(pc);
    if (is_vsyscall(pc))
        return NULL;
    if (!f) {
        fetch_code(pc);
        f = rle_fragment_find(pc);
    }
    if (f || is_over())
        return is_over() ? NULL : f;
    for (int tries = 0; tries < 2; tries++) {
        const char *reason = reason_against(pc);
        if (reason) {
            detach(reason);
            return NULL;
        }
        f = rle_translate(pc, via);
        if (f)
            return f;
        rle_regions_forget(); /* what was remembered may be out of date */
    }
    return NULL;
}

/* The kernel's page of system calls cannot be translated: carry out the call and its return. */
static void emulate_vsyscall(struct rle_thread *thread)
{
    static const long number[] = {SYS_gettimeofday, SYS_time, SYS_getcpu};
    unsigned i = (thread->next_pc & (RLE_PAGE - 1)) / VSYSCALL_STRIDE;
    thread->reg[RLE_RAX] =
        (uint64_t)rle_sys3(number[i], (long)thread->reg[RLE_RDI], (long)thread->reg[RLE_RSI], 0);
    rle_copy_guarded(&thread->next_pc, (void *)thread->reg[RLE_RSP], sizeof(uint64_t));
    thread->reg[RLE_RSP] += sizeof(uint64_t);
}

/* Go on in a fragment, or where there is none: at the program's own address, to fault there.
 * Leaves the lock. */
static void go_on(struct rle_thread *thread, uint64_t pc, const struct rle_fragment *fragment)
{
    thread->next_pc = pc;
    thread->target = fragment ? fragment->entry : pc;
    bool calls_kernel = !fragment && is_vsyscall(pc) && rle_region_at(pc);
    rle_unlock(&rle_engine.lock);
    if (fragment)
        return;
    if (is_over()) {
        rle_dispatch_next(thread);
    } else if (calls_kernel) {
        emulate_vsyscall(thread);
        rle_dispatch_next(thread);
    }
}

/* And forget that it was kicked, which what follows heeds. */
static void deliver_all(struct rle_thread *thread)
{
    while (thread->pending & RLE_PENDING_SIGNAL)
        rle_deliver_pending(thread);
    rle_pending_clear(thread, RLE_PENDING_KICK);
}

void rle_dispatch_next(struct rle_thread *thread)
{
    do {
        deliver_all(thread);
        if (rle_control.detaching)
            rle_leave(thread);
    } while (thread->pending);
    rle_lock(&rle_engine.lock);
    go_on(thread, thread->next_pc, obtain(thread->next_pc, RLE_VIA_LINK));
}

void rle_dispatch_stub(struct rle_thread *thread)
{
    const struct rle_stub stub = *rle_stub(thread->stub);
    thread->next_pc = stub.pc;
    switch (stub.kind) {
    case RLE_STUB_SYSCALL:
        rle_emulate_syscall(thread, &stub);
        break;
    case RLE_STUB_CHANGED:
        rle_lock(&rle_engine.lock);
        rle_fragment_kill(rle_fragment(stub.fragment));
        rle_unlock(&rle_engine.lock);
        break;
    case RLE_STUB_MARK:
        rle_region_event(thread, (uint32_t)stub.site, (const char *)thread->reg[RLE_RDI]);
        break;
    case RLE_STUB_TRAPS:
        rle_detach(rle_why_traps);
        break;
    case RLE_STUB_UNSUPPORTED:
        rle_detach("an instruction that cannot be translated, or use of the gs segment");
        break;
    default:
        break;
    }
    if (stub.kind != RLE_STUB_LINK || rle_control.detaching) {
        rle_dispatch_next(thread);
        return;
    }
    rle_lock(&rle_engine.lock);
    const struct rle_fragment *f = obtain(stub.pc, RLE_VIA_LINK);
    if (f)
        rle_relink(&stub, f);
    go_on(thread, stub.pc, f);
}

/* The second-level table, where the first level's entry belongs to another target. */
static void remember(struct rle_thread *thread, const struct rle_fragment *fragment)
{
    uint64_t pc = fragment->pc;
    uint64_t *hash = (uint64_t *)((char *)thread + RLE_TB_HASH);
    hash[(pc + (pc >> 16 & 0xFFFF)) & (RLE_HASH_ENTRIES - 1)] = (uint64_t)fragment;
}

/* Who called this place first? What stands on the stack is an address behind a call, if a call led
 * here; readers see whether there is one. Under the lock. */
static void note_first_call(struct rle_thread *thread, uint64_t behind, uint64_t pc)
{
    if (!behind || rle_engine.options.mode == RLE_MODE_TRANSLATE ||
        !rle_result_room(RLE_SECTION_CORRECTIONS) || rle_result_counters_left() <= 2)
        return;
    struct rle_result_correction *r = rle_result_append(RLE_SECTION_CORRECTIONS);
    uint32_t counter = rle_result_new_counter();
    uint64_t *counters = (uint64_t *)((char *)thread + RLE_TB_COUNTERS);
    counters[counter] += behind;
    counters[rle_result_new_counter()] += pc;
    *r = (struct rle_result_correction){RLE_NONE, 0, counter, RLE_CORRECTION_FIRST_CALL};
    rle_result_commit(RLE_SECTION_CORRECTIONS);
}

static void dispatch_indirect(struct rle_thread *thread, enum rle_via via)
{
    uint64_t pc = thread->next_pc;
    uint64_t top = 0; /* of the stack */
    if (rle_control.detaching) {
        rle_dispatch_next(thread);
        return;
    }
    if (via == RLE_VIA_JUMP)
        rle_copy_guarded(&top, (void *)thread->reg[RLE_RSP], sizeof(top));
    rle_lock(&rle_engine.lock);
    struct rle_fragment *f = obtain(pc, via);
    uint64_t entry = f && rle_branch_table_free(pc, via) ? rle_verifying_entry(f, via) : 0;
    if (entry && via == RLE_VIA_JUMP)
        note_first_call(thread, top, pc);
    if (entry)
        rle_branch_table_set(pc, via, entry);
    else if (f)
        remember(thread, f);
    go_on(thread, pc, f);
}

void rle_dispatch_return(struct rle_thread *thread)
{
    dispatch_indirect(thread, RLE_VIA_RETURN);
}

void rle_dispatch_jump(struct rle_thread *thread)
{
    dispatch_indirect(thread, RLE_VIA_JUMP);
}

void rle_dispatch_callout(struct rle_thread *thread)
{
    thread->target = thread->resume;
    if (rle_engine.instrument->callout)
        rle_engine.instrument->callout((char *)thread + RLE_TB_INSTRUMENT);
    if (thread->pending) {
        thread->kicked = thread->pending == RLE_PENDING_KICK;
        rle_pending_clear(thread, RLE_PENDING_KICK);
        rle_step_to_boundary(thread);
    }
}

void rle_detach(const char *why)
{
    rle_lock(&rle_engine.lock);
    detach(why);
    rle_unlock(&rle_engine.lock);
}
