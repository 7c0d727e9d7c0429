/* A program that traps after each of its own instructions, by popf or by a handler that sets the
 * flag: it sees each address once, in order. The engine leaves before, and says why. */
#include <signal.h>
#include <ucontext.h>

#include "expect.h"
#include "handle.h"

enum { FLAG_TRAP = 0x100, STEPS_MAX = 64, ROUNDS = 400 };

extern char stepped_from[], by_handler[], behind_handler[];
static volatile int steps;
static long where[STEPS_MAX];

static void note(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal;
    (void)info;
    if (r[REG_RIP] == (greg_t)(uintptr_t)behind_handler)
        r[REG_EFL] &= ~FLAG_TRAP;
    if (steps < STEPS_MAX)
        where[steps++] = r[REG_RIP] - (greg_t)(uintptr_t)stepped_from;
}

static void start(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= FLAG_TRAP;
}

static void step(int with_handler)
{
    uint64_t x = 0;
    steps = 0;
    if (with_handler)
        __asm__ volatile("by_handler: ud2\n\tinc %0\n\tadd $5, %0\n"
                         "behind_handler: nop"
                         : "+r"(x)::"cc");
    else
        __asm__ volatile("mov $5, %%ecx\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n"
                         "stepped_from: nop\n\tinc %0\n1: dec %%ecx\n\tjnz 1b\n\t"
                         "pushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq\n\tnop"
                         : "+r"(x)
                         :
                         : "rcx", "cc", "memory");
    printf("%d steps, %d:", steps, (int)x);
    for (int i = 0; i < steps; i++)
        printf(" %ld", with_handler ? where[i] + stepped_from - by_handler : where[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    (void)argv;
    handle(SIGTRAP, note, 0);
    handle(SIGILL, start, 0);
    loop_fmul_like(ROUNDS);
    if (argc > 1)
        step(1);
    step(0);
    step(1);
    step(0);
    expect_mnemonic("pmaddwd", ROUNDS);
    fprintf(stderr,
            "expect state 4\n"
            "expect message the program traps after each of its instructions (trap flag)\n");
    return 0;
}
