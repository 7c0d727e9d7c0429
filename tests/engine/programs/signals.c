/* The rules of signal delivery: queues, masks, nesting, restart, stacks. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"

static int order[64], n_order;
static volatile sig_atomic_t got, depth, deepest;

static void note(int signal, siginfo_t *info, void *context)
{
    (void)context;
    (void)signal;
    order[n_order++] = info->si_value.sival_int;
}

static void real_time_queue(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int s = SIGRTMIN; s <= SIGRTMIN + 3; s++) {
        sigaddset(&set, s);
        handle(s, note, 0);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 20; i++) {
        union sigval value = {.sival_int = i};
        sigqueue(getpid(), SIGRTMIN + i % 4, value);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("queue:");
    for (int i = 0; i < n_order; i++)
        printf(" %d", order[i]);
    printf("\n");
}

static void nest(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    got++;
    depth++;
    if (depth > deepest)
        deepest = depth;
    if (got < 4)
        raise(signal);
    depth--;
}

static void nesting(void)
{
    handle(SIGUSR1, nest, SA_NODEFER);
    raise(SIGUSR1);
    printf("nodefer: %d deep %d\n", got, deepest);
    got = depth = deepest = 0;
    handle(SIGUSR1, nest, 0);
    raise(SIGUSR1);
    printf("deferred: deep %d\n", deepest);
    handle(SIGUSR2, nest, SA_RESETHAND);
    raise(SIGUSR2);
    struct sigaction now;
    sigaction(SIGUSR2, NULL, &now);
    printf("reset: %d\n", now.sa_handler == SIG_DFL);
}

static void count(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    got++;
}

static void alarm_soon(void)
{
    struct itimerval timer = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void interrupted_calls(void)
{
    int fd[2];
    char c = 'x';
    if (pipe(fd))
        exit(1);
    got = 0;
    handle(SIGALRM, count, 0);
    alarm_soon();
    ssize_t n = read(fd[0], &c, 1);
    printf("read: %zd %s %d\n", n, n < 0 ? strerror(errno) : "", got);
    handle(SIGALRM, count, SA_RESTART);
    pid_t child = fork();
    if (child == 0) {
        usleep(100000);
        _exit(write(fd[1], "y", 1) != 1);
    }
    alarm_soon();
    n = read(fd[0], &c, 1);
    printf("restarted read: %zd %c %d\n", n, c, got);
    waitpid(child, NULL, 0);
    alarm_soon();
    int r = poll(NULL, 0, 2000);
    printf("poll: %d %s %d\n", r, strerror(errno), got);
}

static void masks(void)
{
    sigset_t none, alarm_only, now;
    sigemptyset(&none);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm_only, NULL);
    got = 0;
    alarm_soon();
    int r = sigsuspend(&none);
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("sigsuspend: %d %d blocked %d\n", r, got, sigismember(&now, SIGALRM));
    alarm_soon();
    struct timespec limit = {2, 0};
    r = ppoll(NULL, 0, &limit, &none);
    printf("ppoll: %d %d\n", r, got);
    alarm_soon();
    int signal = 0;
    sigwait(&alarm_only, &signal);
    printf("sigwait: %d\n", signal == SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
}

static char stack_memory[65536];

static void on_stack(int signal, siginfo_t *info, void *context)
{
    stack_t now;
    char here;
    (void)signal;
    (void)info;
    (void)context;
    sigaltstack(NULL, &now);
    printf("on stack: %d flags %d\n", &here > stack_memory && &here < stack_memory + 65536,
           now.ss_flags);
}

static void alternate_stack(void)
{
    stack_t stack = {.ss_sp = stack_memory, .ss_size = sizeof(stack_memory)}, old;
    sigaltstack(&stack, &old);
    printf("before: flags %d\n", old.ss_flags);
    handle(SIGUSR1, on_stack, SA_ONSTACK);
    raise(SIGUSR1);
    stack.ss_size = 1;
    printf("too small: %d %d\n", sigaltstack(&stack, NULL), errno == ENOMEM);
    sigaltstack(NULL, &old);
    printf("after: flags %d size %zu\n", old.ss_flags, old.ss_size);
}

/* Stays in vector registers from beginning to end. */
__attribute__((noinline)) static double in_registers(void)
{
    double a = 1, b = 2;
    for (int i = 0; i < 50000; i++) {
        a = a * 0.999 + b;
        b = b * 0.998 + 1e-3;
        __asm__ volatile("" : "+x"(a), "+x"(b));
    }
    return a + b;
}

/* Faults that are none, sent by another process: who ignores them does not see that they came. */
static void ignored_faults(void)
{
    enum { SENT = 200, PAUSE_US = 100 };
    const int faults[] = {SIGSEGV, SIGBUS, SIGTRAP};
    for (int i = 0; i < 3; i++)
        signal(faults[i], SIG_IGN);
    const double right = in_registers();
    int wrong = 0;
    pid_t sender = fork();
    if (sender == 0) {
        for (int i = 0; i < SENT; i++) {
            kill(getppid(), faults[i % 3]);
            usleep(PAUSE_US);
        }
        _exit(0);
    }
    while (waitpid(sender, NULL, WNOHANG) == 0)
        wrong += in_registers() != right;
    for (int i = 0; i < 3; i++)
        signal(faults[i], SIG_DFL);
    printf("ignored faults: %d wrong results\n", wrong);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    real_time_queue();
    nesting();
    interrupted_calls();
    masks();
    alternate_stack();
    ignored_faults();
    printf("bad arguments: %d %d\n",
           sigaction(SIGKILL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), errno == EINVAL);
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    return 1;
}
