/* From a thread's records to steps of the cache model, which it takes some dozens at a time, each
 * with the account of the instruction that causes it. Inside count only: one worker of traffic.c
 * calls it for one thread at a time. */
#ifndef RL_COUNT_RECORDS_H
#define RL_COUNT_RECORDS_H

#include "count/accounts.h"
#include "count/engine/trace_format.h"
#include "decode/cache_model.h"

#include <stdbool.h>
#include <stdint.h>

/** Records of one thread, and the sites of its process. Borrowed. */
struct rl_records {
    const struct rle_trace_site *sites; /**< [n_sites]; site 0 is none */
    uint32_t n_sites;
    const struct rle_trace_record *record; /**< [n] */
    uint64_t n;
    bool full; /**< everything is followed; accesses that repeat the line touched last are not
                    among the records, so none is looked for */
    uint64_t watched; /**< classes of lines, one bit each, whose records are to be counted */
    uint64_t own;     /**< and those that are to go through the model */
    uint32_t n_apart; /**< lines whose numbers differ modulo this share no set of any level; a power
                           of two, at most RLE_TRACE_CLASSES */
};

/**
 * Put them through a model, in their order, but for lines that are not `own`: what these lines do
 * must not matter to those that are.
 *
 * @param core           of the model, which must have it.
 * @param table          accounts are looked up, and made, here …
 * @param n_flows        … with so many flows.
 * @param ret_watched    grows by the number of records whose address lies in a class of `watched`.
 * @param ret_malformed  grows by the number of records that name no site; they move nothing.
 * @return false without memory for some account; the accesses of its site are left out.
 */
bool rl_records_run(const struct rl_records *records, struct rl_cache *cache, uint32_t core,
                    struct rl_account_table *table, uint32_t n_flows, uint64_t *ret_watched,
                    uint64_t *ret_malformed);

#endif
