/* Threads that mostly wait for each other: a bounded queue under one mutex, broadcasts to all,
 * waits that time out, a barrier, a reader-writer lock, and cancelled waiters. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { PRODUCERS = 8, CONSUMERS = 8, ITEMS = 3000, ROOM = 4, ROUNDS = 200, CANCELLED = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static long queue[ROOM], taken_sum;
static int n_queued, n_taken;
static long table[64];
static int n_unwound;

static void *produce(void *first)
{
    for (long i = (long)first; i < ITEMS; i += PRODUCERS) {
        pthread_mutex_lock(&lock);
        while (n_queued == ROOM)
            pthread_cond_wait(&emptied, &lock);
        queue[n_queued++] = i;
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *unused)
{
    pthread_mutex_lock(&lock);
    while (n_taken < ITEMS) {
        if (n_queued == 0) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 200000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&filled, &lock, &until);
            continue;
        }
        taken_sum += queue[--n_queued];
        n_taken++;
        pthread_cond_signal(&emptied);
    }
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *rounds(void *who)
{
    for (int r = 0; r < ROUNDS; r++) {
        pthread_rwlock_wrlock(&table_lock);
        table[((long)who * 7 + r) % 64]++;
        pthread_rwlock_unlock(&table_lock);
        pthread_rwlock_rdlock(&table_lock);
        volatile long seen = table[r % 64];
        (void)seen;
        pthread_rwlock_unlock(&table_lock);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void unwound(void *unused)
{
    (void)unused;
    n_unwound++;
    pthread_mutex_unlock(&lock);
}

static void *wait_for_ever(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unwound, NULL);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return unused;
}

static void run(void *(*what)(void *), pthread_t *thread, long n)
{
    for (long i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, what, (void *)i);
}

static void join(pthread_t *thread, long n)
{
    for (long i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    pthread_t thread[PRODUCERS + CONSUMERS + CANCELLED];
    long total = 0;
    run(produce, thread, PRODUCERS);
    run(consume, thread + PRODUCERS, CONSUMERS);
    join(thread, PRODUCERS + CONSUMERS);
    pthread_barrier_init(&barrier, NULL, PRODUCERS);
    run(rounds, thread, PRODUCERS);
    join(thread, PRODUCERS);
    for (int i = 0; i < 64; i++)
        total += table[i];
    run(wait_for_ever, thread, CANCELLED);
    for (int i = 0; i < CANCELLED; i++)
        pthread_cancel(thread[i]);
    join(thread, CANCELLED);
    printf("%ld %ld %d\n", taken_sum, total, n_unwound);
    return 0;
}
