#include <errno.h>
#include <signal.h>

#include "count/engine/attach.h"
#include "count/engine/engine.h"
#include "count/engine/signals.h"

enum {
    RED_ZONE_BYTES = 128,
    XSTATE_ALIGN = 64,
    FRAME_ALIGN = 16,
    REGISTERS = 16,
};

/* Where the kernel keeps register number r in a ucontext. */
static const uint8_t greg_of[REGISTERS] = {
    [RLE_RAX] = 13, [RLE_RCX] = 14, [RLE_RDX] = 12, [RLE_RBX] = 11, [RLE_RSP] = 15, [RLE_RBP] = 10,
    [RLE_RSI] = 9,  [RLE_RDI] = 8,  [RLE_R8] = 0,   [RLE_R9] = 1,   [RLE_R10] = 2,  [RLE_R11] = 3,
    [RLE_R12] = 4,  [RLE_R13] = 5,  [RLE_R14] = 6,  [RLE_R15] = 7};

void rle_registers_from(struct rle_thread *thread, const struct rle_ucontext *uc)
{
    for (unsigned r = 0; r < REGISTERS; r++)
        thread->reg[r] = uc->greg[greg_of[r]];
    thread->rflags = uc->greg[RLE_GREG_FLAGS] & ~RLE_TRAP_FLAG;
}

void rle_registers_to(const struct rle_thread *thread, struct rle_ucontext *uc)
{
    for (unsigned r = 0; r < REGISTERS; r++)
        uc->greg[greg_of[r]] = thread->reg[r];
    uc->greg[RLE_GREG_FLAGS] = thread->rflags;
}

static uint32_t xstate_bytes(const uint8_t *xstate)
{
    uint32_t magic, bytes;
    if (!xstate)
        return 0;
    __builtin_memcpy(&magic, xstate + RLE_XSTATE_MAGIC_AT, sizeof(magic));
    __builtin_memcpy(&bytes, xstate + RLE_XSTATE_SIZE_AT, sizeof(bytes));
    if (magic != RLE_XSTATE_MAGIC || bytes < RLE_XSTATE_LEGACY_BYTES)
        return RLE_XSTATE_LEGACY_BYTES;
    return bytes;
}

const uint8_t *rle_pending_from(struct rle_pending *pending, int signal, const uint8_t *info,
                                const struct rle_ucontext *uc)
{
    const uint8_t *xstate = (const uint8_t *)uc->xstate;
    pending->signal = signal;
    pending->restart = false;
    pending->is_fault = false;
    pending->mask = uc->mask;
    pending->uc = *uc;
    pending->xstate_bytes = xstate_bytes(xstate);
    if (pending->xstate_bytes > rle_engine.xstate_bytes)
        rle_die("a signal frame is larger than the processor said", pending->xstate_bytes);
    rle_copy(pending->info, info, sizeof(pending->info));
    return xstate;
}

bool rle_on_altstack(const struct rle_thread *thread, uint64_t sp)
{
    const struct rle_altstack *stack = &thread->program_altstack;
    if (stack->flags & RLE_SS_AUTODISARM)
        return false;
    return !(stack->flags & RLE_SS_DISABLE) && sp > stack->sp && sp - stack->sp <= stack->size;
}

static uint64_t stack_for(const struct rle_thread *thread, const struct rle_action *action)
{
    const struct rle_altstack *stack = &thread->program_altstack;
    uint64_t sp = thread->reg[RLE_RSP] - RED_ZONE_BYTES;
    if ((action->flags & RLE_SA_ONSTACK) && !(stack->flags & RLE_SS_DISABLE) &&
        !rle_on_altstack(thread, thread->reg[RLE_RSP]))
        sp = stack->sp + stack->size;
    return sp;
}

/* What carries the address of an instruction names the cache's; say the program's. */
static void correct_address(struct rle_pending *source, uint64_t pc)
{
    int32_t code;
    __builtin_memcpy(&code, source->info + RLE_SI_CODE, sizeof(code));
    bool names_insn = source->signal == SIGILL || source->signal == SIGFPE ||
                      (source->signal == SIGTRAP && code != SI_KERNEL);
    if (code > 0 && (source->signal == SIGSYS || (source->is_fault && names_insn)))
        __builtin_memcpy(source->info + RLE_SI_ADDR, &pc, sizeof(pc));
}

