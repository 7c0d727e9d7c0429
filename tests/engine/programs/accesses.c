/* Every way of touching memory, each in a function of its own that moves a known number of lines:
 * accesses FORM touches LINES fresh lines and prints how many. With an unsupported form, prints 0.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FORM    __attribute__((noinline, target("avx2")))
#define FORM512 __attribute__((noinline, target("avx512f,avx512bw,avx512vl")))

enum { LINE = 64, LINES = 4096 };

static char *memory;
static __thread char thread_local_memory[LINES * LINE];
static _Alignas(LINE) char static_memory[2 * LINE];
static char *current;

FORM static void rep_stos(void)
{
    void *to = memory;
    size_t n = LINES * LINE / 8;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

FORM static void rep_movs(void) /* half read, half written */
{
    void *to = memory;
    void *from = memory + LINES / 2 * LINE;
    size_t n = LINES / 2 * LINE;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

FORM static void rep_stos_down(void)
{
    char *to = memory + LINES * LINE - 8;
    size_t n = LINES * LINE / 8;
    __asm__ volatile("std\n\trep stosq\n\tcld" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

FORM static void scan(void) /* ends at the byte that differs, long before rcx does */
{
    char *at = memory;
    size_t n = SIZE_MAX / 2;
    memory[LINES * LINE - 1] = 1;
    __asm__ volatile("xor %%eax, %%eax\n\trepe scasb\n\tnop" : "+D"(at), "+c"(n)::"rax", "memory");
}

FORM static void gather_avx2(void) /* 8 elements, 8 lines */
{
    for (int i = 0; i < LINES; i += 8) {
        const char *base = memory + (size_t)i * LINE;
        __asm__ volatile("vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n\t"
                         "vmovdqu %1, %%ymm1\n\t"
                         "vpgatherdd %%ymm2, (%0,%%ymm1,4), %%ymm0" ::"r"(base),
                         "m"(*(const int(*)[8])(const int[8]){0, 16, 32, 48, 64, 80, 96, 112})
                         : "xmm0", "xmm1", "xmm2");
    }
}

FORM static void gather_masked(void) /* every second element enabled */
{
    for (int i = 0; i < LINES; i += 4) {
        const char *base = memory + (size_t)i * LINE;
        __asm__ volatile("vmovdqu %2, %%ymm2\n\t"
                         "vmovdqu %1, %%ymm1\n\t"
                         "vpgatherdd %%ymm2, (%0,%%ymm1,4), %%ymm0" ::"r"(base),
                         "m"(*(const int(*)[8])(const int[8]){0, 999, 16, 999, 32, 999, 48, 999}),
                         "m"(*(const int(*)[8])(const int[8]){-1, 0, -1, 0, -1, 0, -1, 0})
                         : "xmm0", "xmm1", "xmm2");
    }
}

FORM512 static void gather_avx512(void) /* 16 elements in zmm17, mask k3 without two of them */
{
    static const int index[16] = {0,   16,  32,  48,  64,  80,  96,   112,
                                  128, 144, 160, 176, 192, 208, 9999, 9999};
    for (int i = 0; i + 14 <= LINES; i += 14) {
        const char *base = memory + (size_t)i * LINE;
        __asm__ volatile("mov $0x3fff, %%eax\n\t"
                         "kmovw %%eax, %%k3\n\t"
                         "vmovdqu32 %1, %%zmm17\n\t"
                         "vpgatherdd (%0,%%zmm17,4), %%zmm18%{%%k3%}" ::"r"(base),
                         "m"(index)
                         : "rax", "k3", "xmm17", "xmm18");
    }
}

FORM512 static void scatter_avx512(void)
{
    static const int64_t index[8] = {0, 64, 128, 192, 256, 320, 384, 448};
    for (int i = 0; i < LINES; i += 8) {
        char *base = memory + (size_t)i * LINE;
        __asm__ volatile("kxnorw %%k1, %%k1, %%k1\n\t"
                         "vmovdqu64 %1, %%zmm30\n\t"
                         "vpscatterqq %%zmm0, (%0,%%zmm30,1)%{%%k1%}" ::"r"(base),
                         "m"(index)
                         : "k1", "xmm30", "memory");
    }
}

FORM static void masked_move(void)
{
    for (int i = 0; i < LINES; i++)
        __asm__ volatile("vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n\t"
                         "vmaskmovps %%ymm0, %%ymm2, (%0)" ::"r"(memory + (size_t)i * LINE)
                         : "xmm2", "memory");
}

FORM static void non_temporal(void)
{
    for (int i = 0; i < LINES * LINE / 8; i++)
        __asm__ volatile("movnti %1, (%0)" ::"r"(memory + (size_t)i * 8), "r"(0l) : "memory");
}

FORM static void stack_growth(void)
{
    char *top = memory + LINES * LINE;
    size_t n = LINES * LINE / 8;
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %0, %%rsp\n"
                     "1:\tpush %%rcx\n\tpush %%rcx\n\t"
                     "sub $2, %1\n\tjnz 1b\n\t"
                     "mov %%rbx, %%rsp"
                     : "+r"(top), "+r"(n)::"rbx", "rcx", "memory");
}

FORM static void thread_local_storage(void)
{
    for (int i = 0; i < LINES; i++)
        __asm__ volatile("incb %%fs:(%0)" ::"r"((char *)(thread_local_memory + (size_t)i * LINE -
                                                         (char *)__builtin_thread_pointer()))
                         : "memory");
}

FORM static void every_register(void) /* no register is left for whoever watches */
{
    for (int i = 0; i < LINES; i++) {
        current = memory + (size_t)i * LINE;
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\t"
                         "mov %0, %%rax\n\t"
                         "mov %%rax, %%rcx\n\tmov %%rax, %%rdx\n\tmov %%rax, %%rbx\n\t"
                         "mov %%rax, %%rbp\n\tmov %%rax, %%rsi\n\tmov %%rax, %%rdi\n\t"
                         "mov %%rax, %%r8\n\tmov %%rax, %%r9\n\tmov %%rax, %%r10\n\t"
                         "mov %%rax, %%r11\n\tmov %%rax, %%r12\n\tmov %%rax, %%r13\n\t"
                         "mov %%rax, %%r14\n\tmov %%rax, %%r15\n\t"
                         "cmp $1, %%rax\n\t" /* flags are needed below */
                         "movb $1, (%%rax)\n\tmovb $1, 1(%%rcx)\n\tmovb $1, 2(%%rdx)\n\t"
                         "movb $1, 3(%%rbx)\n\tmovb $1, 4(%%rbp)\n\tmovb $1, 5(%%rsi)\n\t"
                         "movb $1, 6(%%rdi)\n\tmovb $1, 7(%%r8)\n\tmovb $1, 8(%%r9)\n\t"
                         "movb $1, 9(%%r10)\n\tmovb $1, 10(%%r11)\n\tmovb $1, 11(%%r12)\n\t"
                         "movb $1, 12(%%r13)\n\tmovb $1, 13(%%r14)\n\tmovb $1, 14(%%r15)\n\t"
                         "seta 15(%%r15)\n\t"
                         "lea (%%rax,%%rcx), %%rax\n\tlea (%%rax,%%rdx), %%rax\n\t"
                         "lea (%%rbx,%%rsi), %%rbx\n\tlea (%%rdi,%%r8), %%rdi\n\t"
                         "lea (%%r9,%%r10), %%r9\n\tlea (%%r11,%%r12), %%r11\n\t"
                         "lea (%%r13,%%r14), %%r13\n\tlea (%%r15,%%rbp), %%r15\n\t"
                         "pop %%rbp\n\tlea 128(%%rsp), %%rsp" ::"m"(current)
                         : "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11",
                           "r12", "r13", "r14", "r15", "memory");
    }
}

FORM static void static_address(void)
{
    for (int i = 0; i < LINES; i++) /* two lines, over and over; in between L1 is swept */
        __asm__ volatile("movb $1, %0\n\tmovb $1, %1"
                         : "=m"(static_memory[0]), "=m"(static_memory[LINE]));
}

static int has(const char *feature)
{
    if (!strcmp(feature, "avx2"))
        return __builtin_cpu_supports("avx2");
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

struct form {
    const char *name;
    const char *needs;
    void (*run)(void);
    int lines;
};

static const struct form forms[] = {
    {"rep_stos", NULL, rep_stos, LINES},
    {"rep_movs", NULL, rep_movs, LINES},
    {"rep_stos_down", NULL, rep_stos_down, LINES},
    {"scan", NULL, scan, LINES},
    {"gather_avx2", "avx2", gather_avx2, LINES},
    {"gather_masked", "avx2", gather_masked, LINES},
    {"gather_avx512", "avx512", gather_avx512, LINES / 14 * 14},
    {"scatter_avx512", "avx512", scatter_avx512, LINES},
    {"masked_move", "avx2", masked_move, LINES},
    {"non_temporal", NULL, non_temporal, LINES},
    {"stack_growth", NULL, stack_growth, LINES},
    {"thread_local_storage", NULL, thread_local_storage, LINES},
    {"every_register", NULL, every_register, LINES},
    {"static_address", NULL, static_address, 2},
};

int main(int argc, char **argv)
{
    memory = mmap(NULL, LINES * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (argc > 1 && strcmp(argv[1], forms[i].name) != 0)
            continue;
        int can = !forms[i].needs || has(forms[i].needs);
        if (can)
            forms[i].run();
        printf("%s %d\n", forms[i].name, can ? forms[i].lines : 0);
    }
    return 0;
}
