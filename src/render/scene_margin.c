/* What stands around the plot: title, axis titles, legend, table of numbers, notes, caption. */
#include "render/scene_internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LEGEND = 20 };

struct legend_entry {
    char text[136];
    bool has_line, has_marker, filled, small_and_large;
    enum rl_ink ink;
    enum rl_shape shape;
    enum rl_dash dash;
};

struct legend {
    struct legend_entry entry[MAX_LEGEND];
    unsigned n;
};

static double line_height(const struct builder *b, enum rl_font font)
{
    return rl_scene_measure(b, font, "Ag").height;
}

/* ---- texts ---- */

static void join(char *dst, size_t n, const char *separator, const char *text)
{
    if (*dst && *text)
        strncat(dst, separator, n - strlen(dst) - 1);
    strncat(dst, text, n - strlen(dst) - 1);
}

static void title_text(const struct builder *b, char *dst, size_t n)
{
    const struct rl_profile *p = b->report->profile;
    const struct rl_machine *m = b->report->machine;
    const char *what = p && p->n_command ? p->command[0] : p && p->name ? p->name : NULL;
    if (p && p->n_command && strrchr(what, '/'))
        what = strrchr(what, '/') + 1;
    if (!what || !*what)
        what = m->name && *m->name ? m->name : "this machine";
    snprintf(dst, n, "Roofline of %s", what);
}

static void subtitle_text(const struct builder *b, const char *title, char *dst, size_t n)
{
    const struct rl_machine *m = b->report->machine;
    const char *name = m->name && *m->name ? m->name : m->cpu.model_name;
    char threads[64];
    snprintf(threads, sizeof threads, "%u thread%s", b->threads, b->threads == 1 ? "" : "s");
    *dst = 0;
    join(dst, n, " · ", name && !strstr(title, name) ? name : "");
    join(dst, n, " · ", threads);
    if (b->report->model == RL_CHART_CACHE_AWARE)
        join(dst, n, " · ", "cache-aware");
}

/* Where the roofs come from: one word a source, most frequent use only. */
static void caption_text(const struct builder *b, char *dst, size_t n)
{
    const struct rl_environment *e = &b->report->machine->environment;
    const struct rl_profile *p = b->report->profile;
    bool contended = false;
    bool scaled = false;
    for (unsigned i = 0; i < b->n_roof; i++) {
        contended |= strstr(b->roof[i].value, "≥") != NULL;
        scaled |= strstr(b->roof[i].value, "(scaled)") != NULL;
    }
    char text[RL_TEXT_LEN / 4];
    *dst = 0;
    snprintf(text, sizeof text, "roofs %.10s", e->date ? e->date : "");
    join(dst, n, " · ", e->date && *e->date ? text : "");
    snprintf(text, sizeof text, "profile %.10s", p && p->date ? p->date : "");
    join(dst, n, " · ", p && p->date && *p->date ? text : "");
    const char *program = b->program ? b->program : p && p->program ? p->program : e->program;
    join(dst, n, " · ", program ? program : "");
    if (contended)
        join(dst, n, " · ", "≥: machine was busy");
    if (scaled)
        join(dst, n, " · ", "scaled: from other thread counts");
}

static void plural(char *dst, size_t n, size_t count, const char *rest)
{
    snprintf(dst, n, "%zu kernel%s %s", count, count == 1 ? "" : "s", rest);
}

