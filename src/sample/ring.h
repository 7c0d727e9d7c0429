/* perf_event ring buffers as bytes: records in, decoded events out.
 *
 * What the ring holds is treated as hostile: sizes and texts are checked against the record before
 * they are used, and a record that makes no sense ends the reading of that ring's present content.
 */
#ifndef RL_SAMPLE_RING_H
#define RL_SAMPLE_RING_H

#include "sample/event.h"

/** What samples carry: perf_event_attr.sample_type, with sample_id_all. */
#define RING_SAMPLE_TYPE                                                                           \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID |                 \
     PERF_SAMPLE_PERIOD)

/**
 * Decode the records in `data`.
 *
 * @param data  [n] whole records, one after the other.
 * @return RL_OK, also for content that makes no sense (counted in n_corrupt); RL_ENOMEM.
 */
enum rl_status ring_decode(const uint8_t *data, size_t n, struct event_list *list,
                           struct rl_error *err);

/** One mapped ring. `size` of its data is a power of two. */
struct ring {
    void *page; /**< struct perf_event_mmap_page, followed by the data */
    size_t size;
};

/** Take everything out of the ring. `scratch` is the caller's buffer of at least ring->size. */
enum rl_status ring_drain(struct ring *ring, uint8_t *scratch, struct event_list *list,
                          struct rl_error *err);

#endif
