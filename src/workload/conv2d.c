/* conv2d: 2D convolution as in neural networks, fp32, images [n][c][h][w], no bias. The input is
 * stored with its padding. Compute-bound with many channels, memory-bound with one a group
 * (depthwise). */
#include "workload/gemm_packed.h"
#include "workload/kernels.h"
#include "workload/onednn.h"
#include "workload/plain.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAIVE, DIRECT, IM2COL, ONEDNN };
enum {
    OPT_N,
    OPT_C,
    OPT_H,
    OPT_W,
    OPT_K,
    OPT_R,
    OPT_S,
    OPT_STRIDE,
    OPT_PADDING,
    OPT_DILATION,
    OPT_GROUPS
};
enum { SLACK = 64 }; /* elements that vector loads may run past the input, times the stride */

struct conv {
    const struct rl_work_config *config;
    const struct rl_kernels *kernels;
    size_t n, c, h, w, k, r, s, stride, padding, dilation, groups;
    size_t cg, kg, taps;                /* channels and filters of a group, taps of a filter */
    size_t hp, wp, oh, ow;              /* padded input, output */
    size_t block;                       /* im2col: output rows gathered together */
    size_t column_bytes, scratch_bytes; /* of each thread */
    bool many;                          /* direct: filters fill a vector */
    size_t wide;                        /* many: filters of a group, in whole vectors */
    size_t deep;                        /* many: channels whose taps and weights an L1 holds */
    struct rl_gemm_plan plan;
    struct rl_onednn *onednn;
    struct rl_buffer x, weights, y, scratch, packed, offsets;
};

static const enum rl_precision precisions[] = {RL_FP32};

static const struct rl_work_variant variants[] = {
    [NAIVE] = {.name = "naive", .summary = "seven loops, one output at a time, scalar"},
    [DIRECT] = {.name = "direct",
                .summary = "filters x outputs in registers, no copy of the input",
                .vectorised = true},
    [IM2COL] = {.name = "im2col",
                .summary = "input windows gathered into a matrix, then our GEMM",
                .vectorised = true},
    [ONEDNN] = {.name = "onednn", .summary = "oneDNN, found at run time", .own_threads = true},
};

#define SIZE_OPTION(name_, help_, initial_, min_, max_)                                            \
    {                                                                                              \
        .name = name_, .label = "COUNT", .help = help_, .kind = RL_OPTION_COUNT,                   \
        .initial = initial_, .min = min_, .max = max_                                              \
    }

static const struct rl_work_option options[] = {
    [OPT_N] = SIZE_OPTION("n", "images (0: more than all caches hold)", 1, 0, 1 << 20),
    [OPT_C] = SIZE_OPTION("c", "input channels", 64, 1, 1 << 20),
    [OPT_H] = SIZE_OPTION("h", "height of the input", 56, 1, 1 << 20),
    [OPT_W] = SIZE_OPTION("w", "width of the input", 56, 1, 1 << 20),
    [OPT_K] = SIZE_OPTION("k", "filters, output channels (0: as c)", 0, 0, 1 << 20),
    [OPT_R] = SIZE_OPTION("r", "height of a filter", 3, 1, 1024),
    [OPT_S] = SIZE_OPTION("s", "width of a filter", 3, 1, 1024),
    [OPT_STRIDE] = SIZE_OPTION("stride", "inputs from an output to the next", 1, 1, 64),
    [OPT_PADDING] = SIZE_OPTION("padding", "zeros around the input", 1, 0, 1024),
    [OPT_DILATION] = SIZE_OPTION("dilation", "inputs from a tap to the next", 1, 1, 64),
    [OPT_GROUPS] = SIZE_OPTION("groups", "groups; as many as channels is depthwise", 1, 1, 1 << 20),
};

static void conv_label(const struct rl_work_config *config, char *out, size_t size)
{
    const struct rl_setting *set = config->setting;
    unsigned long r = set[OPT_R].number, s = set[OPT_S].number, c = set[OPT_C].number;
    if (set[OPT_GROUPS].number == c && c > 1)
        snprintf(out, size, "%lux%lu depthwise", r, s);
    else
        snprintf(out, size, "%lux%lu c=%lu", r, s, c);
}

static enum rl_status conv_probe(const struct rl_work_config *config, struct rl_error *err)
{
    return config->variant == ONEDNN ? rl_onednn_probe(err) : RL_OK;
}

