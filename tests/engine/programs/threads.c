/* Threads that live together, threads that come and go, and an exit while others still run. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

enum { TOGETHER = 8, CHURN = 300, SPINNERS = 3 };
static const uint64_t each = 100000, brief = 50;

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *work(void *argument)
{
    pthread_barrier_wait(&barrier);
    loop_fmul_like(each);
    for (int i = 0; i < 200; i++) { /* pass a token around */
        pthread_mutex_lock(&mutex);
        while (turn != (int)(intptr_t)argument)
            pthread_cond_wait(&condition, &mutex);
        turn = (turn + 1) % TOGETHER;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void *short_lived(void *argument)
{
    loop_fmul_like(brief);
    return argument;
}

static void *spin(void *argument)
{
    (void)argument;
    for (;;)
        __asm__ volatile("pause");
    return NULL;
}

int main(void)
{
    pthread_t thread[TOGETHER], spinner;
    intptr_t sum = 0;
    pthread_barrier_init(&barrier, NULL, TOGETHER);
    for (intptr_t i = 0; i < TOGETHER; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < TOGETHER; i++) {
        void *result;
        pthread_join(thread[i], &result);
        sum += (intptr_t)result;
    }
    for (intptr_t i = 0; i < CHURN; i += 4) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, short_lived, (void *)i);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
    for (int i = 0; i < SPINNERS; i++) {
        pthread_create(&spinner, NULL, spin, NULL);
        pthread_detach(spinner);
    }
    usleep(20000);
    printf("%ld\n", (long)sum);
    fflush(stdout);
    expect_mnemonic("pmaddwd", TOGETHER * each + CHURN * brief);
    expect_mnemonic("psadbw", TOGETHER * each + CHURN * brief);
    _exit(5);
}
