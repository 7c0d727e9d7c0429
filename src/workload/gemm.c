/* gemm: C = A·B, square or not. The compute-bound kernel, and what blocking and vectors buy. */
#include "workload/blas.h"
#include "workload/gemm_packed.h"
#include "workload/plain.h"
#include "workload/workload_internal.h"

#include <stdlib.h>
#include <string.h>

enum { NAIVE, TILED, VECTORISED, BLAS };
enum { OPT_N, OPT_M, OPT_K };

struct gemm {
    const struct rl_work_config *config;
    size_t m, n, k, element;
    unsigned rows, columns; /* grid of threads: rows * columns == threads */
    struct rl_gemm_plan plan;
    size_t scratch_bytes; /* of each thread */
    struct rl_blas blas;
    struct rl_buffer a, b, c, scratch;
};

static const struct rl_work_variant variants[] = {
    [NAIVE] = {.name = "naive", .summary = "three loops, one dot product an element, scalar"},
    [TILED] = {.name = "tiled", .summary = "blocks that stay in cache, scalar"},
    [VECTORISED] = {.name = "vectorised",
                    .summary = "packed blocks and a register tile for each instruction set",
                    .vectorised = true},
    [BLAS] = {.name = "blas",
              .summary = "the machine's CBLAS, found at run time or named by --blas",
              .own_threads = true,
              .cblas = true},
};

static const enum rl_precision precisions[] = {RL_FP64, RL_FP32};

static const struct rl_work_option options[] = {
    [OPT_N] = {.name = "n",
               .label = "COUNT",
               .help = "columns of B and C; the other two sizes follow it",
               .kind = RL_OPTION_COUNT,
               .initial = 1024,
               .min = 1,
               .max = 1 << 20,
               .is_size = true},
    [OPT_M] = {.name = "m",
               .label = "COUNT",
               .help = "rows of A and C (0: as n)",
               .kind = RL_OPTION_COUNT,
               .max = 1 << 20},
    [OPT_K] = {.name = "k",
               .label = "COUNT",
               .help = "columns of A, rows of B (0: as n)",
               .kind = RL_OPTION_COUNT,
               .max = 1 << 20},
};

static enum rl_status gemm_probe(const struct rl_work_config *config, struct rl_error *err)
{
    return config->variant == BLAS ? rl_blas_probe(config->env ? config->env->blas : NULL, err)
                                   : RL_OK;
}

/* The grid whose parts have the shortest edges, as packing costs in proportion to them. */
static void choose_grid(struct gemm *g, unsigned threads)
{
    double best = INFINITY;
    for (unsigned r = 1; r <= threads; r++) {
        double edges = (double)g->m / r + (double)g->n * r / threads;
        if (threads % r || edges >= best)
            continue;
        best = edges;
        g->rows = r;
        g->columns = threads / r;
    }
}

/* This rank's part of C. */
static void part_of(const struct gemm *g, unsigned rank, size_t *i0, size_t *i1, size_t *j0,
                    size_t *j1)
{
    rl_share(g->m, g->plan.kernels->gemm_mr, rank / g->columns, g->rows, i0, i1);
    rl_share(g->n, g->plan.kernels->gemm_nr, rank % g->columns, g->columns, j0, j1);
}

static enum rl_status gemm_prepare(const struct rl_work_config *config, void **ret_state,
                                   struct rl_error *err)
{
    struct gemm *g = calloc(1, sizeof *g);
    if (!g)
        return rl_fail(err, RL_ENOMEM, "gemm: no memory");
    g->config = config;
    g->n = config->setting[OPT_N].number;
    g->m = config->setting[OPT_M].number ? config->setting[OPT_M].number : g->n;
    g->k = config->setting[OPT_K].number ? config->setting[OPT_K].number : g->n;
    g->element = rl_precision_size(config->precision);
    choose_grid(g, config->threads);
    rl_gemm_plan_init(&g->plan, config->env, rl_work_best_isa(config), config->precision,
                      config->threads);
    if (config->variant == VECTORISED)
        g->scratch_bytes = rl_gemm_scratch(&g->plan, g->m, g->n, g->k);
    if (config->variant == BLAS) {
        enum rl_status status =
            rl_blas_open(&g->blas, config->env ? config->env->blas : NULL, config->threads, err);
        if (status != RL_OK) {
            free(g);
            return status;
        }
    }
    *ret_state = g;
    return RL_OK;
}

