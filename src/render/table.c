/* The report in words: a table of kernels, why values are missing, and what to do next. */
#include "base/array.h"
#include "base/error.h"
#include "base/unit.h"
#include "render/renderers.h"
#include "render/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WIDTH = 100,
    MIN_WIDTH = 60,
    MAX_WIDTH = 400,
    WIDTH_FOR_LEVEL = 96,
    MAX_ROWS = 100,
    MAX_SENTENCES = 20, /**< kernels with a reason or advice in words */
    NAME_IN_SENTENCE = 60,
    MIN_NAME = 12,
    CELL = 32,
};

enum column {
    COLUMN_NUMBER = 0,
    COLUMN_NAME,
    COLUMN_TIME,
    COLUMN_RATE,
    COLUMN_TRAFFIC,
    COLUMN_LEVEL,
    COLUMN_AI,
    COLUMN_BOUND,
    COLUMN_ROOF,
    COLUMN_HEADROOM,
    N_COLUMNS
};

static const struct {
    const char *head, *unit;
    bool left;
} columns[N_COLUMNS] = {
    [COLUMN_NUMBER] = {"#", "", false},
    [COLUMN_NAME] = {"Kernel", "", true},
    [COLUMN_TIME] = {"Time", "%", false},
    [COLUMN_RATE] = {"Rate", "GFLOP/s", false},
    [COLUMN_TRAFFIC] = {"Traffic", "GB/s", false},
    [COLUMN_LEVEL] = {"Level", "", true},
    [COLUMN_AI] = {"AI", "FLOP/B", false},
    [COLUMN_BOUND] = {"Bound", "", true},
    [COLUMN_ROOF] = {"Of", "roof %", false},
    [COLUMN_HEADROOM] = {"Head-", "room x", false},
};

struct sheet {
    const struct rl_report *report;
    FILE *out;
    bool unicode, colour;
    unsigned width;
    char (*cell)[N_COLUMNS][CELL]; /**< [n_row]; the name is set apart, it may be long */
    size_t n_row;
    unsigned column_width[N_COLUMNS];
    bool with_level; /**< room for the column Level */
};

static const char *absent(const struct sheet *s)
{
    return s->unicode ? "–" : "-";
}

static void put(const struct sheet *s, const char *text)
{
    char clean[RL_TEXT_LEN];
    rl_text_clean(clean, sizeof clean, text, s->unicode);
    fputs(clean, s->out);
}

static void emphasise(const struct sheet *s, bool on)
{
    if (s->colour)
        fputs(on ? "\033[1m" : "\033[0m", s->out);
}

