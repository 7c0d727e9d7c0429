/* Native time: where a program spends it, per code address and thread, while it runs undisturbed.
 *
 * Runs the program once, samples the instruction pointers of all its threads and children, and
 * resolves each one at its own time to a module and an offset in that file. No root, no hardware
 * counter. What it does not do: name functions (symbol), count (count), or judge (analysis).
 * Called by src/profile, which joins the result with counts.
 *
 * Two methods. `perf`: software clock of perf_event, one event per CPU, inherited. `timer`: where
 * that call is refused, a preloaded object gives each thread timers that find it at moments of its
 * CPU time that were drawn before. */
#ifndef RL_SAMPLE_SAMPLE_H
#define RL_SAMPLE_SAMPLE_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_sample_method {
    RL_SAMPLE_AUTO = 0, /**< perf, else timer, else none */
    RL_SAMPLE_PERF,
    RL_SAMPLE_TIMER,
    RL_SAMPLE_NONE, /**< no addresses: elapsed time, CPU time and regions only */
};

/** "auto", "perf", "timer", "none"; NULL outside the enumeration. */
const char *rl_sample_method_name(enum rl_sample_method method);
bool rl_sample_method_from_name(const char *name, enum rl_sample_method *ret_method);

/**
 * Can this method work here?
 * @return RL_OK, or RL_EUNAVAIL with the reason and what would enable it. Opens and closes one
 * event on the calling thread for `perf`; looks at the object file for `timer`.
 */
enum rl_status rl_sample_probe(enum rl_sample_method method, const char *preload,
                               struct rl_error *err);

/** Samples a second by `perf` and by timers where nothing is known of their cost. */
#define RL_SAMPLE_USUAL_HZ       1999u
#define RL_SAMPLE_USUAL_TIMER_HZ 997u

struct rl_sample_options {
    enum rl_sample_method method;
    /** Samples a second of CPU time. 0: what takes 1.25 % of the program's time at most by what a
     * sample is measured to cost here, from 251 to 3989 by perf and to 997 by timers. */
    unsigned rate_hz;
    /** Path of librooflinesample.so: needed for `timer` and for regions marked with the interfaces
     * of other tools. NULL: do without. */
    const char *preload;
    bool regions;            /**< time marked regions */
    bool discard_output;     /**< the program's standard output and error go to /dev/null */
    const char *scratch_dir; /**< directory for shared files; NULL: as rl_scratch_make */
    /** Called about five times a second from the calling thread; may be NULL. */
    void (*progress)(void *context, double elapsed_s);
    /** Attached only: called every `interlude_every_s`, while nothing is sampled; the time it
     * takes is in no result. False, and it is not called again. NULL: never. */
    bool (*interlude)(void *context);
    double interlude_every_s;
    void *progress_context; /**< of both */
};

enum rl_sample_module_kind {
    RL_SAMPLE_FILE = 0, /**< a mapped file; offsets are file offsets */
    RL_SAMPLE_VDSO,     /**< the kernel's page of user code; offsets count from its start */
    RL_SAMPLE_JIT,      /**< executable memory of no file; "offsets" are absolute addresses */
    RL_SAMPLE_UNKNOWN,  /**< in no known mapping; "offsets" are absolute addresses */
};

#define RL_SAMPLE_BUILD_ID_MAX 32
#define RL_SAMPLE_NAME_LEN     16

struct rl_sample_module {
    enum rl_sample_module_kind kind;
    char *path;       /**< as the kernel names it; "[vdso]", "[jit]", "[unknown]" */
    uint32_t process; /**< JIT and unknown: index of the process it belongs to; else 0 */
    uint8_t build_id[RL_SAMPLE_BUILD_ID_MAX];
    size_t n_build_id; /**< 0: the file has none, or could not be read */
    uint64_t inode;    /**< 0 unknown */
    uint64_t size_bytes;
    int64_t
        mtime_ns; /**< of the file when the run ended; with size_bytes it tells a changed file */
    int held_plus_one; /**< descriptor of the very file that ran, which may be deleted by now; 0:
                          none */
};

/** One program image: a process, and again after each exec. */
struct rl_sample_process {
    int32_t pid;
    int32_t parent_pid; /**< 0 unknown */
    char *command;      /**< path of the executable where seen, else its short name */
    double start_s;     /**< since the start of the run */
    double end_s;       /**< of the run where it was still alive */
    bool was_execed;    /**< this image was started by exec rather than by fork */
};

struct rl_sample_thread {
    uint32_t process; /**< index */
    int32_t tid;
    char name[RL_SAMPLE_NAME_LEN];
    double cpu_s; /**< user CPU time sampled */
};

/** Time at one code address in one thread. */
struct rl_sample_bucket {
    uint32_t module; /**< index */
    uint32_t thread; /**< index */
    uint64_t offset; /**< in the module; see rl_sample_module_kind */
    double cpu_s;    /**< CPU time of the samples that fell here, scaled as `sampled_s` is */
    uint32_t n_samples;
};

/** Of a tick, as rl_sample_point.part counts them. */
#define RL_SAMPLE_TICK_PARTS 65536u

/** One sample on the time line that concurrency is computed from. */
struct rl_sample_point {
    uint32_t bucket; /**< index */
    uint32_t tick;   /**< time since start in units of rl_samples.tick_s */
    uint16_t ticks;  /**< before it, that it stands for; no more than 65535 */
    uint16_t part;   /**< parts of a tick that it came later than `tick` */
};

