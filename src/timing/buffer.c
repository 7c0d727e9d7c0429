#include "timing/buffer.h"

#include "base/error.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static const size_t huge_page = (size_t)2 << 20;
static const size_t pattern_bytes =
    (size_t)1 << 20; /* of contents, then they repeat: drawing more takes long */

enum rl_status rl_buffer_map(struct rl_buffer *buffer, size_t bytes, struct rl_error *err)
{
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return rl_fail(err, RL_EINVAL, "a buffer of %zu bytes cannot be had", bytes);
    size_t map_bytes = bytes + huge_page;
    void *map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return rl_fail(err, RL_ENOMEM,
                       "no memory for a buffer of %zu MiB; 'ulimit -v' may limit it", bytes >> 20);
    uintptr_t aligned = ((uintptr_t)map + huge_page - 1) & ~(uintptr_t)(huge_page - 1);
    buffer->map = map;
    buffer->map_bytes = map_bytes;
    buffer->base = (char *)map + (aligned - (uintptr_t)map);
    buffer->bytes = bytes;
    (void)madvise(buffer->base, bytes, MADV_HUGEPAGE); /* a wish: without it pages are small */
    return RL_OK;
}

void rl_buffer_release(struct rl_buffer *buffer)
{
    if (buffer->map)
        munmap(buffer->map, buffer->map_bytes);
    *buffer = (struct rl_buffer){0};
}

/* Each 32-bit word is 0x3F80'3C00 with 17 varied bits: fp32 in [1,2), its low half fp16 in [1,2),
 * and two of them an fp64 in [2^-7, 2). */
static void vary(uint32_t *word, size_t n)
{
    uint32_t x = 2463534242u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        word[i] = 0x3F803C00u | (x & 0x007F03FFu);
    }
}

void rl_buffer_fill(void *start, size_t bytes)
{
    char *to = start;
    size_t varied = bytes < pattern_bytes ? bytes : pattern_bytes;
    vary(start, varied / sizeof(uint32_t));
    for (size_t at = varied; at < bytes; at += varied)
        memcpy(to + at, start, bytes - at < varied ? bytes - at : varied);
}
