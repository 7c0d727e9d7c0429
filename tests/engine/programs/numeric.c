/* Kernels whose memory traffic is known, or hard to sample: numeric KERNEL [SCALE]. Prints a
 * checksum; with NUMERIC_TIME set, on standard error the kernel's own processor seconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNEL __attribute__((noinline))

static double *array(size_t n)
{
    double *a = aligned_alloc(4096, (n * sizeof *a + 4095) / 4096 * 4096);
    for (size_t i = 0; i < n; i++)
        a[i] = (double)(i % 17) + 1;
    return a;
}

KERNEL void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}

KERNEL void stencil(double *restrict out, const double *restrict in, size_t n)
{
    size_t row = n, plane = n * n;
    for (size_t i = 1; i < n - 1; i++)
        for (size_t j = 1; j < n - 1; j++)
            for (size_t k = 1; k < n - 1; k++) {
                size_t at = i * plane + j * row + k;
                out[at] = in[at] + in[at - 1] + in[at + 1] + in[at - row] + in[at + row] +
                          in[at - plane] + in[at + plane];
            }
}

KERNEL void dgemm(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

KERNEL void dgemm_tiled(double *restrict c, const double *restrict a, const double *restrict b,
                        size_t n, size_t tile)
{
    for (size_t ii = 0; ii < n; ii += tile)
        for (size_t kk = 0; kk < n; kk += tile)
            for (size_t jj = 0; jj < n; jj += tile)
                for (size_t i = ii; i < ii + tile; i++)
                    for (size_t k = kk; k < kk + tile; k++)
                        for (size_t j = jj; j < jj + tile; j++)
                            c[i * n + j] += a[i * n + k] * b[k * n + j];
}

KERNEL void spmv(double *restrict y, const double *restrict value, const int *restrict column,
                 const int *restrict row, const double *restrict x, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

KERNEL double column_sum(const double *a, size_t rows, size_t stride, size_t columns)
{
    double sum = 0;
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            sum += a[i * stride + j];
    return sum;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* bench/alternate.c, where it is linked, does something before the first round of a kernel and
 * after each. */
void numeric_round(void) __attribute__((weak));

static void end_round(void)
{
    if (numeric_round)
        numeric_round();
}

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double run_spmv(int rounds)
{
    enum { ROWS = 400000, PER_ROW = 8, COLUMNS = 2000000 };
    double *value = array((size_t)ROWS * PER_ROW), *x = array(COLUMNS), *y = array(ROWS);
    int *column = malloc(sizeof(int) * ROWS * PER_ROW), *row = malloc(sizeof(int) * (ROWS + 1));
    for (int i = 0; i < ROWS * PER_ROW; i++)
        column[i] = (int)(draw() % COLUMNS);
    for (int i = 0; i <= ROWS; i++)
        row[i] = i * PER_ROW;
    double begin_s = now_s();
    for (int r = 0; r < rounds; r++)
        spmv(y, value, column, row, x, ROWS);
    return now_s() - begin_s;
}

static double run_gemm(size_t n, size_t tile, int rounds)
{
    double *a = array(n * n), *b = array(n * n), *c = array(n * n);
    double begin_s = now_s();
    end_round();
    for (int r = 0; r < rounds; r++) {
        if (tile)
            dgemm_tiled(c, a, b, n, tile);
        else
            dgemm(c, a, b, n);
        end_round();
    }
    double took_s = now_s() - begin_s;
    printf("%g\n", c[n + 1]);
    return took_s;
}

static double run_streams(const char *kernel, int scale)
{
    enum { TRIAD = 8000000, EDGE = 200 };
    double begin_s, took_s = 0;
    if (!strcmp(kernel, "triad")) {
        double *a = array(TRIAD), *b = array(TRIAD), *c = array(TRIAD);
        begin_s = now_s();
        end_round();
        for (int r = 0; r < scale; r++) {
            triad(a, b, c, TRIAD);
            end_round();
        }
        took_s = now_s() - begin_s;
        printf("%g\n", a[77]);
    } else if (!strcmp(kernel, "stencil")) {
        double *in = array(EDGE * EDGE * EDGE), *out = array(EDGE * EDGE * EDGE);
        begin_s = now_s();
        end_round();
        for (int r = 0; r < scale; r++) {
            stencil(out, in, EDGE);
            end_round();
        }
        took_s = now_s() - begin_s;
        printf("%g\n", out[EDGE * EDGE + EDGE + 1]);
    } else if (!strcmp(kernel, "columns")) { /* rows of 16 KiB */
        double *a = array(2048 * 2048);
        double sum = 0;
        begin_s = now_s();
        for (int r = 0; r < scale; r++)
            sum += column_sum(a, 2048, 2048, 2048);
        took_s = now_s() - begin_s;
        printf("%g\n", sum);
    } else if (!strcmp(kernel, "column")) { /* the same one again and again */
        double *a = array(2048 * 2048);
        double sum = 0;
        begin_s = now_s();
        for (int r = 0; r < 2000 * scale; r++)
            sum += column_sum(a + 40, 2048, 2048, 1);
        took_s = now_s() - begin_s;
        printf("%g\n", sum);
    }
    return took_s;
}

int main(int argc, char **argv)
{
    const char *kernel = argc > 1 ? argv[1] : "triad";
    int scale = argc > 2 ? atoi(argv[2]) : 1;
    double took_s;
    if (!strcmp(kernel, "dgemm"))
        took_s = run_gemm(500, 0, scale);
    else if (!strcmp(kernel, "dgemm_tiled"))
        took_s = run_gemm(720, 48, scale);
    else if (!strcmp(kernel, "dgemm_small")) /* rounds of some milliseconds */
        took_s = run_gemm(384, 48, scale);
    else if (!strcmp(kernel, "spmv"))
        took_s = run_spmv(scale);
    else
        took_s = run_streams(kernel, scale);
    if (getenv("NUMERIC_TIME"))
        fprintf(stderr, "seconds %.4f\n", took_s);
    return 0;
}
