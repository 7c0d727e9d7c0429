/* Is this a Matrix Market file, and where is it not? */
#include "workload/mtx_internal.h"

#include "base/error.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_LINE = 1000,  /* CHOLMOD cuts longer lines in two */
    LEAST_ENTRY = 2,   /* bytes of the shortest array entry, "1\n" */
    LEAST_TRIPLET = 4, /* bytes of the shortest pattern entry, "1 1\n" */
};
static const uint64_t most_index = INT32_MAX - 8; /* CHOLMOD counts in int */

const char *const rl_mtx_fields[] = {"real", "integer", "pattern"};
const char *const rl_mtx_symmetries[] = {"general", "symmetric", "skew-symmetric"};

struct scan {
    const char *name;
    const char *next, *end; /* not yet read */
    const char *at;         /* in the current line */
    const char *line_end;   /* its newline, or end */
    size_t line;            /* number, from 1 */
    struct rl_error *err;
};

static enum rl_status fail_at(const struct scan *s, const char *what)
{
    return rl_fail(s->err, RL_EDATA, "%s: line %zu: %s", s->name, s->line, what);
}

/* @return false at the end of the file. */
static bool next_line(struct scan *s)
{
    if (s->next == s->end)
        return false;
    const char *newline = memchr(s->next, '\n', (size_t)(s->end - s->next));
    s->at = s->next;
    s->line_end = newline ? newline : s->end;
    s->next = newline ? newline + 1 : s->end;
    s->line++;
    return true;
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->line_end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

static bool at_end(struct scan *s)
{
    skip_blanks(s);
    return s->at == s->line_end;
}

static bool take_word(struct scan *s, char *out, size_t size)
{
    size_t n = 0;
    skip_blanks(s);
    for (; s->at < s->line_end && !isspace((unsigned char)*s->at); s->at++)
        if (n + 1 < size)
            out[n++] = *s->at;
    out[n] = '\0';
    return n > 0;
}

/* A run of digits that fits, followed by a blank or the end of the line. */
static bool take_number(struct scan *s, uint64_t *ret)
{
    uint64_t value = 0;
    skip_blanks(s);
    const char *start = s->at;
    for (; s->at < s->line_end && isdigit((unsigned char)*s->at); s->at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value))
            return false;
    if (s->at == start || (s->at < s->line_end && !isspace((unsigned char)*s->at)))
        return false;
    *ret = value;
    return true;
}

/* @return NULL, or what is wrong with the next value. */
static const char *take_value(struct scan *s, enum rl_mtx_field field)
{
    char *end;
    skip_blanks(s);
    if (s->at == s->line_end)
        return "the value is missing";
    double value = strtod(s->at, &end);
    if (end == s->at || end > s->line_end || (end < s->line_end && !isspace((unsigned char)*end)))
        return "the value is not a number";
    if (!isfinite(value))
        return "the value is not a finite number";
    if (field == RL_MTX_INTEGER && value != rint(value))
        return "the value is not whole in a matrix of integers";
    s->at = end;
    return NULL;
}

static enum rl_status check_lines(struct scan *s)
{
    struct scan t = *s;
    while (next_line(&t)) {
        if (t.line_end - t.at > MOST_LINE)
            return fail_at(&t, "the line is longer than 1000 characters");
        if (memchr(t.at, '\0', (size_t)(t.line_end - t.at)))
            return fail_at(&t, "the line holds a NUL byte");
    }
    return RL_OK;
}

/* Index of `word` in a list of n, -1 if it is not there; case does not count. */
static int find_word(const char *word, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcasecmp(word, list[i]))
            return i;
    return -1;
}

static enum rl_status read_banner(struct scan *s, struct rl_mtx_header *h)
{
    char banner[32] = "", object[32] = "", format[32] = "", field[32] = "", symmetry[32] = "";
    if (!next_line(s))
        return rl_fail(s->err, RL_EDATA, "%s: the file is empty", s->name);
    const char *start = s->at;
    take_word(s, banner, sizeof banner);
    if (*start != '%' || strcmp(banner, "%%MatrixMarket") != 0)
        return fail_at(s, "not a Matrix Market file: it does not start with %%MatrixMarket");
    take_word(s, object, sizeof object);
    take_word(s, format, sizeof format);
    take_word(s, field, sizeof field);
    take_word(s, symmetry, sizeof symmetry);
    if (strcasecmp(object, "matrix") != 0)
        return fail_at(s, "only objects of kind \"matrix\" can be read");
    if (strcasecmp(format, "coordinate") != 0 && strcasecmp(format, "array") != 0)
        return fail_at(s, "the format is neither coordinate nor array");
    if (!strcasecmp(field, "complex") || !strcasecmp(symmetry, "hermitian"))
        return fail_at(s, "complex matrices are not supported");
    int f = find_word(field, rl_mtx_fields, 3), y = find_word(symmetry, rl_mtx_symmetries, 3);
    if (f < 0)
        return fail_at(s, "the field is none of real, integer, pattern");
    if (y < 0)
        return fail_at(s, "the symmetry is none of general, symmetric, skew-symmetric");
    if (!at_end(s))
        return fail_at(s, "more than five words in the header");
    h->array = !strcasecmp(format, "array");
    h->field = (enum rl_mtx_field)f;
    h->symmetry = (enum rl_mtx_symmetry)y;
    if (h->array && h->field == RL_MTX_PATTERN)
        return fail_at(s, "an array cannot be a pattern");
    return RL_OK;
}

