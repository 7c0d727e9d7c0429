/* Code that changes by other means than stores and mapping calls: through /proc/self/mem, by
 * process_vm_writev, by advice, by the break, by a file that is made shorter. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "expect.h"

enum { PAGE = 4096, ROUNDS = 20, OPERAND_AT = 1 };

typedef int function(void);

static const char seven[] = {(char)0xB8, 7, 0, 0, 0, (char)0xC3}; /* mov $7, %eax; ret */
static sigjmp_buf env;

static int call(void *at)
{
    function *f;
    memcpy(&f, &at, sizeof(f));
    return f();
}

static void jump_out(int signal)
{
    siglongjmp(env, signal);
}

static void call_or_fault(const char *what, void *at)
{
    int signal = sigsetjmp(env, 1);
    if (signal)
        printf("%s: signal %d\n", what, signal);
    else
        printf("%s: %d\n", what, call(at));
}

static char *code(void)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, seven, sizeof(seven));
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    return page;
}

static long through_a_file(const char *path, int way)
{
    long sum = 0;
    char *page = code();
    int fd = dup(open(path, O_RDWR));
    for (int i = 0; i < ROUNDS; i++) {
        int value = i;
        struct iovec piece = {&value, sizeof(value)};
        off_t at = (off_t)(uintptr_t)(page + OPERAND_AT);
        sum += call(page);
        lseek(fd, at, SEEK_SET);
        long n = way == 0   ? write(fd, &value, sizeof(value))
                 : way == 1 ? pwrite(fd, &value, sizeof(value), at)
                 : way == 2 ? writev(fd, &piece, 1)
                            : pwritev(fd, &piece, 1, at);
        sum += n * call(page);
    }
    close(fd);
    munmap(page, PAGE);
    return sum;
}

static long by_process_vm_writev(void)
{
    long sum = 0;
    char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, seven, sizeof(seven));
    for (int i = 0; i < ROUNDS; i++) {
        struct iovec here = {&i, sizeof(i)}, there = {page + OPERAND_AT, sizeof(i)};
        sum += call(page);
        sum += process_vm_writev(getpid(), &here, 1, &there, 1, 0) * call(page);
    }
    munmap(page, PAGE);
    return sum;
}

/* Code that differs from its file in memory, until the memory is given back. */
static long by_advice(void)
{
    long sum = 0;
    int fd = memfd_create("code", 0);
    if (write(fd, seven, sizeof(seven)) != sizeof(seven) || ftruncate(fd, PAGE))
        exit(1);
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    for (int i = 0; i < ROUNDS; i++) {
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        page[OPERAND_AT] = (char)(100 + i);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        sum += call(page);
        madvise(page, PAGE, MADV_DONTNEED);
        sum += call(page);
    }
    munmap(page, PAGE);
    close(fd);
    return sum;
}

static void by_the_break(void)
{
    uintptr_t start = ((uintptr_t)sbrk(2 * PAGE) + PAGE - 1) & -(uintptr_t)PAGE;
    char *page = (char *)start;
    memcpy(page, seven, sizeof(seven));
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    call_or_fault("break", page);
    if (brk(page) || sbrk(PAGE) == (void *)-1)
        exit(1);
    call_or_fault("break moved", page);
}

static void by_a_shorter_file(void)
{
    int fd = memfd_create("code", 0);
    if (write(fd, seven, sizeof(seven)) != sizeof(seven))
        exit(1);
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    call_or_fault("shared", page);
    if (ftruncate(fd, 0))
        exit(1);
    call_or_fault("shared, gone", page);
}

int main(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS};
    char path[64];
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], jump_out);
    snprintf(path, sizeof(path), "/proc/%d/mem", getpid());
    for (int way = 0; way < 4; way++)
        printf("%ld\n", through_a_file(way % 2 ? path : "/proc/self/mem", way));
    printf("%ld\n", by_process_vm_writev());
    printf("%ld\n", by_advice());
    by_the_break();
    by_a_shorter_file();
    loop_fmul_like(ROUNDS);
    expect_mnemonic("pmaddwd", ROUNDS); /* the engine is still there */
    return 0;
}
