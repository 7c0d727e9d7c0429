/* SVG with real text: searchable, readable by screen readers, and with a tooltip on every point.
 *
 * Cairo's SVG turns text into outlines, so this writer is our own; it is one function an item.
 * textLength holds every text to the width it was laid out for, whatever font the viewer has. */
#include "render/picture.h"
#include "render/renderers.h"
#include "render/theme.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

struct pen {
    FILE *out;
    enum rl_theme theme;
    enum rl_role group; /**< open <g>; RL_ROLE_COUNT: none */
};

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

/* A coordinate with two decimals at most; never "-0". */
static void put_number(FILE *out, double value)
{
    double rounded = round(value * 100) / 100;
    fprintf(out, "%.8g", rounded == 0 ? 0 : rounded);
}

static void put_attribute(FILE *out, const char *name, double value)
{
    fprintf(out, " %s=\"", name);
    put_number(out, value);
    fputc('"', out);
}

static void put_colour(const struct pen *pen, const char *name, enum rl_ink ink)
{
    fprintf(pen->out, " %s=\"#%06x\"", name, (unsigned)rl_theme_colour(pen->theme, ink));
}

static void enter_group(struct pen *pen, enum rl_role role)
{
    if (pen->group == role)
        return;
    if (pen->group != RL_ROLE_COUNT)
        fputs("</g>\n", pen->out);
    fprintf(pen->out, "<g class=\"%s\">\n", rl_role_name(role));
    pen->group = role;
}

static void paint_box(void *ctx, const struct rl_item *item)
{
    struct pen *pen = ctx;
    enter_group(pen, item->role);
    fputs("<rect", pen->out);
    put_attribute(pen->out, "x", item->x);
    put_attribute(pen->out, "y", item->y);
    put_attribute(pen->out, "width", item->x1 - item->x);
    put_attribute(pen->out, "height", item->y1 - item->y);
    put_colour(pen, "fill", item->ink);
    fputs("/>\n", pen->out);
}

static void paint_line(void *ctx, const struct rl_item *item)
{
    struct pen *pen = ctx;
    enter_group(pen, item->role);
    double lengths[4];
    unsigned n = rl_theme_dash(item->dash, lengths);
    fputs("<line", pen->out);
    put_attribute(pen->out, "x1", item->x);
    put_attribute(pen->out, "y1", item->y);
    put_attribute(pen->out, "x2", item->x1);
    put_attribute(pen->out, "y2", item->y1);
    put_colour(pen, "stroke", item->ink);
    put_attribute(pen->out, "stroke-width", item->width);
    for (unsigned i = 0; i < n; i++) {
        fputs(i ? " " : " stroke-dasharray=\"", pen->out);
        put_number(pen->out, lengths[i]);
    }
    fputs(n ? "\"/>\n" : "/>\n", pen->out);
}

static void paint_marker(void *ctx, const struct rl_item *item)
{
    struct pen *pen = ctx;
    enter_group(pen, item->role);
    double xy[RL_SHAPE_MAX_POINTS][2];
    unsigned n = rl_shape_outline(item->shape, item->x, item->y, item->width, xy);
    fputs(n ? "<polygon points=\"" : "<circle", pen->out);
    for (unsigned i = 0; i < n; i++) {
        fputs(i ? " " : "", pen->out);
        put_number(pen->out, xy[i][0]);
        fputc(',', pen->out);
        put_number(pen->out, xy[i][1]);
    }
    if (n) {
        fputc('"', pen->out);
    } else {
        put_attribute(pen->out, "cx", item->x);
        put_attribute(pen->out, "cy", item->y);
        put_attribute(pen->out, "r", item->width / 2);
    }
    put_colour(pen, "fill", item->filled ? item->ink : RL_INK_PLOT);
    put_colour(pen, "stroke", item->filled ? RL_INK_PLOT : item->ink);
    put_attribute(pen->out, "stroke-width", item->filled ? 1 : 1.6);
    if (!item->tip) {
        fputs("/>\n", pen->out);
        return;
    }
    fputs("><title>", pen->out);
    put_escaped(pen->out, item->tip);
    fprintf(pen->out, "</title></%s>\n", n ? "polygon" : "circle");
}

