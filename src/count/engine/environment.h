/* The engine's traces in the environment: taken out before the program looks, put back for exec. */
#ifndef RL_COUNT_ENGINE_ENVIRONMENT_H
#define RL_COUNT_ENGINE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/** An environment built for exec, in one mapping. */
struct rle_environment {
    const char **pointers;
    void *memory;
    size_t bytes;
};

/**
 * Find the options and take the engine's variables out of the environment, in place.
 *
 * The block of pointers is followed by the auxiliary vector, and some run-times find that one by
 * walking to the end of the pointers: a hole of two pointers is filled with an ignored entry of it.
 *
 * @param envp  the program's environment, terminated by NULL.
 * @return the value of RLE_OPTIONS_ENV; NULL if it is not set (then nothing was changed).
 */
const char *rle_environment_clean(char **envp);

/**
 * The environment `envp` (in the program's memory) with the engine's variables added.
 *
 * @return 0, or a negated error number.
 */
long rle_environment_for_exec(const char *const *envp, struct rle_environment *ret);

void rle_environment_release(struct rle_environment *environment);

#endif
