/* A child that is debugged as it is, without executing another program: its parent steps it through
 * a function and stops it at a breakpoint, both of which mean the child's own code. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { FUNCTION_BYTES = 16, TIMES = 50 };

/* One instruction is executed `n` times, another once. */
int work(int n);
__asm__(".text\n"
        "work: xor %eax, %eax\n"
        "1: add %edi, %eax\n\t"
        "dec %edi\n\t"
        "jnz 1b\n\t"
        "ret");

static pid_t stopped_child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(work(TIMES) & 7);
    }
    waitpid(pid, &status, 0);
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int steps_within(pid_t pid, uintptr_t low)
{
    int status, within = 0;
    struct user_regs_struct registers = {0};
    do {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            return -1;
        int before = within;
        ptrace(PTRACE_GETREGS, pid, NULL, &registers);
        within += registers.rip >= low && registers.rip < low + FUNCTION_BYTES;
        if (before && before == within)
            return within;
    } while (1);
}

static int hits(pid_t pid, uintptr_t at)
{
    int status;
    struct user_regs_struct registers;
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
    ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)((word & ~0xffl) | 0xcc));
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    waitpid(pid, &status, 0);
    ptrace(PTRACE_GETREGS, pid, NULL, &registers);
    ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)word);
    registers.rip--;
    ptrace(PTRACE_SETREGS, pid, NULL, &registers);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && registers.rip == at;
}

int main(void)
{
    pid_t stepped = stopped_child(), broken = stopped_child();
    printf("%d steps\n", steps_within(stepped, (uintptr_t)work));
    printf("%d hits\n", hits(broken, (uintptr_t)work));
    printf("ended with %d and %d\n", end_of(stepped), end_of(broken));
    loop_fmul_like(TIMES);
    expect_mnemonic("pmaddwd", TIMES); /* the parent is counted */
    return 0;
}