static void put_rotation(FILE *out, double angle, double x, double y)
{
    if (angle == 0)
        return;
    fputs(" transform=\"rotate(", out);
    put_number(out, angle * 180 / M_PI);
    fputc(' ', out);
    put_number(out, x);
    fputc(' ', out);
    put_number(out, y);
    fputs(")\"", out);
}

static void paint_plate(const struct pen *pen, const struct rl_item *item)
{
    fputs("<rect", pen->out);
    put_attribute(pen->out, "x", item->x - item->width / 2 - rl_theme_plate_pad);
    put_attribute(pen->out, "y", item->y - item->height / 2);
    put_attribute(pen->out, "width", item->width + 2 * rl_theme_plate_pad);
    put_attribute(pen->out, "height", item->height);
    put_colour(pen, "fill", RL_INK_PLOT);
    put_rotation(pen->out, item->angle, item->x, item->y);
    fputs("/>\n", pen->out);
}

static void paint_text(void *ctx, const struct rl_item *item)
{
    struct pen *pen = ctx;
    enter_group(pen, item->role);
    if (rl_theme_wants_plate(item->role))
        paint_plate(pen, item);
    struct rl_type_style style = rl_theme_type(item->font);
    double down = item->ascent - item->height / 2;
    double x = item->x - item->width / 2 * cos(item->angle) - down * sin(item->angle);
    double y = item->y - item->width / 2 * sin(item->angle) + down * cos(item->angle);
    fputs("<text", pen->out);
    put_attribute(pen->out, "x", x);
    put_attribute(pen->out, "y", y);
    put_attribute(pen->out, "textLength", item->width);
    fputs(" lengthAdjust=\"spacingAndGlyphs\"", pen->out);
    put_attribute(pen->out, "font-size", style.size);
    if (style.bold)
        fputs(" font-weight=\"bold\"", pen->out);
    put_colour(pen, "fill", item->ink);
    put_rotation(pen->out, item->angle, x, y);
    fputc('>', pen->out);
    put_escaped(pen->out, item->text);
    fputs("</text>\n", pen->out);
}

static const struct rl_painter painter = {paint_box, paint_line, paint_marker, paint_text};

static const char *title_of(const struct rl_scene *scene)
{
    for (size_t i = 0; i < scene->n_item; i++) {
        if (scene->item[i].kind == RL_ITEM_TEXT && scene->item[i].role == RL_ROLE_TITLE)
            return scene->item[i].text;
    }
    return "Roofline";
}

static enum rl_status render_svg(const struct rl_report *report,
                                 const struct rl_render_options *options, FILE *out,
                                 struct rl_error *err)
{
    struct rl_scene scene;
    RL_TRY(rl_picture_build(report, options, 1, &scene, err));
    struct pen pen = {out, options->theme, RL_ROLE_COUNT};
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"",
          out);
    put_attribute(out, "width", scene.width);
    put_attribute(out, "height", scene.height);
    fprintf(out, " viewBox=\"0 0 %.8g %.8g\" role=\"img\" font-family=\"%s\">\n<title>",
            scene.width, scene.height, rl_theme_families);
    put_escaped(out, title_of(&scene));
    fputs("</title>\n", out);
    rl_scene_paint(&scene, &painter, &pen);
    fputs(pen.group == RL_ROLE_COUNT ? "</svg>\n" : "</g>\n</svg>\n", out);
    rl_scene_release(&scene);
    return RL_OK;
}

const struct rl_renderer rl_renderer_svg = {
    .name = "svg",
    .summary = "picture with searchable text and tooltips",
    .extension = "svg",
    .probe = rl_typesetter_probe,
    .render = render_svg,
};
