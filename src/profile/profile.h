/* Profiling a program: native runs for time, a counting run for operations and bytes, one profile.
 *
 * The layer-4 producer behind `roofline record`. It starts the runs, checks that they agree, joins
 * time (sample) with counts (tally), and says in the profile's notes how each was had. */
#ifndef RL_PROFILE_PROFILE_H
#define RL_PROFILE_PROFILE_H

#include "profile/tally.h"
#include "sample/sample.h"

struct rl_pmu;
struct rl_named_events;

/** Where counts come from. */
enum rl_profile_count {
    RL_COUNT_AUTO = 0, /**< the engine, and hardware counters beside it where they are given; what
                            does not work is a gap */
    RL_COUNT_ENGINE,
    RL_COUNT_PMU,  /**< hardware counters: of the program as a whole, not of its functions */
    RL_COUNT_NONE, /**< time only */
};

enum rl_profile_traffic {
    RL_TRAFFIC_MODEL = 0, /**< sampled cache model, with its error */
    RL_TRAFFIC_FULL,      /**< every access through the cache model */
    RL_TRAFFIC_PMU,       /**< of the program as a whole */
    RL_TRAFFIC_NONE,
};

const char *rl_profile_count_name(enum rl_profile_count count);
bool rl_profile_count_from_name(const char *name, enum rl_profile_count *ret_count);
const char *rl_profile_traffic_name(enum rl_profile_traffic traffic);
bool rl_profile_traffic_from_name(const char *name, enum rl_profile_traffic *ret_traffic);

/**
 * Does the counting engine work here? Counts a trivial program with it.
 * @return RL_OK; RL_EUNAVAIL with the reason.
 */
enum rl_status rl_profile_probe_engine(const char *engine, const char *const *envp,
                                       struct rl_error *err);

/**
 * Can running processes be counted here? Attaches to a child, which is no relative of the one that
 * traces it.
 * @return RL_OK; RL_EUNAVAIL with the reason.
 */
enum rl_status rl_profile_probe_attach(const char *engine, const char *launcher,
                                       struct rl_error *err);

struct rl_profile_options {
    enum rl_profile_count count;
    enum rl_profile_traffic traffic;
    enum rl_sample_method sampling;
    unsigned rate_hz;    /**< 0: the method's default */
    unsigned repeats;    /**< native runs; 0: 1 */
    bool single_pass;    /**< one run only: time comes from the counting run */
    bool times_follow;   /**< times come from elsewhere: nothing is said of this run's */
    bool functions;      /**< a kernel for each function */
    bool loops;          /**< a kernel for each loop */
    bool regions;        /**< a kernel for each marked region */
    const char *include; /**< glob on kernel names; NULL: all */
    bool no_follow;      /**< programs started by exec are neither counted nor timed */
    const char *only;    /**< see struct rl_tally_options; NULL: all of the program */
    /** [n_function] globs: no functions but these, no loops but theirs; 0: all. */
    const char *const *function;
    size_t n_function;
    double min_share;     /**< kernels below this part of the time are left out; 0: none */
    const char *preload;  /**< path of librooflinesample.so; NULL: none */
    const char *engine;   /**< path of libroofline-engine.so; NULL: none */
    const char *launcher; /**< path of roofline-engine-launch; NULL: none */
    const struct rl_machine *machine; /**< whose caches are simulated; NULL: no traffic */
    struct rl_pmu *counters;          /**< not yet started, self-test passed; NULL: none */
    struct rl_named_events *events;   /**< counted in a run of their own; NULL: none */
    const char *scratch_dir;          /**< NULL: as rl_scratch_make */
    const char *const *replay;        /**< [n_replay] result files used instead of a counting run */
    size_t n_replay;
    const char *date;    /**< ISO 8601; NULL: none is written */
    const char *program; /**< "roofline 0.1.0" */
    /** Called about ten times a second. `pass` is what is being done, e.g. "timing, run 1 of 1";
     * `expected_s` 0: unknown; `is_silent`: the program's output is discarded in this pass. */
    void (*progress)(void *context, const char *pass, double elapsed_s, double expected_s,
                     bool is_silent);
    /** Asked between passes: true, and no further one is started. NULL: never. */
    bool (*cancelled)(void *context);
    void *context;
};

/**
 * Profile a command.
 *
 * @param argv, envp   as rl_sample_run.
 * @param options      borrowed.
 * @param ret_profile  release with rl_profile_release; exit_status is set, as a shell gives it.
 * @return RL_OK whatever the program's own status; else as rl_sample_run; RL_ECANCEL if it was
 *         cancelled before the program ran; RL_EUNAVAIL where a demanded source of counts does not
 *         work here; RL_EINVAL where one run is to be counted in two ways.
 */
enum rl_status rl_profile_run(const char *const *argv, const char *const *envp,
                              const struct rl_profile_options *options,
                              struct rl_profile *ret_profile, struct rl_error *err);

/**
 * Profile a running process: time by sampling, and, unless options->count is RL_COUNT_NONE, bursts
 * of counting in between, which tell intensity and mix (rl_kernel.is_mix). It runs natively
 * afterwards.
 * @param duration_s  as rl_sample_attach, the bursts included.
 * @return as rl_sample_attach; RL_EUNAVAIL where counting was demanded and did not work.
 */
enum rl_status rl_profile_attach(int32_t pid, double duration_s,
                                 const struct rl_profile_options *options,
                                 struct rl_profile *ret_profile, struct rl_error *err);

/**
 * Give a profile that has counts the times of one that was recorded before, without counting, of
 * the same program: for programs that cannot be started twice in one job.
 *
 * Kernels are matched by kind, name and module; those that only have a time are added.
 * @param from  what is moved from it is empty afterwards.
 */
enum rl_status rl_profile_take_times(struct rl_profile *profile, struct rl_profile *from,
                                     struct rl_error *err);

/** What the join needs of one run after the other. */
struct rl_profile_inputs {
    const struct rl_samples *samples; /**< [n_samples] native runs; the first is what is shown */
    size_t n_samples;
    const struct rl_tally *tally; /**< NULL: nothing was counted */
};

/**
 * Join time and counts into kernels: pure data in, data out.
 * @param profile  appended to; command, date and machine are the caller's to set.
 */
enum rl_status rl_profile_join(const struct rl_profile_inputs *inputs,
                               const struct rl_profile_options *options, struct rl_profile *profile,
                               struct rl_error *err);

#endif
