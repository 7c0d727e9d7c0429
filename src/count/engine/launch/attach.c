#include "count/engine/launch/attach.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count/engine/thread_block.h"

/* glibc's and the kernel's header of ptrace exclude each other. */
extern long ptrace(int request, ...);

enum {
    USER_CS = 0x33,
    FLAGS_OF_C = 0x202,
    SYSCALL_INSN_BYTES = 2,
    SIGSET_BYTES = 8,
    HWCAP2_FSGSBASE = 2,
    ENGINE_STACKS_BYTES = 1 << 20, /* at most, to both sides of a thread's engine_sp */
    ROUNDS = 5000,
};

#define NS_PER_S 1000000000ull
/** Threads that wait for each other in the engine give up long before. */
#define PATIENCE_NS (4 * NS_PER_S)

/* What is to be done with a thread. */
enum fate { NATIVE, INSIDE, ON_ITS_WAY, REFUSED };

/* Instead of a number of threads. */
enum { LATER = -1, CANNOT = -2, IS_IN = -3 };

static bool fail(struct target *t, const char *why)
{
    snprintf(t->why, sizeof(t->why), "%s", why);
    return false;
}

/* ---- system calls that were interrupted --------------------------------------------------------
 */

/* The state from which the program goes on, in front of a system call that is to be made again. */
static uint32_t settle(struct user_regs_struct *r)
{
    enum { RESTARTSYS = 512, RESTARTNOINTR, RESTARTNOHAND, RESTART_BLOCK = 516 };
    uint32_t waits = RLE_WAITS_FOR_SIGNAL;
    if ((long)r->orig_rax < 0)
        return RLE_WAITS_NOT;
    switch (-(long)r->rax) {
    case RESTARTSYS:
        waits = RLE_WAITS_RESTARTABLE;
        break;
    case RESTARTNOINTR:
        waits = RLE_WAITS_NOT;
        break;
    case RESTARTNOHAND:
        break;
    case RESTART_BLOCK:
        r->orig_rax = SYS_restart_syscall;
        break;
    case EINTR:
        if (target_waits_without_limit(r))
            break;
        return RLE_WAITS_NOT;
    default:
        return RLE_WAITS_NOT;
    }
    r->rax = r->orig_rax;
    r->rip -= SYSCALL_INSN_BYTES;
    return waits;
}

/* ---- redirecting -------------------------------------------------------------------------------
 */

static bool within_engine(const struct rle_control *control, uint64_t address)
{
    return address >= control->object_start && address < control->object_end;
}

/* A thread with a segment: has the engine got it since it was last attached to, or did it jump out
 * of a signal handler, past the engine, or is the segment its own? */
static enum fate fate_with_segment(struct target *t, const struct tracee *tracee,
                                   const struct rle_control *control)
{
    const struct user_regs_struct *r = &tracee->regs;
    uint64_t self = 0, stack = 0;
    if (!t->base || !remote_read(t->pid, r->gs_base, &self, sizeof(self)) || self != r->gs_base ||
        !remote_read(t->pid, r->gs_base + RLE_TB_ENGINE_SP, &stack, sizeof(stack))) {
        fail(t, "it uses the gs segment, which the engine needs");
        return REFUSED;
    }
    if (r->rip == control->syscall_end)
        return INSIDE;
    /* A thread in translated code has neither its instruction nor its stack in the engine. */
    uint32_t in_syscall = 0;
    remote_read(t->pid, r->gs_base + RLE_TB_IN_SYSCALL, &in_syscall, sizeof(in_syscall));
    if (!in_syscall || within_engine(control, r->rip) ||
        r->rsp - stack + ENGINE_STACKS_BYTES < 2ull * ENGINE_STACKS_BYTES)
        return ON_ITS_WAY;
    return NATIVE;
}

static enum fate fate_of(struct target *t, const struct tracee *tracee,
                         const struct rle_control *control)
{
    const struct user_regs_struct *r = &tracee->regs;
    if (r->cs != USER_CS) {
        fail(t, "a thread of it runs 32-bit code");
        return REFUSED;
    }
    if (r->gs_base)
        return fate_with_segment(t, tracee, control);
    return t->base && within_engine(control, r->rip) ? ON_ITS_WAY : NATIVE;
}

/* An interrupted restartable sequence starts over, as it would behind a switch of processors. */
static void abort_sequence(struct target *t, struct rle_attach_slot *slot)
{
    enum { POINTER_AT = 8 };
    struct {
        uint32_t version, flags;
        uint64_t start, length, handler;
    } sequence;
    uint64_t at = 0;
    if (remote_read(t->pid, slot->rseq + POINTER_AT, &at, sizeof(at)) && at &&
        remote_read(t->pid, at, &sequence, sizeof(sequence)) &&
        slot->pc - sequence.start < sequence.length)
        slot->pc = sequence.handler;
}

