/* Names of regions are cut to what tells them apart, wherever they are read: without a part of a
 * UTF-8 character at their end. */
#ifndef RL_REGION_NAME_H
#define RL_REGION_NAME_H

#include "region/wire.h"

#include <stddef.h>

/** Bytes that are kept of a name of n, of which no more than REGION_NAME_LEN - 1 were read. */
static inline size_t region_name_bytes(const char *name, size_t n)
{
    for (size_t tail = 1; n == REGION_NAME_LEN - 1 && tail <= 3; tail++) {
        unsigned char c = (unsigned char)name[n - tail];
        size_t whole = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if ((c & 0xc0) != 0x80)
            return whole > tail ? n - tail : n;
    }
    return n;
}

#endif
