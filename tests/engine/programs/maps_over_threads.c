/* Threads at work while one maps memory where, under the engine, all of them run: in a loop of two
 * instructions, in calls, in system calls, in floating-point sums. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { THREADS = 4, HOLES = 64 };

struct hole {
    uint8_t *at;
    size_t bytes;
};

static volatile int stop;
static volatile int started;

__attribute__((noinline)) static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *spin(void *arg)
{
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop)
        ;
    return arg;
}

static void *call(void *arg)
{
    unsigned bad = 0;
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop)
        bad |= fibonacci(12) != 144;
    return bad ? NULL : arg;
}

static void *ask(void *arg)
{
    pid_t parent = getppid();
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop)
        if (getppid() != parent || usleep(10))
            return NULL;
    return arg;
}

static void *sum(void *arg)
{
    double bad = 0;
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop) {
        double s = 0;
        for (int i = 0; i < 100; i++)
            s += i * 0.5;
        bad += s - 2475;
    }
    return bad != 0 ? NULL : arg;
}

/* What is writable and executable; natively nothing is, but one mapping of our own. */
static unsigned find_holes(struct hole *hole)
{
    char line[512], flags[8];
    unsigned long low, high;
    unsigned n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && n < HOLES && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &low, &high, flags) == 3 && !strcmp(flags, "rwxp"))
            hole[n++] = (struct hole){(uint8_t *)low, high - low};
    if (maps)
        fclose(maps);
    return n;
}

/* 0: as it should be. */
static int work(int by_unmapping)
{
    static void *(*const what[THREADS])(void *) = {spin, call, ask, sum};
    static struct hole hole[HOLES];
    pthread_t thread[THREADS];
    char result = 0;
    void *returned;
    int bad = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, what[i], &result);
    while (started < THREADS)
        usleep(1000);
    usleep(20000);
    unsigned n = find_holes(hole);
    for (unsigned i = 0; i < n; i++) {
        if (by_unmapping)
            bad |= munmap(hole[i].at, hole[i].bytes);
        else
            bad |= mmap(hole[i].at, hole[i].bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != hole[i].at;
        if (!by_unmapping)
            memset(hole[i].at, 0xf4, hole[i].bytes < 1u << 20 ? hole[i].bytes : 1u << 20);
    }
    usleep(20000);
    stop = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &returned);
        bad |= returned != &result;
    }
    return bad;
}

int main(void)
{
    enum { ROUNDS = 10, SOME = 1 << 20 };
    if (mmap(NULL, SOME, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        return 77;
    for (int i = 0; i < ROUNDS; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(work(i % 2));
        waitpid(pid, &status, 0);
        printf("%x\n", (unsigned)status);
    }
    return 4;
}
