#include "count/engine/launch/inject.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "count/engine/launch/remote.h"

enum {
    WORD_BYTES = 8,
    BELOW_STACK = 16384, /* where the path is put: unused so early */
    SYSCALL_STOP = SIGTRAP | 0x80,
};

/* syscall; int3 */
static const uint64_t syscall_code = 0xCC050F;

struct victim {
    struct remote remote; /* first */
    pid_t pid;
    struct user_regs_struct regs; /* as the program is to find them */
    uint64_t code;                /* what its first word of code was */
};

static bool stopped_by(pid_t pid, int expected)
{
    int status;
    while (waitpid(pid, &status, __WALL) == pid) {
        if (!WIFSTOPPED(status))
            return false;
        if (status >> 8 == expected)
            return true;
        int signal = status >> 16 ? 0 : WSTOPSIG(status); /* events carry no signal */
        if (signal == (SIGTRAP | 0x80) || signal == SIGTRAP)
            signal = 0;
        if (ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal) < 0)
            return false;
    }
    return false;
}

/* Let the victim make a system call. @return its result, -EIO if that does not work. */
static long call(struct remote *remote, long nr, const uint64_t args[6])
{
    const struct victim *v = (const struct victim *)remote;
    struct user_regs_struct regs = v->regs;
    remote_set_call(&regs, nr, args);
    if (ptrace(PTRACE_SETREGS, v->pid, NULL, &regs) < 0 ||
        ptrace(PTRACE_CONT, v->pid, NULL, NULL) < 0 || !stopped_by(v->pid, SIGTRAP) ||
        ptrace(PTRACE_GETREGS, v->pid, NULL, &regs) < 0)
        return -EIO;
    return (long)regs.rax;
}

/* The victim stands behind its exec. */
static const char *take(struct victim *v, const struct image *image)
{
    if (ptrace(PTRACE_GETREGS, v->pid, NULL, &v->regs) < 0)
        return "its registers cannot be read";
    v->regs.orig_rax = (unsigned long long)-1;
    uint64_t entry = v->regs.rip, base = 0;
    errno = 0;
    v->code = (uint64_t)ptrace(PTRACE_PEEKTEXT, v->pid, (void *)entry, NULL);
    if (errno || !remote_poke(v->pid, entry, (v->code & ~0xFFFFFFull) | syscall_code))
        return "its code cannot be written";
    uint64_t scratch = (v->regs.rsp - BELOW_STACK) & ~(uint64_t)(WORD_BYTES - 1);
    const char *error = remote_map_image(&v->remote, image, scratch, &base);
    remote_poke(v->pid, entry, v->code);
    if (!error) {
        v->regs.rax = entry;
        v->regs.rip = base + image->header->e_entry;
    }
    if (ptrace(PTRACE_SETREGS, v->pid, NULL, &v->regs) < 0)
        return "its registers cannot be set";
    return error;
}

const char *inject(pid_t pid, const struct image *image)
{
    struct victim v = {.remote = {pid, call}, .pid = pid};
    if (!stopped_by(pid, SIGTRAP | PTRACE_EVENT_EXEC << 8))
        return NULL; /* the exec failed; its caller says so */
    const char *error = "it does not get out of exec";
    if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && stopped_by(pid, SYSCALL_STOP))
        error = take(&v, image);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return error;
}
