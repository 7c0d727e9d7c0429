/* Folders for the files of one run, removed when it ends, or, should it be killed, when the next
 * one begins. */
#ifndef RL_BASE_SCRATCH_H
#define RL_BASE_SCRATCH_H

#include <roofline/error.h>

/** All-zero is valid and empty. */
struct rl_scratch {
    char path[256];
    int lock_plus_one; /**< descriptor that holds the folder's lock */
};

/**
 * Make a folder for this process alone, and remove those that dead processes left beside it.
 *
 * @param under  where; NULL: the first of /dev/shm, $TMPDIR and /tmp with space.
 * @param ret    its path is absolute whatever `under` is.
 * @return RL_OK: end with rl_scratch_remove; RL_ESYS where no folder can be made.
 */
enum rl_status rl_scratch_make(const char *under, struct rl_scratch *ret, struct rl_error *err);

/**
 * A path of a file that can stand in LD_PRELOAD, which is split at blanks and colons and in which $
 * begins a word of the loader's: the file's own where it has none of these, else that of a link to
 * it in the folder.
 *
 * @param ret_path  to be freed.
 * @return RL_OK; RL_EUNAVAIL where the folder's path has such letters too; RL_ESYS; RL_ENOMEM.
 */
enum rl_status rl_scratch_name(const struct rl_scratch *scratch, const char *file, char **ret_path,
                               struct rl_error *err);

/** With the files in it. Fine on an empty one. */
void rl_scratch_remove(struct rl_scratch *scratch);

#endif
