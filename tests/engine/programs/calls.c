/* Control flow of many kinds, for comparing instruction counts by function. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

static jmp_buf env;

static __attribute__((noinline)) long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __attribute__((noinline)) long collatz(long n)
{
    long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static __attribute__((noinline)) long interpret(const unsigned char *code, int n)
{
    long a = 0;
    for (int i = 0; i < n; i++)
        switch (code[i] & 7) {
        case 0:
            a += 1;
            break;
        case 1:
            a ^= i;
            break;
        case 2:
            a -= 3;
            break;
        case 3:
            a *= 3;
            break;
        case 4:
            a = a << 1 | (a >> 63 & 1);
            break;
        case 5:
            a = ~a;
            break;
        case 6:
            a += code[i];
            break;
        default:
            a += 7;
            break;
        }
    return a;
}

static __attribute__((noinline)) void throw(int depth)
{
    if (depth < 0) /* never */
        return;
    if (depth == 0)
        longjmp(env, 1);
    throw(depth - 1);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) double sum(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * 1.5;
    return s;
}

int main(void)
{
    static unsigned char code[4096];
    static int numbers[3000];
    static double x[1000];
    unsigned state = 7;
    for (int i = 0; i < 4096; i++) {
        state = state * 1664525 + 1013904223;
        code[i] = (unsigned char)(state >> 24);
        numbers[i % 3000] = (int)(state >> 8);
        x[i % 1000] = i;
    }
    volatile long steps = 0, caught = 0;
    for (int i = 1; i < 3000; i++)
        steps += collatz(i);
    for (volatile int i = 0; i < 300; i++)
        if (setjmp(env) == 0)
            throw(i % 20);
        else
            caught++;
    qsort(numbers, 3000, sizeof(*numbers), compare);
    printf("%ld %ld %ld %ld %d %g\n", fib(20), steps, interpret(code, 4096), caught, numbers[1500],
           sum(x, 1000));
    return 0;
}
