/* The chart in characters: braille dots and Unicode marks, or plain ASCII. */
#include "base/error.h"
#include "render/renderers.h"
#include "render/scene.h"
#include "render/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_COLUMNS = 80, DEFAULT_ROWS = 24, MAX_CELLS = 1000 };

struct cell {
    char glyph[20];     /**< one character with its combining marks; "" shows the dots */
    unsigned char dots; /**< braille dots lit, Unicode's numbering */
    bool covered;       /**< right half of a wide character */
    bool bold;
    enum rl_ink ink;
};

struct screen {
    struct cell *cell;
    int columns, rows;
    bool unicode;
};

static struct cell *cell_at(const struct screen *s, int column, int row)
{
    if (column < 0 || row < 0 || column >= s->columns || row >= s->rows)
        return NULL;
    return &s->cell[row * s->columns + column];
}

static void put_glyph(const struct screen *s, int column, int row, const char *glyph,
                      enum rl_ink ink)
{
    struct cell *c = cell_at(s, column, row);
    if (!c)
        return;
    snprintf(c->glyph, sizeof c->glyph, "%s", glyph);
    c->covered = false;
    c->bold = false;
    c->ink = ink;
}

static void paint_box(void *ctx, const struct rl_item *item)
{
    (void)ctx;
    (void)item; /* the terminal has its own background */
}

/* Steps of `period` of which the first `on` are drawn. */
static bool is_gap(enum rl_dash dash, int step, int unit)
{
    static const struct {
        int on, period;
    } dashes[] = {
        [RL_DASH_SOLID] = {1, 1}, [RL_DASH_LONG] = {4, 5},     [RL_DASH_SHORT] = {2, 3},
        [RL_DASH_DOT] = {1, 2},   [RL_DASH_DASH_DOT] = {3, 4},
    };
    return step / unit % dashes[dash].period >= dashes[dash].on;
}

static void light_dot(const struct screen *s, int x, int y, enum rl_ink ink)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0)
        return;
    struct cell *c = cell_at(s, x / 2, y / 4);
    if (!c)
        return;
    c->dots |= bits[y % 4][x % 2];
    c->ink = ink;
}

static void dotted_line(const struct screen *s, const struct rl_item *i, enum rl_dash dash)
{
    double x0 = i->x * 2 - 0.5, y0 = i->y * 4 - 0.5;
    double x1 = i->x1 * 2 - 0.5, y1 = i->y1 * 4 - 0.5;
    int steps = (int)ceil(fmax(fabs(x1 - x0), fabs(y1 - y0)));
    for (int k = 0; k <= steps; k++) {
        double t = steps ? (double)k / steps : 0;
        if (!is_gap(dash, k, 2))
            light_dot(s, (int)lround(x0 + t * (x1 - x0)), (int)lround(y0 + t * (y1 - y0)), i->ink);
    }
}

/* Gentle slopes by the height of the mark within its cell, steep ones by slashes. */
static void ascii_line(const struct screen *s, const struct rl_item *i)
{
    double dx = i->x1 - i->x;
    double dy = i->y1 - i->y;
    bool steep = fabs(dy) > fabs(dx);
    int from = (int)floor(steep ? fmin(i->y, i->y1) : fmin(i->x, i->x1));
    int to = (int)ceil(steep ? fmax(i->y, i->y1) : fmax(i->x, i->x1));
    for (int k = from; k < to; k++) {
        if (is_gap(i->dash, k - from, 1))
            continue;
        double column = steep ? i->x + (k + 0.5 - i->y) / dy * dx : k;
        double y = steep ? k : dx == 0 ? i->y : i->y + (k + 0.5 - i->x) / dx * dy;
        double low = y - floor(y);
        const char *mark = steep ? "/" : low < 1.0 / 3 ? "'" : low < 2.0 / 3 ? "-" : ".";
        put_glyph(s, (int)floor(column), (int)floor(y), dy == 0 ? "-" : mark, i->ink);
    }
}

