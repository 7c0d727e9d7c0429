/* spmv: y = A x with a sparse A, the textbook memory-bound kernel. */
#include "workload/kernels.h"
#include "workload/plain.h"
#include "workload/sparse.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAIVE, CSR, SELL };
enum { OPT_N, OPT_PATTERN, OPT_ROW_ENTRIES, OPT_SIGMA, OPT_MATRIX };

struct spmv {
    const struct rl_work_config *config;
    const struct rl_kernels *kernels;
    struct rl_sparse matrix;
    size_t element;
    size_t n_start;  /* rows (CSR) or chunks (SELL) */
    size_t chunk;    /* rows of a chunk; 1 for CSR */
    uint32_t *start; /* [n_start + 1] first entry of a row or chunk, padding included */
    uint32_t *row;   /* SELL: [n_start * chunk] row of each lane */
    struct rl_buffer start_buffer, row_buffer;
    uint64_t placed; /* entries with padding */
    struct rl_buffer column, value, x, y;
};

static const enum rl_precision precisions[] = {RL_FP64, RL_FP32};
/* In the order of enum rl_sparse_kind. */
static const char *const patterns[] = {"laplace5", "laplace7", "laplace27", "random", NULL};

static const struct rl_work_variant variants[] = {
    [NAIVE] = {.name = "naive", .summary = "compressed rows, one sum a row, scalar"},
    [CSR] = {.name = "csr",
             .summary = "compressed rows, four or eight entries at a time",
             .vectorised = true},
    [SELL] = {.name = "sell",
              .summary = "SELL-C-sigma: rows sorted by length within sigma, chunks in vectors",
              .vectorised = true},
};

static const struct rl_work_option options[] = {
    [OPT_N] = {.name = "n",
               .label = "COUNT",
               .help = "points along an edge, or rows if random (0: eight times the last cache)",
               .kind = RL_OPTION_COUNT,
               .max = INT32_MAX,
               .is_size = true},
    [OPT_PATTERN] = {.name = "pattern",
                     .label = "NAME",
                     .help = "matrix to generate",
                     .kind = RL_OPTION_CHOICE,
                     .choice = patterns},
    [OPT_ROW_ENTRIES] = {.name = "row-entries",
                         .label = "COUNT",
                         .help = "entries in each row of a random matrix",
                         .kind = RL_OPTION_COUNT,
                         .initial = 16,
                         .min = 1,
                         .max = 100000},
    [OPT_SIGMA] = {.name = "sigma",
                   .label = "COUNT",
                   .help = "rows sorted together for SELL",
                   .kind = RL_OPTION_COUNT,
                   .initial = 1024,
                   .min = 1,
                   .max = UINT64_C(1) << 31},
    [OPT_MATRIX] = {.name = "matrix",
                    .label = "FILE",
                    .help = "Matrix Market file to read instead",
                    .kind = RL_OPTION_TEXT},
};

static void spmv_label(const struct rl_work_config *config, char *out, size_t size)
{
    const char *path = config->setting[OPT_MATRIX].text;
    const char *slash = path ? strrchr(path, '/') : NULL;
    snprintf(out, size, "%s",
             slash  ? slash + 1
             : path ? path
                    : patterns[config->setting[OPT_PATTERN].number]);
}

static enum rl_status spmv_probe(const struct rl_work_config *config, struct rl_error *err)
{
    return config->setting[OPT_MATRIX].text ? rl_mtx_probe(err) : RL_OK;
}

/* What a file says is not generated, and each variant and pattern has options of its own. */
static const char *spmv_idle(const struct rl_work_config *config, unsigned option)
{
    const struct rl_setting *set = config->setting;
    if (option == OPT_SIGMA)
        return config->variant == SELL ? NULL : "only --variant sell sorts rows";
    if (option != OPT_MATRIX && set[OPT_MATRIX].text)
        return "the matrix comes from --matrix";
    if (option == OPT_ROW_ENTRIES && set[OPT_PATTERN].number != RL_SPARSE_RANDOM)
        return "only --pattern random has it";
    return NULL;
}

