#include "count/engine/launch/target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    CAVE_BYTES = 128,
    SYSCALL_INSN_BYTES = 2,
    PAUSE_NS = 200000,
    STOP_NS_PER_TRY = 200000,
    TRIES_PER_LOOK = 100,
    ROUNDS_MAX = 1000,
    CALL_TRIES = 100,
    PATH_BYTES = 64,
};

/** Until a thread that was asked to stop is taken for one that does not. */
#define STOP_PATIENCE_NS 3000000000ull

static bool fail(struct target *t, const char *why)
{
    snprintf(t->why, sizeof(t->why), "%s", why);
    return false;
}

void target_pause(void)
{
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

/* ---- the engine in it --------------------------------------------------------------------------
 */

struct search {
    struct target *target;
    struct stat object;
};

static bool is_engine(void *context, const struct process_mapping *m)
{
    struct search *s = context;
    struct rle_control control;
    if (m->offset != 0 || m->inode != s->object.st_ino || m->device != s->object.st_dev)
        return false;
    s->target->base = m->low;
    if (target_read_control(s->target, &control) &&
        (control.ready || control.state == RLE_PRESENCE_FIXED))
        return true;
    s->target->base = 0; /* someone gave up before it was relocated, or it is not used */
    return false;
}

bool target_open(struct target *t, pid_t pid, const struct image *image)
{
    struct search search = {.target = t};
    *t = (struct target){.pid = pid, .image = image};
    if (!process_can_be_counted(pid, t->why))
        return false;
    if (stat(image->path, &search.object) < 0)
        return fail(t, "the engine is gone");
    process_mappings(pid, is_engine, &search);
    return true;
}

void target_close(struct target *t)
{
    target_release(t);
    free(t->thread);
    t->thread = NULL;
}

uint64_t target_control(const struct target *t)
{
    return t->base + t->image->control;
}

bool target_read_control(struct target *t, struct rle_control *ret)
{
    return remote_read(t->pid, target_control(t), ret, sizeof(*ret)) &&
           memcmp(ret->magic, RLE_CONTROL_MAGIC, sizeof(ret->magic)) == 0 &&
           ret->version == RLE_CONTROL_VERSION;
}

bool target_write_control(struct target *t, size_t offset, const void *from, size_t bytes)
{
    return remote_write(t->pid, target_control(t) + offset, from, bytes) ||
           fail(t, "its memory cannot be written");
}

bool target_state(struct target *t, uint32_t *ret_state)
{
    return remote_read(t->pid, target_control(t) + offsetof(struct rle_control, state), ret_state,
                       sizeof(*ret_state)) ||
           fail(t, "it has ended");
}

/* ---- stopping ----------------------------------------------------------------------------------
 */

static bool refused(struct target *t)
{
    static const char yama[] = "/proc/sys/kernel/yama/ptrace_scope";
    int scope = 0;
    FILE *file = fopen(yama, "re");
    if (file && fscanf(file, "%d", &scope) != 1)
        scope = 0;
    if (file)
        fclose(file);
    if (scope > 0)
        snprintf(t->why, sizeof(t->why),
                 "tracing it is not permitted: kernel.yama.ptrace_scope is %d; `sysctl "
                 "kernel.yama.ptrace_scope=0`, or root, enables it",
                 scope);
    else
        snprintf(t->why, sizeof(t->why),
                 "tracing it is not permitted: it may belong to another user or be protected");
    return false;
}

enum stop { STOPPED, GONE, IS_STOPPED, SLEEPS, DOES_NOT };

/* Wait until it stands in the stop that PTRACE_INTERRUPT asked for. Signals are delivered as if
 * nobody traced it. A thread that sleeps too deeply may do so for others that are stopped already:
 * it is waited for only with `patience`. Past `deadline_ns` it is looked at once. */
static enum stop await_stop(pid_t pid, pid_t tid, uint64_t deadline_ns, bool patience)
{
    int status;
    for (int tries = 1;; tries++) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got < 0 || (got == tid && !WIFSTOPPED(status)))
            return GONE;
        if (got == 0) {
            if (!patience && tries % TRIES_PER_LOOK == 0 && process_sleeps_deeply(pid, tid))
                return SLEEPS;
            if (monotonic_ns() >= deadline_ns)
                return DOES_NOT;
            nanosleep(&(struct timespec){0, STOP_NS_PER_TRY}, NULL);
            continue;
        }
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_STOP)
            return signal == SIGTRAP ? STOPPED : IS_STOPPED;
        if (event || signal == (SIGTRAP | 0x80))
            signal = 0;
        ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
    }
}

