/* What a sample costs the program, and how often that allows one. */
#ifndef RL_SAMPLE_COST_H
#define RL_SAMPLE_COST_H

/** Part of a program's time that samples may take by themselves. Caches and prefetchers that have
 * to find back take up to as much again, and 3 % is what a program may lose. */
#define COST_PART 0.0125

/**
 * Seconds that a thread loses to one sample of perf_event's software clock: the caller samples
 * itself for some 20 ms while it reads the clock. The median, so that other interrupts don't count.
 * In a virtual machine that is 10 to 30 us, elsewhere one or two. 0: could not be measured.
 */
double cost_of_perf(void);

/** The same of a sample by the preloaded object's timers. Takes SIGSTKFLT meanwhile. */
double cost_of_timers(void);

/** The most samples a second, from 251 to 3989, that take COST_PART of the time and
 * no more; 1999 where `cost_s` is 0, unknown. */
unsigned cost_rate_hz(double cost_s);

#endif
