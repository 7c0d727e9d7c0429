/* Counters bumped by C: executions that a signal cut short. */
#ifndef RL_COUNT_ENGINE_CORRECTIONS_H
#define RL_COUNT_ENGINE_CORRECTIONS_H

#include <stdint.h>

#include "count/engine/thread.h"

/** Allocate the index. False if there is no memory. */
bool rle_corrections_init(void);

/** Add one to a counter of the thread; RLE_NONE: nothing. */
void rle_count(struct rle_thread *thread, uint32_t counter);

/** Note that the thread left `fragment` (a record of the result) before its instruction `insn`.
 * Takes the engine's lock. */
void rle_correct(struct rle_thread *thread, uint32_t fragment, unsigned insn);

#endif
