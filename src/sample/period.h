/* Sampling periods that are drawn at random, and the one that was in force for a sample.
 *
 * A program that repeats itself about once a period is found at the same few places again and
 * again, so the period changes from time to time. The kernel changes it for the events that were
 * opened; those that threads inherit keep the period of the moment, which their samples tell. Which
 * of them a thread has can change when threads of a program take turns on a CPU: the kernel may
 * swap them instead of stopping one and starting the other. */
#ifndef RL_SAMPLE_PERIOD_H
#define RL_SAMPLE_PERIOD_H

#include "sample/index.h"

/** The period from a moment on. */
struct period_change {
    uint64_t time_ns, period_ns;
};

/** All-zero but for `nominal_ns` is valid: that is always in force. */
struct periods {
    uint64_t nominal_ns;
    uint64_t random; /**< state of the generator; not 0 */
    struct period_change *change;
    size_t n_change;
    uint64_t *opened; /**< events that the period is changed of, by the kernel's numbers */
    size_t n_opened;
    struct index_table index;
};

/** A new period, from three quarters of the nominal one to five quarters. */
uint64_t period_draw(struct periods *p);
/** `period_ns` is in force from `time_ns` on, which is no earlier than any before.
 * @return false without memory. */
bool period_change(struct periods *p, uint64_t time_ns, uint64_t period_ns);
/** The period of this event is the one in force. @return false without memory. */
bool period_open(struct periods *p, uint64_t event);
/** The period that a sample stands for; `own_ns` is what it tells, as of the event's beginning. */
uint64_t period_of(const struct periods *p, uint64_t event, uint64_t own_ns, uint64_t time_ns);
void period_release(struct periods *p);

#endif
