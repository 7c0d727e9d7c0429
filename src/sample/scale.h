/* Samples against the kernel's own account of a program's time. Inside sample only. */
#ifndef RL_SAMPLE_SCALE_H
#define RL_SAMPLE_SCALE_H

#include "sample/sample.h"

/**
 * Scale all CPU times of samples so that they sum to the time in user code that the kernel counted.
 *
 * Where a host takes processors from its guest perf gives one sample for all the periods that go by
 * meanwhile, in the kernel's account they are whole. Nothing is done where samples stand for as
 * much or more, for less than half (then parts of the program were not sampled at all), or where
 * the time is too short for the kernel, which looks at ticks, to know what was user code.
 *
 * @return what times were multiplied by; 1: nothing.
 */
double samples_scale(struct rl_samples *samples);

#endif
