/* The Roofline model itself: pure functions of numbers, no allocation, no I/O, no globals.
 *
 * Words: a *roof* is a set of ceilings chosen to apply together (one thread count, one operation
 * mix); *attainable* performance at arithmetic intensity I is min(P_peak, B·I); the *ridge* is
 * P_peak/B; *bound time* is the least time each resource needs for a kernel's work, and the largest
 * names the bound. Source: Williams, Waterman, Patterson, CACM 52(4), 2009; cache-aware: Ilic et
 * al., IEEE CAL 13(1), 2014. */
#ifndef ROOFLINE_MODEL_H
#define ROOFLINE_MODEL_H

#include <roofline/error.h>
#include <roofline/machine.h>
#include <roofline/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * P(I) = min(peak, bandwidth · I).
 *
 * @param peak_flop_per_s  > 0.
 * @param bytes_per_s      > 0.
 * @param ai               FLOP/byte, >= 0.
 * @return FLOP/s. Non-decreasing in ai; never above the peak.
 */
double rl_attainable(double peak_flop_per_s, double bytes_per_s, double ai);

/** Intensity at which memory and compute bound meet, FLOP/byte: peak / bandwidth. */
double rl_ridge(double peak_flop_per_s, double bytes_per_s);

/** What a kernel's operations look like, as far as it decides which compute ceiling applies. */
struct rl_mix {
    double fma_share;         /**< fraction of FLOP done by fused multiply-adds, 0..1 */
    double add_share;         /**< fraction of FLOP done by adds */
    double mul_share;         /**< fraction of FLOP done by multiplies */
    double store_share;       /**< stored bytes / (loaded + stored bytes), 0..1 */
    double nontemporal_share; /**< stored bytes written past the caches / stored bytes, 0..1 */
};

struct rl_mix rl_mix_of(const struct rl_kernel *kernel);

/**
 * The highest compute ceiling for a precision and thread count: the machine's peak.
 * `op` NULL takes the best of fma, add+mul and fma+add; an op name restricts; `isa` NULL takes any.
 * Thread counts without a measured ceiling scale from the nearest smaller one, and say so through
 * ret_scale.
 *
 * @param ret_scale  written if not NULL: factor to apply to rate.value (1 when measured as asked).
 * @return borrowed; NULL if the machine has none.
 */
const struct rl_compute_ceiling *rl_peak(const struct rl_machine *machine,
                                         enum rl_precision precision, const char *op,
                                         const char *isa, unsigned threads, double *ret_scale);

/**
 * Bytes that move between a level and the next one towards the core, per byte that loads and stores
 * ask for.
 *
 * Ceilings are measured in bytes asked for; traffic is what moves. Beyond L1 an ordinary store also
 * reads the line first (write-allocate) and writes it back later, so a copy moves 3/2 and a triad
 * 4/3 of what it asks for. Non-temporal stores, loads and L1 move just what is asked for.
 *
 * @return >= 1.
 */
double rl_moved_per_asked(const struct rl_memory_ceiling *ceiling);

/**
 * The memory ceiling of a level that fits an access mix best.
 *
 * @param mix        chosen by store share (load, 2:1 or triad, copy, store) and non-temporal share;
 * NULL: the level's roof, the fastest mix for which bytes moved are known to be the bytes asked
 * for.
 * @param ret_scale  if not NULL, the factor that turns rate.value into bytes moved per second by
 * `threads` threads: rl_moved_per_asked, times the thread ratio where each core has its own level.
 * @return borrowed; NULL if the machine has none of that level.
 */
const struct rl_memory_ceiling *rl_bandwidth(const struct rl_machine *machine, const char *level,
                                             const struct rl_mix *mix, unsigned threads,
                                             double *ret_scale);

#define RL_MAX_RESOURCES 16

/** One resource a kernel uses, and the least time it needs there. */
struct rl_resource {
    char name[RL_WORD_LEN + RL_WORD_LEN]; /**< "memory:DRAM" or "compute:fp64.fma" */
    bool is_memory;
    char level[RL_WORD_LEN]; /**< memory only */
    char ceiling[RL_ID_LEN]; /**< id of the ceiling used */
    double amount;           /**< bytes, or FLOP (operations for special functions) */
    double ceiling_rate;     /**< B/s or FLOP/s, scaled to the threads */
    double bound_time_s;     /**< amount / ceiling_rate */
    double utilization;      /**< bound_time_s / measured time; 0 when time is unknown */
};

