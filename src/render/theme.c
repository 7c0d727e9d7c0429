#include "render/theme.h"

#include <math.h>

static const uint32_t colours[2][RL_INK_COUNT] = {
    [RL_THEME_LIGHT] =
        {
            [RL_INK_PAPER] = 0xffffff,
            [RL_INK_PLOT] = 0xffffff,
            [RL_INK_GRID_MINOR] = 0xf1f2f4,
            [RL_INK_GRID] = 0xdfe2e6,
            [RL_INK_FRAME] = 0x59636e,
            [RL_INK_TEXT] = 0x1f2328,
            [RL_INK_MUTED] = 0x636c76,
            [RL_INK_ROOF] = 0x24292f,
            [RL_INK_POINT] = 0x0072b2,
            [RL_INK_L1] = 0x0072b2,
            [RL_INK_L2] = 0x009e73,
            [RL_INK_L3] = 0xe69f00,
            [RL_INK_L4] = 0x56b4e9,
            [RL_INK_DRAM] = 0xd55e00,
            [RL_INK_HBM] = 0xcc79a7,
            [RL_INK_OTHER] = 0x7a68b3,
        },
    [RL_THEME_DARK] =
        {
            [RL_INK_PAPER] = 0x0f1419,
            [RL_INK_PLOT] = 0x0f1419,
            [RL_INK_GRID_MINOR] = 0x1a2129,
            [RL_INK_GRID] = 0x2a333d,
            [RL_INK_FRAME] = 0x8b95a1,
            [RL_INK_TEXT] = 0xe6eaef,
            [RL_INK_MUTED] = 0x9aa4b0,
            [RL_INK_ROOF] = 0xf0f3f6,
            [RL_INK_POINT] = 0x56b4e9,
            [RL_INK_L1] = 0x56b4e9,
            [RL_INK_L2] = 0x2dc79a,
            [RL_INK_L3] = 0xf5b841,
            [RL_INK_L4] = 0xa9d8f7,
            [RL_INK_DRAM] = 0xff7a3d,
            [RL_INK_HBM] = 0xe39bc6,
            [RL_INK_OTHER] = 0xb7a3e3,
        },
};

uint32_t rl_theme_colour(enum rl_theme theme, enum rl_ink ink)
{
    return colours[theme == RL_THEME_DARK ? RL_THEME_DARK : RL_THEME_LIGHT][ink];
}

const char rl_theme_families[] = "Noto Sans, Liberation Sans, DejaVu Sans, sans-serif";
const double rl_theme_plate_pad = 1.5;

struct rl_type_style rl_theme_type(enum rl_font font)
{
    static const struct rl_type_style styles[RL_FONT_COUNT] = {
        [RL_FONT_TITLE] = {17, true},
        [RL_FONT_LABEL] = {12, false},
        [RL_FONT_TICK] = {11, false},
        [RL_FONT_CAPTION] = {10, false},
    };
    return styles[font];
}

bool rl_theme_wants_plate(enum rl_role role)
{
    return role == RL_ROLE_ROOF || role == RL_ROLE_LABEL || role == RL_ROLE_RIDGE;
}

unsigned rl_theme_dash(enum rl_dash dash, double ret_lengths[4])
{
    static const struct {
        unsigned n;
        double length[4];
    } dashes[] = {
        [RL_DASH_SOLID] = {0, {0}},
        [RL_DASH_LONG] = {2, {12, 4}},
        [RL_DASH_SHORT] = {2, {6, 3.5}},
        [RL_DASH_DOT] = {2, {1.5, 3}},
        [RL_DASH_DASH_DOT] = {4, {12, 3, 2, 3}},
    };
    for (unsigned i = 0; i < dashes[dash].n; i++)
        ret_lengths[i] = dashes[dash].length[i];
    return dashes[dash].n;
}

/* Vertices evenly on a circle, or alternating between two for the star. */
static unsigned ring(double x, double y, double radius, double inner, unsigned n, double turn,
                     double xy[RL_SHAPE_MAX_POINTS][2])
{
    for (unsigned i = 0; i < n; i++) {
        double angle = turn + 2 * M_PI * i / n;
        double r = i % 2 ? inner : radius;
        xy[i][0] = x + r * cos(angle);
        xy[i][1] = y + r * sin(angle);
    }
    return n;
}

unsigned rl_shape_outline(enum rl_shape shape, double x, double y, double size,
                          double ret_xy[RL_SHAPE_MAX_POINTS][2])
{
    double r = size / 2;
    double area = M_PI * r * r;
    double square = sqrt(area / 2);
    double triangle = sqrt(area * 4 / (3 * sqrt(3)));
    double hexagon = sqrt(area * 2 / (3 * sqrt(3)));
    switch (shape) {
    case RL_SHAPE_SQUARE:
        return ring(x, y, square, square, 4, M_PI_4, ret_xy);
    case RL_SHAPE_DIAMOND:
        return ring(x, y, square, square, 4, 0, ret_xy);
    case RL_SHAPE_TRIANGLE:
        return ring(x, y + triangle / 8, triangle, triangle, 3, -M_PI_2, ret_xy);
    case RL_SHAPE_TRIANGLE_DOWN:
        return ring(x, y - triangle / 8, triangle, triangle, 3, M_PI_2, ret_xy);
    case RL_SHAPE_HEXAGON:
        return ring(x, y, hexagon, hexagon, 6, 0, ret_xy);
    case RL_SHAPE_STAR:
        return ring(x, y, r * 1.35, r * 0.6, 10, -M_PI_2, ret_xy);
    default:
        return 0;
    }
}
