/* copy, axpy, dot and triad: one pass over long arrays, as much traffic as work. */
#include "workload/kernels.h"
#include "workload/plain.h"
#include "workload/workload_internal.h"

#include <stdlib.h>

enum { VECTORISED, SCALAR, NONTEMPORAL };
enum { OPT_N };
enum { CACHE_LINE = 64 };

/* What tells the four apart; everything else is shared. */
struct stream_kind {
    unsigned arrays; /* the last one is the output, unless none is written */
    unsigned loads;  /* arrays read */
    bool stores, multiplies;
    bool updates; /* the output is also an input */
};

static const struct stream_kind copy_kind = {.arrays = 2, .loads = 1, .stores = true};
static const struct stream_kind axpy_kind = {
    .arrays = 2, .loads = 2, .stores = true, .multiplies = true, .updates = true};
static const struct stream_kind dot_kind = {.arrays = 2, .loads = 2, .multiplies = true};
static const struct stream_kind triad_kind = {
    .arrays = 3, .loads = 2, .stores = true, .multiplies = true};

struct stream {
    const struct rl_work_config *config;
    const struct stream_kind *kind;
    const struct rl_kernels *kernels;
    size_t n, element;
    size_t stride; /* bytes between the starts of arrays */
    struct rl_buffer buffer;
    double *partial; /* dot: [threads * 8] one sum a thread, a cache line apart */
};

static const double factor = 0.75;

static const enum rl_precision precisions[] = {RL_FP64, RL_FP32};

static const struct rl_work_option options[] = {
    [OPT_N] = {.name = "n",
               .label = "COUNT",
               .help = "elements an array (0: eight times the last cache in all)",
               .kind = RL_OPTION_COUNT,
               .max = UINT64_C(1) << 40,
               .is_size = true},
};

static const struct rl_work_variant variants[] = {
    [VECTORISED] = {.name = "vectorised", .summary = "vector loads and stores", .vectorised = true},
    [SCALAR] = {.name = "scalar", .summary = "one element at a time"},
    [NONTEMPORAL] = {.name = "nontemporal",
                     .summary = "vector stores that bypass the caches",
                     .vectorised = true},
};

static void *array_of(const struct stream *s, unsigned i)
{
    return s->buffer.base + i * s->stride;
}

static const struct stream_kind *kind_of(const struct rl_workload *workload)
{
    return workload == &rl_workload_copy   ? &copy_kind
           : workload == &rl_workload_axpy ? &axpy_kind
           : workload == &rl_workload_dot  ? &dot_kind
                                           : &triad_kind;
}

static enum rl_status stream_probe(const struct rl_work_config *config, struct rl_error *err)
{
    const struct rl_kernels *kernels = rl_kernels(rl_work_best_isa(config), config->precision);
    if (config->variant == NONTEMPORAL && !kernels->copy_nt)
        return rl_fail(err, RL_EUNAVAIL, "%s: no non-temporal stores on this architecture",
                       config->workload->name);
    return RL_OK;
}

static enum rl_status stream_prepare(const struct rl_work_config *config, void **ret_state,
                                     struct rl_error *err)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return rl_fail(err, RL_ENOMEM, "%s: no memory", config->workload->name);
    s->config = config;
    s->kind = kind_of(config->workload);
    s->kernels = rl_kernels(rl_work_best_isa(config), config->precision);
    s->element = rl_precision_size(config->precision);
    s->n = config->setting[OPT_N].number;
    if (!s->n) {
        uint64_t lines = rl_work_streaming_bytes(config->env) / s->kind->arrays / 4096;
        s->n = (size_t)(lines ? lines : 1) * 4096 / s->element;
    }
    /* Arrays start at different offsets within a page, lest loads wait for unrelated stores. */
    s->stride = (s->n * s->element + 4095) / 4096 * 4096 + 1024 + CACHE_LINE;
    *ret_state = s;
    return RL_OK;
}

static uint64_t stream_memory(const void *state)
{
    const struct stream *s = state;
    return rl_size_mul(s->stride, s->kind->arrays, 1);
}

static enum rl_status stream_account(const void *state, struct rl_kernel *kernel,
                                     struct rl_work_traffic *t, struct rl_error *err)
{
    const struct stream *s = state;
    double bytes = (double)s->n * (double)s->element;
    double read = bytes * s->kind->loads, write = s->kind->stores ? bytes : 0;
    bool nt = s->config->variant == NONTEMPORAL;
    bool scalar = s->config->variant == SCALAR;
    RL_TRY(rl_account_parameter(kernel, "n", (double)s->n, err));
    t->load_bytes = read;
    t->store_bytes = write;
    t->nontemporal_bytes = nt ? write : 0;
    t->compulsory_read = read;
    t->compulsory_write = write;
    t->working_set_bytes = bytes * s->kind->arrays;
    /* Past the caches, written lines never stay: behind each level the stores are seen again. */
    rl_traffic_step(t, t->working_set_bytes, 0, nt ? write : 0, 0);
    rl_traffic_step(t, 0, read, write, nt || s->kind->updates ? 0 : write);
    if (!s->kind->multiplies) {
        kernel->flop = rl_value(0, RL_SOURCE_MODELLED, 0);
        return RL_OK;
    }
    kernel->useful_flop = rl_value(2 * (double)s->n, RL_SOURCE_MODELLED, 0);
    return rl_account_multiply_add(kernel, s->config->precision,
                                   scalar ? "scalar" : s->kernels->isa,
                                   !scalar && s->kernels->fused, (double)s->n, 0, err);
}

