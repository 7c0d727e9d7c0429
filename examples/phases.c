/* A program with the kernels that Roofline papers are about, to be profiled:
 *
 *     cc -O3 -march=native -g examples/phases.c -o phases
 *     roofline run -- ./phases
 *
 * It knows nothing of roofline. Each phase is a function of its own and takes some tenths of a
 * second. */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum {
    GEMM_N = 640,
    GEMM_TILED_REPEATS = 20,
    TILE_I = 64,
    TILE_K = 64,
    TILE_J = 320,
    GRID = 1500, /* SpMV: 5-point Laplacian on GRID x GRID points */
    SPMV_SWEEPS = 30,
    CONV_CHANNELS = 64,
    CONV_SIZE = 56,
    CONV_REPEATS = 60,
    STENCIL_N = 256,
    STENCIL_SWEEPS = 24,
};

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory) {
        fprintf(stderr, "phases: no memory for %zu bytes\n", n * size);
        exit(1);
    }
    return memory;
}

/* ---- C += A B, as it stands in the textbook: B is walked down its columns ---- */

NOINLINE static void gemm_naive(const double *a, const double *b, double *c)
{
    for (int i = 0; i < GEMM_N; i++)
        for (int j = 0; j < GEMM_N; j++) {
            double sum = 0;
            for (int k = 0; k < GEMM_N; k++)
                sum += a[i * GEMM_N + k] * b[k * GEMM_N + j];
            c[i * GEMM_N + j] += sum;
        }
}

/* ---- the same product in tiles that fit the caches, four rows at a time in registers ---- */

static void gemm_tile(const double *restrict a, const double *restrict b, double *restrict c,
                      int k0, int j0)
{
    for (int k = k0; k < k0 + TILE_K; k++) {
        const double a0 = a[k], a1 = a[GEMM_N + k];
        const double a2 = a[2 * GEMM_N + k], a3 = a[3 * GEMM_N + k];
        for (int j = j0; j < j0 + TILE_J; j++) {
            const double bkj = b[k * GEMM_N + j];
            c[j] += a0 * bkj;
            c[GEMM_N + j] += a1 * bkj;
            c[2 * GEMM_N + j] += a2 * bkj;
            c[3 * GEMM_N + j] += a3 * bkj;
        }
    }
}

NOINLINE static void gemm_tiled(const double *a, const double *b, double *c)
{
    for (int i0 = 0; i0 < GEMM_N; i0 += TILE_I)
        for (int k0 = 0; k0 < GEMM_N; k0 += TILE_K)
            for (int j0 = 0; j0 < GEMM_N; j0 += TILE_J)
                for (int i = i0; i < i0 + TILE_I; i += 4)
                    gemm_tile(a + i * GEMM_N, b, c + i * GEMM_N, k0, j0);
}

static double run_gemm(void)
{
    const size_t n = (size_t)GEMM_N * GEMM_N;
    double *a = allocate(n, sizeof *a), *b = allocate(n, sizeof *b);
    double *naive = allocate(n, sizeof *naive), *tiled = allocate(n, sizeof *tiled);
    for (size_t i = 0; i < n; i++) {
        a[i] = (double)(i % 7) - 3;
        b[i] = (double)(i % 5) - 2;
    }
    gemm_naive(a, b, naive);
    for (int r = 0; r < GEMM_TILED_REPEATS; r++)
        gemm_tiled(a, b, tiled);
    double difference = 0;
    for (size_t i = 0; i < n; i++)
        difference += tiled[i] - GEMM_TILED_REPEATS * naive[i];
    free(a);
    free(b);
    free(naive);
    free(tiled);
    return difference;
}

/* ---- y = A x, A in compressed rows ---- */

struct csr {
    int rows;
    int *start, *column;
    double *value;
};

static struct csr laplacian(void)
{
    const int rows = GRID * GRID;
    struct csr m = {.rows = rows};
    int n = 0;
    m.start = allocate((size_t)rows + 1, sizeof *m.start);
    m.column = allocate(5 * (size_t)rows, sizeof *m.column);
    m.value = allocate(5 * (size_t)rows, sizeof *m.value);
    static const int dx[] = {0, -1, 0, 1, 0}, dy[] = {-1, 0, 0, 0, 1};
    for (int row = 0; row < rows; row++) {
        const int x = row % GRID, y = row / GRID;
        for (int k = 0; k < 5; k++) {
            const int nx = x + dx[k], ny = y + dy[k];
            if (nx < 0 || nx >= GRID || ny < 0 || ny >= GRID)
                continue;
            m.column[n] = ny * GRID + nx;
            m.value[n++] = k == 2 ? 4 : -1;
        }
        m.start[row + 1] = n;
    }
    return m;
}

