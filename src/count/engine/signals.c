#include "count/engine/signals.h"

#include <signal.h>

#include "count/engine/arena.h"
#include "count/engine/attach.h"
#include "count/engine/branch.h"
#include "count/engine/corrections.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"
#include "count/engine/result.h"

/* Bounds of the engine object, from the linker. */
extern const char engine_start[] __asm__("__ehdr_start");
extern const char engine_end[] __asm__("_end");

enum { GO_BACK = 0, CONTINUE = 1 };

enum { USER_ADDRESS_BITS = 47 };

/* A place in translated code. */
struct place {
    struct rle_fragment *fragment;
    unsigned insn;
    bool exact;   /* between two instructions of the program: all before `insn` are done */
    bool counted; /* the fragment's head counter includes this execution */
};

/* ---- actions ----------------------------------------------------------------------------------
 */

static bool has_handler(const struct rle_thread *thread, int signal)
{
    return thread->actions->of[signal].handler > RLE_SIG_IGN;
}

/* The engine has a handler for faults even where the program ignores them. */
static bool is_ignored(const struct rle_thread *thread, int signal)
{
    return thread->actions->of[signal].handler == RLE_SIG_IGN;
}

static bool is_own(int signal)
{
    return (RLE_OWN_SIGNALS & RLE_SIGNAL_BIT(signal)) != 0;
}

static bool is_synchronous(int signal, const uint8_t *info)
{
    int32_t code;
    __builtin_memcpy(&code, info + RLE_SI_CODE, sizeof(code));
    return (RLE_SYNCHRONOUS_SIGNALS & RLE_SIGNAL_BIT(signal)) && code > 0;
}

static void set_kernel_action(int signal, const struct rle_action *action)
{
    rle_sys4(SYS_rt_sigaction, signal, (long)action, 0, RLE_SIGSET_BYTES);
}

uint64_t rle_block_signals(void)
{
    uint64_t all = RLE_ALL_SIGNALS, before = 0;
    rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, RLE_SIGSET_BYTES);
    return before;
}

void rle_restore_signals(uint64_t mask)
{
    rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, RLE_SIGSET_BYTES);
}

void rle_install_action(int signal, const struct rle_action *action)
{
    bool handled = action->handler != RLE_SIG_DFL && action->handler != RLE_SIG_IGN;
    /* What does not reach the program ends none of its system calls. */
    uint64_t restart = handled ? 0 : RLE_SA_RESTART;
    if (!handled && !is_own(signal)) {
        set_kernel_action(signal, action);
        return;
    }
    uint64_t kept = RLE_SA_NOCLDSTOP | RLE_SA_NOCLDWAIT | RLE_SA_RESTART;
    struct rle_action ours = {.handler = (uint64_t)rle_signal_entry,
                              .flags = (action->flags & kept) | restart | RLE_SA_SIGINFO |
                                       RLE_SA_ONSTACK | RLE_SA_RESTORER,
                              .restorer = (uint64_t)rle_signal_entry, /* never used */
                              .mask = RLE_ALL_SIGNALS};
    set_kernel_action(signal, &ours);
}

void rle_signals_init(void)
{
    for (int s = 1; s <= RLE_SIGNALS; s++) {
        struct rle_action *action = &rle_engine.actions.of[s];
        if (s == SIGKILL || s == SIGSTOP)
            continue;
        rle_sys4(SYS_rt_sigaction, s, 0, (long)action, RLE_SIGSET_BYTES);
        if (is_own(s) || action->handler > RLE_SIG_IGN)
            rle_install_action(s, action);
    }
}

void rle_uninstall_actions(void)
{
    for (int s = 1; s <= RLE_SIGNALS; s++)
        if (s != SIGKILL && s != SIGSTOP)
            set_kernel_action(s, &rle_engine.actions.of[s]);
}