static uint64_t gemm_memory(const void *state)
{
    const struct gemm *g = state;
    uint64_t part[] = {rl_size_mul(g->m, g->k, g->element), rl_size_mul(g->k, g->n, g->element),
                       rl_size_mul(g->m, g->n, g->element),
                       rl_size_mul(g->scratch_bytes, g->config->threads, 1)};
    uint64_t sum = 0;
    for (size_t i = 0; i < RL_COUNT_OF(part); i++)
        if (__builtin_add_overflow(sum, part[i], &sum))
            return UINT64_MAX;
    return sum;
}

/* Naive: the columns of B are walked down. What a cache must hold for reuse is, from the top, all
 * of B, then one line of each row of B. */
static void naive_traffic(const struct gemm *g, struct rl_work_traffic *t)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, e = (double)g->element;
    double line = 64, c = m * n * e;
    t->load_bytes = 2 * m * n * k * e;
    t->store_bytes = m * n * e;
    rl_traffic_step(t, t->working_set_bytes - c, (m * k + k * n) * e, c, c);
    double lines = (k * line + k * e) * g->config->threads;
    if (g->n * g->element % 1024 == 0)
        rl_traffic_unknown(t, lines,
                           "the rows of B lie a multiple of 1 KiB apart, so that its columns fall "
                           "into few sets of this cache");
    else
        rl_traffic_step(t, lines, (m * k + m * k * n) * e, c, c);
    rl_traffic_step(t, 0, m * n * k * line + m * k * e, c, c);
}

/* Tiled: per block of A a block of B and one of C, all three held. */
static void tiled_traffic(const struct gemm *g, struct rl_work_traffic *t)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, e = (double)g->element;
    double tile = RL_PLAIN_TILE, threads = g->config->threads;
    double j_blocks = ceil(n / tile), x_blocks = ceil(k / tile), i_blocks = ceil(m / tile);
    t->load_bytes = (2 * m * n * k + m * k * j_blocks) * e;
    t->store_bytes = (m * n * k + m * n) * e;
    double a = m * k * e, b = i_blocks * k * n * e, c = m * n * e, again = (x_blocks - 1) * c;
    rl_traffic_step(t, t->working_set_bytes - c, a + k * n * e, c, c);
    rl_traffic_step(t, (tile * n + 2 * tile * tile) * e * threads, a + b, c, c);
    rl_traffic_step(t, 3 * tile * tile * e * threads, a * j_blocks + b + again, c + again, c);
    rl_traffic_unknown(t, 0, "a block of each matrix does not fit this cache");
}

static void packed_count(const struct gemm *g, struct rl_gemm_count *count)
{
    memset(count, 0, sizeof *count);
    for (unsigned rank = 0; rank < g->config->threads; rank++) {
        size_t i0, i1, j0, j1;
        part_of(g, rank, &i0, &i1, &j0, &j1);
        struct rl_gemm_problem p = {.m = i1 - i0, .n = j1 - j0, .k = g->k};
        rl_gemm_packed_count(&g->plan, &p, count);
    }
}

static void packed_traffic(const struct gemm *g, const struct rl_gemm_count *count,
                           struct rl_work_traffic *t)
{
    double e = (double)g->element, threads = g->config->threads, c = (double)g->m * (double)g->n;
    const struct rl_gemm_plan *p = &g->plan;
    double slivers = (double)((p->kernels->gemm_mr + p->kernels->gemm_nr) * p->kc);
    double block = (double)(p->mc * p->kc), panel = (double)(p->nc * p->kc);
    double nc = (double)(p->nc < g->n ? p->nc : g->n);
    panel = panel < nc * (double)p->kc ? panel : nc * (double)p->kc;
    t->load_bytes = count->load_elements * e;
    t->store_bytes = count->store_elements * e;
    t->working_set_bytes += (double)g->scratch_bytes * threads;
    t->step[0].holds_bytes = t->working_set_bytes;
    rl_traffic_step(t, (panel + block) * e * threads, count->far_read * e, count->far_write * e,
                    c * e);
    rl_traffic_step(t, (block + slivers) * e * threads, count->l3_read * e, count->l3_write * e,
                    c * e);
    rl_traffic_step(t, slivers * e * threads, count->l2_read * e, count->l2_write * e, c * e);
    /* a cache that keeps neither sliver until the next tile passes every load on */
    rl_traffic_step(t, 0, t->load_bytes, count->l2_write * e, c * e);
}

