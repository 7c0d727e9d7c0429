/* The plain forms: textbook loops in C, compiled without vectorisation or contraction, so that one
 * source operation is one scalar instruction. They are what a first version of a program looks
 * like, and the reference the other forms are checked against. */
#ifndef RL_WORKLOAD_PLAIN_H
#define RL_WORKLOAD_PLAIN_H

#include "workload/conv_row.h"

#include <roofline/value.h>
#include <stddef.h>
#include <stdint.h>

#define RL_PLAIN_TILE 32 /**< edge of the blocks of gemm_tiled */

/** Row-major C[rows from..to][n] = A·B, leading dimensions k, n, n. */
typedef void rl_plain_gemm_fn(size_t from, size_t to, size_t n, size_t k, const void *a,
                              const void *b, void *c);

struct rl_plain {
    /** Each element a dot product: 2 loads, a multiply and a dependent add a step. */
    rl_plain_gemm_fn *gemm_naive;
    /** Blocks of RL_PLAIN_TILE, rows of B and C walked along: 2 loads and a store a step. */
    rl_plain_gemm_fn *gemm_tiled;
    /** a = b + s * c. */
    void (*triad)(size_t n, double s, const void *b, const void *c, void *a);
    void (*copy)(size_t n, const void *b, void *a);
    void (*axpy)(size_t n, double s, const void *x, void *y);
    /** One running sum: bound by the latency of the add. */
    double (*dot)(size_t n, const void *x, const void *y);
    /** As in kernels.h, one point at a time. */
    void (*stencil5)(size_t n, double c0, double c1, const void *centre, ptrdiff_t pitch,
                     void *out);
    void (*stencil7)(size_t n, double c0, double c1, const void *centre, ptrdiff_t pitch,
                     ptrdiff_t plane, void *out);
    /** As in kernels.h, one sum a row. */
    void (*spmv_csr)(size_t from, size_t to, const uint32_t *row_start, const uint32_t *column,
                     const void *value, const void *x, void *y);
    /** One output at a time. */
    void (*conv_rows)(const struct rl_conv_row *rows);
    /** y = exp(x) by the C library. */
    void (*exp)(size_t n, const void *x, void *y);
};

/** @param precision  RL_FP64 or RL_FP32. */
const struct rl_plain *rl_plain(enum rl_precision precision);

extern const struct rl_plain rl_plain_f64, rl_plain_f32;

#endif
