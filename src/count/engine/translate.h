/* Turning a superblock into a fragment: records in the result file, code in an arena.
 * The caller holds the engine's lock. */
#ifndef RL_COUNT_ENGINE_TRANSLATE_H
#define RL_COUNT_ENGINE_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/link.h"

/** How control reaches a fragment through the tables of dispatch.h, and so where the expected
 * target is to be compared with. */
enum rle_via { RLE_VIA_LINK, RLE_VIA_RETURN, RLE_VIA_JUMP };

/**
 * Translate the code at `pc`, which has no live fragment.
 *
 * @param via  a verifying entry of this kind is put directly in front (none for RLE_VIA_LINK).
 * @return the fragment; NULL if nothing executable is mapped at `pc`.
 */
struct rle_fragment *rle_translate(uint64_t pc, enum rle_via via);

/** The verifying entry of a live fragment, made if need be; 0 if it cannot be. */
uint64_t rle_verifying_entry(struct rle_fragment *fragment, enum rle_via via);

#endif
