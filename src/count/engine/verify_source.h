/* Code in memory that is writable and executable at once may change without notice: a fragment of
 * such code compares its source with what it was translated from, each time it is entered. */
#ifndef RL_COUNT_ENGINE_VERIFY_SOURCE_H
#define RL_COUNT_ENGINE_VERIFY_SOURCE_H

#include <stdint.h>

#include "count/engine/emit.h"
#include "count/engine/superblock.h"

/** Emit the comparison for a planned superblock; flags and registers are kept. If it fails, control
 * leaves through a stub RLE_STUB_CHANGED of fragment `fragment`. */
void rle_emit_verify_source(struct rle_emit *e, const struct rle_plan *plan, uint32_t fragment);

#endif
