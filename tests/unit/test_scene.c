/* The picture's promises, for reports of every size and shape and for canvases of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/picture.h"
#include "render/scene.h"
#include "render/text.h"
#include "report_fixture.h"

struct shape {
    double width, height;
    bool cells, unicode;
};

static const struct shape shapes[] = {
    {960, 640, false, true}, {320, 240, false, true}, {2000, 700, false, true},
    {80, 24, true, true},    {120, 40, true, true},   {40, 12, true, false},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static struct rl_extent cell_size(void *ctx, enum rl_font font, const char *text)
{
    (void)ctx;
    (void)font;
    return (struct rl_extent){rl_text_columns(text), 1, 1};
}

static enum rl_status build(const struct rl_report *report, const struct shape *shape,
                            struct rl_scene *scene, struct rl_error *err)
{
    struct typesetter *typesetter = shape->cells ? NULL : rl_typesetter_new();
    struct rl_canvas canvas = {
        .width = shape->width,
        .height = shape->height,
        .cells = shape->cells,
        .unicode = shape->unicode,
        .text_size = shape->cells ? cell_size : rl_typesetter_size,
        .ctx = typesetter,
    };
    enum rl_status status = rl_scene_build(report, &canvas, "roofline 0.1.0", scene, err);
    rl_typesetter_free(typesetter);
    return status;
}

/* ---- checks, written apart from the geometry of the layout ---- */

struct quad {
    double x[4], y[4];
};

static struct quad corners(const struct rl_item *t)
{
    struct quad q;
    for (int i = 0; i < 4; i++) {
        double along = (i == 0 || i == 3 ? -0.5 : 0.5) * t->width;
        double across = (i < 2 ? -0.5 : 0.5) * t->height;
        q.x[i] = t->x + along * cos(t->angle) - across * sin(t->angle);
        q.y[i] = t->y + along * sin(t->angle) + across * cos(t->angle);
    }
    return q;
}

static bool is_apart(const struct quad *a, const struct quad *b, double ux, double uy)
{
    double a_lo = INFINITY, a_hi = -INFINITY, b_lo = INFINITY, b_hi = -INFINITY;
    for (int i = 0; i < 4; i++) {
        double pa = a->x[i] * ux + a->y[i] * uy;
        double pb = b->x[i] * ux + b->y[i] * uy;
        a_lo = fmin(a_lo, pa);
        a_hi = fmax(a_hi, pa);
        b_lo = fmin(b_lo, pb);
        b_hi = fmax(b_hi, pb);
    }
    return a_hi <= b_lo + 1e-6 || b_hi <= a_lo + 1e-6;
}

static bool overlap(const struct quad *a, const struct quad *b)
{
    const struct quad *q[2] = {a, b};
    for (int i = 0; i < 4; i++) {
        const struct quad *s = q[i / 2];
        int j = i % 2;
        if (is_apart(a, b, s->x[j + 1] - s->x[j], s->y[j + 1] - s->y[j]))
            return false;
    }
    return true;
}

static void check_texts(const struct rl_scene *scene)
{
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *t = &scene->item[i];
        if (t->kind != RL_ITEM_TEXT)
            continue;
        struct quad a = corners(t);
        for (int c = 0; c < 4; c++) {
            if (a.x[c] < -0.01 || a.y[c] < -0.01 || a.x[c] > scene->width + 0.01 ||
                a.y[c] > scene->height + 0.01)
                fail_msg("'%s' leaves the canvas at %g, %g", t->text, a.x[c], a.y[c]);
        }
        for (size_t j = 0; j < i; j++) {
            const struct rl_item *other = &scene->item[j];
            if (other->kind != RL_ITEM_TEXT)
                continue;
            struct quad b = corners(other);
            if (overlap(&a, &b))
                fail_msg("'%s' (%s) overlaps '%s' (%s)", t->text, rl_role_name(t->role),
                         other->text, rl_role_name(other->role));
        }
    }
}

static size_t count(const struct rl_scene *scene, enum rl_item_kind kind, enum rl_role role)
{
    size_t n = 0;
    for (size_t i = 0; i < scene->n_item; i++)
        n += scene->item[i].kind == kind && scene->item[i].role == role;
    return n;
}

static bool in_frame(const struct rl_scene *s, double x, double y)
{
    double e = 1e-6;
    return x >= s->left - e && x <= s->right + e && y >= s->top - e && y <= s->bottom + e;
}

