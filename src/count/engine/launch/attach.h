/* Bringing all threads of a running process under the engine, and out again. */
#ifndef RL_COUNT_ENGINE_LAUNCH_ATTACH_H
#define RL_COUNT_ENGINE_LAUNCH_ATTACH_H

#include "count/engine/launch/target.h"

/** What to attach with. */
struct attach_options {
    const struct image *image;
    const char *engine_path; /**< as the process finds it too */
    const char *options;     /**< value of the engine's variable (options.h) */
    pid_t owner;             /**< who lets it leave again, 0: nobody; should it be gone the next
                                  that attaches does */
    uint64_t session;        /**< same number: counts go on in the same result file */
};

/**
 * Redirect every thread to where it is taken over, and let go of the process. Threads that have
 * not yet left the engine since it was last attached to are in again as they come by.
 *
 * @param why  [REASON_BYTES] on failure: a clause about the process, which runs on natively.
 * @return false if it could not be done.
 */
bool attach(pid_t pid, const struct attach_options *options, char *why);

/**
 * Let every thread leave that is not in a system call; those will at its end.
 *
 * @return false, with the reason in `why`, if the engine is not in it or a thread does not leave.
 */
bool detach(pid_t pid, const struct image *image, char *why);

/** Is the engine that was in the process no longer so? It replaced its program, by exec. */
bool engine_went_with_program(pid_t pid, const struct image *image);

#endif
