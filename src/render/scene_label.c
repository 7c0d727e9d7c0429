/* Where the texts inside the frame go: beside their line or point, over nothing else.
 *
 * Greedy by importance with two rounds of repair. A candidate place must lie in the frame and may
 * touch no text and no marker; crossing a line, a leader and distance have a price each. */
#include "base/array.h"
#include "render/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROUNDS = 3, N_DIRECTIONS = 24, COVERS_MARKER = 400, LIES_ON_ROOF = 200 };

static const double pad = 1.5; /* least distance between texts, canvas units of pictures */

struct place {
    bool found;
    double cost;
    struct obb box;
    bool has_leader;
    struct segment leader;
};

struct label {
    const struct plotted *plotted;
    char text[RL_TEXT_LEN];
    struct rl_extent size;
    struct place place;
};

static void take(struct builder *b, const struct obb *box)
{
    struct obb *kept = rl_array_append(&b->taken, &b->n_taken, sizeof *kept);
    if (kept)
        *kept = *box;
    else
        b->out_of_memory = true;
}

static struct obb padded(const struct builder *b, const struct obb *box)
{
    struct obb p = *box;
    p.half_w += b->canvas->cells ? 0.45 : 2 * pad;
    p.half_h += b->canvas->cells ? -0.05 : 1.3 * pad;
    return p;
}

static bool hits(const struct obb *box, const struct obb *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rl_obb_overlap(box, &others[i]))
            return true;
    }
    return false;
}

/* ---- labels along roofs ---- */

static void roof_text(const struct builder *b, const struct roof *roof, char *dst, size_t n)
{
    /* On a grid of characters text cannot follow a diagonal; there the legend holds the value. */
    bool bare = b->canvas->cells && roof->diagonal;
    char text[RL_TEXT_LEN];
    snprintf(text, sizeof text, "%s%s%s", roof->name, bare ? "" : " ", bare ? "" : roof->value);
    rl_text_clean(dst, n, text, b->canvas->unicode);
    if (bare)
        dst[strcspn(dst, " ")] = 0;
}

static double roof_cost(const struct builder *b, const struct roof *roof, const struct obb *box)
{
    struct obb wide = padded(b, box);
    if (!rl_obb_in_frame(box, &b->f, b->canvas->cells ? 0 : pad) ||
        hits(&wide, b->taken, b->n_taken))
        return INFINITY;
    double cost = 0;
    for (size_t i = 0; i < b->n_marker; i++)
        cost += rl_obb_overlap(&wide, &b->marker[i]) ? COVERS_MARKER : 0;
    for (unsigned i = 0; i < b->n_roof; i++) {
        const struct roof *other = &b->roof[i];
        bool is_parallel = other->diagonal == (box->angle != 0); /* struck through, not crossed */
        if (other != roof && other->drawn && rl_obb_crosses(&wide, &other->line))
            cost += is_parallel ? LIES_ON_ROOF : 60;
    }
    for (size_t i = 0; i < b->n_segment; i++)
        cost += rl_obb_crosses(&wide, &b->segment[i]) ? 25 : 0;
    if (b->ridge_ai > 0 && !b->canvas->cells && rl_obb_crosses(&wide, &b->ridge))
        cost += 15;
    return cost;
}

static struct obb roof_box(const struct builder *b, const struct roof *roof, double t, int side,
                           const struct rl_extent *e)
{
    const struct segment *s = &roof->line;
    struct obb box = {s->x0 + t * (s->x1 - s->x0), s->y0 + t * (s->y1 - s->y0), e->width / 2,
                      e->height / 2, 0};
    if (b->canvas->cells) {
        box.x = floor(box.x - e->width / 2) + e->width / 2;
        box.y = fmin(floor(box.y), b->f.bottom - 1) + 0.5;
        return box;
    }
    box.angle = atan2(s->y1 - s->y0, s->x1 - s->x0);
    double away = side * (e->height / 2 + 2.5);
    box.x += away * sin(box.angle);
    box.y -= away * cos(box.angle);
    return box;
}