void rle_uninstall_signals(struct rle_thread *thread)
{
    /* Another thread may be stepping to a boundary at this moment. */
    bool keep_trap = !rle_thread_is_last(thread) && !has_handler(thread, SIGTRAP);
    for (int s = 1; s <= RLE_SIGNALS; s++)
        if (s != SIGKILL && s != SIGSTOP && !(s == SIGTRAP && keep_trap))
            set_kernel_action(s, &thread->actions->of[s]);
    rle_sys3(SYS_sigaltstack, (long)&thread->program_altstack, 0, 0);
}

/* ---- where in translated code -----------------------------------------------------------------
 */

static bool head_is_counted(const struct rle_fragment *f, unsigned insn, bool at)
{
    return f->loop_reg != RLE_NO_REG || (at ? insn >= f->counted_from : insn > f->counted_from);
}

/* Find the instruction that cache address `pc` belongs to. False if it belongs to none: in cold
 * code or in front of the first instruction. */
static bool find_place(const struct rle_arena *arena, uint64_t pc, struct place *place)
{
    uint32_t index = rle_arena_fragment(arena, pc);
    if (index == RLE_NONE)
        return false;
    struct rle_fragment *f = rle_fragment(index);
    if (pc < f->entry || pc >= f->end)
        return false;
    uint64_t offset = pc - f->entry;
    const struct rle_placed_insn *placed = rle_placed(f->first_insn);
    place->fragment = f;
    for (unsigned i = 0; i < f->n_insns; i++)
        if (offset == placed[i].at || offset == placed[i].before) {
            place->insn = i;
            place->exact = true;
            place->counted = head_is_counted(f, i, offset == placed[i].at);
            return true;
        }
    unsigned i = f->n_insns;
    while (i > 0 && placed[i - 1].before > offset)
        i--;
    place->insn = i > 0 ? i - 1 : 0;
    place->exact = false;
    place->counted = i > 0 && head_is_counted(f, place->insn, placed[place->insn].at <= offset);
    return true;
}

/* The instruction at `pc`, which is there in whole, and nothing of the page behind it, which may
 * not be there at all. */
static void decode_again(uint64_t pc, struct rle_insn *insn)
{
    unsigned room = (unsigned)(RLE_PAGE - (pc & (RLE_PAGE - 1)));
    if (rle_decode((const uint8_t *)pc, room, pc, insn) == RLE_TRUNCATED)
        rle_decode((const uint8_t *)pc, RLE_INSN_MAX, pc, insn);
}

/* A fault within the sequence that stands for one instruction: undo what it changed. */
static void undo_sequence(struct rle_thread *thread, const struct place *place, uint64_t pc)
{
    const struct rle_fragment *f = place->fragment;
    const struct rle_placed_insn *placed = rle_placed(f->first_insn + place->insn);
    struct rle_insn insn;
    if (pc - f->entry < placed->before) { /* comparing the source, in front of the first */
        thread->reg[RLE_RAX] = thread->spill[1];
        thread->reg[RLE_RCX] = thread->spill[0];
        return;
    }
    decode_again(rle_placed_pc(f, place->insn), &insn);
    if (insn.kind == RLE_RET || insn.kind == RLE_JMP_IND || insn.kind == RLE_CALL_IND)
        thread->reg[RLE_RCX] = thread->spill[0];
    if (f->landing && pc == rle_call_restores_at(f->landing))
        thread->reg[RLE_RSP] += sizeof(uint64_t);
}

/* Express the state at `place` in the program's terms: reg[], next_pc, counters. */
static void leave_fragment(struct rle_thread *thread, const struct place *place,
                           const struct rle_ucontext *uc)
{
    const struct rle_fragment *f = place->fragment;
    rle_registers_from(thread, uc);
    if (!place->exact)
        undo_sequence(thread, place, uc->greg[RLE_GREG_RIP]);
    if (f->loop_reg != RLE_NO_REG)
        thread->reg[f->loop_reg] = thread->loop_save;
    for (unsigned r = 0; r < f->n_resident; r++)
        thread->reg[f->resident[r]] = thread->resident[r];
    thread->next_pc = rle_placed_pc(f, place->insn);
    if (place->insn == 0 && !place->counted)
        return;
    if (!place->counted)
        rle_count(thread, f->head_counter);
    rle_correct(thread, f->record, place->insn);
}

