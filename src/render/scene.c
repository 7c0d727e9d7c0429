#include "render/scene.h"

#include "base/array.h"
#include "base/error.h"
#include "render/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_names[RL_ROLE_COUNT] = {
    [RL_ROLE_PAPER] = "paper",   [RL_ROLE_GRID] = "grid",   [RL_ROLE_AXIS] = "axis",
    [RL_ROLE_ROOF] = "roof",     [RL_ROLE_RIDGE] = "ridge", [RL_ROLE_POINT] = "point",
    [RL_ROLE_LEADER] = "leader", [RL_ROLE_LABEL] = "label", [RL_ROLE_KEY] = "key",
    [RL_ROLE_LEGEND] = "legend", [RL_ROLE_TITLE] = "title", [RL_ROLE_CAPTION] = "caption",
};

const char *rl_role_name(enum rl_role role)
{
    return role < RL_ROLE_COUNT ? role_names[role] : "other";
}

static struct rl_item *append(struct builder *b, enum rl_item_kind kind, enum rl_role role,
                              enum rl_ink ink)
{
    struct rl_item *item =
        rl_array_append(&b->scene->item, &b->scene->n_item, sizeof *b->scene->item);
    if (!item) {
        b->out_of_memory = true;
        return NULL;
    }
    item->kind = kind;
    item->role = role;
    item->ink = ink;
    return item;
}

void rl_scene_box(struct builder *b, enum rl_role role, enum rl_ink ink, double x, double y,
                  double x1, double y1)
{
    struct rl_item *item = append(b, RL_ITEM_BOX, role, ink);
    if (!item)
        return;
    item->x = x;
    item->y = y;
    item->x1 = x1;
    item->y1 = y1;
}

void rl_scene_line(struct builder *b, enum rl_role role, enum rl_ink ink, const struct segment *s,
                   double width, enum rl_dash dash)
{
    struct rl_item *item = append(b, RL_ITEM_LINE, role, ink);
    if (!item)
        return;
    item->x = s->x0;
    item->y = s->y0;
    item->x1 = s->x1;
    item->y1 = s->y1;
    item->width = width;
    item->dash = dash;
}

struct rl_item *rl_scene_marker(struct builder *b, enum rl_role role, enum rl_ink ink,
                                enum rl_shape shape, double x, double y, double size, bool filled)
{
    struct rl_item *item = append(b, RL_ITEM_MARKER, role, ink);
    if (!item)
        return NULL;
    item->x = x;
    item->y = y;
    item->width = size;
    item->shape = shape;
    item->filled = filled;
    return item;
}

struct rl_extent rl_scene_measure(const struct builder *b, enum rl_font font, const char *text)
{
    return b->canvas->text_size(b->canvas->ctx, font, text);
}

void rl_scene_fit(const struct builder *b, enum rl_font font, char text[RL_TEXT_LEN], double width)
{
    double now = rl_scene_measure(b, font, text).width;
    while (now > width && *text) {
        unsigned columns = rl_text_columns(text);
        unsigned fewer = (unsigned)(columns * width / now);
        rl_text_elide(text, RL_TEXT_LEN, fewer < columns ? fewer : columns - 1, b->canvas->unicode);
        now = rl_scene_measure(b, font, text).width;
    }
}

double rl_scene_text(struct builder *b, const struct setting *s, const char *text)
{
    char clean[RL_TEXT_LEN];
    rl_text_clean(clean, sizeof clean, text, b->canvas->unicode);
    if (s->max_width > 0)
        rl_scene_fit(b, s->font, clean, s->max_width);
    if (!*clean)
        return 0;
    struct rl_item *item = append(b, RL_ITEM_TEXT, s->role, s->ink);
    if (!item)
        return 0;
    struct rl_extent e = rl_scene_measure(b, s->font, clean);
    double across = (0.5 - s->ax) * e.width;
    double down = (0.5 - s->ay) * e.height;
    item->x = s->x + across * cos(s->angle) - down * sin(s->angle);
    item->y = s->y + across * sin(s->angle) + down * cos(s->angle);
    item->width = e.width;
    item->height = e.height;
    item->ascent = e.ascent;
    item->angle = s->angle;
    item->font = s->font;
    item->text = strdup(clean);
    if (!item->text) {
        b->scene->n_item--;
        b->out_of_memory = true;
        return 0;
    }
    return e.width;
}

static const struct metrics pixel_metrics = {
    .margin = 22,
    .gap = 5,
    .row = 17,
    .tick = 5,
    .marker_min = 8,
    .marker_max = 19,
    .label_max = 190,
    .key_width = 320,
};

static const struct metrics cell_metrics = {
    .margin = 0,
    .gap = 1,
    .row = 1,
    .tick = 0,
    .marker_min = 1,
    .marker_max = 1,
    .label_max = 28,
    .key_width = 42,
};

static const struct metrics compact_metrics = {
    .margin = 12,
    .gap = 4,
    .row = 15,
    .tick = 4,
    .marker_min = 7,
    .marker_max = 14,
    .label_max = 120,
};

