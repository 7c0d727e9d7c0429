/* What an exec is about to run, and so how the engine gets into it. */
#ifndef RL_COUNT_ENGINE_EXEC_FILE_H
#define RL_COUNT_ENGINE_EXEC_FILE_H

#include <stdbool.h>

/** execve and execveat in one form; everything but `dirfd` and `flags` in the program's memory. */
struct rle_exec {
    long dirfd; /**< AT_FDCWD for execve */
    const char *path;
    const char *const *argv;
    const char *const *envp;
    long flags; /**< AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW */
};

enum rle_exec_way {
    RLE_EXEC_PRELOADED,     /**< by its dynamic loader; also what the kernel will refuse */
    RLE_EXEC_LAUNCHED,      /**< by the launcher, which can name it as the program does */
    RLE_EXEC_BY_DESCRIPTOR, /**< by the launcher, which is handed the open file */
    RLE_EXEC_UNREACHED,     /**< not at all */
};

/** @param ret_why  set for RLE_EXEC_UNREACHED: the reason, for the result. */
enum rle_exec_way rle_exec_way(const struct rle_exec *exec, const char **ret_why);

/** A descriptor of the file that stays open across exec; a negated error number if it cannot be
 * named by one. */
long rle_exec_descriptor(const struct rle_exec *exec);

#endif
