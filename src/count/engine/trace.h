/* Tracing memory accesses for the traffic model: the two instrumentation tables, and what their
 * chapters share. trace_plan.c decides which accesses share a record and where it is written,
 * trace_steps.c which ones walk along lines, trace_emit.c writes the code, trace_filter.c and
 * trace_full.c the tests in it, trace.c does what happens outside translated code.
 *
 * In RLE_MODE_TRAFFIC an access costs a test whether its line is wanted; in RLE_MODE_FULL one
 * whether it can change anything in a cache, and records are in program order. The format is
 * trace_format.h. */
#ifndef RL_COUNT_ENGINE_TRACE_H
#define RL_COUNT_ENGINE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/instrument.h"
#include "count/engine/trace_format.h"

extern const struct rle_instrument rle_instrument_sampled;
extern const struct rle_instrument rle_instrument_full;

/** Open the channel of the options. @return NULL, or what is wrong: static. */
const char *rle_trace_open(void);

/* ---- trace.c for the other two ---- */

/**
 * Make sites, linked to each other; the caller holds the engine's lock.
 * @return index of the first; 0 if there is no room: then nothing may be traced there.
 */
uint32_t rle_trace_add_sites(const struct rle_trace_site *sites, unsigned n);

/** Note that an access cannot be traced. */
void rle_trace_skip(void);

/** The class from which emitted code reckons, see rle_trace_slot.mask. */
uint32_t rle_trace_centre(void);

/** How many lines are told apart in the slot's `recent`. */
uint32_t rle_trace_apart(void);

/** How a mask in the code of a loop is used; x, mask and within as in struct rle_trace_slot. */
enum rle_trace_form {
    RLE_TRACE_BY_MASK,     /**< x & mask: two instructions, and a closer look if it is 0 */
    RLE_TRACE_BY_DISTANCE, /**< x & (mask | within), to be compared: three, and surer */
    RLE_TRACE_FORMS,
};

/**
 * The mask to write into code that is being translated, to be followed by rle_trace_keep_place.
 * @return false if no more places can be kept: the code is to read the slot's mask.
 */
bool rle_trace_mask_in_code(enum rle_trace_form form, unsigned reach, uint32_t *ret_mask);

/** The mask written at `at` is to be changed whenever it changes. */
void rle_trace_keep_place(enum rle_trace_form form, unsigned reach, uint8_t *at);

/** Ways of a set of the first level. */
uint32_t rle_trace_ways(void);

/** What emitted code asks of the engine: staged[0], the site being staged[1]. */
enum rle_trace_request {
    RLE_TRACE_ROOM,    /**< the cursor has reached the limit, or masks are stale */
    RLE_TRACE_STRING,  /**< a repeated string instruction is about to run; registers say on what */
    RLE_TRACE_SCANNED, /**< one that may end early has run; staged[2] is rcx as it was before */
    RLE_TRACE_GATHER,  /**< vector[] holds indices and mask, staged[2] the base, staged[3] packed */
};

/** How staged[3] describes a gather or scatter. */
struct rle_trace_gather {
    uint8_t scale;
    uint8_t count;      /**< elements */
    uint8_t index_size; /**< bytes of one index */
    uint8_t
        mask_size; /**< bytes of a mask element, whose sign bit counts; 0: vector[1] holds bits */
};

/* ---- trace_emit.c for trace.c: the callbacks that emit ---- */

struct rle_emit;

unsigned rle_trace_plan_sampled(const struct rle_superblock *sb);
void rle_trace_enter_sampled(struct rle_emit *e, const struct rle_superblock *sb);
void rle_trace_before_sampled(struct rle_emit *e, const struct rle_superblock *sb, unsigned i);
unsigned rle_trace_plan_full(const struct rle_superblock *sb);
void rle_trace_before_full(struct rle_emit *e, const struct rle_superblock *sb, unsigned i);

/* ---- trace_plan.c for trace_emit.c ---- */

enum {
    RLE_TRACE_CLUSTERS_MAX = 400, /**< in a superblock: two operands an instruction */
    RLE_TRACE_LINKED_MAX = 32,    /**< accesses that share a record */
};

/** Accesses that share one record. */
struct rle_trace_cluster {
    int64_t low;     /**< displacement of its lowest byte; the address itself if there is no base */
    int64_t at_head; /**< the same with the registers as they are at the loop's head, if `steps` */
    uint32_t site;
    uint16_t at;           /**< written in front of this instruction */
    uint16_t width;        /**< bytes from the lowest to behind the highest */
    uint16_t stores_begin; /**< those of its stores, from the lowest one on … */
    uint16_t stores_end;   /**< … to behind the highest; only if it writes */
    uint8_t base;          /**< RLE_REG_NONE: none */
    uint8_t index;         /**< RLE_REG_NONE: none */
    uint8_t scale;
    bool steps;                /**< moves upwards along lines, time after time round a loop … */
    uint8_t step_shift;        /**< … by at most 1 << this bytes */
    bool thread_local_segment; /**< relative to the fs base */
    bool joined;               /**< of several accesses */
    bool writes;               /**< some access of it stores */
    bool always;               /**< must be recorded even if the line was the last one: atomic or
                                    non-temporal */
};

struct rle_trace_plan {
    struct rle_trace_cluster cluster[RLE_TRACE_CLUSTERS_MAX]; /**< ascending by `at` */
    unsigned n;
};

/** Decide for a superblock whose blocks have records. */
void rle_trace_plan_clusters(const struct rle_superblock *sb, bool in_order,
                             struct rle_trace_plan *plan);

/* ---- trace_steps.c for trace_emit.c ---- */

/**
 * Find the clusters of a loop that walk along lines: they are not asked for each time round, but
 * when one of them has reached a wanted line.
 *
 * @param ways  lines that the loop may touch at a time.
 * @return whether there are any.
 */
bool rle_trace_find_steps(const struct rle_superblock *sb, unsigned ways,
                          struct rle_trace_plan *plan);

#endif
