/* What the accesses of one process moved, by region of the program and by site: the flows that the
 * cache model adds to. Every worker of the model has tables of its own, so none waits for another.
 * Inside count only: traffic.h turns them into rows. */
#ifndef RL_COUNT_ACCOUNTS_H
#define RL_COUNT_ACCOUNTS_H

#include "count/engine/trace_format.h"
#include "decode/cache_model.h"

#include <stdbool.h>

enum { RL_ACCOUNT_WORKERS = 16, RL_ACCOUNT_STEPS = 4 };

/** What most records come to: one access within one line, or that and a store to the same bytes. */
struct rl_account_form {
    struct rl_cache_flow *flow;
    struct rl_cache_flow *store_flow; /**< NULL: no store follows */
    int64_t offset;                   /**< of the access from the record's address */
    int8_t last_start; /**< where in its line it must begin at the latest to end there; -1: whatever
                            records of this site come to, it is not this, or not known yet */
    uint8_t kind;      /**< enum rl_cache_kind, but not non-temporal */
    uint8_t bytes;
};

/** What another record comes to, if it begins at this place in its line: steps whose lines are
 * reckoned from that of its address. */
struct rl_account_pattern {
    uint8_t start; /**< bytes into the line */
    uint8_t n;
    struct rl_cache_step step[RL_ACCOUNT_STEPS];
};

/** By site. */
struct rl_account_table {
    struct rl_cache_flow **account;      /**< [n]; NULL where nothing was seen */
    struct rl_account_form *form;        /**< [n_forms] */
    struct rl_account_pattern **pattern; /**< [n_forms]; of the last unusual record, or NULL */
    uint32_t n;
    uint32_t n_forms; /**< at most n; 0 unless everything is followed */
};

struct rl_region_accounts {
    struct rl_account_table by_worker[RL_ACCOUNT_WORKERS];
};

/** By region, 0: outside every one; NULL where nothing was seen. All-zero is empty. */
struct rl_accounts {
    struct rl_region_accounts *region[RLE_TRACE_REGIONS];
};

/** Of a region; one that cannot be counts as outside. NULL without memory. */
struct rl_region_accounts *rl_accounts_of(struct rl_accounts *accounts, uint32_t region);

/** The account of a site, of `n_flows` flows, made if there is none; NULL without memory. */
struct rl_cache_flow *rl_account_make(struct rl_account_table *table, uint32_t site,
                                      uint32_t n_flows);

/** The same, without a call where there is one: once an access. */
static inline struct rl_cache_flow *rl_account_need(struct rl_account_table *table, uint32_t site,
                                                    uint32_t n_flows)
{
    struct rl_cache_flow *account = site < table->n ? table->account[site] : NULL;
    return account ? account : rl_account_make(table, site, n_flows);
}

/** Room for the forms and patterns of all sites that have room for an account. False without
 * memory. */
bool rl_account_reserve_forms(struct rl_account_table *table);

/** Enter the form of a site that has one, for which there is room. `store_site` is that of the
 * store that follows, or 0. False without memory. */
bool rl_account_learn(struct rl_account_table *table, uint32_t site, uint32_t store_site,
                      const struct rle_trace_site *what, uint32_t n_flows);

/** Frees what is in it; it is empty then. */
void rl_account_table_clear(struct rl_account_table *table);

/** Frees it and all accounts in it; NULL is fine. */
void rl_accounts_free(struct rl_accounts *accounts);

/** sum += account, of n flows each. */
void rl_account_add(struct rl_cache_flow sum[], const struct rl_cache_flow account[], uint32_t n);

#endif
