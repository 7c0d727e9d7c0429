/* The report in sentences: why values are missing, what to do next, notes. */
#include "base/array.h"
#include "render/page.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ADVISED = 12, /* kernels with advice in words */
    MAX_REASONS = 20,
    MAX_NAMED = 3, /* kernels named beside a reason they share */
    NAME_COLUMNS = 60,
};

const char *rl_page_absent(const struct page *page)
{
    return page->unicode ? "–" : "-";
}

void rl_page_put(const struct page *page, const char *text)
{
    char clean[RL_TEXT_LEN];
    rl_text_clean(clean, sizeof clean, text, page->unicode);
    fputs(clean, page->out);
}

void rl_page_bold(const struct page *page, bool on)
{
    if (page->colour)
        fputs(on ? "\033[1m" : "\033[0m", page->out);
}

void rl_page_wrap(const struct page *page, unsigned used, unsigned indent, const char *text)
{
    size_t size = strlen(text) * 3 + 1; /* a bad byte becomes three */
    char *clean = malloc(size);
    if (!clean) {
        rl_page_put(page, text);
        return;
    }
    rl_text_clean(clean, size, text, page->unicode);
    bool first = true;
    for (char *save = NULL, *word = strtok_r(clean, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        unsigned length = rl_text_columns(word);
        if (!first && used + 1 + length > page->width) {
            fprintf(page->out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (!first) {
            fputc(' ', page->out);
            used++;
        }
        fputs(word, page->out);
        used += length;
        first = false;
    }
    fputc('\n', page->out);
    free(clean);
}

static void short_name(const struct page *page, size_t row, char dst[RL_TEXT_LEN])
{
    rl_row_name(page->report, &page->report->row[row], NAME_COLUMNS, dst, page->unicode);
}

/* ---- reasons ---- */

/* One cause of missing values, and the kernels it concerns. */
struct reason {
    const char *what, *why;
    size_t row[MAX_NAMED];
    size_t n_row;
};

struct reasons {
    struct reason *item;
    size_t n;
};

/* A digit that belongs to a name, L2 or fp64, is none of a number. */
static bool begins_number(const char *text, const char *at)
{
    return isdigit((unsigned char)*at) && (at == text || !isalnum((unsigned char)at[-1]));
}

static const char *skip_number(const char *at)
{
    static const char digits[] = "0123456789";
    at += strspn(at, digits);
    return *at == '.' && isdigit((unsigned char)at[1]) ? at + 1 + strspn(at + 1, digits) : at;
}

/* Whether two texts differ in their numbers only: one sentence tells both. */
static bool reads_alike(const char *text_a, const char *text_b)
{
    const char *a = text_a, *b = text_b;
    while (*a && *b) {
        if (begins_number(text_a, a) && begins_number(text_b, b)) {
            a = skip_number(a);
            b = skip_number(b);
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static void add_reason(struct reasons *reasons, const char *what, const char *why, size_t row)
{
    struct reason *r = NULL;
    for (size_t i = 0; i < reasons->n && !r; i++) {
        if (strcmp(reasons->item[i].what, what) == 0 && reads_alike(reasons->item[i].why, why))
            r = &reasons->item[i];
    }
    if (!r)
        r = rl_array_append(&reasons->item, &reasons->n, sizeof *r);
    if (!r)
        return;
    if (r->n_row == 0) {
        r->what = what;
        r->why = why;
    }
    if (r->n_row < MAX_NAMED)
        r->row[r->n_row] = row;
    r->n_row++;
}

/* Where time is missing because there was hardly any. */
static bool only_calls(const struct rl_kernel *kernel)
{
    return !rl_known(kernel->time_s) &&
           (rl_known(kernel->total_time_s) || rl_known(kernel->total_flop));
}

static void gather(const struct page *page, struct reasons *reasons, const bool *gap, size_t n_row)
{
    for (size_t i = 0; i < n_row; i++) {
        const struct rl_row *row = &page->report->row[i];
        const struct rl_kernel *k = row->kernel;
        for (size_t j = 0; j < k->missing.n; j++)
            if (page->report->totals || strcmp(k->missing.item[j].what, "total") != 0)
                add_reason(reasons, k->missing.item[j].what, k->missing.item[j].why, i);
        if (gap[i] && page->report->totals && only_calls(k))
            add_reason(reasons, "", "it does little but call: no sample fell into it", i);
        else if (gap[i] && *row->place.why)
            add_reason(reasons, "", row->place.why, i);
        else if (gap[i] && !k->missing.n)
            add_reason(reasons, "",
                       rl_known(k->time_s) ? "the profile does not say" : "it was not timed", i);
    }
}

static void put_reason(const struct page *page, const struct reason *r)
{
    char text[RL_TEXT_LEN * 3];
    size_t used = (size_t)snprintf(text, sizeof text, "%.200s%s%.300s", r->what,
                                   *r->what ? ": " : "", r->why);
    for (size_t i = 0; i < r->n_row && i < MAX_NAMED; i++) {
        char name[RL_TEXT_LEN];
        short_name(page, r->row[i], name);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%.240s", i ? ", " : " (", name);
    }
    if (r->n_row > MAX_NAMED)
        snprintf(text + used, sizeof text - used, " and %zu more)", r->n_row - MAX_NAMED);
    else
        snprintf(text + used, sizeof text - used, ")");
    rl_page_wrap(page, 0, 4, text);
}

static void put_missing(const struct page *page, const struct rl_missing_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        char text[RL_TEXT_LEN];
        snprintf(text, sizeof text, "%s: %s", list->item[i].what, list->item[i].why);
        rl_page_wrap(page, 0, 4, text);
    }
}

void rl_page_reasons(const struct page *page, const bool *gap, size_t n_row)
{
    const struct rl_report *r = page->report;
    struct reasons reasons = {0};
    gather(page, &reasons, gap, n_row);
    if (reasons.n || r->missing.n || (r->profile && r->profile->missing.n)) {
        fprintf(page->out, "\nNot known (%s), and why:\n", rl_page_absent(page));
        put_missing(page, &r->missing);
        if (r->profile)
            put_missing(page, &r->profile->missing);
        for (size_t i = 0; i < reasons.n && i < MAX_REASONS; i++)
            put_reason(page, &reasons.item[i]);
        if (reasons.n > MAX_REASONS)
            fprintf(page->out, "and %zu further reasons, see -f json\n", reasons.n - MAX_REASONS);
    }
    free(reasons.item);
}

/* ---- advice ---- */

/* Calls of reference kernels are no parts of one run: each is told about, and none gains anything
 * over all. */
static bool stands_alone(const struct rl_row *row)
{
    return row->kernel->kind == RL_KIND_BENCH;
}

/* What following it would gain, here and over the whole run (Amdahl). */
static void gain_text(const struct rl_row *row, double gain, char *dst, size_t n)
{
    double share = isfinite(row->time_share) && !stands_alone(row) ? row->time_share : 0;
    *dst = 0;
    if (!(gain > 1) || !isfinite(gain))
        return;
    if (share <= 0 || share >= 0.995)
        snprintf(dst, n, " (up to %.2gx)", gain);
    else
        snprintf(dst, n, " (up to %.2gx here, %.3gx over all)", gain,
                 1 / (1 - share + share / gain));
}

/* Rows that are told the same, but for numbers, are told together; all others alone. */
struct advised {
    size_t row[MAX_ADVISED];
    bool is_said[MAX_ADVISED];
    size_t n;
};

static bool is_told_with(const struct page *page, size_t row, size_t other)
{
    const struct rl_row *rows = page->report->row;
    return reads_alike(rows[other].advice[0].text, rows[row].advice[0].text);
}

static void put_gain(FILE *out, const struct rl_row *row)
{
    char gain[128];
    gain_text(row, row->advice[0].gain, gain, sizeof gain);
    fputs(gain, out);
}

/* The numbers are those of the first row: of the others only what it would gain is said. */
static void put_advice(const struct page *page, struct advised *advised, size_t first)
{
    const struct rl_row *rows = page->report->row;
    size_t size = 0, n_like = 0;
    char *line = NULL, name[RL_TEXT_LEN];
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return;
    short_name(page, advised->row[first], name);
    fprintf(out, "%s: %s", name, rows[advised->row[first]].advice[0].text);
    put_gain(out, &rows[advised->row[first]]);
    for (size_t i = first + 1; i < advised->n; i++) {
        if (advised->is_said[i] || !is_told_with(page, advised->row[first], advised->row[i]))
            continue;
        advised->is_said[i] = true;
        short_name(page, advised->row[i], name);
        fprintf(out, "%s%s", n_like++ ? ", " : "; likewise ", name);
        put_gain(out, &rows[advised->row[i]]);
    }
    if (fclose(out) == 0)
        rl_page_wrap(page, 0, 4, line);
    free(line);
}

/* A loop that is told the same as its function has nothing to add. */
static bool repeats_its_function(const struct page *page, size_t i)
{
    const struct rl_row *row = &page->report->row[i];
    for (size_t j = 0; row->kernel->group && j < i; j++) {
        const struct rl_row *other = &page->report->row[j];
        if (other->n_advice && strcmp(other->kernel->name, row->kernel->group) == 0 &&
            strcmp(other->advice[0].id, row->advice[0].id) == 0)
            return true;
    }
    return false;
}

/* Advice that only says why there is no verdict: "Not known" names these kernels together. */
static bool only_says_unknown(const struct rl_row *row)
{
    return row->n_advice == 1 && row->place.verdict == RL_VERDICT_UNKNOWN && *row->place.why &&
           strcmp(row->advice[0].id, "unknown.data") == 0;
}

void rl_page_advice(const struct page *page, size_t n_row)
{
    const double worth_a_sentence = 0.01; /* of the time */
    struct advised advised = {0};
    size_t left = 0;
    for (size_t i = 0; i < n_row; i++) {
        const struct rl_row *row = &page->report->row[i];
        bool small =
            !stands_alone(row) && row->time_share > 0 && row->time_share < worth_a_sentence;
        bool sums_up = row->kernel->kind == RL_KIND_PROGRAM && n_row > 1;
        if (row->n_advice == 0 || sums_up || only_says_unknown(row) ||
            repeats_its_function(page, i))
            continue;
        left += row->n_advice - 1;
        if (small || advised.n == MAX_ADVISED)
            left++;
        else
            advised.row[advised.n++] = i;
    }
    if (advised.n)
        fputs("\nWhat to do:\n", page->out);
    for (size_t i = 0; i < advised.n; i++)
        if (!advised.is_said[i])
            put_advice(page, &advised, i);
    if (advised.n && left)
        fprintf(page->out, "and %zu more piece%s of advice, see -f json\n", left,
                left == 1 ? "" : "s");
}

void rl_page_notes(const struct page *page)
{
    const struct rl_profile *p = page->report->profile;
    if (!p || !p->n_note)
        return;
    fputs("\nNotes:\n", page->out);
    for (size_t i = 0; i < p->n_note; i++)
        rl_page_wrap(page, 0, 4, p->note[i]);
}