/* Elements of each array; UINT64_MAX for what does not fit. */
static uint64_t x_elements(const struct conv *v)
{
    return rl_size_mul(rl_size_mul(v->n, v->c, 1), v->hp, v->wp);
}

static uint64_t w_elements(const struct conv *v)
{
    return rl_size_mul(v->k, v->taps, 1);
}

static uint64_t y_elements(const struct conv *v)
{
    return rl_size_mul(rl_size_mul(v->n, v->k, 1), v->oh, v->ow);
}

/* Weights as conv_sums wants them, and where a block's taps are; 0 where it is not used. */
static uint64_t packed_elements(const struct conv *v)
{
    return rl_size_mul(v->groups, v->wide, v->taps);
}

static uint64_t offset_bytes(const struct conv *v)
{
    return rl_size_mul(v->deep, v->r * v->s, sizeof(size_t));
}

static size_t automatic_images(const struct conv *v)
{
    double image =
        (double)v->c * (double)v->hp * (double)v->wp + (double)v->k * (double)v->oh * (double)v->ow;
    double bytes = (double)rl_work_streaming_bytes(v->config->env);
    return (size_t)(bytes / (image * sizeof(float))) + 1;
}

static enum rl_status read_shape(struct conv *v, struct rl_error *err)
{
    const struct rl_setting *set = v->config->setting;
    v->n = set[OPT_N].number;
    v->c = set[OPT_C].number;
    v->h = set[OPT_H].number;
    v->w = set[OPT_W].number;
    v->k = set[OPT_K].number ? set[OPT_K].number : v->c;
    v->r = set[OPT_R].number;
    v->s = set[OPT_S].number;
    v->stride = set[OPT_STRIDE].number;
    v->padding = set[OPT_PADDING].number;
    v->dilation = set[OPT_DILATION].number;
    v->groups = set[OPT_GROUPS].number;
    if (v->c % v->groups || v->k % v->groups)
        return rl_fail(err, RL_EINVAL,
                       "conv2d: %zu channels and %zu filters cannot be split into "
                       "%zu groups",
                       v->c, v->k, v->groups);
    v->cg = v->c / v->groups;
    v->kg = v->k / v->groups;
    v->taps = v->cg * v->r * v->s;
    v->hp = v->h + 2 * v->padding;
    v->wp = v->w + 2 * v->padding;
    size_t tall = v->dilation * (v->r - 1) + 1, wide = v->dilation * (v->s - 1) + 1;
    if (v->hp < tall || v->wp < wide)
        return rl_fail(err, RL_EINVAL,
                       "conv2d: a filter of %zu x %zu is larger than the padded "
                       "input of %zu x %zu",
                       tall, wide, v->hp, v->wp);
    v->oh = (v->hp - tall) / v->stride + 1;
    v->ow = (v->wp - wide) / v->stride + 1;
    if (!v->n)
        v->n = automatic_images(v);
    return RL_OK;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Filters of the block of a group that starts at `from`, in whole vectors. */
static size_t filters_at(const struct conv *v, size_t from)
{
    return least(RL_CONV_FILTER_VECTORS * (size_t)v->kernels->lanes, v->wide - from);
}

/* Direct with many filters: of the L1, rows under the filters and weights take what sums and the
 * rows that follow leave. */
static void plan_many(struct conv *v)
{
    size_t lanes = v->kernels->lanes;
    v->many = v->kg >= lanes;
    if (!v->many)
        return;
    v->wide = (v->kg + lanes - 1) / lanes * lanes;
    size_t channel = (v->r * v->wp + v->r * v->s * filters_at(v, 0)) * sizeof(float);
    size_t fit = rl_work_cache(v->config->env, 1, 32 << 10) * 5 / 8 / channel;
    v->deep = fit < 1 ? 1 : least(fit, v->cg);
    v->scratch_bytes = (v->ow * filters_at(v, 0) * sizeof(float) + 4095) / 4096 * 4096;
}

/* As many rows of outputs as keep the gathered matrix within half the L2. */
static void plan_im2col(struct conv *v)
{
    size_t row = v->taps * v->ow * sizeof(float);
    size_t rows = rl_work_cache(v->config->env, 2, 256 << 10) / 2 / row;
    v->block = rows < 1 ? 1 : rows < v->oh ? rows : v->oh;
    rl_gemm_plan_init(&v->plan, v->config->env, rl_work_best_isa(v->config), RL_FP32,
                      v->config->threads);
    v->column_bytes = (row * v->block + 4095) / 4096 * 4096;
    v->scratch_bytes =
        v->column_bytes + rl_gemm_scratch(&v->plan, v->kg, v->block * v->ow, v->taps);
}

static void conv_release(void *state)
{
    struct conv *v = state;
    if (!v)
        return;
    rl_onednn_close(v->onednn);
    rl_buffer_release(&v->x);
    rl_buffer_release(&v->weights);
    rl_buffer_release(&v->y);
    rl_buffer_release(&v->scratch);
    rl_buffer_release(&v->packed);
    rl_buffer_release(&v->offsets);
    free(v);
}

static uint64_t conv_memory(const void *state)
{
    const struct conv *v = state;
    uint64_t part[] = {rl_size_mul(x_elements(v), sizeof(float), 1),
                       rl_size_mul(w_elements(v), sizeof(float), 1),
                       rl_size_mul(y_elements(v), sizeof(float), 1),
                       rl_size_mul(packed_elements(v), sizeof(float), 1),
                       offset_bytes(v),
                       rl_size_mul(v->scratch_bytes, v->config->threads, 1)};
    uint64_t sum = 0;
    for (size_t i = 0; i < RL_COUNT_OF(part); i++)
        if (__builtin_add_overflow(sum, part[i], &sum))
            return UINT64_MAX;
    return sum;
}

static enum rl_status conv_open_onednn(struct conv *v, struct rl_error *err)
{
    struct rl_onednn_shape shape = {.n = (int64_t)v->n,
                                    .c = (int64_t)v->c,
                                    .h = (int64_t)v->hp,
                                    .w = (int64_t)v->wp,
                                    .k = (int64_t)v->k,
                                    .r = (int64_t)v->r,
                                    .s = (int64_t)v->s,
                                    .oh = (int64_t)v->oh,
                                    .ow = (int64_t)v->ow,
                                    .stride = (int64_t)v->stride,
                                    .dilation = (int64_t)v->dilation,
                                    .groups = (int64_t)v->groups};
    return rl_onednn_open(&shape, v->config->threads, &v->onednn, err);
}

static enum rl_status conv_prepare(const struct rl_work_config *config, void **ret_state,
                                   struct rl_error *err)
{
    struct conv *v = calloc(1, sizeof *v);
    if (!v)
        return rl_fail(err, RL_ENOMEM, "conv2d: no memory");
    v->config = config;
    v->kernels = rl_kernels(rl_work_best_isa(config), RL_FP32);
    enum rl_status status = read_shape(v, err);
    if (status == RL_OK && config->variant == IM2COL)
        plan_im2col(v);
    if (status == RL_OK && config->variant == DIRECT)
        plan_many(v);
    if (status == RL_OK)
        status = rl_work_check_memory(config, conv_memory(v), err);
    if (status == RL_OK && config->variant == ONEDNN)
        status = conv_open_onednn(v, err);
    if (status != RL_OK) {
        conv_release(v);
        return status;
    }
    *ret_state = v;
    return RL_OK;
}

/* What executing one row of outputs for one group takes in registers' terms. */
struct tile_count {
    double multiply_add, loads, stores; /* stores beside those of the outputs */
};

static struct tile_count count_many(const struct conv *v)
{
    const double offset = (double)sizeof(size_t) / sizeof(float);
    struct tile_count total = {0};
    double taps = (double)v->taps, outputs = (double)v->ow;
    double tiles = (double)((v->ow + v->kernels->conv_columns - 1) / v->kernels->conv_columns);
    double passes = (double)((v->cg + v->deep - 1) / v->deep);
    for (size_t k = 0; k < v->wide; k += filters_at(v, k)) {
        double filters = (double)filters_at(v, k), sums = outputs * filters;
        double turned = outputs * (double)least(v->kg - k, filters_at(v, k));
        total.multiply_add += taps * sums;
        total.loads += taps * (tiles * (filters + offset) + outputs);
        total.loads += (passes - 1) * sums + turned;
        total.stores += passes * sums;
    }
    return total;
}

static struct tile_count count_row(const struct conv *v)
{
    struct tile_count total = {0};
    size_t lanes = v->kernels->lanes, mr = v->kernels->conv_mr;
    size_t vectors = (v->ow + lanes - 1) / lanes, wide = v->kernels->conv_nr / lanes;
    const struct {
        size_t tiles, filters, wide;
    } kinds[] = {{v->kg / mr, mr, wide},
                 {v->kg % mr / RL_CONV_FEW, RL_CONV_FEW, wide},
                 {v->kg % mr % RL_CONV_FEW, 1, RL_CONV_WIDE}};
    for (size_t i = 0; i < RL_COUNT_OF(kinds); i++) {
        double steps = (double)(kinds[i].tiles * v->taps);
        size_t across = (vectors + kinds[i].wide - 1) / kinds[i].wide;
        total.multiply_add += steps * (double)(kinds[i].filters * vectors * lanes);
        total.loads += steps * (double)(kinds[i].filters * across + vectors * lanes);
    }
    return total;
}

/* All blocks of rows through im2col and GEMM. */
static void count_im2col(const struct conv *v, struct rl_gemm_count *count, double *gathered)
{
    memset(count, 0, sizeof *count);
    for (size_t o = 0; o < v->oh; o += v->block) {
        size_t rows = v->oh - o < v->block ? v->oh - o : v->block;
        struct rl_gemm_problem p = {.m = v->kg, .n = rows * v->ow, .k = v->taps};
        rl_gemm_packed_count(&v->plan, &p, count);
    }
    double images = (double)v->n * (double)v->groups;
    count->multiply_add *= images;
    count->add *= images;
    count->load_elements *= images;
    count->store_elements *= images;
    *gathered = images * (double)v->taps * (double)v->oh * (double)v->ow;
}

static void conv_traffic(const struct conv *v, struct rl_work_traffic *t)
{
    const double e = sizeof(float);
    double x = (double)x_elements(v) * e,
           w = (double)(v->many ? packed_elements(v) : w_elements(v)) * e,
           y = (double)y_elements(v) * e;
    double threads = v->config->threads, row = (double)(v->cg * v->wp) * e;
    double window = (double)(v->dilation * (v->r - 1) + 1) * row;
    double group_w = w / (double)v->groups, out = (double)(v->kg * v->ow) * e;
    out += (double)(v->many ? v->scratch_bytes : 0);
    rl_traffic_step(t, t->working_set_bytes, 0, 0, 0);
    switch (v->config->variant) {
    case DIRECT: /* a window of input rows and a group's weights serve a row of outputs */
    case NAIVE:
        rl_traffic_step(t, (window + group_w + out) * threads, x + w, y, y);
        rl_traffic_unknown(t, 0, "the rows under a filter and its weights do not fit this cache");
        break;
    case IM2COL:
        rl_traffic_step(t, ((double)v->scratch_bytes + group_w + window) * threads, x + w, y, y);
        rl_traffic_unknown(t, 0, "the gathered matrix does not fit this cache");
        break;
    default:
        rl_traffic_unknown(t, 0, "how this library blocks its loops is not known");
    }
}

static enum rl_status account_shape(const struct conv *v, struct rl_kernel *kernel,
                                    struct rl_error *err)
{
    const struct rl_work_option *option = v->config->workload->option;
    const size_t value[] = {v->n, v->c,      v->h,       v->w,        v->k,     v->r,
                            v->s, v->stride, v->padding, v->dilation, v->groups};
    for (size_t i = 0; i < RL_COUNT_OF(value); i++)
        RL_TRY(rl_account_parameter(kernel, option[i].name, (double)value[i], err));
    double macs = (double)y_elements(v) * (double)v->taps;
    kernel->useful_flop = rl_value(2 * macs, RL_SOURCE_MODELLED, 0);
    return rl_account_parameter(kernel, "multiply_accumulates", macs, err);
}

static enum rl_status conv_account(const void *state, struct rl_kernel *kernel,
                                   struct rl_work_traffic *t, struct rl_error *err)
{
    const struct conv *v = state;
    const double e = sizeof(float);
    double macs = (double)y_elements(v) * (double)v->taps, out = (double)y_elements(v) * e;
    double rows = (double)v->n * (double)v->groups * (double)v->oh;
    const char *isa = v->kernels->isa;
    bool fused = v->kernels->fused;
    RL_TRY(account_shape(v, kernel, err));
    t->compulsory_read =
        ((double)(v->n * v->c) * (double)(v->h * v->w) + (double)w_elements(v)) * e;
    t->compulsory_write = t->store_bytes = out;
    double weights = (double)(v->many ? packed_elements(v) : w_elements(v));
    t->working_set_bytes = ((double)x_elements(v) + weights) * e + out + (double)offset_bytes(v) +
                           (double)v->scratch_bytes * v->config->threads;
    conv_traffic(v, t);
    if (v->config->variant == NAIVE) {
        t->load_bytes = 2 * macs * e;
        return rl_account_multiply_add(kernel, RL_FP32, "scalar", false, macs, 0, err);
    }
    if (v->config->variant == DIRECT) {
        struct tile_count count = v->many ? count_many(v) : count_row(v);
        t->load_bytes = rows * count.loads * e;
        t->store_bytes += rows * count.stores * e;
        return rl_account_multiply_add(kernel, RL_FP32, isa, fused, rows * count.multiply_add, 0,
                                       err);
    }
    if (v->config->variant == IM2COL) {
        struct rl_gemm_count count;
        double gathered;
        count_im2col(v, &count, &gathered);
        t->load_bytes = (count.load_elements + gathered) * e;
        t->store_bytes = (count.store_elements + gathered) * e;
        return rl_account_multiply_add(kernel, RL_FP32, isa, fused, count.multiply_add, count.add,
                                       err);
    }
    RL_TRY(rl_kernel_set_parameter(kernel, "library", rl_onednn_description(v->onednn), err));
    t->load_bytes = t->store_bytes = -1;
    return rl_account_ops(kernel, RL_FP32, RL_OP_FMA, "", macs, err); /* its choice */
}

static enum rl_status conv_allocate(void *state, struct rl_error *err)
{
    struct conv *v = state;
    size_t slack = SLACK * v->stride;
    RL_TRY(rl_buffer_map(&v->x, (x_elements(v) + slack) * sizeof(float), err));
    RL_TRY(rl_buffer_map(&v->weights, w_elements(v) * sizeof(float), err));
    RL_TRY(rl_buffer_map(&v->y, y_elements(v) * sizeof(float), err));
    if (v->scratch_bytes)
        RL_TRY(rl_buffer_map(&v->scratch, v->scratch_bytes * v->config->threads, err));
    if (v->many) {
        RL_TRY(rl_buffer_map(&v->packed, packed_elements(v) * sizeof(float), err));
        RL_TRY(rl_buffer_map(&v->offsets, offset_bytes(v), err));
    }
    if (v->onednn)
        return rl_onednn_bind(v->onednn, v->x.base, v->weights.base, v->y.base, err);
    return RL_OK;
}

/* Zeros around each channel. */
static void clear_padding(const struct conv *v, float *channel)
{
    for (size_t i = 0; i < v->hp; i++)
        for (size_t j = 0; j < v->wp; j++)
            if (i < v->padding || i >= v->hp - v->padding || j < v->padding ||
                j >= v->wp - v->padding)
                channel[i * v->wp + j] = 0;
}

static const float *w_at(const struct conv *v, size_t filter)
{
    return (const float *)(const void *)v->weights.base + filter * v->taps;
}

/* The packed weights of the block of a group's filters that starts at `from`. */
static float *packed_at(const struct conv *v, size_t group, size_t from)
{
    return (float *)(void *)v->packed.base + (group * v->wide + from) * v->taps;
}

/* Once, as a network's weights are laid out when it is loaded; filters that are none weigh 0. */
static void pack_weights(const struct conv *v)
{
    for (size_t group = 0; group < v->groups; group++)
        for (size_t k = 0; k < v->wide; k += filters_at(v, k)) {
            float *out = packed_at(v, group, k);
            for (size_t t = 0; t < v->taps; t++)
                for (size_t i = k; i < k + filters_at(v, k); i++)
                    *out++ = i < v->kg ? w_at(v, group * v->kg + i)[t] : 0;
        }
    size_t *offset = (size_t *)(void *)v->offsets.base;
    for (size_t c = 0; c < v->deep; c++)
        for (size_t r = 0; r < v->r; r++)
            for (size_t s = 0; s < v->s; s++)
                *offset++ = (c * v->hp + r * v->dilation) * v->wp + s * v->dilation;
}

static void conv_fill(void *state, unsigned rank)
{
    struct conv *v = state;
    unsigned threads = v->config->variant == ONEDNN ? 1 : v->config->threads;
    size_t from, to, plane = v->hp * v->wp;
    float *x = (float *)(void *)v->x.base;
    rl_share(v->n * v->c, 1, rank, threads, &from, &to);
    rl_fill_pseudo(x, RL_FP32, from * plane, to * plane, 1);
    for (size_t i = from; i < to; i++)
        clear_padding(v, x + i * plane);
    rl_share(y_elements(v), 1024, rank, threads, &from, &to);
    rl_fill_pseudo(v->y.base, RL_FP32, from, to, 3);
    if (rank == 0) {
        rl_fill_pseudo(v->weights.base, RL_FP32, 0, w_elements(v), 2);
        rl_fill_pseudo(x, RL_FP32, x_elements(v), x_elements(v) + SLACK * v->stride, 4);
        if (v->many)
            pack_weights(v);
    }
    if (v->scratch_bytes)
        memset(v->scratch.base + rank * v->scratch_bytes, 1, v->scratch_bytes);
}

static const float *x_at(const struct conv *v, size_t image, size_t channel, size_t row)
{
    return (const float *)(const void *)v->x.base +
           ((image * v->c + channel) * v->hp + row) * v->wp;
}

static float *y_at(const struct conv *v, size_t image, size_t filter, size_t row)
{
    return (float *)(void *)v->y.base + ((image * v->k + filter) * v->oh + row) * v->ow;
}

static void run_rows(const struct conv *v, size_t image, size_t group, size_t row, size_t rows)
{
    struct rl_conv_row p = {.x = x_at(v, image, group * v->cg, row * v->stride),
                            .channels = v->cg,
                            .height = v->r,
                            .width = v->s,
                            .x_channel = v->hp * v->wp,
                            .x_row = v->dilation * v->wp,
                            .x_tap = v->dilation,
                            .x_step = v->stride,
                            .w = w_at(v, group * v->kg),
                            .filters = v->kg,
                            .y = y_at(v, image, group * v->kg, row),
                            .y_filter = v->oh * v->ow,
                            .outputs = v->ow,
                            .rows = rows,
                            .x_next = v->stride * v->wp};
    if (v->config->variant == NAIVE)
        rl_plain(RL_FP32)->conv_rows(&p);
    else
        v->kernels->conv_rows(&p);
}

/* One row of outputs: block by block of filters, sums over blocks of channels, then turned. */
static void run_many(const struct conv *v, size_t image, size_t group, size_t row, void *sum)
{
    for (size_t k = 0; k < v->wide; k += filters_at(v, k)) {
        const size_t filters = filters_at(v, k), plane = v->r * v->s;
        for (size_t c = 0; c < v->cg; c += v->deep) {
            struct rl_conv_sums p = {.x = x_at(v, image, group * v->cg + c, row * v->stride),
                                     .x_step = v->stride,
                                     .offset = (const size_t *)(const void *)v->offsets.base,
                                     .taps = least(v->deep, v->cg - c) * plane,
                                     .w = packed_at(v, group, k) + c * plane * filters,
                                     .vectors = (unsigned)(filters / v->kernels->lanes),
                                     .sum = sum,
                                     .outputs = v->ow,
                                     .add = c > 0};
            v->kernels->conv_sums(&p);
        }
        v->kernels->conv_turn(least(v->kg - k, filters), v->ow, filters, sum,
                              y_at(v, image, group * v->kg + k, row), v->oh * v->ow);
    }
}

/* Row `tap` of the matrix whose columns are the windows of rows from.. of outputs. */
static void gather_tap(const struct conv *v, size_t image, size_t channel, size_t r, size_t s,
                       size_t from, size_t rows, float *out)
{
    for (size_t i = 0; i < rows; i++, out += v->ow) {
        const float *x =
            x_at(v, image, channel, (from + i) * v->stride + r * v->dilation) + s * v->dilation;
        if (v->stride == 1)
            memcpy(out, x, v->ow * sizeof *out);
        else
            for (size_t j = 0; j < v->ow; j++)
                out[j] = x[j * v->stride];
    }
}

static void run_im2col(const struct conv *v, size_t image, size_t group, size_t from, char *scratch)
{
    size_t rows = v->oh - from < v->block ? v->oh - from : v->block, n = rows * v->ow;
    float *columns = (float *)(void *)scratch, *at = columns;
    for (size_t c = 0; c < v->cg; c++)
        for (size_t r = 0; r < v->r; r++)
            for (size_t s = 0; s < v->s; s++, at += n)
                gather_tap(v, image, group * v->cg + c, r, s, from, rows, at);
    rl_gemm_packed(&v->plan,
                   &(struct rl_gemm_problem){.m = v->kg,
                                             .n = n,
                                             .k = v->taps,
                                             .a = w_at(v, group * v->kg),
                                             .lda = v->taps,
                                             .b = columns,
                                             .ldb = n,
                                             .c = y_at(v, image, group * v->kg, from),
                                             .ldc = v->oh * v->ow},
                   scratch + v->column_bytes);
}

static void conv_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct conv *v = state;
    if (v->onednn) {
        rl_onednn_run(v->onednn);
        return;
    }
    bool im2col = v->config->variant == IM2COL;
    size_t step = im2col ? v->block : 1, parts = (v->oh + step - 1) / step, from, to;
    rl_share(v->n * v->groups * parts, 1, rank, v->config->threads, &from, &to);
    while (from < to) {
        size_t plane = from / parts, part = from % parts;
        size_t n = parts - part < to - from ? parts - part : to - from;
        size_t image = plane / v->groups, group = plane % v->groups;
        for (size_t i = part; im2col && i < part + n; i++)
            run_im2col(v, image, group, i * step, v->scratch.base + rank * v->scratch_bytes);
        for (size_t i = part; v->many && i < part + n; i++)
            run_many(v, image, group, i, v->scratch.base + rank * v->scratch_bytes);
        if (!im2col && !v->many)
            run_rows(v, image, group, part, n);
        from += n;
    }
}

