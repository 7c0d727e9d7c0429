#include "timing/clock.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { CHAIN_LOOPS = 120, CHAIN_UNROLL = 100 };
enum { MUL_LOOPS = 40, MUL_UNROLL = 100 };
enum { NOP_LOOPS = 400, NOP_WARM_LOOPS = 50, NOP_UNROLL = 240 };

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

/* Of ones, so that no operand makes it slower. */
#if defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_flen >= 64)
#define HAS_MUL_CHAIN 1
static void mul_chain(long loops)
{
    double x = 1;
#if defined(__x86_64__)
    __asm__ volatile("1:\n\t.rept 100\n\tmulsd %0, %0\n\t.endr\n\tdec %1\n\tjnz 1b"
                     : "+x"(x), "+r"(loops)::"cc");
#elif defined(__aarch64__)
    __asm__ volatile("1:\n\t.rept 100\n\tfmul %d0, %d0, %d0\n\t.endr\n\tsubs %1, %1, #1\n\tb.ne 1b"
                     : "+w"(x), "+r"(loops)::"cc");
#else
    __asm__ volatile(
        "1:\n\t.rept 100\n\tfmul.d %0, %0, %0\n\t.endr\n\taddi %1, %1, -1\n\tbnez %1, 1b"
        : "+f"(x), "+r"(loops));
#endif
}
#else
#define HAS_MUL_CHAIN 0
static void mul_chain(long loops)
{
    (void)loops;
}
#endif

double rl_mul_cycles(const double *ratio, size_t n)
{
    enum { MOST_CYCLES = 8 };
    const double width = 0.004;
    const double least_share = 0.05;
    size_t near[MOST_CYCLES + 1] = {0};
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        double cycles = round(ratio[i]);
        if (cycles >= 2 && cycles <= MOST_CYCLES && fabs(ratio[i] - cycles) <= width * cycles)
            near[(size_t)cycles]++;
    }
    for (size_t i = 1; i <= MOST_CYCLES; i++)
        best = near[i] > near[best] ? i : best;
    return (double)near[best] >= fmax(1, least_share * (double)n) ? (double)best : 0;
}

/* What an addition takes on a core is not in doubt, so the multiplication is measured in those. */
static double cycles_of_mul(const struct rl_clock *clock, double until_s)
{
    enum { MOST_PAIRS = 4096 };
    double ratio[MOST_PAIRS];
    size_t n = 0;
    while (HAS_MUL_CHAIN && n < MOST_PAIRS && raw_now_s() < until_s) {
        uint64_t a = rl_ticks();
        chain(CHAIN_LOOPS);
        uint64_t b = rl_ticks();
        mul_chain(MUL_LOOPS);
        uint64_t c = rl_ticks();
        double add_s = rl_ticks_s(clock, a, b) / (CHAIN_LOOPS * CHAIN_UNROLL);
        double mul_s = rl_ticks_s(clock, b, c) / (MUL_LOOPS * MUL_UNROLL);
        if (add_s > 0)
            ratio[n++] = mul_s / add_s;
    }
    return rl_mul_cycles(ratio, n);
}

struct rl_clock rl_clock_calibrate(void)
{
    const double span_s = 0.02;
    /* any length of a tick will do for ratios */
    struct rl_clock clock = {.overhead_tick = reading_ticks(), .tick_hz = 1};
    double start_s;
    double end_s;
    uint64_t start = ticks_at(&start_s);
    clock.mul_cycles = cycles_of_mul(&clock, start_s + span_s);
    while (raw_now_s() - start_s < span_s)
        ;
    uint64_t end = ticks_at(&end_s);
    clock.tick_hz = (double)(end - start) / (end_s - start_s);
    return clock;
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

double rl_faster_chain(double add_hz, double mul_hz)
{
    const double most_slowed = 1.15;
    return mul_hz > add_hz && mul_hz <= most_slowed * add_hz ? mul_hz : add_hz;
}

double rl_core_clock_hz(const struct rl_clock *clock)
{
    uint64_t a = rl_ticks();
    chain(CHAIN_LOOPS);
    uint64_t b = rl_ticks();
    double add_s = rl_ticks_s(clock, a, b);
    double add_hz = add_s > 0 ? CHAIN_LOOPS * CHAIN_UNROLL / add_s : 0;
    if (clock->mul_cycles <= 0)
        return add_hz;
    mul_chain(MUL_LOOPS);
    uint64_t c = rl_ticks();
    double mul_s = rl_ticks_s(clock, b, c);
    double mul_hz = mul_s > 0 ? MUL_LOOPS * MUL_UNROLL * clock->mul_cycles / mul_s : 0;
    return rl_faster_chain(add_hz, mul_hz);
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
