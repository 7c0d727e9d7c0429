/* The machine's CBLAS, loaded at run time. Any library with cblas_dgemm and cblas_sgemm will do. */
#ifndef RL_WORKLOAD_BLAS_H
#define RL_WORKLOAD_BLAS_H

#include <roofline/error.h>
#include <roofline/value.h>
#include <stddef.h>

/** A loaded library. All-zero is closed. */
struct rl_blas {
    void *handle;
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                  double, double *, int);
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                  float, float *, int);
    char description[160]; /**< file and what it says of itself */
};

/**
 * Is there a CBLAS? Loads and unloads it.
 * @param path  library to load; NULL: the usual names.
 * @return RL_OK; RL_EUNAVAIL with the names tried and how to get one.
 */
enum rl_status rl_blas_probe(const char *path, struct rl_error *err);

/**
 * Load it and have it use `threads` threads.
 * @return RL_OK; RL_EUNAVAIL if there is none, it lacks a symbol, or its thread count cannot be set
 *         and more than one is asked for.
 */
enum rl_status rl_blas_open(struct rl_blas *blas, const char *path, unsigned threads,
                            struct rl_error *err);

/** C[m][n] = A[m][k] · B[k][n], row-major without gaps; sizes below 2^31. */
void rl_blas_gemm(const struct rl_blas *blas, enum rl_precision precision, size_t m, size_t n,
                  size_t k, const void *a, const void *b, void *c);

void rl_blas_close(struct rl_blas *blas);

#endif