static const struct metrics *metrics_for(const struct rl_canvas *canvas, bool compact)
{
    return canvas->cells ? &cell_metrics : compact ? &compact_metrics : &pixel_metrics;
}

static bool is_compact(const struct rl_canvas *canvas)
{
    return canvas->cells ? canvas->height < 20 : canvas->width < 560 || canvas->height < 400;
}

static enum rl_status check(const struct rl_report *report, const struct rl_canvas *canvas,
                            struct rl_error *err)
{
    double least_width = canvas->cells ? 40 : 320;
    double least_height = canvas->cells ? 12 : 240;
    if (!(canvas->width >= least_width) || !(canvas->height >= least_height))
        return rl_fail(err, RL_EINVAL, "%.0f x %.0f is too small for a chart: at least %.0f x %.0f",
                       canvas->width, canvas->height, least_width, least_height);
    if (!report->machine || report->machine->n_compute + report->machine->n_memory == 0)
        return rl_fail(err, RL_ENODATA, "the machine record holds no ceiling to draw");
    return RL_OK;
}

static void lay_out(struct builder *b)
{
    rl_scene_pick_roofs(b);
    rl_scene_pick_points(b);
    rl_scene_choose_ranges(b);
    rl_scene_reserve_margins(b);
    rl_scene_place_roofs(b);
    rl_scene_place_points(b);
    rl_scene_label_roofs(b);
    rl_scene_box(b, RL_ROLE_PAPER, RL_INK_PAPER, 0, 0, b->scene->width, b->scene->height);
    rl_scene_draw_axes(b);
    rl_scene_draw_roofs(b);
    rl_scene_draw_points(b);
    rl_scene_draw_roof_labels(b);
    rl_scene_label_points(b);
    rl_scene_draw_margins(b);
    b->scene->left = b->f.left;
    b->scene->top = b->f.top;
    b->scene->right = b->f.right;
    b->scene->bottom = b->f.bottom;
    b->scene->n_plotted = b->n_plotted;
    b->scene->n_unplotted = b->n_no_flop + b->n_rare_flop + b->n_unknown + b->n_with_function;
    b->scene->numbered = b->numbered;
}

/* One attempt; sets what the next one should do otherwise. */
static enum rl_status attempt(const struct rl_report *report, const struct rl_canvas *canvas,
                              const char *program, bool *numbered, bool *extra_note,
                              struct rl_scene *scene, struct rl_error *err)
{
    *scene = (struct rl_scene){.width = canvas->width, .height = canvas->height};
    struct builder b = {
        .report = report,
        .canvas = canvas,
        .program = program,
        .scene = scene,
        .numbered = *numbered,
        .extra_note = *extra_note,
        .threads = report->threads ? report->threads : 1,
        .compact = is_compact(canvas),
        .m = *metrics_for(canvas, is_compact(canvas)),
    };
    lay_out(&b);
    free(b.plotted);
    free(b.spot);
    free(b.taken);
    free(b.marker);
    free(b.segment);
    if (b.out_of_memory)
        return rl_fail(err, RL_ENOMEM, "no memory for the picture");
    if (!b.n_roof)
        return rl_fail(err, RL_ENODATA, "the machine record holds no usable ceiling to draw");
    *extra_note = *extra_note || *b.overflow || (b.numbered && scene->n_unlabelled);
    *numbered = b.numbered || scene->n_unlabelled;
    return RL_OK;
}

enum rl_status rl_scene_build(const struct rl_report *report, const struct rl_canvas *canvas,
                              const char *program, struct rl_scene *ret_scene, struct rl_error *err)
{
    RL_TRY(check(report, canvas, err));
    bool numbered = false;
    bool extra_note = false;
    for (int i = 0;; i++) {
        bool had_note = extra_note;
        struct rl_scene scene;
        enum rl_status status =
            attempt(report, canvas, program, &numbered, &extra_note, &scene, err);
        if (status != RL_OK) {
            rl_scene_release(&scene);
            return status;
        }
        /* Names found no room: numbers. Something was left out: a row to say so. */
        if ((scene.numbered == numbered && had_note == extra_note) || i == 2) {
            *ret_scene = scene;
            return RL_OK;
        }
        rl_scene_release(&scene);
    }
}

void rl_scene_release(struct rl_scene *scene)
{
    for (size_t i = 0; i < scene->n_item; i++) {
        free(scene->item[i].text);
        free(scene->item[i].tip);
    }
    free(scene->item);
    *scene = (struct rl_scene){0};
}

void rl_scene_paint(const struct rl_scene *scene, const struct rl_painter *painter, void *ctx)
{
    void (*const paint[])(void *, const struct rl_item *) = {
        [RL_ITEM_BOX] = painter->box,
        [RL_ITEM_LINE] = painter->line,
        [RL_ITEM_MARKER] = painter->marker,
        [RL_ITEM_TEXT] = painter->text,
    };
    for (size_t i = 0; i < scene->n_item; i++)
        paint[scene->item[i].kind](ctx, &scene->item[i]);
}