static enum rl_status stream_allocate(void *state, struct rl_error *err)
{
    struct stream *s = state;
    s->partial = calloc(s->config->threads, CACHE_LINE);
    if (!s->partial)
        return rl_fail(err, RL_ENOMEM, "%s: no memory", s->config->workload->name);
    return rl_buffer_map(&s->buffer, s->stride * s->kind->arrays, err);
}

static void share_of(const struct stream *s, unsigned rank, size_t *from, size_t *to)
{
    rl_share(s->n, 4096 / s->element, rank, s->config->threads, from, to);
}

static void stream_fill(void *state, unsigned rank)
{
    struct stream *s = state;
    size_t from, to;
    share_of(s, rank, &from, &to);
    for (unsigned i = 0; i < s->kind->arrays; i++)
        rl_fill_pseudo(array_of(s, i), s->config->precision, from, to, i + 1);
}

static double run_dot(const struct stream *s, size_t n, const void *x, const void *y)
{
    return s->config->variant == SCALAR ? rl_plain(s->config->precision)->dot(n, x, y)
                                        : s->kernels->dot(n, x, y);
}

static void stream_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct stream *s = state;
    const struct rl_kernels *k = s->kernels;
    const struct rl_plain *plain = rl_plain(s->config->precision);
    size_t from, to;
    share_of(s, rank, &from, &to);
    char *part[3] = {0};
    for (unsigned i = 0; i < s->kind->arrays; i++)
        part[i] = (char *)array_of(s, i) + from * s->element;
    const unsigned v = s->config->variant;
    size_t n = to - from;
    if (s->kind == &copy_kind)
        (v == SCALAR ? plain->copy : v == NONTEMPORAL ? k->copy_nt : k->copy)(n, part[0], part[1]);
    else if (s->kind == &axpy_kind)
        (v == SCALAR ? plain->axpy : k->axpy)(n, factor, part[0], part[1]);
    else if (s->kind == &dot_kind)
        s->partial[rank * (CACHE_LINE / sizeof *s->partial)] = run_dot(s, n, part[0], part[1]);
    else
        (v == SCALAR        ? plain->triad
         : v == NONTEMPORAL ? k->triad_nt
                            : k->triad)(n, factor, part[0], part[1], part[2]);
}

static enum rl_status check_dot(const struct stream *s, struct rl_error *err)
{
    double got = 0, want = 0, scale = 0;
    for (unsigned rank = 0; rank < s->config->threads; rank++)
        got += s->partial[rank * (CACHE_LINE / sizeof *s->partial)];
    for (size_t i = 0; i < s->n; i++) {
        double product = rl_pseudo(1, i) * rl_pseudo(2, i);
        want += product;
        scale += fabs(product);
    }
    double bound = (double)s->n * rl_precision_epsilon(s->config->precision) * scale;
    if (fabs(got - want) <= bound)
        return RL_OK;
    return rl_fail(err, RL_EDATA, "dot: %.17g, should be %.17g within %.2g", got, want, bound);
}

static enum rl_status stream_check(void *state, struct rl_error *err)
{
    const struct stream *s = state;
    if (s->kind == &dot_kind)
        return check_dot(s, err);
    double u = rl_precision_epsilon(s->config->precision);
    for (size_t i = 0; i < s->n; i++) {
        double first = rl_pseudo(1, i), second = rl_pseudo(2, i);
        double want = s->kind == &copy_kind   ? first
                      : s->kind == &axpy_kind ? second + factor * first
                                              : first + factor * second;
        double bound = s->kind == &copy_kind ? 0 : 4 * u * (fabs(first) + fabs(second));
        double got = rl_load(array_of(s, s->kind->arrays - 1), s->config->precision, i);
        if (!(fabs(got - want) <= bound))
            return rl_fail(err, RL_EDATA, "%s: element %zu is %.17g, should be %.17g",
                           s->config->workload->name, i, got, want);
    }
    return RL_OK;
}

static void stream_release(void *state)
{
    struct stream *s = state;
    if (!s)
        return;
    free(s->partial);
    rl_buffer_release(&s->buffer);
    free(s);
}

#define STREAM_WORKLOAD(name_, summary_, n_variant_, tolerance_)                                   \
    const struct rl_workload rl_workload_##name_ = {                                               \
        .name = #name_,                                                                            \
        .summary = summary_,                                                                       \
        .tolerance = tolerance_,                                                                   \
        .variant = variants,                                                                       \
        .n_variant = n_variant_,                                                                   \
        .default_variant = VECTORISED,                                                             \
        .precision = precisions,                                                                   \
        .n_precision = RL_COUNT_OF(precisions),                                                    \
        .option = options,                                                                         \
        .n_option = RL_COUNT_OF(options),                                                          \
        .probe = stream_probe,                                                                     \
        .prepare = stream_prepare,                                                                 \
        .memory = stream_memory,                                                                   \
        .account = stream_account,                                                                 \
        .allocate = stream_allocate,                                                               \
        .fill = stream_fill,                                                                       \
        .run = stream_run,                                                                         \
        .check = stream_check,                                                                     \
        .release = stream_release,                                                                 \
    }

STREAM_WORKLOAD(axpy, "y = y + s x", NONTEMPORAL, "each element within 4 u (|x| + |y|)");
STREAM_WORKLOAD(copy, "a = b: no FLOP, judged on bandwidth", RL_COUNT_OF(variants), "equal");
STREAM_WORKLOAD(dot, "sum of x y", NONTEMPORAL, "within n u times the sum of magnitudes");
STREAM_WORKLOAD(triad, "a = b + s c", RL_COUNT_OF(variants), "each element within 4 u (|b| + |c|)");
