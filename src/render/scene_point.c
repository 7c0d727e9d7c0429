/* Which kernels become points, where they lie, how they look. */
#include "base/array.h"
#include "render/scene_internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Above this many kernels, one point each: four levels of every kernel would hide each other. */
enum { MAX_HIERARCHICAL = 24 };

static bool is_drawable(double value)
{
    return isfinite(value) && value > 0;
}

static double intensity_l1(const struct rl_kernel *k)
{
    double ai = rl_intensity(k, "L1");
    struct rl_value flop = rl_kernel_flop(k);
    double bytes = k->load_bytes.value + k->store_bytes.value;
    bool known = rl_known(flop) && rl_known(k->load_bytes) && rl_known(k->store_bytes);
    return ai > 0 || !known || bytes <= 0 ? ai : flop.value / bytes;
}

static void add_spot(struct builder *b, double ai, double rate, unsigned level)
{
    if (!is_drawable(ai))
        return;
    struct spot *spot = rl_array_append(&b->spot, &b->n_spot, sizeof *spot);
    if (!spot) {
        b->out_of_memory = true;
        return;
    }
    spot->ai = ai;
    spot->rate = rate;
    spot->level = level;
}

static void add_spots(struct builder *b, const struct rl_row *row)
{
    double rate = row->place.flop_per_s;
    if (!is_drawable(rate))
        return;
    if (b->report->model == RL_CHART_CACHE_AWARE) {
        add_spot(b, intensity_l1(row->kernel), rate, UINT_MAX);
        return;
    }
    for (size_t i = 0; i < row->kernel->n_traffic; i++) {
        const char *name = row->kernel->traffic[i].level;
        double ai = rl_intensity(row->kernel, name);
        if (is_drawable(ai))
            add_spot(b, ai, rate, rl_scene_level(b, name));
    }
}

/* The memory level with the largest bound time; the outermost one where none is known. */
static size_t key_spot(const struct builder *b, const struct rl_row *row, size_t first)
{
    size_t key = first;
    for (size_t i = first; i < b->n_spot; i++) {
        if (b->spot[i].level == UINT_MAX || b->spot[key].level == UINT_MAX)
            continue;
        if (rl_level_rank(b->level[b->spot[i].level].name) >
            rl_level_rank(b->level[b->spot[key].level].name))
            key = i;
    }
    for (unsigned r = 0; r < row->place.n_resource; r++) {
        const struct rl_resource *resource = &row->place.resource[r];
        if (!resource->is_memory)
            continue;
        for (size_t i = first; i < b->n_spot; i++) {
            unsigned level = b->spot[i].level;
            if (level != UINT_MAX && strcmp(b->level[level].name, resource->level) == 0)
                return i;
        }
    }
    return key;
}

static double marker_size(const struct builder *b, const struct rl_row *row)
{
    double share = isfinite(row->time_share) ? fmin(fmax(row->time_share, 0), 1) : 0;
    return b->m.marker_min + (b->m.marker_max - b->m.marker_min) * sqrt(share);
}

static void count_unplotted(struct builder *b, const struct rl_kernel *kernel)
{
    struct rl_value flop = rl_kernel_flop(kernel);
    if (rl_known(flop) && flop.value == 0)
        b->n_no_flop++;
    else
        b->n_unknown++;
}

/* Less than a FLOP in 100 kB: a point many decades below all others would flatten them. */
static bool has_rare_flop(const struct builder *b, size_t first)
{
    const double rare = 1e-5; /* FLOP/byte */
    double least = INFINITY;
    for (size_t i = first; i < b->n_spot; i++)
        least = fmin(least, b->spot[i].ai);
    return least < rare;
}

static bool is_close(double a, double b)
{
    const double apart = 0.1; /* less than a marker's width on most charts */
    return fabs(a - b) <= apart * fmax(a, b);
}

static bool is_loop_of(const struct rl_kernel *loop, const struct rl_kernel *function)
{
    const char *a = loop->module, *b = function->module;
    return loop->kind == RL_KIND_LOOP && function->kind == RL_KIND_FUNCTION && loop->group &&
           strcmp(loop->group, function->name) == 0 && (a && b ? strcmp(a, b) == 0 : a == b);
}

/* A loop that is all of its function: a second name at the same place would only be in the way.
 * Functions come first, as they take at least as long. */
static bool stands_with_function(const struct builder *b, const struct rl_row *row, size_t first)
{
    const struct spot *own = &b->spot[key_spot(b, row, first)];
    for (size_t i = 0; i < b->n_plotted; i++) {
        const struct spot *its = &b->spot[b->plotted[i].key];
        if (is_loop_of(row->kernel, b->plotted[i].row->kernel))
            return own->level == its->level && is_close(own->ai, its->ai) &&
                   is_close(own->rate, its->rate);
    }
    return false;
}

static void add_kernel(struct builder *b, const struct rl_row *row, unsigned number)
{
    size_t first = b->n_spot;
    add_spots(b, row);
    if (b->n_spot == first) {
        count_unplotted(b, row->kernel);
        return;
    }
    if (has_rare_flop(b, first)) {
        b->n_spot = first;
        b->n_rare_flop++;
        return;
    }
    if (stands_with_function(b, row, first)) {
        b->n_spot = first;
        b->n_with_function++;
        return;
    }
    if (b->n_plotted == RL_SCENE_MAX_KERNELS) {
        b->n_spot = first;
        b->scene->n_other++;
        b->other_share += isfinite(row->time_share) ? row->time_share : 0;
        return;
    }
    struct plotted *p = rl_array_append(&b->plotted, &b->n_plotted, sizeof *p);
    if (!p) {
        b->out_of_memory = true;
        return;
    }
    *p = (struct plotted){row, number, first, b->n_spot - first, key_spot(b, row, first)};
    b->n_other_threads += row->place.threads && row->place.threads != b->threads;
    for (size_t i = first; i < b->n_spot; i++) {
        b->spot[i].key = i == p->key;
        b->spot[i].size = i == p->key ? marker_size(b, row) : b->m.marker_min;
    }
}

