/* Hash table from keys to positions in an array that somebody else owns. */
#ifndef RL_SAMPLE_INDEX_H
#define RL_SAMPLE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

struct index_slot {
    uint64_t hash;
    uint32_t position; /**< INDEX_NONE: free */
};

/** All-zero is valid and empty. */
struct index_table {
    struct index_slot *slot;
    size_t capacity; /**< 0 or a power of two */
    size_t n;
};

/** Does the element at `position` have the key? */
typedef bool index_equal(const void *context, uint32_t position, const void *key);

/** @return the position stored under a key with this hash, or INDEX_NONE. */
uint32_t index_find(const struct index_table *table, uint64_t hash, index_equal *equal,
                    const void *context, const void *key);
/** Store a key that is not there yet. @return false without memory. */
bool index_add(struct index_table *table, uint64_t hash, uint32_t position);
void index_release(struct index_table *table);

/** Mix the words of a key into a hash, one after the other, starting from 0. */
static inline uint64_t index_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

#endif
