/* From a stream of events in time order to buckets of time: who runs what, which file is mapped
 * where at that moment, and the time line of samples. Knows nothing of where events come from. */
#ifndef RL_SAMPLE_COLLECT_H
#define RL_SAMPLE_COLLECT_H

#include "sample/sample.h"

/** An executable mapping as the kernel or /proc/PID/maps tells it. */
struct collect_map {
    uint64_t start;
    uint64_t length;
    uint64_t file_offset;
    uint64_t inode;
    const char *path; /**< borrowed */
};

struct collector;

/**
 * @param samples    filled as events come; borrowed, all-zero except what is set here.
 * @param period_ns  nominal time between samples of one thread.
 * @param max_points bound on the time line; 0: the default.
 */
enum rl_status collector_new(struct rl_samples *samples, uint64_t period_ns, size_t max_points,
                             struct collector **ret, struct rl_error *err);
/** Takes the end time, closes the time line and frees the collector; `samples` stays. */
enum rl_status collector_finish(struct collector *c, uint64_t time_ns, struct rl_error *err);
void collector_free(struct collector *c);

/** Keep hold of what `pid` executes just now: a program may delete its file as it starts. */
void collector_hold_program(struct collector *c, int32_t pid);

/** Time zero; events before it count as at zero. */
void collector_start(struct collector *c, uint64_t time_ns);

/* Each returns RL_OK or RL_ENOMEM; whatever the arguments are, nothing worse happens. */
enum rl_status collect_process(struct collector *c, int32_t pid, int32_t parent_pid,
                               uint64_t time_ns, struct rl_error *err);
enum rl_status collect_exec(struct collector *c, int32_t pid, uint64_t time_ns, const char *name,
                            struct rl_error *err);
enum rl_status collect_name(struct collector *c, int32_t pid, int32_t tid, const char *name,
                            struct rl_error *err);
enum rl_status collect_exit(struct collector *c, int32_t pid, int32_t tid, uint64_t time_ns,
                            struct rl_error *err);
enum rl_status collect_mmap(struct collector *c, int32_t pid, const struct collect_map *map,
                            struct rl_error *err);
enum rl_status collect_sample(struct collector *c, int32_t pid, int32_t tid, uint64_t ip,
                              uint64_t time_ns, uint64_t weight_ns, struct rl_error *err);

/** Add what a text in the format of /proc/PID/maps says is executable; bad lines are skipped. */
enum rl_status collect_maps_text(struct collector *c, int32_t pid, const char *text,
                                 struct rl_error *err);
/** The same for a live process; RL_OK if it is gone. */
enum rl_status collect_live_maps(struct collector *c, int32_t pid, struct rl_error *err);

#endif
