/* The state of the engine: one per address space, in zero-initialised memory of the engine object.
 * `lock` guards everything but what is marked constant; code in the cache runs without it. */
#ifndef RL_COUNT_ENGINE_ENGINE_H
#define RL_COUNT_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/instrument.h"
#include "count/engine/options.h"
#include "count/engine/sys.h"
#include "count/engine/thread.h"

struct rle_engine {
    struct rle_lock lock;
    struct rle_options options;              /**< constant after take-over */
    const struct rle_instrument *instrument; /**< constant after take-over */
    char object_path[RLE_OUTPUT_MAX];        /**< constant: of the engine, for LD_PRELOAD */
    unsigned shrink;            /**< constant: tables hold 2^-shrink of what they usually do */
    bool refuse_rseq;           /**< constant */
    bool has_fsgsbase;          /**< constant */
    bool has_rtm;               /**< constant: the processor knows transactions (xbegin) */
    bool real_calls;            /**< constant: calls and returns are executed as such */
    uint32_t xstate_bytes;      /**< constant: most a signal frame may hold */
    struct rle_actions actions; /**< the program's view of its signal actions */
    struct rle_thread *threads[RLE_THREADS_MAX];
    uint32_t n_threads; /**< slots ever used */
};

extern struct rle_engine rle_engine;

#endif
