/* Matrix Market files as sparse matrices in rows.
 *
 * Every line is checked before CHOLMOD's reader sees the file, which keeps quiet about much: what
 * is wrong is named with its line. Read: coordinate and array; real, integer and pattern (every
 * entry 1); general, symmetric and skew-symmetric (expanded). Refused: complex, hermitian. */
#ifndef RL_WORKLOAD_MTX_H
#define RL_WORKLOAD_MTX_H

#include <roofline/error.h>
#include <stddef.h>
#include <stdint.h>

/** Compressed rows. All-zero is valid, empty and releasable. */
struct rl_mtx {
    size_t rows, columns;
    uint64_t stored;     /**< entries in the file */
    uint64_t n;          /**< entries after expanding symmetry: what a product multiplies */
    uint64_t *row_start; /**< [rows + 1] */
    uint32_t *column;    /**< [n] from 0; in the order of the file within a row */
    double *value;       /**< [n] */
    char field[12];      /**< real, integer, pattern */
    char symmetry[16];   /**< general, symmetric, skew-symmetric */
};

/** CHOLMOD is loaded at run time. @return RL_OK, or RL_EUNAVAIL with the library's name. */
enum rl_status rl_mtx_probe(struct rl_error *err);

/**
 * @param max_bytes  most memory the file and the matrix may take, each.
 * @return RL_OK; RL_ESYS cannot be read; RL_EDATA with "file: line n: …"; RL_ENOMEM; RL_EUNAVAIL.
 */
enum rl_status rl_mtx_read(const char *path, uint64_t max_bytes, struct rl_mtx *ret_matrix,
                           struct rl_error *err);

/** The same from memory: text[size] is NUL, `name` is what messages call it. */
enum rl_status rl_mtx_parse(char *text, size_t size, const char *name, uint64_t max_bytes,
                            struct rl_mtx *ret_matrix, struct rl_error *err);

void rl_mtx_release(struct rl_mtx *matrix);

#endif
