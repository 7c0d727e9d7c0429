#include "count/engine/syscalls.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/mman.h>

#include "count/engine/arena.h"
#include "count/engine/attach.h"
#include "count/engine/branch.h"
#include "count/engine/confine.h"
#include "count/engine/corrections.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/evacuate.h"
#include "count/engine/maps.h"
#include "count/engine/overwrites.h"
#include "count/engine/result.h"
#include "count/engine/signals.h"

enum {
    ARGS = 6,
    SYSCALL_INSN_BYTES = 2,
    ARCH_SHADOW_STACK_ENABLE = 0x5001, /* ARCH_SHSTK_ENABLE */
    ARCH_REQUEST_STATE = 0x1023,       /* ARCH_REQ_XCOMP_PERM */
};

static void mappings_changed(uint64_t address, uint64_t bytes)
{
    if (bytes == 0 || address + bytes < address)
        return;
    rle_lock(&rle_engine.lock);
    rle_regions_forget();
    rle_unlock(&rle_engine.lock);
    rle_invalidate(address, address + bytes);
}

/* The tables, thread blocks, the result, the object itself. */
static bool is_own_memory(uint64_t low, uint64_t high)
{
    return rle_far_overlaps(low, high) || rle_branch_tables_overlap(low, high) ||
           (low < rle_control.object_end && high > rle_control.object_start);
}

/* Changes of mappings at [low, low + bytes) concern the engine: 0 if they do not. Where translated
 * code lies, everybody leaves before. What else is the engine's, threads that are in system calls
 * need when they come back: a thread that is alone can leave, others are refused the memory.
 * @return RLE_RESTART: the call is made when the thread has left; an error: the call's. */
static long concerns_engine(const struct rle_thread *thread, uint64_t low, uint64_t bytes)
{
    uint64_t high = low + bytes;
    bool is_own = high > low && is_own_memory(low, high);
    if (is_own && !rle_thread_is_last(thread)) {
        rle_result_say("a thread was refused memory where the counting engine's own lies (ENOMEM)");
        return -ENOMEM;
    }
    if (!is_own && (high <= low || !rle_arenas_overlap(low, high)))
        return 0;
    rle_evacuate(thread, is_own ? "the program maps memory where the counting engine's own lies"
                                : "the program maps memory where translated code lies");
    return RLE_RESTART;
}

/* munmap, mprotect, pkey_mprotect: (address, bytes, …). Invalidate first: another thread may map
 * something else there as soon as the kernel is done. */
static long change_mapping(struct rle_thread *thread, long nr, long *args)
{
    uint64_t bytes = ((uint64_t)args[1] + RLE_PAGE - 1) & -RLE_PAGE;
    long answer = concerns_engine(thread, (uint64_t)args[0], bytes);
    if (answer)
        return answer;
    mappings_changed((uint64_t)args[0], bytes);
    return rle_program_syscall(nr, args);
}

static long map(struct rle_thread *thread, long nr, long *args)
{
    uint64_t low = (uint64_t)args[0], bytes = (uint64_t)args[1];
    if (args[3] & MAP_FIXED) {
        long answer = concerns_engine(thread, low, bytes);
        if (answer)
            return answer;
        mappings_changed(low, bytes);
    }
    long at = rle_program_syscall(nr, args);
    if (!rle_is_error(at)) {
        rle_lock(&rle_engine.lock);
        rle_regions_forget();
        rle_unlock(&rle_engine.lock);
    }
    return at;
}

static long remap(struct rle_thread *thread, long nr, long *args)
{
    bool is_fixed = args[3] & MREMAP_FIXED;
    long answer = concerns_engine(thread, (uint64_t)args[0], (uint64_t)args[1]);
    if (!answer && is_fixed)
        answer = concerns_engine(thread, (uint64_t)args[4], (uint64_t)args[2]);
    if (answer)
        return answer;
    mappings_changed((uint64_t)args[0], (uint64_t)args[1]);
    if (is_fixed)
        mappings_changed((uint64_t)args[4], (uint64_t)args[2]);
    return rle_program_syscall(nr, args);
}

static long attach_memory(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    long result = rle_program_syscall(nr, args);
    rle_lock(&rle_engine.lock);
    rle_regions_forget();
    rle_unlock(&rle_engine.lock);
    return result;
}

static long arch_prctl(struct rle_thread *thread, long nr, long *args)
{
    switch (args[0]) {
    case ARCH_REQUEST_STATE:
        return rle_sys_request_state(thread, nr, args);
    case ARCH_SET_GS: /* the engine lives there */
        rle_detach("the program uses the gs segment");
        return RLE_RESTART;
    case ARCH_GET_GS: {
        uint64_t none = 0;
        return rle_copy_guarded((void *)args[1], &none, sizeof(none));
    }
    case ARCH_SHADOW_STACK_ENABLE: /* returns are jumps here */
        return -EOPNOTSUPP;
    default:
        return rle_program_syscall(nr, args);
    }
}

/* See rseq.h: programs must do without, as on kernels that lack it. Where the C library found it at
 * its start it insists on it for every thread: such a thread registers when the engine leaves. */
static long restartable(struct rle_thread *thread, long nr, long *args)
{
    if (rle_control.state != RLE_PRESENCE_FIXED)
        return rle_rseq_defer(&thread->rseq, args);
    return rle_engine.refuse_rseq ? -ENOSYS : rle_program_syscall(nr, args);
}

/* The engine's tables are address space for the most part: memory is locked as it is touched, that
 * of the program too. */
