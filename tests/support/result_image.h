/* Result files of the counting engine, made by hand for tests. */
#ifndef TESTS_SUPPORT_RESULT_IMAGE_H
#define TESTS_SUPPORT_RESULT_IMAGE_H

#include "count/engine/options.h"
#include "count/engine/result_format.h"

#include <assert.h>
#include <string.h>

#define IMAGE_BYTES    (1u << 16)
#define IMAGE_RECORDS  64u
#define IMAGE_COUNTERS 64u
#define IMAGE_SECTION  (IMAGE_RECORDS * 88u)

struct result_image {
    _Alignas(8) uint8_t data[IMAGE_BYTES];
};

static inline struct rle_result_header *image_header(struct result_image *image)
{
    return (struct rle_result_header *)(void *)image->data;
}

static const uint32_t image_strides[RLE_N_SECTIONS] = {
    [RLE_SECTION_MODULES] = sizeof(struct rle_result_module),
    [RLE_SECTION_FRAGMENTS] = sizeof(struct rle_result_fragment),
    [RLE_SECTION_BLOCKS] = sizeof(struct rle_result_block),
    [RLE_SECTION_CODE] = 1,
    [RLE_SECTION_CORRECTIONS] = sizeof(struct rle_result_correction) + 8,
    [RLE_SECTION_THREADS] = sizeof(struct rle_result_thread),
    [RLE_SECTION_EXTENTS] = sizeof(struct rle_result_extent),
    [RLE_SECTION_UNCOUNTED] = sizeof(struct rle_result_uncounted),
    [RLE_SECTION_REGIONS] = sizeof(struct rle_result_region),
    [RLE_SECTION_STRINGS] = 1,
};

static inline void image_init(struct result_image *image)
{
    memset(image, 0, sizeof *image);
    struct rle_result_header *h = image_header(image);
    memcpy(h->magic, RLE_RESULT_MAGIC, sizeof h->magic);
    h->version = RLE_RESULT_VERSION;
    h->header_bytes = sizeof *h;
    h->isa = RLE_ISA_X86_64;
    h->pid = 100;
    h->state = RLE_STATE_EXITED;
    h->start_ns = 1000;
    h->end_ns = 2000;
    h->n_counters = IMAGE_COUNTERS;
    h->counter_capacity = IMAGE_COUNTERS;
    for (uint32_t i = 0; i < RLE_N_SECTIONS; i++) {
        h->sections[i].offset = 4096 + (uint64_t)i * IMAGE_SECTION;
        h->sections[i].stride = image_strides[i];
        h->sections[i].capacity = IMAGE_SECTION / image_strides[i];
    }
    h->sections[RLE_SECTION_STRINGS].used = 1; /* offset 0 is the empty string */
}

/* Append `size` bytes to a section; returns the index of the record (byte sections: the offset). */
static __attribute__((noinline)) uint32_t image_add(struct result_image *image,
                                                    enum rle_section_id section, const void *record,
                                                    uint32_t size)
{
    struct rle_result_section *s = &image_header(image)->sections[section];
    uint32_t index = s->used;
    memcpy(image->data + s->offset + (uint64_t)index * s->stride, record, size);
    s->used += s->stride == 1 ? size : 1;
    assert(s->used <= s->capacity);
    return index;
}

static inline uint32_t image_string(struct result_image *image, const char *text)
{
    return image_add(image, RLE_SECTION_STRINGS, text, (uint32_t)strlen(text) + 1);
}

static inline uint32_t image_module(struct result_image *image, const char *path, uint64_t address,
                                    uint64_t length, uint64_t file_offset)
{
    const struct rle_result_module m = {.address = address,
                                        .length = length,
                                        .file_offset = file_offset,
                                        .path = *path ? image_string(image, path) : 0};
    return image_add(image, RLE_SECTION_MODULES, &m, sizeof m);
}

/* One more block for the fragment that image_fragment will close. */
static inline uint32_t image_block(struct result_image *image, uint32_t module, uint64_t address,
                                   const void *code, uint32_t n_bytes, uint32_t n_insns,
                                   uint32_t exit_counter)
{
    const struct rle_result_block b = {.address = address,
                                       .module = module,
                                       .code = image_add(image, RLE_SECTION_CODE, code, n_bytes),
                                       .exit_counter = exit_counter,
                                       .code_bytes = (uint16_t)n_bytes,
                                       .n_insns = (uint16_t)n_insns};
    return image_add(image, RLE_SECTION_BLOCKS, &b, sizeof b);
}

static inline uint32_t image_fragment(struct result_image *image, uint32_t first_block,
                                      uint32_t head_counter)
{
    const struct rle_result_fragment f = {
        .first_block = first_block,
        .n_blocks = image_header(image)->sections[RLE_SECTION_BLOCKS].used - first_block,
        .head_counter = head_counter};
    return image_add(image, RLE_SECTION_FRAGMENTS, &f, sizeof f);
}

/* Counters of one thread and region (0: none); `values[i]` is counter i. */
static inline void image_counters(struct result_image *image, uint32_t thread, uint32_t region,
                                  const uint64_t *values, uint32_t n)
{
    uint32_t k = image_header(image)->sections[RLE_SECTION_EXTENTS].used;
    const struct rle_result_extent e = {.offset =
                                            IMAGE_BYTES - (uint64_t)(k + 1) * IMAGE_COUNTERS * 8,
                                        .thread = thread,
                                        .region = region};
    memcpy(image->data + e.offset, values, n * sizeof *values);
    image_add(image, RLE_SECTION_EXTENTS, &e, sizeof e);
}

#endif
