/* Code where there should be none: in memory that may only be executed, at the end of a file that
 * is shorter than its mapping, in the kernel's page of old system calls. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum { PAGE = 4096, PAGES = 4, ROUNDS = 100 };

typedef int function(void);

static const char seven[] = {(char)0xB8, 7, 0, 0, 0, (char)0xC3}; /* mov $7, %eax; ret */
static sigjmp_buf env;
static char *expected;

static function *callable(void *at)
{
    function *f;
    memcpy(&f, &at, sizeof(f));
    return f;
}

static void missing(int signal, siginfo_t *info, void *context)
{
    (void)context;
    printf("%d at %ld\n", signal, (long)((char *)info->si_addr - expected));
    siglongjmp(env, 1);
}

static int execute_only(void)
{
    int sum = 0;
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, seven, sizeof(seven));
    mprotect(page, PAGE, PROT_EXEC);
    for (int i = 0; i < ROUNDS; i++)
        sum += callable(page)();
    munmap(page, PAGE);
    return sum;
}

/* As the kernel does it where its page is; its three calls are all in the vdso today. */
static const char *old_calls(void)
{
    char line[256];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        found |= strstr(line, "[vsyscall]") != NULL;
    if (maps)
        fclose(maps);
    if (!found)
        return "none";
    time_t (*old_time)(time_t *) = (time_t(*)(time_t *))(uintptr_t)0xffffffffff600400;
    for (int i = 0; i < ROUNDS; i++)
        if (labs(old_time(NULL) - time(NULL)) > 1)
            return "wrong";
    return "right";
}

/* One page of code, mapped as if it were four. */
static char *short_file(int fd)
{
    char page[PAGE];
    memset(page, 0x90, sizeof(page));
    memcpy(page + PAGE - sizeof(seven), seven, sizeof(seven));
    if (pwrite(fd, page, sizeof(page), 0) != sizeof(page))
        exit(1);
    return mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

int main(void)
{
    int fd = memfd_create("short", 0);
    char *file = short_file(fd);
    printf("%d\n", execute_only());
    puts(old_calls());
    for (int i = 0; i < ROUNDS; i++)
        if (callable(file)() + callable(file + PAGE - sizeof(seven))() != 14)
            puts("wrong");
    loop_fmul_like(ROUNDS);
    expect_mnemonic("pmaddwd", ROUNDS); /* the engine was still there */
    handle(SIGBUS, missing, 0);
    expected = file + PAGE;
    if (sigsetjmp(env, 1) == 0)
        callable(file + PAGE)();
    if (pwrite(fd, "\xB8", 1, PAGE - 1) == 1 && sigsetjmp(env, 1) == 0)
        callable(file + PAGE - 1)();
    if (pwrite(fd, seven, sizeof(seven), PAGE) != sizeof(seven))
        return 1;
    printf("%d\n", callable(file + PAGE)());
    return 6;
}
