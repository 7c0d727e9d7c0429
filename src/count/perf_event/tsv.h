/* Tab-separated tables: '#' starts a comment line, the first other line names the columns, no cell
 * is empty ("-" is nothing). */
#ifndef RL_COUNT_PERF_EVENT_TSV_H
#define RL_COUNT_PERF_EVENT_TSV_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One row. The cells point into the table's text. */
struct tsv_row {
    const char *file;
    unsigned line;
    char **cell; /**< [n_column] */
};

enum { TSV_COLUMNS_MAX = 16 };

struct tsv_format {
    const char *file; /**< for messages */
    const char *const *column;
    size_t n_column; /**< <= TSV_COLUMNS_MAX */
    enum rl_status (*row)(void *context, const struct tsv_row *row, struct rl_error *err);
    void *context;
};

/**
 * Cut a table into its cells and hand on row by row.
 * @param text  terminated; tabs and line ends become terminators.
 * @return RL_OK; RL_EDATA naming file, line and fault; what `row` returned.
 */
enum rl_status tsv_read(char *text, const struct tsv_format *format, struct rl_error *err);

/** A whole non-negative number, decimal or 0x…. */
bool tsv_integer(const char *text, uint64_t *ret_value);

/** Is the cell "-"? */
bool tsv_is_nothing(const char *cell);

#endif
