/* stencil: one Jacobi sweep over a 2D or 3D grid. Little work a point; how often a point travels
 * from memory depends on which neighbours are still in cache. */
#include "workload/kernels.h"
#include "workload/plain.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAIVE, VECTORISED, BLOCKED };
enum { OPT_N, OPT_SHAPE };
enum { SHAPE_2D, SHAPE_3D };
enum { CACHE_LINE = 64 };

/* Interior points are 1..n of each dimension; one layer of boundary around them is read only. */
struct stencil {
    const struct rl_work_config *config;
    const struct rl_kernels *kernels;
    bool cube; /* 3D */
    size_t n;  /* interior points along each edge */
    size_t element;
    size_t pitch, plane; /* elements between rows, and between planes */
    size_t total;        /* elements of a grid, boundary included */
    size_t block;        /* blocked: columns (2D) or rows (3D) swept together */
    struct rl_buffer in, out;
};

static const double c0 = 0.5, c1 = 0.09375;

static const enum rl_precision precisions[] = {RL_FP64, RL_FP32};
static const char *const shapes[] = {"2d5", "3d7", NULL};

static const struct rl_work_variant variants[] = {
    [NAIVE] = {.name = "naive", .summary = "rows in order, one point at a time"},
    [VECTORISED] = {.name = "vectorised",
                    .summary = "rows in order, in vectors",
                    .vectorised = true},
    [BLOCKED] = {.name = "blocked",
                 .summary = "in vectors, in blocks whose neighbours stay in cache",
                 .vectorised = true},
};

static const struct rl_work_option options[] = {
    [OPT_N] = {.name = "n",
               .label = "COUNT",
               .help = "points along each edge (0: both grids eight times the last cache)",
               .kind = RL_OPTION_COUNT,
               .max = 1 << 20,
               .is_size = true},
    [OPT_SHAPE] = {.name = "shape",
                   .label = "NAME",
                   .help = "neighbours and dimensions",
                   .kind = RL_OPTION_CHOICE,
                   .choice = shapes},
};

static void stencil_label(const struct rl_work_config *config, char *out, size_t size)
{
    snprintf(out, size, "%s", shapes[config->setting[OPT_SHAPE].number]);
}

static size_t automatic_edge(const struct stencil *s)
{
    double points = (double)rl_work_streaming_bytes(s->config->env) / 2 / (double)s->element;
    size_t n = (size_t)(s->cube ? cbrt(points) : sqrt(points));
    return n < 8 ? 8 : n;
}

/* As many columns (2D) or rows (3D) as keep the rows (planes) that a point needs, its output too,
 * in half of the L1 (L2). */
static size_t choose_block(const struct stencil *s)
{
    size_t held = 4 * s->element * (s->cube ? s->pitch : 1);
    size_t cache = s->cube ? rl_work_cache(s->config->env, 2, 256 << 10)
                           : rl_work_cache(s->config->env, 1, 32 << 10);
    size_t block = cache / 2 / held;
    if (!s->cube)
        block = block / CACHE_LINE * CACHE_LINE;
    size_t least = s->cube ? 1 : CACHE_LINE;
    block = block < least ? least : block;
    return block < s->n ? block : s->n;
}

static enum rl_status stencil_prepare(const struct rl_work_config *config, void **ret_state,
                                      struct rl_error *err)
{
    struct stencil *s = calloc(1, sizeof *s);
    if (!s)
        return rl_fail(err, RL_ENOMEM, "stencil: no memory");
    s->config = config;
    s->kernels = rl_kernels(rl_work_best_isa(config), config->precision);
    s->cube = config->setting[OPT_SHAPE].number == SHAPE_3D;
    s->element = rl_precision_size(config->precision);
    s->n = config->setting[OPT_N].number ? config->setting[OPT_N].number : automatic_edge(s);
    /* Rows start on cache lines, and not a large power of two apart. */
    size_t line = CACHE_LINE / s->element;
    s->pitch = (s->n + 2 + line - 1) / line * line;
    if (s->pitch * s->element % 1024 == 0)
        s->pitch += line;
    s->plane = s->pitch * (s->n + 2);
    uint64_t total = rl_size_mul(s->plane, s->cube ? s->n + 2 : 1, 1);
    if (rl_size_mul(total, 4, s->element) == UINT64_MAX) {
        free(s);
        return rl_fail(err, RL_EINVAL, "stencil: a grid of %llu points an edge is too large",
                       (unsigned long long)config->setting[OPT_N].number);
    }
    s->total = (size_t)total;
    s->block = choose_block(s);
    *ret_state = s;
    return RL_OK;
}