/* int3 and its like trap behind themselves. Of a comparison of the source, in front of the first
 * instruction, that is not asked: it may be the source that is gone. */
static bool behind_trap(const struct place *place, uint64_t pc, struct rle_insn *insn)
{
    const struct rle_placed_insn *placed = rle_placed(place->fragment->first_insn + place->insn);
    if (pc <= place->fragment->entry + placed->at)
        return false;
    decode_again(rle_placed_pc(place->fragment, place->insn), insn);
    return insn->kind == RLE_INT && pc == place->fragment->entry + placed->at + insn->length;
}

/* Between a return and the place it returns to. */
static bool has_returned(const struct rle_fragment *f, uint64_t pc)
{
    return f->landing && pc >= f->landing && pc < rle_call_restores_at(f->landing);
}

/* ---- delivery ---------------------------------------------------------------------------------
 */

/* May the kernel return to user mode with this stack pointer? With one that is no address of any
 * program some processors fault at the return already. */
static bool can_return_to(uint64_t sp)
{
    return sp >> USER_ADDRESS_BITS == 0;
}

/* A signal with default action reached us because the engine needs it for itself (or the action
 * changed meanwhile): let the kernel do what it would have done. */
static void default_action(const struct rle_thread *thread, int signal, struct rle_ucontext *uc,
                           bool synchronous)
{
    struct rle_action action = thread->actions->of[signal];
    if (action.handler == RLE_SIG_IGN && !synchronous)
        return;
    action.handler = RLE_SIG_DFL;
    set_kernel_action(signal, &action);
    /* A fault comes again when its instruction is executed again, natively, in its own state. A
     * trap does not: it is reported behind its instruction, so that the signal is sent instead, and
     * likewise where its state cannot be had again. */
    if (synchronous && signal != SIGTRAP && can_return_to(thread->reg[RLE_RSP])) {
        rle_registers_to(thread, uc);
        uc->greg[RLE_GREG_RIP] = thread->next_pc;
        uc->mask &= ~RLE_SIGNAL_BIT(signal);
        return;
    }
    uint64_t unblocked = RLE_SIGNAL_BIT(signal);
    rle_sys3(SYS_tgkill, rle_sys3(SYS_getpid, 0, 0, 0), rle_sys3(SYS_gettid, 0, 0, 0), signal);
    rle_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&unblocked, 0, RLE_SIGSET_BYTES);
}

static _Noreturn void die_of_fault(void)
{
    struct rle_action action = {.handler = RLE_SIG_DFL};
    uint64_t unblocked = RLE_SIGNAL_BIT(SIGSEGV);
    set_kernel_action(SIGSEGV, &action);
    rle_sys3(SYS_tgkill, rle_sys3(SYS_getpid, 0, 0, 0), rle_sys3(SYS_gettid, 0, 0, 0), SIGSEGV);
    rle_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&unblocked, 0, RLE_SIGSET_BYTES);
    rle_die("a signal frame does not fit on the stack", 0); /* pid 1 survives SIGSEGV */
}

/* Where the frame does not fit the kernel sends SIGSEGV instead, which ends the process if it
 * cannot be delivered either. */
static void enter_handler_of(struct rle_thread *thread, const struct rle_pending *pending,
                             const uint8_t *xstate)
{
    static const int32_t code = SI_KERNEL;
    if (rle_push_frame(thread, pending, xstate))
        return;
    struct rle_pending fault = *pending;
    if (pending->signal == SIGSEGV || (pending->mask & RLE_SIGNAL_BIT(SIGSEGV)) ||
        !has_handler(thread, SIGSEGV))
        die_of_fault();
    fault.signal = SIGSEGV;
    for (unsigned i = 0; i < sizeof(fault.info); i++)
        fault.info[i] = 0;
    fault.info[0] = SIGSEGV;
    __builtin_memcpy(fault.info + RLE_SI_CODE, &code, sizeof(code));
    if (!rle_push_frame(thread, &fault, xstate))
        die_of_fault();
}

