/* Reference kernels: what they are, what they compute, what they move, and how they run.
 *
 * A kernel family (gemm, spmv, …) is one `const struct rl_workload` with its options, variants and
 * analytic operation and byte counts. A *config* is a family with every choice made; a *work* is a
 * config made ready to run. Nothing here measures time (bench.h does) or prints.
 *
 * To add a family: write `<name>.c` ending in its descriptor, list it in workload.c, in the man
 * page roofline-bench(1) and in tests/unit/test_workload.c, which checks every variant against its
 * reference. */
#ifndef RL_WORKLOAD_WORKLOAD_H
#define RL_WORKLOAD_WORKLOAD_H

#include "timing/team.h"

#include <roofline/error.h>
#include <roofline/machine.h>
#include <roofline/profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_WORKLOAD_OPTIONS 16
#define RL_WORKLOAD_STEPS   6

/** Instruction sets our own kernels are written for, narrowest first. */
enum rl_work_isa {
    RL_WORK_BASE = 0, /**< what every CPU of this architecture has: sse2 on x86-64 */
    RL_WORK_AVX2,     /**< AVX2 and FMA */
    RL_WORK_AVX512,   /**< AVX-512 F, DQ, VL, BW */
    RL_WORK_ISA_COUNT
};

/** Name as in records and --isa: "sse2" ("neon", "c" elsewhere), "avx2", "avx512". */
const char *rl_work_isa_name(enum rl_work_isa isa);
bool rl_work_isa_from_name(const char *name, enum rl_work_isa *ret_isa);

/** What the kernels may use of this machine. Borrowed members outlive every work. */
struct rl_work_env {
    unsigned isa_mask; /**< bit 1 << enum rl_work_isa: allowed instruction sets; base is implied */
    const char *blas;  /**< CBLAS library to load instead of searching; NULL: search */
    const struct rl_machine *machine; /**< cache sizes for sizes and traffic; NULL: unknown */
    uint64_t memory_bytes;            /**< most that may be allocated; 0: unknown, not checked */
};

enum rl_option_kind {
    RL_OPTION_COUNT,  /**< unsigned number; suffixes k M G (decimal) and Ki Mi Gi */
    RL_OPTION_CHOICE, /**< one of a few words */
    RL_OPTION_TEXT,   /**< a file name */
};

/** One row of a kernel's option table: `--name LABEL`. */
struct rl_work_option {
    const char *name;
    const char *label;
    const char *help; /**< one line, for --help and the man page */
    enum rl_option_kind kind;
    uint64_t initial;          /**< COUNT: default; 0 with min 0 means "chosen from the caches" */
    uint64_t min, max;         /**< COUNT: inclusive range */
    const char *const *choice; /**< CHOICE: NULL-terminated, the first is the default */
    bool is_size;              /**< --sizes sets this one */
};

struct rl_setting {
    uint64_t number;  /**< COUNT: the value; CHOICE: index into choice */
    const char *text; /**< TEXT: borrowed from the caller of rl_work_config_set; NULL not given */
    bool given;       /**< set by the user */
};

/** One way to compute the same thing. */
struct rl_work_variant {
    const char *name;
    const char *summary;
    bool vectorised;  /**< has one version for each instruction set; else --isa is ignored */
    bool cblas;       /**< computes by the library of rl_work_env.blas */
    bool own_threads; /**< starts its own threads: run it on a team of one that is not pinned */
};

/** A family with every choice made. Plain; copy freely. */
struct rl_work_config {
    const struct rl_workload *workload;
    const struct rl_work_env *env;
    unsigned variant; /**< index into workload->variant */
    enum rl_precision precision;
    enum rl_work_isa isa;                           /**< widest to use */
    unsigned threads;                               /**< >= 1 */
    struct rl_setting setting[RL_WORKLOAD_OPTIONS]; /**< parallel to workload->option */
};

/**
 * Traffic behind a cache as a function of its size ("layer conditions").
 *
 * Steps are ordered from the largest set to 0: behind a cache that holds `holds_bytes` the kernel
 * moves at most these bytes a call. The first step is the whole working set with no traffic at all
 * (calls are repeated, so data that fit stay), the last has holds_bytes 0.
 */
struct rl_work_step {
    double holds_bytes;    /**< all threads together */
    double read;           /**< bytes towards the core, write-allocate apart */
    double write;          /**< bytes away from the core */
    double write_allocate; /**< lines read only because they are written */
    const char *why_not;   /**< not NULL: no sound model for caches down to the next step; reason */
};

/** What one call moves and needs. Bytes are for all threads together. */
struct rl_work_traffic {
    double load_bytes;        /**< asked for by load instructions; < 0 unknown */
    double store_bytes;       /**< asked for by store instructions; < 0 unknown */
    double nontemporal_bytes; /**< part of store_bytes that bypasses the caches */
    double working_set_bytes;
    double compulsory_read;  /**< inputs once */
    double compulsory_write; /**< outputs once */
    struct rl_work_step step[RL_WORKLOAD_STEPS];
    unsigned n_step; /**< 0: behind the L1 nothing is known */
};

