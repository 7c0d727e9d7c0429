/* Between the files of this folder. */
#ifndef RL_CEILINGS_CEILINGS_INTERNAL_H
#define RL_CEILINGS_CEILINGS_INTERNAL_H

#include "catalog/catalog.h"
#include "ceilings/ceilings.h"
#include "kernel/kernel.h"
#include "timing/timing.h"

/** What one rank owns while a team of some size is measured. */
struct rl_rank {
    struct rl_buffer buffer; /**< arrays of memory kernels, filled by the rank itself */
    size_t filled;           /**< bytes of it so far: memory that nobody touched before can take
                                  seconds a GiB in a virtual machine */
    unsigned turn;           /**< samples of DRAM so far … */
    unsigned place;          /**< … and where the last one was */
    void *out;               /**< [RL_KERNEL_IMAGE_BYTES] */
    unsigned prepared;       /**< samples of special functions begun */
};

/** Limits that were exceeded by more than any clock error, on an undisturbed core: not this core's.
 */
struct rl_exceeded {
    unsigned n;
    char id[RL_ID_LEN]; /**< the ceiling that was furthest above */
    double per_cycle, limit;
};

/** One measurement of a machine, from start to record. */
struct rl_session {
    const struct rl_measure_options *options;
    struct rl_cpu cpu;
    struct rl_places places;
    struct rl_catalog catalog;
    struct rl_identity identity;
    const struct rl_core *core; /**< of the identity; NULL: no limits are known */
    struct rl_exceeded exceeded;
    struct rl_machine *machine; /**< being filled */
    void *image[RL_PRECISION_COUNT];
    struct rl_clock clock;

    unsigned threads; /**< of the team at work */
    struct rl_team *team;
    struct rl_rank *rank; /**< [threads] */
    bool sustained;       /**< DRAM: what lasts for passes over the whole buffer */
    bool has_ends;        /**< level sizes are those measured, as far as that shows them */

    char small_sets[96]; /**< thread counts whose sets for DRAM a cache may hold; "": none */

    double planned_s;  /**< sum of all budgets */
    double done_s;     /**< budgets used up so far */
    double phase_s;    /**< budget of the running phase */
    const char *label; /**< of the running phase */
    double clock_min_hz, clock_max_hz;
    double nop_seen, nop_expected;
    double probes, clean_probes; /**< over all phases */
    bool was_quiet;              /**< the last phase was: most of its probes were undisturbed */
};

/** One ceiling to be, with the kernel chosen for it. */
struct rl_compute_item {
    const struct rl_compute_kernel *kernel;
    struct rl_session *session;
};

struct rl_memory_item {
    const struct rl_memory_kernel *kernel;
    struct rl_session *session;
    const char *level;
    size_t set_bytes; /**< of all arrays together, per rank */
    bool rolling;     /**< DRAM: another place each time … */
    unsigned places;  /**< … of so many; 1 elsewhere */
    unsigned round;   /**< jobs that take them in turn */
    unsigned warm;    /**< untimed passes before a sample */
};

/** How a phase samples. */
struct rl_phase {
    const char *label; /**< for the progress bar */
    double budget_s;
    bool trial; /**< only to choose among variants: no overtime where the core was contended */
    unsigned min_repeats; /**< samples of every job, whatever the budget; 0: the usual */
};

/**
 * Sample jobs as one phase: keeps account of time, clock and contention. Jobs on private resources
 * that have not settled go on for up to half of the budget.
 * @param ret_timing  [n].
 */
enum rl_status rl_session_sample(struct rl_session *s, const struct rl_phase *phase,
                                 const struct rl_job *job, unsigned n, struct rl_timing *ret_timing,
                                 struct rl_error *err);

/** Let every rank fill its buffer up to there, as far as it has not. */
void rl_session_fill(struct rl_session *s, size_t bytes);

/* compute.c */
enum rl_status rl_measure_compute(struct rl_session *s, double budget_s, struct rl_error *err);
/**
 * After a trial, keep the fastest variant of each ceiling and those that the trial cannot tell from
 * it: nearly as fast, or hardly ever undisturbed. Order stays; variants stand together.
 * @param timing  [n] of the trial.
 * @return how many are left.
 */
unsigned rl_compute_keep_best(struct rl_compute_item *item, unsigned n,
                              const struct rl_timing *timing);
/* memory.c: L1 and L2 (private), L3, DRAM */
enum rl_status rl_measure_level(struct rl_session *s, const char *level, double budget_s,
                                struct rl_error *err);
/**
 * After a trial, keep the fastest variant of each pattern and working set, two that the trial
 * cannot tell from it, and of private levels all that were hardly ever undisturbed. Variants stand
 * together, the fastest last.
 * @param timing  [n] of the trial.
 * @return how many are left.
 */
