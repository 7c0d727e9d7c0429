#include "symbol/functions.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool function_table_add(struct function_table *table, struct function_row row)
{
    struct function_row *room = rl_array_append(&table->rows, &table->n, sizeof row);
    if (room)
        *room = row;
    return room != NULL;
}

static void drop(struct function_row *row)
{
    if (row->owns_linkage)
        free((char *)row->linkage);
    free(row->name);
}

static int compare_rows(const void *a, const void *b)
{
    const struct function_row *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->linkage && y->linkage ? strcmp(x->linkage, y->linkage) : 0;
}

/* Of the rows that begin where rows[i] does, the first is the best name and the longest range is
 * the best range. Returns the first row of the next address. */
static size_t merge_aliases(const struct function_table *table, size_t i, struct function_row *ret)
{
    *ret = table->rows[i];
    size_t next = i + 1;
    for (; next < table->n && table->rows[next].begin == ret->begin; next++) {
        if (table->rows[next].end > ret->end)
            ret->end = table->rows[next].end;
        drop(&table->rows[next]);
    }
    return next;
}

void function_table_seal(struct function_table *table, uint64_t limit)
{
    size_t n = 0;
    uint64_t covered = 0; /* end of what symbols with a size cover so far */
    if (table->n)
        qsort(table->rows, table->n, sizeof *table->rows, compare_rows);
    for (size_t i = 0; i < table->n;) {
        struct function_row row;
        i = merge_aliases(table, i, &row);
        bool has_size = row.end > row.begin;
        bool inside = row.begin < covered;
        if (row.begin >= limit || (inside && (!has_size || row.origin == RL_FUNCTION_UNWIND))) {
            drop(&row); /* a label within a function, or its unwind entry */
            continue;
        }
        if (row.end > limit)
            row.end = limit;
        if (has_size && row.origin != RL_FUNCTION_UNWIND && row.end > covered)
            covered = row.end;
        table->rows[n++] = row;
    }
    table->n = n;
    for (size_t i = 0; i < n; i++) {
        struct function_row *row = &table->rows[i];
        uint64_t next = i + 1 < n ? table->rows[i + 1].begin : limit;
        if (row->end <= row->begin || row->end > next)
            row->end = next;
    }
}

struct function_row *function_table_find(const struct function_table *table, uint64_t address,
                                         uint64_t *ret_gap_begin, uint64_t *ret_gap_end)
{
    size_t low = 0, high = table->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->rows[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_gap_begin = low ? table->rows[low - 1].end : 0;
    *ret_gap_end = low < table->n ? table->rows[low].begin : UINT64_MAX;
    return low && address < table->rows[low - 1].end ? &table->rows[low - 1] : NULL;
}

void function_table_release(struct function_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        drop(&table->rows[i]);
    free(table->rows);
    *table = (struct function_table){0};
}
