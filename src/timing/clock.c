#include "timing/clock.h"

#include <stdlib.h>
#include <time.h>

static double raw_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rl_now_s(void)
{
    return raw_now_s();
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The mean, because counters may advance in steps of tens of ticks, but of the quicker half only,
 * because anything may come between two readings. */
static double reading_ticks(void)
{
    enum { N = 400 };
    double took[N];
    double sum = 0;
    for (int i = 0; i < N; i++) {
        uint64_t a = rl_ticks();
        uint64_t b = rl_ticks();
        took[i] = (double)(b - a);
    }
    qsort(took, N, sizeof took[0], ascending);
    for (int i = 0; i < N / 2; i++)
        sum += took[i];
    return sum / (N / 2);
}

/* The tighter of the two clock readings around each tick reading bounds the error: of several
 * tries at each end the quickest is kept. */
static uint64_t ticks_at(double *ret_time_s)
{
    uint64_t ticks = 0;
    double quickest = 1e9;
    for (int i = 0; i < 20; i++) {
        double before = raw_now_s();
        uint64_t t = rl_ticks();
        double after = raw_now_s();
        if (after - before < quickest) {
            quickest = after - before;
            ticks = t;
            *ret_time_s = 0.5 * (before + after);
        }
    }
    return ticks;
}

struct rl_clock rl_clock_calibrate(void)
{
    const double span_s = 0.02;
    struct rl_clock clock = {.overhead_tick = reading_ticks()};
    double start_s;
    double end_s;
    uint64_t start = ticks_at(&start_s);
    while (raw_now_s() - start_s < span_s)
        ;
    uint64_t end = ticks_at(&end_s);
    clock.tick_hz = (double)(end - start) / (end_s - start_s);
    return clock;
}

enum { CHAIN_LOOPS = 200, CHAIN_UNROLL = 100 };
enum { NOP_LOOPS = 400, NOP_WARM_LOOPS = 50, NOP_UNROLL = 240 };

/* Register additions, not additions of a constant: some cores execute those at renaming. */
static void chain(long loops)
{
#if defined(__x86_64__)
    long x = 1;
    __asm__ volatile("1:\n\t.rept 100\n\tadd %0, %0\n\t.endr\n\tdec %1\n\tjnz 1b"
                     : "+r"(x), "+r"(loops)::"cc");
#elif defined(__aarch64__)
    long x = 1;
    __asm__ volatile("1:\n\t.rept 100\n\tadd %0, %0, %0\n\t.endr\n\tsubs %1, %1, #1\n\tb.ne 1b"
                     : "+r"(x), "+r"(loops)::"cc");
#elif defined(__riscv)
    long x = 1;
    __asm__ volatile("1:\n\t.rept 100\n\tadd %0, %0, %0\n\t.endr\n\taddi %1, %1, -1\n\tbnez %1, 1b"
                     : "+r"(x), "+r"(loops));
#else
    register long x = 1;
    for (; loops > 0; loops--)
        for (int i = 0; i < CHAIN_UNROLL; i++)
            __asm__ volatile("" : "+r"(x) : "0"(x + x));
#endif
}

static void nops(long loops)
{
#if defined(__x86_64__)
    __asm__ volatile(".p2align 6\n1:\n\t.rept 240\n\tnop\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(loops)::"cc");
#else
    for (; loops > 0; loops--)
        __asm__ volatile(".rept 240\n\tnop\n\t.endr" : "+r"(loops));
#endif
}

#if defined(__x86_64__)
enum { WINDOW_LOOPS = 100, WINDOW_WARM_LOOPS = 10, WINDOW_CYCLES = 20 * 3 };

static void window(long loops)
{
    long x = 1;
    __asm__ volatile(".p2align 6\n1:\n\t.rept 20\n\timul %0, %0\n\t.endr\n\t"
                     ".rept 180\n\tnop\n\t.endr\n\tdec %1\n\tjnz 1b"
                     : "+r"(x), "+r"(loops)::"cc");
}
#endif

double rl_window_rate(const struct rl_clock *clock)
{
#if defined(__x86_64__)
    window(WINDOW_WARM_LOOPS);
    uint64_t a = rl_ticks();
    window(WINDOW_LOOPS);
    uint64_t b = rl_ticks();
    double seconds = rl_ticks_s(clock, a, b);
    return seconds > 0 ? WINDOW_LOOPS * WINDOW_CYCLES / seconds : 0;
#else
    (void)clock;
    return 0;
#endif
}

void rl_core_chain(void)
{
    chain(CHAIN_LOOPS);
}

double rl_core_clock_hz(const struct rl_clock *clock)
{
    uint64_t a = rl_ticks();
    chain(CHAIN_LOOPS);
    uint64_t b = rl_ticks();
    double seconds = rl_ticks_s(clock, a, b);
    return seconds > 0 ? CHAIN_LOOPS * CHAIN_UNROLL / seconds : 0;
}

double rl_nop_rate(const struct rl_clock *clock)
{
    nops(NOP_WARM_LOOPS); /* the code may have to come back into the caches */
    uint64_t a = rl_ticks();
    nops(NOP_LOOPS);
    uint64_t b = rl_ticks();
    double seconds = rl_ticks_s(clock, a, b);
    return seconds > 0 ? NOP_LOOPS * NOP_UNROLL / seconds : 0;
}