static void check_points(const struct rl_scene *scene)
{
    size_t keys = 0;
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *m = &scene->item[i];
        if (m->kind != RL_ITEM_MARKER || m->role != RL_ROLE_POINT)
            continue;
        assert_true(in_frame(scene, m->x, m->y));
        keys += m->filled;
    }
    assert_int_equal(keys, scene->n_plotted);
}

/* Every roof line runs from border to border, or to another roof: none ends in mid-air. */
static void check_roofs(const struct rl_scene *scene)
{
    double e = 1e-6;
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *l = &scene->item[i];
        if (l->kind != RL_ITEM_LINE || l->role != RL_ROLE_ROOF)
            continue;
        assert_true(in_frame(scene, l->x, l->y) && in_frame(scene, l->x1, l->y1));
        if (l->y != l->y1)
            assert_true(l->x <= scene->left + e || l->y >= scene->bottom - e);
        else
            assert_true(l->x1 >= scene->right - e);
    }
}

/* Where the machine has both kinds of roof, each diagonal ends in a level line, in sight of both of
 * its sides: the ridge. */
static void check_ridges(const struct rl_scene *scene)
{
    double top = INFINITY;
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *l = &scene->item[i];
        if (l->kind == RL_ITEM_LINE && l->role == RL_ROLE_ROOF && l->y == l->y1)
            top = fmin(top, l->y);
    }
    for (size_t i = 0; i < scene->n_item && isfinite(top); i++) {
        const struct rl_item *l = &scene->item[i];
        if (l->kind != RL_ITEM_LINE || l->role != RL_ROLE_ROOF || l->y == l->y1)
            continue;
        assert_true(fabs(l->y1 - top) < 1e-6);
        assert_true(l->x1 > scene->left && l->x1 < scene->right);
    }
}

/* A text beside a line may be crossed by another one; on top of a point it may not lie. */
static void check_labels(const struct rl_scene *scene)
{
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *t = &scene->item[i];
        if (t->kind != RL_ITEM_TEXT || t->role != RL_ROLE_LABEL)
            continue;
        for (size_t j = 0; j < scene->n_item; j++) {
            const struct rl_item *m = &scene->item[j];
            if (m->kind == RL_ITEM_MARKER && m->role == RL_ROLE_POINT)
                assert_false(fabs(m->x - t->x) < t->width / 2 && fabs(m->y - t->y) < t->height / 2);
        }
    }
}

/* Names of level roofs beside their line, and through no other one. */
static void check_roof_names(const struct rl_scene *scene)
{
    for (size_t i = 0; i < scene->n_item; i++) {
        const struct rl_item *t = &scene->item[i];
        if (t->kind != RL_ITEM_TEXT || t->role != RL_ROLE_ROOF || t->angle != 0)
            continue;
        for (size_t j = 0; j < scene->n_item; j++) {
            const struct rl_item *l = &scene->item[j];
            if (l->kind == RL_ITEM_LINE && l->role == RL_ROLE_ROOF && l->y == l->y1 &&
                fabs(l->y - t->y) < t->height / 2 && l->x < t->x + t->width / 2 &&
                l->x1 > t->x - t->width / 2)
                fail_msg("'%s' lies on a line", t->text);
        }
    }
}

static void check_all_shapes(const struct fixture *f)
{
    for (int i = 0; i < N_SHAPES; i++) {
        struct rl_scene scene;
        struct rl_error err = {0};
        if (build(&f->report, &shapes[i], &scene, &err) != RL_OK)
            fail_msg("%g x %g: %s", shapes[i].width, shapes[i].height, err.text);
        check_texts(&scene);
        check_points(&scene);
        check_roofs(&scene);
        check_ridges(&scene);
        check_labels(&scene);
        assert_int_equal(scene.n_plotted + scene.n_unplotted + scene.n_other, f->report.n_row);
        rl_scene_release(&scene);
    }
}

/* ---- generated reports ---- */

struct dice {
    uint64_t state;
};

static double roll(struct dice *d)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(d->state >> 11) / 9007199254740992.0;
}

static void add_random(struct fixture *f, struct dice *d, size_t i)
{
    static const char *const names[] = {
        "a",        "stencil", "solver::kernel<double, 3>(int*, const&)",
        "核心计算", "ünïcödé", "x_very_long_name_of_a_region_in_a_code"};
    char name[96];
    snprintf(name, sizeof name, "%s_%zu", names[(size_t)(roll(d) * 6)], i);
    double ai = pow(10, -3 + 5 * roll(d));
    double rate = fmin(1e11, 4e10 * ai) * (0.05 + roll(d));
    double time_s = 10 * exp(-0.1 * (double)i) + 1e-3;
    double flop = rate * time_s;
    double dram = flop / ai;
    double bytes[4] = {dram * (1 + 20 * roll(d)), dram * (1 + 5 * roll(d)),
                       roll(d) < 0.5 ? 0 : dram, dram};
    fixture_kernel(f, name, roll(d) < 0.05 ? 0 : flop, bytes, time_s);
}

