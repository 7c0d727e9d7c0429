/* two_threads ROUNDS: two threads multiply matrices, each its own half of the rows, and meet at a
 * barrier after each round. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 480, THREADS = 2 };

static double a[N][N], b[N][N], c[N][N];
static pthread_barrier_t barrier;
static int rounds;

static void *work(void *half)
{
    size_t first = (size_t)half * N / THREADS;
    for (int r = 0; r < rounds; r++) {
        for (size_t i = first; i < first + N / THREADS; i++)
            for (size_t k = 0; k < N; k++)
                for (size_t j = 0; j < N; j++)
                    c[i][j] += a[i][k] * b[k][j];
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            a[i][j] = (double)(i % 7);
            b[i][j] = (double)(j % 5);
        }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t t = 0; t < THREADS; t++)
        pthread_create(&thread[t], NULL, work, (void *)t);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    printf("%g\n", c[N - 1][N - 1]);
    return 0;
}