void rle_deliver_pending(struct rle_thread *thread)
{
    struct rle_pending *pending = &thread->signal;
    rle_pending_clear(thread, RLE_PENDING_SIGNAL);
    if (has_handler(thread, pending->signal)) {
        enter_handler_of(thread, pending, thread->xstate);
        return;
    }
    default_action(thread, pending->signal, NULL, false);
    rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&pending->mask, 0, RLE_SIGSET_BYTES);
}

static void keep(struct rle_thread *thread, int signal, const uint8_t *info,
                 const struct rle_ucontext *uc)
{
    const uint8_t *xstate = rle_pending_from(&thread->signal, signal, info, uc);
    rle_copy(thread->xstate, xstate, thread->signal.xstate_bytes);
    rle_pending_set(thread, RLE_PENDING_SIGNAL);
}

/* The mask while stepping: faults must still be delivered. */
#define STEPPING_MASK (~RLE_SYNCHRONOUS_SIGNALS)

static int start_stepping(struct rle_thread *thread, struct rle_ucontext *uc)
{
    thread->stepping = true;
    uc->greg[RLE_GREG_FLAGS] |= RLE_TRAP_FLAG;
    uc->mask = STEPPING_MASK;
    return GO_BACK;
}

/* With the flag AC, which the program has set, an access of the engine's own faulted that is not
 * aligned. */
static int step_unaligned(struct rle_thread *thread, struct rle_ucontext *uc)
{
    if (!thread->stepping)
        thread->kick_mask = uc->mask;
    thread->realigns = true;
    uc->greg[RLE_GREG_FLAGS] &= ~RLE_ALIGNMENT_FLAG;
    return start_stepping(thread, uc);
}

/* Of the instruction that a place stands for, the accesses of the engine's own. */
static bool is_own_misalignment(int signal, const uint8_t *info, const struct place *place)
{
    int32_t code;
    __builtin_memcpy(&code, info + RLE_SI_CODE, sizeof(code));
    return signal == SIGBUS && code == BUS_ADRALN && !(place && place->exact);
}

void rle_step_to_boundary(struct rle_thread *thread)
{
    uint64_t mask = STEPPING_MASK, before;
    thread->stepping = true;
    thread->rflags |= RLE_TRAP_FLAG;
    rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, RLE_SIGSET_BYTES);
    if (thread->kicked)
        thread->kick_mask = before;
}

/* reg[] and next_pc are the program's; deliver without detour. */
static int deliver_now(struct rle_thread *thread, int signal, const uint8_t *info,
                       struct rle_ucontext *uc)
{
    struct rle_pending now;
    bool synchronous = is_synchronous(signal, info);
    if (!has_handler(thread, signal)) {
        default_action(thread, signal, uc, synchronous);
        if (synchronous) /* or the process is gone: behind a trap nothing would happen again */
            return GO_BACK;
        rle_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&uc->mask, 0, RLE_SIGSET_BYTES);
        return CONTINUE;
    }
    const uint8_t *xstate = rle_pending_from(&now, signal, info, uc);
    now.is_fault = synchronous;
    enter_handler_of(thread, &now, xstate);
    return CONTINUE;
}

/* Stepping has reached a boundary: what was kept is delivered, with the vector state of now. */
static int deliver_kept(struct rle_thread *thread, const struct rle_ucontext *uc)
{
    const uint8_t *xstate = (const uint8_t *)uc->xstate;
    thread->stepping = false;
    if (thread->pending & RLE_PENDING_SIGNAL)
        rle_copy(thread->xstate, xstate, thread->signal.xstate_bytes);
    else
        rle_restore_signals(thread->kick_mask);
    return CONTINUE; /* rle_continue delivers what is pending */
}

/* ---- leaving ----------------------------------------------------------------------------------
 */

