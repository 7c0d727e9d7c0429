/* Which ceilings become lines, and where the lines run. */
#include "base/unit.h"
#include "render/roofs.h"
#include "render/scene_internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum rl_ink ink;
    enum rl_shape shape;
    enum rl_dash dash;
} level_looks[] = {
    {"L1", RL_INK_L1, RL_SHAPE_CIRCLE, RL_DASH_DASH_DOT},
    {"L2", RL_INK_L2, RL_SHAPE_SQUARE, RL_DASH_LONG},
    {"L3", RL_INK_L3, RL_SHAPE_TRIANGLE, RL_DASH_SHORT},
    {"L4", RL_INK_L4, RL_SHAPE_TRIANGLE_DOWN, RL_DASH_DOT},
    {"DRAM", RL_INK_DRAM, RL_SHAPE_DIAMOND, RL_DASH_SOLID},
    {"HBM", RL_INK_HBM, RL_SHAPE_HEXAGON, RL_DASH_SOLID},
};

enum { N_LOOKS = sizeof level_looks / sizeof *level_looks };

static unsigned look_of(const char *level)
{
    unsigned i = 0;
    while (i < N_LOOKS && strcmp(level_looks[i].name, level) != 0)
        i++;
    return i;
}

unsigned rl_scene_level(struct builder *b, const char *name)
{
    for (unsigned i = 0; i < b->n_level; i++) {
        if (strcmp(b->level[i].name, name) == 0)
            return i;
    }
    if (b->n_level == MAX_LEVELS)
        return UINT_MAX;
    unsigned look = look_of(name);
    b->level[b->n_level] = (struct level){
        .name = name,
        .ink = look < N_LOOKS ? level_looks[look].ink : RL_INK_OTHER,
        .shape = look < N_LOOKS ? level_looks[look].shape : RL_SHAPE_STAR,
    };
    return b->n_level++;
}

double rl_scene_top_peak(const struct builder *b)
{
    double top = 0;
    for (unsigned i = 0; i < b->n_roof; i++) {
        if (b->roof[i].peak && b->roof[i].rate > top)
            top = b->roof[i].rate;
    }
    return top;
}

static void describe(struct roof *roof, const struct shown_roof *shown, const char *unit)
{
    char quantity[32];
    rl_format_si(quantity, sizeof quantity, shown->rate.value, unit);
    enum rl_source source = shown->rate.source;
    const char *origin = source == RL_SOURCE_MEASURED ? "" : rl_source_name(source);
    snprintf(roof->value, sizeof roof->value, "%s%s%s%s%s", shown->contended ? "≥ " : "", quantity,
             *origin ? " " : "", origin, shown->scaled ? " (scaled)" : "");
}

static struct roof *add_roof(struct builder *b, double rate)
{
    if (b->n_roof == MAX_ROOFS || !isfinite(rate) || rate <= 0)
        return NULL;
    struct roof *roof = &b->roof[b->n_roof++];
    *roof = (struct roof){.rate = rate, .ink = RL_INK_ROOF};
    return roof;
}

static void add_level_roof(struct builder *b, const char *name)
{
    double scale = 1;
    const struct rl_memory_ceiling *m =
        rl_bandwidth(b->report->machine, name, NULL, b->threads, &scale);
    if (!m || !rl_known(m->rate))
        return;
    unsigned level = rl_scene_level(b, name);
    struct shown_roof shown = rl_roofs_show_memory(m, scale);
    struct roof *roof = add_roof(b, shown.rate.value);
    if (!roof)
        return;
    unsigned look = look_of(name);
    roof->diagonal = true;
    roof->ink = level < MAX_LEVELS ? b->level[level].ink : RL_INK_OTHER;
    roof->dash = look < N_LOOKS ? level_looks[look].dash : RL_DASH_DOT;
    bool plain = strcmp(m->pattern, "load") == 0 || !*m->pattern;
    snprintf(roof->name, sizeof roof->name, "%s%s%s", name, plain ? "" : " ",
             plain ? "" : m->pattern);
    describe(roof, &shown, "B/s");
}

/* Levels nearest the core first, so that legends and lines come in the same order. */
static void pick_levels(struct builder *b)
{
    const struct rl_machine *machine = b->report->machine;
    const char *done = "";
    for (int rank = 0;;) {
        const char *next = NULL;
        int next_rank = 0;
        for (size_t i = 0; i < machine->n_memory; i++) {
            const char *name = machine->memory[i].level;
            int r = rl_level_rank(name);
            bool later = r > rank || (r == rank && strcmp(name, done) > 0);
            if (later && (!next || r < next_rank || (r == next_rank && strcmp(name, next) < 0))) {
                next = name;
                next_rank = r;
            }
        }
        if (!next || b->n_level == MAX_LEVELS)
            return;
        rank = next_rank;
        done = next;
        add_level_roof(b, next);
    }
}

static void add_compute(struct builder *b, const struct rl_compute_ceiling *c, double scale,
                        bool peak)
{
    struct shown_roof shown = rl_roofs_show_compute(c, scale);
    struct roof *roof = add_roof(b, shown.rate.value);
    if (!roof)
        return;
    roof->peak = peak;
    roof->dash = peak ? RL_DASH_SOLID : RL_DASH_DOT;
    snprintf(roof->name, sizeof roof->name, "%s %s %s", rl_precision_name(c->precision), c->op,
             c->isa);
    describe(roof, &shown, *c->unit ? c->unit : "FLOP/s");
}

