/* Calls and returns that do not pair: what the stack holds and where control goes must be the
 * program's own affair. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { ROUNDS = 20000, DEPTH = 3000, STACK_BYTES = 1 << 16, PAGE = 4096 };

/* Two copies of the same recursive functions, 64 KiB apart: each return address of one differs from
 * one of the other in the upper bits alone. even_N and odd_N call each other's copy by turns. */
__asm__(".text\n"
        ".p2align 16\n"
        "near_even: test %edi, %edi\n"
        "    jz 1f\n"
        "    dec %edi\n"
        "    call far_odd\n"
        "    lea 1(%rax), %rax\n"
        "    ret\n"
        "1:  xor %eax, %eax\n"
        "    ret\n"
        "near_odd: call *%rsi\n"
        "    lea 3(%rax), %rax\n"
        "    ret\n"
        ".p2align 16\n"
        "far_even: test %edi, %edi\n"
        "    jz 1f\n"
        "    dec %edi\n"
        "    call near_odd\n"
        "    lea 5(%rax), %rax\n"
        "    ret\n"
        "1:  xor %eax, %eax\n"
        "    ret\n"
        "far_odd: call *%rsi\n"
        "    lea 7(%rax), %rax\n"
        "    ret\n");
long near_even(int depth, void *next);
long far_even(int depth, void *next);

static void same_low_bits(void)
{
    long sum = 0;
    for (int i = 0; i < ROUNDS / 100; i++)
        sum += near_even(i % 40, (void *)(i % 3 ? near_even : far_even)) +
               far_even(i % 50, (void *)(i % 5 ? far_even : near_even));
    printf("same low bits: %ld\n", sum);
}

/* What a return leaves below the stack pointer, and what a call overwrites, is as it was. */
static void below_the_stack(void)
{
    uint64_t before, kept, behind, expected;
    __asm__ volatile("lea -256(%%rsp), %%rsp\n\t"
                     "movq $0x1234567, -16(%%rsp)\n\t"
                     "call 1f\n\t"
                     "2: mov -8(%%rsp), %1\n\t"
                     "lea 2b(%%rip), %2\n\t"
                     "mov -16(%%rsp), %0\n\t"
                     "jmp 3f\n\t"
                     "1: nop\n\t"
                     "ret\n\t"
                     "3: lea 256(%%rsp), %%rsp\n\t"
                     "mov %0, %3"
                     : "=&r"(before), "=&r"(behind), "=&r"(expected), "=&r"(kept)
                     :
                     : "memory");
    printf("below the stack: %llx %d\n", (unsigned long long)kept, behind == expected);
}

/* Jumps by ret, returns by jmp, a call that takes its return address away, ret with an operand,
 * flags kept all along. */
static void unpaired(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t flags = 0;
        __asm__ volatile("lea -256(%%rsp), %%rsp\n\t"
                         "lea 1f(%%rip), %%rax\n\t"
                         "push %%rax\n\t"
                         "stc\n\t"
                         "ret\n\t"
                         "1: adc $0, %0\n\t"
                         "call 2f\n\t"
                         "2: pop %%rax\n\t"
                         "lea 3f-2b(%%rax), %%rax\n\t"
                         "push $5\n\t"
                         "push %%rax\n\t"
                         "std\n\t"
                         "ret $8\n\t"
                         "3: cld\n\t"
                         "call 4f\n\t"
                         "lea 1(%0), %0\n\t"
                         "jmp 5f\n\t"
                         "4: pop %%rax\n\t"
                         "jmp *%%rax\n\t"
                         "5: call 6f\n\t"
                         "ud2\n\t"
                         "6: lea 8(%%rsp), %%rsp\n\t"
                         "push $0x8D5\n\t"
                         "popf\n\t"
                         "call 7f\n\t"
                         "pushf\n\t"
                         "pop %1\n\t"
                         "cld\n\t"
                         "jmp 8f\n\t"
                         "7: lea -1(%0), %0\n\t"
                         "lea 1(%0), %0\n\t"
                         "ret\n\t"
                         "8: lea 256(%%rsp), %%rsp"
                         : "+r"(sum), "=&r"(flags)
                         :
                         : "rax", "cc", "memory");
        sum += flags & 0x8D5;
    }
    printf("unpaired: %llu\n", (unsigned long long)sum);
}

static jmp_buf out;
static long calls_made;