static void fill_slot(struct target *t, const struct tracee *tracee, struct rle_attach_slot *slot)
{
    struct user_regs_struct r = tracee->regs;
    struct ptrace_rseq_configuration rseq = {0};
    *slot = (struct rle_attach_slot){.waits = settle(&r)};
    const uint64_t reg[16] = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                              r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
    memcpy(slot->reg, reg, sizeof(reg));
    slot->rflags = r.eflags;
    slot->pc = r.rip;
    ptrace(PTRACE_GETSIGMASK, tracee->tid, SIGSET_BYTES, &slot->mask);
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tracee->tid, sizeof(rseq), &rseq) > 0 &&
        rseq.rseq_abi_pointer) {
        slot->rseq = rseq.rseq_abi_pointer;
        slot->rseq_bytes = rseq.rseq_abi_size;
        slot->rseq_signature = rseq.signature;
        abort_sequence(t, slot);
    }
}

static bool write_slots(struct target *t, const struct rle_control *control)
{
    uint64_t at = control->slots;
    for (size_t i = 0; i < t->n_threads; i++) {
        struct rle_attach_slot slot;
        if (!t->thread[i].native)
            continue;
        fill_slot(t, &t->thread[i], &slot);
        if (!remote_write(t->pid, at, &slot, sizeof(slot)))
            return fail(t, "its memory cannot be written");
        at += RLE_ATTACH_SLOT_BYTES;
    }
    return true;
}

