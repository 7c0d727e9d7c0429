/* Counting a running process now and then: the engine's launcher does it at our word. */
#ifndef RL_PROFILE_BURSTS_H
#define RL_PROFILE_BURSTS_H

#include "base/scratch.h"
#include "profile/result_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** All-zero is valid: nothing was started. */
struct bursts {
    struct rl_scratch scratch;   /**< with the result files */
    struct result_files results; /**< more than one if it became another program */
    pid_t launcher;              /**< 0: not running */
    pid_t pid;
    FILE *to, *from;
    unsigned n;       /**< bursts that succeeded */
    double counted_s; /**< sum of their lengths */
    char why[256];    /**< why there are no more of them; "" nothing is wrong */
};

/**
 * Start the launcher.
 *
 * @param engine, launcher  paths of the objects.
 * @param scratch_dir       NULL: as rl_scratch_make.
 * @param ret               end with bursts_end, then bursts_release.
 * @return RL_OK; RL_EUNAVAIL where a path is not to be had; RL_ESYS; RL_ENOMEM.
 */
enum rl_status bursts_start(pid_t pid, const char *engine, const char *launcher,
                            const char *scratch_dir, struct bursts *ret, struct rl_error *err);

/** Count for so long; returns when the process runs natively again. @return false, with `why`, if
 * that is not possible, now and later. */
bool bursts_count(struct bursts *bursts, unsigned burst_ms);

/** No further ones; finds `results` if any succeeded. */
enum rl_status bursts_end(struct bursts *bursts, struct rl_error *err);

/** Removes the result files. */
void bursts_release(struct bursts *bursts);

#endif