unsigned rl_memory_keep_best(struct rl_memory_item *item, unsigned n,
                             const struct rl_timing *timing);
void rl_memory_run(void *arg, unsigned rank, uint64_t loops);
void rl_memory_prepare(void *arg, unsigned rank);
struct rl_job rl_memory_job(struct rl_memory_item *item);
/** Bytes a pass of the item moves, loads and stores, per rank. */
double rl_memory_pass_bytes(const struct rl_memory_item *item);
/** So many places of a buffer for DRAM are used: a prime number, so that of kernels that take the
 * next place each in turn every one comes to all of them, unless their number is a multiple: then
 * each round begins one further. At least 1. */
unsigned rl_memory_places(size_t bytes);
/** And so many bytes. */
size_t rl_memory_used(size_t bytes);
/** Working set of a level for one rank of the present team; 0: the level cannot be reached. */
size_t rl_level_set_bytes(const struct rl_session *s, const char *level);
/** Buffer a rank needs for every level. */
size_t rl_rank_buffer_bytes(const struct rl_session *s);
/* sweep.c */
enum rl_status rl_sweep_levels(struct rl_session *s, double budget_s, struct rl_error *err);
/**
 * Where plateaus of load rate end.
 * @param set_bytes  [n] ascending.
 * @param rate       [n] any unit.
 * @param ret_end    [8] ascending.
 * @return how many; one less than there are plateaus. Pure.
 */
unsigned rl_sweep_ends(const double *set_bytes, const double *rate, unsigned n, double *ret_end);
/**
 * Where nothing reports caches, the core's own from the catalogue stand for the ends found up to
 * them: loads do not always tell an L2 from the cache behind it.
 * @param known  sizes of L1 and L2; 0: not known, and ends stay as they are.
 * @param end    [8] n of them found, ascending; changed.
 * @return how many there are now.
 */
unsigned rl_sweep_known_ends(const double known[2], double *end, unsigned n);
/** Give levels their measured sizes; where they disagree with the reported ones they replace them.
 */
void rl_sweep_apply(struct rl_level *level, size_t n_levels, const double *end, unsigned n);
/* latency.c */
enum rl_status rl_measure_latency(struct rl_session *s, double budget_s, struct rl_error *err);
/* special.c */
enum rl_status rl_measure_special(struct rl_session *s, double budget_s, struct rl_error *err);

/* host.c */
/** Name of the core, and what is wrong with the identity, into a record. */
enum rl_status rl_host_set_identity(struct rl_machine *machine, const struct rl_identity *identity,
                                    struct rl_error *err);

/** A theoretical limit, per core cycle, for one core. value 0: unknown. */
struct rl_limit {
    double value;
    double reachable; /**< below value where practice is known to stay below; else 0 */
    char note[RL_NOTE_LEN];
};

/* limits.c */
struct rl_limit rl_compute_limit(const struct rl_core *core, enum rl_precision precision,
                                 const char *op, const char *width, unsigned bits);
struct rl_limit rl_memory_limit(const struct rl_core *core, const char *level,
                                enum rl_pattern pattern);
/**
 * Take back a limit that a measurement exceeded by more than errors of the clock explain: value and
 * reachable become 0, and the note says why.
 * @param disturbed  the core was, so that the clock beside the samples says little.
 * @param exceeded   counts those that no error of the clock explains.
 */
void rl_limit_check(struct rl_limit *limit, const char *id, double per_cycle, bool disturbed,
                    struct rl_exceeded *exceeded);
/**
 * Whether a rate that may be too low is the limit, so that it is no lower bound only.
 * @param clean  undisturbed samples it rests on: others' clocks are not to be trusted.
 */
bool rl_limit_is_met(const struct rl_limit *limit, double per_cycle, unsigned clean);

/**
 * Whether another variant of a ceiling may be faster than the one that won: it has not settled, and
 * either few of its samples were undisturbed or some of them were faster. Beside a neighbour it may
 * have been slow whenever it seemed undisturbed.
 * @param quiet   the phase was.
 * @param work    of one loop of the rival's, in the unit of `winner`.
 * @param winner  work a cycle of the variant that won.
 */
bool rl_rival_is_unsure(const struct rl_timing *rival, bool quiet, double work, double winner);
/**
 * What exceeded limits say of the core.
 * @param core  name of the core whose limits they are; NULL: one of several.
 * @return false, and nothing written, if none was exceeded.
 */
bool rl_exceeded_text(const struct rl_exceeded *exceeded, const char *core, char *buffer,
                      size_t size);

#endif
