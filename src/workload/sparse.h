/* Sparse matrices of spmv, from a file or generated row by row, and their two layouts. */
#ifndef RL_WORKLOAD_SPARSE_H
#define RL_WORKLOAD_SPARSE_H

#include "workload/mtx.h"
#include "workload/workload.h"

enum rl_sparse_kind {
    RL_SPARSE_LAPLACE5,  /**< 5-point Laplacian of an n x n grid */
    RL_SPARSE_LAPLACE7,  /**< 7-point Laplacian of an n x n x n grid */
    RL_SPARSE_LAPLACE27, /**< 27-point Laplacian of an n x n x n grid */
    RL_SPARSE_RANDOM,    /**< n rows with the same number of entries in random columns */
    RL_SPARSE_FILE,      /**< a Matrix Market file */
};

/** Any row can be asked for at any time, so that each thread can write its own part. */
struct rl_sparse {
    enum rl_sparse_kind kind;
    size_t rows, columns;
    uint64_t n;           /**< entries that are multiplied */
    uint64_t stored;      /**< entries the file holds; as n when generated */
    size_t edge;          /**< Laplacians: points along each edge */
    unsigned row_entries; /**< random */
    struct rl_mtx file;
};

/**
 * @param size  edge of the grid, or rows; within 1 .. 2^31 rows.
 * @return RL_OK; RL_EINVAL when rows or entries exceed 32 bits.
 */
enum rl_status rl_sparse_generate(struct rl_sparse *matrix, enum rl_sparse_kind kind, uint64_t size,
                                  unsigned row_entries, struct rl_error *err);
enum rl_status rl_sparse_read(struct rl_sparse *matrix, const char *path, uint64_t max_bytes,
                              struct rl_error *err);
void rl_sparse_release(struct rl_sparse *matrix);

/** Entries of one row. */
unsigned rl_sparse_row_length(const struct rl_sparse *matrix, size_t row);

/** Entries of one row into column[] and value[], rl_sparse_row_length of each. */
void rl_sparse_row(const struct rl_sparse *matrix, size_t row, uint32_t *column, double *value);

/** Most entries a row has. */
unsigned rl_sparse_longest_row(const struct rl_sparse *matrix);

#endif
