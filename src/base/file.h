/* Whole files: read with a size limit, written atomically.
 *
 * A writer puts everything into a temporary file beside the target and renames it at commit, so
 * that an interrupted or failed write leaves the old file (or none) behind, never half of the new
 * one. */
#ifndef RL_BASE_FILE_H
#define RL_BASE_FILE_H

#include <roofline/error.h>
#include <stddef.h>
#include <stdio.h>

/**
 * Read a file ("-" = standard input) into fresh memory, with a NUL appended.
 *
 * @param path       what the error text names.
 * @param max_bytes  a larger file is RL_EDATA.
 * @param ret_text   free() it; written on success only.
 * @param ret_size   bytes without the NUL; may be NULL.
 */
enum rl_status rl_file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_size,
                            struct rl_error *err);

/** A file being written. All-zero is valid and closed. */
struct rl_output {
    FILE *stream; /**< write here */
    char *path;
    char *temporary; /**< NULL when writing straight to standard output or a device */
};

/**
 * Start writing `path` ("-" or NULL = standard output). Devices and pipes are written directly; of
 * a symbolic link the file it points to is replaced.
 * @return RL_OK; RL_EINVAL for an empty name; RL_ESYS when the folder cannot be written; RL_ENOMEM.
 */
enum rl_status rl_output_open(struct rl_output *out, const char *path, struct rl_error *err);

/** Flush, sync errors included, and put the file in place. The output is closed either way. */
enum rl_status rl_output_commit(struct rl_output *out, struct rl_error *err);

/** Give up: remove the temporary file. Fine on a closed output. */
void rl_output_abort(struct rl_output *out);

/** Write a block of bytes to `path` atomically: open, write, commit. */
enum rl_status rl_file_write(const char *path, const void *data, size_t size, struct rl_error *err);

/** The path without its folders, in place; one that ends in a slash as it is. */
const char *rl_base_name(const char *path);

/** Create a folder and its parents (mode 0777 & ~umask). An existing folder is fine. */
enum rl_status rl_mkdirs(const char *path, struct rl_error *err);

#endif
