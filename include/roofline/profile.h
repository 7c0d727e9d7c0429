/* The profile record: what kernels did — FLOP, bytes per level, time.
 *
 * A kernel is one row: a function, loop, marked region, whole program, bundled kernel, analytic
 * model or imported kernel. All-zero is valid and empty; what is unknown has no source (value.h)
 * and an entry in `missing` that says why. Strings and arrays are owned by the record. */
#ifndef ROOFLINE_PROFILE_H
#define ROOFLINE_PROFILE_H

#include <roofline/error.h>
#include <roofline/machine.h>
#include <roofline/value.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_kernel_kind {
    RL_KIND_FUNCTION = 0,
    RL_KIND_LOOP,
    RL_KIND_REGION,
    RL_KIND_PROGRAM,
    RL_KIND_BENCH,
    RL_KIND_MODEL,
    RL_KIND_IMPORTED,
    RL_KIND_COUNT
};

const char *rl_kind_name(enum rl_kernel_kind kind);
bool rl_kind_from_name(const char *name, enum rl_kernel_kind *ret_kind);

/** Classes of operation, kept apart so that another FLOP rule can be applied later. */
enum rl_op_class {
    RL_OP_ADD = 0, /**< add and subtract */
    RL_OP_MUL,
    RL_OP_FMA, /**< fused multiply-add; for integers multiply-accumulate */
    RL_OP_DIV,
    RL_OP_SQRT,
    RL_OP_SPECIAL, /**< exp, log, sin, …: a library call or an instruction; 0 FLOP */
    RL_OP_OTHER,   /**< min, max, compare, abs, negate, convert, round: 0 FLOP */
    RL_OP_CLASS_COUNT
};

const char *rl_op_class_name(enum rl_op_class op);
bool rl_op_class_from_name(const char *name, enum rl_op_class *ret_op);

/** FLOP (or IOP) of one operation on one lane: 2 for fma, 0 for special and other, else 1. */
unsigned rl_op_class_weight(enum rl_op_class op);

/** Operations of one precision x class x ISA, counted per active lane. */
struct rl_op_count {
    enum rl_precision precision;
    enum rl_op_class op;
    char isa[RL_WORD_LEN];  /**< vector width used: scalar sse2 avx2 avx512 amx x87 … */
    char func[RL_WORD_LEN]; /**< special: exp, log, sin, pow …; else empty */
    struct rl_value count;  /**< operations (lanes), not FLOP: an fma counts 1 here */
};

/** Bytes between one level and the next one towards the core. */
struct rl_traffic {
    char level[RL_WORD_LEN];
    struct rl_value bytes;          /**< total, write-allocate and write-back included */
    struct rl_value read;           /**< towards the core, write-allocate excluded */
    struct rl_value write;          /**< away from the core */
    struct rl_value write_allocate; /**< lines read only because they were written */
    struct rl_value compulsory;     /**< least possible traffic of the algorithm at this level */
};

struct rl_parameter {
    char *key;
    char *value;
};

struct rl_kernel {
    char *name;
    enum rl_kernel_kind kind;
    char *group;    /**< bench: the kernel family; loop: its function; else NULL */
    char *variant;  /**< bench: naive, tiled, csr, …; else NULL */
    char *module;   /**< binary it lives in */
    char *file;     /**< source file */
    unsigned line;  /**< 0 unknown */
    unsigned depth; /**< loops: nesting depth, outermost 1 */
    struct rl_parameter *parameter;
    size_t n_parameter;

    /** Operations and bytes were counted now and then: their ratios mean something, amounts and
     * rates do not. Calls are then unknown. */
    bool is_mix;

    struct rl_value calls;
    struct rl_value time_s;              /**< wall time per profile, self */
    struct rl_value total_time_s;        /**< including callees */
    struct rl_value threads;             /**< mean number of threads at work in it */
    struct rl_value latency_bound_loads; /**< dependent loads executed; unknown if not analysed */

