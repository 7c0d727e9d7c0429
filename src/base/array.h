/* Growing plain arrays, one element at a time. */
#ifndef RL_BASE_ARRAY_H
#define RL_BASE_ARRAY_H

#include <stddef.h>

/**
 * Make room for one more element and return it, zeroed.
 *
 * @param array  address of the caller's element pointer (NULL when empty), realloc'ed in place.
 * @param n      number of elements, incremented on success.
 * @param size   size of one element in bytes.
 * @return the new element, valid until the next append; NULL without memory (nothing changed).
 */
void *rl_array_append(void *array, size_t *n, size_t size);

#endif