/* Where the thread keeps its block, as it does when the engine is left for good, it leaves as one
 * does that came to C by itself. */
static int leave_by_dispatch(struct rle_thread *thread, const struct place *place,
                             const struct rle_ucontext *uc)
{
    if (!place || thread->parked)
        return GO_BACK;
    leave_fragment(thread, place, uc);
    rle_restore_signals(uc->mask);
    return CONTINUE;
}

/* Leave the engine from here, by way of the kernel's frame, which holds the vector state. `place`
 * is where in the cache, NULL: nowhere, the registers are the program's already. */
static int leave_by_frame(struct rle_thread *thread, const struct place *place,
                          struct rle_ucontext *uc, uint64_t mask)
{
    uc->mask = mask;
    uc->greg[RLE_GREG_FLAGS] &= ~RLE_TRAP_FLAG;
    if (rle_control.state == RLE_PRESENCE_FIXED)
        return leave_by_dispatch(thread, place, uc);
    if (!rle_park(thread))
        return GO_BACK;
    if (place) {
        leave_fragment(thread, place, uc);
        rle_registers_to(thread, uc);
        uc->greg[RLE_GREG_RIP] = thread->next_pc;
    }
    uc->stack = thread->program_altstack;
    rle_leave_block(thread);
    return GO_BACK;
}

/* Stepping has reached a boundary. */
static int at_boundary(struct rle_thread *thread, const struct place *place,
                       struct rle_ucontext *uc)
{
    bool kicked = thread->kicked;
    thread->kicked = false;
    if (kicked && !(thread->pending & RLE_PENDING_SIGNAL)) {
        thread->stepping = false;
        return leave_by_frame(thread, place, uc, thread->kick_mask);
    }
    if (place)
        leave_fragment(thread, place, uc);
    else {
        rle_registers_from(thread, uc);
        thread->next_pc = uc->greg[RLE_GREG_RIP];
    }
    return deliver_kept(thread, uc);
}

/* ---- by place ---------------------------------------------------------------------------------
 */

static bool within(uint64_t pc, void (*begin)(void), void (*end)(void))
{
    return pc >= (uint64_t)begin && pc < (uint64_t)end;
}

static bool in_engine(uint64_t pc)
{
    return pc >= (uint64_t)engine_start && pc < (uint64_t)engine_end;
}

/* Code of the engine from which control may reach the cache without passing C. */
static bool leads_to_cache(uint64_t pc)
{
    return within(pc, rle_miss_begin, rle_miss_end) ||
           within(pc, rle_resume_begin, rle_resume_end) ||
           within(pc, rle_callout_resume_begin, rle_callout_resume_end);
}

static int stepped(struct rle_thread *thread, struct rle_ucontext *uc)
{
    uint64_t pc = uc->greg[RLE_GREG_RIP];
    const struct rle_arena *arena = rle_arena_of(pc);
    struct place place;
    if (arena && find_place(arena, pc, &place) && place.exact)
        return at_boundary(thread, &place, uc);
    if (arena || leads_to_cache(pc))
        return start_stepping(thread, uc);
    if (in_engine(pc)) { /* C comes next, and will deliver it */
        thread->stepping = false;
        uc->greg[RLE_GREG_FLAGS] &= ~RLE_TRAP_FLAG;
        uc->mask = thread->pending ? RLE_ALL_SIGNALS : thread->kick_mask;
        if (!thread->kicked)
            return GO_BACK;
        thread->kicked = false;
        rle_pending_set(thread, RLE_PENDING_KICK);
        return GO_BACK;
    }
    return at_boundary(thread, NULL, uc); /* about to fault at an address that holds no code */
}

