/* Programs that are ended for system calls they do not make themselves: by strict mode, by a list
 * of what is allowed, early and late. Code that was never run before comes after. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { SKIP = 77, STATUS = 4, CANNOT = 9 };

static int install(struct sock_filter *filter, unsigned short n, int by_prctl)
{
    struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Nothing but writing, and ending. */
static int allow_little(int by_prctl)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(filter, sizeof(filter) / sizeof(*filter), by_prctl);
}

/* Everything but a new session, and writing where the descriptor is none. */
static int forbid_little(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsid, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(filter, sizeof(filter) / sizeof(*filter), 1);
}

__attribute__((noinline)) static unsigned new_code(unsigned n)
{
    unsigned a = n;
    for (unsigned i = 0; i < 1000 * n; i++)
        a = a % 3 ? a * 5 + 1 : a / 2 + i;
    return a;
}

static void confined(int how)
{
    char text[32];
    int denied = how == 0   ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                 : how == 1 ? allow_little(1)
                 : how == 2 ? allow_little(0)
                            : forbid_little();
    if (denied)
        _exit(CANNOT);
    int n = snprintf(text, sizeof(text), "way %d: %u\n", how, new_code((unsigned)how + 2));
    if (how == 3 && write(5000, text, 1) != 1)
        n = 0; /* it is killed for trying */
    if (write(STDOUT_FILENO, text, (size_t)n) != n)
        syscall(SYS_exit, CANNOT);
    syscall(SYS_exit, STATUS);
}

int main(void)
{
    for (int how = 0; how < 4; how++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            confined(how);
        waitpid(child, &status, 0);
        if (WEXITSTATUS(status) == CANNOT)
            return SKIP;
        printf("way %d ends with %x\n", how, (unsigned)status & 0xFF7F);
    }
    if (forbid_little() != 0)
        return SKIP;
    /* What libraries ask the kernel with, which it refuses: no reason to leave. */
    printf("asked: %ld %ld\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL),
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
    loop_fmul_like(3000);
    expect_mnemonic("pmaddwd", 3000);
    printf("done\n");
    return 6;
}
