/* Matrix tiles: state that only processes have that ask for it, that is not there before its first
 * use, and that makes signal frames several times as large. Ends with 77 where there are none. */
#include <asm/prctl.h>
#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum {
    ROWS = 16,
    ROW_BYTES = 64,
    TILE_BYTES = ROWS * ROW_BYTES,
    NUMBERS = TILE_BYTES / 4,
    TILES = 3,
    CPUID_XSTATE = 0xD,
    STATE_TILE_DATA = 18,
    GET_PERMISSION = 0x1022,     /* ARCH_GET_XCOMP_PERM */
    REQUEST_PERMISSION = 0x1023, /* ARCH_REQ_XCOMP_PERM */
    EXTENDED_SIZE_AT = 468,
    XSTATE_BV_AT = 512,
    SMALL_STACK = 4096,
    ROUNDS = 300,
    PRODUCTS = 1000,
    THREADS = 4,
    SKIPPED = 77,
};

extern char first_use[], failing_load[];
static sigjmp_buf env;
static volatile sig_atomic_t bad, seen;
static _Alignas(64) uint8_t left[TILE_BYTES], right[TILE_BYTES];
static char altstack[1 << 16];

static void check(int ok, const char *what)
{
    if (!ok) {
        bad++;
        printf("wrong: %s\n", what);
    }
}

static int has_tiles(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (d >> 22 & 1) && (d >> 24 & 1) && (d >> 25 & 1) && (low >> STATE_TILE_DATA & 1);
}

