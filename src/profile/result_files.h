/* The files that the counting engine left in a folder: one for each program that a process ran. */
#ifndef RL_PROFILE_RESULT_FILES_H
#define RL_PROFILE_RESULT_FILES_H

#include <roofline/error.h>

#include <stddef.h>

/** What their names begin with, a dot behind it; then the number that the process has for itself.
 */
#define RESULT_PREFIX "result"

/** All-zero is valid: none. */
struct result_files {
    char **path; /**< [n], by process number */
    size_t n;
};

/**
 * @param ret  release with result_files_release.
 * @return RL_OK, also if there is none; RL_ESYS where the folder cannot be read; RL_ENOMEM.
 */
enum rl_status result_files_find(const char *folder, struct result_files *ret,
                                 struct rl_error *err);
void result_files_release(struct result_files *files);

#endif
