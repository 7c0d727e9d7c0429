/* What happens to a program, whatever told it: samples, mappings, forks, execs, exits. */
#ifndef RL_SAMPLE_EVENT_H
#define RL_SAMPLE_EVENT_H

#include "sample/collect.h"
#include "sample/period.h"

enum event_kind {
    EVENT_SAMPLE,
    EVENT_MMAP,
    EVENT_NAME, /**< of a thread; exec too when `is_exec` */
    EVENT_FORK,
    EVENT_EXIT,
    EVENT_MAPS, /**< a copy of /proc/PID/maps */
};

/** One event with only the fields its kind has. */
struct event {
    enum event_kind kind;
    bool is_exec;
    int32_t pid, tid;
    int32_t parent_pid; /**< fork */
    uint32_t order;     /**< of arrival, so that equal times keep it */
    uint64_t time_ns;
    uint64_t ip, weight_ns;                     /**< sample */
    uint64_t start, length, file_offset, inode; /**< mmap */
    char *text;                                 /**< mmap: path; name; maps: content; owned */
};

/** Events that wait to be put in order. All-zero is valid and empty. */
struct event_list {
    struct event *event;
    size_t n;
    uint64_t n_lost;      /**< samples the kernel had no room for */
    uint64_t n_throttled; /**< times the kernel held the clock back */
    uint64_t n_corrupt;   /**< records that made no sense */
    uint32_t order;
    struct periods periods; /**< of samples that come from rings */
};

/** @return a new event of that kind, valid until the next one; NULL without memory. */
struct event *event_add(struct event_list *list, enum event_kind kind);

/** Put the events in order of time and arrival, hand those up to `until_ns` to the collector and
 * drop them. @return RL_OK or RL_ENOMEM. */
enum rl_status event_hand_on(struct event_list *list, struct collector *collector,
                             uint64_t until_ns, struct rl_error *err);

void event_list_release(struct event_list *list);

#endif