/* Kernels without a point, so that none vanishes unseen. */
static void note_text(const struct builder *b, char *dst, size_t n)
{
    char text[RL_TEXT_LEN / 4], share[32];
    *dst = 0;
    if (b->n_no_flop) {
        plural(text, sizeof text, b->n_no_flop, "without FLOP not drawn");
        join(dst, n, " · ", text);
    }
    if (b->n_rare_flop) {
        plural(text, sizeof text, b->n_rare_flop, "with next to no FLOP not drawn");
        join(dst, n, " · ", text);
    }
    if (b->n_unknown) {
        plural(text, sizeof text, b->n_unknown, "not drawn: FLOP, bytes or time unknown");
        join(dst, n, " · ", text);
    }
    if (b->n_with_function) {
        snprintf(text, sizeof text, "%zu loop%s where the function is", b->n_with_function,
                 b->n_with_function == 1 ? "" : "s");
        join(dst, n, " · ", text);
    }
    if (b->scene->n_other) {
        rl_text_percent(share, sizeof share, b->other_share);
        snprintf(text, sizeof text, "other: %zu kernels, %s of time", b->scene->n_other, share);
        join(dst, n, " · ", text);
    }
    if (b->n_other_threads) {
        plural(text, sizeof text, b->n_other_threads,
               "on another number of threads: % is of their own roof");
        join(dst, n, " · ", text);
    }
    if (b->dense)
        join(dst, n, " · ", "one point a kernel, at the level nearest its roof");
}

static void extra_text(const struct builder *b, char *dst, size_t n)
{
    char text[RL_TEXT_LEN];
    *dst = 0;
    if (*b->overflow) {
        snprintf(text, sizeof text, "further roofs: %.400s", b->overflow);
        join(dst, n, " · ", text);
    }
    if (b->scene->n_unlabelled) {
        snprintf(text, sizeof text, "%zu label%s left out for lack of room", b->scene->n_unlabelled,
                 b->scene->n_unlabelled == 1 ? "" : "s");
        join(dst, n, " · ", text);
    }
}

/* ---- legend ---- */

static struct legend_entry *add_entry(struct legend *l, const char *text)
{
    if (l->n == MAX_LEGEND)
        return NULL;
    struct legend_entry *e = &l->entry[l->n++];
    *e = (struct legend_entry){0};
    snprintf(e->text, sizeof e->text, "%s", text);
    return e;
}

static const struct roof *roof_of_ink(const struct builder *b, unsigned level)
{
    const char *name = b->level[level].name;
    size_t length = strlen(name);
    for (unsigned i = 0; i < b->n_roof; i++) {
        const struct roof *r = &b->roof[i];
        if (r->diagonal && strncmp(r->name, name, length) == 0 &&
            (r->name[length] == 0 || r->name[length] == ' '))
            return r;
    }
    return NULL;
}

static void add_levels(const struct builder *b, struct legend *l)
{
    for (unsigned i = 0; i < b->n_level; i++) {
        const struct level *level = &b->level[i];
        const struct roof *roof = roof_of_ink(b, i);
        bool values = b->canvas->cells && roof;
        if (!level->used && !values)
            continue;
        char text[136];
        snprintf(text, sizeof text, "%s%s%s", values ? roof->name : level->name, values ? " " : "",
                 values ? roof->value : "");
        struct legend_entry *e = add_entry(l, text);
        if (!e)
            return;
        e->has_marker = level->used;
        e->filled = b->dense;
        e->has_line = roof != NULL;
        e->ink = level->ink;
        e->shape = level->shape;
        e->dash = roof ? roof->dash : RL_DASH_SOLID;
    }
}

static void make_legend(const struct builder *b, struct legend *l)
{
    l->n = 0;
    add_levels(b, l);
    if (!b->n_plotted || b->compact)
        return;
    bool levels = b->report->model == RL_CHART_HIERARCHICAL;
    if (levels && !b->dense) {
        struct legend_entry *e = add_entry(l, "filled: level nearest its roof");
        if (e) {
            e->has_marker = e->filled = true;
            e->ink = RL_INK_MUTED;
        }
    }
    if (!b->numbered)
        add_entry(l, "%: of its roof");
    bool any_share = false;
    for (size_t i = 0; i < b->n_plotted; i++)
        any_share |= b->plotted[i].row->time_share > 0;
    if (any_share && !b->canvas->cells) {
        struct legend_entry *e = add_entry(l, "area: share of time");
        if (e) {
            e->small_and_large = true;
            e->ink = RL_INK_MUTED;
        }
    }
}

