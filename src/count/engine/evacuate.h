/* Everybody out of the cache: the program is about to map something where it lies. */
#ifndef RL_COUNT_ENGINE_EVACUATE_H
#define RL_COUNT_ENGINE_EVACUATE_H

#include "count/engine/thread.h"

/**
 * Detach for good, and wait until every other thread has left translated code, or is in a system
 * call of the program's, from which it comes back to C. A thread that stays for a second, being in
 * a loop of its own with SIGTRAP blocked, is not waited for any longer.
 *
 * @param thread  the calling thread, which leaves when it is dispatched next.
 */
void rle_evacuate(const struct rle_thread *thread, const char *why);

#endif
