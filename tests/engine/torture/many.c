/* many threads N: N threads that are all alive at once. many children N: as many processes, each
 * with a child of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t all;

static unsigned work(unsigned seed)
{
    for (int i = 0; i < 5000; i++)
        seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

static void *one(void *id)
{
    unsigned result = work((unsigned)(uintptr_t)id);
    pthread_barrier_wait(&all);
    return (void *)(uintptr_t)result;
}

static int threads(unsigned n)
{
    pthread_attr_t small;
    pthread_t *thread = calloc(n, sizeof *thread);
    unsigned long sum = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, NULL, n);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&thread[i], &small, one, (void *)(uintptr_t)i))
            return 1;
    for (unsigned i = 0; i < n; i++) {
        void *result;
        pthread_join(thread[i], &result);
        sum += (uintptr_t)result;
    }
    printf("%lu\n", sum);
    return 0;
}

static int children(unsigned n)
{
    int gate[2];
    unsigned sum = 0;
    if (pipe(gate))
        return 1;
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0) {
            char c;
            close(gate[1]);
            if (read(gate[0], &c, 1) != 0) /* until all have been started */
                _exit(99);
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(work(i) & 63);
            int status = 0;
            waitpid(grandchild, &status, 0);
            _exit(WEXITSTATUS(status) ^ (int)(i & 1));
        }
    }
    close(gate[1]);
    for (unsigned i = 0; i < n; i++) {
        int status = 0;
        wait(&status);
        sum += WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 100000;
    }
    printf("%u\n", sum);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
    return argc > 1 && !strcmp(argv[1], "children") ? children(n) : threads(n);
}
