/* The report as a table, with the sentences of words.c below it. */
#include "base/error.h"
#include "base/unit.h"
#include "render/page.h"
#include "render/renderers.h"
#include "render/roofs.h"
#include "render/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WIDTH = 100,
    MIN_WIDTH = 60,
    MAX_WIDTH = 400,
    WIDTH_FOR_LEVEL = 96,
    MAX_ROWS = 30,
    MIN_NAME = 12,
    CELL = 32,
};

enum column {
    COLUMN_NUMBER = 0,
    COLUMN_NAME,
    COLUMN_TIME,
    COLUMN_TOTAL_TIME,
    COLUMN_TOTAL_FLOP,
    COLUMN_RATE,
    COLUMN_TRAFFIC,
    COLUMN_LEVEL,
    COLUMN_AI,
    COLUMN_BOUND,
    COLUMN_ROOF,
    COLUMN_HEADROOM,
    N_COLUMNS
};

struct sheet {
    struct page page;
    char (*cell)[N_COLUMNS][CELL]; /**< [n_row]; the name is set apart, it may be long */
    size_t n_row;
    unsigned column_width[N_COLUMNS];
    bool with_level; /**< room for the column Level */
};

static const struct {
    const char *head, *unit;
    bool left;
} columns[N_COLUMNS] = {
    [COLUMN_NUMBER] = {"#", "", false},
    [COLUMN_NAME] = {"Kernel", "", true},
    [COLUMN_TIME] = {"Time", "%", false},
    [COLUMN_TOTAL_TIME] = {"Total", "time %", false},
    [COLUMN_TOTAL_FLOP] = {"Total", "GFLOP", false},
    [COLUMN_RATE] = {"Rate", "GFLOP/s", false},
    [COLUMN_TRAFFIC] = {"Traffic", "GB/s", false},
    [COLUMN_LEVEL] = {"Level", "", true},
    [COLUMN_AI] = {"AI", "FLOP/B", false},
    [COLUMN_BOUND] = {"Bound", "", true},
    [COLUMN_ROOF] = {"Of", "roof %", false},
    [COLUMN_HEADROOM] = {"Head-", "room x", false},
};

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
    bool timed = rl_known(k->time_s) && k->time_s.value > 0 && !k->is_mix;
    if (isfinite(row->place.flop_per_s) && row->place.flop_per_s > 0)
        rl_text_number(cell[COLUMN_RATE], CELL, row->place.flop_per_s / 1e9);
    else if (timed && rl_known(flop) && flop.value == 0)
        snprintf(cell[COLUMN_RATE], CELL, "0");
    if (level && timed)
        rl_text_number(cell[COLUMN_TRAFFIC], CELL, level->amount / k->time_s.value / 1e9);
}

static void put_share(char *dst, size_t n, double share)
{
    if (share > 0)
        rl_text_share(dst, n, share);
}

/* What was shared out among callers is marked as the estimate it is. */
static const char *estimate_mark(struct rl_value value)
{
    return value.source == RL_SOURCE_MODELLED ? "~" : "";
}

static void fill_totals(const struct rl_row *row, char cell[N_COLUMNS][CELL])
{
    const struct rl_kernel *k = row->kernel;
    char text[CELL / 2] = "";
    put_share(text, sizeof text, row->total_time_share);
    if (*text)
        snprintf(cell[COLUMN_TOTAL_TIME], CELL, "%s%s", estimate_mark(k->total_time_s), text);
    if (!rl_known(k->total_flop))
        return;
    rl_text_number(text, sizeof text, k->total_flop.value / 1e9);
    snprintf(cell[COLUMN_TOTAL_FLOP], CELL, "%s%s", estimate_mark(k->total_flop), text);
}

static void fill_row(const struct sheet *s, size_t i, char cell[N_COLUMNS][CELL])
{
    const struct rl_row *row = &s->page.report->row[i];
    snprintf(cell[COLUMN_NUMBER], CELL, "%zu", i + 1);
    put_share(cell[COLUMN_TIME], CELL, row->time_share);
    fill_totals(row, cell);
    fill_rates(row, cell);
    fill_intensity(row, cell[COLUMN_AI]);
    if (nearest_level(row))
        rl_text_clean(cell[COLUMN_LEVEL], CELL, nearest_level(row)->level, s->page.unicode);
    rl_text_clean(cell[COLUMN_BOUND], CELL,
                  *row->place.bound ? row->place.bound : rl_verdict_name(row->place.verdict),
                  s->page.unicode);
    put_share(cell[COLUMN_ROOF], CELL, row->place.attained);
    if (row->place.attained > 0 && isfinite(row->place.headroom))
        rl_text_number(cell[COLUMN_HEADROOM], CELL, row->place.headroom);
    for (int c = 0; c < N_COLUMNS; c++) {
        if (c != COLUMN_NAME && !*cell[c])
            snprintf(cell[c], CELL, "%s", rl_page_absent(&s->page));
    }
}

