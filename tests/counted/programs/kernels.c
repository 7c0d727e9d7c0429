/* Kernels whose operations can be worked out by hand. Prints, for each function, what one run of
 * the program makes it do: function, precision, FLOP; "*" is the whole program. Built at several
 * optimisation levels and vector widths: the figures must not depend on them. No fast-math: sums
 * keep their order. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define KERNEL __attribute__((noinline)) void
#else
#define KERNEL __attribute__((noinline, noclone)) void
#endif

enum { N = 48, LONG = 5003, HALF = LONG / 2, WHOLE = 4992, ROWS = 200, PER_ROW = 7 };

static double a[N][N], b[N][N], c[N][N];
static float fa[N][N], fb[N][N], fc[N][N];
static double x[LONG], y[LONG], z[LONG];
static float fx[LONG], fy[LONG];
static long double lx[LONG], ly[LONG];
static double value[ROWS * PER_ROW];
static int column[ROWS * PER_ROW];

KERNEL dgemm(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
}

KERNEL sgemm(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += fa[i][k] * fb[k][j];
            fc[i][j] = sum;
        }
}

KERNEL triad(double s)
{
    for (int i = 0; i < LONG; i++)
        x[i] = y[i] + s * z[i];
}

KERNEL spmv(void)
{
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < PER_ROW; k++)
            sum += value[i * PER_ROW + k] * x[column[i * PER_ROW + k]];
        y[i] = sum;
    }
}

KERNEL stencil(double left, double middle, double right)
{
    for (int i = 1; i < LONG - 1; i++)
        z[i] = left * y[i - 1] + middle * y[i] + right * y[i + 1];
}

KERNEL divide_and_root(void)
{
    for (int i = 0; i < LONG; i++)
        x[i] = __builtin_sqrt(y[i] * y[i] + 1.0) / (z[i] * z[i] + 2.0);
}

/* Two loops, of whole vectors: in one, compilers would half fill those of single precision, and
 * idle lanes are executed like any other. */
KERNEL mixed(void)
{
    for (int i = 0; i < WHOLE; i++)
        fx[i] = fx[i] * 1.5f + fy[i];
    for (int i = 0; i < WHOLE; i++)
        z[i] += (double)fx[i];
}

KERNEL extended(void)
{
    for (int i = 0; i < LONG; i++)
        lx[i] = lx[i] * 0.5L + ly[i] / 3.0L;
}

/* Real parts in the first half, imaginary ones in the second. */
KERNEL complex_multiply(void)
{
    for (int i = 0; i < HALF; i++) {
        double re = x[i] * y[i] - x[i + HALF] * y[i + HALF];
        double im = x[i] * y[i + HALF] + x[i + HALF] * y[i];
        z[i] = re;
        z[i + HALF] = im;
    }
}

/* Comparisons, maxima, absolute values and conversions: no FLOP. */
KERNEL no_flop(void)
{
    for (int i = 0; i < LONG; i++) {
        double v = __builtin_fabs(x[i]);
        y[i] = v > z[i] ? v : z[i];
        fy[i] = (float)(int)(y[i] > 100 ? 100 : y[i]);
    }
}

static void fill(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
            fa[i][j] = (float)(i ^ j);
            fb[i][j] = (float)(i & j);
        }
    for (int i = 0; i < LONG; i++) {
        y[i] = i % 17;
        z[i] = i % 5;
        fx[i] = fy[i] = 1;
        lx[i] = ly[i] = i;
    }
    for (int i = 0; i < ROWS * PER_ROW; i++) {
        value[i] = i % 3;
        column[i] = i * 37 % LONG;
    }
}

static long sum_fp64;

static void expect(const char *function, const char *precision, long flop)
{
    printf("%s\t%s\t%ld\n", function, precision, flop);
    sum_fp64 += precision[2] == '6' ? flop : 0;
}

int main(void)
{
    fill();
    dgemm();
    sgemm();
    triad(3.0);
    spmv();
    stencil(0.2, 0.5, 0.3);
    stencil(0.1, 0.6, 0.3);
    divide_and_root();
    mixed();
    extended();
    complex_multiply();
    no_flop();
    expect("dgemm", "fp64", 2L * N * N * N);
    expect("sgemm", "fp32", 2L * N * N * N);
    expect("triad", "fp64", 2L * LONG);
    expect("spmv", "fp64", 2L * ROWS * PER_ROW);
    expect("stencil", "fp64", 2 * 5L * (LONG - 2));
    expect("divide_and_root", "fp64", 6L * LONG);
    expect("mixed", "fp32", 2L * WHOLE);
    expect("mixed", "fp64", 1L * WHOLE);
    expect("extended", "x87", 3L * LONG);
    expect("complex_multiply", "fp64", 6L * HALF);
    expect("no_flop", "fp64", 0);
    expect("no_flop", "fp32", 0);
    expect("*", "fp64", sum_fp64);
    return c[1][1] < 0 && fc[2][2] < 0 && z[3] < 0;
}
