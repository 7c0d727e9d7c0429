#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "count/engine/arena.h"
#include "count/engine/attach.h"
#include "count/engine/branch.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/environment.h"
#include "count/engine/exec.h"
#include "count/engine/regions.h"
#include "count/engine/result.h"
#include "count/engine/signals.h"
#include "count/engine/syscalls.h"

enum {
    CHILD_STACK_BYTES = 64 << 10, /* of the engine's stack, as clone3 wants to know */
    CLONE3_WORDS_MAX = 16,
};

static const int own_signals[] = {SIGSEGV, SIGBUS, SIGTRAP}; /* RLE_OWN_SIGNALS */

/* Words of struct clone_args. */
enum { CL_FLAGS = 0, CL_STACK = 5, CL_STACK_SIZE = 6 };

/* clone and clone3 brought to one form. */
struct request {
    long nr;
    long args[6];
    uint64_t words[CLONE3_WORDS_MAX];
    uint64_t flags;
    uint64_t stack; /* the child's stack pointer; 0: the parent's */
};

static long read_request(long nr, const long *args, struct request *r)
{
    r->nr = nr;
    rle_copy(r->args, args, sizeof(r->args));
    if (nr == SYS_clone) {
        r->flags = (uint64_t)args[0];
        r->stack = (uint64_t)args[1];
        return 0;
    }
    uint64_t bytes = (uint64_t)args[1];
    if (bytes < CLONE_ARGS_SIZE_VER0)
        return -EINVAL;
    if (bytes > RLE_PAGE)
        return -E2BIG;
    for (unsigned i = 0; i < CLONE3_WORDS_MAX; i++)
        r->words[i] = 0;
    uint64_t known = bytes < sizeof(r->words) ? bytes : sizeof(r->words);
    if (rle_copy_guarded(r->words, (const void *)args[0], known))
        return -EFAULT;
    for (; known < bytes; known++) { /* what nobody knows must be zero */
        uint8_t unknown;
        if (rle_copy_guarded(&unknown, (const uint8_t *)args[0] + known, sizeof(unknown)))
            return -EFAULT;
        if (unknown)
            return -E2BIG;
    }
    r->args[1] = (long)(bytes < sizeof(r->words) ? bytes : sizeof(r->words));
    r->flags = r->words[CL_FLAGS];
    r->stack = r->words[CL_STACK] ? r->words[CL_STACK] + r->words[CL_STACK_SIZE] : 0;
    r->args[0] = (long)r->words;
    return 0;
}

static void set_stack(struct request *r, uint64_t top)
{
    if (r->nr == SYS_clone) {
        r->args[1] = (long)top;
    } else {
        r->words[CL_STACK] = top ? top - CHILD_STACK_BYTES : 0;
        r->words[CL_STACK_SIZE] = top ? CHILD_STACK_BYTES : 0;
    }
}

/* The child's private view of signal actions, where it is not to share the parent's. */
static bool own_actions(struct rle_thread *child)
{
    struct rle_actions *copy = rle_map(sizeof(*copy));
    if (!copy)
        return false;
    *copy = *child->actions;
    child->actions = copy;
    return true;
}

/* CLONE_CLEAR_SIGHAND: what was handled is no more, and the kernel has forgotten our handlers. */
static void clear_handlers(struct rle_actions *actions)
{
    for (int s = 1; s <= RLE_SIGNALS; s++) {
        bool ignored = actions->of[s].handler == RLE_SIG_IGN;
        actions->of[s] = (struct rle_action){.handler = ignored ? RLE_SIG_IGN : RLE_SIG_DFL};
    }
}

static void install_own_handlers(const struct rle_actions *actions)
{
    for (unsigned i = 0; i < sizeof(own_signals) / sizeof(own_signals[0]); i++)
        rle_install_action(own_signals[i], &actions->of[own_signals[i]]);
}

/* A thread, or a process that shares our memory. Signals are blocked: a child interrupted before
 * its segment is set would use the parent's block. */