/* A loop whose function has a row of its own: its time is in both. */
static bool is_inner(const struct sheet *s, size_t row)
{
    const struct rl_kernel *k = s->page.report->row[row].kernel;
    return k->kind == RL_KIND_LOOP && k->group && *k->group;
}

static const char *loop_mark(const struct sheet *s)
{
    return s->page.unicode ? "↳ " : "> ";
}

/* In so many columns; 0: in as many as it takes. */
static void clean_name(const struct sheet *s, size_t row, unsigned width, char dst[RL_TEXT_LEN])
{
    char name[RL_TEXT_LEN];
    const char *mark = is_inner(s, row) ? loop_mark(s) : "";
    unsigned rest = width ? width - rl_text_columns(mark) : 0;
    rl_row_name(s->page.report, &s->page.report->row[row], rest, name, s->page.unicode);
    snprintf(dst, RL_TEXT_LEN, "%s%.*s", mark, RL_TEXT_LEN - 8, name);
}

static bool is_left_out(const struct sheet *s, int column)
{
    bool is_total = column == COLUMN_TOTAL_TIME || column == COLUMN_TOTAL_FLOP;
    return (column == COLUMN_LEVEL && !s->with_level) || (is_total && !s->page.report->totals);
}

static void measure_columns(struct sheet *s)
{
    unsigned sum = 0;
    for (int c = 0; c < N_COLUMNS; c++) {
        if (is_left_out(s, c))
            continue;
        unsigned width = (unsigned)fmax(strlen(columns[c].head), strlen(columns[c].unit));
        for (size_t i = 0; i < s->n_row; i++) {
            char name[RL_TEXT_LEN];
            if (c == COLUMN_NAME)
                clean_name(s, i, 0, name);
            unsigned needs = rl_text_columns(c == COLUMN_NAME ? name : s->cell[i][c]);
            width = needs > width ? needs : width;
        }
        s->column_width[c] = width;
        sum += (sum ? 1 : 0) + width; /* a blank between columns */
    }
    if (sum > s->page.width) {
        unsigned over = sum - s->page.width;
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
    fprintf(s->page.out, "%s%*s%s%*s", c ? " " : "", columns[c].left ? 0 : blank, "", text,
            columns[c].left && !last ? blank : 0, "");
}

static void put_table(const struct sheet *s)
{
    for (int line = 0; line < 2; line++) {
        rl_page_bold(&s->page, true);
        for (int c = 0; c < N_COLUMNS; c++)
            put_cell(s, c, line ? columns[c].unit : columns[c].head);
        rl_page_bold(&s->page, false);
        fputc('\n', s->page.out);
    }
    for (size_t i = 0; i < s->n_row; i++) {
        for (int c = 0; c < N_COLUMNS; c++) {
            char name[RL_TEXT_LEN];
            if (c == COLUMN_NAME)
                clean_name(s, i, s->column_width[c], name);
            put_cell(s, c, c == COLUMN_NAME ? name : s->cell[i][c]);
        }
        fputc('\n', s->page.out);
    }
    if (s->n_row == s->page.report->n_row)
        return;
    double rest = 0;
    for (size_t i = s->n_row; i < s->page.report->n_row; i++)
        rest += is_inner(s, i) ? 0 : s->page.report->row[i].time_share;
    char share[CELL];
    rl_text_percent(share, sizeof share, rest);
    fprintf(s->page.out, "other: %zu kernels, %s of time (csv and json list them all)\n",
            s->page.report->n_row - s->n_row, share);
}

static void add_roof(char text[RL_TEXT_LEN], const char *name, const struct shown_roof *roof,
                     const char *unit)
{
    char quantity[CELL];
    size_t used = strlen(text);
    rl_format_si(quantity, sizeof quantity, roof->rate.value, unit);
    snprintf(text + used, RL_TEXT_LEN - used, "%s%s %s%s", used ? ", " : "", name,
             roof->contended ? "≥ " : "", quantity);
}

static void put_heading(const struct page *page, const char *text)
{
    char clean[RL_TEXT_LEN];
    rl_text_clean(clean, sizeof clean, text, page->unicode);
    if (rl_text_columns(clean) > page->width) {
        rl_page_wrap(page, 0, 4, text);
        return;
    }
    rl_page_bold(page, true);
    fputs(clean, page->out);
    rl_page_bold(page, false);
    fputc('\n', page->out);
}

static void put_head(const struct sheet *s)
{
    const struct rl_machine *m = s->page.report->machine;
    unsigned threads = s->page.report->threads ? s->page.report->threads : 1;
    char text[RL_TEXT_LEN] = "";
    snprintf(text, sizeof text, "%.*s, %u thread%s", RL_TEXT_LEN / 2,
             m->name && *m->name ? m->name : "this machine", threads, threads == 1 ? "" : "s");
    put_heading(&s->page, text);
    *text = 0;
    for (int p = 0; p < RL_INT8; p++) {
        double scale = 1;
        const struct rl_compute_ceiling *c =
            rl_roofs_peak(m, (enum rl_precision)p, threads, &scale);
        struct shown_roof shown = c ? rl_roofs_show_compute(c, scale) : (struct shown_roof){0};
        if (c)
            add_roof(text, rl_precision_name((enum rl_precision)p), &shown, c->unit);
    }
    for (size_t i = 0; i < m->n_memory; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= strcmp(m->memory[j].level, m->memory[i].level) == 0;
        double scale = 1;
        const struct rl_memory_ceiling *c =
            seen ? NULL : rl_bandwidth(m, m->memory[i].level, NULL, threads, &scale);
        struct shown_roof shown = c ? rl_roofs_show_memory(c, scale) : (struct shown_roof){0};
        if (c)
            add_roof(text, c->level, &shown, "B/s");
    }
    rl_page_wrap(&s->page, 0, 0, text);
}

static bool has_gap(const struct sheet *s, size_t row)
{
    for (int c = 0; c < N_COLUMNS; c++) {
        bool is_total = c == COLUMN_TOTAL_TIME || c == COLUMN_TOTAL_FLOP;
        bool shown = c != COLUMN_NAME && !is_total && !is_left_out(s, c);
        if (shown && strcmp(s->cell[row][c], rl_page_absent(&s->page)) == 0)
            return true;
    }
    return false;
}

static void put_loop_legend(const struct sheet *s)
{
    bool any = false, numbered = false;
    for (size_t i = 0; i < s->n_row; i++) {
        any |= is_inner(s, i);
        numbered |= is_inner(s, i) && strchr(s->page.report->row[i].kernel->name, '#');
    }
    char text[CELL * 6];
    snprintf(text, sizeof text, "%sloop: its time is also in its function's%s.", loop_mark(s),
             numbered ? "; #2: the second loop of that line" : "");
    if (any)
        rl_page_wrap(&s->page, 0, 0, text);
}

static void put_all(struct sheet *s, bool *gap)
{
    for (size_t i = 0; i < s->n_row; i++) {
        fill_row(s, i, s->cell[i]);
        gap[i] = has_gap(s, i);
    }
    measure_columns(s);
    put_head(s);
    if (s->n_row) {
        fputc('\n', s->page.out);
        put_table(s);
        rl_page_wrap(&s->page, 0, 0,
                     "Traffic and AI (arithmetic intensity) at the memory level nearest its roof; "
                     "headroom: how many times faster it could run.");
        put_loop_legend(s);
        if (s->page.report->totals)
            rl_page_wrap(&s->page, 0, 0,
                         "Total: of a function with all that it called; ~ shared out among several "
                         "callers by the number of calls, an estimate.");
        if (rl_report_is_mixed(s->page.report))
            rl_page_wrap(&s->page, 0, 0, "@N: on N threads, under the roof of N threads.");
    }
    rl_page_advice(&s->page, s->n_row);
    rl_page_reasons(&s->page, gap, s->n_row);
    rl_page_notes(&s->page);
}

static enum rl_status render_table(const struct rl_report *report,
                                   const struct rl_render_options *options, FILE *out,
                                   struct rl_error *err)
{
    unsigned width = options->width ? options->width : DEFAULT_WIDTH;
    width = width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width;
    struct sheet s = {
        .page = {report, out, options->unicode, options->colour, width},
        .n_row = report->n_row < MAX_ROWS ? report->n_row : MAX_ROWS,
        .with_level = width >= WIDTH_FOR_LEVEL,
    };
    s.cell = calloc(s.n_row + 1, sizeof *s.cell);
    bool *gap = calloc(s.n_row + 1, sizeof *gap);
    if (s.cell && gap)
        put_all(&s, gap);
    enum rl_status status =
        s.cell && gap ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for the table");
    free(s.cell);
    free(gap);
    return status;
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
