/* From the constructor of the preloaded object, from the program's first instruction, or out of its
 * midst (attach.h), into translated code: what all of these need. */
#ifndef RL_COUNT_ENGINE_TAKEOVER_H
#define RL_COUNT_ENGINE_TAKEOVER_H

#include <stdbool.h>

/**
 * Tables, result file and, if it is to be traced, the channel: once in a process, or until it
 * succeeds.
 *
 * @param options  value of the engine's variable.
 * @return NULL, or what went wrong.
 */
const char *rle_prepare(const char *options, bool has_fsgsbase);

/**
 * Another result file for what is counted from now on, with what is known of the program's code.
 * No thread may be counting.
 *
 * @return NULL, or what went wrong.
 */
const char *rle_renew(const char *options);

#endif
