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

bool rl_account_reserve_forms(struct rl_account_table *table)
{
    uint32_t n = table->n;
    uint32_t before = table->n_forms;
    if (n == before)
        return true;
    struct rl_account_form *forms = realloc(table->form, n * sizeof *forms);
    if (!forms)
        return false;
    table->form = forms;
    struct rl_account_pattern **patterns = realloc(table->pattern, n * sizeof *patterns);
    if (!patterns)
        return false;
    table->pattern = patterns;
    memset(patterns + before, 0, (n - before) * sizeof *patterns);
    for (uint32_t i = before; i < n; i++)
        forms[i] = (struct rl_account_form){.last_start = -1};
    table->n_forms = n;
    return true;
}

bool rl_account_learn(struct rl_account_table *table, uint32_t site, uint32_t store_site,
                      const struct rle_trace_site *what, uint32_t n_flows)
{
    struct rl_cache_flow *store_flow = NULL;
    if (store_site) {
        store_flow = rl_account_need(table, store_site, n_flows);
        if (!store_flow)
            return false;
    }
    struct rl_cache_flow *flow = rl_account_need(table, site, n_flows);
    if (!flow)
        return false;
    table->form[site] =
        (struct rl_account_form){.flow = flow,
                                 .store_flow = store_flow,
                                 .offset = what->offset,
                                 .last_start = (int8_t)(RL_CACHE_LINE_BYTES - what->size),
                                 .kind = what->kind,
                                 .bytes = (uint8_t)what->size};
    return true;
}

void rl_account_table_clear(struct rl_account_table *table)
{
    for (uint32_t site = 0; site < table->n; site++)
        free(table->account[site]);
    for (uint32_t site = 0; site < table->n_forms; site++)
        free(table->pattern[site]);
    free(table->account);
    free(table->form);
    free(table->pattern);
    *table = (struct rl_account_table){0};
}

static void free_region(struct rl_region_accounts *accounts)
{
    for (uint32_t w = 0; accounts && w < RL_ACCOUNT_WORKERS; w++)
        rl_account_table_clear(&accounts->by_worker[w]);
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
