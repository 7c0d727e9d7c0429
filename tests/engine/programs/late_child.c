/* A child that does not come to run for longer than its parent has patience, since a tracer holds
 * it. The parent meanwhile forks again, and each of them runs code that none has run before. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { SKIP = 77, FUNCTIONS = 8, ROUNDS = 300 };

/* Each is translated when it is first called; the loop's jump is patched then. */
#define FUNCTION(n)                                                                                \
    __attribute__((noinline)) static unsigned work##n(unsigned a)                                  \
    {                                                                                              \
        for (int i = 0; i < ROUNDS; i++)                                                           \
            a = a % 3 == n % 3 ? a * (2 * n + 3) + 1 : (a >> 1) + n;                               \
        return a;                                                                                  \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)

static unsigned (*const work[FUNCTIONS])(unsigned) = {work0, work1, work2, work3,
                                                      work4, work5, work6, work7};

/* Of `from` to the end in steps of `step`. */
static int run(unsigned from, unsigned step)
{
    unsigned a = 12345;
    for (unsigned i = from; i < FUNCTIONS; i += step)
        a = work[i](a);
    return (int)(a % 100);
}

static int parent(int when_traced)
{
    char word;
    int status = 0;
    if (read(when_traced, &word, 1) != 1)
        return 1;
    pid_t late = fork();
    if (late == 0)
        _exit(run(1, 2));
    int own = run(0, 2);
    pid_t quick = fork();
    if (quick == 0)
        _exit(run(0, 1));
    waitpid(quick, &status, 0);
    printf("parent %d, quick child %x\n", own, (unsigned)status);
    fflush(stdout);
    return 0;
}

/* Hold the first child. It may be seen to stop before its parent is seen to fork, but before that
 * there is no second one. @return it, once `traced` has ended. */
static pid_t trace(pid_t traced)
{
    int status;
    pid_t pid;
    unsigned long held = 0;
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        if (!WIFSTOPPED(status) && pid == traced)
            break;
        if (!WIFSTOPPED(status))
            continue;
        int event = status >> 16, signal = event ? 0 : WSTOPSIG(status);
        if (!held && pid != traced)
            held = (unsigned long)pid;
        else if (!held && event == PTRACE_EVENT_FORK)
            ptrace(PTRACE_GETEVENTMSG, traced, NULL, &held);
        if ((unsigned long)pid != held)
            ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal);
    }
    return (pid_t)held;
}

int main(void)
{
    int status, channel[2];
    if (pipe(channel) != 0)
        return 1;
    pid_t traced = fork();
    if (traced == 0)
        _exit(parent(channel[0]));
    if (ptrace(PTRACE_SEIZE, traced, NULL, (void *)(long)PTRACE_O_TRACEFORK) != 0) {
        printf("skipped: tracing is not permitted\n");
        kill(traced, SIGKILL);
        return SKIP;
    }
    if (write(channel[1], "g", 1) != 1)
        return 1;
    pid_t late = trace(traced);
    ptrace(PTRACE_CONT, late, NULL, NULL);
    while (waitpid(late, &status, __WALL) == late && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, late, NULL, (void *)(long)WSTOPSIG(status));
    printf("late child %x\n", (unsigned)status);
    return 3;
}
