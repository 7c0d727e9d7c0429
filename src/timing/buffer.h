/* Page-aligned memory for measurements.
 *
 * Never measured untouched or zero: unwritten pages share one physical page, and some machines
 * store zeros at twice the speed. */
#ifndef RL_TIMING_BUFFER_H
#define RL_TIMING_BUFFER_H

#include <roofline/error.h>
#include <stddef.h>

/** All-zero is valid and empty. `base` is aligned to 2 MiB. */
struct rl_buffer {
    char *base;
    size_t bytes;     /**< usable from base */
    void *map;        /**< what the system gave */
    size_t map_bytes; /**< its size */
};

/**
 * Reserve memory, huge pages preferred, without touching it: whoever fills a part first decides on
 * which memory node it lives.
 * @return RL_OK; RL_EINVAL for 0 bytes; RL_ENOMEM with the size in the message.
 */
enum rl_status rl_buffer_map(struct rl_buffer *buffer, size_t bytes, struct rl_error *err);
void rl_buffer_release(struct rl_buffer *buffer);

/**
 * Write varied, non-zero data that are normal numbers of magnitude about 1 when read as fp32 or
 * fp16, and normal numbers when read as fp64. Call it on the thread that will use the memory.
 */
void rl_buffer_fill(void *start, size_t bytes);

#endif
