/* Where separate debug files are: by build id, by debug link, beside the debug file. Never asks the
 * network: a profiler must not wait for, or tell, a server. */
#ifndef RL_SYMBOL_DEBUG_FILE_H
#define RL_SYMBOL_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

struct debug_search {
    const char *debug_dir; /* e.g. /usr/lib/debug */
};

/**
 * @param file      the stripped file.
 * @param id        [id_size] its build id; size 0: none.
 * @param link      its .gnu_debuglink, or NULL; `crc` is that section's checksum.
 * @param ret_path  malloc'd path of what was opened.
 * @return a file descriptor the caller owns, or -1.
 */
int debug_file_open(const struct debug_search *search, const char *file, const uint8_t *id,
                    size_t id_size, const char *link, uint32_t crc, char **ret_path);

/** The supplementary file (.gnu_debugaltlink) that `debug_file` names. */
int debug_file_open_alternate(const struct debug_search *search, const char *debug_file,
                              const char *link, char **ret_path);

/** Open a regular file for reading without ever blocking, e.g. on a pipe; -1 with errno. */
int regular_file_open(const char *path);

#endif
