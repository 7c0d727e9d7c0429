/* Inside the scene: the builder that the layout steps hand on to each other. */
#ifndef RL_RENDER_SCENE_INTERNAL_H
#define RL_RENDER_SCENE_INTERNAL_H

#include "render/scene.h"
#include "render/text.h"

enum { MAX_ROOFS = 24, MAX_LEVELS = 12 };

/** A rectangle turned around its centre. */
struct obb {
    double x, y;           /**< centre */
    double half_w, half_h; /**< along and across the direction */
    double angle;          /**< radians, clockwise as seen */
};

struct segment {
    double x0, y0, x1, y1;
    double cost; /**< what it costs a label to lie across it */
};

/** Fixed distances, in canvas units. */
struct metrics {
    double margin; /**< canvas edge to anything */
    double gap;    /**< between text and what it belongs to */
    double row;    /**< line height of notes and keys */
    double tick;   /**< length of a tick */
    double marker_min, marker_max;
    double label_max; /**< widest name of a kernel */
    double key_width; /**< table of numbers; 0: no room for one */
};

/** Where data lie on the canvas; the ranges are decimal logarithms. */
struct frame {
    double left, top, right, bottom;
    double x0, x1, y0, y1;
};

struct level {
    const char *name; /**< borrowed from a record */
    enum rl_ink ink;
    enum rl_shape shape;
    bool used; /**< by a point */
};

struct roof {
    bool diagonal;
    bool peak;   /**< compute: best of its precision, as against a ceiling below it */
    double rate; /**< B/s of a diagonal, FLOP/s (or op/s) of a level line */
    enum rl_ink ink;
    enum rl_dash dash;
    char name[64];  /**< "DRAM", "fp64 fma avx512" */
    char value[64]; /**< "≥ 40 GB/s" */
    bool drawn;
    struct segment line; /**< visible part on the canvas */
    bool labelled;
    struct obb label; /**< where its text goes */
    bool has_leader;  /**< the text stands aside, tied to the line */
    struct segment leader;
};

/** One point: a kernel at one level. */
struct spot {
    double ai, rate;
    double x, y;
    unsigned level; /**< index into builder.level; UINT_MAX: none */
    bool key;       /**< the level nearest its roof, or the only one shown */
    double size;
};

struct plotted {
    const struct rl_row *row;
    unsigned number; /**< 1-based position in the report */
    size_t first_spot, n_spot;
    size_t key; /**< index of the key spot */
};

struct builder {
    const struct rl_report *report;
    const struct rl_canvas *canvas;
    const char *program;
    struct rl_scene *scene;
    bool out_of_memory;
    bool numbered;   /**< label with numbers instead of names */
    bool compact;    /**< small canvas: peaks and one point a kernel only */
    bool extra_note; /**< keep a row for what found no room */
    unsigned threads;
    struct metrics m;
    struct frame f;
    double y_unit; /**< FLOP/s of one unit on the vertical axis */
    const char *y_unit_name;
    struct level level[MAX_LEVELS];
    unsigned n_level;
    struct roof roof[MAX_ROOFS];
    unsigned n_roof;
    struct plotted *plotted;
    size_t n_plotted;
    size_t n_labelled; /**< how many of plotted are to get a label */
    struct spot *spot;
    size_t n_spot;
    bool dense;                  /**< one point a kernel although the report is hierarchical */
    size_t n_no_flop, n_unknown; /**< kernels without a point: 0 FLOP, or a number missing */
    size_t n_rare_flop;          /**< and those with so few that they would stretch the axes */
    size_t n_with_function;      /**< loops that stand where their functions do */
    size_t n_other_threads;      /**< plotted kernels that ran on other threads than the roof's */
    double other_share;
    struct segment ridge; /**< drop line of the slowest level's ridge */
    double ridge_ai;      /**< 0: no ridge */
    struct obb *taken;    /**< texts set inside the frame */
    size_t n_taken;
    struct obb *marker;
    size_t n_marker;
    struct segment *segment;
    size_t n_segment;
    char overflow[RL_TEXT_LEN]; /**< roofs that found no room for their label */
};

/* geometry.c */
bool rl_obb_overlap(const struct obb *a, const struct obb *b);
bool rl_obb_in_frame(const struct obb *a, const struct frame *f, double margin);
bool rl_obb_crosses(const struct obb *a, const struct segment *s);
/** Clip to the frame. @return false if nothing of it lies inside. */
bool rl_segment_clip(struct segment *s, const struct frame *f);
double rl_frame_x(const struct frame *f, double value);
double rl_frame_y(const struct frame *f, double value);

/* scene.c: adding items */
struct rl_extent rl_scene_measure(const struct builder *b, enum rl_font font, const char *text);
void rl_scene_box(struct builder *b, enum rl_role role, enum rl_ink ink, double x, double y,
                  double x1, double y1);
void rl_scene_line(struct builder *b, enum rl_role role, enum rl_ink ink, const struct segment *s,
                   double width, enum rl_dash dash);
struct rl_item *rl_scene_marker(struct builder *b, enum rl_role role, enum rl_ink ink,
                                enum rl_shape shape, double x, double y, double size, bool filled);

/** How to set a text: `x`, `y` is the anchor; ax, ay say where in the box it lies (0 left or top,
 * 0.5 middle, 1 right or bottom). */
struct setting {
    enum rl_role role;
    enum rl_font font;
    enum rl_ink ink;
    double x, y, ax, ay;
    double angle;
    double max_width; /**< shorten to fit; 0: as long as it is */
};
/** Set one line. @return its width, 0 if nothing was set. */
double rl_scene_text(struct builder *b, const struct setting *s, const char *text);
/** Shorten a cleaned text[RL_TEXT_LEN] in place until it is at most `width` wide. */
void rl_scene_fit(const struct builder *b, enum rl_font font, char text[RL_TEXT_LEN], double width);

/* scene_roof.c: which ceilings become lines, and where they run */
void rl_scene_pick_roofs(struct builder *b);
void rl_scene_place_roofs(struct builder *b);
void rl_scene_draw_roofs(struct builder *b);
/** Highest compute peak of the picture, FLOP/s; 0 if there is none. */
double rl_scene_top_peak(const struct builder *b);
/** Index of a memory level, added if new; UINT_MAX when there are too many. */
unsigned rl_scene_level(struct builder *b, const char *name);

/* scene_point.c: which kernels become points */
void rl_scene_pick_points(struct builder *b);
void rl_scene_place_points(struct builder *b);
void rl_scene_draw_points(struct builder *b);

/* scene_axis.c: ranges, ticks, grid */
void rl_scene_choose_ranges(struct builder *b);
/** Width of the widest label of the vertical axis. */
double rl_scene_tick_room(const struct builder *b);
void rl_scene_draw_axes(struct builder *b);

/* scene_label.c: where texts inside the frame go */
void rl_scene_label_roofs(struct builder *b);
void rl_scene_draw_roof_labels(struct builder *b);
void rl_scene_label_points(struct builder *b);

/* scene_margin.c: what stands around the plot */
void rl_scene_reserve_margins(struct builder *b);
void rl_scene_draw_margins(struct builder *b);

#endif
