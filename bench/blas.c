/* blas N ROUNDS: DGEMM of OpenBLAS, found at run time; the kernel's processor seconds on standard
 * error. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void dgemm_function(const char *, const char *, const int *, const int *, const int *,
                            const double *, const double *, const int *, const double *,
                            const int *, const double *, double *, const int *);

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, rounds = argc > 2 ? atoi(argv[2]) : 1;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void *symbol = library ? dlsym(library, "dgemm_") : NULL;
    dgemm_function *dgemm;
    if (!symbol)
        return 77;
    memcpy(&dgemm, &symbol, sizeof dgemm);
    size_t elements = (size_t)n * (size_t)n;
    double *a = malloc(3 * elements * sizeof *a), one = 1, zero = 0;
    if (!a)
        return 1;
    for (size_t i = 0; i < 3 * elements; i++)
        a[i] = (double)(i % 13);
    double begin_s = now_s();
    for (int r = 0; r < rounds; r++)
        dgemm("N", "N", &n, &n, &n, &one, a, &n, a + elements, &n, &zero, a + 2 * elements, &n);
    fprintf(stderr, "seconds %.4f\n", now_s() - begin_s);
    printf("%g\n", a[2 * elements + 1]);
    return 0;
}
