/* The clock that samples are stamped by. Inside sample only. */
#ifndef RL_SAMPLE_NOW_H
#define RL_SAMPLE_NOW_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000u

/** CLOCK_MONOTONIC. */
static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
