#include "count/perf_event/tsv.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum rl_status split(char *line, unsigned number, const struct tsv_format *f, char **cell,
                            struct rl_error *err)
{
    size_t n = 0;
    for (char *rest = line; rest; n++) {
        char *next = strchr(rest, '\t');
        if (next)
            *next++ = '\0';
        if (n < f->n_column)
            cell[n] = rest;
        rest = next;
    }
    if (n != f->n_column)
        return rl_fail(err, RL_EDATA, "%s:%u: %zu columns instead of %zu", f->file, number, n,
                       f->n_column);
    for (size_t i = 0; i < n; i++) {
        if (!cell[i][0])
            return rl_fail(err, RL_EDATA, "%s:%u: column %s is empty", f->file, number,
                           f->column[i]);
    }
    return RL_OK;
}

static enum rl_status check_head(char **cell, unsigned number, const struct tsv_format *f,
                                 struct rl_error *err)
{
    for (size_t i = 0; i < f->n_column; i++) {
        if (strcmp(cell[i], f->column[i]) != 0)
            return rl_fail(err, RL_EDATA, "%s:%u: column \"%s\" where \"%s\" belongs", f->file,
                           number, cell[i], f->column[i]);
    }
    return RL_OK;
}

enum rl_status tsv_read(char *text, const struct tsv_format *f, struct rl_error *err)
{
    char *cell[TSV_COLUMNS_MAX];
    unsigned number = 0;
    bool head_seen = false;
    for (char *line = text; line && *line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        if (line[0] && line[0] != '#') {
            struct tsv_row row = {f->file, number, cell};
            RL_TRY(split(line, number, f, cell, err));
            RL_TRY(head_seen ? f->row(f->context, &row, err) : check_head(cell, number, f, err));
            head_seen = true;
        }
        line = next;
    }
    return head_seen ? RL_OK : rl_fail(err, RL_EDATA, "%s: no table", f->file);
}

bool tsv_integer(const char *text, uint64_t *ret_value)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno || *end)
        return false;
    *ret_value = value;
    return true;
}

bool tsv_is_nothing(const char *cell)
{
    return cell[0] == '-' && !cell[1];
}