static uint64_t stencil_memory(const void *state)
{
    const struct stencil *s = state;
    return 2 * s->total * s->element;
}

static double points_of(const struct stencil *s)
{
    return (double)s->n * (double)s->n * (s->cube ? (double)s->n : 1);
}

/* What must be held so that a point is read once: the rows (2D) or planes (3D) between its first
 * and its last use, with what is written meanwhile. */
static void layer_conditions(const struct stencil *s, struct rl_work_traffic *t)
{
    double e = (double)s->element, threads = s->config->threads, n = (double)s->n;
    double p = points_of(s) * e;
    bool blocked = s->config->variant == BLOCKED;
    double block = (double)s->block, halo = (block + 2) / block;
    double row = (!s->cube && blocked ? block + 2 : (double)s->pitch) * e;
    double plane = (blocked ? block + 2 : n) * row;
    rl_traffic_step(t, t->working_set_bytes, 0, 0, 0);
    if (!s->cube) {
        rl_traffic_step(t, 4 * row * threads, p * (blocked ? 1 + 16 / block : 1), p, p);
        rl_traffic_step(t, 0, 3 * p, p, p);
        return;
    }
    rl_traffic_step(t, 4 * plane * threads, p * (blocked ? halo : 1), p, p);
    rl_traffic_step(t, 6 * row * threads, p * (blocked ? 2 + halo : 3), p, p);
    rl_traffic_step(t, 0, 5 * p, p, p);
}

static enum rl_status stencil_account(const void *state, struct rl_kernel *kernel,
                                      struct rl_work_traffic *t, struct rl_error *err)
{
    const struct stencil *s = state;
    enum rl_precision precision = s->config->precision;
    double points = points_of(s), e = (double)s->element, neighbours = s->cube ? 6 : 4;
    bool naive = s->config->variant == NAIVE;
    const char *isa = naive ? "scalar" : s->kernels->isa;
    RL_TRY(rl_account_parameter(kernel, "n", (double)s->n, err));
    RL_TRY(rl_kernel_set_parameter(kernel, "shape", shapes[s->cube], err));
    if (s->config->variant == BLOCKED)
        RL_TRY(rl_account_parameter(kernel, "block", (double)s->block, err));
    kernel->useful_flop = rl_value((neighbours + 2) * points, RL_SOURCE_MODELLED, 0);
    t->load_bytes = (neighbours + 1) * points * e;
    t->store_bytes = points * e;
    t->compulsory_read = t->compulsory_write = points * e;
    t->working_set_bytes = 2 * (double)s->total * e;
    layer_conditions(s, t);
    RL_TRY(rl_account_ops(kernel, precision, RL_OP_MUL, isa, points, err));
    return rl_account_multiply_add(kernel, precision, isa, !naive && s->kernels->fused, points,
                                   (neighbours - 1) * points, err);
}

static enum rl_status stencil_allocate(void *state, struct rl_error *err)
{
    struct stencil *s = state;
    RL_TRY(rl_buffer_map(&s->in, s->total * s->element, err));
    return rl_buffer_map(&s->out, s->total * s->element, err);
}

/* Outermost interior layers (rows in 2D, planes in 3D) 1..n of this rank, as from..to - 1. */
static void share_of(const struct stencil *s, unsigned rank, size_t *from, size_t *to)
{
    rl_share(s->n, 1, rank, s->config->threads, from, to);
    *from += 1;
    *to += 1;
}