static enum rl_status check_output(const struct conv *v, size_t at, struct rl_error *err)
{
    size_t o = at % v->ow, row = at / v->ow % v->oh, k = at / v->ow / v->oh % v->k,
           image = at / v->ow / v->oh / v->k, group = k / v->kg;
    double want = 0, scale = 0;
    const float *w = w_at(v, k);
    for (size_t c = 0; c < v->cg; c++)
        for (size_t r = 0; r < v->r; r++) {
            const float *x = x_at(v, image, group * v->cg + c, row * v->stride + r * v->dilation) +
                             o * v->stride;
            for (size_t s = 0; s < v->s; s++, w++) {
                double product = (double)*w * (double)x[s * v->dilation];
                want += product;
                scale += fabs(product);
            }
        }
    double got = (double)y_at(v, image, k, row)[o];
    /* oneDNN may use Winograd's algorithm, which rounds more. */
    double bound = (v->onednn ? 16 : 2) * (double)(v->taps + 4) * 0x1p-24 * scale;
    if (fabs(got - want) <= bound)
        return RL_OK;
    return rl_fail(err, RL_EDATA,
                   "conv2d: image %zu filter %zu row %zu column %zu is %.9g, should be %.9g", image,
                   k, row, o, got, want);
}

static enum rl_status conv_check(void *state, struct rl_error *err)
{
    const struct conv *v = state;
    const double most_macs = 5e7;
    if (v->onednn)
        rl_onednn_fetch(v->onednn);
    size_t outputs = y_elements(v);
    size_t step = 1 + (size_t)((double)outputs * (double)v->taps / most_macs);
    for (size_t at = 0; at < outputs; at += step)
        RL_TRY(check_output(v, at, err));
    return RL_OK;
}

const struct rl_workload rl_workload_conv2d = {
    .name = "conv2d",
    .summary = "2D convolution of images, fp32",
    .tolerance = "each output (of large ones a sample) within 2 (taps + 4) u times the sum of "
                 "magnitudes",
    .variant = variants,
    .n_variant = RL_COUNT_OF(variants),
    .default_variant = DIRECT,
    .precision = precisions,
    .n_precision = RL_COUNT_OF(precisions),
    .option = options,
    .n_option = RL_COUNT_OF(options),
    .label = conv_label,
    .probe = conv_probe,
    .prepare = conv_prepare,
    .memory = conv_memory,
    .account = conv_account,
    .allocate = conv_allocate,
    .fill = conv_fill,
    .run = conv_run,
    .check = conv_check,
    .release = conv_release,
};
