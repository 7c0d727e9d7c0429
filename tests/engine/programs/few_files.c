/* A program that holds as many open files as it may runs code, has threads and children for which
 * the engine must open files; then one that may open none for good. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { PAGE = 4096, THREADS = 6, ROUNDS = 300, OPEN = 3, STATUS = 5 };

static int run_new_code(int value)
{
    int (*function)(void);
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 0xB8; /* mov eax, value; ret */
    memcpy(page + 1, &value, sizeof(value));
    page[5] = 0xC3;
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    memcpy(&function, &page, sizeof(function));
    return function();
}

static void *work(void *sum)
{
    loop_fmul_like(ROUNDS);
    __atomic_add_fetch((int *)sum, run_new_code(7), __ATOMIC_RELAXED);
    return NULL;
}

static void be_many(int *sum)
{
    pthread_t thread[THREADS];
    int status = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, sum))
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(run_new_code(STATUS));
    waitpid(child, &status, 0);
    printf("%d %x, opens %d\n", *sum, (unsigned)status, open("/dev/null", O_RDONLY));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    int sum = 0;
    getrlimit(RLIMIT_NOFILE, &limit);
    int for_good = argc > 1 && !strcmp(argv[1], "for_good");
    limit.rlim_cur = OPEN;
    if (for_good)
        limit.rlim_max = OPEN;
    for (int fd = OPEN; fd < 64; fd++)
        close(fd);
    loop_fmul_like(ROUNDS);
    setrlimit(RLIMIT_NOFILE, &limit);
    be_many(&sum);
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("%d\n", (int)limit.rlim_cur);
    if (!for_good) /* else whoever has CAP_SYS_RESOURCE is counted, and others say that they are not
                    */
        expect_mnemonic("pmaddwd", (1 + THREADS) * ROUNDS);
    return 0;
}