static double swatch_width(const struct builder *b, const struct legend_entry *e)
{
    if (b->canvas->cells)
        return e->has_marker ? 2 : 0;
    if (e->small_and_large)
        return 30;
    return e->has_line ? 48 : e->has_marker ? 18 : 0;
}

static double entry_width(const struct builder *b, const struct legend_entry *e)
{
    return swatch_width(b, e) + rl_scene_measure(b, RL_FONT_TICK, e->text).width;
}

static double entry_gap(const struct builder *b)
{
    return b->canvas->cells ? 2 : 22;
}

static double legend_rows(const struct builder *b, const struct legend *l, double width)
{
    double rows = l->n ? 1 : 0;
    double x = 0;
    for (unsigned i = 0; i < l->n; i++) {
        double w = entry_width(b, &l->entry[i]);
        if (x > 0 && x + w > width) {
            rows++;
            x = 0;
        }
        x += w + entry_gap(b);
    }
    return rows;
}

static void draw_swatch(struct builder *b, const struct legend_entry *e, double x, double y)
{
    if (b->canvas->cells) {
        if (e->has_marker)
            rl_scene_marker(b, RL_ROLE_LEGEND, e->ink, e->shape, x + 0.5, y, 1, e->filled);
        return;
    }
    double middle = x + (e->has_line ? 21 : 6);
    struct segment s = {x, y, x + 42, y, 0};
    if (e->has_line)
        rl_scene_line(b, RL_ROLE_LEGEND, e->ink, &s, 2, e->dash);
    if (e->has_marker)
        rl_scene_marker(b, RL_ROLE_LEGEND, e->ink, e->shape, middle, y, b->m.marker_min + 1,
                        e->filled);
    if (e->small_and_large) {
        rl_scene_marker(b, RL_ROLE_LEGEND, e->ink, e->shape, x + 4, y, 6, true);
        rl_scene_marker(b, RL_ROLE_LEGEND, e->ink, e->shape, x + 17, y, 13, true);
    }
}

static void draw_legend(struct builder *b, const struct legend *l, double left, double y,
                        double width)
{
    double x = 0;
    for (unsigned i = 0; i < l->n; i++) {
        const struct legend_entry *e = &l->entry[i];
        double w = entry_width(b, e);
        if (x > 0 && x + w > width) {
            x = 0;
            y += b->m.row;
        }
        double middle = y + b->m.row / 2;
        draw_swatch(b, e, left + x, middle);
        double text_x = left + x + swatch_width(b, e);
        struct setting s = {RL_ROLE_LEGEND,
                            RL_FONT_TICK,
                            RL_INK_TEXT,
                            text_x,
                            middle,
                            0,
                            0.5,
                            0,
                            fmax(width - x - swatch_width(b, e), 1)};
        rl_scene_text(b, &s, e->text);
        x += w + entry_gap(b);
    }
}

/* ---- room ---- */

static unsigned key_rows(const struct builder *b)
{
    return (unsigned)((b->f.bottom - b->f.top) / b->m.row) - 1;
}

static void reserve_key(struct builder *b)
{
    double least = b->canvas->cells ? 110 : 760;
    b->n_labelled = b->n_plotted;
    if (!b->numbered || !b->n_plotted) {
        b->m.key_width = 0;
        return;
    }
    if (b->canvas->width < least) {
        b->m.key_width = 0;
        size_t most = b->canvas->cells ? 30 : 40;
        b->n_labelled = b->n_plotted < most ? b->n_plotted : most;
        return;
    }
    b->f.right -= b->m.key_width + (b->canvas->cells ? 1 : 14);
    unsigned rows = key_rows(b);
    b->n_labelled = b->n_plotted <= rows ? b->n_plotted : rows - 1;
}

