/* Numeric loops with operation counts known on paper, in fixed instructions. */
#include <stdlib.h>

#include "expect.h"

enum { N = 96, TRIAD = 100000, REPS = 7, ROWS = 500, PER_ROW = 9 };

static double a[N * N], b[N * N], c[N * N];
static double x[TRIAD], y[TRIAD], z[TRIAD];

static __attribute__((noinline)) void dgemm(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) {
                double t = a[i * N + k];
                __asm__ volatile("mulsd %1, %0" : "+x"(t) : "m"(b[k * N + j]));
                __asm__ volatile("addsd %0, %1\n\tmovsd %1, %2"
                                 : "+x"(t), "+x"(c[i * N + j]), "=m"(c[i * N + j]));
            }
}

static __attribute__((noinline)) void triad(void)
{
    for (int r = 0; r < REPS; r++)
        for (int i = 0; i < TRIAD; i += 2)
            __asm__ volatile("movupd %1, %%xmm0\n\t"
                             "mulpd %%xmm0, %%xmm0\n\t"
                             "movupd %2, %%xmm1\n\t"
                             "addpd %%xmm1, %%xmm0\n\t"
                             "movupd %%xmm0, %0"
                             : "=m"(*(double(*)[2])(z + i))
                             : "m"(*(double(*)[2])(x + i)), "m"(*(double(*)[2])(y + i))
                             : "xmm0", "xmm1");
}

static __attribute__((noinline)) double spmv(const int *row, const int *column)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = row[i]; k < row[i + 1]; k++) {
            double t = x[column[k]];
            __asm__ volatile("subsd %1, %0" : "+x"(t) : "m"(y[k]));
            __asm__ volatile("divsd %1, %0" : "+x"(t) : "m"(y[k]));
            sum = t > sum ? t : sum;
        }
    return sum;
}

int main(void)
{
    int *row = malloc((ROWS + 1) * sizeof(*row));
    int *column = malloc(ROWS * PER_ROW * sizeof(*column));
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    for (int i = 0; i < TRIAD; i++) {
        x[i] = i % 11;
        y[i] = i % 13 + 1;
    }
    for (int i = 0, k = 0; i <= ROWS; i++) {
        row[i] = k;
        for (int n = 0; n < PER_ROW && i < ROWS; n++, k++)
            column[k] = (i * 31 + n * 17) % TRIAD;
    }
    dgemm();
    triad();
    printf("%g %g %g\n", c[N + 1], z[77], spmv(row, column));
    expect_mnemonic("mulsd", (uint64_t)N * N * N);
    expect_mnemonic("mulpd", (uint64_t)REPS * TRIAD / 2);
    expect_mnemonic("addpd", (uint64_t)REPS * TRIAD / 2);
    expect_mnemonic("subsd", (uint64_t)ROWS * PER_ROW);
    expect_mnemonic("divsd", (uint64_t)ROWS * PER_ROW);
    free(row);
    free(column);
    return 3;
}
