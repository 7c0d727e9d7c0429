/* The inner loops of the workloads, one table for each instruction set and precision.
 *
 * The same source text (vector/) is compiled once per table with other flags and another
 * vector width; the drivers in this folder pick a table at run time and never ask for an ISA again.
 * Arrays are of the table's precision. Alignment to the element suffices; cache-line alignment is
 * faster. Nothing here knows of threads. */
#ifndef RL_WORKLOAD_KERNELS_H
#define RL_WORKLOAD_KERNELS_H

#include "workload/conv_row.h"
#include "workload/workload.h"

#if defined(__x86_64__)
#define RL_WORK_BASE_ISA "sse2"
#elif defined(__aarch64__)
#define RL_WORK_BASE_ISA "neon"
#else
#define RL_WORK_BASE_ISA "c"
#endif

/** Entries that spmv_csr takes at a time where a row has as many left: two vectors of 4. */
#define RL_CSR_LONG         8
#define RL_SELL_CONSECUTIVE (UINT32_C(1) << 31)

/** A function of one vector argument, whatever its width; cast before it is called. */
typedef void rl_vector_fn(void);

struct rl_kernels {
    const char *isa;
    unsigned lanes; /**< elements a vector */
    bool fused;     /**< a multiply-add is one fused operation; else one multiply and one add */

    unsigned gemm_mr, gemm_nr; /**< register tile: rows and columns of C */
    /**
     * C[m][n] = A·B, or C += A·B with `add`, C row-major with rows ldc apart.
     *
     * A and B are packed by the two functions below into slivers of mr rows and nr columns, padded
     * with zeros. Each tile of C takes kc steps that load mr + nr elements and do mr * nr
     * multiply-adds in registers; tiles that stick out do the same work and write only what lies
     * inside, through a tile of their own.
     */
    void (*gemm_block)(size_t m, size_t n, size_t kc, const void *a, const void *b, void *c,
                       size_t ldc, bool add);
    /** A[m][kc] into ceil(m / mr) slivers: out[sliver][k][mr]. */
    void (*gemm_pack_a)(size_t m, size_t kc, const void *a, size_t lda, void *out);
    /** B[kc][n] into ceil(n / nr) slivers: out[sliver][k][nr]. */
    void (*gemm_pack_b)(size_t kc, size_t n, const void *b, size_t ldb, void *out);

    /** a = b + s * c over n elements; the _nt form stores past the caches (NULL: not here). */
    void (*triad)(size_t n, double s, const void *b, const void *c, void *a);
    void (*triad_nt)(size_t n, double s, const void *b, const void *c, void *a);
    void (*copy)(size_t n, const void *b, void *a);
    void (*copy_nt)(size_t n, const void *b, void *a);
    /** y += s * x. */
    void (*axpy)(size_t n, double s, const void *x, void *y);
    /** Sum of x * y in 8 vectors of partial sums. */
    double (*dot)(size_t n, const void *x, const void *y);

    /** n points of one row: out = c0 * centre + c1 * sum of 4 (6) neighbours; rows are `pitch`
     * elements apart, planes `plane`. 3 (5) adds, and a multiply and a multiply-add a point; 5 (7)
     * loads and a store. */
    void (*stencil5)(size_t n, double c0, double c1, const void *centre, ptrdiff_t pitch,
                     void *out);
    void (*stencil7)(size_t n, double c0, double c1, const void *centre, ptrdiff_t pitch,
                     ptrdiff_t plane, void *out);

    /** y[i] = sum of value[k] * x[column[k]] for k in row_start[i] .. row_start[i + 1], rows from
     * .. to: a multiply-add and three loads an entry, two more loads and a store a row. Four at
     * a time in a vector of 4, the rest one by one: 4 adds a row. Where it has RL_CSR_LONG entries
     * or more, eight at a time in two vectors: 4 adds more. */
    void (*spmv_csr)(size_t from, size_t to, const uint32_t *row_start, const uint32_t *column,
                     const void *value, const void *x, void *y);
    unsigned sell_rows; /**< rows of a chunk of spmv_sell */
    /** The same by chunks of sell_rows rows, entries of a chunk in columns: chunk c has
     * (chunk_start[c + 1] - chunk_start[c]) / sell_rows columns, padded with zeros; lane l of chunk
     * c is row[c * sell_rows + l] of y, which is n_rows for lanes beyond the matrix.
     * RL_SELL_CONSECUTIVE in a chunk's first row says that its rows follow each other. */
    void (*spmv_sell)(size_t from, size_t to, const uint32_t *chunk_start, const uint32_t *column,
                      const void *value, const uint32_t *row, size_t n_rows, const void *x,
                      void *y);

    unsigned conv_mr, conv_nr; /**< register tile of conv_rows: filters and outputs */
    /** Tiles of conv_mr, then RL_CONV_FEW filters by conv_nr outputs, then 1 by RL_CONV_WIDE
     * vectors; fewer vectors at the end of the row. A tile loads its inputs and its weights once a
     * tap; loads run less than a vector (times x_step) past the last output. */
    void (*conv_rows)(const struct rl_conv_row *rows);

    unsigned conv_columns; /**< register tile of conv_sums: outputs by vectors of filters */
    /** Sums of taps for a row, in ceil(outputs / conv_columns) tiles: each loads a tap's offset and
     * its weights once, and one input an output. */
    void (*conv_sums)(const struct rl_conv_sums *sums);
    /** y[filter][output] = sum[output][filter], rows of them y_filter and pitch elements apart. */
    void (*conv_turn)(size_t filters, size_t outputs, size_t pitch, const void *sum, void *y,
                      size_t y_filter);

    /** y = f(x), f taking and returning one vector of this table's width. */
    void (*map)(size_t n, const void *x, void *y, rl_vector_fn *f);
};

/**
 * The table of one precision (RL_FP64 or RL_FP32) for an instruction set this build has.
 * @return NULL when the build has no such table (another architecture).
 */
const struct rl_kernels *rl_kernels(enum rl_work_isa isa, enum rl_precision precision);

extern const struct rl_kernels rl_kernels_f64_base, rl_kernels_f32_base, rl_kernels_f64_avx2,
    rl_kernels_f32_avx2, rl_kernels_f64_avx512, rl_kernels_f32_avx512;

#endif