static const char *axis_glyph(const struct screen *s, const struct cell *c, bool upright, bool tick)
{
    if (tick)
        return !s->unicode ? "+" : strcmp(c->glyph, "│") == 0 ? "┤" : "┬";
    if (*c->glyph)
        return s->unicode ? "└" : "+";
    return upright ? (s->unicode ? "│" : "|") : (s->unicode ? "─" : "-");
}

static void axis_line(const struct screen *s, const struct rl_item *i)
{
    bool upright = i->x == i->x1;
    bool tick = upright && i->y == i->y1;
    int length = (int)lround(upright ? i->y1 - i->y : i->x1 - i->x);
    for (int k = 0; k <= length; k++) {
        int column = (int)floor(i->x) + (upright ? 0 : k);
        int row = (int)floor(i->y) + (upright ? k : 0);
        const struct cell *c = cell_at(s, column, row);
        if (c)
            put_glyph(s, column, row, axis_glyph(s, c, upright, tick), i->ink);
    }
}

static void joining_line(const struct screen *s, const struct rl_item *i)
{
    for (int column = (int)floor(i->x); column <= (int)floor(i->x1); column++)
        put_glyph(s, column, (int)floor(i->y), s->unicode ? "─" : "-", i->ink);
}

static void paint_line(void *ctx, const struct rl_item *item)
{
    const struct screen *s = ctx;
    if (item->role == RL_ROLE_AXIS)
        axis_line(s, item);
    else if (item->role == RL_ROLE_POINT)
        joining_line(s, item);
    else if (s->unicode)
        dotted_line(s, item, item->role == RL_ROLE_LEADER ? RL_DASH_DOT : item->dash);
    else if (item->role == RL_ROLE_ROOF)
        ascii_line(s, item);
}

static void paint_marker(void *ctx, const struct rl_item *item)
{
    static const char *const unicode[RL_SHAPE_COUNT][2] = {
        [RL_SHAPE_CIRCLE] = {"○", "●"},   [RL_SHAPE_SQUARE] = {"□", "■"},
        [RL_SHAPE_TRIANGLE] = {"△", "▲"}, [RL_SHAPE_TRIANGLE_DOWN] = {"▽", "▼"},
        [RL_SHAPE_DIAMOND] = {"◇", "◆"},  [RL_SHAPE_HEXAGON] = {"⬡", "⬢"},
        [RL_SHAPE_STAR] = {"☆", "★"},
    };
    static const char *const ascii[RL_SHAPE_COUNT][2] = {
        [RL_SHAPE_CIRCLE] = {"o", "O"},   [RL_SHAPE_SQUARE] = {"x", "X"},
        [RL_SHAPE_TRIANGLE] = {"v", "V"}, [RL_SHAPE_TRIANGLE_DOWN] = {"w", "W"},
        [RL_SHAPE_DIAMOND] = {"d", "D"},  [RL_SHAPE_HEXAGON] = {"h", "H"},
        [RL_SHAPE_STAR] = {"s", "S"},
    };
    const struct screen *s = ctx;
    const char *const *glyphs = s->unicode ? unicode[item->shape] : ascii[item->shape];
    put_glyph(s, (int)floor(item->x), (int)floor(item->y), glyphs[item->filled], item->ink);
}

static void paint_text(void *ctx, const struct rl_item *item)
{
    const struct screen *s = ctx;
    int column = (int)lround(item->x - item->width / 2);
    int row = (int)floor(item->y);
    struct cell *last = NULL;
    for (const char *text = item->text; *text;) {
        unsigned width;
        unsigned bytes = rl_text_next(text, &width);
        char glyph[8] = {0};
        memcpy(glyph, text, bytes);
        text += bytes;
        struct cell *c = cell_at(s, column, row);
        if (width == 0 && last && strlen(last->glyph) + bytes < sizeof last->glyph) {
            strcat(last->glyph, glyph);
        } else if (width && c) {
            put_glyph(s, column, row, glyph, item->ink);
            c->bold = item->font == RL_FONT_TITLE;
            last = c;
        }
        struct cell *right = width == 2 ? cell_at(s, column + 1, row) : NULL;
        if (right)
            right->covered = true;
        column += (int)width;
    }
}

