/* Programs that confine themselves by seccomp: what their filter would do to the engine's own
 * system calls. */
#ifndef RL_COUNT_ENGINE_CONFINE_H
#define RL_COUNT_ENGINE_CONFINE_H

/**
 * Why the engine cannot stay once this call, prctl or seccomp, has been made; NULL if it can.
 *
 * @param args  the call's.
 */
const char *rle_confine_reason(long nr, const long *args);

#endif
