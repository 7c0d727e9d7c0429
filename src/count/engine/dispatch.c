#include "count/engine/dispatch.h"

#include "count/engine/branch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"
#include "count/engine/maps.h"
#include "count/engine/result.h"
#include "count/engine/signals.h"
#include "count/engine/syscalls.h"
#include "count/engine/translate.h"

/* The live fragment for `pc`, translated if need be; NULL if there is no code. Under the lock. */
static struct rle_fragment *obtain(uint64_t pc, enum rle_via via)
{
    struct rle_fragment *f = rle_fragment_find(pc);
    if (f)
        return f;
    f = rle_translate(pc, via);
    if (f)
        return f;
    rle_regions_forget(); /* what was remembered may be out of date */
    return rle_translate(pc, via);
}

/* Go on in a fragment, or where there is none: at the program's own address, to fault there. */
static void go_on(struct rle_thread *thread, uint64_t pc, const struct rle_fragment *fragment)
{
    thread->next_pc = pc;
    thread->target = fragment ? fragment->entry : pc;
}

void rle_dispatch_next(struct rle_thread *thread)
{
    while (thread->pending)
        rle_deliver_pending(thread);
    if (rle_engine.detaching)
        rle_leave(thread);
    rle_lock(&rle_engine.lock);
    go_on(thread, thread->next_pc, obtain(thread->next_pc, RLE_VIA_LINK));
    rle_unlock(&rle_engine.lock);
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
    case RLE_STUB_UNSUPPORTED:
        rle_detach("an instruction that cannot be translated, or use of the gs segment");
        break;
    default:
        break;
    }
    if (stub.kind != RLE_STUB_LINK || rle_engine.detaching) {
        rle_dispatch_next(thread);
        return;
    }
    rle_lock(&rle_engine.lock);
    const struct rle_fragment *f = obtain(stub.pc, RLE_VIA_LINK);
    if (f)
        rle_relink(&stub, f);
    go_on(thread, stub.pc, f);
    rle_unlock(&rle_engine.lock);
}

/* The second-level table, where the first level's entry belongs to another target. */
static void remember(struct rle_thread *thread, const struct rle_fragment *fragment)
{
    uint64_t pc = fragment->pc;
    uint64_t *hash = (uint64_t *)((char *)thread + RLE_TB_HASH);
    hash[(pc + (pc >> 16 & 0xFFFF)) & (RLE_HASH_ENTRIES - 1)] = (uint64_t)fragment;
}

static void dispatch_indirect(struct rle_thread *thread, enum rle_via via)
{
    uint64_t pc = thread->next_pc;
    if (rle_engine.detaching) {
        rle_dispatch_next(thread);
        return;
    }
    rle_lock(&rle_engine.lock);
    struct rle_fragment *f = obtain(pc, via);
    uint64_t entry = f && rle_branch_table_free(pc, via) ? rle_verifying_entry(f, via) : 0;
    if (entry)
        rle_branch_table_set(pc, via, entry);
    else if (f)
        remember(thread, f);
    go_on(thread, pc, f);
    rle_unlock(&rle_engine.lock);
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
    if (thread->pending)
        rle_step_to_boundary(thread);
}

void rle_detach(const char *why)
{
    if (__atomic_exchange_n(&rle_engine.detaching, true, __ATOMIC_ACQ_REL))
        return;
    rle_lock(&rle_engine.lock);
    rle_result_uncounted(RLE_UNCOUNTED_DETACHED, why);
    rle_unlock(&rle_engine.lock);
    rle_result_detach(why);
}