static void enter_handler(struct rle_thread *thread, const struct rle_pending *source,
                          struct rle_action *action, uint64_t frame)
{
    uint64_t info = frame + offsetof(struct rle_signal_frame, info);
    uint64_t uc = frame + offsetof(struct rle_signal_frame, uc);
    thread->reg[RLE_RDI] = (uint64_t)source->signal;
    thread->reg[RLE_RSI] = info;
    thread->reg[RLE_RDX] = uc;
    thread->reg[RLE_RAX] = 0;
    thread->reg[RLE_RSP] = frame;
    thread->rflags &= ~(RLE_TRAP_FLAG | RLE_DIRECTION_FLAG);
    thread->next_pc = action->handler;
    uint64_t mask = thread->has_temporary_mask ? thread->temporary_mask : source->mask;
    thread->has_temporary_mask = false;
    mask |= action->mask;
    if (!(action->flags & RLE_SA_NODEFER))
        mask |= RLE_SIGNAL_BIT(source->signal);
    if (action->flags & RLE_SA_RESETHAND) {
        action->handler = RLE_SIG_DFL;
        rle_install_action(source->signal, action);
    }
    rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, RLE_SIGSET_BYTES);
}

/* The handler runs in the place of the system call that the thread was taken out of. */
static void end_wait(struct rle_thread *thread, const struct rle_action *action)
{
    enum { SYSCALL_INSN_BYTES = 2 };
    if (thread->waits == RLE_WAITS_FOR_SIGNAL ||
        (thread->waits == RLE_WAITS_RESTARTABLE && !(action->flags & RLE_SA_RESTART))) {
        thread->reg[RLE_RAX] = (uint64_t)-EINTR;
        thread->next_pc += SYSCALL_INSN_BYTES;
    }
    thread->waits = RLE_WAITS_NOT;
}

/* The kernel tells whether a page can be written to, without a fault: it stores the signal mask. */
static bool is_writable(uint64_t low, uint64_t high)
{
    for (uint64_t at = high - sizeof(uint64_t);; at = (at & -RLE_PAGE) - sizeof(uint64_t)) {
        at = at < low ? low : at;
        if (rle_is_error(rle_sys4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)at, RLE_SIGSET_BYTES)))
            return false;
        if (at == low)
            return true;
    }
}

/* Does a frame from `at` to `sp` fit on the stack it is for? */
static bool has_room(const struct rle_thread *thread, uint64_t at, uint64_t sp)
{
    const struct rle_altstack *stack = &thread->program_altstack;
    bool on_altstack = sp == stack->sp + stack->size || rle_on_altstack(thread, sp);
    if (at > sp || (on_altstack && at <= stack->sp))
        return false;
    return is_writable(at, sp);
}

bool rle_push_frame(struct rle_thread *thread, const struct rle_pending *pending,
                    const uint8_t *xstate)
{
    struct rle_pending source = *pending;
    struct rle_action *action = &thread->actions->of[source.signal];
    end_wait(thread, action);
    uint64_t sp = stack_for(thread, action);
    uint64_t state = (sp - source.xstate_bytes) & ~(uint64_t)(XSTATE_ALIGN - 1);
    uint64_t at = ((state - sizeof(struct rle_signal_frame)) & ~(uint64_t)(FRAME_ALIGN - 1)) -
                  sizeof(uint64_t);
    if (!has_room(thread, at, sp))
        return false;
    struct rle_signal_frame *frame = (struct rle_signal_frame *)at;
    correct_address(&source, thread->next_pc);
    rle_copy((void *)state, xstate, source.xstate_bytes);
    frame->restorer = action->restorer;
    frame->uc = source.uc;
    rle_registers_to(thread, &frame->uc);
    frame->uc.greg[RLE_GREG_RIP] = thread->next_pc;
    frame->uc.xstate = xstate ? state : 0;
    frame->uc.mask = source.mask;
    frame->uc.stack = thread->program_altstack;
    if (thread->program_altstack.flags & RLE_SS_AUTODISARM)
        thread->program_altstack = (struct rle_altstack){.flags = RLE_SS_DISABLE};
    rle_copy(frame->info, source.info, sizeof(frame->info));
    enter_handler(thread, &source, action, at);
    return true;
}
