/* threads ROUNDS [THREADS [N]]: threads multiply N x N matrices, each its share of the rows, and
 * meet at a barrier after each round: 2 N^3 FLOP a round. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_MAX = 480, THREADS_MAX = 64 };

static double a[N_MAX][N_MAX], b[N_MAX][N_MAX], c[N_MAX][N_MAX];
static pthread_barrier_t barrier;
static size_t n = N_MAX, n_threads = 2;
static int rounds = 1;

static void *work(void *id)
{
    size_t first = (size_t)id * n / n_threads, end = ((size_t)id + 1) * n / n_threads;
    for (int r = 0; r < rounds; r++) {
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j < n; j++)
                    c[i][j] += a[i][k] * b[k][j];
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (argc > 2)
        n_threads = (size_t)atoi(argv[2]);
    if (argc > 3)
        n = (size_t)atoi(argv[3]);
    if (n > N_MAX || n_threads > THREADS_MAX)
        return 2;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            a[i][j] = (double)(i % 7);
            b[i][j] = (double)(j % 5);
        }
    pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
    for (size_t t = 0; t < n_threads; t++)
        pthread_create(&thread[t], NULL, work, (void *)t);
    for (size_t t = 0; t < n_threads; t++)
        pthread_join(thread[t], NULL);
    printf("%g\n", c[n - 1][n - 1]);
    return 0;
}
