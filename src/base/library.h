/* A look at a shared library before it is loaded. */
#ifndef RL_BASE_LIBRARY_H
#define RL_BASE_LIBRARY_H

#include <roofline/error.h>

/**
 * Is the file as long as its program headers say? The dynamic loader maps what they say and dies of
 * a bus error behind the end of a file that was cut off.
 *
 * @param path  a name without a slash is one that the loader searches for: nothing is checked.
 * @return RL_OK, also for what is no 64-bit ELF file or cannot be read: the loader says so itself;
 *         RL_EDATA if the file was cut off.
 */
enum rl_status rl_library_check(const char *path, struct rl_error *err);

#endif
