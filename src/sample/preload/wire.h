/* What the preloaded object leaves in the scratch directory, and the variables that steer it.
 *
 * Four kinds of file, each named PREFIX.PID.…: `image`, one line when a program image begins;
 * `maps`, a copy of /proc/self/maps at a time; `samples`, one thread's samples; `refused`, empty.
 * Times are CLOCK_MONOTONIC in nanoseconds. */
#ifndef RL_SAMPLE_PRELOAD_WIRE_H
#define RL_SAMPLE_PRELOAD_WIRE_H

#include <stdint.h>

#define TIMER_DIR_VARIABLE  "ROOFLINE_TIMER_DIR"
#define TIMER_RATE_VARIABLE "ROOFLINE_TIMER_HZ"

/** image.PID.TIME holds "PARENT_PID exec|fork NAME". */
#define TIMER_IMAGE_PREFIX "image."
/** maps.PID.TIME */
#define TIMER_MAPS_PREFIX "maps."
/** refused.PID.TIME: a thread got no timer. */
#define TIMER_REFUSED_PREFIX "refused."
/** samples.PID.TID.TIME */
#define TIMER_SAMPLES_PREFIX "samples."

#define TIMER_MAGIC         0x4C504D53u /* "SMPL" */
#define TIMER_VERSION       1u
#define TIMER_CHUNK_FIRST   ((uint32_t)16 << 10)
#define TIMER_CHUNK_FURTHER ((uint32_t)256 << 10)

struct timer_sample {
    uint64_t ip;
    uint64_t time_ns;
    uint64_t weight_ns; /**< CPU time of the thread that it stands for */
};

/** One file: this, then `n` samples. */
struct timer_chunk {
    uint32_t magic, version;
    int32_t pid, tid;
    uint32_t n;      /**< written last */
    uint32_t n_lost; /**< samples that found no room before this chunk was made */
    struct timer_sample sample[];
};

#endif
