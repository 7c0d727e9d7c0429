/* exp: y = exp(x) over arrays that stay in the L1: bound by the special function itself. */
#include "workload/kernels.h"
#include "workload/plain.h"
#include "workload/workload_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIBMVEC, LIBM };
enum { OPT_N };
enum { CACHE_LINE = 64 };

struct exp_state {
    const struct rl_work_config *config;
    const struct rl_kernels *kernels; /* of the width of `function` */
    rl_vector_fn *function;           /* NULL: libm */
    size_t n, element;
    size_t stride; /* bytes of one thread's x and y, each */
    struct rl_buffer buffer;
};

static const enum rl_precision precisions[] = {RL_FP64, RL_FP32};

static const struct rl_work_variant variants[] = {
    [LIBMVEC] = {.name = "libmvec",
                 .summary = "glibc's vector exp, at most 4 ULP off",
                 .vectorised = true},
    [LIBM] = {.name = "libm", .summary = "the C library's exp, one at a time, at most 1 ULP off"},
};

static const struct rl_work_option options[] = {
    [OPT_N] = {.name = "n",
               .label = "COUNT",
               .help = "elements for each thread",
               .kind = RL_OPTION_COUNT,
               .initial = 1024,
               .min = 1,
               .max = UINT64_C(1) << 32,
               .is_size = true},
};

/* The x86-64 vector ABI: _ZGV, ISA letter, N for unmasked, lanes, v for a vector argument. */
static const char *const symbols[RL_WORK_ISA_COUNT][2] = {
    [RL_WORK_BASE] = {"_ZGVbN2v_exp", "_ZGVbN4v_expf"},
    [RL_WORK_AVX2] = {"_ZGVdN4v_exp", "_ZGVdN8v_expf"},
    [RL_WORK_AVX512] = {"_ZGVeN8v_exp", "_ZGVeN16v_expf"},
};

static enum rl_status find_function(enum rl_work_isa isa, enum rl_precision precision,
                                    rl_vector_fn **ret_function, struct rl_error *err)
{
#if defined(__x86_64__)
    /* Stays loaded: it is part of the C library. */
    void *handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, symbols[isa][precision == RL_FP64 ? 0 : 1]) : NULL;
    if (handle)
        dlclose(handle);
    if (symbol) {
        memcpy(ret_function, &symbol, sizeof symbol);
        return RL_OK;
    }
#else
    (void)symbols, (void)isa, (void)precision, (void)ret_function;
#endif
    return rl_fail(err, RL_EUNAVAIL,
                   "no libmvec.so.1 with a vector exp on this system; use --variant libm");
}

static enum rl_status exp_probe(const struct rl_work_config *config, struct rl_error *err)
{
    rl_vector_fn *function = NULL;
    if (config->variant == LIBM)
        return RL_OK;
    return find_function(rl_work_best_isa(config), config->precision, &function, err);
}

static enum rl_status exp_prepare(const struct rl_work_config *config, void **ret_state,
                                  struct rl_error *err)
{
    struct exp_state *s = calloc(1, sizeof *s);
    if (!s)
        return rl_fail(err, RL_ENOMEM, "exp: no memory");
    s->config = config;
    s->kernels = rl_kernels(rl_work_best_isa(config), config->precision);
    s->element = rl_precision_size(config->precision);
    s->n = config->setting[OPT_N].number;
    s->stride = (s->n * s->element + 2 * CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    enum rl_status status =
        config->variant == LIBM
            ? RL_OK
            : find_function(rl_work_best_isa(config), config->precision, &s->function, err);
    if (status != RL_OK) {
        free(s);
        return status;
    }
    *ret_state = s;
    return RL_OK;
}

static uint64_t exp_memory(const void *state)
{
    const struct exp_state *s = state;
    return rl_size_mul(s->stride, 2, s->config->threads);
}

static enum rl_status exp_account(const void *state, struct rl_kernel *kernel,
                                  struct rl_work_traffic *t, struct rl_error *err)
{
    const struct exp_state *s = state;
    double n = (double)s->n * s->config->threads, bytes = n * (double)s->element;
    RL_TRY(rl_account_parameter(kernel, "n", (double)s->n, err));
    t->load_bytes = t->store_bytes = bytes;
    t->compulsory_read = t->compulsory_write = bytes;
    t->working_set_bytes = 2 * bytes;
    rl_traffic_step(t, t->working_set_bytes, 0, 0, 0);
    rl_traffic_step(t, 0, bytes, bytes, bytes);
    struct rl_op_count ops = {.precision = s->config->precision,
                              .op = RL_OP_SPECIAL,
                              .func = "exp",
                              .count = rl_value(n, RL_SOURCE_MODELLED, 0)};
    snprintf(ops.isa, sizeof ops.isa, "%s", variants[s->config->variant].name);
    kernel->flop = rl_value(0, RL_SOURCE_MODELLED, 0);
    return rl_kernel_add_ops(kernel, &ops, err);
}

static enum rl_status exp_allocate(void *state, struct rl_error *err)
{
    struct exp_state *s = state;
    return rl_buffer_map(&s->buffer, s->stride * 2 * s->config->threads, err);
}

static char *part_of(const struct exp_state *s, unsigned rank, unsigned array)
{
    return s->buffer.base + (2 * rank + array) * s->stride;
}

static void exp_fill(void *state, unsigned rank)
{
    struct exp_state *s = state;
    rl_fill_pseudo(part_of(s, rank, 0), s->config->precision, 0, s->n, rank + 1);
    rl_fill_pseudo(part_of(s, rank, 1), s->config->precision, 0, s->n, rank + 2);
}

static void exp_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct exp_state *s = state;
    if (s->function)
        s->kernels->map(s->n, part_of(s, rank, 0), part_of(s, rank, 1), s->function);
    else
        rl_plain(s->config->precision)->exp(s->n, part_of(s, rank, 0), part_of(s, rank, 1));
}

static enum rl_status exp_check(void *state, struct rl_error *err)
{
    const struct exp_state *s = state;
    double bound = 8 * rl_precision_epsilon(s->config->precision);
    for (unsigned rank = 0; rank < s->config->threads; rank++)
        for (size_t i = 0; i < s->n; i++) {
            double want = exp(rl_load(part_of(s, rank, 0), s->config->precision, i));
            double got = rl_load(part_of(s, rank, 1), s->config->precision, i);
            if (!(fabs(got - want) <= bound * want))
                return rl_fail(err, RL_EDATA, "exp: element %zu is %.17g, should be %.17g", i, got,
                               want);
        }
    return RL_OK;
}

static void exp_release(void *state)
{
    struct exp_state *s = state;
    if (!s)
        return;
    rl_buffer_release(&s->buffer);
    free(s);
}

const struct rl_workload rl_workload_exp = {
    .name = "exp",
    .summary = "y = exp(x) within the L1: bound by the special function",
    .tolerance = "each element within 8 u of the C library's fp64 exp",
    .variant = variants,
    .n_variant = RL_COUNT_OF(variants),
    .default_variant = LIBMVEC,
    .precision = precisions,
    .n_precision = RL_COUNT_OF(precisions),
    .option = options,
    .n_option = RL_COUNT_OF(options),
    .probe = exp_probe,
    .prepare = exp_prepare,
    .memory = exp_memory,
    .account = exp_account,
    .allocate = exp_allocate,
    .fill = exp_fill,
    .run = exp_run,
    .check = exp_check,
    .release = exp_release,
};
