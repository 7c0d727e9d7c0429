/* Children that begin without their parent's handlers (CLONE_CLEAR_SIGHAND, as newer C libraries
 * start programs), with memory of their own and in their parent's. */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ull
#endif

enum { TICKS = 100, TICK_US = 200, ROUNDS = 250 };

static volatile int got;
static volatile int *volatile nowhere; /* NULL */

static void note(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    got++;
}

static void leave(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    _exit(11);
}

static long begin(uint64_t flags)
{
    struct clone_args args;
    memset(&args, 0, sizeof(args));
    args.flags = CLONE_CLEAR_SIGHAND | flags;
    args.exit_signal = SIGCHLD;
    return syscall(SYS_clone3, &args, sizeof(args));
}

static int is_default(int signal)
{
    struct sigaction action;
    sigaction(signal, NULL, &action);
    return action.sa_handler == SIG_DFL;
}

static void tick(void)
{
    struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
    handle(SIGALRM, note, 0);
    setitimer(ITIMER_REAL, &every, NULL);
    for (got = 0; got < TICKS;)
        loop_fmul_like(ROUNDS);
}

static void be_child(int what)
{
    struct sigaction ignored;
    sigaction(SIGHUP, NULL, &ignored);
    if (!is_default(SIGUSR1) || !is_default(SIGSEGV) || ignored.sa_handler != SIG_IGN)
        _exit(1);
    if (what == 0)
        raise(SIGUSR1);
    else if (what == 1)
        *nowhere = 1;
    else if (what == 2)
        tick();
    else if (what == 3)
        __asm__ volatile("int3");
    else {
        handle(SIGSEGV, leave, 0);
        *nowhere = 1;
    }
    _exit(20 + what);
}

/* In the parent's memory, on its stack: nothing but system calls. */
static int in_our_memory(int what)
{
    static char *arguments[] = {"true", NULL}, *environment[] = {NULL};
    int status = 0;
    pid_t child = (pid_t)begin(CLONE_VM | CLONE_VFORK);
    if (child == 0) {
        if (what == 0)
            syscall(SYS_kill, syscall(SYS_getpid), SIGUSR1);
        else if (what == 1)
            *nowhere = 1;
        else
            syscall(SYS_execve, "/bin/true", arguments, environment);
        syscall(SYS_exit_group, 9);
    }
    waitpid(child, &status, 0);
    return status & 0xFF7F;
}

int main(void)
{
    handle(SIGUSR1, note, 0);
    handle(SIGSEGV, leave, 0);
    signal(SIGHUP, SIG_IGN);
    for (int what = 0; what < 5; what++) {
        int status = 0;
        fflush(stdout);
        pid_t child = (pid_t)begin(0);
        if (child < 0)
            return 77;
        if (child == 0)
            be_child(what);
        waitpid(child, &status, 0);
        printf("%d: %x\n", what, (unsigned)status & 0xFF7F);
    }
    for (int what = 0; what < 3; what++)
        printf("%d in our memory: %x\n", what, (unsigned)in_our_memory(what));
    raise(SIGUSR1);
    printf("handled %d\n", got);
    loop_fmul_like(ROUNDS);
    expect_mnemonic("pmaddwd", ROUNDS);
    return 0;
}