/* Edge or rows for which the entries take eight times the last cache. */
static uint64_t automatic_size(const struct spmv *s, enum rl_sparse_kind kind, double row_entries)
{
    double entries = (double)rl_work_streaming_bytes(s->config->env) / (double)(s->element + 4);
    static const double per_row[] = {
        [RL_SPARSE_LAPLACE5] = 5, [RL_SPARSE_LAPLACE7] = 7, [RL_SPARSE_LAPLACE27] = 27};
    if (kind == RL_SPARSE_RANDOM)
        return (uint64_t)(entries / row_entries) + 1;
    double rows = entries / per_row[kind];
    return (uint64_t)(kind == RL_SPARSE_LAPLACE5 ? sqrt(rows) : cbrt(rows)) + 1;
}

static enum rl_status get_matrix(struct spmv *s, struct rl_error *err)
{
    const struct rl_work_config *config = s->config;
    const char *path = config->setting[OPT_MATRIX].text;
    if (path) {
        uint64_t limit = config->env ? config->env->memory_bytes : 0;
        return rl_sparse_read(&s->matrix, path, limit ? limit : SIZE_MAX, err);
    }
    enum rl_sparse_kind kind = (enum rl_sparse_kind)config->setting[OPT_PATTERN].number;
    unsigned row_entries = (unsigned)config->setting[OPT_ROW_ENTRIES].number;
    uint64_t n = config->setting[OPT_N].number;
    return rl_sparse_generate(&s->matrix, kind, n ? n : automatic_size(s, kind, row_entries),
                              row_entries, err);
}

/* Rows of a window of sigma, longest first; equal ones stay in order. A row and its length in one
 * number make that a plain sort. */
static int descending(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x < y) - (x > y);
}

static enum rl_status sort_rows(struct spmv *s, struct rl_error *err)
{
    size_t rows = s->matrix.rows, sigma = s->config->setting[OPT_SIGMA].number;
    sigma = sigma < rows ? sigma : rows;
    uint64_t *key = malloc(sigma * sizeof *key);
    if (!key)
        return rl_fail(err, RL_ENOMEM, "spmv: no memory to sort %zu rows", sigma);
    for (size_t from = 0; from < rows; from += sigma) {
        size_t n = rows - from < sigma ? rows - from : sigma;
        for (size_t i = 0; i < n; i++)
            key[i] = (uint64_t)rl_sparse_row_length(&s->matrix, from + i) << 32 |
                     (UINT32_MAX - (uint32_t)i);
        qsort(key, n, sizeof *key, descending);
        for (size_t i = 0; i < n; i++)
            s->row[from + i] = (uint32_t)(from + (UINT32_MAX - (uint32_t)key[i]));
    }
    free(key);
    for (size_t i = rows; i < s->n_start * s->chunk; i++)
        s->row[i] = (uint32_t)rows;
    return RL_OK;
}

static size_t row_at(const struct spmv *s, size_t lane)
{
    return s->row ? s->row[lane] & ~RL_SELL_CONSECUTIVE : lane;
}

/* Chunks whose rows follow each other are stored as vectors. */
static void mark_consecutive(struct spmv *s)
{
    for (size_t c = 0; c < s->n_start; c++) {
        uint32_t *row = s->row + c * s->chunk;
        bool consecutive = row[0] + s->chunk <= s->matrix.rows;
        for (size_t l = 1; l < s->chunk; l++)
            consecutive = consecutive && row[l] == row[0] + l;
        if (consecutive)
            row[0] |= RL_SELL_CONSECUTIVE;
    }
}

/* Longest row of a chunk: its width. */
static unsigned chunk_width(const struct spmv *s, size_t chunk)
{
    unsigned width = 0;
    for (size_t l = 0; l < s->chunk; l++) {
        size_t row = row_at(s, chunk * s->chunk + l);
        unsigned n = row < s->matrix.rows ? rl_sparse_row_length(&s->matrix, row) : 0;
        width = n > width ? n : width;
    }
    return width;
}

static enum rl_status lay_out(struct spmv *s, struct rl_error *err)
{
    bool sell = s->config->variant == SELL;
    s->chunk = sell ? s->kernels->sell_rows : 1;
    s->n_start = (s->matrix.rows + s->chunk - 1) / s->chunk;
    RL_TRY(rl_buffer_map(&s->start_buffer, (s->n_start + 1) * sizeof *s->start, err));
    s->start = (uint32_t *)(void *)s->start_buffer.base;
    if (sell) {
        RL_TRY(rl_buffer_map(&s->row_buffer, s->n_start * s->chunk * sizeof *s->row, err));
        s->row = (uint32_t *)(void *)s->row_buffer.base;
        RL_TRY(sort_rows(s, err));
        mark_consecutive(s);
    }
    uint64_t at = 0;
    for (size_t c = 0; c < s->n_start; c++) {
        s->start[c] = (uint32_t)at;
        at += (uint64_t)chunk_width(s, c) * s->chunk;
        if (at > UINT32_MAX)
            return rl_fail(err, RL_EINVAL,
                           "spmv: the matrix has more than 2^32 entries with the padding of SELL; "
                           "use --variant csr");
    }
    s->start[s->n_start] = (uint32_t)at;
    s->placed = at;
    return RL_OK;
}

