/* The counting run: the program once more, with the counting engine preloaded. */
#ifndef RL_PROFILE_COUNTING_H
#define RL_PROFILE_COUNTING_H

#include "base/scratch.h"
#include "decode/cache_model.h"
#include "profile/profile.h"
#include "profile/result_files.h"

/** One counting run; all-zero is valid. */
struct counting {
    struct rl_scratch scratch; /**< with the result files */
    struct result_files results;
    double elapsed_s;
    double cpu_s; /**< of the program and the children it waited for */
    int wait_status;
    uint64_t written_bytes;          /**< by the program; 0: unknown */
    int interrupted_by;              /**< signal that asked the caller to end meanwhile; 0 none */
    struct rl_simulation *traffic;   /**< a stopped simulation (count/traffic.h); NULL: none */
    struct rl_cache_geometry caches; /**< what it simulated */
    char traffic_missing[256];       /**< why there is none, if it was asked for */
};

/** Can the engine be used at all? @return RL_OK, or RL_EUNAVAIL with the reason. */
enum rl_status counting_probe(const char *engine, struct rl_error *err);

struct counting_options {
    const char *engine;
    const char *launcher; /**< NULL: static programs cannot be counted */
    /** librooflinesample.so, which lets the engine see regions marked for other tools; NULL: none.
     */
    const char *markers;
    enum rl_profile_traffic traffic;
    /** Start by the launcher what could be preloaded too, and what it starts: from the first
     * instruction. */
    bool launch_all;
    uint64_t seed;       /**< of the draw of lines to follow; 0: the usual one */
    bool translate_only; /**< nothing is counted: to know what translating costs */
    bool no_follow;      /**< programs started by exec run on uncounted */
    const char *only;    /**< traffic is followed in these regions; as in struct rl_tally_options */
    const struct rl_machine *machine; /**< whose caches are simulated; NULL: none can be */
    const char *scratch_dir;
    bool discard_output;
    void (*progress)(void *context, double elapsed_s);
    void *context;
};

/**
 * @param ret  release with counting_release, which removes the result files.
 * @return RL_OK whatever the program's own status; RL_EUNAVAIL if the engine left no result (with
 *         the likely reason); else as rl_sample_run.
 */
enum rl_status counting_run(const char *const *argv, const char *const *envp,
                            const struct counting_options *options, struct counting *ret,
                            struct rl_error *err);
void counting_release(struct counting *counting);

#endif