    struct rl_op_count *ops;
    size_t n_ops;
    struct rl_value
        flop; /**< set where only the total is known; else leave unknown: summed from ops */
    struct rl_value iop;         /**< likewise */
    struct rl_value useful_flop; /**< the algorithm's own number where it differs (BLAS: 2N³) */

    struct rl_value load_bytes;        /**< asked for by the core's loads */
    struct rl_value store_bytes;       /**< asked for by the core's stores */
    struct rl_value nontemporal_bytes; /**< part of store_bytes written past the caches */
    struct rl_value working_set_bytes;
    struct rl_traffic *traffic;
    size_t n_traffic;

    struct rl_value total_flop; /**< including callees */
    struct rl_missing_list missing;
    char *extra;
};

struct rl_profile {
    char *name;
    char **command; /**< [n_command] argv of the profiled program; empty for bench */
    size_t n_command;
    struct rl_value elapsed_s;
    struct rl_value cpu_s; /**< CPU time of all threads and processes, in the kernel too */
    struct rl_value threads;
    char *machine_name;
    char *machine_key; /**< which machine record it belongs to; may be NULL */
    char *date;
    char *program; /**< "roofline 0.1.0" */
    int exit_status;
    bool has_exit_status;
    struct rl_kernel *kernel;
    size_t n_kernel;
    char **note; /**< [n_note] sentences a reader must know, e.g. how counts were taken */
    size_t n_note;
    struct rl_missing_list missing;
    char *extra;
};

/** The entry in a kernel's `missing` that says that other work used its cores in nearly every call
 * timed: its time is then at most what is given. */
#define RL_UNDISTURBED_TIME "undisturbed time"

/** The parameter of a kernel that says which of several profiles shown together it is of. */
#define RL_PARAMETER_PROFILE "profile"

void rl_profile_release(struct rl_profile *profile);
void rl_kernel_release(struct rl_kernel *kernel);

/** Append an empty kernel named `name` and lend it until the next add. @return RL_OK or RL_ENOMEM.
 */
enum rl_status rl_profile_add(struct rl_profile *profile, enum rl_kernel_kind kind,
                              const char *name, struct rl_kernel **ret_kernel,
                              struct rl_error *err);
enum rl_status rl_profile_note(struct rl_profile *profile, struct rl_error *err, const char *fmt,
                               ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
enum rl_status rl_profile_set_command(struct rl_profile *profile, const char *const *argv, size_t n,
                                      struct rl_error *err);

/** Add to the matching row of kernel->ops (sources alike), or append one. @return RL_OK or
 * RL_ENOMEM. */
enum rl_status rl_kernel_add_ops(struct rl_kernel *kernel, const struct rl_op_count *ops,
                                 struct rl_error *err);

/** The traffic row of `level`, appended if needed; lent until the next call. */
enum rl_status rl_kernel_traffic(struct rl_kernel *kernel, const char *level,
                                 struct rl_traffic **ret_traffic, struct rl_error *err);
enum rl_status rl_kernel_set_parameter(struct rl_kernel *kernel, const char *key, const char *value,
                                       struct rl_error *err);
/** Borrowed; NULL where it has none of that name. */
const char *rl_kernel_parameter(const struct rl_kernel *kernel, const char *key);
const struct rl_traffic *rl_kernel_find_traffic(const struct rl_kernel *kernel, const char *level);

/** FLOP of the kernel: the sum over ops x weight, or the bare total; unknown if neither is there.
 */
struct rl_value rl_kernel_flop(const struct rl_kernel *kernel);
/** FLOP of one floating-point precision; unknown when no row of ops speaks of it. */
struct rl_value rl_kernel_flop_of(const struct rl_kernel *kernel, enum rl_precision precision);
struct rl_value rl_kernel_iop(const struct rl_kernel *kernel);

/** a + b: known only if both are; weakest source, spreads combined as independent absolute errors.
 */
struct rl_value rl_value_add(struct rl_value a, struct rl_value b);

#ifdef __cplusplus
}
#endif

#endif