static bool wait_for_stop(struct target *t, pid_t tid)
{
    switch (await_stop(t->pid, tid, monotonic_ns() + STOP_PATIENCE_NS, false)) {
    case STOPPED:
        return true;
    case GONE:
        return false;
    case IS_STOPPED:
        return fail(t, "it is stopped; continue it first (SIGCONT)");
    case SLEEPS:
        t->may_pass = true;
        break;
    case DOES_NOT:
        break;
    }
    return fail(t, "one of its threads does not stop: it waits for a device or for a child "
                   "process to begin");
}

bool target_waits_without_limit(const struct user_regs_struct *r)
{
    enum { IORING_ENTER_EXT_ARG_FLAG = 8 };
    switch ((long)r->orig_rax) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return (int)r->r10 < 0;
    case SYS_epoll_pwait2:
    case SYS_semtimedop:
        return r->r10 == 0;
    case SYS_io_getevents:
    case SYS_io_pgetevents:
        return r->r8 == 0;
    case SYS_rt_sigtimedwait:
        return r->rdx == 0;
    case SYS_io_uring_enter:
        return !(r->r10 & IORING_ENTER_EXT_ARG_FLAG);
    case SYS_semop:
    case SYS_msgrcv:
    case SYS_msgsnd:
        return true;
    default:
        return false;
    }
}

/* A thread that was stopped in such a call makes it again. */
static void call_again(const struct tracee *tracee)
{
    struct user_regs_struct r = tracee->regs;
    if ((long)r.orig_rax < 0 || (long)r.rax != -EINTR || !target_waits_without_limit(&r))
        return;
    r.rax = r.orig_rax;
    r.orig_rax = (unsigned long long)-1;
    r.rip -= SYSCALL_INSN_BYTES;
    ptrace(PTRACE_SETREGS, tracee->tid, NULL, &r);
}

static void let_go(pid_t tid)
{
    int status;
    if (ptrace(PTRACE_DETACH, tid, NULL, NULL) < 0 && errno == ESRCH &&
        waitpid(tid, &status, __WALL | WNOHANG) == tid && WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* Ask it to stop. False if it is gone, or tracing it is refused (then `why` is set). One that did
 * not stop the last time is still to. */
static bool begin_stop(struct target *t, pid_t tid)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0) {
        if (errno == ESRCH || process_has_ended(t->pid, tid))
            return false;
        if (!process_is_ours(t->pid, tid))
            return refused(t);
    }
    return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
}

static bool is_known(const struct target *t, pid_t tid)
{
    for (size_t i = 0; i < t->n_threads; i++)
        if (t->thread[i].tid == tid)
            return true;
    return false;
}

/* Ask all to stop that have not been, and do not return to `inside`. They do so at the same time.
 * @return false if one cannot be asked. */