static const struct rl_painter painter = {paint_box, paint_line, paint_marker, paint_text};

/* ANSI attributes of an ink: colours that both dark and light terminals show well. */
static const char *attributes(const struct cell *c)
{
    static const char *const codes[RL_INK_COUNT] = {
        [RL_INK_GRID] = "2",  [RL_INK_FRAME] = "2", [RL_INK_MUTED] = "2",  [RL_INK_POINT] = "34",
        [RL_INK_L1] = "34",   [RL_INK_L2] = "32",   [RL_INK_L3] = "33",    [RL_INK_L4] = "36",
        [RL_INK_DRAM] = "31", [RL_INK_HBM] = "35",  [RL_INK_OTHER] = "35",
    };
    if (c->bold)
        return "1";
    return codes[c->ink] ? codes[c->ink] : "";
}

static const char *shown(const struct screen *s, const struct cell *c, char braille[4])
{
    if (*c->glyph)
        return c->glyph;
    if (!c->dots || !s->unicode)
        return " ";
    /* U+2800 + dots in UTF-8 */
    braille[0] = (char)0xe2;
    braille[1] = (char)(0xa0 | c->dots >> 6);
    braille[2] = (char)(0x80 | (c->dots & 0x3f));
    braille[3] = 0;
    return braille;
}

static void print_row(const struct screen *s, int row, bool colour, FILE *out)
{
    int end = s->columns;
    while (end > 0) {
        const struct cell *c = cell_at(s, end - 1, row);
        if (*c->glyph || c->dots || c->covered)
            break;
        end--;
    }
    const char *now = "";
    for (int column = 0; column < end; column++) {
        const struct cell *c = cell_at(s, column, row);
        char braille[4];
        const char *glyph = shown(s, c, braille);
        if (c->covered)
            continue;
        const char *wanted = strcmp(glyph, " ") == 0 ? now : attributes(c);
        if (colour && strcmp(wanted, now) != 0) {
            fprintf(out, "\033[0%s%sm", *wanted ? ";" : "", wanted);
            now = wanted;
        }
        fputs(glyph, out);
    }
    fputs(*now ? "\033[0m\n" : "\n", out);
}

static struct rl_extent cell_size(void *ctx, enum rl_font font, const char *text)
{
    (void)ctx;
    (void)font;
    return (struct rl_extent){rl_text_columns(text), 1, 1};
}

enum rl_status rl_write_chart(const struct rl_report *report,
                              const struct rl_render_options *options, FILE *out,
                              struct rl_error *err)
{
    unsigned width = options->width ? options->width : DEFAULT_COLUMNS;
    unsigned height = options->height ? options->height : DEFAULT_ROWS;
    struct rl_canvas canvas = {
        .width = width < MAX_CELLS ? width : MAX_CELLS,
        .height = height < MAX_CELLS ? height : MAX_CELLS,
        .cells = true,
        .unicode = options->unicode,
        .text_size = cell_size,
    };
    struct rl_scene scene;
    RL_TRY(rl_scene_build(report, &canvas, options->program, &scene, err));
    struct screen s = {NULL, (int)canvas.width, (int)canvas.height, options->unicode};
    s.cell = calloc((size_t)s.columns * (size_t)s.rows, sizeof *s.cell);
    if (!s.cell) {
        rl_scene_release(&scene);
        return rl_fail(err, RL_ENOMEM, "no memory for the chart");
    }
    for (int i = 0; i < s.columns * s.rows; i++)
        s.cell[i].ink = RL_INK_TEXT;
    rl_scene_paint(&scene, &painter, &s);
    for (int row = 0; row < s.rows; row++)
        print_row(&s, row, options->colour, out);
    free(s.cell);
    rl_scene_release(&scene);
    return RL_OK;
}

const struct rl_renderer rl_renderer_chart = {
    .name = "chart",
    .cells = true,
    .summary = "chart for the terminal",
    .probe = rl_renderer_always,
    .render = rl_write_chart,
};
