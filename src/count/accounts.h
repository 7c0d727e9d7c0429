/* What the accesses of one process moved, by region of the program and by site: the flows that the
 * cache model adds to. Every worker of the model has tables of its own, so none waits for another.
 * Inside count only: traffic.h turns them into rows. */
#ifndef RL_COUNT_ACCOUNTS_H
#define RL_COUNT_ACCOUNTS_H

#include "count/engine/trace_format.h"
#include "decode/cache_model.h"

enum { RL_ACCOUNT_WORKERS = 16 };

/** By site; NULL where nothing was seen. */
struct rl_account_table {
    struct rl_cache_flow **account; /**< [n] */
    uint32_t n;
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

/** Frees it and all accounts in it; NULL is fine. */
void rl_accounts_free(struct rl_accounts *accounts);

/** sum += account, of n flows each. */
void rl_account_add(struct rl_cache_flow sum[], const struct rl_cache_flow account[], uint32_t n);

#endif