static long lock_all(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    long touched[ARGS] = {args[0] | MCL_ONFAULT};
    long result = args[0] & (MCL_CURRENT | MCL_FUTURE) ? rle_program_syscall(nr, touched) : -EINVAL;
    return result == -EINVAL ? rle_program_syscall(nr, args) : result; /* before Linux 4.4 */
}

/* The engine raises a limit for a moment (result.c). */
static long change_limit(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    rle_lock(&rle_engine.lock);
    long result = rle_program_syscall(nr, args);
    rle_unlock(&rle_engine.lock);
    return result;
}

/* A debugger's child: breakpoints and single steps mean nothing in translated code, so the program
 * it will exec runs natively. */
static long trace(struct rle_thread *thread, long nr, long *args)
{
    long result = rle_program_syscall(nr, args);
    if (args[0] == PTRACE_TRACEME && result == 0)
        thread->traced = true;
    return result;
}

/* One that is to be debugged without executing another program stops itself, for the debugger to
 * look at its own code. A child that shares memory could not leave alone. */
static long send_signal(struct rle_thread *thread, long nr, long *args)
{
    if (!thread->traced || thread->shares_memory)
        return rle_program_syscall(nr, args);
    rle_detach("it asked to be debugged, and stops for that");
    return RLE_RESTART;
}

/* Leave before, rather than be the reason why the program is ended. */
static long confine(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    const char *reason = rle_confine_reason(nr, args);
    if (!reason)
        return rle_program_syscall(nr, args);
    rle_detach(reason);
    return RLE_RESTART;
}

static rle_syscall_handler *handler_of(long nr)
{
    switch (nr) {
    case SYS_exit:
        return rle_sys_exit;
    case SYS_exit_group:
        return rle_sys_exit_group;
    case SYS_clone:
    case SYS_clone3:
        return rle_sys_clone;
    case SYS_fork:
        return rle_sys_fork;
    case SYS_vfork:
        return rle_sys_vfork;
    case SYS_execve:
    case SYS_execveat:
        return rle_sys_execve;
    case SYS_rt_sigaction:
        return rle_sys_sigaction;
    case SYS_rt_sigreturn:
        return rle_sys_sigreturn;
    case SYS_sigaltstack:
        return rle_sys_sigaltstack;
    case SYS_rt_sigsuspend:
        return rle_sys_sigsuspend;
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return rle_sys_wait_masked;
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return change_mapping;
    case SYS_mmap:
        return map;
    case SYS_mremap:
        return remap;
    case SYS_shmat:
    case SYS_shmdt:
        return attach_memory;
    case SYS_arch_prctl:
        return arch_prctl;
    case SYS_ptrace:
        return trace;
    case SYS_prctl:
    case SYS_seccomp:
        return confine;
    case SYS_setrlimit:
    case SYS_prlimit64:
        return change_limit;
    case SYS_mlockall:
        return lock_all;
    case SYS_rseq:
        return restartable;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
        return send_signal;
    default:
        return rle_overwriting(nr);
    }
}

void rle_emulate_syscall(struct rle_thread *thread, const struct rle_stub *stub)
{
    static const uint8_t registers[ARGS] = {RLE_RDI, RLE_RSI, RLE_RDX, RLE_R10, RLE_R8, RLE_R9};
    long args[ARGS];
    long nr = (int32_t)thread->reg[RLE_RAX]; /* the kernel looks at no more */
    for (unsigned i = 0; i < ARGS; i++)
        args[i] = (long)thread->reg[registers[i]];
    thread->next_pc = stub->pc;
    rle_syscall_handler *handler = handler_of(nr);
    long result;
    if (thread->pending)
        result = RLE_RESTART;
    else if (handler)
        result = handler(thread, nr, args);
    else
        result = rle_program_syscall(nr, args);
    if (result == RLE_RESTART) { /* as if it had not been reached yet */
        thread->next_pc = stub->pc - SYSCALL_INSN_BYTES;
        rle_correct(thread, rle_fragment(stub->fragment)->record, stub->insn);
        return;
    }
    thread->waits = RLE_WAITS_NOT;
    if (!(thread->pending & RLE_PENDING_SIGNAL))
        thread->has_temporary_mask = false;
    thread->reg[RLE_RAX] = (uint64_t)result;
    thread->reg[RLE_RCX] = stub->pc;
    thread->reg[RLE_R11] = thread->rflags;
}

void rle_leave(struct rle_thread *thread)
{
    if (rle_control.state == RLE_PRESENCE_FIXED) {
        __atomic_store_n(&thread->parked, 1, __ATOMIC_RELEASE);
        rle_uninstall_signals(thread);
        rle_go_native();
    }
    if (thread->shares_memory) /* its parent, which waits for it, could not leave with it */
        return;
    if (thread->waits) /* first make the call again: the kernel remembers how for the thread only
                          until it takes a signal */
        return;
    uint64_t mask = rle_block_signals();
    if (thread->pending & RLE_PENDING_SIGNAL)
        return; /* delivery sets the mask */
    if (rle_park(thread)) {
        struct rle_native_state native = {.pc = thread->next_pc,
                                          .cs = RLE_USER_CS,
                                          .rflags = thread->rflags & ~RLE_TRAP_FLAG,
                                          .sp = thread->reg[RLE_RSP],
                                          .ss = RLE_USER_SS};
        rle_copy(native.reg, thread->reg, sizeof(native.reg));
        rle_leave_block(thread);
        rle_restore_signals(mask);
        rle_return_natively(&native);
    }
    rle_restore_signals(mask);
}