static void thin_out(struct builder *b)
{
    b->dense = b->report->model == RL_CHART_HIERARCHICAL &&
               (b->compact || b->n_plotted > MAX_HIERARCHICAL);
    for (size_t i = 0; i < b->n_plotted && b->dense; i++) {
        struct plotted *p = &b->plotted[i];
        b->spot[i] = b->spot[p->key];
        p->first_spot = p->key = i;
        p->n_spot = 1;
    }
    if (b->dense)
        b->n_spot = b->n_plotted;
    for (size_t i = 0; i < b->n_spot; i++) {
        if (b->spot[i].level != UINT_MAX)
            b->level[b->spot[i].level].used = true;
    }
}

void rl_scene_pick_points(struct builder *b)
{
    for (size_t i = 0; i < b->report->n_row; i++)
        add_kernel(b, &b->report->row[i], (unsigned)i + 1);
    b->numbered = b->numbered || b->n_plotted > RL_SCENE_MAX_NAMES;
    thin_out(b);
}

static void remember_marker(struct builder *b, const struct spot *s)
{
    struct obb *box = rl_array_append(&b->marker, &b->n_marker, sizeof *box);
    if (!box) {
        b->out_of_memory = true;
        return;
    }
    *box = (struct obb){s->x, s->y, s->size / 2, s->size / 2, 0};
}

static struct segment joiner(const struct builder *b, const struct plotted *p)
{
    const struct spot *first = &b->spot[p->first_spot];
    struct segment s = {first->x, first->y, first->x, first->y, 12};
    for (size_t i = 1; i < p->n_spot; i++) {
        s.x0 = fmin(s.x0, first[i].x);
        s.x1 = fmax(s.x1, first[i].x);
    }
    return s;
}

void rl_scene_place_points(struct builder *b)
{
    for (size_t i = 0; i < b->n_spot; i++) {
        struct spot *s = &b->spot[i];
        s->x = rl_frame_x(&b->f, s->ai);
        s->y = rl_frame_y(&b->f, s->rate);
        if (b->canvas->cells) {
            s->x = fmin(floor(s->x), b->f.right - 1) + 0.5;
            s->y = fmin(floor(s->y), b->f.bottom - 1) + 0.5;
        }
        remember_marker(b, s);
    }
    for (size_t i = 0; i < b->n_plotted; i++) {
        struct segment s = joiner(b, &b->plotted[i]);
        struct segment *kept = rl_array_append(&b->segment, &b->n_segment, sizeof *kept);
        if (kept)
            *kept = s;
        else
            b->out_of_memory = true;
    }
}

/* What a pointer resting on the point is told. */
static char *make_tip(const struct builder *b, const struct plotted *p, const struct spot *s)
{
    char name[RL_TEXT_LEN];
    rl_row_name(b->report, p->row, 0, name, b->canvas->unicode);
    char ai[32], rate[32], share[32] = "", level[RL_WORD_LEN] = "";
    rl_text_number(ai, sizeof ai, s->ai);
    rl_text_number(rate, sizeof rate, s->rate / b->y_unit);
    if (p->row->place.attained > 0)
        rl_text_percent(share, sizeof share, p->row->place.attained);
    if (s->level != UINT_MAX)
        rl_text_clean(level, sizeof level, b->level[s->level].name, b->canvas->unicode);
    char tip[RL_TEXT_LEN];
    snprintf(tip, sizeof tip, "%.300s: %s %s, %s FLOP/byte%s%s%s%s%s%s%s", name, rate,
             b->y_unit_name, ai, *level ? " at " : "", level, *share ? ", " : "", share,
             *share ? " of roof" : "", *p->row->place.bound ? ", " : "", p->row->place.bound);
    return strdup(tip);
}

static void draw_spot(struct builder *b, const struct plotted *p, const struct spot *s)
{
    bool plain = s->level == UINT_MAX;
    enum rl_ink ink = plain ? RL_INK_POINT : b->level[s->level].ink;
    enum rl_shape shape = plain ? RL_SHAPE_CIRCLE : b->level[s->level].shape;
    struct rl_item *item =
        rl_scene_marker(b, RL_ROLE_POINT, ink, shape, s->x, s->y, s->size, s->key);
    if (item && !b->canvas->cells) {
        item->tip = make_tip(b, p, s);
        b->out_of_memory |= !item->tip;
    }
}

/* Longest running first, so that small markers lie on top; filled ones above hollow ones. */
void rl_scene_draw_points(struct builder *b)
{
    for (size_t i = 0; i < b->n_plotted; i++) {
        struct segment s = joiner(b, &b->plotted[i]);
        if (s.x1 > s.x0)
            rl_scene_line(b, RL_ROLE_POINT, RL_INK_MUTED, &s, 1, RL_DASH_SOLID);
    }
    for (int keys = 0; keys < 2; keys++) {
        for (size_t i = 0; i < b->n_plotted; i++) {
            const struct plotted *p = &b->plotted[i];
            for (size_t j = p->first_spot; j < p->first_spot + p->n_spot; j++) {
                if (b->spot[j].key == (keys == 1))
                    draw_spot(b, p, &b->spot[j]);
            }
        }
    }
}
