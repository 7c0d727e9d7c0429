/* Kernels of known FLOP: phases N THREADS. Each thread multiplies two N x N matrices 20 times, in
 * the region "multiply"; then the main thread does 20 triads of 100,000 elements. Exits with 3. */
#include <pthread.h>
#include <roofline/region.h>
#include <stdio.h>
#include <stdlib.h>

#define REPEATS   20
#define N_TRIAD   100000
#define MOST      16
#define MOST_ROWS 512

static int n;
static double a[MOST_ROWS * MOST_ROWS], b[MOST_ROWS * MOST_ROWS];
static double x[N_TRIAD], y[N_TRIAD], z[N_TRIAD];

__attribute__((noinline)) static void gemm(double *c)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}

__attribute__((noinline)) static void triad(double factor)
{
    for (int i = 0; i < N_TRIAD; i++)
        x[i] = y[i] + factor * z[i];
}

static void *multiply(void *unused)
{
    double *c = calloc((size_t)n * (size_t)n, sizeof *c);
    for (int i = 0; c && i < REPEATS; i++) {
        roofline_region_begin("multiply");
        gemm(c);
        roofline_region_end("multiply");
    }
    free(c);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MOST];
    n = argc > 1 ? atoi(argv[1]) : 64;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (n < 1 || n > MOST_ROWS || threads < 1 || threads > MOST)
        return 2;
    for (int i = 0; i < n * n; i++)
        a[i] = b[i] = 1.0 / (i + 1);
    for (int i = 0; i < N_TRIAD; i++)
        y[i] = z[i] = i;
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, multiply, NULL);
    multiply(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < REPEATS; i++)
        triad(i);
    printf("%g\n", x[N_TRIAD / 2]);
    return 3;
}
