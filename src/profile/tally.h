/* What was counted, by function, loop and region: result files of the counting engine joined with
 * decoded instructions and names. Time is not here; profile.h adds it.
 *
 * Every counted instruction belongs to one function unit, and if it lies in a loop to the innermost
 * one: a loop's sums are its own code without the loops inside it, a function's sums are all its
 * code with its loops. Sums are "self": what a function called is in `call`. */
#ifndef RL_PROFILE_TALLY_H
#define RL_PROFILE_TALLY_H

#include <roofline/error.h>
#include <roofline/profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_TALLY_NONE         UINT32_MAX
#define RL_TALLY_BUILD_ID_MAX 32

struct rl_tally_module {
    char *path; /**< as the kernel names it; "[vdso]"; "[jit]" for memory of no file */
    uint8_t build_id[RL_TALLY_BUILD_ID_MAX];
    size_t n_build_id;
    int32_t pid; /**< "[jit]": whose memory; else 0 */
};

/** A function or a loop. */
struct rl_tally_unit {
    enum rl_kernel_kind kind; /**< RL_KIND_FUNCTION or RL_KIND_LOOP */
    uint32_t module;          /**< index */
    uint32_t function;        /**< unit index of its function; of itself for a function */
    uint32_t parent;          /**< unit index of the enclosing loop, or RL_TALLY_NONE */
    uint64_t begin, end;      /**< file offsets (JIT: addresses): [begin, end) */
    /** Name, group, module, file, line, depth, calls (loops: entries), ops, load_bytes,
     * latency_bound_loads (in loops; unknown for generated code),
     * store_bytes, nontemporal_bytes, total_flop of functions, traffic where it was simulated,
     * missing. No time. */
    struct rl_kernel kernel;
    double instructions; /**< executed; functions only */
    /* Functions: calls that are in no rl_tally_call. */
    double unknown_callees; /**< made through pointers that led nobody knows where */
    double unknown_callers; /**< that came nobody knows whence */
};

/** Why a function has no total: what it called through pointers may be a large part. */
#define RL_TALLY_WHY_NO_TOTAL                                                                      \
    "it, or what it called, called functions through pointers, and where these led is not known"

/** Calls of one function by one site of another. Sites may repeat. */
struct rl_tally_call {
    uint32_t caller, callee; /**< unit indices of functions */
    double calls;
    bool is_exact; /**< else that many at most: a conditional jump */
};

/** One source line of a function that matters, inlined lines included. A hint: optimisers mix
 * lines.
 */
struct rl_tally_line {
    uint32_t function; /**< unit index */
    char *file;
    unsigned line;
    double instructions; /**< executed */
    double flop;
    double load_bytes;
    double store_bytes;
};

/** All that ran while a region was open, in whatever function; nested regions included. */
struct rl_tally_region {
    char *name;
    struct rl_kernel kernel; /**< calls are the times it was entered */
};

/** All processes that ran one program. */
struct rl_tally_image {
    char *path; /**< as the kernel names it; where it is not known, what the process was called */
    size_t n_process;        /**< process images */
    struct rl_kernel kernel; /**< without counts where there is one image only: see `program` */
};

/** Code of a module that was executed at least once. */
struct rl_tally_code {
    uint32_t module;     /**< index */
    uint64_t begin, end; /**< file offsets (JIT: addresses): [begin, end) */
};

struct rl_tally {
    struct rl_tally_module *module;
    size_t n_module;
    struct rl_tally_unit *unit; /**< functions ascending by module and begin, then
                                     loops ascending by function */
    size_t n_unit;
    size_t n_function;
    struct rl_tally_code *code; /**< ascending by module and begin; nothing is in two of them */
    size_t n_code;
    struct rl_tally_call *call; /**< [n_call] in no order */
    size_t n_call;
    struct rl_tally_line *line; /**< ascending by function, file, line; empty unless asked for */
    size_t n_line;
    struct rl_tally_region *region;
    size_t n_region;
    struct rl_tally_image *image; /**< [n_image] in the order they were first seen */
    size_t n_image;
    struct rl_kernel program; /**< everything counted, or asked for */
    double uncounted_share;   /**< part of the work known to be missing; 0 when complete */
    bool is_cut;              /**< a process was counted in part, nobody knows how large a one */
    bool regions_overflowed;  /**< there was no room for what some region counted */
    bool any_child_uncounted; /**< a process started a program that was not counted */
    char **note;              /**< [n_note] sentences a reader must know */
    size_t n_note;
};

struct rl_cache_flow;
struct rl_simulation;
struct rl_symbols_options;
struct rl_traffic_row;
struct rl_traffic_value;

/** Simulated traffic of the same run: accounts of instructions, and how to read sums of them. */
struct rl_tally_traffic {
    const struct rl_traffic_row
        *row; /**< [n_row] as rl_traffic_rows (count/traffic.h) gives them */
    size_t n_row;
    uint32_t n_flows;  /**< in an account */
    uint32_t n_levels; /**< cache levels of the model */
    const void *model; /**< handed to the functions below */
    void (*add)(const void *model, struct rl_cache_flow *sum, const struct rl_cache_flow *account);
    void (*estimate)(const void *model, const struct rl_cache_flow *account, uint32_t level,
                     struct rl_traffic_value *ret_value);
    bool sampled;        /**< only part of the accesses was followed: … */
    uint32_t n_followed; /**< … so many classes of lines at all levels, at the end, … */
    uint32_t n_classes;  /**< … of so many */
    bool widened;        /**< more than asked for, as they are unlike each other */
    uint64_t lost;       /**< records that nobody read in time */
    uint64_t missed;     /**< places in the code whose accesses were not traced */
};

/**
 * All of it from a stopped simulation.
 *
 * @param simulation  as count/traffic.h makes it; borrowed as long as `ret`.
 * @param n_levels    of its geometry.
 */
void rl_tally_traffic_of(const struct rl_simulation *simulation, uint32_t n_levels,
                         struct rl_tally_traffic *ret);

struct rl_tally_options {
    bool loops; /**< find loops */
    bool lines; /**< sum by source line */
    /** Patterns of region names, with a newline between them (see rle_options_selects): count and
     * name what ran in these only. NULL: all. */
    const char *only;
    const struct rl_symbols_options *symbols; /**< NULL: debug files in the customary places */
    const struct rl_tally_traffic *traffic;   /**< NULL: only what the core asks for is known */
};

/**
 * Read and join the results of all processes of one counting run.
 *
 * @param file     [n_file] paths of result files, in any order; borrowed.
 * @param options  NULL: loops, and the customary places for debug files.
 * @param ret      release with rl_tally_release.
 * @return RL_OK, also when some of a file makes no sense (said in `note`); RL_EDATA if no file is a
 *         result of this version; RL_ESYS if one cannot be read; RL_ENOMEM.
 */
enum rl_status rl_tally_build(const char *const *file, size_t n_file,
                              const struct rl_tally_options *options, struct rl_tally *ret,
                              struct rl_error *err);
void rl_tally_release(struct rl_tally *tally);

/** Index of the module with this path (and build id, where both are known), else of one with this
 * build id, as of a program that unpacks itself into another folder each time; or RL_TALLY_NONE. */
uint32_t rl_tally_find_module(const struct rl_tally *tally, const char *path,
                              const uint8_t *build_id, size_t n_build_id);

/** The function unit and the innermost loop unit at an offset; either may be RL_TALLY_NONE.
 * O(log n). */
void rl_tally_find(const struct rl_tally *tally, uint32_t module, uint64_t offset,
                   uint32_t *ret_function, uint32_t *ret_loop);

#endif
