/* Counts by region. Regions nest within a thread; threads with none open count in the innermost one
 * of the first thread (loops parallelised inside it).
 *
 * Translated code knows nothing of regions. When one begins or ends, what the threads concerned
 * have counted since the last such event is moved to the region it belongs to. The caller of
 * everything but rle_region_event, rle_regions_flush holds the engine's lock. */
#ifndef RL_COUNT_ENGINE_REGIONS_H
#define RL_COUNT_ENGINE_REGIONS_H

#include <stdint.h>

#include "count/engine/thread.h"

/**
 * The program executed a mark.
 *
 * @param mark  see region/mark.h.
 * @param name  in the program's memory; what cannot be read is ignored.
 */
void rle_region_event(struct rle_thread *thread, uint32_t mark, const char *name);

void rle_regions_thread_begin(struct rle_thread *thread);
void rle_regions_thread_end(struct rle_thread *thread);

/** The process is about to end: account for what is still open. */
void rle_regions_flush(void);

/** Tell the instrumentation in which region the thread is, and whether that was asked for. The
 * caller holds the engine's lock. */
void rle_regions_tell(struct rle_thread *thread);

/** In the child of a fork, whose counters start from 0; regions open stay open. */
void rle_regions_after_fork(struct rle_thread *thread);

#endif
