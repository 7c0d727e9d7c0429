/* Regions of threads that are begun elsewhere: workers SHAPE [THREADS] does triads in the
 * region "work".
 *   openmp  region around a parallel loop      inside  region in each thread of it
 *   pool    region around the work of a pool that was made before it
 *   mixed   region around as much work by one thread as then by all
 *   apart   the other threads work in regions of their own, "own", while "work" is open
 *   short   like openmp, but in thousands of calls of some microseconds */
#include <omp.h>
#include <pthread.h>
#include <roofline/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N      2048
#define ROUNDS 300000
#define CALLS  1500
#define SHORT  30 /* rounds */
#define MOST   16

static double x[MOST][N], y[N], z[N];
static int n_threads = 2;

__attribute__((noinline)) static void triads(int thread, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < N; i++)
            x[thread][i] = y[i] + (r + 1.5) * z[i];
        __asm__ volatile("" ::"r"(x[thread]) : "memory");
    }
}

static void in_parallel(int rounds)
{
#pragma omp parallel num_threads(n_threads)
    triads(omp_get_thread_num(), rounds / n_threads);
}

static void openmp(void)
{
    roofline_region_begin("work");
    in_parallel(ROUNDS);
    roofline_region_end("work");
}

static void inside(void)
{
#pragma omp parallel num_threads(n_threads)
    {
        roofline_region_begin("work");
        triads(omp_get_thread_num(), ROUNDS / n_threads);
        roofline_region_end("work");
    }
}

static pthread_barrier_t start, end;

static void *worker(void *number)
{
    pthread_barrier_wait(&start);
    triads((int)(size_t)number, ROUNDS / n_threads);
    pthread_barrier_wait(&end);
    return NULL;
}

static void pool(void)
{
    pthread_t thread[MOST];
    pthread_barrier_init(&start, NULL, (unsigned)n_threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)n_threads + 1);
    for (int i = 0; i < n_threads; i++)
        pthread_create(&thread[i], NULL, worker, (void *)(size_t)i);
    roofline_region_begin("work");
    pthread_barrier_wait(&start);
    pthread_barrier_wait(&end);
    roofline_region_end("work");
    for (int i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
}

static void mixed(void)
{
    roofline_region_begin("work");
    triads(0, ROUNDS / 2);
    in_parallel(ROUNDS / 2 * n_threads);
    roofline_region_end("work");
}

static void *own(void *number)
{
    roofline_region_begin("own");
    pthread_barrier_wait(&start);
    triads((int)(size_t)number, ROUNDS);
    roofline_region_end("own");
    return NULL;
}

static void apart(void)
{
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&thread, NULL, own, (void *)1);
    pthread_barrier_wait(&start);
    roofline_region_begin("work");
    triads(0, ROUNDS);
    roofline_region_end("work");
    pthread_join(thread, NULL);
}

static void in_short_calls(void)
{
    for (int i = 0; i < CALLS; i++) {
        triads(0, SHORT);
        roofline_region_begin("work");
        in_parallel(SHORT * 2);
        roofline_region_end("work");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } shapes[] = {{"openmp", openmp}, {"inside", inside}, {"pool", pool},
                  {"mixed", mixed},   {"apart", apart},   {"short", in_short_calls}};
    n_threads = argc > 2 ? atoi(argv[2]) : 2;
    if (argc < 2 || n_threads < 1 || n_threads > MOST)
        return 2;
    for (int i = 0; i < N; i++)
        y[i] = z[i] = i;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!strcmp(shapes[i].name, argv[1])) {
            shapes[i].run();
            return 0;
        }
    }
    return 2;
}