static bool begin_stops(struct target *t, uint64_t inside)
{
    pid_t *tids;
    size_t n = process_threads(t->pid, &tids);
    struct tracee *room = realloc(t->thread, (t->n_threads + n + 1) * sizeof(*room));
    bool possible = room != NULL && n > 0;
    t->why[0] = '\0';
    t->may_pass = false;
    if (room)
        t->thread = room;
    if (!possible)
        fail(t, "it has ended");
    for (size_t i = 0; possible && i < n; i++) {
        /* One of ours that looks like that was late the last time, and stands in its stop by now.
         */
        if (is_known(t, tids[i]) || (inside && process_waits_at(t->pid, tids[i], inside) &&
                                     !process_is_ours(t->pid, tids[i])))
            continue;
        if (begin_stop(t, tids[i]))
            t->thread[t->n_threads++] = (struct tracee){.tid = tids[i]};
        possible = !t->why[0];
    }
    free(tids);
    return possible;
}

/* Wait for those from `first` on, and forget those that are gone. */
static bool end_stops(struct target *t, size_t first)
{
    size_t kept = first;
    bool all = true;
    for (size_t i = first; i < t->n_threads; i++) {
        struct tracee tracee = t->thread[i];
        tracee.stopped = all && wait_for_stop(t, tracee.tid) &&
                         ptrace(PTRACE_GETREGS, tracee.tid, NULL, &tracee.regs) == 0;
        all = all && !t->why[0];
        if (tracee.stopped || !all)
            t->thread[kept++] = tracee;
        else
            let_go(tracee.tid);
    }
    t->n_threads = kept;
    return all;
}

bool target_stop_all(struct target *t, uint64_t inside)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        size_t before = t->n_threads;
        bool asked = begin_stops(t, inside);
        if (!end_stops(t, before) || !asked)
            return false;
        if (t->n_threads == before) /* those that are stopped make no new ones */
            return true;
    }
    return fail(t, "it starts threads faster than they can be stopped");
}

bool target_stop_some(struct target *t, uint64_t inside)
{
    size_t before = t->n_threads;
    bool asked = begin_stops(t, inside);
    return end_stops(t, before) && asked;
}

void target_let_go(const struct tracee *tracee)
{
    if (tracee->stopped && !tracee->redirected)
        call_again(tracee);
    let_go(tracee->tid);
}

/* Let it go if it stands, or is gone, by now. */
static bool is_let_go(struct target *t, struct tracee *tracee)
{
    enum stop stop = STOPPED;
    if (!tracee->stopped) {
        stop = await_stop(t->pid, tracee->tid, 0, true);
        tracee->stopped =
            stop == STOPPED && ptrace(PTRACE_GETREGS, tracee->tid, NULL, &tracee->regs) == 0;
    }
    if (stop == DOES_NOT)
        return false;
    target_let_go(tracee);
    return true;
}

/* Each as soon as it stands: others may need it to come to their stop, in which the kernel would
 * leave them, and have as long for that as one has. Who was not waited for may stand as well. */
void target_release(struct target *t)
{
    uint64_t deadline_ns = monotonic_ns() + STOP_PATIENCE_NS;
    for (;;) {
        size_t late = 0;
        for (size_t i = 0; i < t->n_threads; i++)
            if (!is_let_go(t, &t->thread[i]))
                t->thread[late++] = t->thread[i];
        t->n_threads = late;
        if (late == 0 || monotonic_ns() >= deadline_ns)
            break;
        target_pause();
    }
    for (size_t i = 0; i < t->n_threads; i++)
        target_let_go(&t->thread[i]);
    t->n_threads = 0;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static bool see_cave(void *context, const struct process_mapping *m)
{
    struct target *t = context;
    uint8_t tail[CAVE_BYTES];
    if (m->flags[2] != 'x' || m->flags[3] != 'p' || m->high < m->low + PAGE_BYTES ||
        !remote_read(t->pid, m->high - CAVE_BYTES, tail, CAVE_BYTES))
        return false;
    for (unsigned i = 0; i < CAVE_BYTES; i++)
        if (tail[i])
            return false;
    t->cave = m->high - CAVE_BYTES;
    return true;
}

static bool write_cave(struct target *t, const uint8_t code[CAVE_BYTES])
{
    for (unsigned i = 0; i < CAVE_BYTES; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, code + i, sizeof(word));
        if (!remote_poke(t->thread[0].tid, t->cave + i, word))
            return false;
    }
    return true;
}

