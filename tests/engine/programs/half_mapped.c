/* Instructions that begin at the end of code and would go on where there is none, and such as are
 * longer than any may be: the fault's signal, address and place are the processor's, and what ran
 * before is counted. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "expect.h"
#include "handle.h"

enum { PAGE = 4096, LEAD = 4 };

static sigjmp_buf env;
static long at_pc, at_address;
static int of_signal, of_code;

static void leave(int signal, siginfo_t *info, void *context)
{
    of_signal = signal;
    of_code = info->si_code;
    at_pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    at_address = (long)(uintptr_t)info->si_addr;
    siglongjmp(env, 1);
}

static const struct {
    unsigned char bytes[16];
    unsigned char length;
} insns[] = {
    {{0xB8, 1, 2, 3, 4}, 5},
    {{0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8}, 10},
    {{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x0F, 0x1F, 0x44, 0, 0}, 15},
    {{0x0F, 0x85, 0, 0, 0, 0}, 6},
    {{0xE8, 0, 0, 0, 0}, 5},
    {{0xF0, 0x48, 0x0F, 0xB1, 0x0D, 0, 0, 0, 0}, 9},
};

/* `bytes` behind pminub xmm0, xmm1 at the end of a page of code; what follows cannot be executed.
 */
static void run(const unsigned char *bytes, unsigned n, int behind)
{
    static const unsigned char pminub[LEAD] = {0x66, 0x0F, 0xDA, 0xC1};
    unsigned char *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *volatile at = code + PAGE - n;
    void *start = at - LEAD;
    void (*function)(void);
    memcpy(start, pminub, LEAD);
    memcpy(at, bytes, n);
    mprotect(code, PAGE, PROT_READ | PROT_EXEC);
    if (behind == 0)
        munmap(code + PAGE, PAGE);
    else
        mprotect(code + PAGE, PAGE, behind == 1 ? PROT_NONE : PROT_READ | PROT_WRITE);
    memcpy(&function, &start, sizeof(function));
    if (sigsetjmp(env, 1) == 0)
        function();
    else
        printf("%u bytes, %d behind: signal %d code %d pc %ld address %ld\n", n, behind, of_signal,
               of_code, at_pc - (long)(uintptr_t)at,
               at_address ? at_address - (long)(uintptr_t)at : 0);
    munmap(code, 2 * PAGE);
}

int main(void)
{
    unsigned char prefixes[PAGE / 2];
    uint64_t runs = 0;
    handle(SIGSEGV, leave, 0);
    handle(SIGILL, leave, 0);
    for (int behind = 0; behind < 3; behind++)
        for (unsigned i = 0; i < sizeof(insns) / sizeof(*insns); i++)
            for (unsigned n = 1; n < insns[i].length; n++, runs++)
                run(insns[i].bytes, n, behind);
    memset(prefixes, 0x66, sizeof(prefixes));
    run(prefixes, 15, 0);
    run(prefixes, 16, 0);
    run(prefixes, sizeof(prefixes), 0);
    fprintf(stderr, "expect state 2\n");
    return (int)(runs & 0x7F);
}
