/* Sampling with perf_event's software clock: one event per CPU, inherited by all that the program
 * starts, needing no privilege at perf_event_paranoid 2. */
#ifndef RL_SAMPLE_PERF_H
#define RL_SAMPLE_PERF_H

#include "sample/collect.h"

#include <poll.h>
#include <sys/types.h>

struct perf;

/** What is known where perf_event_open was refused. */
struct perf_refusal {
    int error; /**< errno */
    bool has_paranoid;
    int paranoid;     /**< kernel.perf_event_paranoid */
    bool is_filtered; /**< this process is under a seccomp filter */
    bool is_foreign;  /**< asked for a running process that is not our child */
};

/** Name the cause and the remedy. @return RL_EUNAVAIL. */
enum rl_status perf_refused(const struct perf_refusal *why, struct rl_error *err);

/** Can an event be opened at all? @return RL_OK, or RL_EUNAVAIL with the reason and the remedy. */
enum rl_status perf_probe(struct rl_error *err);

/**
 * Open events on `pid`, which has not yet exec'ed: they start counting when it does.
 * @param threads  NULL, or for a running process its [n_thread] thread ids: counting starts at
 *                 perf_enable.
 */
enum rl_status perf_open(pid_t pid, const pid_t *threads, size_t n_thread, unsigned rate_hz,
                         struct perf **ret, struct rl_error *err);
enum rl_status perf_enable(struct perf *perf, struct rl_error *err);
/** Until perf_enable nothing is sampled. */
void perf_disable(struct perf *perf);

/** Descriptors to poll: readable when a ring fills up. Borrowed. */
struct pollfd *perf_fds(struct perf *perf, size_t *ret_n);

/** Take what is in the rings and hand on, in time order, all that is surely complete; all of it
 * when `is_last`. */
enum rl_status perf_drain(struct perf *perf, struct collector *collector, bool is_last,
                          struct rl_error *err);

/** After a poll: descriptors of threads that are gone are not polled again. */
void perf_drop_ended(struct perf *perf);

uint64_t perf_lost(const struct perf *perf);
uint64_t perf_throttled(const struct perf *perf);
void perf_free(struct perf *perf);

#endif
