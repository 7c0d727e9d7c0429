/* Compact copies of result files: sections without room to grow, counters added up by region. */
#include "count/result.h"

#include "base/error.h"
#include "base/file.h"
#include "count/result_view_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct image {
    uint8_t *data;
    size_t n, capacity;
};

/* Room for `size` bytes at a multiple of 8; NULL without memory. */
static uint8_t *append(struct image *image, size_t size)
{
    size_t begin = (image->n + 7) / 8 * 8;
    if (begin + size > image->capacity) {
        size_t capacity = 2 * (begin + size) + 4096;
        uint8_t *data = realloc(image->data, capacity);
        if (!data)
            return NULL;
        memset(data + image->capacity, 0, capacity - image->capacity);
        image->data = data;
        image->capacity = capacity;
    }
    image->n = begin + size;
    return image->data + begin;
}

/* One extent for everything outside regions and one for each region that has any. */
static enum rl_status append_counters(const struct result_view *view, struct image *image,
                                      struct rle_result_section *extents, struct rl_error *err)
{
    size_t n_regions = result_view_used(view, RLE_SECTION_REGIONS);
    size_t bytes = (size_t)view->header.n_counters * sizeof(uint64_t);
    struct rle_result_extent extent, *made = calloc(n_regions + 1, sizeof *made);
    enum rl_status status = made ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory to copy a result");
    for (size_t i = 0;
         !status && result_view_record(view, RLE_SECTION_EXTENTS, i, &extent, sizeof extent); i++) {
        const uint8_t *from = result_view_counters(view, &extent);
        if (!from || extent.region > n_regions) {
            status = rl_fail(err, RL_EDATA, "counters of a thread lie outside the file");
            break;
        }
        struct rle_result_extent *sum = &made[extent.region];
        if (!sum->offset) {
            uint8_t *room = append(image, bytes);
            if (!room) {
                status = rl_fail(err, RL_ENOMEM, "no memory to copy a result");
                break;
            }
            *sum = (struct rle_result_extent){.offset = (uint64_t)(room - image->data),
                                              .region = extent.region};
        }
        for (size_t k = 0; k < view->header.n_counters; k++) {
            uint64_t a, b;
            memcpy(&a, image->data + sum->offset + 8 * k, sizeof a);
            memcpy(&b, from + 8 * k, sizeof b);
            a += b; /* modulo 2^64: what moved to a region is taken off elsewhere */
            memcpy(image->data + sum->offset + 8 * k, &a, sizeof a);
        }
    }
    *extents = (struct rle_result_section){.stride = sizeof extent};
    uint8_t *room = status ? NULL : append(image, (n_regions + 1) * sizeof extent);
    if (!status && !room)
        status = rl_fail(err, RL_ENOMEM, "no memory to copy a result");
    for (size_t i = 0; !status && i <= n_regions; i++)
        if (made[i].offset) {
            memcpy(room + extents->used * sizeof extent, &made[i], sizeof extent);
            extents->used++;
        }
    if (!status) {
        extents->offset = (uint64_t)(room - image->data);
        extents->capacity = extents->used;
    }
    free(made);
    return status;
}

static enum rl_status compact(const struct result_view *view, struct image *image,
                              struct rl_error *err)
{
    struct rle_result_header header = view->header;
    header.header_bytes = sizeof header;
    header.counter_capacity = header.n_counters;
    if (!append(image, sizeof header))
        return rl_fail(err, RL_ENOMEM, "no memory to copy a result");
    for (unsigned i = 0; i < RLE_N_SECTIONS; i++) {
        const struct rle_result_section *from = &view->header.sections[i];
        struct rle_result_section *to = &header.sections[i];
        if (i == RLE_SECTION_EXTENTS)
            continue;
        size_t bytes = (size_t)from->used * from->stride;
        uint8_t *room = append(image, bytes);
        if (!room)
            return rl_fail(err, RL_ENOMEM, "no memory to copy a result");
        memcpy(room, view->data + from->offset, bytes);
        to->offset = (uint64_t)(room - image->data);
        to->capacity = to->used;
    }
    RL_TRY(append_counters(view, image, &header.sections[RLE_SECTION_EXTENTS], err));
    memcpy(image->data, &header, sizeof header);
    return RL_OK;
}

enum rl_status rl_result_compact(const char *from, const char *to, struct rl_error *err)
{
    uint8_t *data;
    size_t size;
    struct result_view view;
    struct image image = {0};
    RL_TRY(result_load(from, &data, &size, err));
    enum rl_status status = result_view_open(data, size, from, &view, err);
    if (!status)
        status = compact(&view, &image, err);
    if (!status)
        status = rl_file_write(to, image.data, image.n, err);
    free(image.data);
    munmap(data, size);
    return status;
}