/* A further ceiling, unless a line as high is there already. */
static void add_further(struct builder *b, enum rl_precision precision, const char *op,
                        const char *isa)
{
    double scale = 1;
    const struct rl_compute_ceiling *c =
        rl_peak(b->report->machine, precision, op, isa, b->threads, &scale);
    bool have = false;
    for (unsigned i = 0; c && i < b->n_roof; i++)
        have |= !b->roof[i].diagonal && fabs(log(c->rate.value * scale / b->roof[i].rate)) < 0.05;
    if (c && !have)
        add_compute(b, c, scale, false);
}

static bool uses(const struct builder *b, enum rl_precision precision)
{
    for (size_t i = 0; i < b->report->n_row; i++) {
        struct rl_value flop = rl_kernel_flop_of(b->report->row[i].kernel, precision);
        if (rl_known(flop) && flop.value > 0)
            return true;
    }
    return false;
}

/* Slow single operations bound a kernel long before the peak does: drawn where one uses them. */
static void pick_slow_ops(struct builder *b)
{
    unsigned room = 3;
    for (size_t i = 0; i < b->report->n_row && room; i++) {
        const struct rl_kernel *k = b->report->row[i].kernel;
        for (size_t j = 0; j < k->n_ops && room; j++) {
            const struct rl_op_count *o = &k->ops[j];
            bool slow = o->op == RL_OP_DIV || o->op == RL_OP_SQRT || o->op == RL_OP_SPECIAL;
            if (!slow || !rl_known(o->count) || o->count.value <= 0)
                continue;
            const char *op = o->op == RL_OP_SPECIAL ? o->func : rl_op_class_name(o->op);
            unsigned before = b->n_roof;
            if (*op)
                add_further(b, o->precision, op, NULL);
            room -= b->n_roof - before;
        }
    }
}

static void pick_peaks(struct builder *b)
{
    enum rl_precision main_precision = RL_PRECISION_COUNT;
    for (int pass = 0; pass < 3 && main_precision == RL_PRECISION_COUNT; pass++) {
        for (int p = 0; p < RL_INT8; p++) {
            enum rl_precision precision = (enum rl_precision)p;
            /* What the kernels use; else the two everybody knows; else whatever there is, as for
             * a machine alone. */
            bool wanted = pass == 0 ? uses(b, precision)
                          : pass == 1
                              ? b->report->profile && (precision == RL_FP64 || precision == RL_FP32)
                              : true;
            double scale = 1;
            const struct rl_compute_ceiling *c =
                wanted ? rl_roofs_peak(b->report->machine, precision, b->threads, &scale) : NULL;
            if (!c)
                continue;
            add_compute(b, c, scale, true);
            if (main_precision == RL_PRECISION_COUNT)
                main_precision = precision;
        }
    }
    if (main_precision == RL_PRECISION_COUNT || b->compact)
        return;
    add_further(b, main_precision, "fma+add", NULL);
    add_further(b, main_precision, "add", NULL);
    add_further(b, main_precision, "fma", "scalar");
    pick_slow_ops(b);
}

void rl_scene_pick_roofs(struct builder *b)
{
    pick_levels(b);
    pick_peaks(b);
}

static void place_line(struct builder *b, struct roof *roof)
{
    const struct frame *f = &b->f;
    double top = rl_scene_top_peak(b);
    double fastest = 0;
    for (unsigned i = 0; i < b->n_roof; i++) {
        const struct roof *r = &b->roof[i];
        if (r->diagonal && r->rate > fastest)
            fastest = r->rate;
        /* Diagonals meet every mix of operations that beats the peak, as fma+add may. */
        if (!r->diagonal && top > 0 && r->rate > top && strstr(r->value, "FLOP/s"))
            top = r->rate;
    }
    struct segment s = {0};
    if (roof->diagonal) {
        double ridge = top > 0 ? log10(top) - log10(roof->rate) : f->x1;
        double rate = log10(roof->rate);
        double width = (f->right - f->left) / (f->x1 - f->x0);
        double height = (f->bottom - f->top) / (f->y1 - f->y0);
        s.x0 = f->left;
        s.y0 = f->bottom - (rate + f->x0 - f->y0) * height;
        s.x1 = f->left + (ridge - f->x0) * width;
        s.y1 = f->bottom - (rate + ridge - f->y0) * height;
    } else {
        s.y0 = s.y1 = rl_frame_y(f, roof->rate);
        s.x0 = fastest > 0 ? rl_frame_x(f, roof->rate / fastest) : f->left;
        s.x1 = f->right;
    }
    s.cost = roof->peak || roof->diagonal ? 30 : 18;
    roof->line = s;
    roof->drawn = rl_segment_clip(&roof->line, f);
}

void rl_scene_place_roofs(struct builder *b)
{
    for (unsigned i = 0; i < b->n_roof; i++)
        place_line(b, &b->roof[i]);
    double top = rl_scene_top_peak(b);
    double slowest = 0;
    for (unsigned i = 0; i < b->n_roof; i++) {
        if (b->roof[i].diagonal && (slowest == 0 || b->roof[i].rate < slowest))
            slowest = b->roof[i].rate;
    }
    if (top > 0 && slowest > 0) {
        double x = rl_frame_x(&b->f, top / slowest);
        b->ridge = (struct segment){x, rl_frame_y(&b->f, top), x, b->f.bottom, 6};
        b->ridge_ai = top / slowest;
    }
}

void rl_scene_draw_roofs(struct builder *b)
{
    if (b->ridge_ai > 0 && !b->canvas->cells)
        rl_scene_line(b, RL_ROLE_RIDGE, RL_INK_MUTED, &b->ridge, 0.8, RL_DASH_DOT);
    for (unsigned i = 0; i < b->n_roof; i++) {
        const struct roof *roof = &b->roof[i];
        bool strong = roof->peak || roof->diagonal;
        if (roof->drawn)
            rl_scene_line(b, RL_ROLE_ROOF, roof->ink, &roof->line, strong ? 2.0 : 1.2, roof->dash);
    }
}