static void random_report(struct fixture *f, size_t n, uint64_t seed)
{
    struct dice d = {seed};
    *f = (struct fixture){0};
    fixture_machine(f);
    rl_string_set(&f->profile.name, "./app", NULL);
    for (size_t i = 0; i < n; i++)
        add_random(f, &d, i);
    fixture_place(f);
}

static void everyday_report_keeps_every_promise(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    check_all_shapes(&f);
    f.report.model = RL_CHART_CACHE_AWARE;
    check_all_shapes(&f);
    fixture_release(&f);
}

static void any_number_of_kernels_keeps_every_promise(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 5, 12, 13, 20, 24, 25, 200, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint64_t seed = 1; seed <= (sizes[i] > 200 ? 1 : 4); seed++) {
            struct fixture f;
            random_report(&f, sizes[i], seed);
            check_all_shapes(&f);
            fixture_release(&f);
        }
    }
}

static void coincident_points_are_all_drawn_and_labelled_once(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < 9; i++)
        fixture_kernel(&f, "same", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
    fixture_place(&f);
    check_all_shapes(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(scene.n_plotted, 9);
    assert_int_equal(count(&scene, RL_ITEM_TEXT, RL_ROLE_LABEL) + scene.n_unlabelled, 9);
    assert_int_equal(scene.n_unlabelled, 0);
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void extreme_values_stay_in_frame(void **state)
{
    (void)state;
    static const double values[][2] = {{1e-5, 1e3},  {5000, 9e10}, {1e-30, 1e-3},  {1e30, 1e30},
                                       {1e-5, 1e12}, {5000, 1e-3}, {1e-200, 1e200}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct fixture f = {0};
        fixture_machine(&f);
        double flop = values[i][1];
        double bytes = flop / values[i][0];
        fixture_kernel(&f, "extreme", flop, (double[]){0, 0, 0, bytes}, 1);
        fixture_kernel(&f, "usual", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
        fixture_place(&f);
        struct rl_scene scene;
        for (int s = 0; s < N_SHAPES; s++) {
            assert_int_equal(build(&f.report, &shapes[s], &scene, NULL), RL_OK);
            check_texts(&scene);
            check_points(&scene);
            check_ridges(&scene);
            rl_scene_release(&scene);
        }
        fixture_release(&f);
    }
}

/* Bytes that never reached memory put a kernel there. */
static void shares_far_above_the_roof_keep_off_the_rates_beside_them(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < 20; i++)
        fixture_kernel(&f, "kernel", 9e10, (double[]){0, 0, 0, 9e10}, pow(10, -0.5 * i));
    fixture_place(&f);
    check_all_shapes(&f);
    fixture_release(&f);
}

/* Where a point far to the left leaves little room on its right. */
static void the_ridge_is_named_on_the_side_that_has_room(void **state)
{
    (void)state;
    for (int power = -6; power <= 0; power++) {
        struct fixture f = {0};
        struct rl_scene scene;
        const struct rl_item *name = NULL;
        fixture_machine(&f);
        fixture_kernel(&f, "left", 1e6, (double[]){0, 0, 0, 1e6 / pow(10, power)}, 1);
        fixture_place(&f);
        assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
        for (size_t i = 0; i < scene.n_item; i++)
            if (scene.item[i].kind == RL_ITEM_TEXT && scene.item[i].role == RL_ROLE_RIDGE)
                name = &scene.item[i];
        if (!name)
            fail_msg("no name of the ridge beside a point at 1e%d", power);
        rl_scene_release(&scene);
        fixture_release(&f);
    }
}

static void one_roof_is_enough(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        for (int points = 0; points < 2; points++) {
            struct fixture f = {0};
            if (kind != 0)
                fixture_memory(&f, "DRAM", 40e9);
            if (kind != 1)
                fixture_compute(&f, RL_FP32, "fma", "avx2", 1e12, "FLOP/s", true);
            if (points)
                fixture_kernel(&f, "k", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
            fixture_place(&f);
            check_all_shapes(&f);
            fixture_release(&f);
        }
    }
}

static void many_close_roofs_keep_their_labels_apart(void **state)
{
    (void)state;
    static const char *const levels[] = {"L1", "L2", "L3", "L4", "DRAM", "HBM", "MCDRAM", "CXL"};
    struct fixture f = {0};
    for (int i = 0; i < 8; i++)
        fixture_memory(&f, levels[i], 100e9 * (1 + 0.02 * i));
    for (int p = 0; p < RL_INT8; p++)
        fixture_compute(&f, (enum rl_precision)p, "fma", "avx512", 1e12 * (1 + 0.01 * p), "FLOP/s",
                        false);
    fixture_place(&f);
    check_all_shapes(&f);
    fixture_release(&f);
}

/* Whatever lies between them, and whatever points crowd below. */
static void names_of_close_roofs_lie_on_no_other_roof(void **state)
{
    (void)state;
    for (int step = 0; step < 40; step++) {
        for (size_t n = 0; n <= 20; n += 20) {
            struct fixture f = {0};
            struct dice d = {(uint64_t)step + 1};
            double more = 1.02 + 0.025 * step;
            fixture_memory(&f, "L1", 554e9);
            fixture_memory(&f, "DRAM", 37e9);
            fixture_compute(&f, RL_FP64, "fma", "avx2", 98e9, "FLOP/s", true);
            fixture_compute(&f, RL_FP32, "fma", "avx2", 196e9, "FLOP/s", true);
            fixture_compute(&f, RL_FP64, "fma+add", "avx2", 98e9 * more, "FLOP/s", false);
            fixture_compute(&f, RL_FP64, "add", "avx2", 49e9, "FLOP/s", false);
            fixture_compute(&f, RL_FP64, "fma", "scalar", 24e9, "FLOP/s", false);
            for (size_t i = 0; i < n; i++)
                add_random(&f, &d, i);
            fixture_place(&f);
            for (int i = 0; i < N_SHAPES; i++) {
                struct rl_scene scene;
                assert_int_equal(build(&f.report, &shapes[i], &scene, NULL), RL_OK);
                if (!shapes[i].cells)
                    check_roof_names(&scene);
                rl_scene_release(&scene);
            }
            fixture_release(&f);
        }
    }
}

static void every_roof_label_carries_value_and_unit(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(count(&scene, RL_ITEM_TEXT, RL_ROLE_ROOF),
                     count(&scene, RL_ITEM_LINE, RL_ROLE_ROOF));
    for (size_t i = 0; i < scene.n_item; i++) {
        const struct rl_item *t = &scene.item[i];
        if (t->kind == RL_ITEM_TEXT && t->role == RL_ROLE_ROOF)
            assert_true(strstr(t->text, " GB/s") || strstr(t->text, " GFLOP/s") ||
                        strstr(t->text, " Gelem/s"));
    }
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void contended_and_specified_roofs_say_so(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_memory(&f, "DRAM", 40e9);
    fixture_compute(&f, RL_FP64, "fma", "avx2", 1e11, "FLOP/s", true);
    f.machine.memory[0].rate.source = RL_SOURCE_SPECIFIED;
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    bool at_least = false, specified = false;
    for (size_t i = 0; i < scene.n_item; i++) {
        const struct rl_item *t = &scene.item[i];
        if (t->kind != RL_ITEM_TEXT || t->role != RL_ROLE_ROOF)
            continue;
        at_least |= strstr(t->text, "≥ 100 GFLOP/s") != NULL;
        specified |= strstr(t->text, "40.0 GB/s specified") != NULL;
    }
    assert_true(at_least);
    assert_true(specified);
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void kernels_without_a_point_are_counted_below(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "copy", 0, (double[]){1e9, 1e9, 1e9, 1e9}, 1);
    fixture_kernel(&f, "mystery", -1, (double[]){0, 0, 0, 0}, 1);
    fixture_kernel(&f, "untimed", 1e9, (double[]){1e9, 1e9, 1e9, 1e9}, 0);
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(scene.n_unplotted, 3);
    bool zero = false, unknown = false;
    for (size_t i = 0; i < scene.n_item; i++) {
        const struct rl_item *t = &scene.item[i];
        if (t->kind != RL_ITEM_TEXT || t->role != RL_ROLE_CAPTION)
            continue;
        zero |= strstr(t->text, "1 kernel without FLOP") != NULL;
        unknown |= strstr(t->text, "2 kernels not drawn: FLOP, bytes or time unknown") != NULL;
    }
    assert_true(zero);
    assert_true(unknown);
    rl_scene_release(&scene);
    fixture_release(&f);
}

/* Twelve names have room; kernels that have no point take none of it. */
static void only_kernels_with_a_point_make_names_give_way_to_numbers(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < RL_SCENE_MAX_NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "copy%d", i);
        fixture_kernel(&f, name, 0, (double[]){1e9, 1e9, 1e9, 1e9}, 1);
    }
    fixture_kernel(&f, "triad", 1e9, (double[]){12e9, 12e9, 12e9, 12e9}, 1);
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(scene.n_plotted, 1);
    assert_false(scene.numbered);
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void a_loop_that_is_all_of_its_function_is_one_point_with_it(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    static const double bytes[] = {1e9, 1e9, 1e9, 1e9};
    fixture_kernel(&f, "sum", 1e9, bytes, 1)->kind = RL_KIND_FUNCTION;
    const char *name[] = {"sum:12", "sum:40", "max:7"};
    const char *function[] = {"sum", "sum", "max"}; /* the last has no function to stand with */
    const double time_s[] = {0.99, 0.5, 0.98};      /* the second is twice as fast: a point */
    for (int i = 0; i < 3; i++) {
        struct rl_kernel *loop = fixture_kernel(&f, name[i], 1e9, bytes, time_s[i]);
        loop->kind = RL_KIND_LOOP;
        rl_string_set(&loop->group, function[i], NULL);
    }
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(scene.n_plotted, 3);
    assert_int_equal(scene.n_unplotted, 1);
    bool said = false;
    for (size_t i = 0; i < scene.n_item; i++)
        said |= scene.item[i].text && strstr(scene.item[i].text, "1 loop where the function is");
    assert_true(said);
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void a_handful_of_flop_does_not_stretch_the_axes(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "parser", 1e2, (double[]){1e9, 1e9, 1e8, 1e8}, 1);
    fixture_kernel(&f, "triad", 1e9, (double[]){24e9, 24e9, 24e9, 24e9}, 1);
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_OK);
    assert_int_equal(scene.n_unplotted, 1);
    bool told = false;
    for (size_t i = 0; i < scene.n_item; i++)
        told |= scene.item[i].kind == RL_ITEM_TEXT &&
                strstr(scene.item[i].text, "1 kernel with next to no FLOP not drawn") != NULL;
    assert_true(told);
    rl_scene_release(&scene);
    fixture_release(&f);
}

static void hostile_names_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "\033[2Jevil\r\n\x9b\xff\xc0\xaf\xe2\x80\xae", 1e9,
                   (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
    rl_string_set(&f.machine.name, "\033]0;owned\007", NULL);
    fixture_place(&f);
    for (int s = 0; s < N_SHAPES; s++) {
        struct rl_scene scene;
        assert_int_equal(build(&f.report, &shapes[s], &scene, NULL), RL_OK);
        for (size_t i = 0; i < scene.n_item; i++) {
            for (const char *c = scene.item[i].text; c && *c; c++)
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
            assert_true(!scene.item[i].tip || !strchr(scene.item[i].tip, '\033'));
        }
        rl_scene_release(&scene);
    }
    fixture_release(&f);
}

static void too_small_a_canvas_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    struct rl_scene scene;
    struct rl_error err = {0};
    struct shape tiny = {39, 24, true, true};
    assert_int_equal(build(&f.report, &tiny, &scene, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "too small"));
    fixture_release(&f);
}

