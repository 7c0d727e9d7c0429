/* Inside the region library: what counters counted goes to the slot of each region. One of these a
 * thread; the regions it has open are told apart by where they are on its stack. */
#ifndef RL_REGION_COUNTING_H
#define RL_REGION_COUNTING_H

#include "region/counters.h"

/**
 * Read the plan in a directory.
 * @param ret  only if it can be followed.
 * @return what is to be done in this process.
 */
enum region_counting region_plan_load(const char *directory, struct region_plan *ret);

/** Counters of one thread and what they said when each of its open regions began. */
struct region_thread_counting;

/**
 * Open counters for the calling thread, if the plan has any for it.
 * @param plan, calls  borrowed.
 * @param depth        most regions open at a time.
 * @return NULL: it counts nothing.
 */
struct region_thread_counting *region_counting_new(const struct region_plan *plan,
                                                   const struct region_calls *calls,
                                                   uint32_t depth);
/** NULL is fine. */
void region_counting_free(struct region_thread_counting *t);

/** A region begins: place `at` of the stack, at time `now_ns`. The last thing before the program's
 * own work. */
void region_counting_begin(struct region_thread_counting *t, uint32_t at, uint64_t now_ns);

/** Some region is about to end: the first thing after the program's own work. */
void region_counting_read(struct region_thread_counting *t);

/** The one at place `at` has ended, at `now_ns`: add to `sum`. */
void region_counting_end(struct region_thread_counting *t, uint32_t at, uint64_t now_ns,
                         struct region_count *sum);

/** Those above place `at` of `depth` move down by one. */
void region_counting_close_gap(struct region_thread_counting *t, uint32_t at, uint32_t depth);

/** CLOCK_MONOTONIC. */
uint64_t region_now_ns(void);

#endif
