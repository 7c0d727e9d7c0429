#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Capacity is the next power of two, so that it needs no field of its own. */
void *rl_array_append(void *array, size_t *n, size_t size)
{
    void *base;
    memcpy(&base, array, sizeof base);
    if ((*n & (*n - 1)) == 0) {
        size_t capacity = *n ? 2 * *n : 1;
        if (capacity > SIZE_MAX / size || !(base = realloc(base, capacity * size)))
            return NULL;
        memcpy(array, &base, sizeof base);
    }
    void *slot = (char *)base + *n * size;
    memset(slot, 0, size);
    (*n)++;
    return slot;
}
