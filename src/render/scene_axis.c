/* Ranges that hold every point and ridge, ticks people can read, the grid. */
#include "render/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TICKS = 64 };

struct tick {
    double at; /**< decimal logarithm, in axis units */
    bool major;
    char label[24]; /**< major only; may be empty */
};

struct ticks {
    struct tick tick[MAX_TICKS];
    unsigned n;
};

struct range {
    double lo, hi; /**< decimal logarithms */
};

static void include(struct range *r, double log_value)
{
    if (!isfinite(log_value))
        return;
    r->lo = fmin(r->lo, log_value);
    r->hi = fmax(r->hi, log_value);
}

static void widen(struct range *r, double least)
{
    double lack = least - (r->hi - r->lo);
    if (lack > 0) {
        r->lo -= lack / 2;
        r->hi += lack / 2;
    }
}

static void choose_unit(struct builder *b, double log_top)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {1e3, "kFLOP/s"}};
    b->y_unit = 1;
    b->y_unit_name = "FLOP/s";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        /* GFLOP/s is what people expect up to 10 TFLOP/s. */
        double from = i == 0 ? 13 : log10(units[i].unit);
        if (log_top >= from) {
            b->y_unit = units[i].unit;
            b->y_unit_name = units[i].name;
            return;
        }
    }
}

/* Ridges with room to see both sides of them. */
static void include_ridges(const struct builder *b, struct range *x, double top)
{
    const double sides = log10(b->n_spot ? 5.0 : 10.0);
    for (unsigned i = 0; i < b->n_roof; i++) {
        if (!b->roof[i].diagonal || top <= 0)
            continue;
        double ridge = log10(top) - log10(b->roof[i].rate);
        include(x, ridge - sides);
        include(x, ridge + sides);
    }
}

static void include_roofs(const struct builder *b, const struct range *x, struct range *y,
                          double top)
{
    struct range diagonals = {INFINITY, -INFINITY};
    for (unsigned i = 0; i < b->n_roof; i++) {
        const struct roof *roof = &b->roof[i];
        double rate = log10(roof->rate);
        if (roof->diagonal) {
            include(&diagonals, rate + x->lo);
            if (top <= 0)
                include(y, rate + x->hi);
        } else if (roof->peak || top <= 0 || rate > log10(top) - 3) {
            include(y, rate);
        }
    }
    if (!isfinite(diagonals.lo))
        return;
    /* The slowest diagonal reaches the left border, unless that makes the picture too deep. */
    double depth = isfinite(y->hi) ? y->hi - 3.2 : diagonals.lo;
    include(y, fmax(diagonals.lo, depth));
}

/* Lowest thing that must not lie on the frame: a point, or a level line within the range. */
static double lowest_level(const struct builder *b, double point, double lo)
{
    for (unsigned i = 0; i < b->n_roof; i++) {
        double rate = log10(b->roof[i].rate);
        if (!b->roof[i].diagonal && rate >= lo)
            point = fmin(point, rate);
    }
    return point;
}

void rl_scene_choose_ranges(struct builder *b)
{
    const double pad_share = 0.035;
    double top = rl_scene_top_peak(b);
    struct range points_x = {INFINITY, -INFINITY};
    struct range points_y = {INFINITY, -INFINITY};
    for (size_t i = 0; i < b->n_spot; i++) {
        include(&points_x, log10(b->spot[i].ai));
        include(&points_y, log10(b->spot[i].rate));
    }
    struct range x = points_x;
    include_ridges(b, &x, top);
    if (!isfinite(x.lo))
        x = (struct range){-2, 2};
    widen(&x, 2);
    struct range y = {INFINITY, -INFINITY};
    include_roofs(b, &x, &y, top);
    include(&y, points_y.lo);
    include(&y, points_y.hi);
    if (!isfinite(y.lo))
        y = (struct range){8, 10};
    widen(&y, 1.5);
    double pad_x = (x.hi - x.lo) * pad_share;
    double pad_y = (y.hi - y.lo) * pad_share;
    choose_unit(b, y.hi);
    b->f.x0 = points_x.lo - pad_x < x.lo ? points_x.lo - pad_x : x.lo;
    b->f.x1 = points_x.hi + pad_x > x.hi ? points_x.hi + pad_x : x.hi;
    b->f.y0 = fmin(y.lo, lowest_level(b, points_y.lo, y.lo) - 2 * pad_y);
    b->f.y1 = y.hi + 2.5 * pad_y;
}

