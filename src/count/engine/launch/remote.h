/* Acting inside another process: words of its memory, and the engine's object mapped by system
 * calls made in its name. How a call is made differs (inject.h, target.h). */
#ifndef RL_COUNT_ENGINE_LAUNCH_REMOTE_H
#define RL_COUNT_ENGINE_LAUNCH_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "count/engine/launch/image.h"

struct remote {
    pid_t pid; /**< of a stopped thread that the caller traces */
    /** Let it make a system call. @return its result, -EIO if that does not work. */
    long (*call)(struct remote *remote, long nr, const uint64_t args[6]);
};

/** Registers of a thread that is to make a call; the stack and where it goes on are not touched. */
void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6]);

/** Write a word, also where the process itself may not. */
bool remote_poke(pid_t pid, uint64_t at, uint64_t word);

/** Copy to and from memory that the process itself may write, or read. */
bool remote_write(pid_t pid, uint64_t at, const void *from, size_t bytes);
bool remote_read(pid_t pid, uint64_t at, void *to, size_t bytes);

/** As mmap(2), in the process. */
long remote_map(struct remote *remote, uint64_t at, uint64_t bytes, int protection, int flags,
                long fd, uint64_t offset);
bool remote_failed(long result);

/**
 * Map and relocate the engine.
 *
 * @param scratch  where in the process a path may be written.
 * @return NULL, or what went wrong.
 */
const char *remote_map_image(struct remote *remote, const struct image *image, uint64_t scratch,
                             uint64_t *ret_base);

#endif
