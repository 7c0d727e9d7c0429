/* Sampling periods that are drawn at random, and the one that was in force for a sample.
 *
 * A program that repeats itself about once a period is found at the same few places again and
 * again, so the period changes from time to time. The kernel changes it for the threads the events
 * were opened on; a thread that these start has for all its life the period of the moment. */
#ifndef RL_SAMPLE_PERIOD_H
#define RL_SAMPLE_PERIOD_H

#include "sample/index.h"

/** The period from a moment on. */
struct period_change {
    uint64_t time_ns, period_ns;
};

/** A thread that keeps a period. */
struct period_thread {
    int32_t tid;
    uint64_t period_ns;
};

/** All-zero but for `nominal_ns` is valid: that is always in force. */
struct periods {
    uint64_t nominal_ns;
    uint64_t random; /**< state of the generator; 0: not begun */
    struct period_change *change;
    size_t n_change;
    struct period_thread *thread;
    size_t n_thread;
    struct index_table threads;
};

/** A new period, from three quarters of the nominal one to five quarters. */
uint64_t period_draw(struct periods *p);
/** `period_ns` is in force from `time_ns` on, which is no earlier than any before.
 * @return false without memory. */
bool period_change(struct periods *p, uint64_t time_ns, uint64_t period_ns);
/** A thread was started. @return false without memory. */
bool period_born(struct periods *p, int32_t tid, uint64_t time_ns);
/** The period that a sample of the thread stands for. */
uint64_t period_of(const struct periods *p, int32_t tid, uint64_t time_ns);
void period_release(struct periods *p);

#endif
