/* Programs that a preloaded object does not reach - static ones, and those of other dynamic loaders
 * - are executed through the launcher beside the engine. */
#ifndef RL_COUNT_ENGINE_EXEC_H
#define RL_COUNT_ENGINE_EXEC_H

#include <stdbool.h>
#include <stddef.h>

/** Arguments for executing the launcher, in one mapping. */
struct rle_launch {
    void *memory;
    size_t bytes;
};

/** Does the file at `path` (in the program's memory) need it? False in doubt. */
bool rle_needs_launcher(const char *path);

/**
 * Turn the arguments of execve (path, argv, envp) into those that execute the launcher. It is not
 * to be counted itself: the environment stays the program's own.
 *
 * @return 0, or a negated error number.
 */
long rle_launch_for_exec(long *args, struct rle_launch *ret);

void rle_launch_release(struct rle_launch *launch);

#endif
