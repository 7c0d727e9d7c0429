/* Which cache lines to follow, and what the followed ones say about all of them, error included.
 *
 * Lines are divided into classes by the low bits of their number, such that a class is a whole
 * number of sets at every level: what happens in one class is independent of the others, and a
 * cache model that follows some classes is exact for those.
 *
 *  - The first accesses are all followed ("exact"), so short programs and start-up cost no
 * accuracy.
 *  - Then a few classes, drawn at random, are followed for long ("fixed"). Beyond L1 a cache
 *    remembers for long, so this is the only way to know its contents; each class is one estimate,
 *    and their disagreement is the error.
 *  - L1 has few sets, and programs treat them unequally (a stack line, a table), but it forgets
 *    within microseconds. So further classes take turns ("rotating"): followed for a while to know
 *    the contents, then counted. Turns go to eight groups one after the other; each group is one
 *    estimate, and their disagreement is the error.
 *
 * There are two stages. In the first, of RL_SAMPLING_FIRST_STEPS steps, several classes are fixed
 * and some are always at turn. In the second, for programs that run long, only n_lasting of the
 * fixed ones stay and turns are apart, which costs a fraction: there each fixed class is divided by
 * the next bits of the set number into parts, whose disagreement is one part of the error; another
 * is how unequal the classes were in the first stage.
 *
 * Turns change with time, or with what the fixed classes do, never with the number of records of
 * their own, or busy sets would have short turns.
 * Pure: no clock, no threads. Used by traffic.c. */
#ifndef RL_COUNT_SAMPLING_H
#define RL_COUNT_SAMPLING_H

#include "decode/cache_model.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RL_SAMPLING_CLASSES = 64, /**< of lines: number modulo this */
    RL_SAMPLING_GROUPS = 8,   /**< of turns */
    RL_SAMPLING_FIXED_MAX = 16,
    RL_SAMPLING_ROTATING_MAX = 8,
    RL_SAMPLING_LASTING_MAX = 2,
    RL_SAMPLING_PARTS = 4,         /**< of a class that stays, beyond the first level */
    RL_SAMPLING_FIRST_STEPS = 100, /**< of the first stage */
    RL_SAMPLING_FLOWS_MAX =
        RL_CACHE_LEVELS_MAX * (RL_SAMPLING_FIXED_MAX + 3 + 2 * RL_SAMPLING_GROUPS +
                               RL_SAMPLING_LASTING_MAX * (1 + RL_SAMPLING_GROUPS)),
};

struct rl_sampling_options {
    bool full;           /**< follow everything; the rest is then unused */
    uint32_t n_fixed;    /**< 2 .. RL_SAMPLING_FIXED_MAX of the 64 classes */
    uint32_t n_rotating; /**< counted at a time, 1 .. RL_SAMPLING_ROTATING_MAX */
    uint32_t n_lasting;  /**< of the fixed ones stay in the second stage, 1 ..
                            RL_SAMPLING_LASTING_MAX; n_fixed or more: there is no second stage */
    bool widen;          /**< more may stay, or all, where so few would be too uncertain: see
                            rl_sampling_decide */
    uint64_t seed;       /**< of the draws */
};

/** Four fixed, one lasting or as many as needed, two rotating, seed 1. */
void rl_sampling_options_default(struct rl_sampling_options *options);

/** How many steps there were, and how many a class of each group of turns was counted. */
struct rl_sampling_stage {
    uint64_t steps;
    uint64_t measured[RL_SAMPLING_GROUPS];
};

/** The state of the draw. Plain data; treat as read-only outside sampling.c. */
struct rl_sampling {
    struct rl_cache_geometry geometry;
    bool full;        /**< everything is followed to the end */
    bool thinned;     /**< the exact phase is over */
    uint32_t classes; /**< lines are told apart modulo this many: 64, or a divisor of it */
    uint32_t n_fixed;
    uint32_t n_rotating;
    uint32_t n_lasting; /**< at most so many; 0: no second stage */
    uint32_t n_least;   /**< so many were asked for */
    uint32_t n_kept;    /**< so many do stay; fewer than n_lasting unless widened */
    bool widens;        /**< rl_sampling_decide may change n_kept */
    bool prolonged;     /**< it has put off the second stage */
    uint32_t stage;     /**< 0, 1 */
    /* Second stage, see rl_sampling_weigh: part of the work that was done while a class was
     * counted, in all and by group; turn_share 0: not known. */
    double turn_share;
    double group_share[RL_SAMPLING_GROUPS];
    double lines_beside; /**< of the fixed classes, from which these are known */
    uint64_t random;
    uint8_t fixed[RL_SAMPLING_FIXED_MAX];
    uint8_t turn[RL_SAMPLING_CLASSES]; /**< the other classes in the order of their turns … */
    uint32_t n_turn;                   /**< … and how many these are */
    uint32_t next_turn;
    uint64_t turns; /**< begun so far */
    uint32_t pause; /**< second stage: steps until the next turn begins */
    struct rl_sampling_stage stages[2];
    uint8_t active[RL_SAMPLING_ROTATING_MAX + 1];       /**< rotating classes, oldest first … */
    uint8_t active_group[RL_SAMPLING_ROTATING_MAX + 1]; /**< … and their groups */
    uint32_t n_active; /**< the last one is being prepared, the others are counted; in the second
                          stage there is one at most, counted if `counting` */
    bool counting;
    bool scouting;        /**< that one is not at turn, see rl_sampling_scout … */
    uint64_t scouted;     /**< … so many were looked at, a step each … */
    uint64_t blind_steps; /**< … and so many steps had been without a sight */
};

/** Records of the fixed classes in a step of which is said that next to nothing was seen. */
enum { RL_SAMPLING_LITTLE = 16 };

