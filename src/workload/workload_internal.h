/* Helpers that the kernel families share; of this folder only. */
#ifndef RL_WORKLOAD_INTERNAL_H
#define RL_WORKLOAD_INTERNAL_H

#include "base/error.h"
#include "timing/buffer.h"
#include "workload/workload.h"

#include <math.h>

#define RL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

extern const struct rl_workload rl_workload_axpy, rl_workload_conv2d, rl_workload_copy,
    rl_workload_dot, rl_workload_exp, rl_workload_gemm, rl_workload_spmv, rl_workload_stencil,
    rl_workload_triad;

/** Part [*from, *to) of n items that `rank` of `size` owns; parts start at multiples of `grain`. */
static inline void rl_share(size_t n, size_t grain, unsigned rank, unsigned size, size_t *from,
                            size_t *to)
{
    size_t blocks = (n + grain - 1) / grain;
    size_t lo = blocks * rank / size * grain, hi = blocks * (rank + 1) / size * grain;
    *from = lo < n ? lo : n;
    *to = hi < n ? hi : n;
}

static inline size_t rl_precision_size(enum rl_precision precision)
{
    return precision == RL_FP64 ? sizeof(double) : sizeof(float);
}

/** Unit roundoff. */
static inline double rl_precision_epsilon(enum rl_precision precision)
{
    return precision == RL_FP64 ? 0x1p-53 : 0x1p-24;
}

/** a * b * size, or UINT64_MAX when that does not fit. */
uint64_t rl_size_mul(uint64_t a, uint64_t b, uint64_t size);

/** Widest instruction set that the config and the environment allow. */
enum rl_work_isa rl_work_best_isa(const struct rl_work_config *config);

/** RL_ENOMEM with both sizes when `need` bytes are more than the environment allows. */
enum rl_status rl_work_check_memory(const struct rl_work_config *config, uint64_t need,
                                    struct rl_error *err);

/** Bytes of the last cache level before memory, all instances the process may use together;
 * 32 MiB when nothing is known. */
uint64_t rl_work_last_cache(const struct rl_work_env *env);
/** Size of data that come from DRAM when they are streamed again and again: eight times the last
 * cache, where that is more than 1 GiB no more than that or four times the cache. */
uint64_t rl_work_streaming_bytes(const struct rl_work_env *env);

/** Bytes of cache `level` (1, 2, …) that one thread sees; `fallback` when not known. */
uint64_t rl_work_cache(const struct rl_work_env *env, unsigned level, uint64_t fallback);

/** Add `count` operations (lanes) of one class; nothing for 0. */
enum rl_status rl_account_ops(struct rl_kernel *kernel, enum rl_precision precision,
                              enum rl_op_class op, const char *isa, double count,
                              struct rl_error *err);

/** Add `multiply_add` multiply-adds, fused or as a multiply and an add each, and `add` adds. */
enum rl_status rl_account_multiply_add(struct rl_kernel *kernel, enum rl_precision precision,
                                       const char *isa, bool fused, double multiply_add, double add,
                                       struct rl_error *err);

/** Append a step to the traffic model, see struct rl_work_step. */
void rl_traffic_step(struct rl_work_traffic *traffic, double holds_bytes, double read, double write,
                     double write_allocate);

/** Append a step behind which nothing is known, for `why`. */
void rl_traffic_unknown(struct rl_work_traffic *traffic, double holds_bytes, const char *why);

enum rl_status rl_account_parameter(struct rl_kernel *kernel, const char *key, double number,
                                    struct rl_error *err);

/** Turn a traffic model into the traffic rows of `kernel`, level by level; what has no sound model
 * becomes an entry in `missing`. */
enum rl_status rl_account_traffic(const struct rl_work_config *config,
                                  const struct rl_work_traffic *traffic, struct rl_kernel *kernel,
                                  struct rl_error *err);

/** A repeatable number in [-1, 1) without zeros: the i-th of stream `seed`. */
double rl_pseudo(uint64_t seed, uint64_t i);

/** Fill [from, to) of an array of `precision` with rl_pseudo of the index. */
void rl_fill_pseudo(void *array, enum rl_precision precision, size_t from, size_t to,
                    uint64_t seed);

static inline double rl_load(const void *array, enum rl_precision precision, size_t i)
{
    return precision == RL_FP64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

#endif