/** A kernel family. `state` is what prepare returned. */
struct rl_workload {
    const char *name;
    const char *summary;   /**< one line */
    const char *tolerance; /**< how far results may be from the reference, in words */
    const char *scope;     /**< NULL, or what the byte model leaves out, in words */
    const struct rl_work_variant *variant;
    unsigned n_variant;
    unsigned default_variant;
    const enum rl_precision *precision; /**< the first is the default */
    unsigned n_precision;
    const struct rl_work_option *option;
    unsigned n_option; /**< <= RL_WORKLOAD_OPTIONS */

    /** What tells configs apart in a picture beside variant, precision and size: "2d5". NULL:
     * nothing. */
    void (*label)(const struct rl_work_config *config, char *out, size_t size);

    /** Why setting `option`, an index into the option table, changes nothing beside the others, as
     * in "only --pattern random has it"; NULL: it does. NULL function: each always does. */
    const char *(*idle)(const struct rl_work_config *config, unsigned option);

    /** RL_OK, or RL_EUNAVAIL with the reason why this variant cannot run here. NULL: always can. */
    enum rl_status (*probe)(const struct rl_work_config *config, struct rl_error *err);

    /** Check sizes, read or generate structure; no large buffers. `config` is borrowed until
     * release. */
    enum rl_status (*prepare)(const struct rl_work_config *config, void **ret_state,
                              struct rl_error *err);

    /** Bytes that allocate will take. */
    uint64_t (*memory)(const void *state);

    /** Analytic counts of one call: operations, useful FLOP and parameters into `kernel`, bytes
     * into `ret_traffic`. Needs no allocate. */
    enum rl_status (*account)(const void *state, struct rl_kernel *kernel,
                              struct rl_work_traffic *ret_traffic, struct rl_error *err);

    /** Map the buffers; the parts are filled (first touched) by `fill` on each rank. */
    enum rl_status (*allocate)(void *state, struct rl_error *err);
    void (*fill)(void *state, unsigned rank);

    /** One call, this rank's part. `team` is NULL for one thread. */
    void (*run)(void *state, unsigned rank, struct rl_team *team);

    /** After at least one run: compare with the plain reference. RL_EDATA with where and by how
     * much if it differs by more than the tolerance. */
    enum rl_status (*check)(void *state, struct rl_error *err);

    void (*release)(void *state); /**< NULL state is fine */
};

/** All families, sorted by name. */
extern const struct rl_workload *const rl_workloads[];
extern const unsigned rl_n_workloads;

/** NULL if there is none of that name. */
const struct rl_workload *rl_workload_find(const char *name);

/** Every option, variant and precision at its default, one thread, the widest allowed ISA. */
void rl_work_config_init(struct rl_work_config *config, const struct rl_workload *workload,
                         const struct rl_work_env *env);

/**
 * Set one thing by name: an option of the family, or "variant", "precision", "isa".
 *
 * @param value  borrowed by RL_OPTION_TEXT options for the life of the config.
 * @return RL_OK; RL_EINVAL naming option, value and what would be right (did-you-mean included).
 */
enum rl_status rl_work_config_set(struct rl_work_config *config, const char *key, const char *value,
                                  struct rl_error *err);

/** Index of an option by name; -1 if the family has none. */
int rl_work_option_index(const struct rl_workload *workload, const char *name);

/** The number of option `name`; the option must exist. */
uint64_t rl_work_number(const struct rl_work_config *config, const char *name);

/** "gemm/vectorised fp64 n=1024": family, variant, precision, label, and size unless chosen by
 * itself. `out` has room for `size` bytes. */
void rl_work_title(const struct rl_work_config *config, char *out, size_t size);

/** A config ready to run. All-zero is releasable. */
struct rl_work {
    struct rl_work_config config;
    void *state;
    bool allocated;
};

/**
 * Probe and prepare; `work` keeps a copy of the config.
 * @return RL_OK; RL_EUNAVAIL; RL_EINVAL; RL_EDATA; RL_ENOMEM.
 */
enum rl_status rl_work_open(struct rl_work *work, const struct rl_work_config *config,
                            struct rl_error *err);

/**
 * Allocate and fill on the team's threads.
 * @param team  of config.threads threads; NULL for one thread: the caller's.
 * @return RL_OK; RL_ENOMEM when more than env->memory_bytes would be needed, with both sizes.
 */
enum rl_status rl_work_setup(struct rl_work *work, struct rl_team *team, struct rl_error *err);

/** One call on the team, and compare with the reference. */
enum rl_status rl_work_verify(struct rl_work *work, struct rl_team *team, struct rl_error *err);

/** Analytic counts and traffic per level of one call into `kernel` (no time). After rl_work_open.
 */
enum rl_status rl_work_account(const struct rl_work *work, struct rl_kernel *kernel,
                               struct rl_error *err);

void rl_work_release(struct rl_work *work);

#endif
