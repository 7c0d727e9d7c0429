/* Finding a mnemonic's row among the topic tables. */
#include "decode/rule_internal.h"

/* Those that most instructions are in come first. */
const struct rule_table *const rule_tables[] = {
    &rules_general, &rules_vector_int, &rules_fp_avx_other,
    &rules_fp_avx,  &rules_fp_sse,     &rules_x87,
};
const size_t n_rule_tables = sizeof rule_tables / sizeof rule_tables[0];

/* bsearch() would spend more time in calls of its comparison than in comparing: this runs once for
 * each instruction of a program. */
static const struct rule *find_in(const struct rule_table *table, ZydisMnemonic mnemonic)
{
    size_t low = 0, high = table->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->rows[middle].mnemonic < mnemonic)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->n && table->rows[low].mnemonic == mnemonic ? &table->rows[low] : NULL;
}

const struct rule *rule_find(ZydisMnemonic mnemonic)
{
    const struct rule *row = NULL;
    for (size_t t = 0; t < n_rule_tables && !row; t++)
        row = find_in(rule_tables[t], mnemonic);
    return row;
}
