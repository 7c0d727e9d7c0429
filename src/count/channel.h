/* The reading end of the channel between traced threads and the traffic model: makes the shared
 * memory, finds the threads that write to it, hands out their records, notices who is gone.
 * What records mean is not known here. Not thread-safe: who calls sees to it. Used by traffic.c and
 * its parts. */
#ifndef RL_COUNT_CHANNEL_H
#define RL_COUNT_CHANNEL_H

#include "count/engine/trace_format.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One process image under the engine. Kept for good once it has appeared. */
struct rl_channel_process {
    int32_t pid;
    uint32_t sequence;
    const struct rle_trace_site *sites; /**< NULL once it is gone */
    uint32_t n_sites;                   /**< valid ones, as last looked */
    void *user;                         /**< the caller's */
    /* Below: channel.c only. */
    struct rle_trace_process *area;
    uint32_t index;
    uint64_t skipped;
    uint64_t overflow;
};

/** One thread that writes. Its address changes as others come and go. */
struct rl_channel_thread {
    struct rl_channel_process *process;
    struct rle_trace_slot *slot;
    const void *ring;
    uint64_t position; /**< bytes taken … */
    uint64_t released; /**< … and given back, = slot->tail */
    uint32_t region;   /**< of what was read last: see rl_channel_region */
    void *user;        /**< the caller's */
    uint32_t index;
    bool ended; /**< writes no more; gone once all is read */
};

struct rl_channel;

/** What the caller is told. Each returns RL_OK, or an error that ends rl_channel_scan. */
struct rl_channel_events {
    enum rl_status (*thread_begins)(void *context, struct rl_channel_thread *thread,
                                    struct rl_error *err);
    /** All its records have been given back. */
    void (*thread_gone)(void *context, struct rl_channel_thread *thread);
    /** No thread of it is left; `sites` are valid for the last time. */
    enum rl_status (*process_gone)(void *context, struct rl_channel_process *process,
                                   struct rl_error *err);
    void *context;
};

/**
 * @param full     1: writers record everything.
 * @param n_apart  lines whose numbers differ modulo this never meet in a set: a power of two, at
 *                 most RLE_TRACE_CLASSES. Of those that do not differ, accesses that repeat the one
 *                 touched last are left out.
 * @param n_ways   of a set of the first level.
 * @param classes  what new threads record, as rle_trace_want.
 * @param centre   a class that is wanted for long: alone, or with such as are a power of two of
 *                 lines away, it is the cheapest to ask for. Below RLE_TRACE_CLASSES.
 * @return RL_OK; RL_ESYS where shared memory cannot be had.
 */
enum rl_status rl_channel_new(bool full, uint32_t n_apart, uint32_t n_ways, uint64_t classes,
                              uint32_t centre, const struct rl_channel_events *events,
                              struct rl_channel **ret_channel, struct rl_error *err);

/** Tell writers that nobody reads any more; from now on scans treat all of them as gone, after what
 * they have written so far. */
void rl_channel_close(struct rl_channel *channel);

/** NULL is fine. Closes if need be. */
void rl_channel_free(struct rl_channel *channel);

/** The file, close-on-exec: writers open it through our /proc/PID/fd. Valid until free. */
int rl_channel_descriptor(const struct rl_channel *channel);

/** Tell writers that the reader lives; at least once a second. */
void rl_channel_beat(struct rl_channel *channel);

/**
 * Look for threads that began, ended or died, and for processes without threads.
 * @param thorough  also ask the system whether processes without news still exist.
 */
enum rl_status rl_channel_scan(struct rl_channel *channel, bool thorough, struct rl_error *err);

/** Threads known now, [*ret_n]; valid until the next scan. */
struct rl_channel_thread *rl_channel_threads(struct rl_channel *channel, size_t *ret_n);

/** Records ready and not yet taken, in one piece; valid until rl_channel_release. */
const struct rle_trace_record *rl_channel_peek(const struct rl_channel_thread *thread,
                                               uint64_t *ret_n);

/**
 * The region that the thread was in when it wrote the records peeked at (struct rle_trace_change).
 * @param n  how many records: cut where the thread went elsewhere.
 */
uint32_t rl_channel_region(struct rl_channel_thread *thread, uint64_t *n);

/** Records peeked at next are those behind n more. */
void rl_channel_take(struct rl_channel_thread *thread, uint64_t n);

/** Give n records that were taken back, in their order, and wake the writer if it waits. */
void rl_channel_release(struct rl_channel_thread *thread, uint64_t n);

/** What all threads, present and future, are to record. */
void rl_channel_want(struct rl_channel *channel, uint64_t classes);

/** Sums over all processes, gone ones included. */
struct rl_channel_totals {
    uint32_t processes;
    uint32_t threads;

    uint64_t lost;     /**< overwritten because the reader was too late to be waited for */
    uint64_t waits;    /**< times a thread had to wait for the reader */
    uint64_t skipped;  /**< places in the code whose accesses cannot be traced */
    uint64_t overflow; /**< places in the code beyond the number that fits */
};

void rl_channel_totals(const struct rl_channel *channel, struct rl_channel_totals *ret_totals);

/** Processor seconds of the processes that are followed, so far. */
double rl_channel_cpu_s(struct rl_channel *channel);

#endif