/* Shortest way from the middle of a box to a line, from the box's edge on. */
static struct segment tie(const struct obb *box, const struct segment *line)
{
    double dx = line->x1 - line->x0;
    double dy = line->y1 - line->y0;
    double length2 = dx * dx + dy * dy;
    double t = length2 > 0 ? ((box->x - line->x0) * dx + (box->y - line->y0) * dy) / length2 : 0;
    t = fmin(fmax(t, 0.05), 0.85); /* at the ridge it would be anybody's */
    double x = line->x0 + t * dx;
    double y = line->y0 + t * dy;
    double edge_x = fmin(fmax(x, box->x - box->half_w), box->x + box->half_w);
    double edge_y = fmin(fmax(y, box->y - box->half_h), box->y + box->half_h);
    return (struct segment){edge_x, edge_y, x, y, 12};
}

/* Where points crowd around the line, its text stands aside, level and tied to it. */
static double find_aside(const struct builder *b, struct roof *roof, const struct rl_extent *e,
                         double best)
{
    enum { STEPS = 60 };
    const struct frame *f = &b->f;
    for (int i = 0; i <= STEPS; i++) {
        for (int j = 0; j <= STEPS; j++) {
            struct obb box = {f->left + (f->right - f->left) * i / STEPS,
                              f->top + (f->bottom - f->top) * j / STEPS, e->width / 2,
                              e->height / 2, 0};
            struct segment leader = tie(&box, &roof->line);
            double length = hypot(leader.x1 - leader.x0, leader.y1 - leader.y0);
            double cost = 60 + length;
            if (cost >= best || length < 6 || rl_obb_crosses(&box, &roof->line))
                continue;
            cost += roof_cost(b, roof, &box);
            for (size_t k = 0; k < b->n_marker && cost < best; k++)
                cost += rl_obb_crosses(&b->marker[k], &leader) ? 200 : 0;
            for (size_t k = 0; k < b->n_taken && cost < best; k++)
                cost += rl_obb_crosses(&b->taken[k], &leader) ? 200 : 0;
            if (cost < best) {
                best = cost;
                roof->label = box;
                roof->leader = leader;
                roof->has_leader = true;
            }
        }
    }
    return best;
}

static bool find_roof_place(const struct builder *b, struct roof *roof, const struct rl_extent *e)
{
    enum { STEPS = 96 };
    double length = hypot(roof->line.x1 - roof->line.x0, roof->line.y1 - roof->line.y0);
    double favourite = roof->diagonal ? 0.05 : 1;
    double best = INFINITY;
    for (int i = 0; i <= STEPS; i++) {
        for (int side = 1; side >= (b->canvas->cells ? 1 : -1); side -= 2) {
            double t = (double)i / STEPS;
            struct obb box = roof_box(b, roof, t, side, e);
            bool may_stick_out = !roof->diagonal || b->canvas->cells;
            double beyond = may_stick_out ? 0 : fmax(t * length + e->width / 2 - length, 0);
            double cost = roof_cost(b, roof, &box) + (side < 0 ? 14 : 0) + 3 * beyond +
                          fabs(t - favourite) * length * (b->canvas->cells ? 1 : 0.08);
            if (cost < best) {
                best = cost;
                roof->label = box;
            }
        }
    }
    if (best >= LIES_ON_ROOF && !b->canvas->cells)
        best = find_aside(b, roof, e, best);
    return isfinite(best);
}

static void note_overflow(struct builder *b, const char *text)
{
    size_t used = strlen(b->overflow);
    snprintf(b->overflow + used, sizeof b->overflow - used, "%s%s", used ? ", " : "", text);
}

static void remember_leader(struct builder *b, const struct segment *leader)
{
    struct segment *kept = rl_array_append(&b->segment, &b->n_segment, sizeof *kept);
    if (kept)
        *kept = *leader;
    else
        b->out_of_memory = true;
}