enum rl_verdict {
    RL_VERDICT_UNKNOWN = 0,
    RL_VERDICT_MEMORY,
    RL_VERDICT_COMPUTE,
    RL_VERDICT_NEAR_RIDGE,
    RL_VERDICT_LATENCY,
    RL_VERDICT_NO_FLOP,
    RL_VERDICT_ABOVE_ROOF,
    RL_VERDICT_COUNT
};

/** "memory", "compute", "near-ridge", "latency", "no-flop", "above-roof", "unknown". */
const char *rl_verdict_name(enum rl_verdict verdict);

/** One kernel under one machine's roof. All-zero means nothing is known. */
struct rl_placement {
    enum rl_verdict verdict;
    char bound[2 * RL_WORD_LEN]; /**< "memory:DRAM", "compute:fp64.fma", "latency", "no-flop", … */
    char why[RL_NOTE_LEN];       /**< unknown: the reason; above-roof: the likeliest one */
    struct rl_resource resource[RL_MAX_RESOURCES]; /**< largest bound time first */
    unsigned n_resource;
    double flop_per_s;      /**< attained; 0 unknown or no FLOP */
    double roof_flop_per_s; /**< FLOP / largest bound time; 0 unknown */
    double bound_time_s;    /**< largest bound time; 0 unknown */
    double attained;        /**< bound time / measured time, 1 = at the roof; 0 unknown */
    double headroom;  /**< measured / bound time: how many times faster it could be; 0 unknown */
    unsigned threads; /**< thread count whose ceilings were used */
    /** The machine's outermost memory level if the kernel's bytes there are unknown, else empty: it
     * may need more time than all that is known. Then nothing is called latency-bound. */
    char beyond[RL_WORD_LEN];

    /** The compute bound had the kernel kept the vector widths it uses: what its own instructions
     * allow. */
    char isa_ceiling[RL_ID_LEN]; /**< id of the ceiling of the largest part; empty: unknown */
    double isa_bound_time_s;     /**< 0 unknown */
    double isa_attained;         /**< isa_bound_time_s / measured time; 0 unknown */
};

/** Shares and tolerances that turn bound times into a verdict. */
struct rl_thresholds {
    double near_ridge; /**< memory and compute bound times within this share of each other; 0.10 */
    double latency;    /**< no resource used above this share: latency; 0.50 */
    double above_roof; /**< attained above this: above-roof; 1.05 */
    double
        time_spread; /**< sampled times less certain than this place nothing; 0.10; 0: no limit */
};

struct rl_thresholds rl_thresholds_default(void);

/**
 * Place a kernel under a machine's roof.
 *
 * @param thresholds  NULL for the defaults.
 * @param ret_place   written always; verdict unknown (with why) where data is lacking.
 * @return RL_OK; RL_EINVAL for a kernel with negative or non-finite numbers.
 *
 * Compute bound: per precision, adds and multiplies are paired first (add+mul ceiling), left-over
 * adds with fused multiply-adds (fma+add ceiling), and the rest stands alone; the times of all
 * parts add up, since they share the execution units. A kernel below every hardware roof that is
 * close to what its own vector width allows is compute-bound, not latency-bound.
 *
 * Pure; thread-safe. Invariants: scaling time and work together changes no ratio; raising a ceiling
 * never raises `attained`; roof_flop_per_s never exceeds the peak of the precisions involved.
 */
enum rl_status rl_place(const struct rl_machine *machine, const struct rl_kernel *kernel,
                        const struct rl_thresholds *thresholds, struct rl_placement *ret_place,
                        struct rl_error *err);

/** AI[L] = FLOP / bytes[L]; 0 when either is unknown, no FLOP, or no bytes. */
double rl_intensity(const struct rl_kernel *kernel, const char *level);

#ifdef __cplusplus
}
#endif

#endif