static void put_restore(uint8_t **at, uint8_t rex, uint8_t opcode, uint64_t value)
{
    *(*at)++ = rex;
    *(*at)++ = opcode; /* mov r64, imm64 */
    memcpy(*at, &value, sizeof(value));
    *at += sizeof(value);
}

/* As the kernel does when nothing but a stop interrupted a system call. */
static void make_call_again(struct user_regs_struct *r)
{
    enum { RESTARTSYS = 512, RESTARTNOINTR, RESTARTNOHAND, RESTART_BLOCK = 516 };
    long result = (long)r->rax;
    if ((long)r->orig_rax < 0)
        return;
    if (result == -RESTARTSYS || result == -RESTARTNOINTR || result == -RESTARTNOHAND)
        r->rax = r->orig_rax;
    else if (result == -RESTART_BLOCK)
        r->rax = SYS_restart_syscall;
    else
        return;
    r->rip -= SYSCALL_INSN_BYTES;
}

/* syscall; restore what it and its arguments changed; jump back. */
static void assemble(const struct user_regs_struct *stopped, uint8_t code[CAVE_BYTES])
{
    static const uint8_t syscall[] = {0x0F, 0x05}, jmp_rip[] = {0xFF, 0x25, 0, 0, 0, 0};
    enum { REX_W = 0x48, REX_WB = 0x49, MOV = 0xB8 };
    struct user_regs_struct r = *stopped;
    uint8_t *at = code;
    make_call_again(&r);
    memset(code, 0, CAVE_BYTES);
    memcpy(at, syscall, sizeof(syscall));
    at += sizeof(syscall);
    put_restore(&at, REX_W, MOV + 0, r.rax);
    put_restore(&at, REX_W, MOV + 1, r.rcx);
    put_restore(&at, REX_W, MOV + 2, r.rdx);
    put_restore(&at, REX_W, MOV + 6, r.rsi);
    put_restore(&at, REX_W, MOV + 7, r.rdi);
    put_restore(&at, REX_WB, MOV + 0, r.r8);
    put_restore(&at, REX_WB, MOV + 1, r.r9);
    put_restore(&at, REX_WB, MOV + 2, r.r10);
    put_restore(&at, REX_WB, MOV + 3, r.r11);
    memcpy(at, jmp_rip, sizeof(jmp_rip));
    at += sizeof(jmp_rip);
    memcpy(at, &r.rip, sizeof(r.rip));
}

/* Let it run to the next stop at a system call. False if a signal came first: it is delivered, on
 * the state that the thread really has, and what that has become is read anew. */
static bool to_syscall_stop(struct target *t, struct tracee *agent)
{
    int status, signal = 0;
    if (ptrace(PTRACE_SYSCALL, agent->tid, NULL, NULL) < 0 ||
        waitpid(agent->tid, &status, __WALL) != agent->tid || !WIFSTOPPED(status))
        return fail(t, "it has ended");
    if (status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80))
        return true;
    if (status >> 16 == 0)
        signal = WSTOPSIG(status);
    ptrace(PTRACE_SETREGS, agent->tid, NULL, &agent->regs);
    ptrace(PTRACE_INTERRUPT, agent->tid, NULL, NULL);
    ptrace(PTRACE_CONT, agent->tid, NULL, (void *)(intptr_t)signal);
    if (wait_for_stop(t, agent->tid))
        ptrace(PTRACE_GETREGS, agent->tid, NULL, &agent->regs);
    return false;
}

/* Behind the call it goes on as it was when it was stopped; to the kernel that must be a stop in
 * which it looks for system calls to restart. */
