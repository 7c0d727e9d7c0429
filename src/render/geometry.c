#include "render/scene_internal.h"

#include <math.h>

static void corners(const struct obb *a, double x[4], double y[4])
{
    double c = cos(a->angle);
    double s = sin(a->angle);
    static const int sign[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int i = 0; i < 4; i++) {
        double w = sign[i][0] * a->half_w;
        double h = sign[i][1] * a->half_h;
        x[i] = a->x + w * c - h * s;
        y[i] = a->y + w * s + h * c;
    }
}

static double reach(const struct obb *a, double ux, double uy)
{
    double c = cos(a->angle);
    double s = sin(a->angle);
    return a->half_w * fabs(ux * c + uy * s) + a->half_h * fabs(uy * c - ux * s);
}

/* Separating axes: two rectangles are apart iff some edge direction of either shows a gap. */
bool rl_obb_overlap(const struct obb *a, const struct obb *b)
{
    const double angles[4] = {a->angle, a->angle + M_PI_2, b->angle, b->angle + M_PI_2};
    bool upright = a->angle == 0 && b->angle == 0;
    if (upright)
        return fabs(a->x - b->x) < a->half_w + b->half_w &&
               fabs(a->y - b->y) < a->half_h + b->half_h;
    for (int i = 0; i < 4; i++) {
        double ux = cos(angles[i]);
        double uy = sin(angles[i]);
        double apart = fabs((a->x - b->x) * ux + (a->y - b->y) * uy);
        if (apart >= reach(a, ux, uy) + reach(b, ux, uy))
            return false;
    }
    return true;
}

bool rl_obb_in_frame(const struct obb *a, const struct frame *f, double margin)
{
    double x[4], y[4];
    corners(a, x, y);
    for (int i = 0; i < 4; i++) {
        if (x[i] < f->left + margin || x[i] > f->right - margin || y[i] < f->top + margin ||
            y[i] > f->bottom - margin)
            return false;
    }
    return true;
}

/* Liang-Barsky against an upright box given by its limits. */
static bool clip(struct segment *s, double left, double top, double right, double bottom)
{
    double dx = s->x1 - s->x0;
    double dy = s->y1 - s->y0;
    const double p[4] = {-dx, dx, -dy, dy};
    const double q[4] = {s->x0 - left, right - s->x0, s->y0 - top, bottom - s->y0};
    double enter = 0;
    double leave = 1;
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0) {
            if (q[i] < 0)
                return false;
            continue;
        }
        double t = q[i] / p[i];
        if (p[i] < 0 && t > enter)
            enter = t;
        if (p[i] > 0 && t < leave)
            leave = t;
    }
    if (enter > leave)
        return false;
    double x0 = s->x0;
    double y0 = s->y0;
    s->x0 = x0 + enter * dx;
    s->y0 = y0 + enter * dy;
    s->x1 = x0 + leave * dx;
    s->y1 = y0 + leave * dy;
    return true;
}

bool rl_segment_clip(struct segment *s, const struct frame *f)
{
    return clip(s, f->left, f->top, f->right, f->bottom);
}

bool rl_obb_crosses(const struct obb *a, const struct segment *s)
{
    double c = cos(a->angle);
    double n = sin(a->angle);
    struct segment local = {
        .x0 = (s->x0 - a->x) * c + (s->y0 - a->y) * n,
        .y0 = (s->y0 - a->y) * c - (s->x0 - a->x) * n,
        .x1 = (s->x1 - a->x) * c + (s->y1 - a->y) * n,
        .y1 = (s->y1 - a->y) * c - (s->x1 - a->x) * n,
    };
    return clip(&local, -a->half_w, -a->half_h, a->half_w, a->half_h);
}

double rl_frame_x(const struct frame *f, double value)
{
    return f->left + (log10(value) - f->x0) / (f->x1 - f->x0) * (f->right - f->left);
}

double rl_frame_y(const struct frame *f, double value)
{
    return f->bottom - (log10(value) - f->y0) / (f->y1 - f->y0) * (f->bottom - f->top);
}
