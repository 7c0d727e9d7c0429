/* Faults: addresses, registers and vector state that handlers see and change, ways out of them. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum { ROUNDS = 500 };

extern char fault_load[], fault_ud[], fault_div[], behind_int3[];
static sigjmp_buf env;
static volatile int seen, bad;
static char *alt_stack;

static void check(int ok, const char *what)
{
    if (!ok) {
        bad++;
        printf("wrong: %s\n", what);
    }
}

static void jump_out(int signal)
{
    seen++;
    siglongjmp(env, signal);
}

/* At the faulting load: registers as the program set them; make it load from elsewhere. */
static const uint64_t replacement[2] = {0x1122334455667788, 42};

static void on_segv(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    char here;
    (void)signal;
    seen++;
    check((char *)r[REG_RIP] == fault_load, "rip at a load");
    check(info->si_addr == (void *)0x18, "si_addr of a load");
    check(r[REG_RAX] == 0x10 && r[REG_RCX] == 0x1111 && r[REG_RDX] == 0x2222, "rax rcx rdx");
    check(r[REG_R8] == 0x88 && r[REG_R15] == 0xff && r[REG_RSI] == 0x51, "r8 r15 rsi");
    check(uc->uc_mcontext.fpregs->_xmm[3].element[0] == 0x33333333, "xmm3");
    check(&here > alt_stack && &here < alt_stack + 65536, "signal stack");
    uc->uc_mcontext.fpregs->_xmm[3].element[0] = 0x44444444;
    r[REG_RAX] = (greg_t)(uintptr_t)&replacement[0];
    r[REG_RDX] = 0x7777;
}

static void load_through_handler(void)
{
    uint64_t loaded, rdx;
    uint32_t vector, pattern = 0x33333333;
    __asm__ volatile("movd %3, %%xmm3\n\t"
                     "mov $0x10, %%eax\n\t"
                     "mov $0x1111, %%ecx\n\t"
                     "mov $0x2222, %%edx\n\t"
                     "mov $0x88, %%r8d\n\t"
                     "mov $0xff, %%r15d\n\t"
                     "mov $0x51, %%esi\n"
                     "fault_load: mov 8(%%rax), %%rax\n\t"
                     "movd %%xmm3, %1"
                     : "=a"(loaded), "=r"(vector), "=d"(rdx)
                     : "r"(pattern)
                     : "rcx", "rsi", "r8", "r15", "xmm3");
    check(loaded == 42, "load after the handler changed the address");
    check(rdx == 0x7777, "register changed by the handler");
    check(vector == 0x44444444, "vector register changed by the handler");
}

static void skip(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    seen++;
    if (signal == SIGILL) {
        check(info->si_addr == fault_ud && (char *)r[REG_RIP] == fault_ud, "address of ud2");
        r[REG_RIP] += 2;
    } else if (signal == SIGFPE) {
        check(info->si_addr == fault_div && (char *)r[REG_RIP] == fault_div, "address of div");
        r[REG_RIP] += 2;
    } else {
        check((char *)r[REG_RIP] == behind_int3, "address behind int3");
    }
}

static void jump_nowhere(void)
{
    void (*volatile nowhere)(void) = (void (*)(void))0x1234;
    signal(SIGSEGV, jump_out);
    if (sigsetjmp(env, 1) == 0)
        nowhere();
}

static void write_read_only(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++)
        if (sigsetjmp(env, 1) == 0)
            *(volatile char *)page = 1;
    munmap(page, 4096);
}

int main(void)
{
    alt_stack = malloc(65536);
    stack_t stack = {.ss_sp = alt_stack, .ss_size = 65536};
    sigaltstack(&stack, NULL);
    handle(SIGSEGV, on_segv, SA_ONSTACK);
    for (int i = 0; i < ROUNDS; i++)
        load_through_handler();
    handle(SIGILL, skip, 0);
    handle(SIGFPE, skip, 0);
    handle(SIGTRAP, skip, 0);
    for (int i = 0; i < ROUNDS; i++) {
        __asm__ volatile("pminub %%xmm1, %%xmm0\nfault_ud: ud2" ::: "xmm0", "xmm1");
        __asm__ volatile("xor %%ecx, %%ecx\n\txor %%edx, %%edx\nfault_div: div %%ecx" ::
                             : "rax", "rcx", "rdx", "cc");
        __asm__ volatile("int3\nbehind_int3: pmaxub %%xmm1, %%xmm0" ::: "xmm0", "xmm1");
    }
    jump_nowhere();
    write_read_only();
    printf("%d seen, %d wrong\n", seen, bad);
    expect_mnemonic("pminub", ROUNDS);
    expect_mnemonic("pmaxub", ROUNDS);
    return bad;
}