NOINLINE static void spmv(const struct csr *m, const double *x, double *y)
{
    for (int row = 0; row < m->rows; row++) {
        double sum = 0;
        for (int k = m->start[row]; k < m->start[row + 1]; k++)
            sum += m->value[k] * x[m->column[k]];
        y[row] = sum;
    }
}

static double run_spmv(void)
{
    struct csr m = laplacian();
    double *x = allocate((size_t)m.rows, sizeof *x), *y = allocate((size_t)m.rows, sizeof *y);
    for (int i = 0; i < m.rows; i++)
        x[i] = i % 3;
    for (int s = 0; s < SPMV_SWEEPS; s++)
        spmv(&m, x, y);
    double sum = 0;
    for (int i = 0; i < m.rows; i++)
        sum += y[i];
    free(m.start);
    free(m.column);
    free(m.value);
    free(x);
    free(y);
    return sum;
}

/* ---- 3 x 3 convolution, 64 channels in and out, padding 1 ---- */

enum { PADDED = CONV_SIZE + 2 };

NOINLINE static void convolution(const float *restrict in, const float *restrict weight,
                                 float *restrict out)
{
    for (int k = 0; k < CONV_CHANNELS; k++)
        for (int c = 0; c < CONV_CHANNELS; c++)
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++) {
                    const float w = weight[((k * CONV_CHANNELS + c) * 3 + r) * 3 + s];
                    for (int y = 0; y < CONV_SIZE; y++)
                        for (int x = 0; x < CONV_SIZE; x++)
                            out[(k * CONV_SIZE + y) * CONV_SIZE + x] +=
                                w * in[(c * PADDED + y + r) * PADDED + x + s];
                }
}

static double run_convolution(void)
{
    const size_t n_in = (size_t)CONV_CHANNELS * PADDED * PADDED;
    const size_t n_out = (size_t)CONV_CHANNELS * CONV_SIZE * CONV_SIZE;
    const size_t n_weight = (size_t)CONV_CHANNELS * CONV_CHANNELS * 9;
    float *in = allocate(n_in, sizeof *in), *out = allocate(n_out, sizeof *out);
    float *weight = allocate(n_weight, sizeof *weight);
    for (size_t i = 0; i < n_in; i++)
        in[i] = (float)(i % 9) - 4;
    for (size_t i = 0; i < n_weight; i++)
        weight[i] = (float)(i % 3) - 1;
    for (int r = 0; r < CONV_REPEATS; r++)
        convolution(in, weight, out);
    double sum = 0;
    for (size_t i = 0; i < n_out; i++)
        sum += out[i];
    free(in);
    free(out);
    free(weight);
    return sum;
}

/* ---- 7-point stencil in three dimensions ---- */

NOINLINE static void stencil(const double *restrict from, double *restrict to)
{
    const int n = STENCIL_N, plane = n * n;
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                const int i = z * plane + y * n + x;
                to[i] = 0.4 * from[i] + 0.1 * (from[i - 1] + from[i + 1] + from[i - n] +
                                               from[i + n] + from[i - plane] + from[i + plane]);
            }
}

static double run_stencil(void)
{
    const size_t n = (size_t)STENCIL_N * STENCIL_N * STENCIL_N;
    double *a = allocate(n, sizeof *a), *b = allocate(n, sizeof *b);
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] = (double)(i % 11);
    for (int s = 0; s < STENCIL_SWEEPS; s += 2) {
        stencil(a, b);
        stencil(b, a);
    }
    double sum = a[n / 2];
    free(a);
    free(b);
    return sum;
}

int main(void)
{
    printf("gemm: difference %g\n", run_gemm());
    printf("spmv: sum %g\n", run_spmv());
    printf("convolution: sum %g\n", run_convolution());
    printf("stencil: centre %g\n", run_stencil());
    return 0;
}
