#include "workload/sparse.h"

#include "base/error.h"
#include "workload/workload_internal.h"

#include <string.h>

/* Bits of a neighbour's offsets; which neighbours a point has depends on its place in the grid. */
struct point {
    size_t x, y, z;
};

static struct point point_of(const struct rl_sparse *m, size_t row)
{
    size_t n = m->edge;
    return (struct point){row % n, row / n % n, row / n / n};
}

static bool is_cube(const struct rl_sparse *m)
{
    return m->kind != RL_SPARSE_LAPLACE5;
}

/* Is (dx, dy, dz) a neighbour, or the point itself, in this kind of Laplacian? */
static bool belongs(const struct rl_sparse *m, int dx, int dy, int dz)
{
    if (m->kind == RL_SPARSE_LAPLACE27)
        return true;
    return (dx != 0) + (dy != 0) + (dz != 0) <= 1;
}

static bool inside(size_t at, int d, size_t n)
{
    return !(at == 0 && d < 0) && !(at == n - 1 && d > 0);
}

static unsigned laplace_row(const struct rl_sparse *m, size_t row, uint32_t *column, double *value)
{
    struct point p = point_of(m, row);
    ptrdiff_t n = (ptrdiff_t)m->edge;
    double centre = m->kind == RL_SPARSE_LAPLACE5 ? 4 : m->kind == RL_SPARSE_LAPLACE7 ? 6 : 26;
    unsigned count = 0;
    int depth = is_cube(m) ? 1 : 0;
    for (int dz = -depth; dz <= depth; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (!belongs(m, dx, dy, dz) || !inside(p.x, dx, m->edge) ||
                    !inside(p.y, dy, m->edge) || (depth && !inside(p.z, dz, m->edge)))
                    continue;
                if (column) {
                    column[count] = (uint32_t)((ptrdiff_t)row + dx + dy * n + dz * n * n);
                    value[count] = dx || dy || dz ? -1 : centre;
                }
                count++;
            }
    return count;
}

/* Product over dimensions of the neighbours a point has: 3 along an edge's inside, 2 at its ends.
 */
static unsigned laplace_length(const struct rl_sparse *m, size_t row)
{
    struct point p = point_of(m, row);
    const size_t at[] = {p.x, p.y, p.z};
    unsigned product = 1, sum = 1;
    for (int d = 0; d < (is_cube(m) ? 3 : 2); d++) {
        unsigned here = (unsigned)inside(at[d], -1, m->edge) + inside(at[d], 1, m->edge);
        product *= 1 + here;
        sum += here;
    }
    return m->kind == RL_SPARSE_LAPLACE27 ? product : sum;
}

/* Entries of the whole Laplacian: each pair of neighbours counts twice, each point once. */
static double laplace_entries(enum rl_sparse_kind kind, double n)
{
    if (kind == RL_SPARSE_LAPLACE5)
        return 5 * n * n - 4 * n;
    if (kind == RL_SPARSE_LAPLACE7)
        return 7 * n * n * n - 6 * n * n;
    return (3 * n - 2) * (3 * n - 2) * (3 * n - 2);
}

enum rl_status rl_sparse_generate(struct rl_sparse *m, enum rl_sparse_kind kind, uint64_t size,
                                  unsigned row_entries, struct rl_error *err)
{
    const double most = (double)UINT32_MAX, most_rows = (double)INT32_MAX;
    double n = (double)size;
    double rows = kind == RL_SPARSE_RANDOM ? n : kind == RL_SPARSE_LAPLACE5 ? n * n : n * n * n;
    double entries = kind == RL_SPARSE_RANDOM ? n * row_entries : laplace_entries(kind, n);
    if (rows > most_rows || entries > most)
        return rl_fail(err, RL_EINVAL,
                       "spmv: %.3g rows with %.3g entries are more than 32-bit indices can tell "
                       "apart; choose a smaller --n",
                       rows, entries);
    *m = (struct rl_sparse){.kind = kind,
                            .rows = (size_t)rows,
                            .columns = (size_t)rows,
                            .n = (uint64_t)entries,
                            .stored = (uint64_t)entries,
                            .edge = (size_t)size,
                            .row_entries = row_entries};
    return RL_OK;
}

enum rl_status rl_sparse_read(struct rl_sparse *m, const char *path, uint64_t max_bytes,
                              struct rl_error *err)
{
    *m = (struct rl_sparse){.kind = RL_SPARSE_FILE};
    RL_TRY(rl_mtx_read(path, max_bytes, &m->file, err));
    m->rows = m->file.rows;
    m->columns = m->file.columns;
    m->n = m->file.n;
    m->stored = m->file.stored;
    if (m->n <= UINT32_MAX)
        return RL_OK;
    rl_sparse_release(m);
    return rl_fail(err, RL_EDATA, "%s: more than 2^32 entries are not supported", path);
}

void rl_sparse_release(struct rl_sparse *m)
{
    rl_mtx_release(&m->file);
    memset(m, 0, sizeof *m);
}

unsigned rl_sparse_row_length(const struct rl_sparse *m, size_t row)
{
    if (m->kind == RL_SPARSE_FILE)
        return (unsigned)(m->file.row_start[row + 1] - m->file.row_start[row]);
    return m->kind == RL_SPARSE_RANDOM ? m->row_entries : laplace_length(m, row);
}

void rl_sparse_row(const struct rl_sparse *m, size_t row, uint32_t *column, double *value)
{
    if (m->kind == RL_SPARSE_FILE) {
        uint64_t from = m->file.row_start[row];
        unsigned n = rl_sparse_row_length(m, row);
        memcpy(column, m->file.column + from, n * sizeof *column);
        memcpy(value, m->file.value + from, n * sizeof *value);
    } else if (m->kind == RL_SPARSE_RANDOM) {
        for (unsigned k = 0; k < m->row_entries; k++) {
            uint64_t i = (uint64_t)row * m->row_entries + k;
            double place = 0.5 + 0.5 * rl_pseudo(5, i); /* 24 bits are too few for large matrices */
            double fine = 0.5 + 0.5 * rl_pseudo(6, i);
            column[k] = (uint32_t)fmin((double)m->columns - 1,
                                       (place + fine * 0x1p-24) * (double)m->columns);
            value[k] = rl_pseudo(7, i);
        }
    } else {
        laplace_row(m, row, column, value);
    }
}

unsigned rl_sparse_longest_row(const struct rl_sparse *m)
{
    unsigned longest = 0;
    if (m->kind == RL_SPARSE_LAPLACE5)
        return 5;
    if (m->kind == RL_SPARSE_LAPLACE7)
        return 7;
    if (m->kind == RL_SPARSE_LAPLACE27)
        return 27;
    if (m->kind == RL_SPARSE_RANDOM)
        return m->row_entries;
    for (size_t i = 0; i < m->rows; i++) {
        unsigned n = rl_sparse_row_length(m, i);
        longest = n > longest ? n : longest;
    }
    return longest;
}