void rl_scene_label_roofs(struct builder *b)
{
    for (int pass = 0; pass < 3; pass++) {
        for (unsigned i = 0; i < b->n_roof; i++) {
            struct roof *roof = &b->roof[i];
            int turn = roof->peak ? 0 : roof->diagonal ? 1 : 2;
            if (turn != pass || (!roof->drawn && turn == 2))
                continue;
            char text[RL_TEXT_LEN];
            roof_text(b, roof, text, sizeof text);
            struct rl_extent e = rl_scene_measure(b, RL_FONT_TICK, text);
            roof->labelled = roof->drawn && find_roof_place(b, roof, &e);
            if (roof->labelled)
                take(b, &roof->label);
            if (roof->has_leader)
                remember_leader(b, &roof->leader);
            if (roof->labelled)
                continue;
            if (turn == 2)
                roof->drawn = false; /* a nameless extra ceiling would only puzzle */
            else if (!(b->canvas->cells && roof->diagonal))
                note_overflow(b, text);
        }
    }
}

static void set_text(struct builder *b, enum rl_role role, enum rl_font font, const char *text,
                     const struct obb *box)
{
    struct setting s = {role, font, RL_INK_TEXT, box->x, box->y, 0.5, 0.5, box->angle, 0};
    rl_scene_text(b, &s, text);
}

/* At the foot of its line, on the right if there is room, else on the left, or nowhere. */
static void draw_ridge_label(struct builder *b)
{
    char number[32], text[64];
    if (b->ridge_ai <= 0 || b->canvas->cells)
        return;
    rl_text_number(number, sizeof number, b->ridge_ai);
    snprintf(text, sizeof text, "ridge %s FLOP/byte", number);
    struct rl_extent e = rl_scene_measure(b, RL_FONT_CAPTION, text);
    const double away = e.width / 2 + 4;
    for (int side = 1; side >= -1; side -= 2) {
        struct obb box = {b->ridge.x0 + side * away, b->f.bottom - e.height / 2 - 3, e.width / 2,
                          e.height / 2, 0};
        struct obb wide = padded(b, &box);
        if (!rl_obb_in_frame(&box, &b->f, pad) || hits(&wide, b->taken, b->n_taken) ||
            hits(&wide, b->marker, b->n_marker))
            continue;
        take(b, &box);
        struct setting s = {
            RL_ROLE_RIDGE, RL_FONT_CAPTION, RL_INK_MUTED, box.x, box.y, .5, .5, 0, 0};
        rl_scene_text(b, &s, text);
        return;
    }
}

void rl_scene_draw_roof_labels(struct builder *b)
{
    for (unsigned i = 0; i < b->n_roof; i++) {
        char text[RL_TEXT_LEN];
        roof_text(b, &b->roof[i], text, sizeof text);
        if (b->roof[i].has_leader)
            rl_scene_line(b, RL_ROLE_LEADER, RL_INK_MUTED, &b->roof[i].leader, 0.8, RL_DASH_SOLID);
        if (b->roof[i].labelled)
            set_text(b, RL_ROLE_ROOF, RL_FONT_TICK, text, &b->roof[i].label);
    }
    draw_ridge_label(b);
}

/* ---- labels of points ---- */

static double clamp(double v, double lo, double hi)
{
    return fmin(fmax(v, lo), hi);
}

/* From the marker's edge to the nearest point of the label. */
static struct segment leader_to(const struct obb *box, const struct spot *spot)
{
    double x = clamp(spot->x, box->x - box->half_w, box->x + box->half_w);
    double y = clamp(spot->y, box->y - box->half_h, box->y + box->half_h);
    double length = hypot(x - spot->x, y - spot->y);
    double start = length > 0 ? fmin(1, spot->size / 2 / length) : 1;
    return (struct segment){spot->x + start * (x - spot->x), spot->y + start * (y - spot->y), x, y,
                            0};
}

static double line_cost(const struct builder *b, const struct obb *box)
{
    double cost = 0;
    for (unsigned i = 0; i < b->n_roof; i++) {
        if (b->roof[i].drawn && rl_obb_crosses(box, &b->roof[i].line))
            cost += b->roof[i].line.cost;
    }
    for (size_t i = 0; i < b->n_segment; i++)
        cost += rl_obb_crosses(box, &b->segment[i]) ? b->segment[i].cost : 0;
    /* In a cell a letter replaces the line instead of lying on it. */
    return b->canvas->cells ? cost / 4 : cost;
}

