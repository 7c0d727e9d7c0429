/* A timer signal every few hundred microseconds must change no count of the code it interrupts, and
 * its handler must find the program's own registers at one of the program's own instructions. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "expect.h"

static const uint64_t iterations = 3000000;
static const uint64_t calls = 200000;
extern const char loop_begin[], loop_middle[], loop_end[];
static volatile sig_atomic_t ticks, in_loop, wrong;

/* r12 counts up, r13 = 3 * r12 except between the two increments. */
static __attribute__((noinline)) void invariant_loop(uint64_t n)
{
    __asm__ volatile("xor %%r12d, %%r12d\n\t"
                     "xor %%r13d, %%r13d\n"
                     "loop_begin: inc %%r12\n"
                     "loop_middle: lea 3(%%r13), %%r13\n\t"
                     "pmulhuw %%xmm1, %%xmm0\n\t"
                     "cmp %0, %%r12\n\t"
                     "jb loop_begin\n"
                     "loop_end:"
                     :
                     : "r"(n)
                     : "r12", "r13", "xmm0", "xmm1", "cc");
}

static void tick(int signal, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *pc = (const char *)r[REG_RIP];
    (void)signal;
    (void)info;
    ticks++;
    if (pc >= loop_begin && pc < loop_end) {
        in_loop++;
        int64_t ahead = pc == loop_middle ? 3 : 0;
        if (3 * r[REG_R12] != r[REG_R13] + ahead)
            wrong++;
    }
}

static __attribute__((noinline)) long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __attribute__((noinline)) long callee(long n)
{
    __asm__ volatile("pavgb %%xmm1, %%xmm0" ::: "xmm0", "xmm1");
    return n * 3 + 1;
}

int main(int argc, char **argv)
{
    int period_us = argc > 1 ? atoi(argv[1]) : 300;
    struct sigaction action;
    struct itimerval timer = {{0, period_us}, {0, period_us}};
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    if (period_us)
        setitimer(ITIMER_REAL, &timer, NULL);
    invariant_loop(iterations);
    loop_fmul_like(iterations);
    long sum = fib(25);
    long (*volatile through)(long) = callee;
    for (uint64_t i = 0; i < calls; i++)
        sum += through((long)i);
    memset(&timer, 0, sizeof(timer));
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%ld %d %d\n", sum, wrong, period_us == 0 || ticks > 0);
    expect_mnemonic("pmulhuw", iterations);
    expect_mnemonic("pmaddwd", iterations);
    expect_mnemonic("pavgb", calls);
    return 0;
}