static long clone_sharing(struct rle_thread *parent, struct request *r)
{
    uint64_t mask = rle_block_signals();
    if (parent->pending & RLE_PENDING_SIGNAL)
        return RLE_RESTART; /* delivery sets the mask */
    if (!(r->flags & CLONE_VFORK)) {
        rle_lock(&rle_engine.lock);
        rle_branch_stop_writers(); /* which only the first time finds any */
        rle_unlock(&rle_engine.lock);
    }
    struct rle_thread *child = rle_thread_new(parent);
    if (!child) {
        rle_restore_signals(mask);
        rle_detach("its result file takes no more threads: there are too many, or it cannot be "
                   "opened any more");
        return RLE_RESTART;
    }
    if (!(r->flags & CLONE_SIGHAND) && !own_actions(child)) {
        rle_restore_signals(mask);
        return -EAGAIN;
    }
    for (unsigned i = 0; i < 16; i++)
        child->reg[i] = parent->reg[i];
    child->rflags = parent->rflags;
    child->reg[RLE_RAX] = 0;
    child->reg[RLE_RCX] = parent->next_pc;
    child->reg[RLE_R11] = parent->rflags;
    child->next_pc = parent->next_pc;
    child->signal.mask = mask;
    child->shares_memory = !(r->flags & CLONE_THREAD);
    child->clears_handlers = r->flags & CLONE_CLEAR_SIGHAND;
    if (child->clears_handlers && child->actions != parent->actions)
        clear_handlers(child->actions);
    if (r->stack)
        child->reg[RLE_RSP] = r->stack;
    if (!(r->flags & CLONE_THREAD) && (r->flags & CLONE_VFORK))
        child->program_altstack = parent->program_altstack;
    set_stack(r, child->engine_sp);
    long result = rle_clone(r->nr, r->args, child);
    if (!rle_is_error(result) && !(r->flags & (CLONE_VFORK | CLONE_THREAD)))
        __atomic_store_n(&child->process, (int32_t)result, __ATOMIC_RELAXED);
    if (rle_is_error(result) || (r->flags & CLONE_VFORK)) {
        if (child->actions != parent->actions)
            rle_sys3(SYS_munmap, (long)child->actions, sizeof(*child->actions), 0);
        if (__atomic_load_n(&child->in_use, __ATOMIC_ACQUIRE))
            rle_thread_end(child);
        __atomic_store_n(&child->in_use, 0, __ATOMIC_RELEASE);
    }
    rle_restore_signals(mask);
    return result;
}

void rle_thread_start(struct rle_thread *thread)
{
    rle_thread_set_segment(thread);
    rle_thread_begin(thread);
    if (thread->clears_handlers)
        install_own_handlers(thread->actions);
    if (thread->shares_memory)
        ((struct rle_result_thread *)rle_result_record(RLE_SECTION_THREADS, thread->slot))->vfork =
            1;
    rle_restore_signals(thread->signal.mask);
}

/* The child of a fork goes on natively, from where it is in the engine's C. */
static void leave_uncounted(const char *why)
{
    rle_go_uncounted();
    if (rle_result_is_open()) {
        rle_result_uncounted(RLE_UNCOUNTED_DETACHED, why);
        rle_result_detach(why);
    }
    rle_complain(why);
}

/* In the child of a fork, which holds the engine's lock as its parent did. */
static void become_child(struct rle_thread *thread, uint64_t flags)
{
    struct rle_engine *engine = &rle_engine;
    thread->shares_memory = false;
    if (flags & CLONE_CLEAR_SIGHAND) {
        clear_handlers(thread->actions);
        install_own_handlers(thread->actions);
    }
    bool leaves = rle_attach_leaves_children();
    long error = rle_result_after_fork(leaves ? NULL : engine->options.output);
    if (error == -ENOENT && !leaves && rle_result_is_open())
        rle_go_uncounted(); /* whoever would have read it has cleared up: nothing to complain of */
    else if (error && (!leaves || !rle_result_is_open()))
        leave_uncounted("a child process gets no result file");
    else if (!rle_arenas_make_private())
        leave_uncounted("no memory for a child's copy of translated code");
    rle_arenas_tell_parent();
    engine->actions = *thread->actions;
    thread->actions = &engine->actions;
    rle_threads_after_fork(thread);
    if (rle_result_is_open()) {
        rle_regions_after_fork(thread);
        if (engine->instrument->fork_child)
            engine->instrument->fork_child((char *)thread + RLE_TB_INSTRUMENT, thread->slot);
        rle_regions_tell(thread);
    }
    rle_attach_after_fork();
}

/* A process with its own memory. Nobody translates meanwhile, so the child's copy is whole. */
static long clone_copying(struct rle_thread *thread, struct request *r)
{
    set_stack(r, 0);
    rle_lock(&rle_engine.lock);
    rle_arenas_before_fork();
    long result = rle_program_syscall(r->nr, r->args);
    if (result > 0)
        rle_arenas_await_child();
    if (result == 0) {
        become_child(thread, r->flags);
        if (r->stack)
            thread->reg[RLE_RSP] = r->stack;
    }
    rle_unlock(&rle_engine.lock);
    return result;
}

long rle_sys_clone(struct rle_thread *thread, long nr, long *args)
{
    struct request r;
    long error = read_request(nr, args, &r);
    if (error)
        return error;
    return r.flags & CLONE_VM ? clone_sharing(thread, &r) : clone_copying(thread, &r);
}

long rle_sys_fork(struct rle_thread *thread, long nr, long *args)
{
    (void)nr;
    (void)args;
    struct request r = {.nr = SYS_clone, .args = {SIGCHLD}, .flags = SIGCHLD};
    return clone_copying(thread, &r);
}

long rle_sys_vfork(struct rle_thread *thread, long nr, long *args)
{
    (void)nr;
    (void)args;
    struct request r = {.nr = SYS_clone,
                        .args = {CLONE_VM | CLONE_VFORK | SIGCHLD},
                        .flags = CLONE_VM | CLONE_VFORK | SIGCHLD};
    return clone_sharing(thread, &r);
}

