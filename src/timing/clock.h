/* Time: ticks, their length, and the speed of the core that executes us.
 *
 * Ticks are the time-stamp counter on x86-64 and nanoseconds elsewhere. Core clock is measured, not
 * asked for: a chain of dependent additions takes one cycle each on every core we know. A neighbour
 * on the same core that adds, too, slows that chain by up to 9 % but spares one of floating-point
 * multiplications, and the other way round, so the faster of the two tells. */
#ifndef RL_TIMING_CLOCK_H
#define RL_TIMING_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <time.h>
#endif

/** How ticks relate to seconds, and what reading them costs. Plain; copy freely. */
struct rl_clock {
    double tick_hz;       /**< ticks a second */
    double overhead_tick; /**< ticks between two readings with nothing between them */
    double mul_cycles;    /**< latency of a floating-point multiplication, in cycles; 0: unknown,
                               and the chain of additions stands alone */
};

/** Ticks now, after everything before has executed and before anything behind starts. */
static inline uint64_t rl_ticks(void)
{
#if defined(__x86_64__)
    _mm_lfence();
    uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/** Calibrate against CLOCK_MONOTONIC_RAW; takes 20 ms. */
struct rl_clock rl_clock_calibrate(void);

/** Seconds since an arbitrary start, for budgets; not for samples. */
double rl_now_s(void);

/** Seconds between two readings, reading cost taken off; never negative. */
static inline double rl_ticks_s(const struct rl_clock *clock, uint64_t from, uint64_t to)
{
    double ticks = (double)(to - from) - clock->overhead_tick;
    return ticks > 0 ? ticks / clock->tick_hz : 0;
}

/**
 * Core clock in Hz from two dependent chains of some 12000 cycles each, one of additions and one of
 * floating-point multiplications. A disturbed reading is too low; of several close in time the
 * largest are right.
 */
double rl_core_clock_hz(const struct rl_clock *clock);

/**
 * The clock that two chains amount to: the faster, unless it is ahead by more than a neighbour can
 * slow the additions: then these were interrupted, or the core is not of the kind that
 * was calibrated.
 */
double rl_faster_chain(double add_hz, double mul_hz);

/**
 * Cycles of a multiplication, from how many additions one took.
 * @param ratio  [n] of pairs of chains. Undisturbed ones are within 0.4 % of a whole number.
 * @return the whole number from 2 to 8 that most are close to, if a twentieth is; else 0. Pure.
 */
double rl_mul_cycles(const double *ratio, size_t n);

/** Execute a chain of 12000 dependent additions, i.e. 12000 cycles. */
void rl_core_chain(void);

/**
 * Contention probe: no-operations a second through the core's front end, over some 4 µs: starting
 * takes 30 to 200 cycles, by the place of the code, which must not look like a neighbour.
 * Divided by the core clock it is the front-end width (4, 6, 8 …) on an undisturbed core and about
 * half of it while another hardware thread shares the core, which no steal counter shows.
 */
double rl_nop_rate(const struct rl_clock *clock);

/**
 * A probe for what the other one misses: a neighbour that waits for memory or polls leaves the
 * front end alone but halves the reorder buffer. A chain of multiplications of 3 cycles each,
 * twenty and then 180 no-operations, goes on without a gap only while some 200 instructions are in
 * flight.
 * @return cycles of the chain a second, over about 2 µs; divided by the core clock it is 1 on an
 * undisturbed core with at least 224 entries, and about 0.75 where half of 256 are left. 0: not
 * known for this instruction set.
 */
double rl_window_rate(const struct rl_clock *clock);

#endif
