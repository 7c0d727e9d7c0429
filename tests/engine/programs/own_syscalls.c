/* Programs that handle their own system calls: by a filter that traps, which the engine lives with,
 * and by syscall user dispatch, before which it leaves. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum { SET_DISPATCH = 59, DISPATCH_ON = 1, ALLOW = 0, BLOCK = 1, ROUNDS = 50, ANSWER = 4242 };

extern char behind_call[];
static volatile char selector;
static volatile int calls, wrong;

static void answer(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal;
    selector = ALLOW;
    calls++;
    wrong += info->si_syscall != SYS_getppid || (char *)info->si_call_addr != behind_call ||
             (char *)r[REG_RIP] != behind_call || r[REG_RDI] != calls;
    r[REG_RAX] = ANSWER + calls;
}

static long ask(void)
{
    long result = 0, sum = 0;
    for (int i = 1; i <= ROUNDS; i++) {
        __asm__ volatile("syscall\nbehind_call:"
                         : "=a"(result)
                         : "a"((long)SYS_getppid), "D"((long)i)
                         : "rcx", "r11", "memory");
        sum += result;
    }
    return sum;
}

static int trap_one_call(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    (void)argv;
    handle(SIGSYS, answer, 0);
    loop_fmul_like(ROUNDS);
    if (argc > 1) {
        if (prctl(SET_DISPATCH, DISPATCH_ON, 0, 0, &selector)) {
            printf("no syscall user dispatch\n");
            return 77;
        }
        for (int i = 0; i < ROUNDS; i++) {
            long result;
            selector = BLOCK;
            __asm__ volatile("syscall"
                             : "=a"(result)
                             : "a"((long)SYS_getppid)
                             : "rcx", "r11", "memory");
            selector = ALLOW;
            wrong += result != ANSWER + calls;
        }
        prctl(SET_DISPATCH, 0, 0, 0, NULL);
        printf("%d calls\n", calls);
        fprintf(stderr, "expect state 4\n");
    } else {
        if (trap_one_call())
            return 77;
        long sum = ask();
        printf("%ld, %d calls, %d wrong\n", sum, calls, wrong);
    }
    expect_mnemonic("pmaddwd", ROUNDS);
    return 0;
}
