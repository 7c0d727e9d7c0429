/* Processes that share their parent's memory, are no threads, and are not waited for as vfork's
 * are: more of them, one after another, than there may be at a time. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "expect.h"

enum { AT_A_TIME = 4, TIMES = 1200, STACK_BYTES = 65536, EACH = 3 };

static int sum;

static int child(void *arg)
{
    loop_fmul_like(EACH);
    __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
    return (int)(intptr_t)arg;
}

int main(void)
{
    char *stack = malloc((size_t)AT_A_TIME * STACK_BYTES);
    int bad = 0;
    for (int i = 0; i < TIMES; i++) {
        pid_t pid[AT_A_TIME];
        for (int k = 0; k < AT_A_TIME; k++)
            pid[k] = clone(child, stack + (size_t)(k + 1) * STACK_BYTES, CLONE_VM | SIGCHLD,
                           (void *)(intptr_t)k);
        for (int k = 0; k < AT_A_TIME; k++) {
            int status;
            bad += waitpid(pid[k], &status, 0) != pid[k] || WEXITSTATUS(status) != k;
        }
    }
    printf("%d ended, %d wrong\n", sum, bad);
    expect_mnemonic("pmaddwd", (uint64_t)TIMES * AT_A_TIME * EACH);
    return 0;
}