static void superscript(char *dst, size_t n, int exponent)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[16];
    snprintf(plain, sizeof plain, "%d", exponent);
    size_t used = (size_t)snprintf(dst, n, "10");
    for (const char *c = plain; *c && used < n; c++)
        used += (size_t)snprintf(dst + used, n - used, "%s", *c == '-' ? "⁻" : digits[*c - '0']);
}

static void label_tick(struct tick *t, bool powers, bool unicode)
{
    if (!powers) {
        double value = pow(10, t->at);
        snprintf(t->label, sizeof t->label, "%.*f", value < 0.9 ? (int)ceil(-t->at - 1e-9) : 0,
                 value);
    } else if (unicode) {
        superscript(t->label, sizeof t->label, (int)lround(t->at));
    } else {
        snprintf(t->label, sizeof t->label, "1e%ld", lround(t->at));
    }
}

/* Decades, at most `most` of them labelled; 1-2-5 where there are few; minor lines between. */
static void make_ticks(struct ticks *ticks, double lo, double hi, double most, bool unicode)
{
    static const int steps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    ticks->n = 0;
    double span = hi - lo;
    double stride = fmax(1, ceil(span / fmax(most, 1)));
    bool fine = span * 3 <= most && span < 3.3;
    bool minor = stride <= 1 && span <= MAX_TICKS / 10;
    bool powers = lo < -4.0 || hi > 5.5 || stride > 1;
    if (stride > 1 && span > 30)
        stride = ceil(stride / 5) * 5;
    for (double decade = floor(lo / stride) * stride; decade <= hi; decade += stride) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            double at = decade + log10(steps[i]);
            bool major = i == 0 || (fine && !powers && (steps[i] == 2 || steps[i] == 5));
            if ((!major && !minor) || at < lo || at > hi || ticks->n == MAX_TICKS)
                continue;
            struct tick *t = &ticks->tick[ticks->n++];
            *t = (struct tick){.at = at, .major = major};
            if (major)
                label_tick(t, powers, unicode);
        }
    }
}

static void ticks_x(const struct builder *b, struct ticks *ticks)
{
    double per_label = b->canvas->cells ? 7 : 44;
    make_ticks(ticks, b->f.x0, b->f.x1, (b->f.right - b->f.left) / per_label, b->canvas->unicode);
}

/* `height` of the frame may still be an estimate: it only decides how many labels there are. */
static void ticks_y(const struct builder *b, double height, struct ticks *ticks)
{
    double shift = log10(b->y_unit);
    double per_label = b->canvas->cells ? 2 : 26;
    make_ticks(ticks, b->f.y0 - shift, b->f.y1 - shift, height / per_label, b->canvas->unicode);
}

double rl_scene_tick_room(const struct builder *b)
{
    /* Both densities are measured, so that the answer holds whatever height comes out. */
    double widest = 0;
    for (int i = 0; i < 3; i++) {
        struct ticks ticks;
        ticks_y(b, b->canvas->height * (0.3 + 0.3 * i), &ticks);
        for (unsigned j = 0; j < ticks.n; j++)
            widest = fmax(widest, rl_scene_measure(b, RL_FONT_TICK, ticks.tick[j].label).width);
    }
    return widest;
}

static void grid_line(struct builder *b, bool major, double x0, double y0, double x1, double y1)
{
    struct segment s = {x0, y0, x1, y1, 0};
    if (!b->canvas->cells)
        rl_scene_line(b, RL_ROLE_GRID, major ? RL_INK_GRID : RL_INK_GRID_MINOR, &s,
                      major ? 0.9 : 0.6, RL_DASH_SOLID);
}