static void configure(int rows)
{
    _Alignas(64) uint8_t config[64] = {1};
    for (int i = 0; i < TILES; i++) {
        config[16 + 2 * i] = ROW_BYTES;
        config[48 + i] = (uint8_t)rows;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
}

static void load(const void *from)
{
    __asm__ volatile("tileloadd (%0,%1), %%tmm0" ::"r"(from), "r"((long)ROW_BYTES) : "memory");
}

static void store(void *to)
{
    __asm__ volatile("tilestored %%tmm0, (%0,%1)" ::"r"(to), "r"((long)ROW_BYTES) : "memory");
}

/* tmm0 += left * right, n times */
static void multiply_bytes(long n)
{
    __asm__ volatile("tileloadd (%1,%3), %%tmm1\n\t"
                     "tileloadd (%2,%3), %%tmm2\n"
                     "1: tdpbssd %%tmm2, %%tmm1, %%tmm0\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(n)
                     : "r"(left), "r"(right), "r"((long)ROW_BYTES)
                     : "cc", "memory");
}

static void multiply_bf16(long n)
{
    __asm__ volatile("tileloadd (%1,%3), %%tmm1\n\t"
                     "tileloadd (%2,%3), %%tmm2\n"
                     "1: tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(n)
                     : "r"(left), "r"(right), "r"((long)ROW_BYTES)
                     : "cc", "memory");
}

static uint64_t digest_of_tile(void)
{
    uint64_t tile[TILE_BYTES / 8], digest = 0;
    store(tile);
    for (unsigned i = 0; i < TILE_BYTES / 8; i++)
        digest = (digest ^ tile[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return digest;
}

/* The tile after n products of bytes, by the definition. */
static int products_are_right(long n)
{
    int32_t tile[NUMBERS];
    store(tile);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            int32_t sum = 0;
            for (int k = 0; k < ROW_BYTES; k++)
                sum += (int8_t)left[i * ROW_BYTES + k] *
                       (int8_t)right[k / 4 * ROW_BYTES + 4 * j + k % 4];
            if (tile[i * ROWS + j] != sum * (int32_t)n)
                return 0;
        }
    return 1;
}

/* ---- without permission ------------------------------------------------------------------------
 */

static void on_ill(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal;
    check(info->si_addr == first_use && (char *)r[REG_RIP] == first_use, "where SIGILL is");
    seen++;
    siglongjmp(env, 1);
}

static void use_without_permission(void)
{
    handle(SIGILL, on_ill, 0);
    if (sigsetjmp(env, 1) == 0) {
        configure(ROWS);
        __asm__ volatile("first_use: tilezero %tmm0");
    }
    printf("without permission: %d\n", seen);
    signal(SIGILL, SIG_DFL);
}

static long request(void)
{
    long result = syscall(SYS_arch_prctl, REQUEST_PERMISSION, STATE_TILE_DATA);
    return result ? -errno : 0;
}

static int set_altstack(size_t bytes)
{
    stack_t stack = {.ss_sp = altstack, .ss_size = bytes};
    return sigaltstack(&stack, NULL) ? errno : 0;
}

static void in_child(const char *what, void (*function)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        function();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("%s: %x\n", what, (unsigned)status);
}

/* A signal stack that cannot hold a frame with tiles: no permission … */
static void small_before(void)
{
    int error = set_altstack(SMALL_STACK);
    printf("small signal stack: %d, request: %ld\n", error, request());
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    printf("none: %ld\n", request());
}

static pthread_barrier_t barrier;

static void *hold_small_stack(void *unused)
{
    set_altstack(SMALL_STACK);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void small_in_thread(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_small_stack, NULL);
    pthread_barrier_wait(&barrier);
    printf("small in another thread: %ld\n", request());
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    printf("it is gone: %ld\n", request());
}

/* … and with permission no such stack. */
static void small_after(void)
{
    unsigned long mask = 0;
    stack_t now;
    check(getauxval(AT_MINSIGSTKSZ) > 8 * TILE_BYTES, "AT_MINSIGSTKSZ");
    syscall(SYS_arch_prctl, GET_PERMISSION, &mask);
    int error = set_altstack(SMALL_STACK);
    sigaltstack(NULL, &now);
    printf("permissions %lx, small: %d, flags %d\n", mask, error, now.ss_flags);
    printf("just enough: %d\n", set_altstack(getauxval(AT_MINSIGSTKSZ)));
}

/* ---- in signal frames --------------------------------------------------------------------------
 */

/* Tile 0 of the interrupted state; NULL if that is not in use. */
static int32_t *tile_in(ucontext_t *uc)
{
    unsigned size, offset, c, d;
    char *state = (char *)uc->uc_mcontext.fpregs;
    uint64_t in_use;
    uint32_t bytes;
    __cpuid_count(CPUID_XSTATE, STATE_TILE_DATA, size, offset, c, d);
    memcpy(&bytes, state + EXTENDED_SIZE_AT, sizeof(bytes));
    memcpy(&in_use, state + XSTATE_BV_AT, sizeof(in_use));
    check(bytes >= offset + size, "size of the frame");
    return in_use >> STATE_TILE_DATA & 1 ? (int32_t *)(state + offset) : NULL;
}

/* At a load from nowhere: change the tile and the address. */
static int32_t replacement[NUMBERS];

static void on_segv(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    char here;
    (void)signal;
    (void)info;
    check((char *)r[REG_RIP] == failing_load, "rip at a load of a tile");
    check(&here > altstack && &here < altstack + sizeof(altstack), "signal stack");
    int32_t *tile = tile_in(uc);
    check(tile && tile[5] == 1005, "tile in the frame");
    if (tile)
        tile[5] = 7;
    configure(1); /* the handler's own tiles are not the program's */
    load(replacement);
    r[REG_RAX] = (greg_t)(uintptr_t)replacement;
    seen++;
}

static void edited_by_handler(void)
{
    int32_t tile[NUMBERS], other[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        tile[i] = 1000 + i;
        replacement[i] = -i;
    }
    seen = 0;
    handle(SIGSEGV, on_segv, SA_ONSTACK);
    for (int round = 0; round < ROUNDS; round++) {
        configure(ROWS);
        load(tile);
        __asm__ volatile("mov $0x18, %%eax\n"
                         "failing_load: tileloadd (%%rax,%1), %%tmm1\n\t"
                         "tilestored %%tmm1, (%0,%1)" ::"r"(other),
                         "r"((long)ROW_BYTES)
                         : "rax", "memory");
        check(memcmp(other, replacement, sizeof(other)) == 0, "what was loaded instead");
        store(other);
        check(other[5] == 7 && other[6] == 1006 && other[NUMBERS - 1] == 1000 + NUMBERS - 1,
              "tile changed by the handler");
    }
    printf("edited: %d\n", seen);
}

static void jump_out(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    check(tile_in(context) != NULL, "tile in the frame");
    seen++;
    siglongjmp(env, 1);
}

static void jumps(void)
{
    static volatile int round;
    seen = 0;
    handle(SIGSEGV, jump_out, SA_ONSTACK);
    for (round = 0; round < ROUNDS; round++)
        if (sigsetjmp(env, 1) == 0) {
            configure(ROWS);
            load(replacement);
            __asm__ volatile("tilestored %%tmm0, (%0,%1)" ::"r"(16ul), "r"(0l) : "memory");
        }
    printf("jumped: %d\n", seen);
    signal(SIGSEGV, SIG_DFL);
}

static void on_alarm(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    configure(ROWS);
    load(replacement);
    __asm__ volatile("tilerelease");
    seen++;
}

static void interrupted(void)
{
    struct itimerval timer = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
    int wrong = 0;
    seen = 0;
    handle(SIGALRM, on_alarm, SA_RESTART | SA_ONSTACK);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        configure(ROWS);
        __asm__ volatile("tilezero %tmm0");
        multiply_bytes(PRODUCTS);
        wrong += !products_are_right(PRODUCTS);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    printf("interrupted: %d wrong\n", wrong);
}

/* ---- threads and processes ---------------------------------------------------------------------
 */

static void *work(void *unused)
{
    configure(ROWS);
    __asm__ volatile("tilezero %tmm0");
    multiply_bytes(PRODUCTS);
    check(products_are_right(PRODUCTS), "products in a thread");
    return unused;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void work_in_child(void)
{
    work(NULL);
    printf("permission: %ld\n", request());
}

static void kernels(void)
{
    configure(ROWS);
    __asm__ volatile("tilezero %tmm0");
    multiply_bytes(PRODUCTS);
    check(products_are_right(PRODUCTS), "products");
    configure(ROWS);
    for (int i = 0; i < TILE_BYTES; i += 2) { /* bfloat16 from 1 to 2 */
        left[i + 1] = right[i + 1] = 0x3F;
        left[i] = (uint8_t)(0x80 | left[i]);
        right[i] = (uint8_t)(0x80 | right[i]);
    }
    multiply_bf16(PRODUCTS);
    printf("bf16: %016" PRIx64 "\n", digest_of_tile());
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!has_tiles()) {
        printf("skipped: this processor or kernel has no AMX\n");
        return SKIPPED;
    }
    for (int i = 0; i < TILE_BYTES; i++) {
        left[i] = (uint8_t)(i * 7 + 3);
        right[i] = (uint8_t)(i * 13 + 5);
    }
    use_without_permission();
    in_child("small before", small_before);
    in_child("small in a thread", small_in_thread);
    if (request()) {
        printf("skipped: the kernel does not permit AMX\n");
        return SKIPPED;
    }
    in_child("small after", small_after);
    set_altstack(sizeof(altstack));
    edited_by_handler();
    jumps();
    interrupted();
    threads();
    in_child("in a child", work_in_child);
    kernels();
    printf("%d wrong\n", bad);
    expect_mnemonic("tdpbssd", (ROUNDS + THREADS + 1) * PRODUCTS);
    expect_mnemonic("tdpbf16ps", PRODUCTS);
    return bad;
}