static enum rl_status gemm_account(const void *state, struct rl_kernel *kernel,
                                   struct rl_work_traffic *t, struct rl_error *err)
{
    const struct gemm *g = state;
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, e = (double)g->element;
    enum rl_precision precision = g->config->precision;
    RL_TRY(rl_account_parameter(kernel, "m", m, err));
    RL_TRY(rl_account_parameter(kernel, "n", n, err));
    RL_TRY(rl_account_parameter(kernel, "k", k, err));
    kernel->useful_flop = rl_value(2 * m * n * k, RL_SOURCE_MODELLED, 0);
    t->compulsory_read = (m * k + k * n) * e;
    t->compulsory_write = m * n * e;
    t->working_set_bytes = (m * k + k * n + m * n) * e;
    rl_traffic_step(t, t->working_set_bytes, 0, 0, 0);
    if (g->config->variant == BLAS) {
        RL_TRY(rl_kernel_set_parameter(kernel, "library", g->blas.description, err));
        t->load_bytes = t->store_bytes = -1;
        rl_traffic_unknown(t, 0, "how this library blocks its loops is not known");
        return rl_account_ops(kernel, precision, RL_OP_FMA, "", m * n * k, err); /* its choice */
    }
    if (g->config->variant == VECTORISED) {
        struct rl_gemm_count count;
        packed_count(g, &count);
        packed_traffic(g, &count, t);
        return rl_account_multiply_add(kernel, precision, g->plan.kernels->isa,
                                       g->plan.kernels->fused, count.multiply_add, count.add, err);
    }
    if (g->config->variant == NAIVE)
        naive_traffic(g, t);
    else
        tiled_traffic(g, t);
    return rl_account_multiply_add(kernel, precision, "scalar", false, m * n * k, 0, err);
}

static enum rl_status gemm_allocate(void *state, struct rl_error *err)
{
    struct gemm *g = state;
    RL_TRY(rl_buffer_map(&g->a, g->m * g->k * g->element, err));
    RL_TRY(rl_buffer_map(&g->b, g->k * g->n * g->element, err));
    RL_TRY(rl_buffer_map(&g->c, g->m * g->n * g->element, err));
    if (g->scratch_bytes)
        RL_TRY(rl_buffer_map(&g->scratch, g->scratch_bytes * g->config->threads, err));
    return RL_OK;
}

static void gemm_fill(void *state, unsigned rank)
{
    struct gemm *g = state;
    enum rl_precision precision = g->config->precision;
    unsigned threads = g->config->variant == BLAS ? 1 : g->config->threads;
    const struct {
        void *base;
        size_t rows, columns;
        uint64_t seed;
    } part[] = {{g->a.base, g->m, g->k, 1}, {g->b.base, g->k, g->n, 2}, {g->c.base, g->m, g->n, 3}};
    for (size_t i = 0; i < RL_COUNT_OF(part); i++) {
        size_t from, to;
        rl_share(part[i].rows, 1, rank, threads, &from, &to);
        rl_fill_pseudo(part[i].base, precision, from * part[i].columns, to * part[i].columns,
                       part[i].seed);
    }
    if (g->scratch_bytes)
        memset(g->scratch.base + rank * g->scratch_bytes, 1, g->scratch_bytes);
}

