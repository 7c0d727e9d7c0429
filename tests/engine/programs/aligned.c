/* A program that has the processor check alignment (the flag AC): its own accesses are aligned, and
 * where one is not, it is told, once. */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "expect.h"
#include "handle.h"

#define ALIGNMENT_CHECK "0x40000"

enum { CALLS = 600, WORDS = 8, FLAG_AC = 0x40000 };

static volatile int told;

static void tell(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    told += info->si_code == BUS_ADRALN;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~FLAG_AC;
}

static long plus(long x)
{
    return x + 1;
}

static long times(long x)
{
    return x * 3;
}

static long minus(long x)
{
    return x - 7;
}

static long (*const volatile functions[])(long) = {plus, times, minus};

__attribute__((noinline)) static long descend(long n)
{
    return n < 2 ? n : descend(n - 1) + descend(n - 2) + functions[n % 3](n);
}

static void check_alignment(void)
{
    __asm__ volatile("pushfq\n\torl $" ALIGNMENT_CHECK ", (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

/* @return whether it was on. */
static int stop_checking(void)
{
    uint64_t flags;
    __asm__ volatile("pushfq\n\tpop %0\n\tpushfq\n\tandl $~" ALIGNMENT_CHECK ", (%%rsp)\n\tpopfq"
                     : "=r"(flags)
                     :
                     : "memory", "cc");
    return (flags & FLAG_AC) != 0;
}

int main(void)
{
    static uint64_t words[WORDS];
    long sum = 0;
    uint32_t loaded;
    handle(SIGBUS, tell, 0);
    check_alignment();
    for (int i = 0; i < CALLS; i++) {
        sum += functions[i % 3](i);
        __asm__ volatile("paddusb %%xmm1, %%xmm0" ::: "xmm0");
    }
    sum += descend(10);
    int on = stop_checking();
    printf("%ld, told %d, on %d\n", sum, told, on);
    memset(words, 1, sizeof(words));
    check_alignment();
    __asm__ volatile("movl 1(%1), %0" : "=r"(loaded) : "r"(words));
    on = stop_checking();
    printf("%x, told %d, on %d\n", (unsigned)loaded, told, on);
    expect_mnemonic("paddusb", CALLS);
    return 0;
}
