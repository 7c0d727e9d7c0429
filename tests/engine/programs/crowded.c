/* Code far from everything else, with no free address in reach of it: the engine has no place for
 * a translation, must give way and say so, and not end the program. */
#include <string.h>
#include <sys/mman.h>

#include "expect.h"

#define CODE_AT 0x300000000000ul
#define AROUND  (3ul << 30) /* farther than a relative branch reaches */

static void *reserve(uint64_t at, uint64_t bytes)
{
    return mmap((void *)at, bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int main(void)
{
    static const unsigned char add_and_return[] = {0x8D, 0x47, 0x05, 0xC3}; /* lea eax,[rdi+5] */
    int (*far)(int);
    loop_fmul_like(500);
    if (reserve(CODE_AT - AROUND, 2 * AROUND) == MAP_FAILED)
        return 77;
    void *code = (void *)CODE_AT;
    mprotect(code, 4096, PROT_READ | PROT_WRITE);
    memcpy(code, add_and_return, sizeof(add_and_return));
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    memcpy(&far, &code, sizeof(far));
    printf("%d\n", far(37));
    loop_fmul_like(500);
    expect_mnemonic("pmaddwd", 500);
    fprintf(stderr, "expect state 4\n");
    return 3;
}
