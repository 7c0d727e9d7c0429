/* Opening and reading groups of events by perf_event_open, through a table of two functions that
 * tests replace. */
#ifndef RL_COUNT_PERF_EVENT_COUNTER_H
#define RL_COUNT_PERF_EVENT_COUNTER_H

#include "count/perf_event/plan.h"
#include "count/perf_event/reading.h"

#include <sys/types.h>

struct perf_event_attr;

/** The system, or something that stands in for it. */
struct rl_pmu_calls {
    /** As perf_event_open(2): a descriptor, which is closed by close(2); -1 and errno. */
    int (*open)(void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);
    /** As read(2). */
    ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
    void *context;
};

extern const struct rl_pmu_calls rl_pmu_system_calls;

/** Events of one pass, open. */
struct rl_pmu_counter;

struct rl_pmu_target {
    pid_t pid;    /**< 0: the calling thread, counted from now on; else a process before its exec,
                       counted from then on, with all its threads and children */
    bool on_exec; /**< start at exec; needs pid > 0 */
};

/**
 * Open a pass. What cannot be opened is left out and carries its reason in the reading.
 *
 * @param calls, host, slot  borrowed; must outlive the counter.
 * @param slot   [n_slot] of the pass.
 * @param ret    release with rl_pmu_counter_close.
 * @return RL_OK also where nothing could be opened; RL_ENOMEM.
 */
enum rl_status rl_pmu_counter_open(const struct rl_pmu_calls *calls, const struct rl_pmu_host *host,
                                   const struct rl_pmu_slot *slot, size_t n_slot,
                                   const struct rl_pmu_target *target, struct rl_pmu_counter **ret,
                                   struct rl_error *err);

/** Counts since the start. May be called at any time, also after the program's end.
 * @param ret  release with rl_pmu_reading_release; its `pass` is 0. */
enum rl_status rl_pmu_counter_read(struct rl_pmu_counter *counter, struct rl_pmu_reading *ret,
                                   struct rl_error *err);

/** NULL is fine. */
void rl_pmu_counter_close(struct rl_pmu_counter *counter);

#endif
