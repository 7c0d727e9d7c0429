/* Which function and loop each sampled address belongs to: the tally's where it was counted, the
 * symbol tables' where it was not. */
#ifndef RL_PROFILE_PLACE_H
#define RL_PROFILE_PLACE_H

#include "profile/tally.h"
#include "sample/index.h"
#include "sample/sample.h"

struct rl_symbols;
struct rl_symbols_options;

/** A function or loop that has time or counts. Units of the tally come first, at the same index. */
struct place_unit {
    uint32_t counted; /**< unit index in the tally, or RL_TALLY_NONE */
    char *name;       /**< the rest is for units that were not counted */
    char *module;
    char *file;
    unsigned line;
    uint64_t begin; /**< with `module`, what identifies it */
};

struct place_table {
    const struct rl_tally *tally; /**< NULL: nothing was counted */
    struct rl_symbols *symbols;
    struct place_unit *unit;
    size_t n_unit;
    struct index_table by_begin; /**< units that were not counted */
    struct index_table by_name;  /**< counted functions in memory of no file */
};

/** @param tally    borrowed; may be NULL.
 *  @param options  as rl_symbols_new. */
enum rl_status place_new(const struct rl_tally *tally, const struct rl_symbols_options *options,
                         struct place_table *ret, struct rl_error *err);
void place_release(struct place_table *table);

/**
 * Find, or make, the units of all buckets.
 * @param ret_function, ret_loop  [samples->n_bucket] unit index or RL_SAMPLE_NO_GROUP.
 */
enum rl_status place_buckets(struct place_table *table, const struct rl_samples *samples,
                             uint32_t *ret_function, uint32_t *ret_loop, struct rl_error *err);

#endif