/* Print with line breaks at spaces; further lines are indented. `used` columns are taken. */
static void put_wrapped(const struct sheet *s, unsigned used, unsigned indent, const char *text)
{
    size_t size = strlen(text) * 3 + 1;
    char *clean = malloc(size);
    if (!clean)
        return put(s, text);
    rl_text_clean(clean, size, text, s->unicode);
    bool first = true;
    for (char *save = NULL, *word = strtok_r(clean, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        unsigned length = rl_text_columns(word);
        if (!first && used + 1 + length > s->width) {
            fprintf(s->out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (!first) {
            fputc(' ', s->out);
            used++;
        }
        fputs(word, s->out);
        used += length;
        first = false;
    }
    fputc('\n', s->out);
    free(clean);
}

/* ---- cells ---- */

/* The memory level nearest its roof: where traffic and intensity are shown. */
static const struct rl_resource *nearest_level(const struct rl_row *row)
{
    for (unsigned i = 0; i < row->place.n_resource; i++) {
        if (row->place.resource[i].is_memory)
            return &row->place.resource[i];
    }
    return NULL;
}

static void fill_intensity(const struct rl_row *row, char *dst)
{
    const struct rl_resource *level = nearest_level(row);
    struct rl_value flop = rl_kernel_flop(row->kernel);
    double ai = level ? rl_intensity(row->kernel, level->level) : 0;
    if (ai > 0)
        rl_text_number(dst, CELL, ai);
    else if (level && rl_known(flop) && flop.value == 0)
        snprintf(dst, CELL, "0");
}

static void fill_rates(const struct rl_row *row, char cell[N_COLUMNS][CELL])
{
    const struct rl_kernel *k = row->kernel;
    const struct rl_resource *level = nearest_level(row);
    struct rl_value flop = rl_kernel_flop(k);
    bool timed = rl_known(k->time_s) && k->time_s.value > 0;
    if (isfinite(row->place.flop_per_s) && row->place.flop_per_s > 0)
        rl_text_number(cell[COLUMN_RATE], CELL, row->place.flop_per_s / 1e9);
    else if (timed && rl_known(flop) && flop.value == 0)
        snprintf(cell[COLUMN_RATE], CELL, "0");
    if (level && timed)
        rl_text_number(cell[COLUMN_TRAFFIC], CELL, level->amount / k->time_s.value / 1e9);
}

static void fill_row(const struct sheet *s, size_t i, char cell[N_COLUMNS][CELL])
{
    const struct rl_row *row = &s->report->row[i];
    snprintf(cell[COLUMN_NUMBER], CELL, "%zu", i + 1);
    if (row->time_share > 0 && row->time_share < 0.0005)
        snprintf(cell[COLUMN_TIME], CELL, "<0.1");
    else if (row->time_share > 0)
        snprintf(cell[COLUMN_TIME], CELL, row->time_share < 0.0995 ? "%.1f" : "%.0f",
                 row->time_share * 100);
    fill_rates(row, cell);
    fill_intensity(row, cell[COLUMN_AI]);
    if (nearest_level(row))
        rl_text_clean(cell[COLUMN_LEVEL], CELL, nearest_level(row)->level, s->unicode);
    rl_text_clean(cell[COLUMN_BOUND], CELL,
                  *row->place.bound ? row->place.bound : rl_verdict_name(row->place.verdict),
                  s->unicode);
    if (row->place.attained > 0) {
        snprintf(cell[COLUMN_ROOF], CELL, row->place.attained < 0.0995 ? "%.1f" : "%.0f",
                 row->place.attained * 100);
        if (isfinite(row->place.headroom))
            rl_text_number(cell[COLUMN_HEADROOM], CELL, row->place.headroom);
    }
    for (int c = 0; c < N_COLUMNS; c++) {
        if (c != COLUMN_NAME && !*cell[c])
            snprintf(cell[c], CELL, "%s", absent(s));
    }
}

static void clean_name(const struct sheet *s, size_t row, char *dst)
{
    const char *name = s->report->row[row].kernel->name;
    rl_text_clean(dst, RL_TEXT_LEN, name ? name : "", s->unicode);
}

static bool is_left_out(const struct sheet *s, int column)
{
    return column == COLUMN_LEVEL && !s->with_level;
}

static void measure_columns(struct sheet *s)
{
    unsigned sum = N_COLUMNS - (s->with_level ? 1 : 2);
    for (int c = 0; c < N_COLUMNS; c++) {
        if (is_left_out(s, c))
            continue;
        unsigned width = (unsigned)fmax(strlen(columns[c].head), strlen(columns[c].unit));
        for (size_t i = 0; i < s->n_row; i++) {
            char name[RL_TEXT_LEN];
            if (c == COLUMN_NAME)
                clean_name(s, i, name);
            unsigned needs = rl_text_columns(c == COLUMN_NAME ? name : s->cell[i][c]);
            width = needs > width ? needs : width;
        }
        s->column_width[c] = width;
        sum += width;
    }
    if (sum > s->width) {
        unsigned over = sum - s->width;
        unsigned name = s->column_width[COLUMN_NAME];
        s->column_width[COLUMN_NAME] = name > over + MIN_NAME ? name - over : MIN_NAME;
    }
}

/* ---- the table ---- */

static void put_cell(const struct sheet *s, int c, const char *text)
{
    if (is_left_out(s, c))
        return;
    int blank = (int)s->column_width[c] - (int)rl_text_columns(text);
    bool last = c == N_COLUMNS - 1;
    fprintf(s->out, "%s%*s%s%*s", c ? " " : "", columns[c].left ? 0 : blank, "", text,
            columns[c].left && !last ? blank : 0, "");
}

static void put_table(const struct sheet *s)
{
    for (int line = 0; line < 2; line++) {
        emphasise(s, true);
        for (int c = 0; c < N_COLUMNS; c++)
            put_cell(s, c, line ? columns[c].unit : columns[c].head);
        emphasise(s, false);
        fputc('\n', s->out);
    }
    for (size_t i = 0; i < s->n_row; i++) {
        for (int c = 0; c < N_COLUMNS; c++) {
            char name[RL_TEXT_LEN];
            if (c == COLUMN_NAME) {
                clean_name(s, i, name);
                rl_text_elide(name, sizeof name, s->column_width[c], s->unicode);
            }
            put_cell(s, c, c == COLUMN_NAME ? name : s->cell[i][c]);
        }
        fputc('\n', s->out);
    }
    if (s->n_row == s->report->n_row)
        return;
    double rest = 0;
    for (size_t i = s->n_row; i < s->report->n_row; i++)
        rest += s->report->row[i].time_share;
    char share[CELL];
    rl_text_percent(share, sizeof share, rest);
    fprintf(s->out, "other: %zu kernels, %s of time (csv and json list them all)\n",
            s->report->n_row - s->n_row, share);
}

static void put_head(const struct sheet *s)
{
    const struct rl_machine *m = s->report->machine;
    unsigned threads = s->report->threads ? s->report->threads : 1;
    emphasise(s, true);
    put(s, m->name && *m->name ? m->name : "this machine");
    emphasise(s, false);
    fprintf(s->out, ", %u thread%s\n", threads, threads == 1 ? "" : "s");
    char text[RL_TEXT_LEN] = "";
    char quantity[CELL];
    size_t used = 0;
    for (int p = 0; p < RL_INT8; p++) {
        double scale = 1;
        const struct rl_compute_ceiling *c =
            rl_peak(m, (enum rl_precision)p, NULL, NULL, threads, &scale);
        if (c && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s", used ? ", " : "",
                                 rl_precision_name((enum rl_precision)p), c->contended ? "≥ " : "",
                                 rl_format_si(quantity, CELL, c->rate.value * scale, c->unit));
    }
    for (size_t i = 0; i < m->n_memory; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= strcmp(m->memory[j].level, m->memory[i].level) == 0;
        double scale = 1;
        const struct rl_memory_ceiling *c =
            seen ? NULL : rl_bandwidth(m, m->memory[i].level, NULL, threads, &scale);
        if (c && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s", used ? ", " : "",
                                     c->level, c->contended ? "≥ " : "",
                                     rl_format_si(quantity, CELL, c->rate.value * scale, "B/s"));
    }
    put_wrapped(s, 0, 0, text);
}

static void short_name(const struct sheet *s, const struct rl_kernel *kernel, char dst[RL_TEXT_LEN])
{
    rl_text_clean(dst, RL_TEXT_LEN, kernel->name, s->unicode);
    rl_text_elide(dst, RL_TEXT_LEN, NAME_IN_SENTENCE, s->unicode);
}

/* "who: text", wrapped; who may be NULL. */
static void put_line(const struct sheet *s, const struct rl_kernel *who, const char *text)
{
    char name[RL_TEXT_LEN] = "";
    if (who) {
        short_name(s, who, name);
        fprintf(s->out, "%s: ", name);
    }
    put_wrapped(s, who ? rl_text_columns(name) + 2 : 0, 4, text);
}

static void put_rest(const struct sheet *s, size_t n)
{
    if (n > MAX_SENTENCES)
        fprintf(s->out, "and %zu more kernels, see -f json\n", n - MAX_SENTENCES);
}

/* ---- what is not known, and why ---- */

static bool has_gap(const struct sheet *s, size_t row)
{
    for (int c = 0; c < N_COLUMNS; c++) {
        if (c != COLUMN_NAME && !is_left_out(s, c) && strcmp(s->cell[row][c], absent(s)) == 0)
            return true;
    }
    return false;
}

static void put_missing(const struct sheet *s, const struct rl_kernel *who,
                        const struct rl_missing_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        char text[RL_TEXT_LEN];
        snprintf(text, sizeof text, "%s: %s", list->item[i].what, list->item[i].why);
        put_line(s, who, text);
    }
}

static bool has_reason(const struct sheet *s, size_t row)
{
    return has_gap(s, row) || s->report->row[row].kernel->missing.n;
}

static void put_reason(const struct sheet *s, size_t i)
{
    const struct rl_row *row = &s->report->row[i];
    const struct rl_kernel *k = row->kernel;
    put_missing(s, k, &k->missing);
    if (!has_gap(s, i))
        return;
    if (*row->place.why)
        put_line(s, k, row->place.why);
    else if (!k->missing.n)
        put_line(s, k, rl_known(k->time_s) ? "the profile does not say" : "it was not timed");
}

static void put_reasons(const struct sheet *s)
{
    const struct rl_report *r = s->report;
    size_t n = 0;
    for (size_t i = 0; i < s->n_row; i++)
        n += has_reason(s, i);
    if (!n && !r->missing.n && !(r->profile && r->profile->missing.n))
        return;
    fprintf(s->out, "\nNot known (%s), and why:\n", absent(s));
    put_missing(s, NULL, &r->missing);
    if (r->profile)
        put_missing(s, NULL, &r->profile->missing);
    size_t put = 0;
    for (size_t i = 0; i < s->n_row && put < MAX_SENTENCES; i++) {
        if (has_reason(s, i))
            put_reason(s, i);
        put += has_reason(s, i);
    }
    put_rest(s, n);
}

/* ---- advice ---- */

/* What following it would gain, here and over the whole run (Amdahl). */
static void gain_text(const struct rl_row *row, double gain, char *dst, size_t n)
{
    double share = isfinite(row->time_share) ? row->time_share : 0;
    *dst = 0;
    if (!(gain > 1) || !isfinite(gain))
        return;
    if (share <= 0 || share >= 0.995)
        snprintf(dst, n, " (up to %.2gx)", gain);
    else
        snprintf(dst, n, " (up to %.2gx here, %.3gx over all)", gain,
                 1 / (1 - share + share / gain));
}

static void put_advice(const struct sheet *s, const struct rl_row *row, const struct rl_advice *a)
{
    char gain[128];
    gain_text(row, a->gain, gain, sizeof gain);
    char *line = NULL;
    if (asprintf(&line, "%s%s", a->text, gain) < 0)
        return;
    put_line(s, row->kernel, line);
    free(line);
}

static void put_all_advice(const struct sheet *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_row; i++)
        n += s->report->row[i].n_advice > 0;
    if (!n)
        return;
    fputs("\nWhat to do:\n", s->out);
    size_t put = 0;
    for (size_t i = 0; i < s->n_row && put < MAX_SENTENCES; i++) {
        const struct rl_row *row = &s->report->row[i];
        for (size_t j = 0; j < row->n_advice; j++)
            put_advice(s, row, &row->advice[j]);
        put += row->n_advice > 0;
    }
    put_rest(s, n);
}

static void put_notes(const struct sheet *s)
{
    const struct rl_profile *p = s->report->profile;
    if (!p || !p->n_note)
        return;
    fputs("\nNotes:\n", s->out);
    for (size_t i = 0; i < p->n_note; i++)
        put_line(s, NULL, p->note[i]);
}

static enum rl_status render_table(const struct rl_report *report,
                                   const struct rl_render_options *options, FILE *out,
                                   struct rl_error *err)
{
    unsigned width = options->width ? options->width : DEFAULT_WIDTH;
    struct sheet s = {
        .report = report,
        .out = out,
        .unicode = options->unicode,
        .colour = options->colour,
        .width = width < MIN_WIDTH   ? MIN_WIDTH
                 : width > MAX_WIDTH ? MAX_WIDTH
                                     : width,
        .n_row = report->n_row < MAX_ROWS ? report->n_row : MAX_ROWS,
    };
    s.with_level = s.width >= WIDTH_FOR_LEVEL;
    s.cell = calloc(s.n_row + 1, sizeof *s.cell);
    if (!s.cell)
        return rl_fail(err, RL_ENOMEM, "no memory for the table");
    for (size_t i = 0; i < s.n_row; i++)
        fill_row(&s, i, s.cell[i]);
    measure_columns(&s);
    put_head(&s);
    if (s.n_row) {
        fputc('\n', out);
        put_table(&s);
        put_wrapped(&s, 0, 0,
                    "Traffic and AI (arithmetic intensity) at the memory level nearest "
                    "its roof; headroom: how many times faster it could run.");
    }
    put_reasons(&s);
    put_all_advice(&s);
    put_notes(&s);
    free(s.cell);
    return RL_OK;
}

static enum rl_status render_text(const struct rl_report *report,
                                  const struct rl_render_options *options, FILE *out,
                                  struct rl_error *err)
{
    RL_TRY(rl_write_chart(report, options, out, err));
    fputc('\n', out);
    return render_table(report, options, out, err);
}

const struct rl_renderer rl_renderer_table = {
    .name = "table",
    .cells = true,
    .summary = "table of kernels with advice",
    .probe = rl_renderer_always,
    .render = render_table,
};

const struct rl_renderer rl_renderer_text = {
    .name = "text",
    .cells = true,
    .summary = "chart for the terminal, table and advice",
    .extension = "txt",
    .probe = rl_renderer_always,
    .render = render_text,
};