/* Price of a leader: what it runs over. */
static double leader_cost(const struct builder *b, const struct label *labels, size_t n,
                          const struct label *self, const struct segment *leader)
{
    double cost = 4;
    struct obb along = {(leader->x0 + leader->x1) / 2, (leader->y0 + leader->y1) / 2,
                        hypot(leader->x1 - leader->x0, leader->y1 - leader->y0) / 2, 0.1,
                        atan2(leader->y1 - leader->y0, leader->x1 - leader->x0)};
    cost += line_cost(b, &along) / 2;
    for (size_t i = 0; i < b->n_taken; i++)
        cost += rl_obb_crosses(&b->taken[i], leader) ? 120 : 0;
    for (size_t i = 0; i < b->n_marker; i++) {
        bool own =
            i >= self->plotted->first_spot && i < self->plotted->first_spot + self->plotted->n_spot;
        bool start = i == self->plotted->key;
        cost += !start && rl_obb_crosses(&b->marker[i], leader) ? (own ? 8 : 18) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct place *other = &labels[i].place;
        if (&labels[i] != self && other->found && rl_obb_crosses(&other->box, leader))
            cost += 120;
    }
    return cost;
}

/* Price of a place, or infinity; gives up early above `limit`. */
static double place_cost(const struct builder *b, const struct label *labels, size_t n,
                         const struct label *self, const struct place *p, double limit)
{
    struct obb wide = padded(b, &p->box);
    double cost = p->cost;
    if (cost >= limit || !rl_obb_in_frame(&p->box, &b->f, b->canvas->cells ? 0 : pad))
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        const struct place *other = &labels[i].place;
        if (&labels[i] == self || !other->found)
            continue;
        if (rl_obb_overlap(&wide, &other->box))
            return INFINITY;
        cost += other->has_leader && rl_obb_crosses(&wide, &other->leader) ? 90 : 0;
    }
    if (hits(&wide, b->taken, b->n_taken) || hits(&p->box, b->marker, b->n_marker))
        return INFINITY;
    cost += line_cost(b, &wide);
    if (cost < limit && p->has_leader)
        cost += leader_cost(b, labels, n, self, &p->leader);
    return cost;
}

static void try_place(const struct builder *b, const struct label *labels, size_t n,
                      struct label *self, struct place *best, struct place p)
{
    if (b->canvas->cells) {
        double left = round(p.box.x - p.box.half_w);
        p.box.x = left + p.box.half_w;
        p.box.y = floor(p.box.y) + 0.5;
    }
    double cost = place_cost(b, labels, n, self, &p, best->found ? best->cost : INFINITY);
    if (cost < (best->found ? best->cost : INFINITY)) {
        *best = p;
        best->found = true;
        best->cost = cost;
    }
}

/* Touching one of the kernel's markers: right, left, above, below, then the corners. */
static void try_beside(const struct builder *b, const struct label *labels, size_t n,
                       struct label *self, struct place *best)
{
    static const struct {
        int dx, dy;
        double cost;
    } sides[] = {{1, 0, 0},  {-1, 0, 3}, {0, -1, 2},  {0, 1, 4},
                 {1, -1, 3}, {1, 1, 4},  {-1, -1, 4}, {-1, 1, 5}};
    double hw = self->size.width / 2;
    double hh = self->size.height / 2;
    for (size_t j = 0; j < self->plotted->n_spot; j++) {
        const struct spot *spot = &b->spot[self->plotted->first_spot + j];
        double reach = spot->size / 2;
        double gap_x = reach + (b->canvas->cells ? 1 : 4);
        double gap_y = reach + (b->canvas->cells ? 0 : 1.5);
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            bool corner = sides[i].dx && sides[i].dy;
            struct place p = {.cost = sides[i].cost + (spot->key ? 0 : 8)};
            if (b->canvas->cells && sides[i].dy)
                p.cost += 7; /* the next row is half a decade away */
            p.box = (struct obb){spot->x + sides[i].dx * (corner ? reach * 0.6 + hw : gap_x + hw),
                                 spot->y + sides[i].dy * (corner ? reach * 0.6 + hh : gap_y + hh),
                                 hw, hh, 0};
            try_place(b, labels, n, self, best, p);
        }
    }
}

