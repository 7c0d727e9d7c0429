/* Memory read in regions: of the first thread, of threads that follow it and of one with a region
 * of its own, in one region for every line, and over a fork. Prints "expect REGION LINES": lines
 * that nobody read before, so each is fetched once at every level. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "region/mark.h"

enum { LINE = 64, LINES = 1 << 16, WORKERS = 3, OWN = WORKERS - 1 };
static volatile uint64_t *next; /* the line to be read next */
static pthread_barrier_t start, done;

static __attribute__((noinline)) void begin(const char *name)
{
    REGION_MARK(REGION_MARK_BEGIN, name);
}

static __attribute__((noinline)) void end(const char *name)
{
    REGION_MARK(REGION_MARK_END, name);
}

static __attribute__((noinline)) void read_lines(volatile uint64_t *at, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        (void)at[i * (LINE / sizeof *at)];
}

static void read_next(uint64_t n)
{
    read_lines(next, n);
    next += n * (LINE / sizeof *next);
}

static void *worker(void *argument)
{
    int number = (int)(intptr_t)argument;
    volatile uint64_t *at = next + (uint64_t)number * LINES * (LINE / sizeof *next);
    pthread_barrier_wait(&start);
    if (number == OWN)
        begin("own");
    read_lines(at, LINES);
    if (number == OWN)
        end("own");
    pthread_barrier_wait(&done);
    return NULL;
}

static void read_in_threads(void)
{
    pthread_t thread[WORKERS];
    pthread_barrier_init(&start, NULL, WORKERS + 1);
    pthread_barrier_init(&done, NULL, WORKERS + 1);
    for (intptr_t i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, worker, (void *)i);
    begin("team"); /* threads that are there already follow */
    pthread_barrier_wait(&start);
    pthread_barrier_wait(&done);
    end("team");
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    next += (uint64_t)WORKERS * LINES * (LINE / sizeof *next);
}

/* A region for every line, drawn, so that neither has lines of its own kind. */
static uint64_t toss_coins(void)
{
    uint64_t heads = 0, random = 88172645463325252u;
    for (int i = 0; i < LINES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        bool is_heads = random >> 63;
        begin(is_heads ? "heads" : "tails");
        read_next(1);
        end(is_heads ? "heads" : "tails");
        heads += is_heads;
    }
    return heads;
}

int main(void)
{
    const size_t bytes = (size_t)(8 + WORKERS) * LINES * LINE;
    next = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return 1;
    read_next(LINES);
    begin("outer");
    read_next(LINES);
    begin("inner");
    read_next(LINES);
    end("inner");
    end("outer");
    uint64_t heads = toss_coins();
    read_in_threads();
    begin("fork");
    pid_t child = fork();
    if (child == 0) {
        next += LINES * (LINE / sizeof *next);
        read_next(LINES);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    read_next(LINES);
    end("fork");
    printf("expect - %d\nexpect outer %d\nexpect inner %d\nexpect heads %" PRIu64
           "\nexpect tails %" PRIu64 "\nexpect team %d\nexpect own %d\nexpect fork %d\n",
           LINES, LINES, LINES, heads, LINES - heads, (WORKERS - 1) * LINES, LINES, 2 * LINES);
    return 0;
}
