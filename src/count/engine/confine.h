/* Programs that confine themselves by seccomp: what their filter would do to the engine's own
 * system calls. */
#ifndef RL_COUNT_ENGINE_CONFINE_H
#define RL_COUNT_ENGINE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

struct sock_filter;

/**
 * Does a system call end more than that call, as by killing the process or raising a signal?
 *
 * @param filter  [n] as seccomp(2) takes it. What the kernel would not accept does nothing.
 * @param nr      the call's number, and its arguments.
 */
bool rle_filter_kills(const struct sock_filter *filter, unsigned n, long nr,
                      const uint64_t args[6]);

/**
 * Why the engine cannot stay once this call, prctl or seccomp, has been made; NULL if it can.
 *
 * @param args  the call's.
 */
const char *rle_confine_reason(long nr, const long *args);

#endif
