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

/* Twelve bases, or one fewer, each at another place in its line: with the index and the bound they
 * leave one register of the sixteen for the countdown beside the stack pointer. Nothing but the
 * call is put on the stack: where that lies varies. */
#define MANY_BASES(name, last)                                                                     \
    void name(char *at, unsigned long n);                                                          \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            "movq %rbx, %xmm1; movq %rbp, %xmm2; movq %r12, %xmm3\n"                               \
            "movq %r13, %xmm4; movq %r14, %xmm5; movq %r15, %xmm6\n"                               \
            "lea 4136(%rdi), %rcx; lea 8208(%rdi), %rdx; lea 12344(%rdi), %rbx\n"                  \
            "lea 16416(%rdi), %rbp; lea 20488(%rdi), %r8; lea 24624(%rdi), %r9\n"                  \
            "lea 28696(%rdi), %r10; lea 32768(%rdi), %r11; lea 36904(%rdi), %r12\n"                \
            "lea 40976(%rdi), %r13; lea 45112(%rdi), %r14; xor %r15d, %r15d\n"                     \
            "1: movq (%rdi,%r15,8), %xmm0; movq (%rcx,%r15,8), %xmm0\n"                            \
            "movq (%rdx,%r15,8), %xmm0; movq (%rbx,%r15,8), %xmm0\n"                               \
            "movq (%rbp,%r15,8), %xmm0; movq (%r8,%r15,8), %xmm0\n"                                \
            "movq (%r9,%r15,8), %xmm0; movq (%r10,%r15,8), %xmm0\n"                                \
            "movq (%r11,%r15,8), %xmm0; movq (%r12,%r15,8), %xmm0\n"                               \
            "movq (%r13,%r15,8), %xmm0\n" last "\n"                                                \
            "add $1, %r15; cmp %rsi, %r15; jne 1b\n"                                               \
            "movq %xmm1, %rbx; movq %xmm2, %rbp; movq %xmm3, %r12\n"                               \
            "movq %xmm4, %r13; movq %xmm5, %r14; movq %xmm6, %r15; ret\n"                          \
            ".size " #name ", . - " #name "\n")

MANY_BASES(eleven_bases, "");
MANY_BASES(twelve_bases, "movq (%r14,%r15,8), %xmm0");

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
    RUN(eleven_bases, )
    RUN(twelve_bases, )
    free(area);
    return 0;
}
