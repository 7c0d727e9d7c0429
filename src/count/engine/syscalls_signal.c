#include <errno.h>
#include <signal.h>

#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/signals.h"
#include "count/engine/syscalls.h"

long rle_sys_sigaction(struct rle_thread *thread, long nr, long *args)
{
    int signal = (int)args[0];
    const void *new_action = (const void *)args[1];
    void *old_action = (void *)args[2];
    struct rle_action action;
    if (signal < 1 || signal > RLE_SIGNALS || signal == SIGKILL || signal == SIGSTOP ||
        args[3] != RLE_SIGSET_BYTES)
        return rle_program_syscall(nr, args); /* the kernel says what is wrong */
    if (new_action && rle_copy_guarded(&action, new_action, sizeof(action)))
        return -EFAULT;
    rle_lock(&rle_engine.lock);
    struct rle_action before = thread->actions->of[signal];
    if (new_action) {
        action.mask &= ~(RLE_SIGNAL_BIT(SIGKILL) | RLE_SIGNAL_BIT(SIGSTOP));
        action.flags &= RLE_SA_KNOWN;
        thread->actions->of[signal] = action;
        rle_install_action(signal, &action);
    }
    rle_unlock(&rle_engine.lock);
    if (old_action && rle_copy_guarded(old_action, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

/* The kernel knows the engine's signal stack; `tried` is the program's for the time of `probe`,
 * which may be NULL. All signals are blocked. */
static long with_altstack(const struct rle_thread *thread, const struct rle_altstack *tried,
                          long (*probe)(long *args), long *args)
{
    struct rle_altstack own = {.sp = (uint64_t)thread->alt_stack, .size = rle_altstack_bytes()};
    long result = rle_sys3(SYS_sigaltstack, (long)tried, 0, 0);
    if (!rle_is_error(result) && probe)
        result = probe(args);
    rle_sys3(SYS_sigaltstack, (long)&own, 0, 0);
    return result;
}

static void set_altstack(struct rle_thread *thread, struct rle_altstack *stack)
{
    if ((stack->flags & ~RLE_SS_AUTODISARM) == RLE_SS_DISABLE)
        *stack = (struct rle_altstack){.flags = RLE_SS_DISABLE};
    else
        stack->flags &= RLE_SS_AUTODISARM;
    rle_lock(&rle_engine.lock);
    thread->program_altstack = *stack;
    rle_unlock(&rle_engine.lock);
}

long rle_sys_sigaltstack(struct rle_thread *thread, long nr, long *args)
{
    (void)nr;
    struct rle_altstack stack, before = thread->program_altstack;
    bool on_it = rle_on_altstack(thread, thread->reg[RLE_RSP]);
    if (args[0]) {
        if (rle_copy_guarded(&stack, (const void *)args[0], sizeof(stack)))
            return -EFAULT;
        if (on_it)
            return -EPERM;
        uint64_t mask = rle_block_signals();
        if (thread->pending & RLE_PENDING_SIGNAL)
            return RLE_RESTART; /* delivery sets the mask */
        /* The kernel says whether it is large enough, and so on. */
        long error = with_altstack(thread, &stack, NULL, NULL);
        if (!error)
            set_altstack(thread, &stack);
        rle_restore_signals(mask);
        if (error)
            return error;
    }
    if (on_it)
        before.flags |= RLE_SS_ONSTACK;
    if (args[1] && rle_copy_guarded((void *)args[1], &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

static long ask_for_state(long *args)
{
    return rle_sys3(SYS_arch_prctl, args[0], args[1], 0);
}

/* The kernel refuses state for which a signal stack of the process is too small. It knows the
 * engine's only, so it is shown the smallest of the program's. */
long rle_sys_request_state(struct rle_thread *thread, long nr, long *args)
{
    (void)nr;
    struct rle_altstack smallest = {.flags = RLE_SS_DISABLE};
    uint64_t mask = rle_block_signals();
    if (thread->pending & RLE_PENDING_SIGNAL)
        return RLE_RESTART; /* delivery sets the mask */
    rle_lock(&rle_engine.lock);
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        const struct rle_thread *t = rle_engine.threads[i];
        const struct rle_altstack *stack = &t->program_altstack;
        if (__atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE) && !(stack->flags & RLE_SS_DISABLE) &&
            (smallest.flags & RLE_SS_DISABLE || stack->size < smallest.size))
            smallest = *stack;
    }
    long result = with_altstack(thread, &smallest, ask_for_state, args);
    rle_unlock(&rle_engine.lock);
    rle_restore_signals(mask);
    return result;
}

/* The frame's, unless the kernel would not have it. All signals are blocked. */
static void restore_altstack(struct rle_thread *thread, const struct rle_altstack *from)
{
    const struct rle_altstack *now = &thread->program_altstack;
    struct rle_altstack stack = *from;
    bool same = stack.sp == now->sp && stack.size == now->size && stack.flags == now->flags;
    if (!same && !with_altstack(thread, &stack, NULL, NULL))
        set_altstack(thread, &stack);
}

/* The kernel restores the frame's state, vector state included; only where it goes on and the
 * signal stack are the engine's. Signals are blocked first, so that none sees a state half
 * restored. */
long rle_sys_sigreturn(struct rle_thread *thread, long nr, long *args)
{
    (void)nr;
    (void)args;
    uint64_t at = thread->reg[RLE_RSP];
    struct rle_ucontext *uc = (struct rle_ucontext *)at;
    struct rle_ucontext copy;
    if (rle_copy_guarded(&copy, uc, sizeof(copy))) { /* the kernel says so to the program */
        thread->reg[RLE_RAX] = 0;
        thread->reg[RLE_RCX] = thread->next_pc;
        thread->reg[RLE_R11] = thread->rflags;
        rle_sigreturn(at);
    }
    if (copy.greg[RLE_GREG_FLAGS] & RLE_TRAP_FLAG) {
        rle_detach(rle_why_traps);
        return RLE_RESTART;
    }
    rle_block_signals();
    if (thread->pending & RLE_PENDING_SIGNAL)
        return RLE_RESTART; /* delivery sets the mask */
    restore_altstack(thread, &copy.stack);
    thread->next_pc = copy.greg[RLE_GREG_RIP];
    uc->stack =
        (struct rle_altstack){.sp = (uint64_t)thread->alt_stack, .size = rle_altstack_bytes()};
    uc->greg[RLE_GREG_RIP] = (uint64_t)rle_after_sigreturn;
    rle_sigreturn(at);
}

/* A call that waits with another signal mask: a handler that interrupts it runs with that mask. */
static long wait_with(struct rle_thread *thread, long nr, long *args, uint64_t mask_at)
{
    uint64_t mask;
    if (mask_at && !rle_copy_guarded(&mask, (const void *)mask_at, sizeof(mask))) {
        thread->temporary_mask = mask;
        thread->has_temporary_mask = true;
    }
    long result = rle_program_syscall(nr, args);
    if (result != -EINTR)
        thread->has_temporary_mask = false;
    return result;
}

long rle_sys_sigsuspend(struct rle_thread *thread, long nr, long *args)
{
    return wait_with(thread, nr, args, (uint64_t)args[0]);
}

long rle_sys_wait_masked(struct rle_thread *thread, long nr, long *args)
{
    enum { PPOLL_MASK = 3, EPOLL_MASK = 4, PSELECT_MASK = 5 };
    if (nr == SYS_ppoll)
        return wait_with(thread, nr, args, (uint64_t)args[PPOLL_MASK]);
    if (nr != SYS_pselect6)
        return wait_with(thread, nr, args, (uint64_t)args[EPOLL_MASK]);
    uint64_t mask_at = 0; /* pselect6 takes the address of (mask, size) */
    if (args[PSELECT_MASK])
        rle_copy_guarded(&mask_at, (const void *)args[PSELECT_MASK], sizeof(mask_at));
    return wait_with(thread, nr, args, mask_at);
}