/** What becomes of one class from a moment on, at the first level and beyond. */
struct rl_sampling_change {
    uint8_t class;
    uint8_t first_group; /**< as for rl_cache_choose_set; RL_CACHE_OUT: not followed */
    uint8_t outer_group;
    bool beyond; /**< the outer levels change too; else only the first one does */
};

/** Changes that one call can cause. */
enum { RL_SAMPLING_CHANGES_MAX = RL_SAMPLING_CLASSES + RL_SAMPLING_ROTATING_MAX };

/**
 * Prepare a draw; begins with the exact phase.
 *
 * A geometry whose sets share no useful divisor, or in which too few classes would remain to draw
 * from, is followed in full: see sampling->full.
 * @return RL_OK; RL_EINVAL for a geometry no model can have or options out of range.
 */
enum rl_status rl_sampling_init(struct rl_sampling *sampling,
                                const struct rl_cache_geometry *geometry,
                                const struct rl_sampling_options *options, struct rl_error *err);

/** Groups each level's boundary has in the cache model: [n_levels], for rl_cache_new. */
void rl_sampling_groups(const struct rl_sampling *sampling, uint32_t ret_n_groups[]);

/** Flows in one account of that model. */
uint32_t rl_sampling_flows(const struct rl_sampling *sampling);

/** The group in which the exact phase counts, at the first level and beyond: all sets begin in it.
 */
uint8_t rl_sampling_exact_group(const struct rl_sampling *sampling, uint32_t level);

/** Classes to be recorded now, one bit each, for lines modulo 64. */
uint64_t rl_sampling_wanted(const struct rl_sampling *sampling);

/**
 * Go one step on: the first ends the exact phase, further ones begin and end turns. Steps are to
 * take equal times, some tens of thousands of accesses or more; but see rl_sampling_is_turn.
 * Nothing happens if `full`.
 *
 * @param ret_changes  [RL_SAMPLING_CHANGES_MAX] to be applied to the model, in this order.
 * @return how many; 0 if what is wanted stays as it is.
 */
uint32_t rl_sampling_step(struct rl_sampling *sampling, struct rl_sampling_change ret_changes[]);

/** Will the next step end the first stage, unless rl_sampling_decide says otherwise? */
bool rl_sampling_is_due(const struct rl_sampling *sampling);

/**
 * Before that step, from the sum of all accounts: how many classes stay in the second stage. One,
 * if that leaves every level that carries a sizable share of the bytes with an error that can be
 * called reliable; more, if that does; else the first stage goes on, with all fixed classes, until
 * the question is asked again. Without `widen`, and without this call, n_lasting stay.
 *
 * @param total  [rl_sampling_flows].
 */
void rl_sampling_decide(struct rl_sampling *sampling, const struct rl_cache_flow total[]);

/** Is a class at turn in the second stage, prepared or counted? Such steps are to see as much work
 * as those between them, not to take as much time: a class that is busy slows the program down, and
 * would count for less than the others. */
bool rl_sampling_is_turn(const struct rl_sampling *sampling);

/**
 * Tell that in the step that ends now next to nothing was to be seen of a program at work. In the
 * second stage a class is then looked at at once, between turns: what the program does lies in few
 * classes, or nowhere. That is no estimate, but an error if much is found. Call before
 * rl_sampling_step.
 */
void rl_sampling_scout(struct rl_sampling *sampling);

/** How many classes are followed at all levels at present; all of them in the exact phase. */
uint32_t rl_sampling_followed(const struct rl_sampling *sampling);

/** Which, one bit each, for lines modulo 64; none in the exact phase. */
uint64_t rl_sampling_fixed(const struct rl_sampling *sampling);

/** Whether that is more than was asked for, by rl_sampling_decide. */
bool rl_sampling_widened(const struct rl_sampling *sampling);

/** Apply a change to one core of a model. */
void rl_sampling_apply(const struct rl_sampling *sampling, struct rl_cache *cache, uint32_t core,
                       struct rl_sampling_change change);

/** Let a model, or (from the second core on) one core of it, begin where the draw stands now. */
enum rl_status rl_sampling_attach(const struct rl_sampling *sampling, struct rl_cache *cache,
                                  uint32_t core, struct rl_error *err);

/**
 * Tell the sum of all accounts, once they are complete. While a class has its turn the program is
 * traced more and runs slower, so that steps are no measure of its work; what the fixed classes did
 * is. Without this call, steps are taken.
 */
void rl_sampling_weigh(struct rl_sampling *sampling, const struct rl_cache_flow total[]);

/** Bytes across one boundary, over all classes. */
struct rl_traffic_value {
    double read_bytes;
    double allocate_bytes;
    double writeback_bytes; /**< without what is cast out into a victim level, see cache_model.h */
    double nt_bytes;
    double bytes;       /**< their sum */
    double error_bytes; /**< half-width of an interval that holds the true sum at least 19 times out
                             of 20; 0 if exact; INFINITY if nothing can be said */
};

/** Above this relative error a value must be called unreliable. */
#define RL_TRAFFIC_RELIABLE 0.10

/** Whether a value may be shown without a warning. */
static inline bool rl_traffic_reliable(const struct rl_traffic_value *value)
{
    return value->error_bytes <= RL_TRAFFIC_RELIABLE * value->bytes;
}

/**
 * Bytes and their error from an account, or from a sum of accounts (sum flow by flow; errors do not
 * add, so estimate the sum).
 *
 * @param account  [rl_sampling_flows].
 * @param level    boundary between level `level` and the next one outward, 0 .. n_levels-1.
 */
void rl_sampling_estimate(const struct rl_sampling *sampling, const struct rl_cache_flow account[],
                          uint32_t level, struct rl_traffic_value *ret_value);

#endif
