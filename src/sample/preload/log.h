/* Inside the preloaded object: writing to the scratch directory from a signal handler. Only system
 * calls that are no cancellation points, no allocation, no locks that could be held already. */
#ifndef RL_SAMPLE_PRELOAD_LOG_H
#define RL_SAMPLE_PRELOAD_LOG_H

#include "sample/preload/wire.h"

#include <stdbool.h>

/** @return false if the path is too long; then nothing else here does anything. */
bool log_open(const char *directory);
/** Note that an image begins in this process. */
void log_image(bool was_execed, uint64_t time_ns);
/** Note that a thread of this process cannot be sampled. */
void log_refused(void);
/** Make sure that the mapping around `ip` is written down; does nothing if it is already. */
void log_mapping(uint64_t ip);
/** A new chunk with room for samples, or NULL. `*ret_room` is how many. */
struct timer_chunk *log_chunk(uint32_t bytes, int32_t pid, int32_t tid, uint32_t *ret_room);
void log_close_chunk(struct timer_chunk *chunk, uint32_t bytes);

uint64_t log_now_ns(void);

#endif
