/* deny_wx [--exec] COMMAND…: run a command in a world where no memory may be writable and
 * executable, as under strict SELinux policies; with --exec, where nothing but files may be
 * executable. Ends with 77 where the kernel cannot. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
enum { REFUSE_EXEC_GAIN = 1, SKIP = 77 };

#define NUMBER      offsetof(struct seccomp_data, nr)
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))

/* No memfd, and no anonymous memory that is executable. */
static int deny_executable_memory(void)
{
    enum { PROTECTION = 2, FLAGS = 3 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(PROTECTION)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(FLAGS)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    int command = argc > 1 && !strcmp(argv[1], "--exec") ? 2 : 1;
    if (argc <= command)
        return 2;
    if (command == 2 ? deny_executable_memory() : prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)) {
        puts("skipped: this kernel cannot deny it");
        return SKIP;
    }
    execvp(argv[command], argv + command);
    return 1;
}
