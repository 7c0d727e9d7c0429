/* A debugger in small: a child that asks to be traced and executes the program named, stepped and
 * followed from system call to system call; and a child that is attached to as it runs, read and
 * written, and let go. Prints what it sees, which must not depend on who runs the debugger. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 500, CALL_STOP = SIGTRAP | 0x80 };

static volatile long answer = 41; /* at the same address in a child of fork */

/* Steps, then goes on from call to call. Every call stops twice, its end once. */
static int follow(const char *program)
{
    int status, steps = 0, stops = 0;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
        return 1;
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
    for (; steps < STEPS && WIFSTOPPED(status); steps++) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child)
            return 1;
    }
    while (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) || waitpid(child, &status, 0) != child)
            return 1;
        stops += WIFSTOPPED(status) && WSTOPSIG(status) == CALL_STOP;
    }
    printf("%d steps, %s calls, status %d\n", steps, stops > 4 && stops % 2 ? "some" : "odd",
           WEXITSTATUS(status));
    return 0;
}

static void child_until_told(int ready)
{
    if (write(ready, "r", 1) != 1)
        _exit(1);
    while (answer == 41)
        ;
    _exit((int)answer);
}

/* The child reads its variable all the time, until the debugger has changed it. */
static int change(void)
{
    int ready[2], status;
    char byte;
    if (pipe(ready))
        return 1;
    pid_t child = fork();
    if (child == 0)
        child_until_told(ready[1]);
    if (read(ready[0], &byte, 1) != 1 || ptrace(PTRACE_ATTACH, child, NULL, NULL) ||
        waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 1;
    long seen = ptrace(PTRACE_PEEKDATA, child, (void *)&answer, NULL);
    struct user_regs_struct registers;
    if (ptrace(PTRACE_POKEDATA, child, (void *)&answer, (void *)42L) ||
        ptrace(PTRACE_GETREGS, child, NULL, &registers) ||
        ptrace(PTRACE_SETREGS, child, NULL, &registers) ||
        ptrace(PTRACE_DETACH, child, NULL, NULL) || waitpid(child, &status, 0) != child)
        return 1;
    printf("it held %ld and ended with %d\n", seen, WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    return follow(argv[1]) | change();
}
