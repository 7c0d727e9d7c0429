/* The machine record: what one machine is and how fast it can go.
 *
 * Three flat lists (compute ceilings, memory ceilings, latencies) are what everything else looks
 * ceilings up in. Plain structs: fill them by hand, load them (format.h) or measure them.
 * All-zero is a valid empty record; release with rl_machine_release. Strings are owned by the
 * record. */
#ifndef ROOFLINE_MACHINE_H
#define ROOFLINE_MACHINE_H

#include <roofline/error.h>
#include <roofline/value.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RL_ID_LEN   56
#define RL_WORD_LEN 20
#define RL_NOTE_LEN 160

/** Peak rate for one precision x operation x ISA x thread count. */
struct rl_compute_ceiling {
    char id[RL_ID_LEN]; /**< "<precision>.<op>.<isa>@<threads>"; see rl_compute_id */
    enum rl_precision precision;
    char op[RL_WORD_LEN]; /**< fma add mul add+mul fma+add div sqrt rsqrt exp log sin pow dot … */
    char isa[RL_WORD_LEN]; /**< scalar sse2 avx2 avx512 amx neon sve rvv libm libmvec sleef c */
    unsigned threads;
    char unit[RL_WORD_LEN]; /**< "FLOP/s"; "OP/s" for integers; "elem/s" for special functions */
    struct rl_value rate;   /**< in `unit`, all threads together */
    double per_cycle;       /**< rate per core clock and thread; 0 unknown */
    double limit_per_cycle; /**< theoretical limit per core clock and thread; 0 unknown */
    double reachable_per_cycle; /**< known reachable value where it is below the limit; 0 unknown */
    char limit_note[RL_NOTE_LEN]; /**< source and certainty of the limit */
    double clock_hz;              /**< core clock seen beside the samples; 0 unknown */
    unsigned repeats;             /**< samples behind the rate */
    bool contended;               /**< true: read the rate as "at least" */
    char accuracy[RL_WORD_LEN];   /**< special functions: "1 ULP", "4 ULP"; else empty */
    char variant[RL_NOTE_LEN];    /**< which instruction mix or routine won */
    char *extra;                  /**< unknown JSON keys, kept; may be NULL */
};

/** Bandwidth of one level for one access mix and thread count. */
struct rl_memory_ceiling {
    char id[RL_ID_LEN];        /**< "<level>.<pattern>@<threads>" */
    char level[RL_WORD_LEN];   /**< L1 L2 L3 DRAM HBM … */
    char pattern[RL_WORD_LEN]; /**< load store copy triad 2:1 nt-store nt-copy nt-triad */
    unsigned threads;
    struct rl_value rate; /**< B/s that the loads and stores ask for, all threads together */
    double per_cycle;     /**< bytes per core clock and thread; 0 unknown */
    double limit_per_cycle;
    double reachable_per_cycle;
    char limit_note[RL_NOTE_LEN];
    double clock_hz;
    unsigned repeats;
    bool contended;
    uint64_t working_set_bytes; /**< per thread */
    char variant[RL_NOTE_LEN];
    char *extra;
};

/** Load-to-use latency of one level. */
struct rl_latency {
    char id[RL_ID_LEN]; /**< "<level>@<threads>" */
    char level[RL_WORD_LEN];
    unsigned threads;
    struct rl_value time_s;
    double cycles; /**< 0 unknown */
    uint64_t working_set_bytes;
    char *extra;
};

/** One memory level as found. */
struct rl_level {
    char name[RL_WORD_LEN];
    uint64_t size_bytes;          /**< what to rely on: measured where a sweep says so; 0 unknown */
    uint64_t reported_size_bytes; /**< what the system claims; 0 unknown */
    uint64_t measured_size_bytes; /**< where the bandwidth sweep saw the level end; 0 not swept */
    unsigned line_bytes;
    unsigned ways;
    unsigned shared_by;    /**< hardware threads sharing one instance; 0 unknown */
    unsigned count;        /**< instances the process may use; 0 unknown */
    enum rl_source source; /**< of size_bytes */
};