static double rows_below(const struct builder *b, double width)
{
    char note[RL_TEXT_LEN], caption[RL_TEXT_LEN];
    struct legend l;
    make_legend(b, &l);
    note_text(b, note, sizeof note);
    caption_text(b, caption, sizeof caption);
    return legend_rows(b, &l, width) + (*note ? 1 : 0) + (*caption ? 1 : 0) +
           (b->extra_note ? 1 : 0);
}

void rl_scene_reserve_margins(struct builder *b)
{
    struct frame *f = &b->f;
    double width = b->canvas->width - 2 * b->m.margin;
    double tick_room = rl_scene_tick_room(b);
    double below = rows_below(b, width) * b->m.row;
    f->right = b->canvas->width - b->m.margin;
    double air = b->compact ? 6 : 14;
    if (b->canvas->cells) {
        f->left = ceil(tick_room) + 1;
        f->top = 2;
        f->bottom = b->canvas->height - 3 - below;
    } else {
        f->left = b->m.margin + tick_room + b->m.tick + 3;
        f->top = b->m.margin + line_height(b, RL_FONT_TITLE) + 2 + line_height(b, RL_FONT_TICK) +
                 air + line_height(b, RL_FONT_LABEL) + 6;
        f->bottom = b->canvas->height - b->m.margin - below - air - line_height(b, RL_FONT_LABEL) -
                    4 - line_height(b, RL_FONT_TICK) - b->m.tick - 4;
    }
    /* On a small canvas the picture matters more than what is said below it. */
    double least = b->canvas->cells ? 5 : 90;
    if (f->bottom < f->top + least)
        f->bottom = f->top + least;
    reserve_key(b);
}

/* ---- drawing ---- */

static void draw_head(struct builder *b)
{
    const struct frame *f = &b->f;
    char title[RL_TEXT_LEN], subtitle[RL_TEXT_LEN], y_title[64];
    title_text(b, title, sizeof title);
    subtitle_text(b, title, subtitle, sizeof subtitle);
    double room = b->canvas->width - 2 * b->m.margin;
    double title_height = line_height(b, RL_FONT_TITLE);
    struct setting s = {RL_ROLE_TITLE,
                        RL_FONT_TITLE,
                        RL_INK_TEXT,
                        b->m.margin,
                        b->m.margin,
                        0,
                        0,
                        0,
                        b->canvas->cells ? floor(room * 0.5) : room};
    double used = rl_scene_text(b, &s, title);
    if (b->canvas->cells) {
        s.x += used + 2;
        s.max_width = room - used - 2;
    } else {
        s.y += title_height + 2;
        s.max_width = room;
    }
    s.font = RL_FONT_TICK;
    s.ink = RL_INK_MUTED;
    rl_scene_text(b, &s, subtitle);
    snprintf(y_title, sizeof y_title, b->canvas->cells ? "%s" : "Performance [%s]", b->y_unit_name);
    s = (struct setting){RL_ROLE_AXIS, RL_FONT_LABEL, RL_INK_TEXT, b->m.margin, f->top, 0, 1, 0, 0};
    if (b->canvas->cells)
        s.x = fmax(0, f->left - rl_text_columns(y_title));
    else
        s.y -= 6;
    rl_scene_text(b, &s, y_title);
}

static void key_cell(struct builder *b, double x, double y, double ax, double width, bool head,
                     const char *text)
{
    struct setting s = {RL_ROLE_KEY, RL_FONT_TICK, head ? RL_INK_MUTED : RL_INK_TEXT, x, y, ax, 0.5,
                        0,           width};
    rl_scene_text(b, &s, text);
}

/* Room for the shares: some kernels stand far above their roof. */
static double share_width(const struct builder *b, double unit)
{
    char text[32];
    double width = 7 * unit;
    for (size_t i = 0; i < b->n_labelled; i++) {
        rl_text_percent(text, sizeof text, b->plotted[i].row->place.attained);
        width = fmax(width, rl_scene_measure(b, RL_FONT_TICK, text).width + unit);
    }
    return width;
}