static int in_cache(struct rle_thread *thread, const struct rle_arena *arena, int signal,
                    const uint8_t *info, struct rle_ucontext *uc)
{
    uint64_t pc = uc->greg[RLE_GREG_RIP];
    bool synchronous = is_synchronous(signal, info);
    struct place place;
    struct rle_insn insn;
    bool found = find_place(arena, pc, &place);
    if (is_own_misalignment(signal, info, found ? &place : NULL))
        return step_unaligned(thread, uc);
    if (!found) {
        if (synchronous)
            rle_die("fault in code that cannot fault", pc);
        keep(thread, signal, info, uc);
        return start_stepping(thread, uc);
    }
    if (!place.exact && synchronous && behind_trap(&place, pc, &insn)) {
        rle_registers_from(thread, uc);
        thread->next_pc = insn.pc + insn.length;
        if (signal == SIGSEGV && !has_handler(thread, signal)) /* int 4 */
            die_of_fault();
        return deliver_now(thread, signal, info, uc);
    }
    if (!place.exact && !synchronous) {
        keep(thread, signal, info, uc);
        return start_stepping(thread, uc);
    }
    if (has_returned(place.fragment, pc)) { /* the stack went away meanwhile */
        rle_registers_from(thread, uc);
        thread->reg[RLE_RCX] = thread->spill[0];
        thread->next_pc = place.fragment->behind;
    } else {
        leave_fragment(thread, &place, uc);
    }
    if (thread->stepping) /* the fault will happen again when the program comes back */
        return deliver_kept(thread, uc);
    return deliver_now(thread, signal, info, uc);
}

/* What a program queues for itself may say that it is a fault; it comes when the call ends. */
static bool is_behind_syscall(uint64_t pc)
{
    static const uint8_t syscall_insn[] = {0x0F, 0x05};
    const uint8_t *before = (const uint8_t *)pc - sizeof(syscall_insn);
    return before[0] == syscall_insn[0] && before[1] == syscall_insn[1];
}

/* The kernel could not make sense of the frame that the program returns from. */
static int bad_frame(struct rle_thread *thread, int signal, const uint8_t *info,
                     struct rle_ucontext *uc)
{
    if (uc->greg[RLE_GREG_RIP] == (uint64_t)rle_after_sigreturn)
        rle_registers_from(thread, uc); /* as far as it came */
    else if (!has_handler(thread, signal))
        die_of_fault(); /* the call is over: it would not happen again */
    return deliver_now(thread, signal, info, uc);
}

static int in_own_code(struct rle_thread *thread, int signal, const uint8_t *info,
                       struct rle_ucontext *uc)
{
    uint64_t pc = uc->greg[RLE_GREG_RIP];
    if (is_synchronous(signal, info) &&
        (pc == (uint64_t)rle_sigreturn_fails || pc == (uint64_t)rle_after_sigreturn))
        return bad_frame(thread, signal, info, uc);
    if (is_synchronous(signal, info) && !is_behind_syscall(pc)) {
        if (!within(pc, rle_resume_begin, rle_resume_end))
            rle_die("fault in the engine", pc - (uint64_t)engine_start);
        /* The program jumps to an address that can be none, or traps after each instruction. */
        return thread->stepping ? deliver_kept(thread, uc) : deliver_now(thread, signal, info, uc);
    }
    if (thread->pending & RLE_PENDING_SIGNAL)
        return GO_BACK; /* cannot be: all others are blocked */
    keep(thread, signal, info, uc);
    if (within(pc, rle_miss_begin, rle_miss_end))
        return start_stepping(thread, uc);
    if (within(pc, rle_callout_resume_begin, rle_callout_resume_end)) {
        thread->rflags |= RLE_TRAP_FLAG;
        return start_stepping(thread, uc);
    }
    uc->mask = RLE_ALL_SIGNALS;
    if (within(pc, rle_resume_begin, rle_resume_end)) {
        uc->greg[RLE_GREG_RIP] = (uint64_t)rle_continue;
        uc->greg[RLE_GREG_FLAGS] = RLE_FLAGS_AT_HANDLER;
    } else if (pc >= (uint64_t)rle_syscall_begin && pc <= (uint64_t)rle_syscall_at) {
        uc->greg[RLE_GREG_RIP] = (uint64_t)rle_syscall_restart;
        thread->signal.restart = true;
    }
    return GO_BACK;
}