/* Further away, tied to the kernel's main marker by a leader. */
static void try_around(const struct builder *b, const struct label *labels, size_t n,
                       struct label *self, struct place *best)
{
    const struct spot *spot = &b->spot[self->plotted->key];
    double step = b->canvas->cells ? 1 : self->size.height;
    double stretch = b->canvas->cells ? 2.2 : 1;
    unsigned rings = b->canvas->cells ? 6 : 18;
    for (unsigned ring = 1; ring <= rings; ring++) {
        double base = 10 + (b->canvas->cells ? 6.0 : 3.5) * ring;
        if (best->found && best->cost < base)
            return;
        double radius = spot->size / 2 + ring * step;
        for (int i = 0; i < N_DIRECTIONS; i++) {
            double angle = 2 * M_PI * i / N_DIRECTIONS;
            double c = cos(angle);
            double s = sin(angle);
            struct place p = {.cost = base, .has_leader = true};
            p.box = (struct obb){spot->x + c * radius * stretch + c * self->size.width / 2,
                                 spot->y + s * radius + s * self->size.height / 2,
                                 self->size.width / 2, self->size.height / 2, 0};
            p.leader = leader_to(&p.box, spot);
            try_place(b, labels, n, self, best, p);
        }
    }
}

static void find_place(const struct builder *b, const struct label *labels, size_t n,
                       struct label *self)
{
    struct place best = {0};
    try_beside(b, labels, n, self, &best);
    try_around(b, labels, n, self, &best);
    self->place = best;
}

static void label_text(const struct builder *b, struct label *l)
{
    if (b->numbered) {
        snprintf(l->text, sizeof l->text, "%u", l->plotted->number);
    } else {
        char share[32] = "";
        if (l->plotted->row->place.attained > 0)
            rl_text_percent(share, sizeof share, l->plotted->row->place.attained);
        rl_row_name(b->report, l->plotted->row, 0, l->text, b->canvas->unicode);
        rl_scene_fit(b, RL_FONT_LABEL, l->text, b->m.label_max);
        size_t used = strlen(l->text);
        snprintf(l->text + used, sizeof l->text - used, "%s%s", *share ? " " : "", share);
    }
    l->size = rl_scene_measure(b, b->numbered ? RL_FONT_TICK : RL_FONT_LABEL, l->text);
}

static double distance(const struct obb *box, const struct spot *spot)
{
    double x = clamp(spot->x, box->x - box->half_w, box->x + box->half_w);
    double y = clamp(spot->y, box->y - box->half_h, box->y + box->half_h);
    return hypot(x - spot->x, y - spot->y);
}

/* A leader that is shorter than the text is high is a stub: it is left out where the marker nearest
 * to the text is one of its own. */
static bool needs_leader(const struct builder *b, const struct label *l)
{
    const struct segment *leader = &l->place.leader;
    size_t nearest = 0;
    for (size_t i = 1; i < b->n_marker; i++)
        if (distance(&l->place.box, &b->spot[i]) < distance(&l->place.box, &b->spot[nearest]))
            nearest = i;
    bool is_own =
        nearest >= l->plotted->first_spot && nearest < l->plotted->first_spot + l->plotted->n_spot;
    return !is_own || hypot(leader->x1 - leader->x0, leader->y1 - leader->y0) >= l->size.height;
}

static void draw_label(struct builder *b, const struct label *l)
{
    if (l->place.has_leader && needs_leader(b, l))
        rl_scene_line(b, RL_ROLE_LEADER, RL_INK_MUTED, &l->place.leader, 0.8, RL_DASH_SOLID);
    set_text(b, RL_ROLE_LABEL, b->numbered ? RL_FONT_TICK : RL_FONT_LABEL, l->text, &l->place.box);
}

void rl_scene_label_points(struct builder *b)
{
    size_t n = b->n_labelled;
    struct label *labels = calloc(n ? n : 1, sizeof *labels);
    if (!labels) {
        b->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        labels[i].plotted = &b->plotted[i];
        label_text(b, &labels[i]);
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        for (size_t i = 0; i < n; i++)
            find_place(b, labels, n, &labels[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (labels[i].place.found)
            draw_label(b, &labels[i]);
        else
            b->scene->n_unlabelled++;
    }
    free(labels);
}