static void tick_mark(struct builder *b, double x, double y, double dx, double dy)
{
    struct segment s = {x, y, x + dx, y + dy, 0};
    rl_scene_line(b, RL_ROLE_AXIS, RL_INK_FRAME, &s, 1, RL_DASH_SOLID);
}

static void draw_x(struct builder *b)
{
    const struct frame *f = &b->f;
    struct ticks ticks;
    ticks_x(b, &ticks);
    double free_from = 0;
    for (unsigned i = 0; i < ticks.n; i++) {
        const struct tick *t = &ticks.tick[i];
        double x = f->left + (t->at - f->x0) / (f->x1 - f->x0) * (f->right - f->left);
        grid_line(b, t->major, x, f->top, x, f->bottom);
        if (!t->major)
            continue;
        if (b->canvas->cells)
            x = fmin(floor(x), f->right - 1) + 0.5;
        double y = f->bottom + (b->canvas->cells ? 0.5 : 0);
        double width = rl_scene_measure(b, RL_FONT_TICK, t->label).width;
        double start = x - width / 2;
        if (b->canvas->cells)
            start = floor(start);
        start = fmin(fmax(start, 0), b->scene->width - width);
        tick_mark(b, x, y, 0, b->m.tick);
        if (start < free_from)
            continue;
        struct setting s = {RL_ROLE_AXIS, RL_FONT_TICK, RL_INK_TEXT, start, 0, 0, 0, 0, 0};
        s.y = b->canvas->cells ? f->bottom + 1 : f->bottom + b->m.tick + 4;
        free_from = start + rl_scene_text(b, &s, t->label) + b->m.gap;
    }
}

static void draw_y(struct builder *b)
{
    const struct frame *f = &b->f;
    struct ticks ticks;
    ticks_y(b, f->bottom - f->top, &ticks);
    double shift = log10(b->y_unit);
    double free_below = b->scene->height;
    for (unsigned i = 0; i < ticks.n; i++) {
        const struct tick *t = &ticks.tick[i];
        double share = (t->at + shift - f->y0) / (f->y1 - f->y0);
        double y = f->bottom - share * (f->bottom - f->top);
        grid_line(b, t->major, f->left, y, f->right, y);
        if (!t->major)
            continue;
        if (b->canvas->cells)
            y = fmin(floor(y), f->bottom - 1) + 0.5;
        double x = f->left - (b->canvas->cells ? 0.5 : 0);
        double height = rl_scene_measure(b, RL_FONT_TICK, t->label).height;
        tick_mark(b, x, y, -b->m.tick, 0);
        if (y + height / 2 > free_below)
            continue;
        struct setting s = {RL_ROLE_AXIS, RL_FONT_TICK, RL_INK_TEXT, 0, y, 1, 0.5, 0, 0};
        s.x = b->canvas->cells ? f->left - 1 : f->left - b->m.tick - 3;
        rl_scene_text(b, &s, t->label);
        free_below = y - height / 2;
    }
}

void rl_scene_draw_axes(struct builder *b)
{
    const struct frame *f = &b->f;
    double out = b->canvas->cells ? 0.5 : 0;
    rl_scene_box(b, RL_ROLE_GRID, RL_INK_PLOT, f->left, f->top, f->right, f->bottom);
    struct segment left = {f->left - out, f->top + out, f->left - out, f->bottom + out, 0};
    struct segment bottom = {f->left - out, f->bottom + out, f->right - out, f->bottom + out, 0};
    if (b->canvas->cells) {
        rl_scene_line(b, RL_ROLE_AXIS, RL_INK_FRAME, &left, 1, RL_DASH_SOLID);
        rl_scene_line(b, RL_ROLE_AXIS, RL_INK_FRAME, &bottom, 1, RL_DASH_SOLID);
    }
    draw_x(b);
    draw_y(b);
    if (!b->canvas->cells) {
        rl_scene_line(b, RL_ROLE_AXIS, RL_INK_FRAME, &left, 1, RL_DASH_SOLID);
        rl_scene_line(b, RL_ROLE_AXIS, RL_INK_FRAME, &bottom, 1, RL_DASH_SOLID);
    }
}