static void spmv_release(void *state)
{
    struct spmv *s = state;
    if (!s)
        return;
    rl_sparse_release(&s->matrix);
    rl_buffer_release(&s->start_buffer);
    rl_buffer_release(&s->row_buffer);
    rl_buffer_release(&s->column);
    rl_buffer_release(&s->value);
    rl_buffer_release(&s->x);
    rl_buffer_release(&s->y);
    free(s);
}

static uint64_t spmv_memory(const void *state)
{
    const struct spmv *s = state;
    uint64_t entries = s->placed ? s->placed : s->matrix.n;
    return entries * (s->element + 4) + (s->matrix.rows + s->matrix.columns) * (s->element + 4);
}

static enum rl_status spmv_prepare(const struct rl_work_config *config, void **ret_state,
                                   struct rl_error *err)
{
    struct spmv *s = calloc(1, sizeof *s);
    if (!s)
        return rl_fail(err, RL_ENOMEM, "spmv: no memory");
    s->config = config;
    /* Wider vectors would only be put together element by element; see vector/spmv.inc. */
    enum rl_work_isa isa = rl_work_best_isa(config);
    s->kernels = rl_kernels(isa > RL_WORK_AVX2 ? RL_WORK_AVX2 : isa, config->precision);
    s->element = rl_precision_size(config->precision);
    enum rl_status status = get_matrix(s, err);
    if (status == RL_OK)
        status = rl_work_check_memory(config, spmv_memory(s), err);
    if (status == RL_OK)
        status = lay_out(s, err);
    if (status != RL_OK) {
        spmv_release(s);
        return status;
    }
    *ret_state = s;
    return RL_OK;
}