/** A marked region in one thread. */
struct rl_sample_region {
    char *name;
    uint32_t process;
    int32_t tid;
    uint64_t calls;   /**< times begun and ended */
    double time_s;    /**< wall time inside, nested regions included, recursion counted once */
    double self_s;    /**< without the regions nested in it */
    double cpu_s;     /**< unused by timing alone; 0 */
    uint64_t unended; /**< begun but never ended; their time is not in time_s */
    uint64_t apart;   /**< of the calls, those begun with this and the main thread in none */
};

/** Wall time of a region over all threads of one process: time with at least one thread in it. */
struct rl_sample_region_wall {
    char *name;
    uint32_t process;
    double wall_s;
    /** Mean number of the process's threads at work while its main thread was in the region, not
     * counting those that waited in an OpenMP runtime. 0: not known; may be < 1. */
    double threads;
    uint64_t n_samples; /**< that `threads` rests on */
};

/** One stay of a process's main thread in a region; of many, some. */
struct rl_sample_region_span {
    uint32_t wall;             /**< index */
    uint64_t begin_ns, end_ns; /**< since the start of the run */
};

struct rl_samples {
    enum rl_sample_method method; /**< what was really used; never RL_SAMPLE_AUTO */
    unsigned rate_hz;
    bool rate_was_asked;  /**< else it was chosen by the cost */
    double sample_cost_s; /**< the program's time that a sample takes; 0: not measured */
    double elapsed_s;     /**< exec to end of the program */
    double user_s;        /**< of the program and the children it waited for */
    double system_s;      /**< likewise */
    /** CPU time the buckets sum to: by perf that in user code, and where it missed some of it,
     * scaled to what the kernel counted. */
    double sampled_s;
    uint64_t n_lost;    /**< samples that were taken but lost */
    int wait_status;    /**< as wait(2) gives it */
    int interrupted_by; /**< signal that asked the caller to end meanwhile; 0 none */
    uint64_t max_rss_bytes;
    uint64_t written_bytes; /**< by the program; 0: unknown, as where samples are written from it */
    unsigned max_threads;   /**< most threads seen on CPUs within one period */
    double mean_threads;    /**< CPU time per wall time with at least one thread on a CPU */
    bool children_left;     /**< children were still running when the program ended */

    struct rl_sample_module *module;
    size_t n_module;
    struct rl_sample_process *process; /**< [0] is the program itself */
    size_t n_process;
    struct rl_sample_thread *thread;
    size_t n_thread;
    struct rl_sample_bucket *bucket;
    size_t n_bucket;

    struct rl_sample_point *point; /**< ascending in tick */
    size_t n_point;
    double tick_s;         /**< a sixteenth of the mean sampling period */
    double point_fraction; /**< part of the samples kept in `point`; < 1 on very long runs */

    struct rl_sample_region *region;
    size_t n_region;
    struct rl_sample_region_wall *region_wall;
    size_t n_region_wall;
    struct rl_sample_region_span *region_span;
    size_t n_region_span;

    char **note; /**< [n_note] sentences a reader must know */
    size_t n_note;
};

/**
 * Run a program to its end and sample it.
 *
 * @param argv     NULL-terminated; argv[0] is looked up in PATH of `envp` unless it has a slash.
 * @param envp     NULL-terminated environment of the program; additions for the preloaded object
 *                 are made in a copy.
 * @param options  NULL for the defaults.
 * @param ret      release with rl_samples_release.
 * @return RL_OK, whatever the program's own status; RL_EINVAL or RL_ESYS if it cannot be started
 *         (no such file, not executable, other architecture); RL_EUNAVAIL if the demanded method
 *         is refused; RL_ENOMEM.
 *
 * The program keeps standard streams, terminal, working directory, process group and signal
 * dispositions. Signals from the terminal reach it directly; SIGTERM and SIGHUP sent to the caller
 * are passed on, and what was sampled until then is returned. Call from a thread that
 * takes the process's signals: they are blocked while the program runs.
 */
enum rl_status rl_sample_run(const char *const *argv, const char *const *envp,
                             const struct rl_sample_options *options, struct rl_samples *ret,
                             struct rl_error *err);

/**
 * Sample a running process and its threads for a while (method perf only).
 * @param duration_s  > 0; ends earlier when the process does or on SIGINT.
 * @return as rl_sample_run; RL_ESYS if there is no such process or it is not the caller's;
 *         RL_EINVAL if the number is that of a thread other than the first.
 */
enum rl_status rl_sample_attach(int32_t pid, double duration_s,
                                const struct rl_sample_options *options, struct rl_samples *ret,
                                struct rl_error *err);

void rl_samples_release(struct rl_samples *samples);

/** The group of buckets that belong to none. */
#define RL_SAMPLE_NO_GROUP UINT32_MAX

/** Time of one group of buckets (a function, a loop, a module). */
struct rl_sample_time {
    double cpu_s;   /**< summed over threads */
    double wall_s;  /**< with at least one thread in the group: cpu_s / threads */
    double threads; /**< mean number of threads in the group at a time while any is; >= 1 */
    double spread;  /**< relative half-width of the 95 % interval that sampling alone leaves */
    uint64_t n_samples;
};

/**
 * Sum buckets into groups, with the concurrency of each.
 *
 * @param group_of_bucket  [samples->n_bucket] group index < n_group or RL_SAMPLE_NO_GROUP.
 * @param ret_time         [n_group], written on RL_OK only; all-zero for a group without samples.
 * @return RL_OK; RL_EINVAL for an index outside its range; RL_ENOMEM.
 *
 * Threads: each sample stands for the time of its thread since the one before. Wall time is that
 * in which the samples of any thread stand for the group. Threads of all processes count alike.
 */
enum rl_status rl_samples_group(const struct rl_samples *samples, const uint32_t *group_of_bucket,
                                size_t n_group, struct rl_sample_time *ret_time,
                                struct rl_error *err);

#endif
