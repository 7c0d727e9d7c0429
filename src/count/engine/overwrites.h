/* System calls that change the program's memory without a store of its own, and leave its mappings
 * as they are: translations of what was there are given up. */
#ifndef RL_COUNT_ENGINE_OVERWRITES_H
#define RL_COUNT_ENGINE_OVERWRITES_H

#include "count/engine/syscalls.h"

/** Whom such a call, or one that opens a way to them, goes to; NULL for any other. */
rle_syscall_handler *rle_overwriting(long nr);

#endif
