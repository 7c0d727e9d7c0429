/* Words on both sides of the border between two lines, loaded and stored again and again through
 * one register, for each of some pairs of lines; then a sweep that drives them out of L1. Prints
 * "expect N": the dirty lines that the function `sweep` drives out; what the stack left dirty may
 * be more. */
#include <stdio.h>
#include <stdlib.h>

#define KERNEL __attribute__((noinline))

enum { LINE = 64, PAIRS = 64, ROUNDS = 2000, SWEEP = 1 << 16 };

#define TWICE(first, second)                                                                       \
    __asm__ volatile("1: " first "\n" second "\n"                                                  \
                     "sub $1, %[n]\n"                                                              \
                     "jne 1b\n"                                                                    \
                     : [n] "+&r"(n)                                                                \
                     : [at] "r"(at)                                                                \
                     : "rax", "memory", "cc")

KERNEL void loads(char *at, unsigned long n)
{
    TWICE("mov (%[at]), %%rax", "mov 8(%[at]), %%rax");
}

KERNEL void stores_behind(char *at, unsigned long n)
{
    TWICE("mov (%[at]), %%rax", "mov %%rax, 8(%[at])");
}

KERNEL void stores_before(char *at, unsigned long n)
{
    TWICE("mov %%rax, (%[at])", "mov 8(%[at]), %%rax");
}

KERNEL void stores_both(char *at, unsigned long n)
{
    TWICE("mov %%rax, (%[at])", "mov %%rax, 8(%[at])");
}

static inline __attribute__((always_inline)) long read_all(const char *words)
{
    long sum = 0;
    for (unsigned i = 0; i < SWEEP; i += LINE)
        sum += ((const volatile char *)words)[i];
    return sum;
}

KERNEL long sweep(const char *words)
{
    return read_all(words);
}

/* The same, so that what was dirty before is not on the account of `sweep`. */
KERNEL long prepare(const char *words)
{
    return read_all(words) + 1;
}

int main(void)
{
    static const struct {
        void (*walk)(char *at, unsigned long n);
        unsigned dirty; /* of two lines */
    } phase[] = {{loads, 0}, {stores_behind, 1}, {stores_before, 1}, {stores_both, 2}};
    char *lines = aligned_alloc(SWEEP, SWEEP), *words = aligned_alloc(SWEEP, SWEEP);
    unsigned expected = 0;
    if (!lines || !words)
        return 1;
    prepare(words);
    for (unsigned p = 0; p < sizeof phase / sizeof *phase; p++) {
        for (unsigned i = 0; i < PAIRS; i++)
            phase[p].walk(lines + 2 * i * LINE + LINE - 8, ROUNDS);
        sweep(words);
        expected += PAIRS * phase[p].dirty;
    }
    fprintf(stderr, "expect %u\n", expected);
    return 0;
}
