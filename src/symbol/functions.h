/* A sorted table of functions by address: filled by whoever reads symbols, asked by symbol.c. */
#ifndef RL_SYMBOL_FUNCTIONS_H
#define RL_SYMBOL_FUNCTIONS_H

#include "symbol/symbol.h"

struct function_row {
    uint64_t begin, end; /* end == begin: size not stated */
    const char *linkage; /* NULL: from unwind tables */
    char *name;          /* made on demand, owned by the table */
    uint8_t origin;      /* enum rl_function_origin */
    uint8_t rank;        /* among names of one address the lowest wins */
    bool owns_linkage;   /* `linkage` is freed with the table */
};

struct function_table {
    struct function_row *rows; /* ascending by begin once sealed, disjoint ranges */
    size_t n;
};

/** Append; false without memory. */
bool function_table_add(struct function_table *table, struct function_row row);

/**
 * Sort, keep the best name of each address, give rows without a size one (up to the next row), drop
 * unwind rows that a symbol covers, and make ranges disjoint.
 *
 * @param limit  end of the last executable byte: no row reaches beyond it.
 */
void function_table_seal(struct function_table *table, uint64_t limit);

/** The row that holds `address`, or NULL; then `ret_gap_*` are the bounds of the gap it is in. */
struct function_row *function_table_find(const struct function_table *table, uint64_t address,
                                         uint64_t *ret_gap_begin, uint64_t *ret_gap_end);

void function_table_release(struct function_table *table);

#endif