static void no_ceiling_is_no_picture(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_place(&f);
    struct rl_scene scene;
    assert_int_equal(build(&f.report, &shapes[0], &scene, NULL), RL_ENODATA);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyday_report_keeps_every_promise),
        cmocka_unit_test(any_number_of_kernels_keeps_every_promise),
        cmocka_unit_test(coincident_points_are_all_drawn_and_labelled_once),
        cmocka_unit_test(extreme_values_stay_in_frame),
        cmocka_unit_test(shares_far_above_the_roof_keep_off_the_rates_beside_them),
        cmocka_unit_test(the_ridge_is_named_on_the_side_that_has_room),
        cmocka_unit_test(one_roof_is_enough),
        cmocka_unit_test(many_close_roofs_keep_their_labels_apart),
        cmocka_unit_test(names_of_close_roofs_lie_on_no_other_roof),
        cmocka_unit_test(every_roof_label_carries_value_and_unit),
        cmocka_unit_test(contended_and_specified_roofs_say_so),
        cmocka_unit_test(kernels_without_a_point_are_counted_below),
        cmocka_unit_test(only_kernels_with_a_point_make_names_give_way_to_numbers),
        cmocka_unit_test(a_loop_that_is_all_of_its_function_is_one_point_with_it),
        cmocka_unit_test(a_handful_of_flop_does_not_stretch_the_axes),
        cmocka_unit_test(hostile_names_cannot_steer_the_terminal),
        cmocka_unit_test(too_small_a_canvas_is_refused),
        cmocka_unit_test(no_ceiling_is_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
