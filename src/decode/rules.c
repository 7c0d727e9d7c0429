/* Finding a mnemonic's row among the topic tables. */
#include "decode/rule_internal.h"

#include <stdlib.h>

const struct rule_table *const rule_tables[] = {
    &rules_fp_avx,  &rules_fp_avx_other, &rules_fp_sse,
    &rules_general, &rules_vector_int,   &rules_x87,
};
const size_t n_rule_tables = sizeof rule_tables / sizeof rule_tables[0];

static int compare_mnemonic(const void *key, const void *row)
{
    return (int)*(const ZydisMnemonic *)key - (int)((const struct rule *)row)->mnemonic;
}

const struct rule *rule_find(ZydisMnemonic mnemonic)
{
    for (size_t t = 0; t < n_rule_tables; t++) {
        const struct rule *row = bsearch(&mnemonic, rule_tables[t]->rows, rule_tables[t]->n,
                                         sizeof(struct rule), compare_mnemonic);
        if (row)
            return row;
    }
    return NULL;
}
