/* A result file in memory, behind checks: every section lies within the file. */
#ifndef RL_COUNT_RESULT_VIEW_INTERNAL_H
#define RL_COUNT_RESULT_VIEW_INTERNAL_H

#include "count/engine/result_format.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>

struct result_view {
    const uint8_t *data; /* [size] */
    size_t size;
    struct rle_result_header header; /* a copy */
};

/* Check header and sections. `name` is for messages. */
enum rl_status result_view_open(const uint8_t *data, size_t size, const char *name,
                                struct result_view *ret_view, struct rl_error *err);

/* Copy what is valid of a file to memory, sections close together; the caller unmaps. Holes of the
 * file are not touched where it lies: on a full file system that would be fatal. */
enum rl_status result_load(const char *path, uint8_t **ret_data, size_t *ret_size,
                           struct rl_error *err);

/* Record `i` of a section, copied to `ret` ([size] bytes); false beyond `used`. */
bool result_view_record(const struct result_view *view, enum rle_section_id section, size_t i,
                        void *ret, size_t size);

size_t result_view_used(const struct result_view *view, enum rle_section_id section);

/* A string of the file; "" when the offset or its end lies outside. */
const char *result_view_string(const struct result_view *view, uint32_t offset);

/* [size] bytes of section CODE, or NULL. */
const uint8_t *result_view_code(const struct result_view *view, uint32_t offset, size_t size);

/* Counters of an extent, [header.n_counters] at any alignment, or NULL. */
const uint8_t *result_view_counters(const struct result_view *view,
                                    const struct rle_result_extent *extent);

#endif