struct rl_cpu_identity {
    char *vendor;
    char *model_name;
    char *microarchitecture; /**< key of data/catalog, e.g. "amd-zen5"; NULL unknown */
    unsigned family, model, stepping;
    char *identity_note; /**< why family and model are not believed, or their core's limits are not,
                              and what follows; NULL: they are */
    char *isa;           /**< space-separated usable ISA names, e.g. "sse2 avx2 avx512" */
};

struct rl_topology {
    unsigned packages, cores, hw_threads, numa_nodes; /**< of the whole machine; 0 unknown */
    unsigned smt; /**< hardware threads a core, as the system shows them */
    unsigned usable_cores;
    char *allowed_cpus; /**< list format, "0-3,8" */
    char *core_kinds;   /**< hybrid machines: "4 P + 8 E"; NULL when all alike */
    uint64_t memory_bytes;
    struct rl_level *levels;
    size_t n_levels;
};

struct rl_environment {
    char *os, *kernel, *hypervisor, *governor, *thp, *hostname;
    double clock_min_hz, clock_max_hz; /**< range of core clock seen while measuring; 0 unknown */
    double tsc_hz;
    double cpu_quota; /**< CPUs granted by the cgroup; 0 = no quota */
    uint64_t memory_limit_bytes;
    char *date;    /**< ISO 8601, UTC */
    char *program; /**< "roofline 0.1.0" */
    char *mode;    /**< "quick", "default", "thorough" */
    double elapsed_s;
    char *contention; /**< what the contention probe saw, in words; NULL not probed */
};

/** A thing that could not be had, and why. */
struct rl_missing {
    char *what;
    char *why;
};

struct rl_missing_list {
    struct rl_missing *item;
    size_t n;
};

struct rl_machine {
    char *name;
    char *key; /**< identifies the machine and the resources granted; see design */
    struct rl_cpu_identity cpu;
    struct rl_topology topology;
    struct rl_environment environment;
    struct rl_compute_ceiling *compute;
    size_t n_compute;
    struct rl_memory_ceiling *memory;
    size_t n_memory;
    struct rl_latency *latency;
    size_t n_latency;
    struct rl_missing_list missing;
    char *extra; /**< unknown top-level JSON keys, kept; may be NULL */
};

/** Free what the record owns and zero it. A zeroed record is fine. */
void rl_machine_release(struct rl_machine *machine);

/**
 * Append a copy; `extra` moves to the record. An empty id is filled in.
 * @return RL_OK; RL_EINVAL if a ceiling with the same id is there already; RL_ENOMEM.
 */
enum rl_status rl_machine_add_compute(struct rl_machine *machine,
                                      const struct rl_compute_ceiling *c, struct rl_error *err);
enum rl_status rl_machine_add_memory(struct rl_machine *machine, const struct rl_memory_ceiling *m,
                                     struct rl_error *err);
enum rl_status rl_machine_add_latency(struct rl_machine *machine, const struct rl_latency *l,
                                      struct rl_error *err);
enum rl_status rl_machine_add_level(struct rl_machine *machine, const struct rl_level *level,
                                    struct rl_error *err);

/** Append a copy of both strings. @return RL_OK or RL_ENOMEM. */
enum rl_status rl_missing_add(struct rl_missing_list *list, const char *what, const char *why,
                              struct rl_error *err);
/** Whether there is an entry of that name. */
bool rl_missing_has(const struct rl_missing_list *list, const char *what);
void rl_missing_release(struct rl_missing_list *list);

/** Replace an owned string by a copy of `value` (NULL clears). @return RL_OK or RL_ENOMEM. */
enum rl_status rl_string_set(char **field, const char *value, struct rl_error *err);

/** Ceiling with exactly this id, borrowed; NULL if there is none. */
const struct rl_compute_ceiling *rl_machine_compute(const struct rl_machine *machine,
                                                    const char *id);
const struct rl_memory_ceiling *rl_machine_memory(const struct rl_machine *machine, const char *id);
const struct rl_level *rl_machine_level(const struct rl_machine *machine, const char *name);

/**
 * Rank of a memory level by distance from the core: L1 < L2 < L3 < … < DRAM < HBM order aside.
 * @return 1 for "L1" … 9 for "L9", 100 for DRAM and HBM, 50 for any other name.
 */
int rl_level_rank(const char *level);

#ifdef __cplusplus
}
#endif

#endif
