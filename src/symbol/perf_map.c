#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

/* A later line for the same code replaces earlier ones. */
static void keep_last(struct function_table *table)
{
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        struct function_row row = table->rows[i];
        bool replaced = i + 1 < table->n && table->rows[i + 1].begin == row.begin;
        if (replaced)
            free((char *)row.linkage);
        else
            table->rows[n++] = row;
    }
    table->n = n;
}

struct numbered {
    struct function_row row;
    size_t line;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->row.begin != y->row.begin)
        return x->row.begin < y->row.begin ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Sort by address, lines of one address in the order they were written. */
static bool sort_stable(struct function_table *table)
{
    struct numbered *rows = malloc((table->n + 1) * sizeof *rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < table->n; i++)
        rows[i] = (struct numbered){table->rows[i], i};
    qsort(rows, table->n, sizeof *rows, compare_numbered);
    for (size_t i = 0; i < table->n; i++)
        table->rows[i] = rows[i].row;
    free(rows);
    return true;
}

bool perf_map_parse(char *text, struct function_table *table)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        char *rest;
        unsigned long long begin = strtoull(line, &rest, 16);
        if (rest == line || *rest != ' ')
            continue;
        char *after;
        unsigned long long size = strtoull(rest, &after, 16);
        if (after == rest || *after != ' ' || !size || begin > UINT64_MAX - size)
            continue;
        const char *name = after + strspn(after, " ");
        char *copy = *name ? strdup(name) : NULL;
        if (!copy)
            continue;
        if (!function_table_add(table, (struct function_row){.begin = begin,
                                                             .end = begin + size,
                                                             .linkage = copy,
                                                             .owns_linkage = true,
                                                             .origin = RL_FUNCTION_JIT})) {
            free(copy);
            return false;
        }
    }
    if (!sort_stable(table))
        return false;
    keep_last(table);
    function_table_seal(table, UINT64_MAX);
    return true;
}
