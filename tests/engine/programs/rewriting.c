/* Code that changes under our feet, in every way a JIT might change it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

enum { PAGE = 4096, ROUNDS = 60 };

typedef int function(void);

/* mov eax, value; ret */
static void write_code(unsigned char *at, int value)
{
    at[0] = 0xB8;
    memcpy(at + 1, &value, sizeof(value));
    at[5] = 0xC3;
}

static function *callable(void *at)
{
    function *f;
    memcpy(&f, &at, sizeof(f));
    return f;
}

static long writable_and_executable(void)
{
    long sum = 0;
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        write_code(page, i);
        sum += callable(page)();
        page[1]++; /* one byte of an instruction */
        sum += callable(page)();
    }
    munmap(page, PAGE);
    return sum;
}

static long by_protection(void)
{
    long sum = 0;
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        write_code(page + 16 * (i % 3), i);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        sum += callable(page + 16 * (i % 3))();
    }
    munmap(page, PAGE);
    return sum;
}

static long by_mapping_anew(void)
{
    long sum = 0;
    unsigned char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2)
            munmap(page, PAGE);
        page = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
        write_code(page, i);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        sum += callable(page)();
    }
    munmap(page, PAGE);
    return sum;
}

static long mapped_twice(void)
{
    long sum = 0;
    int fd = memfd_create("code", 0);
    if (fd < 0 || ftruncate(fd, PAGE))
        exit(1);
    unsigned char *write = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *run = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (int i = 0; i < ROUNDS; i++) {
        write_code(write, i);
        sum += callable(run)();
    }
    return sum;
}

/* The instruction right behind the store changes; processors see that, in one and the same mapping.
 */
static long self_modifying(void)
{
    static const unsigned char code[] = {
        0xC6, 0x05, 0x06, 0x00, 0x00, 0x00, 0x2A, /* movb $42, 6(%rip): the jump's target's imm */
        0xEB, 0x04, 0x90, 0x90, 0x90, 0x90,       /* jmp over padding: a new block */
    };
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof(code));
    write_code(page + sizeof(code), 7);
    page[2] = (unsigned char)(sizeof(code) + 1 - 7);
    int first = callable(page)();
    munmap(page, PAGE);
    return first;
}

int main(void)
{
    printf("%ld", writable_and_executable());
    printf(" %ld", by_protection());
    printf(" %ld", by_mapping_anew());
    printf(" %ld", mapped_twice());
    printf(" %ld\n", self_modifying());
    return 0;
}
