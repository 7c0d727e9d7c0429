/* Processes that end by a fault or a trap of their own: by the signal they would natively. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

#define NO_ADDRESS 0x8000000000000000ul

enum { WAYS = 12 };

static void end(int way)
{
    static volatile int zero;
    switch (way) {
    case 0:
        __asm__ volatile("ud2");
        break;
    case 1:
        __asm__ volatile("int3");
        break;
    case 2:
        zero = 1 / zero;
        break;
    case 3:
        __asm__ volatile("hlt");
        break;
    case 4: /* trap after each instruction */
        __asm__ volatile("pushf; orl $0x100, (%%rsp); popf; nop; nop" ::: "memory", "cc");
        break;
    case 5: /* nothing there */
        __asm__ volatile("mov $0x123456, %%eax; call *%%rax" ::: "rax", "memory");
        break;
    case 6:
        __asm__ volatile("call *%0" ::"r"(NO_ADDRESS) : "memory");
        break;
    case 7:
        __asm__ volatile("jmp *%0" ::"r"(NO_ADDRESS) : "memory");
        break;
    case 8:
        __asm__ volatile("push %0; ret" ::"r"(NO_ADDRESS) : "memory");
        break;
    case 9:
        __asm__ volatile("mov %0, %%rsp; push %%rax" ::"r"(NO_ADDRESS) : "memory");
        break;
    case 10:
        __asm__ volatile(".byte 0xf1");
        break;
    default: /* alignment check */
        __asm__ volatile("pushf; orl $0x40000, (%%rsp); popf; mov 1(%%rsp), %%rax" ::
                             : "rax", "memory", "cc");
        break;
    }
}

int main(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (int way = 0; way < WAYS; way++) {
        int status = 0;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            end(way);
            _exit(way);
        }
        waitpid(pid, &status, 0);
        printf("%d: %x\n", way, (unsigned)status);
    }
    loop_fmul_like(1000);
    expect_mnemonic("pmaddwd", 1000);
    return 3;
}