/* Largest distance of an entry from the diagonal. */
static double bandwidth_of(const struct rl_mtx *m)
{
    double most = 0;
    for (size_t i = 0; i < m->rows; i++)
        for (uint64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
            most = fmax(most, fabs((double)m->column[k] - (double)i));
    return most;
}

/* The matrix streams by; an element of x is used again some rows later, and stays if a cache holds
 * what streams by in between. */
static void spmv_traffic(const struct spmv *s, struct rl_work_traffic *t)
{
    const struct rl_sparse *m = &s->matrix;
    double e = (double)s->element, threads = s->config->threads, edge = (double)m->edge;
    double x = (double)m->columns * e, y = (double)m->rows * e;
    double stream = t->working_set_bytes - x - y;
    double row = t->working_set_bytes / (double)m->rows;
    rl_traffic_step(t, t->working_set_bytes, 0, 0, 0);
    switch (m->kind) {
    case RL_SPARSE_LAPLACE5:
        rl_traffic_step(t, 2 * edge * row * threads, stream + x, y, y);
        rl_traffic_step(t, 0, stream + 3 * x, y, y);
        break;
    case RL_SPARSE_LAPLACE7:
    case RL_SPARSE_LAPLACE27:
        rl_traffic_step(t, 2 * edge * edge * row * threads, stream + x, y, y);
        rl_traffic_step(t, 2 * edge * row * threads, stream + 3 * x, y, y);
        rl_traffic_step(t, 0, stream + (m->kind == RL_SPARSE_LAPLACE7 ? 5 : 9) * x, y, y);
        break;
    case RL_SPARSE_FILE:
        rl_traffic_step(t, fmin(2 * bandwidth_of(&m->file) * row * threads, t->working_set_bytes),
                        stream + x, y, y);
        rl_traffic_unknown(t, 0,
                           "how often elements of x are loaded again depends on the pattern "
                           "of this matrix");
        break;
    case RL_SPARSE_RANDOM:
        rl_traffic_step(t, fmin(2 * x, t->working_set_bytes), stream + x, y, y);
        rl_traffic_unknown(t, 0, "x does not fit this cache and is read at random");
        break;
    }
}

static enum rl_status account_parameters(const struct spmv *s, struct rl_kernel *kernel,
                                         struct rl_error *err)
{
    const struct rl_sparse *m = &s->matrix;
    const char *path = s->config->setting[OPT_MATRIX].text;
    if (path)
        RL_TRY(rl_kernel_set_parameter(kernel, "matrix", path, err));
    else
        RL_TRY(rl_kernel_set_parameter(kernel, "pattern", patterns[m->kind], err));
    if (m->kind == RL_SPARSE_FILE)
        RL_TRY(rl_kernel_set_parameter(kernel, "symmetry", m->file.symmetry, err));
    RL_TRY(rl_account_parameter(kernel, "rows", (double)m->rows, err));
    RL_TRY(rl_account_parameter(kernel, "columns", (double)m->columns, err));
    RL_TRY(rl_account_parameter(kernel, "stored_nonzeros", (double)m->stored, err));
    RL_TRY(rl_account_parameter(kernel, "nonzeros", (double)m->n, err));
    if (s->config->variant == SELL)
        RL_TRY(rl_account_parameter(kernel, "padded_nonzeros", (double)s->placed, err));
    return RL_OK;
}

/* What kernels.h says that spmv_csr adds up at the end of a row. */
static double csr_adds(const struct spmv *s)
{
    size_t vectors = s->n_start;
    for (size_t i = 0; i < s->n_start; i++)
        vectors += s->start[i + 1] - s->start[i] >= RL_CSR_LONG;
    return 4 * (double)vectors;
}

static enum rl_status spmv_account(const void *state, struct rl_kernel *kernel,
                                   struct rl_work_traffic *t, struct rl_error *err)
{
    const struct spmv *s = state;
    const struct rl_sparse *m = &s->matrix;
    unsigned variant = s->config->variant;
    double e = (double)s->element, placed = (double)s->placed, rows = (double)m->rows;
    double lanes = (double)s->n_start * (double)s->chunk;
    RL_TRY(account_parameters(s, kernel, err));
    kernel->useful_flop = rl_value(2 * (double)m->n, RL_SOURCE_MODELLED, 0);
    double index = 4 * (double)s->n_start + (variant == SELL ? 4 * lanes : 0);
    t->load_bytes = placed * (2 * e + 4) + index;
    t->store_bytes = rows * e;
    t->compulsory_read = (double)m->n * (e + 4) + 4 * rows + (double)m->columns * e;
    t->compulsory_write = rows * e;
    t->working_set_bytes = placed * (e + 4) + index + ((double)m->columns + rows) * e;
    spmv_traffic(s, t);
    if (variant == NAIVE)
        return rl_account_multiply_add(kernel, s->config->precision, "scalar", false, placed, 0,
                                       err);
    return rl_account_multiply_add(kernel, s->config->precision, s->kernels->isa, s->kernels->fused,
                                   placed, variant == CSR ? csr_adds(s) : 0, err);
}

static enum rl_status spmv_allocate(void *state, struct rl_error *err)
{
    struct spmv *s = state;
    uint64_t entries = s->placed ? s->placed : 1;
    RL_TRY(rl_buffer_map(&s->column, entries * sizeof(uint32_t), err));
    RL_TRY(rl_buffer_map(&s->value, entries * s->element, err));
    RL_TRY(rl_buffer_map(&s->x, s->matrix.columns * s->element, err));
    return rl_buffer_map(&s->y, s->matrix.rows * s->element, err);
}

/* Rows or chunks of this rank: equal shares of the entries. */
static size_t border(const struct spmv *s, unsigned rank)
{
    uint64_t want = s->placed * rank / s->config->threads;
    size_t low = 0, high = s->n_start;
    if (rank == s->config->threads)
        return s->n_start;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->start[middle] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return rank == 0 ? 0 : low;
}

static void put(const struct spmv *s, size_t at, uint32_t column, double value)
{
    ((uint32_t *)(void *)s->column.base)[at] = column;
    if (s->config->precision == RL_FP64)
        ((double *)(void *)s->value.base)[at] = value;
    else
        ((float *)(void *)s->value.base)[at] = (float)value;
}

/* One row or lane: entries `step` apart, padded to `width` with zeros that multiply x[0]. */
static void place_row(const struct spmv *s, size_t row, size_t at, size_t step, size_t width,
                      uint32_t *column, double *value)
{
    unsigned n = 0;
    if (row < s->matrix.rows) {
        n = rl_sparse_row_length(&s->matrix, row);
        rl_sparse_row(&s->matrix, row, column, value);
    }
    for (size_t k = 0; k < width; k++)
        put(s, at + k * step, k < n ? column[k] : 0, k < n ? value[k] : 0);
}

static void spmv_fill(void *state, unsigned rank)
{
    struct spmv *s = state;
    unsigned longest = rl_sparse_longest_row(&s->matrix);
    uint32_t *column = malloc((longest + 1) * sizeof *column);
    double *value = malloc((longest + 1) * sizeof *value);
    size_t from, to;
    for (size_t c = border(s, rank), end = border(s, rank + 1); column && value && c < end; c++) {
        size_t width = (s->start[c + 1] - s->start[c]) / s->chunk;
        for (size_t l = 0; l < s->chunk; l++)
            place_row(s, row_at(s, c * s->chunk + l), s->start[c] + l, s->chunk, width, column,
                      value);
    }
    free(column);
    free(value);
    rl_share(s->matrix.columns, 4096 / s->element, rank, s->config->threads, &from, &to);
    rl_fill_pseudo(s->x.base, s->config->precision, from, to, 1);
    rl_share(s->matrix.rows, 4096 / s->element, rank, s->config->threads, &from, &to);
    rl_fill_pseudo(s->y.base, s->config->precision, from, to, 2);
}

static void spmv_run(void *state, unsigned rank, struct rl_team *team)
{
    (void)team;
    struct spmv *s = state;
    size_t from = border(s, rank), to = border(s, rank + 1);
    const uint32_t *column = (const uint32_t *)(const void *)s->column.base;
    if (s->config->variant == SELL)
        s->kernels->spmv_sell(from, to, s->start, column, s->value.base, s->row, s->matrix.rows,
                              s->x.base, s->y.base);
    else
        (s->config->variant == NAIVE ? rl_plain(s->config->precision)->spmv_csr
                                     : s->kernels->spmv_csr)(from, to, s->start, column,
                                                             s->value.base, s->x.base, s->y.base);
}

static enum rl_status check_rows(const struct spmv *s, uint32_t *column, double *value,
                                 struct rl_error *err)
{
    enum rl_precision p = s->config->precision;
    for (size_t i = 0; i < s->matrix.rows; i++) {
        double want = 0, scale = 0;
        unsigned n = rl_sparse_row_length(&s->matrix, i);
        rl_sparse_row(&s->matrix, i, column, value);
        for (unsigned k = 0; k < n; k++) {
            double product = value[k] * rl_load(s->x.base, p, column[k]);
            want += product;
            scale += fabs(product);
        }
        double got = rl_load(s->y.base, p, i);
        if (!(fabs(got - want) <= (n + 4) * rl_precision_epsilon(p) * scale))
            return rl_fail(err, RL_EDATA, "spmv: y[%zu] is %.17g, should be %.17g", i, got, want);
    }
    return RL_OK;
}

static enum rl_status spmv_check(void *state, struct rl_error *err)
{
    const struct spmv *s = state;
    unsigned longest = rl_sparse_longest_row(&s->matrix);
    uint32_t *column = malloc((longest + 1) * sizeof *column);
    double *value = malloc((longest + 1) * sizeof *value);
    enum rl_status status = column && value
                                ? check_rows(s, column, value, err)
                                : rl_fail(err, RL_ENOMEM, "spmv: no memory for the check");
    free(column);
    free(value);
    return status;
}

const struct rl_workload rl_workload_spmv = {
    .name = "spmv",
    .summary = "sparse matrix times vector, y = A x",
    .tolerance = "each element within (entries of the row + 4) u times the sum of magnitudes",
    .variant = variants,
    .n_variant = RL_COUNT_OF(variants),
    .default_variant = CSR,
    .precision = precisions,
    .n_precision = RL_COUNT_OF(precisions),
    .option = options,
    .n_option = RL_COUNT_OF(options),
    .label = spmv_label,
    .idle = spmv_idle,
    .probe = spmv_probe,
    .prepare = spmv_prepare,
    .memory = spmv_memory,
    .account = spmv_account,
    .allocate = spmv_allocate,
    .fill = spmv_fill,
    .run = spmv_run,
    .check = spmv_check,
    .release = spmv_release,
};