/* Own signals that the program ignores must be ignored across exec. */
static void ignore_across_exec(const struct rle_thread *thread, bool undo)
{
    for (unsigned i = 0; i < sizeof(own_signals) / sizeof(own_signals[0]); i++) {
        const struct rle_action *action = &thread->actions->of[own_signals[i]];
        if (action->handler != RLE_SIG_IGN)
            continue;
        if (undo)
            rle_install_action(own_signals[i], action);
        else
            rle_sys4(SYS_rt_sigaction, own_signals[i], (long)action, 0, RLE_SIGSET_BYTES);
    }
}

/* That a program runs uncounted, or, with `undo`, that it could not be executed after all. Of a
 * child that shares memory its parent's result says so. */
static void note_uncounted(const char *why, bool undo)
{
    if (!why || rle_engine.options.mode == RLE_MODE_MIX)
        return;
    rle_lock(&rle_engine.lock);
    if (undo)
        rle_result_uncounted_undo(RLE_UNCOUNTED_CHILD, why);
    else
        rle_result_uncounted(RLE_UNCOUNTED_CHILD, why);
    rle_unlock(&rle_engine.lock);
}

static long exec_uncounted(long nr, const long *args, const char *why)
{
    note_uncounted(why, false);
    long result = rle_program_syscall(nr, args);
    note_uncounted(why, true);
    return result;
}

static void read_exec(long nr, const long *args, struct rle_exec *ret)
{
    unsigned at = nr == SYS_execve ? 0 : 1;
    *ret = (struct rle_exec){.dirfd = at ? args[0] : AT_FDCWD,
                             .path = (const char *)args[at],
                             .argv = (const char *const *)args[at + 1],
                             .envp = (const char *const *)args[at + 2],
                             .flags = at ? args[at + 3] : 0};
}

static long exec_preloaded(const struct rle_exec *exec, long nr, const long *args)
{
    struct rle_environment environment = {0};
    long changed[6];
    long result = rle_environment_for_exec(exec->envp, &environment);
    if (result)
        return result;
    rle_copy(changed, args, sizeof(changed));
    changed[nr == SYS_execve ? 2 : 3] = (long)environment.pointers;
    result = rle_program_syscall(nr, changed);
    rle_environment_release(&environment);
    return result;
}

static long exec_launched(const struct rle_exec *exec, bool by_descriptor, long nr,
                          const long *args)
{
    struct rle_launch launch;
    long error = rle_launch_for_exec(exec, by_descriptor, &launch);
    if (error == RLE_LAUNCH_CANNOT)
        return exec_uncounted(nr, args, "a static program was started that has no name in /proc");
    if (error)
        return error;
    long changed[6] = {(long)launch.path, (long)launch.argv, (long)exec->envp};
    long result = rle_program_syscall(SYS_execve, changed);
    rle_launch_release(&launch);
    if (result == RLE_RESTART)
        return result;
    /* The program may be there where the launcher is not, as behind chroot. */
    return exec_uncounted(nr, args, "a program was started where the launcher cannot be");
}

static long exec(const struct rle_thread *thread, long nr, const long *args)
{
    struct rle_exec exec;
    const char *why = "a program was started that is not followed";
    if (!rle_engine.options.follow || thread->traced)
        return exec_uncounted(nr, args, why);
    read_exec(nr, args, &exec);
    enum rle_exec_way way = rle_exec_way(&exec, &why);
    if (way == RLE_EXEC_PRELOADED)
        return exec_preloaded(&exec, nr, args);
    if (way == RLE_EXEC_UNREACHED)
        return exec_uncounted(nr, args, why);
    return exec_launched(&exec, way == RLE_EXEC_BY_DESCRIPTOR, nr, args);
}

long rle_sys_execve(struct rle_thread *thread, long nr, long *args)
{
    ignore_across_exec(thread, false);
    if (!thread->shares_memory) {
        rle_regions_flush();
        rle_result_exec(false);
    }
    long result = exec(thread, nr, args);
    if (!thread->shares_memory)
        rle_result_exec(true);
    ignore_across_exec(thread, true);
    return result;
}

long rle_sys_exit(struct rle_thread *thread, long nr, long *args)
{
    rle_block_signals();
    if (thread->pending & RLE_PENDING_SIGNAL)
        return RLE_RESTART; /* delivery sets the mask */
    rle_thread_end(thread);
    if (thread->shares_memory)
        return rle_program_syscall(nr, args); /* the parent lets go of the slot */
    if (rle_thread_is_last(thread))
        rle_result_exit((int)args[0]);
    rle_thread_exit((int)args[0], &thread->in_use);
}

long rle_sys_exit_group(struct rle_thread *thread, long nr, long *args)
{
    rle_thread_end(thread);
    if (!thread->shares_memory) {
        rle_regions_flush();
        rle_result_exit((int)args[0]);
    } /* else the parent, who waits, lets go of the slot */
    return rle_program_syscall(nr, args);
}
