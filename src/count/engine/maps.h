/* What is mapped where: the process's maps in /proc, asked rarely and remembered until the program
 * changes its mappings. The caller holds the engine's lock. */
#ifndef RL_COUNT_ENGINE_MAPS_H
#define RL_COUNT_ENGINE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct rle_region {
    /* Of a mapping, or of the part of it that can be read, or of a page that cannot. */
    uint64_t low, high;
    bool readable; /**< in fact, whatever was asked for */
    bool writable; /**< here or, being shared, perhaps elsewhere: may change without notice */
    bool executable;
    uint32_t module; /**< index in the result's MODULES, RLE_NONE if it could not be recorded */
};

/**
 * The mapping that holds `address`.
 *
 * @return NULL if there is none that may be executed. Valid until the next call.
 */
const struct rle_region *rle_region_at(uint64_t address);

/** Could the kernel not be asked when it was tried last? Then NULL from rle_region_at() means
 * nothing. */
bool rle_regions_unknown(void);

/** Mappings changed: forget what was remembered. */
void rle_regions_forget(void);

/** Changes with every rle_regions_forget; never 0. */
uint32_t rle_regions_generation(void);

/**
 * A hole in the address space for `bytes`, as near to `address` as possible but within `reach` of
 * it on either side (both ends of the hole), clear of places that grow (heap, stacks) unless
 * nothing else is left.
 *
 * @return its 2 MiB-aligned start; 0 if there is none.
 */
uint64_t rle_find_hole(uint64_t address, uint64_t bytes, uint64_t reach);

#endif
