/* Matrix multiplication by packing: the blocking around the micro-kernel of kernels.h.
 *
 * Levels after Goto and van de Geijn, ACM TOMS 34(3), 2008: a sliver of B (kc x nr) and a block of
 * A (mc x kc) stay in the L2, a panel of B (kc x nc) where there is room. One thread's work;
 * threads take disjoint parts of C and share nothing but the inputs. */
#ifndef RL_WORKLOAD_GEMM_PACKED_H
#define RL_WORKLOAD_GEMM_PACKED_H

#include "workload/kernels.h"

struct rl_gemm_plan {
    const struct rl_kernels *kernels;
    size_t element; /**< bytes */
    size_t mc, kc, nc;
};

/** C[m][n] = A[m][k] · B[k][n], row-major, leading dimensions in elements. */
struct rl_gemm_problem {
    size_t m, n, k;
    const void *a, *b;
    void *c;
    size_t lda, ldb, ldc;
};

/** What rl_gemm_packed executes for one problem, exactly, from the loop bounds. */
struct rl_gemm_count {
    double multiply_add; /**< padding of edge tiles included */
    double add;          /**< summing into C after the first block of k */
    double load_elements, store_elements;
    double l2_read, l2_write;   /**< elements between L1 and L2: packed slivers, and C */
    double l3_read, l3_write;   /**< elements between L2 and L3: A, B, packed B, and C */
    double far_read, far_write; /**< elements beyond caches that hold a panel of B: A, B and C */
};

/** Choose the blocking for the caches of `env`, the last of which `threads` plans share. */
void rl_gemm_plan_init(struct rl_gemm_plan *plan, const struct rl_work_env *env,
                       enum rl_work_isa isa, enum rl_precision precision, unsigned threads);

/** Scratch bytes rl_gemm_packed needs for parts of up to m x n x k. */
size_t rl_gemm_scratch(const struct rl_gemm_plan *plan, size_t m, size_t n, size_t k);

/** @param scratch  rl_gemm_scratch bytes, 64-byte aligned, this thread's own. */
void rl_gemm_packed(const struct rl_gemm_plan *plan, const struct rl_gemm_problem *problem,
                    void *scratch);

/** Add what one call of rl_gemm_packed does to `count`. Only m, n and k matter. */
void rl_gemm_packed_count(const struct rl_gemm_plan *plan, const struct rl_gemm_problem *problem,
                          struct rl_gemm_count *count);

#endif
