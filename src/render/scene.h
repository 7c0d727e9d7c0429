/* The picture, laid out once and painted by anyone.
 *
 * A scene is a flat list of boxes, lines, markers and texts in canvas units (pixels, points or
 * character cells), y downwards, in painting order. Layout asks the canvas only how large a text
 * is; a painter is a table of four functions. Promises, tested: every text lies inside the canvas,
 * no two texts overlap, every point and ridge lies inside the frame. */
#ifndef RL_RENDER_SCENE_H
#define RL_RENDER_SCENE_H

#include <roofline/report.h>

/** Colour by meaning; themes give them values (theme.h). */
enum rl_ink {
    RL_INK_PAPER = 0, /**< behind everything */
    RL_INK_PLOT,      /**< inside the frame */
    RL_INK_GRID_MINOR,
    RL_INK_GRID,
    RL_INK_FRAME,
    RL_INK_TEXT,
    RL_INK_MUTED, /**< secondary text, leaders */
    RL_INK_ROOF,  /**< compute roofs */
    RL_INK_POINT, /**< points that belong to no single level */
    RL_INK_L1,    /**< memory levels: roofs and points */
    RL_INK_L2,
    RL_INK_L3,
    RL_INK_L4,
    RL_INK_DRAM,
    RL_INK_HBM,
    RL_INK_OTHER,
    RL_INK_COUNT
};

enum rl_shape {
    RL_SHAPE_CIRCLE = 0,
    RL_SHAPE_SQUARE,
    RL_SHAPE_TRIANGLE,
    RL_SHAPE_TRIANGLE_DOWN,
    RL_SHAPE_DIAMOND,
    RL_SHAPE_HEXAGON,
    RL_SHAPE_STAR,
    RL_SHAPE_COUNT
};

enum rl_dash { RL_DASH_SOLID = 0, RL_DASH_LONG, RL_DASH_SHORT, RL_DASH_DOT, RL_DASH_DASH_DOT };

enum rl_font {
    RL_FONT_TITLE = 0, /**< bold */
    RL_FONT_LABEL,     /**< names of kernels, axis titles */
    RL_FONT_TICK,      /**< tick labels, roofs, legend */
    RL_FONT_CAPTION,   /**< notes */
    RL_FONT_COUNT
};

/** What an item is for; painters may group by it, tests select by it. */
enum rl_role {
    RL_ROLE_PAPER = 0,
    RL_ROLE_GRID,
    RL_ROLE_AXIS, /**< frame, ticks, axis titles */
    RL_ROLE_ROOF,
    RL_ROLE_RIDGE,
    RL_ROLE_POINT,
    RL_ROLE_LEADER,
    RL_ROLE_LABEL, /**< name or number of a kernel */
    RL_ROLE_KEY,   /**< table of numbers beside the plot */
    RL_ROLE_LEGEND,
    RL_ROLE_TITLE,
    RL_ROLE_CAPTION,
    RL_ROLE_COUNT
};

/** Lower-case word for a role: "grid", "roof", …. */
const char *rl_role_name(enum rl_role role);

enum rl_item_kind { RL_ITEM_BOX = 0, RL_ITEM_LINE, RL_ITEM_MARKER, RL_ITEM_TEXT };

struct rl_item {
    enum rl_item_kind kind;
    enum rl_role role;
    enum rl_ink ink;
    double x, y;   /**< box: top left; line: start; marker, text: centre */
    double x1, y1; /**< box: bottom right; line: end */
    double width;  /**< line: stroke; marker: diameter; text: extent along its direction */
    double height; /**< text: extent across */
    double ascent; /**< text: top to baseline */
    double angle;  /**< text: radians, clockwise as seen (y is downwards) */
    enum rl_dash dash;
    enum rl_shape shape;
    bool filled; /**< marker */
    enum rl_font font;
    char *text; /**< text: UTF-8 (or ASCII, as the canvas wants), no control characters; owned */
    char *tip;  /**< point: description for interactive painters, may be NULL; owned */
};

/** Extent of a text set on one line. */
struct rl_extent {
    double width, height, ascent;
};

/** The surface to lay out for. */
struct rl_canvas {
    double width, height;
    bool cells;   /**< units are character cells: no rotated text, one size of everything */
    bool unicode; /**< texts may hold more than ASCII */
    struct rl_extent (*text_size)(void *ctx, enum rl_font font, const char *text);
    void *ctx;
};

struct rl_scene {
    double width, height;
    double left, top, right, bottom; /**< frame of the plot */
    struct rl_item *item;
    size_t n_item;
    size_t n_plotted;    /**< kernels with at least one point in the frame */
    size_t n_unplotted;  /**< kernels without a point of their own: no FLOP, a number missing, as
                            their function */
    size_t n_other;      /**< kernels left out as too many, smallest time first */
    size_t n_unlabelled; /**< plotted kernels for whose label there was no room */
    bool numbered;       /**< labels are row numbers (1-based) instead of names */
};

/** Most kernels that are drawn, and most that are labelled with their names. */
enum { RL_SCENE_MAX_KERNELS = 200, RL_SCENE_MAX_NAMES = 12 };

/**
 * Lay out a report.
 *
 * @param program    "roofline 0.1.0" for the caption; NULL: from the records.
 * @param ret_scene  release with rl_scene_release.
 * @return RL_OK; RL_EINVAL if the canvas is too small (below 320 x 240 units, 40 x 12 cells);
 *         RL_ENODATA if there is no ceiling to draw; RL_ENOMEM.
 */
enum rl_status rl_scene_build(const struct rl_report *report, const struct rl_canvas *canvas,
                              const char *program, struct rl_scene *ret_scene,
                              struct rl_error *err);
void rl_scene_release(struct rl_scene *scene);

/** One function a kind of item, each called with the caller's ctx. */
struct rl_painter {
    void (*box)(void *ctx, const struct rl_item *item);
    void (*line)(void *ctx, const struct rl_item *item);
    void (*marker)(void *ctx, const struct rl_item *item);
    void (*text)(void *ctx, const struct rl_item *item);
};

void rl_scene_paint(const struct rl_scene *scene, const struct rl_painter *painter, void *ctx);

#endif
