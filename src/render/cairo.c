/* PNG and PDF, and the measuring of type, through cairo and pango: the one file that knows them. */
#include "base/error.h"
#include "render/picture.h"
#include "render/renderers.h"
#include "render/theme.h"

#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

struct typesetter {
    cairo_surface_t *surface;
    cairo_t *cairo;
    PangoLayout *layout;
    PangoFontDescription *font[RL_FONT_COUNT];
};

static PangoFontDescription *new_font(enum rl_font font)
{
    struct rl_type_style style = rl_theme_type(font);
    PangoFontDescription *d = pango_font_description_new();
    pango_font_description_set_family_static(d, rl_theme_families);
    pango_font_description_set_absolute_size(d, style.size * PANGO_SCALE);
    pango_font_description_set_weight(d, style.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    return d;
}

/* Without hinting a text is as wide at any scale as it was when measured. */
static PangoLayout *new_layout(cairo_t *cairo)
{
    PangoLayout *layout = pango_cairo_create_layout(cairo);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    pango_cairo_context_set_font_options(pango_layout_get_context(layout), options);
    pango_context_set_round_glyph_positions(pango_layout_get_context(layout), FALSE);
    cairo_font_options_destroy(options);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    return layout;
}

struct typesetter *rl_typesetter_new(void)
{
    struct typesetter *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    t->cairo = cairo_create(t->surface);
    t->layout = new_layout(t->cairo);
    for (int i = 0; i < RL_FONT_COUNT; i++)
        t->font[i] = new_font((enum rl_font)i);
    return t;
}

void rl_typesetter_free(struct typesetter *typesetter)
{
    if (!typesetter)
        return;
    for (int i = 0; i < RL_FONT_COUNT; i++)
        pango_font_description_free(typesetter->font[i]);
    g_object_unref(typesetter->layout);
    cairo_destroy(typesetter->cairo);
    cairo_surface_destroy(typesetter->surface);
    free(typesetter);
}

static struct rl_extent extent_of(PangoLayout *layout)
{
    PangoRectangle logical;
    pango_layout_get_extents(layout, NULL, &logical);
    return (struct rl_extent){(double)logical.width / PANGO_SCALE,
                              (double)logical.height / PANGO_SCALE,
                              (double)pango_layout_get_baseline(layout) / PANGO_SCALE};
}

struct rl_extent rl_typesetter_size(void *typesetter, enum rl_font font, const char *text)
{
    struct typesetter *t = typesetter;
    pango_layout_set_font_description(t->layout, t->font[font]);
    pango_layout_set_text(t->layout, text, -1);
    return extent_of(t->layout);
}

/* Pango sets boxes where it has no font, without a word. */
bool rl_typesetter_probe(char *why, size_t n)
{
    struct typesetter *t = rl_typesetter_new();
    if (!t)
        return true; /* rendering will tell */
    pango_layout_set_text(t->layout, "A", -1);
    bool has_font = pango_layout_get_unknown_glyphs_count(t->layout) == 0;
    rl_typesetter_free(t);
    snprintf(why, n, "%s",
             has_font ? "" : "no font is installed; 'apt-get install fonts-dejavu-core' adds one");
    return has_font;
}

struct pen {
    cairo_t *cairo;
    PangoLayout *layout;
    PangoFontDescription *font[RL_FONT_COUNT];
    enum rl_theme theme;
};

static void use_ink(const struct pen *pen, enum rl_ink ink)
{
    uint32_t c = rl_theme_colour(pen->theme, ink);
    cairo_set_source_rgb(pen->cairo, (c >> 16) / 255.0, (c >> 8 & 0xff) / 255.0,
                         (c & 0xff) / 255.0);
}

static void paint_box(void *ctx, const struct rl_item *item)
{
    const struct pen *pen = ctx;
    use_ink(pen, item->ink);
    cairo_rectangle(pen->cairo, item->x, item->y, item->x1 - item->x, item->y1 - item->y);
    cairo_fill(pen->cairo);
}

static void paint_line(void *ctx, const struct rl_item *item)
{
    const struct pen *pen = ctx;
    double lengths[4];
    unsigned n = rl_theme_dash(item->dash, lengths);
    use_ink(pen, item->ink);
    cairo_set_dash(pen->cairo, lengths, (int)n, 0);
    cairo_set_line_width(pen->cairo, item->width);
    cairo_move_to(pen->cairo, item->x, item->y);
    cairo_line_to(pen->cairo, item->x1, item->y1);
    cairo_stroke(pen->cairo);
    cairo_set_dash(pen->cairo, NULL, 0, 0);
}

static void paint_marker(void *ctx, const struct rl_item *item)
{
    const struct pen *pen = ctx;
    double xy[RL_SHAPE_MAX_POINTS][2];
    unsigned n = rl_shape_outline(item->shape, item->x, item->y, item->width, xy);
    cairo_new_path(pen->cairo);
    if (n == 0)
        cairo_arc(pen->cairo, item->x, item->y, item->width / 2, 0, 2 * M_PI);
    for (unsigned i = 0; i < n; i++)
        cairo_line_to(pen->cairo, xy[i][0], xy[i][1]);
    cairo_close_path(pen->cairo);
    use_ink(pen, item->filled ? item->ink : RL_INK_PLOT);
    cairo_fill_preserve(pen->cairo);
    cairo_set_line_width(pen->cairo, item->filled ? 1 : 1.6);
    use_ink(pen, item->filled ? RL_INK_PLOT : item->ink);
    cairo_stroke(pen->cairo);
}

static void paint_text(void *ctx, const struct rl_item *item)
{
    const struct pen *pen = ctx;
    pango_layout_set_font_description(pen->layout, pen->font[item->font]);
    pango_layout_set_text(pen->layout, item->text, -1);
    cairo_save(pen->cairo);
    cairo_translate(pen->cairo, item->x, item->y);
    cairo_rotate(pen->cairo, item->angle);
    cairo_translate(pen->cairo, -item->width / 2, -item->height / 2);
    if (rl_theme_wants_plate(item->role)) {
        use_ink(pen, RL_INK_PLOT);
        cairo_rectangle(pen->cairo, -rl_theme_plate_pad, 0, item->width + 2 * rl_theme_plate_pad,
                        item->height);
        cairo_fill(pen->cairo);
    }
    cairo_move_to(pen->cairo, 0, 0);
    use_ink(pen, item->ink);
    pango_cairo_show_layout(pen->cairo, pen->layout);
    cairo_restore(pen->cairo);
}

static const struct rl_painter painter = {paint_box, paint_line, paint_marker, paint_text};

/* Paint a scene on any surface. @return cairo's own status word. */
static cairo_status_t paint(const struct rl_scene *scene, cairo_surface_t *surface, double scale,
                            enum rl_theme theme)
{
    struct pen pen = {.cairo = cairo_create(surface), .theme = theme};
    pen.layout = new_layout(pen.cairo);
    for (int i = 0; i < RL_FONT_COUNT; i++)
        pen.font[i] = new_font((enum rl_font)i);
    cairo_scale(pen.cairo, scale, scale);
    rl_scene_paint(scene, &painter, &pen);
    cairo_show_page(pen.cairo);
    cairo_status_t status = cairo_status(pen.cairo);
    for (int i = 0; i < RL_FONT_COUNT; i++)
        pango_font_description_free(pen.font[i]);
    g_object_unref(pen.layout);
    cairo_destroy(pen.cairo);
    return status;
}

static cairo_status_t write_out(void *closure, const unsigned char *data, unsigned int length)
{
    return fwrite(data, 1, length, closure) == length ? CAIRO_STATUS_SUCCESS
                                                      : CAIRO_STATUS_WRITE_ERROR;
}

/* A full disk is told by the stream's owner, who knows the file's name. */
static enum rl_status outcome(cairo_status_t status, const char *what, struct rl_error *err)
{
    if (status == CAIRO_STATUS_SUCCESS || status == CAIRO_STATUS_WRITE_ERROR)
        return RL_OK;
    if (status == CAIRO_STATUS_NO_MEMORY)
        return rl_fail(err, RL_ENOMEM, "no memory for the %s picture", what);
    return rl_fail(err, RL_EUNAVAIL, "cairo cannot draw the %s picture: %s", what,
                   cairo_status_to_string(status));
}

enum rl_status rl_picture_build(const struct rl_report *report,
                                const struct rl_render_options *options, double scale,
                                struct rl_scene *ret_scene, struct rl_error *err)
{
    double width = options->width ? options->width / scale : RL_PICTURE_WIDTH;
    double height = options->height ? options->height / scale : RL_PICTURE_HEIGHT;
    if (options->width > RL_PICTURE_MAX || options->height > RL_PICTURE_MAX)
        return rl_fail(err, RL_EINVAL, "%u x %u is too large for a picture: at most %d each way",
                       options->width, options->height, RL_PICTURE_MAX);
    struct typesetter *typesetter = rl_typesetter_new();
    if (!typesetter)
        return rl_fail(err, RL_ENOMEM, "no memory to set type");
    struct rl_canvas canvas = {
        .width = width,
        .height = height,
        .unicode = true,
        .text_size = rl_typesetter_size,
        .ctx = typesetter,
    };
    enum rl_status status = rl_scene_build(report, &canvas, options->program, ret_scene, err);
    rl_typesetter_free(typesetter);
    return status;
}

/* Twice the pixels by default, for sharp screens; a larger picture gets larger type. */
static double png_scale(const struct rl_render_options *options)
{
    if (!options->width && !options->height)
        return 2;
    double x = options->width ? options->width / (double)RL_PICTURE_WIDTH : 1e9;
    double y = options->height ? options->height / (double)RL_PICTURE_HEIGHT : 1e9;
    return fmax(1, fmin(x, y));
}

static enum rl_status render_png(const struct rl_report *report,
                                 const struct rl_render_options *options, FILE *out,
                                 struct rl_error *err)
{
    double scale = png_scale(options);
    struct rl_scene scene;
    RL_TRY(rl_picture_build(report, options, scale, &scene, err));
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(scene.width * scale), (int)lround(scene.height * scale));
    cairo_status_t status = paint(&scene, surface, scale, options->theme);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, write_out, out);
    cairo_surface_destroy(surface);
    rl_scene_release(&scene);
    return outcome(status, "png", err);
}

static enum rl_status render_pdf(const struct rl_report *report,
                                 const struct rl_render_options *options, FILE *out,
                                 struct rl_error *err)
{
    struct rl_scene scene;
    RL_TRY(rl_picture_build(report, options, 1, &scene, err));
    cairo_surface_t *surface =
        cairo_pdf_surface_create_for_stream(write_out, out, scene.width, scene.height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, "Roofline");
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR,
                                   options->program ? options->program : "roofline");
    /* The records' date instead of now: the same report gives the same file. */
    const char *date = report->machine->environment.date;
    if (date)
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, date);
    cairo_status_t status = paint(&scene, surface, 1, options->theme);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    rl_scene_release(&scene);
    return outcome(status, "pdf", err);
}

const struct rl_renderer rl_renderer_png = {
    .name = "png",
    .summary = "picture in pixels",
    .extension = "png",
    .binary = true,
    .probe = rl_typesetter_probe,
    .render = render_png,
};

const struct rl_renderer rl_renderer_pdf = {
    .name = "pdf",
    .summary = "picture for print",
    .extension = "pdf",
    .binary = true,
    .probe = rl_typesetter_probe,
    .render = render_pdf,
};