static void gemm_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct gemm *g = state;
    const struct rl_plain *plain = rl_plain(g->config->precision);
    size_t i0, i1, j0, j1;
    switch (g->config->variant) {
    case NAIVE:
    case TILED:
        rl_share(g->m, 1, rank, g->config->threads, &i0, &i1);
        (g->config->variant == NAIVE ? plain->gemm_naive : plain->gemm_tiled)(
            i0, i1, g->n, g->k, g->a.base, g->b.base, g->c.base);
        break;
    case VECTORISED:
        part_of(g, rank, &i0, &i1, &j0, &j1);
        rl_gemm_packed(&g->plan,
                       &(struct rl_gemm_problem){.m = i1 - i0,
                                                 .n = j1 - j0,
                                                 .k = g->k,
                                                 .a = g->a.base + i0 * g->k * g->element,
                                                 .b = g->b.base + j0 * g->element,
                                                 .c = g->c.base + (i0 * g->n + j0) * g->element,
                                                 .lda = g->k,
                                                 .ldb = g->n,
                                                 .ldc = g->n},
                       g->scratch.base + rank * g->scratch_bytes);
        break;
    default:
        rl_blas_gemm(&g->blas, g->config->precision, g->m, g->n, g->k, g->a.base, g->b.base,
                     g->c.base);
    }
}

/* C·r against A·(B·r) for a vector r of random signs: every element of C takes part, in O(n²).
 * A wrong element escapes only if its error cancels in a whole row. */
static enum rl_status check_rows(const struct gemm *g, const double *br, const double *babs,
                                 struct rl_error *err)
{
    enum rl_precision p = g->config->precision;
    double bound = 4 * (double)(g->k + g->n) * rl_precision_epsilon(p);
    for (size_t i = 0; i < g->m; i++) {
        double want = 0, scale = 0, got = 0;
        for (size_t x = 0; x < g->k; x++) {
            double a = rl_load(g->a.base, p, i * g->k + x);
            want += a * br[x];
            scale += fabs(a) * babs[x];
        }
        for (size_t j = 0; j < g->n; j++)
            got += rl_load(g->c.base, p, i * g->n + j) * (rl_pseudo(9, j) < 0 ? -1 : 1);
        if (!(fabs(got - want) <= bound * scale))
            return rl_fail(err, RL_EDATA,
                           "gemm: row %zu of C is wrong: its signed sum is %.17g, should be %.17g "
                           "within %.2g",
                           i, got, want, bound * scale);
    }
    return RL_OK;
}

static enum rl_status gemm_check(void *state, struct rl_error *err)
{
    struct gemm *g = state;
    enum rl_precision p = g->config->precision;
    double *br = calloc(2 * g->k, sizeof *br);
    if (!br)
        return rl_fail(err, RL_ENOMEM, "gemm: no memory for the check");
    for (size_t x = 0; x < g->k; x++)
        for (size_t j = 0; j < g->n; j++) {
            double b = rl_load(g->b.base, p, x * g->n + j);
            br[x] += rl_pseudo(9, j) < 0 ? -b : b;
            br[g->k + x] += fabs(b);
        }
    enum rl_status status = check_rows(g, br, br + g->k, err);
    free(br);
    return status;
}

static void gemm_release(void *state)
{
    struct gemm *g = state;
    if (!g)
        return;
    rl_blas_close(&g->blas);
    rl_buffer_release(&g->a);
    rl_buffer_release(&g->b);
    rl_buffer_release(&g->c);
    rl_buffer_release(&g->scratch);
    free(g);
}

const struct rl_workload rl_workload_gemm = {
    .name = "gemm",
    .summary = "dense matrix multiplication C = A B",
    .tolerance = "signed row sums of C within 4 (k + n) u times the sum of magnitudes",
    .variant = variants,
    .n_variant = RL_COUNT_OF(variants),
    .default_variant = VECTORISED,
    .precision = precisions,
    .n_precision = RL_COUNT_OF(precisions),
    .option = options,
    .n_option = RL_COUNT_OF(options),
    .probe = gemm_probe,
    .prepare = gemm_prepare,
    .memory = gemm_memory,
    .account = gemm_account,
    .allocate = gemm_allocate,
    .fill = gemm_fill,
    .run = gemm_run,
    .check = gemm_check,
    .release = gemm_release,
};