static bool come_back(struct target *t, struct tracee *agent)
{
    if (ptrace(PTRACE_SETREGS, agent->tid, NULL, &agent->regs) < 0 ||
        ptrace(PTRACE_INTERRUPT, agent->tid, NULL, NULL) < 0 ||
        ptrace(PTRACE_CONT, agent->tid, NULL, NULL) < 0)
        return fail(t, "it has ended");
    return wait_for_stop(t, agent->tid) &&
           ptrace(PTRACE_GETREGS, agent->tid, NULL, &agent->regs) == 0;
}

static long call_once(struct target *t, long nr, const uint64_t args[6], bool *ret_again)
{
    struct tracee *agent = &t->thread[0];
    uint8_t code[CAVE_BYTES];
    struct user_regs_struct regs = agent->regs;
    assemble(&regs, code);
    if (!write_cave(t, code))
        return -EIO;
    regs.rip = t->cave;
    remote_set_call(&regs, nr, args);
    if (ptrace(PTRACE_SETREGS, agent->tid, NULL, &regs) < 0)
        return -EIO;
    *ret_again = !to_syscall_stop(t, agent);
    if (*ret_again)
        return -EINTR;
    if (!to_syscall_stop(t, agent) || ptrace(PTRACE_GETREGS, agent->tid, NULL, &regs) < 0 ||
        !come_back(t, agent))
        return -EIO;
    return (long)regs.rax;
}

static long call(struct remote *remote, long nr, const uint64_t args[6])
{
    static const uint8_t nothing[CAVE_BYTES];
    struct target *t = (struct target *)remote;
    bool again = true;
    long result = -EIO;
    for (int tries = 0; again && tries < CALL_TRIES; tries++) {
        again = false;
        result = call_once(t, nr, args, &again);
    }
    write_cave(t, nothing);
    return result;
}

/* ---- equipment ---------------------------------------------------------------------------------
 */

static bool prepare_calls(struct target *t)
{
    t->remote = (struct remote){t->thread[0].tid, call};
    t->cave = 0;
    t->why[0] = '\0';
    return process_mappings(t->pid, see_cave, t) ||
           fail(t, "there is no unused end of a page of code in it, to make system calls from");
}

/* A call that failed may have said why. */
static bool fail_unless_known(struct target *t, const char *why)
{
    return t->why[0] ? false : fail(t, why);
}

/* Where all that a process maps is locked the engine's tables would have to be in memory whole. */
static bool map_slots(struct target *t, struct rle_control *control, size_t n)
{
    uint64_t locked = process_locked_bytes(t->pid), bytes = n * RLE_ATTACH_SLOT_BYTES;
    long at = remote_map(&t->remote, 0, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (remote_failed(at))
        return fail_unless_known(t, "no memory can be mapped into it");
    if (process_locked_bytes(t->pid) > locked) {
        t->remote.call(&t->remote, SYS_munmap, (uint64_t[6]){(uint64_t)at, bytes});
        return fail(t, "it locks all its memory (mlockall)");
    }
    control->slots = (uint64_t)at;
    control->n_slots = n;
    return true;
}

bool target_equip(struct target *t, struct rle_control *control, size_t n_slots)
{
    uint64_t slots = control->slots, n = control->n_slots;
    if (t->base && n >= n_slots)
        return true;
    if (!prepare_calls(t) || !map_slots(t, control, n_slots))
        return false;
    if (t->base) {
        t->remote.call(&t->remote, SYS_munmap, (uint64_t[6]){slots, n * RLE_ATTACH_SLOT_BYTES});
        return true;
    }
    slots = control->slots;
    const char *error = remote_map_image(&t->remote, t->image, slots, &t->base);
    if (error || !target_read_control(t, control)) {
        t->base = 0;
        return fail_unless_known(t, error ? error : "the engine cannot be read back");
    }
    control->slots = slots;
    control->n_slots = n_slots;
    control->ready = 1;
    return target_write_control(t, 0, control, sizeof(*control));
}