/* From the first of these on it happens, whether this process lives or not. */
static void redirect(struct target *t, const struct rle_control *control)
{
    uint64_t slot = control->slots, all = ~0ull;
    for (size_t i = 0; i < t->n_threads; i++) {
        struct tracee *tracee = &t->thread[i];
        if (!tracee->native)
            continue;
        tracee->redirected = true;
        struct user_regs_struct r = tracee->regs;
        r.orig_rax = (unsigned long long)-1;
        r.rip = control->enter;
        r.rdi = slot;
        r.rsp = slot + RLE_ATTACH_SLOT_BYTES;
        r.rbp = 0;
        r.eflags = FLAGS_OF_C;
        r.gs_base = 0;
        ptrace(PTRACE_SETREGS, tracee->tid, NULL, &r);
        ptrace(PTRACE_SETSIGMASK, tracee->tid, SIGSET_BYTES, &all);
        slot += RLE_ATTACH_SLOT_BYTES;
    }
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* A thread that jumped past the engine keeps its block for ever; the next one shall have it. */
static void free_blocks(struct target *t, const struct rle_control *control)
{
    uint32_t none = 0;
    for (size_t i = 0; i < t->n_threads; i++) {
        const struct tracee *tracee = &t->thread[i];
        if (tracee->native && tracee->regs.gs_base)
            remote_write(t->pid, tracee->regs.gs_base + control->in_use_at, &none, sizeof(none));
    }
}

/* Decide on each thread that was stopped. @return how many are to be redirected, LATER if one is
 * just leaving, CANNOT if one cannot be taken. */
static long choose(struct target *t, const struct rle_control *control)
{
    long n = 0;
    for (size_t i = 0; i < t->n_threads; i++) {
        enum fate fate = fate_of(t, &t->thread[i], control);
        if (fate == ON_ITS_WAY)
            return LATER;
        if (fate == REFUSED)
            return CANNOT;
        t->thread[i].native = fate == NATIVE;
        n += fate == NATIVE;
    }
    return n;
}

static void describe(struct target *t, const struct attach_options *o, struct rle_control *c)
{
    snprintf(c->options, sizeof(c->options), "%s", o->options);
    snprintf(c->object_path, sizeof(c->object_path), "%s", o->engine_path);
    c->arguments_bytes = (uint32_t)process_arguments(t->pid, c->arguments, sizeof(c->arguments));
    c->owner = (uint64_t)o->owner;
    c->session = o->session;
    c->process_start_ns = process_start_ns(t->pid);
    c->has_fsgsbase = (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
    c->message[0] = '\0';
    c->arrived = 0;
    c->prepared = 0;
    c->wanted = 1;
}

static bool write_word(struct target *t, size_t offset, uint32_t value)
{
    return target_write_control(t, offset, &value, sizeof(value));
}

/* From here on a thread that comes out of a system call waits for the others. One that came out
 * just before may be leaving: look again. */
static long announce(struct target *t, struct rle_control *control)
{
    control->expected = UINT32_MAX;
    control->state = RLE_PRESENCE_GATHERING;
    if (!target_write_control(t, 0, control, sizeof(*control)))
        return CANNOT;
    if (!target_stop_all(t, t->base ? control->syscall_end : 0))
        return CANNOT;
    long n = choose(t, control);
    if (n >= 0 && (uint64_t)n > control->n_slots)
        n = LATER;
    return n;
}

/* All threads are stopped but those inside. @return as choose. */
static long take_all(struct target *t, const struct attach_options *o, struct rle_control *control)
{
    pid_t *tids;
    size_t n_tids = process_threads(t->pid, &tids);
    long n = choose(t, control);
    free(tids);
    if (n > 0 && control->state == RLE_PRESENCE_LEAVING)
        n = LATER;
    if (n < 0)
        return n;
    if (n > 0 && !target_equip(t, control, n_tids))
        return CANNOT;
    describe(t, o, control);
    n = announce(t, control);
    if (n >= 0 && (!write_slots(t, control) ||
                   !write_word(t, offsetof(struct rle_control, expected), (uint32_t)n)))
        n = CANNOT;
    if (n < 0) {
        write_word(t, offsetof(struct rle_control, state), RLE_PRESENCE_OUT);
        return n;
    }
    free_blocks(t, control);
    redirect(t, control);
    return n;
}

static bool wait_until_in(struct target *t)
{
    struct rle_control control;
    uint32_t state = RLE_PRESENCE_GATHERING;
    for (int i = 0;
         i < ROUNDS && (state == RLE_PRESENCE_GATHERING || state == RLE_PRESENCE_OPENING); i++) {
        target_pause();
        if (!target_state(t, &state))
            return false;
    }
    if (state == RLE_PRESENCE_IN || state == RLE_PRESENCE_LEAVING || state == RLE_PRESENCE_CLOSING)
        return true;
    if (state == RLE_PRESENCE_ABORTED && target_read_control(t, &control) && control.message[0])
        return fail(t, control.message);
    return fail(t, "its threads did not arrive in the engine");
}

/* Is it in a state to be attached to? `stale`: threads that gather have had time to. */
static long check_state(struct target *t, const struct attach_options *o,
                        const struct rle_control *control, bool stale)
{
    switch (control->state) {
    case RLE_PRESENCE_OUT:
    case RLE_PRESENCE_ABORTED:
    case RLE_PRESENCE_LEAVING: /* unless there is nobody to leave it will be out soon */
        return 0;
    case RLE_PRESENCE_GATHERING:
    case RLE_PRESENCE_OPENING:
        return stale || !control->expected ? 0 : LATER;
    case RLE_PRESENCE_CLOSING:
        return LATER;
    case RLE_PRESENCE_FIXED:
        fail(t, control->detaching ? "the engine had to leave it before, and cannot come back"
                                   : "it is being counted since its start");
        return CANNOT;
    default:
        if (o->owner && control->owner == (uint64_t)o->owner)
            return IS_IN; /* it could not leave, and stayed */
        fail(t, "it is being counted already");
        return CANNOT;
    }
}

static long try_attach(struct target *t, const struct attach_options *o, bool stale)
{
    struct rle_control control = {0};
    if (t->base && !target_read_control(t, &control)) {
        fail(t, "it has ended");
        return CANNOT;
    }
    long n = t->base ? check_state(t, o, &control, stale) : 0;
    if (n < 0)
        return n;
    n = target_stop_all(t, t->base ? control.syscall_end : 0) ? take_all(t, o, &control) : CANNOT;
    if (n == CANNOT && t->may_pass)
        n = LATER;
    target_release(t);
    return n > 0 && !wait_until_in(t) ? CANNOT : n;
}

/* Was it left in the engine by one who died meanwhile? */
static bool is_abandoned(struct target *t)
{
    struct rle_control control;
    return t->base && target_read_control(t, &control) && control.owner &&
           (control.state == RLE_PRESENCE_IN || control.state == RLE_PRESENCE_LEAVING) &&
           kill((pid_t)control.owner, 0) < 0 && errno == ESRCH;
}

bool attach(pid_t pid, const struct attach_options *options, char *why)
{
    struct target t;
    long n = CANNOT;
    if (target_open(&t, pid, options->image) &&
        (!is_abandoned(&t) || detach(pid, options->image, t.why))) {
        n = LATER;
        uint64_t begin_ns = monotonic_ns();
        for (uint64_t spent_ns = 0; spent_ns < PATIENCE_NS && n == LATER;
             spent_ns = monotonic_ns() - begin_ns) {
            n = try_attach(&t, options, spent_ns > PATIENCE_NS / 2);
            if (n == LATER)
                target_pause();
        }
        if (n == LATER && !t.may_pass)
            fail(&t, "a thread of it does not leave the engine");
    }
    target_close(&t);
    memcpy(why, t.why, REASON_BYTES);
    return n >= 0 || n == IS_IN;
}