static int step_and_leave(struct rle_thread *thread, struct rle_ucontext *uc, uint64_t mask)
{
    thread->kicked = true;
    thread->kick_mask = mask;
    return start_stepping(thread, uc);
}

/* A launcher asks to leave. It made sure that the thread is in the engine, and not in a system call
 * of the program's. */
static int kicked(struct rle_thread *thread, const uint8_t *info, struct rle_ucontext *uc)
{
    uint64_t pc = uc->greg[RLE_GREG_RIP], mask = rle_kick_mask(info, uc->mask);
    const struct rle_arena *arena = rle_arena_of(pc);
    struct place place;
    uc->mask = mask;
    if (thread->stepping) {
        thread->kicked = true;
        thread->kick_mask = thread->pending ? mask : thread->kick_mask;
        return GO_BACK;
    }
    if (arena && find_place(arena, pc, &place) && place.exact)
        return leave_by_frame(thread, &place, uc, mask);
    if (arena || within(pc, rle_miss_begin, rle_miss_end))
        return step_and_leave(thread, uc, mask);
    if (within(pc, rle_callout_resume_begin, rle_callout_resume_end)) {
        thread->rflags |= RLE_TRAP_FLAG;
        return step_and_leave(thread, uc, mask);
    }
    if (!in_engine(pc))
        return leave_by_frame(thread, NULL, uc, mask);
    rle_pending_set(thread, RLE_PENDING_KICK);
    if (within(pc, rle_resume_begin, rle_resume_end)) {
        uc->greg[RLE_GREG_RIP] = (uint64_t)rle_continue;
        uc->greg[RLE_GREG_FLAGS] = RLE_FLAGS_AT_HANDLER;
    }
    return GO_BACK;
}

/* The file system of the results is full: a counter or record could not get its page. */
static bool no_room_for_results(const uint8_t *info)
{
    uint64_t address;
    __builtin_memcpy(&address, info + RLE_SI_ADDR, sizeof(address));
    bool ours = rle_result_holds(address);
    for (uint32_t i = 0; i < rle_engine.n_threads && !ours; i++) {
        uint64_t counters = (uint64_t)rle_engine.threads[i] + RLE_TB_COUNTERS;
        ours = address >= counters && address < counters + rle_result_counter_bytes();
    }
    return ours && rle_result_replace_page(address);
}

int rle_signal(int signal, uint8_t *info, struct rle_ucontext *uc)
{
    struct rle_thread *thread = rle_thread_self();
    uint64_t pc = uc->greg[RLE_GREG_RIP];
    if (pc == (uint64_t)rle_guarded_at && is_synchronous(signal, info)) {
        uc->greg[RLE_GREG_RIP] = (uint64_t)rle_guarded_fail;
        return GO_BACK;
    }
    if (signal == SIGBUS && is_synchronous(signal, info) && no_room_for_results(info))
        return GO_BACK;
    if (rle_is_kick(signal, info))
        return kicked(thread, info, uc);
    bool realigns = thread->realigns;
    thread->realigns = false;
    if (realigns)
        uc->greg[RLE_GREG_FLAGS] |= RLE_ALIGNMENT_FLAG;
    if (signal == SIGTRAP && thread->stepping) {
        int answer = stepped(thread, uc);
        return realigns && thread->stepping ? step_unaligned(thread, uc) : answer;
    }
    if (is_ignored(thread, signal) && !is_synchronous(signal, info))
        return GO_BACK; /* by the kernel's frame, which holds the vector state */
    const struct rle_arena *arena = rle_arena_of(pc);
    if (arena)
        return in_cache(thread, arena, signal, info, uc);
    if (in_engine(pc))
        return in_own_code(thread, signal, info, uc);
    rle_registers_from(thread, uc); /* at an address that holds no code: the state is its own */
    thread->next_pc = pc;
    if (thread->stepping)
        return deliver_kept(thread, uc);
    return deliver_now(thread, signal, info, uc);
}