static __attribute__((noinline)) long descend(int depth)
{
    calls_made++;
    if (depth == 0)
        longjmp(out, 1);
    return depth < 0 ? 0 : descend(depth - 1) + depth;
}

static void jumps_out(void)
{
    volatile int i;
    for (i = 0; i < 60; i++)
        if (!setjmp(out))
            descend(i * 7 % 41);
    printf("jumps out: %ld\n", calls_made);
}

static __attribute__((noinline)) long deep(int depth, long x)
{
    volatile char frame[64];
    frame[depth % 64] = (char)x;
    return depth ? deep(depth - 1, x * 3 + frame[depth % 64]) + 1 : x & 0xFFFF;
}

static ucontext_t here, there;
static long switches;

static __attribute__((noinline)) void switch_below(int depth)
{
    if (depth)
        switch_below(depth - 1);
    else
        swapcontext(&there, &here);
    switches++;
}

static void coroutine(void)
{
    for (;;)
        switch_below((int)(switches % 13));
}

static void coroutines(void)
{
    static char stack[STACK_BYTES];
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof(stack);
    makecontext(&there, coroutine, 0);
    for (int i = 0; i < ROUNDS / 10; i++)
        swapcontext(&here, &there);
    printf("coroutines: %ld, deep: %ld\n", switches, deep(DEPTH, 7));
}

static volatile sig_atomic_t odd, seen;

__asm__(".text\n"
        "chain: call 1f\n"
        "    call 1f\n"
        "    ret\n"
        "1:  call 2f\n"
        "    call 2f\n"
        "    ret\n"
        "2:  ret\n"
        "chain_end:\n");
void chain(void);
extern const char chain_end[], __executable_start[], etext[];

/* Wherever a signal interrupts it, its return addresses are its own. */
static void look_into_chain(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    const uint64_t *top = (const uint64_t *)uc->uc_mcontext.gregs[REG_RSP];
    (void)signal;
    (void)info;
    seen++;
    if (rip < (uint64_t)chain || rip >= (uint64_t)chain_end)
        return;
    while (*top >= (uint64_t)chain && *top < (uint64_t)chain_end)
        top++;
    odd |= *top < (uint64_t)__executable_start || *top >= (uint64_t)etext; /* chain's own caller */
}

static void interrupted(void)
{
    struct sigaction action;
    struct itimerval period = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = look_into_chain;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &period, NULL);
    while (seen < 50)
        for (int i = 0; i < ROUNDS; i++)
            chain();
    setitimer(ITIMER_PROF, &none, NULL);
    printf("interrupted: %d\n", odd);
}

/* A call that does not find room on the stack, and a return that finds none. */
static sigjmp_buf fault;
static volatile uint64_t fault_ip, fault_at, fault_sp;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    (void)signal;
    fault_ip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    fault_sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
    fault_at = (uint64_t)info->si_addr;
    siglongjmp(fault, 1);
}

__asm__(".text\n"
        "call_at: mov %rdi, %rsp\n"
        "call_at_ip: call chain\n"
        "    ud2\n"
        "call_through: mov %rdi, %rsp\n"
        "    lea chain(%rip), %rcx\n"
        "call_through_ip: call *%rcx\n"
        "    ud2\n"
        "return_at: mov %rdi, %rsp\n"
        "return_at_ip: ret\n");
void call_at(void *sp), call_through(void *sp), return_at(void *sp);
extern const char call_at_ip[], call_through_ip[], return_at_ip[];

static void provoke(const char *what, void (*how)(void *), const char *ip, char *sp)
{
    if (!sigsetjmp(fault, 1))
        how(sp);
    printf("%s: ip %d, address %ld, sp %ld\n", what, fault_ip == (uint64_t)ip,
           (long)(fault_at - (uint64_t)sp), (long)(fault_sp - (uint64_t)sp));
}

static void faults(void)
{
    char *guarded = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action;
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    mprotect(guarded + PAGE, PAGE, PROT_READ | PROT_WRITE);
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 3; i++) {
        provoke("call without room", call_at, call_at_ip, guarded + PAGE);
        provoke("call through rcx", call_through, call_through_ip, guarded + PAGE);
        provoke("return from nowhere", return_at, return_at_ip, guarded);
    }
}

int main(void)
{
    same_low_bits();
    below_the_stack();
    unpaired();
    jumps_out();
    coroutines();
    interrupted();
    faults();
    return 0;
}
