/* Children of a process that gets no more address space: what the engine needs for them is not to
 * be had, and they run all the same. Writes to standard error what the engine may write there too.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static volatile sig_atomic_t got;

static void count(int signal)
{
    got += signal == SIGUSR1;
}

static size_t mapped_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1)
        exit(2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int child(void)
{
    signal(SIGUSR1, count);
    raise(SIGUSR1);
    pid_t grandchild = fork();
    if (grandchild == 0)
        _exit(got + 3);
    int status = 0;
    waitpid(grandchild, &status, 0);
    return WEXITSTATUS(status) + 10;
}

int main(void)
{
    enum { ROUNDS = 3, SOME_BYTES = 64 << 10 };
    loop_fmul_like(2000);
    fprintf(stderr, "poor\n");
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = mapped_bytes() + SOME_BYTES;
    if (setrlimit(RLIMIT_AS, &limit))
        return 2;
    for (int i = 0; i < ROUNDS; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        waitpid(pid, &status, 0);
        printf("%x\n", (unsigned)status);
    }
    loop_fmul_like(1000);
    expect_mnemonic("pmaddwd", 3000);
    return 5;
}
