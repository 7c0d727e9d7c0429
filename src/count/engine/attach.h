/* Coming into a running process, and leaving it, at the request of a launcher (control.h). */
#ifndef RL_COUNT_ENGINE_ATTACH_H
#define RL_COUNT_ENGINE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/control.h"
#include "count/engine/signal_abi.h"
#include "count/engine/thread.h"

extern struct rle_control rle_control;

/** Is it a request to leave, a launcher's or our own? */
bool rle_is_kick(int signal, const uint8_t *info);

/** The mask that a kick brought, or `current` if it brought none. */
uint64_t rle_kick_mask(const uint8_t *info, uint64_t current);

/** A kick of our own; `ret_info` has RLE_SIGINFO_BYTES. */
void rle_kick_make(uint8_t *ret_info);

/**
 * Wait until the others can leave too. The caller has blocked all signals and none is pending.
 *
 * @return true: the program's signal handlers are installed, the caller goes on natively, by
 *         rle_leave_block and whatever restores its registers; false: stay.
 */
bool rle_park(struct rle_thread *thread);

/** The calling thread has left: its block is free, gs is 0. Its stack is still the engine's. */
void rle_leave_block(struct rle_thread *thread);

/** Bursts are of one process: does the child of a fork leave at once? */
bool rle_attach_leaves_children(void);

/** In the child of a fork. */
void rle_attach_after_fork(void);

#endif
