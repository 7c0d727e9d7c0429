/* Programs that a preloaded object does not reach - static ones, and those of other dynamic loaders
 * - are executed through the launcher beside the engine. */
#ifndef RL_COUNT_ENGINE_EXEC_H
#define RL_COUNT_ENGINE_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "count/engine/exec_file.h"

enum {
    RLE_NO_DESCRIPTOR = -1,
    RLE_LAUNCH_CANNOT = 1, /**< the launcher cannot be given the file */
};

/** What to execute instead, in one mapping. */
struct rle_launch {
    void *memory;
    size_t bytes;
    const char *path;
    const char *const *argv;
    long fd; /**< open for the launcher, RLE_NO_DESCRIPTOR: none */
};

/**
 * How to execute the launcher in place of what the program asked for. It is not to be counted
 * itself: the environment stays the program's own.
 *
 * @param ret  written on 0; to be released should the exec fail.
 * @return 0, a negated error number, or RLE_LAUNCH_CANNOT.
 */
long rle_launch_for_exec(const struct rle_exec *exec, bool by_descriptor, struct rle_launch *ret);

void rle_launch_release(struct rle_launch *launch);

#endif
