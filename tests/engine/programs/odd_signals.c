/* Signals that no program should cause: queued for itself in a fault's name, at the last bytes of
 * the last page, on returning from a frame that is none. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum { PAGE = 4096, STACK_BYTES = 65536, ROUNDS = 50 };

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

static sigjmp_buf env;
static char *code_end;

static void report(int signal, siginfo_t *info, void *context)
{
    (void)context;
    printf("%d %d %p\n", signal, info->si_code, info->si_addr);
}

static void report_and_jump(int signal, siginfo_t *info, void *context)
{
    long pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    long address = (long)info->si_addr;
    printf("%d %d", signal, info->si_code);
    if (code_end) /* in relation to the code that did it */
        printf(" %ld %ld", address ? address - (long)code_end : 0, pc - (long)code_end);
    puts("");
    siglongjmp(env, 1);
}

/* As handlers do that pass on a fault to whoever handled it before them. */
static void queue(int signal, int code)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = code;
    info.si_addr = (void *)0x1234;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, &info);
}

static void queue_all(void)
{
    sigset_t all;
    for (int i = 0; i < FAULTS; i++)
        handle(faults[i], report, 0);
    for (int i = 0; i < FAULTS; i++)
        queue(faults[i], 1);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    queue(SIGSEGV, 2);
    puts("blocked");
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

/* Nothing may be read behind the code, where the next page is not mapped. */
static void at_the_end(const char *what, unsigned length, char *end)
{
    code_end = end;
    memcpy(end - length, what, length);
    if (sigsetjmp(env, 1) == 0) {
        void (*code)(void);
        char *at = end - length;
        memcpy(&code, &at, sizeof(code));
        code();
        puts("came back");
    }
}

static void last_bytes(void)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + PAGE, PAGE);
    char *end = pages + PAGE;
    for (int i = 0; i < FAULTS; i++)
        handle(faults[i], report_and_jump, SA_ONSTACK);
    at_the_end("\xCC\xC3", 2, end);                         /* int3; ret */
    at_the_end("\xCD\x03\xC3", 3, end);                     /* int $3; ret */
    at_the_end("\xCD\x04\xC3", 3, end);                     /* int $4; ret */
    at_the_end("\x0F\x0B", 2, end);                         /* ud2 */
    at_the_end("\x31\xC9\xF7\xF1", 4, end);                 /* xor %ecx, %ecx; div %ecx */
    at_the_end("\x31\xC0\xFF\x20", 4, end);                 /* xor %eax, %eax; jmp *(%rax) */
    at_the_end("\x31\xC0\xFF\x10", 4, end);                 /* xor %eax, %eax; call *(%rax) */
    at_the_end("\x90", 1, end);                             /* nop */
    at_the_end("\x48\xB8\x01", 3, end);                     /* half a mov */
    at_the_end("\x31\xC0\x50\x48\x83\xC4\x08\xC3", 8, end); /* a ret that comes back */
    code_end = NULL;
}

static void return_from(char *frame)
{
    if (sigsetjmp(env, 1) == 0)
        __asm__ volatile("mov %0, %%rsp\n\tmov %1, %%eax\n\tsyscall" ::"r"(frame),
                         "i"(SYS_rt_sigreturn)
                         : "rax", "rcx", "r11", "memory");
}

static void bad_frames(void)
{
    char *zero =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        return_from((char *)PAGE); /* nothing is there */
        memset(zero, 0, STACK_BYTES);
        return_from(zero + PAGE);
    }
}

/* How a child ends that has no handler. */
static void ends_by(void (*what)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < FAULTS; i++)
            signal(faults[i], SIG_DFL);
        what();
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("ends by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void queue_one(void)
{
    queue(SIGBUS, 2);
}

static void overflow(void)
{
    __asm__ volatile("int $4");
}

static void return_from_nothing(void)
{
    return_from((char *)PAGE);
}

int main(void)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    sigaltstack(&stack, NULL);
    queue_all();
    last_bytes();
    bad_frames();
    ends_by(queue_one);
    ends_by(overflow);
    ends_by(return_from_nothing);
    loop_fmul_like(ROUNDS);
    expect_mnemonic("pmaddwd", ROUNDS); /* the engine is still there */
    return 0;
}
