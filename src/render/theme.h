/* What pictures look like: colours, type, shapes. Shared by the svg and cairo painters. */
#ifndef RL_RENDER_THEME_H
#define RL_RENDER_THEME_H

#include "render/render.h"
#include "render/scene.h"

#include <stdint.h>

/** Colour of an ink as 0xRRGGBB. Levels follow Okabe and Ito's palette, told apart by readers with
 * any colour vision; shape and dash tell them apart in grey. */
uint32_t rl_theme_colour(enum rl_theme theme, enum rl_ink ink);

/** Families by preference, comma-separated; the last is generic. */
extern const char rl_theme_families[];

struct rl_type_style {
    double size; /**< em, canvas units */
    bool bold;
};

struct rl_type_style rl_theme_type(enum rl_font font);

/** Whether a text lies over lines and wants a plate of the background's colour under it. */
bool rl_theme_wants_plate(enum rl_role role);

/** How far that plate reaches beyond the text on its left and right. */
extern const double rl_theme_plate_pad;

/** On and off lengths of a dash, at most four. @return their number; 0: solid. */
unsigned rl_theme_dash(enum rl_dash dash, double ret_lengths[4]);

enum { RL_SHAPE_MAX_POINTS = 10 };

/**
 * Outline of a marker whose area is that of a circle of diameter `size`.
 * @param ret_xy  [n][2] vertices.
 * @return n; 0 for the circle itself.
 */
unsigned rl_shape_outline(enum rl_shape shape, double x, double y, double size,
                          double ret_xy[RL_SHAPE_MAX_POINTS][2]);

#endif
