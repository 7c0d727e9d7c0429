/* A program that locks all its memory is not to hold the engine's tables in memory, too. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "expect.h"

enum { TOO_MUCH_KIB = 512 << 10, PAGE = 4096, TIMES = 5 };

int main(void)
{
    struct rusage usage;
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        puts("memory cannot be locked");
        return 77;
    }
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 1, PAGE);
    getrusage(RUSAGE_SELF, &usage);
    puts(usage.ru_maxrss < TOO_MUCH_KIB ? "little" : "too much");
    printf("%d %d\n", mlockall(0), errno == EINVAL);
    printf("%d %d\n", mlockall(MCL_ONFAULT), errno == EINVAL);
    printf("%d\n", munlockall());
    loop_fmul_like(TIMES);
    expect_mnemonic("pmaddwd", TIMES);
    return 0;
}