/* Entries an array file lists: all, or those on and below (skew: below) the diagonal. */
static uint64_t array_entries(const struct rl_mtx_header *h)
{
    if (h->symmetry == RL_MTX_GENERAL)
        return h->rows * h->columns;
    return h->symmetry == RL_MTX_SYMMETRIC ? h->rows * (h->rows + 1) / 2
                                           : h->rows * (h->rows - 1) / 2;
}

static enum rl_status read_size(struct scan *s, struct rl_mtx_header *h)
{
    do {
        if (!next_line(s))
            return fail_at(s, "the file ends before the line with its size");
    } while (*s->at == '%' || at_end(s));
    bool ok = take_number(s, &h->rows) && take_number(s, &h->columns) &&
              (h->array || take_number(s, &h->stored)) && at_end(s);
    if (!ok)
        return fail_at(s, h->array ? "the size is not two whole numbers: rows, columns"
                                   : "the size is not three whole numbers: rows, columns, entries");
    if (h->rows == 0 || h->columns == 0)
        return fail_at(s, "the matrix has no rows or no columns");
    if (h->rows > most_index || h->columns > most_index || h->stored > most_index)
        return fail_at(s, "more than 2^31 rows, columns or entries are not supported");
    if (h->symmetry != RL_MTX_GENERAL && h->rows != h->columns)
        return fail_at(s, "a symmetric matrix must be square");
    if (h->array)
        h->stored = array_entries(h);
    if (h->stored > most_index)
        return fail_at(s, "more than 2^31 entries are not supported");
    uint64_t left = (uint64_t)(s->end - s->next) + 1; /* the last newline may be missing */
    if (h->stored > left / (h->array ? LEAST_ENTRY : LEAST_TRIPLET))
        return fail_at(s, "more entries are announced than the file can hold");
    return RL_OK;
}

/* One coordinate entry. `side` remembers which triangle a symmetric file uses. */
static const char *check_entry(struct scan *s, const struct rl_mtx_header *h, int *side)
{
    uint64_t row, column;
    if (!take_number(s, &row) || !take_number(s, &column))
        return "not an entry: two whole numbers and a value are expected";
    if (row < 1 || row > h->rows)
        return "the row is outside the matrix";
    if (column < 1 || column > h->columns)
        return "the column is outside the matrix";
    const char *wrong = h->field == RL_MTX_PATTERN ? NULL : take_value(s, h->field);
    if (wrong)
        return wrong;
    if (!at_end(s))
        return "more than an entry on the line";
    if (h->symmetry == RL_MTX_GENERAL)
        return NULL;
    if (row == column)
        return h->symmetry == RL_MTX_SKEW ? "an entry on the diagonal of a skew-symmetric matrix"
                                          : NULL;
    int this_side = row > column ? -1 : 1;
    if (*side == 0)
        *side = this_side;
    return *side == this_side ? NULL
                              : "entries on both sides of the diagonal of a symmetric matrix";
}

static enum rl_status check_entries(struct scan *s, const struct rl_mtx_header *h)
{
    int side = 0;
    uint64_t n = 0;
    while (next_line(s)) {
        if (at_end(s))
            continue;
        if (n == h->stored)
            return fail_at(s, "there are more entries than announced");
        const char *wrong;
        if (h->array)
            wrong = take_value(s, h->field);
        else
            wrong = check_entry(s, h, &side);
        if (!wrong && !at_end(s))
            wrong = "more than a value on the line";
        if (wrong)
            return fail_at(s, wrong);
        n++;
    }
    if (n == h->stored)
        return RL_OK;
    return rl_fail(s->err, RL_EDATA,
                   "%s: line %zu: the file ends after %llu of the %llu entries announced", s->name,
                   s->line, (unsigned long long)n, (unsigned long long)h->stored);
}

enum rl_status rl_mtx_check(const char *text, size_t size, const char *name,
                            struct rl_mtx_header *ret_header, struct rl_error *err)
{
    struct scan s = {.name = name, .next = text, .end = text + size, .err = err};
    struct rl_mtx_header h = {0};
    RL_TRY(check_lines(&s));
    RL_TRY(read_banner(&s, &h));
    RL_TRY(read_size(&s, &h));
    RL_TRY(check_entries(&s, &h));
    *ret_header = h;
    return RL_OK;
}
