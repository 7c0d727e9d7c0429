#include "count/accounts.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SITES = 1 << 12 }; /* of a table */

struct rl_region_accounts *rl_accounts_of(struct rl_accounts *accounts, uint32_t region)
{
    struct rl_region_accounts **at = &accounts->region[region < RLE_TRACE_REGIONS ? region : 0];
    if (!*at)
        *at = calloc(1, sizeof **at);
    return *at;
}

struct rl_cache_flow *rl_account_make(struct rl_account_table *table, uint32_t site,
                                      uint32_t n_flows)
{
    if (site >= table->n) {
        uint32_t n = LEAST_SITES;
        while (n <= site)
            n *= 2;
        struct rl_cache_flow **grown = realloc(table->account, n * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + table->n, 0, (n - table->n) * sizeof *grown);
        table->account = grown;
        table->n = n;
    }
    if (!table->account[site])
        table->account[site] = calloc(n_flows, sizeof *table->account[site]);
    return table->account[site];
}

static void free_region(struct rl_region_accounts *accounts)
{
    for (uint32_t w = 0; accounts && w < RL_ACCOUNT_WORKERS; w++) {
        for (uint32_t site = 0; site < accounts->by_worker[w].n; site++)
            free(accounts->by_worker[w].account[site]);
        free(accounts->by_worker[w].account);
    }
    free(accounts);
}

void rl_accounts_free(struct rl_accounts *accounts)
{
    for (uint32_t r = 0; accounts && r < RLE_TRACE_REGIONS; r++)
        free_region(accounts->region[r]);
    free(accounts);
}

void rl_account_add(struct rl_cache_flow sum[], const struct rl_cache_flow account[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        sum[i].reads += account[i].reads;
        sum[i].allocates += account[i].allocates;
        sum[i].writebacks += account[i].writebacks;
        sum[i].castouts += account[i].castouts;
        sum[i].nt_bytes += account[i].nt_bytes;
    }
}
