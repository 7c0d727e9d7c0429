/* Control flow that no call or return explains: longjmp over frames and out of handlers, contexts
 * that take turns on their own stacks, a handler that changes where to continue, alternate stacks.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { JUMPS = 2000, CONTEXTS = 10, TURNS = 300, FAULTS = 500, STACK = 65536 };

static jmp_buf back;
static sigjmp_buf from_handler;
static ucontext_t scheduler, context[CONTEXTS];
static long turns[CONTEXTS];
static volatile sig_atomic_t ticks;

__attribute__((noinline)) static int descend(int n)
{
    volatile char frame[64];
    frame[n % 64] = (char)n;
    if (n == 0)
        longjmp(back, 7);
    return descend(n - 1) + frame[n % 64];
}

static void turn(int who)
{
    for (int i = 0; i < TURNS; i++) {
        turns[who] += i;
        swapcontext(&context[who], &scheduler);
    }
}

static void on_fault(int signal)
{
    siglongjmp(from_handler, signal);
}

static void on_tick(int signal)
{
    (void)signal;
    ticks++;
}

static long contexts(void)
{
    long sum = 0;
    for (int c = 0; c < CONTEXTS; c++) {
        getcontext(&context[c]);
        context[c].uc_stack.ss_sp = malloc(STACK);
        context[c].uc_stack.ss_size = STACK;
        context[c].uc_link = &scheduler;
        makecontext(&context[c], (void (*)(void))turn, 1, c);
    }
    for (int i = 0; i < TURNS; i++)
        for (int c = 0; c < CONTEXTS; c++)
            swapcontext(&scheduler, &context[c]);
    for (int c = 0; c < CONTEXTS; c++)
        sum += turns[c];
    return sum;
}

int main(void)
{
    volatile long jumped = 0, faulted = 0;
    struct itimerval fast = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};
    struct sigaction fault = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    stack_t own = {.ss_sp = malloc(STACK), .ss_size = STACK};
    char *guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &fast, NULL);
    for (volatile int i = 0; i < JUMPS; i++)
        if (setjmp(back) == 7)
            jumped++;
        else
            descend(i % 50);
    for (volatile int i = 0; i < FAULTS; i++)
        if (sigsetjmp(from_handler, 1) == SIGSEGV)
            faulted++;
        else
            guard[i] = 1;
    long sum = contexts();
    while (ticks < 100)
        ;
    setitimer(ITIMER_REAL, &off, NULL);
    printf("%ld %ld %ld\n", jumped, faulted, sum);
    return 0;
}
