/* Loops whose accesses move by some bytes each time round, from unaligned places on, few times and
 * many, upwards and down. Prints "steps NAME" for each function: what it moves must be the same
 * however its accesses are asked for. */
#include <stdio.h>
#include <stdlib.h>

#define KERNEL __attribute__((noinline))

enum { SPAN = 1 << 20, PITCH = 4096 + 64, MARGIN = 1 << 16 };

#define WALK(body)                                                                                 \
    __asm__ volatile("1:\n" body "\n"                                                              \
                     "sub $1, %[n]\n"                                                              \
                     "jne 1b\n"                                                                    \
                     : [at] "+&r"(at), [n] "+&r"(n)                                                \
                     :                                                                             \
                     : "rax", "xmm0", "memory", "cc")

#define FUNCTIONS(X)                                                                               \
    X(by_4, "mov (%[at]), %%eax; add $4, %[at]")                                                   \
    X(by_8, "mov (%[at]), %%rax; add $8, %[at]")                                                   \
    X(by_24, "mov (%[at]), %%rax; add $24, %[at]")                                                 \
    X(by_64, "mov (%[at]), %%rax; lea 64(%[at]), %[at]")                                           \
    X(by_100, "mov (%[at]), %%rax; add $100, %[at]")                                               \
    X(by_many, "mov (%[at]), %%rax; add $40, %[at]; mov (%[at]), %%eax; sub $16, %[at]")           \
    X(across, "movups (%[at]), %%xmm0; add $16, %[at]")                                            \
    X(wide, "movups (%[at]), %%xmm0; movups 96(%[at]), %%xmm0; sub $-16, %[at]")                   \
    X(behind_step, "add $8, %[at]; mov (%[at]), %%rax")                                            \
    X(store, "mov %%rax, (%[at]); add $8, %[at]")                                                  \
    X(store_first, "mov (%[at]), %%rax; mov %%rax, 8(%[at]); add $8, %[at]")                       \
    X(store_last, "mov 8(%[at]), %%rax; mov %%rax, (%[at]); add $8, %[at]")                        \
    X(down, "mov (%[at]), %%rax; sub $8, %[at]")                                                   \
    X(unknown, "mov (%[at]), %%rax; add $8, %[at]; xor $64, %[at]")                                \
    X(four_ways, "mov (%[at]), %%rax; mov 4096(%[at]), %%rax; mov %%rax, 8192(%[at]); "            \
                 "mov 12288(%[at]), %%rax; add $8, %[at]")                                         \
    X(ten_ways, "mov (%[at]), %%rax; mov 4096(%[at]), %%rax; mov 8192(%[at]), %%rax; "             \
                "mov 12288(%[at]), %%rax; mov 16384(%[at]), %%rax; mov 20480(%[at]), %%rax; "      \
                "mov 24576(%[at]), %%rax; mov 28672(%[at]), %%rax; mov 32768(%[at]), %%rax; "      \
                "mov 36864(%[at]), %%rax; add $8, %[at]")

#define DEFINE(name, body)                                                                         \
    KERNEL void name(char *at, unsigned long n)                                                    \
    {                                                                                              \
        WALK(body);                                                                                \
    }
FUNCTIONS(DEFINE)

/* So many times round, from a place in each row on; some bytes further each time. */
static void run(void (*kernel)(char *, unsigned long), char *area, unsigned long times)
{
    for (unsigned long row = 0; row < SPAN / PITCH; row++)
        kernel(area + MARGIN + row * PITCH + row * 12 % 64, times);
}

int main(void)
{
    char *area = aligned_alloc(4096, SPAN + 2 * MARGIN);
    if (!area)
        return 1;
    for (unsigned i = 0; i < SPAN + 2 * MARGIN; i++)
        area[i] = (char)i;
#define RUN(name, body)                                                                            \
    run(name, area, 3);                                                                            \
    run(name, area, 12);                                                                           \
    run(name, area, 400);                                                                          \
    fprintf(stderr, "steps %s\n", #name);
    FUNCTIONS(RUN)
    free(area);
    return 0;
}