/* Number, name, rate, share of roof; as many rows as fit, longest running first. */
static void draw_key(struct builder *b)
{
    if (b->m.key_width == 0)
        return;
    double unit = b->canvas->cells ? 1 : 7.2;
    double left = b->f.right + (b->canvas->cells ? 1 : 14);
    double right = left + b->m.key_width;
    double number_x = left + 4 * unit;
    double share_x = right;
    double rate_x = right - share_width(b, unit);
    double name_x = number_x + unit;
    double name_width = rate_x - 9 * unit - name_x;
    double y = b->f.top + b->m.row / 2;
    key_cell(b, number_x, y, 1, 0, true, "#");
    key_cell(b, name_x, y, 0, 0, true, "kernel");
    key_cell(b, rate_x, y, 1, 0, true, b->y_unit_name);
    key_cell(b, share_x, y, 1, 0, true, "of roof");
    char text[RL_TEXT_LEN];
    for (size_t i = 0; i < b->n_labelled; i++) {
        const struct plotted *p = &b->plotted[i];
        y += b->m.row;
        snprintf(text, sizeof text, "%u", p->number);
        key_cell(b, number_x, y, 1, 0, false, text);
        rl_row_name(b->report, p->row, 0, text, b->canvas->unicode);
        key_cell(b, name_x, y, 0, name_width, false, text);
        rl_text_number(text, sizeof text, p->row->place.flop_per_s / b->y_unit);
        key_cell(b, rate_x, y, 1, 0, false, text);
        if (p->row->place.attained > 0) {
            rl_text_percent(text, sizeof text, p->row->place.attained);
            key_cell(b, share_x, y, 1, 0, false, text);
        }
    }
    if (b->n_labelled < b->n_plotted) {
        snprintf(text, sizeof text, "… %zu more, see the table", b->n_plotted - b->n_labelled);
        key_cell(b, name_x, y + b->m.row, 0, right - name_x, true, text);
    }
}

static void draw_line(struct builder *b, double *y, const char *text)
{
    if (!*text)
        return;
    double room = b->canvas->width - 2 * b->m.margin;
    if (*y + b->m.row <= b->canvas->height + 0.5) {
        struct setting s = {RL_ROLE_CAPTION,
                            RL_FONT_CAPTION,
                            RL_INK_MUTED,
                            b->m.margin,
                            *y + b->m.row / 2,
                            0,
                            0.5,
                            0,
                            room};
        rl_scene_text(b, &s, text);
    }
    *y += b->m.row;
}

void rl_scene_draw_margins(struct builder *b)
{
    const struct frame *f = &b->f;
    draw_head(b);
    draw_key(b);
    double y =
        f->bottom + (b->canvas->cells ? 2 : b->m.tick + 4 + line_height(b, RL_FONT_TICK) + 4);
    struct setting s = {
        RL_ROLE_AXIS,      RL_FONT_LABEL, RL_INK_TEXT, (f->left + f->right) / 2, y, 0.5, 0, 0,
        f->right - f->left};
    if (b->canvas->cells)
        s.x = floor(s.x) + 0.5;
    rl_scene_text(b, &s, "Arithmetic intensity [FLOP/byte]");
    y += b->canvas->cells ? 1 : line_height(b, RL_FONT_LABEL) + (b->compact ? 6 : 14);
    double width = b->canvas->width - 2 * b->m.margin;
    struct legend l;
    make_legend(b, &l);
    double rows = legend_rows(b, &l, width);
    if (y + rows * b->m.row <= b->canvas->height + 0.5)
        draw_legend(b, &l, b->m.margin, y, width);
    y += rows * b->m.row;
    char text[RL_TEXT_LEN];
    note_text(b, text, sizeof text);
    draw_line(b, &y, text);
    extra_text(b, text, sizeof text);
    draw_line(b, &y, b->extra_note ? text : "");
    caption_text(b, text, sizeof text);
    draw_line(b, &y, text);
}
