#include "workload/mtx.h"

#include "base/error.h"
#include "base/file.h"
#include "base/unit.h"
#include "workload/mtx_internal.h"

#include <cholmod.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* CHOLMOD, loaded when a file is read: it pulls in a BLAS, which starts threads of its own in every
 * program that is linked with it, measured ones included. */
struct cholmod {
    cholmod_common common;
    int (*start)(cholmod_common *);
    int (*finish)(cholmod_common *);
    cholmod_triplet *(*read_triplet)(FILE *, cholmod_common *);
    cholmod_dense *(*read_dense)(FILE *, cholmod_common *);
    int (*free_triplet)(cholmod_triplet **, cholmod_common *);
    int (*free_dense)(cholmod_dense **, cholmod_common *);
};

static bool find_symbol(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);
    memcpy(ret_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static enum rl_status cholmod_open(struct cholmod *c, struct rl_error *err)
{
    void *handle = dlopen(CHOLMOD_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool ok = handle && find_symbol(handle, "cholmod_start", &c->start) &&
              find_symbol(handle, "cholmod_finish", &c->finish) &&
              find_symbol(handle, "cholmod_read_triplet", &c->read_triplet) &&
              find_symbol(handle, "cholmod_read_dense", &c->read_dense) &&
              find_symbol(handle, "cholmod_free_triplet", &c->free_triplet) &&
              find_symbol(handle, "cholmod_free_dense", &c->free_dense);
    if (handle)
        dlclose(handle);
    if (!ok)
        return rl_fail(err, RL_EUNAVAIL,
                       "Matrix Market files are read by %s, which cannot be loaded here; install "
                       "SuiteSparse",
                       CHOLMOD_SONAME);
    c->start(&c->common);
    c->common.print = 0; /* the library must not print */
    return RL_OK;
}

enum rl_status rl_mtx_probe(struct rl_error *err)
{
    struct cholmod c;
    RL_TRY(cholmod_open(&c, err));
    c.finish(&c.common);
    return RL_OK;
}

/* An entry where it is stored, and where symmetry repeats it. */
struct entry {
    size_t row, column;
    double value;
};

/* The k-th entry of a triplet or dense matrix; `mirror` says whether its transpose is to be added.
 */
struct entries {
    const cholmod_triplet *triplet; /* or */
    const cholmod_dense *dense;
    bool mirror, ones;
};

static uint64_t entries_count(const struct entries *e)
{
    return e->triplet ? e->triplet->nnz : (uint64_t)e->dense->nrow * e->dense->ncol;
}

static struct entry entries_at(const struct entries *e, uint64_t k)
{
    if (e->triplet) {
        const int *row = e->triplet->i, *column = e->triplet->j;
        const double *value = e->triplet->x;
        return (struct entry){(size_t)row[k], (size_t)column[k], e->ones ? 1 : value[k]};
    }
    const cholmod_dense *d = e->dense;
    return (struct entry){k % d->nrow, k / d->nrow,
                          ((const double *)d->x)[k % d->nrow + k / d->nrow * d->d]};
}

/* Sort into rows by counting; the order of the file stays within a row. */
static void fill_rows(struct rl_mtx *m, const struct entries *e)
{
    uint64_t n = entries_count(e);
    for (uint64_t k = 0; k < n; k++) {
        struct entry x = entries_at(e, k);
        m->row_start[x.row + 1]++;
        if (e->mirror && x.row != x.column)
            m->row_start[x.column + 1]++;
    }
    for (size_t i = 0; i < m->rows; i++)
        m->row_start[i + 1] += m->row_start[i];
    for (uint64_t k = 0; k < n; k++) {
        struct entry x = entries_at(e, k);
        uint64_t at = m->row_start[x.row]++;
        m->column[at] = (uint32_t)x.column;
        m->value[at] = x.value;
        if (!e->mirror || x.row == x.column)
            continue;
        at = m->row_start[x.column]++;
        m->column[at] = (uint32_t)x.row;
        m->value[at] = x.value;
    }
    memmove(m->row_start + 1, m->row_start, m->rows * sizeof *m->row_start);
    m->row_start[0] = 0;
}

static uint64_t count_expanded(const struct entries *e)
{
    uint64_t n = entries_count(e), total = n;
    for (uint64_t k = 0; e->mirror && k < n; k++) {
        struct entry x = entries_at(e, k);
        total += x.row != x.column;
    }
    return total;
}

static enum rl_status fail_memory(const char *name, const char *more, uint64_t bytes,
                                  uint64_t max_bytes, struct rl_error *err)
{
    char needed[32], there[32];
    return rl_fail(err, RL_ENOMEM, "%s: the matrix needs %s%s of memory, %s are available", name,
                   more, rl_format_size(needed, sizeof needed, bytes),
                   rl_format_size(there, sizeof there, max_bytes));
}

static enum rl_status convert(const struct rl_mtx_header *h, const struct entries *e,
                              const char *name, uint64_t max_bytes, struct rl_mtx *ret_matrix,
                              struct rl_error *err)
{
    struct rl_mtx m = {.rows = h->rows, .columns = h->columns, .stored = h->stored};
    m.n = count_expanded(e);
    uint64_t bytes =
        (m.rows + 1) * sizeof *m.row_start + m.n * (sizeof *m.column + sizeof *m.value);
    if (bytes > max_bytes)
        return fail_memory(name, "", bytes, max_bytes, err);
    m.row_start = calloc(m.rows + 1, sizeof *m.row_start);
    m.column = malloc((m.n + 1) * sizeof *m.column);
    m.value = malloc((m.n + 1) * sizeof *m.value);
    if (!m.row_start || !m.column || !m.value) {
        rl_mtx_release(&m);
        return rl_fail(err, RL_ENOMEM, "%s: no memory for the matrix", name);
    }
    fill_rows(&m, e);
    snprintf(m.field, sizeof m.field, "%s", rl_mtx_fields[h->field]);
    snprintf(m.symmetry, sizeof m.symmetry, "%s", rl_mtx_symmetries[h->symmetry]);
    *ret_matrix = m;
    return RL_OK;
}

static enum rl_status read_checked(struct cholmod *c, FILE *f, const struct rl_mtx_header *h,
                                   const char *name, uint64_t max_bytes, struct rl_mtx *ret_matrix,
                                   struct rl_error *err)
{
    cholmod_triplet *triplet = h->array ? NULL : c->read_triplet(f, &c->common);
    cholmod_dense *dense = h->array ? c->read_dense(f, &c->common) : NULL;
    struct entries e = {.triplet = triplet,
                        .dense = dense,
                        .mirror = triplet && triplet->stype != 0,
                        .ones = h->field == RL_MTX_PATTERN};
    enum rl_status status = RL_OK;
    if (!triplet && !dense)
        status = rl_fail(err, c->common.status == CHOLMOD_OUT_OF_MEMORY ? RL_ENOMEM : RL_EDATA,
                         "%s: CHOLMOD cannot read this matrix (status %d)", name, c->common.status);
    /* Guards the casts above against a reader that sees another matrix than we checked. */
    else if ((triplet && (triplet->nrow != h->rows || triplet->ncol != h->columns ||
                          triplet->xtype != CHOLMOD_REAL || triplet->itype != CHOLMOD_INT)) ||
             (dense && (dense->nrow != h->rows || dense->ncol != h->columns ||
                        dense->xtype != CHOLMOD_REAL)))
        status = rl_fail(err, RL_EDATA, "%s: CHOLMOD reads another matrix than the file announces",
                         name);
    else
        status = convert(h, &e, name, max_bytes, ret_matrix, err);
    if (triplet)
        c->free_triplet(&triplet, &c->common);
    if (dense)
        c->free_dense(&dense, &c->common);
    return status;
}

enum rl_status rl_mtx_parse(char *text, size_t size, const char *name, uint64_t max_bytes,
                            struct rl_mtx *ret_matrix, struct rl_error *err)
{
    struct rl_mtx_header header;
    struct cholmod c;
    RL_TRY(rl_mtx_check(text, size, name, &header, err));
    uint64_t least = (header.rows + 1) * sizeof(uint64_t) + header.stored * sizeof(double);
    if (least > max_bytes)
        return fail_memory(name, "more than ", least, max_bytes, err);
    RL_TRY(cholmod_open(&c, err));
    FILE *f = fmemopen(text, size, "r");
    enum rl_status status = f ? read_checked(&c, f, &header, name, max_bytes, ret_matrix, err)
                              : rl_fail_errno(err, "%s: cannot be read from memory", name);
    if (f)
        fclose(f);
    c.finish(&c.common);
    return status;
}

enum rl_status rl_mtx_read(const char *path, uint64_t max_bytes, struct rl_mtx *ret_matrix,
                           struct rl_error *err)
{
    char *text;
    size_t size;
    struct stat st;
    if (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) /* may never end */
        return rl_fail(err, RL_EDATA, "%s: is a device, not a Matrix Market file", path);
    RL_TRY(rl_file_read(path, max_bytes, &text, &size, err));
    enum rl_status status = rl_mtx_parse(text, size, path, max_bytes, ret_matrix, err);
    free(text);
    return status;
}

void rl_mtx_release(struct rl_mtx *matrix)
{
    free(matrix->row_start);
    free(matrix->column);
    free(matrix->value);
    memset(matrix, 0, sizeof *matrix);
}
