/* Inside the region library: hardware counters of the calling thread, or of all threads of the
 * process, as a plan says. Opened once, read at the edges of regions. Prints nothing and keeps no
 * state of its own. */
#ifndef RL_REGION_COUNTERS_H
#define RL_REGION_COUNTERS_H

#include "region/wire.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** The system, or something that stands in for it. */
struct region_calls {
    /** As perf_event_open(2) on any CPU. */
    int (*open)(struct perf_event_attr *attr, pid_t pid, int group_fd);
    /** As read(2). */
    ssize_t (*read)(int fd, void *buffer, size_t size);
    /** Is that descriptor still an event? A program may close what it does not know, and the number
     * becomes a file of its own, which is not ours to read. Asked before each reading: no more
     * system calls than read(2), and errno as it was. */
    bool (*is_event)(int fd);
};

extern const struct region_calls region_system_calls;

/** Totals since they were opened, over all threads counted. */
struct region_reading {
    uint64_t enabled_ns[REGION_GROUP_MAX], running_ns[REGION_GROUP_MAX];
    uint64_t value[REGION_EVENT_MAX];
};

struct region_counters;

/**
 * Open a plan's events: for the calling thread, or, where its scope is the process, for all threads
 * there are and, by inheritance, those to come.
 *
 * @param plan, calls  borrowed; must outlive the counters.
 * @param ret_error    [REGION_EVENT_MAX] errno of each event that could not be opened; else 0.
 * @return NULL if nothing could be opened; close with region_counters_close.
 */
struct region_counters *region_counters_open(const struct region_plan *plan,
                                             const struct region_calls *calls, uint16_t *ret_error);

/** @return false if anything could not be read; then `ret` means nothing. */
bool region_counters_read(const struct region_counters *counters, struct region_reading *ret);

/** NULL is fine. */
void region_counters_close(struct region_counters *counters);

#endif
