/* What a simulation of traffic holds. Private to traffic.c, which begins and ends it and keeps the
 * rows, traffic_read.c, which takes records from the channel and keeps the sampling's clock, and
 * traffic_share.c, by which several workers go through the same records. */
#ifndef RL_COUNT_TRAFFIC_INTERNAL_H
#define RL_COUNT_TRAFFIC_INTERNAL_H

#include "count/accounts.h"
#include "count/traffic.h"

#include <pthread.h>

enum {
    RL_TRAFFIC_STEPS_KEPT = 64,      /* turns a thread's reading may lag behind its writing */
    RL_TRAFFIC_BATCH = 1 << 14,      /* records of one thread before the next has its turn */
    RL_TRAFFIC_FEW = 1 << 13,        /* records with which it is not worth to go on at once */
    RL_TRAFFIC_IDLE_NS = 250 * 1000, /* sleep then: looking disturbs the writers */
    RL_TRAFFIC_PIECES = 1 << 10,     /* that wait for the slowest worker, at most */
};

/** One thread of the program, as the model sees it. */
struct rl_traffic_reader {
    uint32_t core;
    uint64_t step;                           /* first one not yet applied to its core … */
    uint64_t step_at[RL_TRAFFIC_STEPS_KEPT]; /* … and where in its ring each one is to be */
    uint64_t done; /* records that all workers are through with, not yet given back */
};

struct rl_traffic_step {
    uint32_t n_changes;
    struct rl_sampling_change change[RL_SAMPLING_CHANGES_MAX];
};

/** Records of one thread in one region, which every worker has to go through. */
struct rl_traffic_piece {
    const struct rle_trace_site *sites;
    struct rl_region_accounts *accounts;
    const struct rle_trace_record *record;
    struct rl_traffic_reader *reader;
    uint32_t n;
    uint32_t n_sites;
    uint32_t core;
};

struct rl_traffic_worker {
    struct rl_simulation *traffic;
    uint32_t index;
    uint32_t n_cores; /* of its model */
    struct rl_cache *cache;
    uint64_t own; /* classes of lines, one bit each */
    pthread_t thread;
    bool out_of_memory; /* atomic */
    uint64_t malformed;
    uint64_t watched; /* records of the fixed classes: the program's work, as far as it shows */
    _Alignas(RL_CACHE_LINE_BYTES) uint64_t done; /* pieces, atomic */
};

struct rl_simulation {
    struct rl_traffic_options options;
    struct rl_sampling sampling;
    struct rl_channel *channel;
    uint32_t n_flows;
    struct rl_traffic_worker worker[RL_ACCOUNT_WORKERS];

    pthread_t reader;
    bool started;
    bool stop; /* atomic */
    enum rl_status status;
    struct rl_error error;

    struct rl_traffic_step step[RL_TRAFFIC_STEPS_KEPT];
    uint64_t n_steps;
    double next_step_s;
    double step_began_s;
    uint64_t records;
    uint64_t records_at_step;
    double cpu_at_step_s; /* of the program */
    /* Records of the fixed classes, by which turns of the second stage are as long as steps between
     * them. */
    uint64_t watched; /* those classes, one bit each */
    uint64_t watched_at_step;
    double watched_by_step; /* in a step of the last pause, on average */
    uint32_t pause_steps;
    bool core_used[RL_CACHE_CORES_MAX];

    /* Several workers: who holds the lock reads the channel and hands out pieces. */
    pthread_mutex_t reading;
    struct rl_traffic_piece *piece;                    /* [RL_TRAFFIC_PIECES], a ring */
    uint64_t given_back;                               /* pieces; under the lock */
    bool quit;                                         /* atomic */
    _Alignas(RL_CACHE_LINE_BYTES) uint64_t handed_out; /* pieces, atomic */

    struct rl_traffic_row *row;
    size_t n_row;
    size_t row_capacity;
    struct rl_channel_totals totals;
};

/* ---- traffic_read.c ---- */

/** For rl_channel_events; the context is the simulation. */
enum rl_status rl_traffic_begin_thread(void *context, struct rl_channel_thread *thread,
                                       struct rl_error *err);
void rl_traffic_end_thread(void *context, struct rl_channel_thread *thread);

/** The reader thread's life: argument and result of pthread_create's. */
void *rl_traffic_read(void *simulation);

/** Put a piece through a worker's model. */
void rl_traffic_run(struct rl_traffic_worker *worker, const struct rl_traffic_piece *piece);

/** No memory for what it found? */
bool rl_traffic_is_short(const struct rl_traffic_worker *worker);

/** Sleep until there may be something to do again, so many times RL_TRAFFIC_IDLE_NS. */
void rl_traffic_rest(unsigned times);

/* ---- traffic_share.c ---- */

/**
 * Several workers: give back what all are through with, look for threads that come and go, and hand
 * out what there is to read. For the reader thread, which may ask for a thorough look.
 * @param ret_n  records handed out.
 */
enum rl_status rl_traffic_hand_out(struct rl_simulation *traffic, bool thorough, uint64_t *ret_n);

/** Do what has been handed out, or some of it if it is much. Returns the number of records. */
uint64_t rl_traffic_work(struct rl_traffic_worker *worker);

/** The life of a worker but the first, whose is the reader's. */
void *rl_traffic_share(void *worker);

#endif