static void stencil_fill(void *state, unsigned rank)
{
    struct stencil *s = state;
    size_t layer = s->cube ? s->plane : s->pitch, from, to;
    share_of(s, rank, &from, &to);
    if (rank == 0)
        from = 0;
    if (rank + 1 == s->config->threads)
        to = s->n + 2;
    rl_fill_pseudo(s->in.base, s->config->precision, from * layer, to * layer, 1);
    rl_fill_pseudo(s->out.base, s->config->precision, from * layer, to * layer, 2);
}

/* Points j0..j1 - 1 of row i (2D), or of row j of plane i (3D). */
static void sweep_row(const struct stencil *s, size_t start, size_t count)
{
    const char *in = s->in.base + start * s->element;
    char *out = s->out.base + start * s->element;
    ptrdiff_t pitch = (ptrdiff_t)s->pitch, plane = (ptrdiff_t)s->plane;
    const struct rl_plain *plain = rl_plain(s->config->precision);
    bool naive = s->config->variant == NAIVE;
    if (s->cube)
        (naive ? plain->stencil7 : s->kernels->stencil7)(count, c0, c1, in, pitch, plane, out);
    else
        (naive ? plain->stencil5 : s->kernels->stencil5)(count, c0, c1, in, pitch, out);
}

static void stencil_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct stencil *s = state;
    size_t from, to;
    share_of(s, rank, &from, &to);
    size_t block = s->config->variant == BLOCKED ? s->block : s->n;
    for (size_t b = 1; b <= s->n; b += block) {
        size_t end = b + block < s->n + 1 ? b + block : s->n + 1;
        for (size_t i = from; i < to; i++) {
            if (!s->cube)
                sweep_row(s, i * s->pitch + b, end - b);
            else
                for (size_t j = b; j < end; j++)
                    sweep_row(s, i * s->plane + j * s->pitch + 1, s->n);
        }
    }
}

static enum rl_status check_point(const struct stencil *s, size_t at, struct rl_error *err)
{
    enum rl_precision p = s->config->precision;
    double sum = 0, scale = 0;
    const size_t apart[] = {1, s->pitch, s->plane};
    for (int d = 0; d < (s->cube ? 3 : 2); d++) {
        double before = rl_load(s->in.base, p, at - apart[d]);
        double after = rl_load(s->in.base, p, at + apart[d]);
        sum += before + after;
        scale += fabs(before) + fabs(after);
    }
    double centre = rl_load(s->in.base, p, at), got = rl_load(s->out.base, p, at);
    double want = c0 * centre + c1 * sum;
    double bound = 8 * rl_precision_epsilon(p) * (fabs(c0 * centre) + c1 * scale);
    if (fabs(got - want) <= bound)
        return RL_OK;
    return rl_fail(err, RL_EDATA, "stencil: element %zu is %.17g, should be %.17g", at, got, want);
}

static enum rl_status stencil_check(void *state, struct rl_error *err)
{
    const struct stencil *s = state;
    for (size_t k = 1; k <= (s->cube ? s->n : 1); k++)
        for (size_t j = 1; j <= s->n; j++)
            for (size_t i = 1; i <= s->n; i++)
                RL_TRY(check_point(s, (s->cube ? k * s->plane : 0) + j * s->pitch + i, err));
    return RL_OK;
}

static void stencil_release(void *state)
{
    struct stencil *s = state;
    if (!s)
        return;
    rl_buffer_release(&s->in);
    rl_buffer_release(&s->out);
    free(s);
}

const struct rl_workload rl_workload_stencil = {
    .name = "stencil",
    .summary = "one Jacobi sweep, 5 points in 2D or 7 in 3D",
    .tolerance = "each point within 8 u times the sum of magnitudes",
    .variant = variants,
    .n_variant = RL_COUNT_OF(variants),
    .default_variant = VECTORISED,
    .precision = precisions,
    .n_precision = RL_COUNT_OF(precisions),
    .option = options,
    .n_option = RL_COUNT_OF(options),
    .label = stencil_label,
    .prepare = stencil_prepare,
    .memory = stencil_memory,
    .account = stencil_account,
    .allocate = stencil_allocate,
    .fill = stencil_fill,
    .run = stencil_run,
    .check = stencil_check,
    .release = stencil_release,
};
