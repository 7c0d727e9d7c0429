#include "profile/watch.h"

#include "base/error.h"

#include <time.h>

#define ROUND_MS 100

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum rl_status watch_child(struct rl_child *child,
                           void (*progress)(void *context, double elapsed_s), void *context,
                           struct watched *ret, struct rl_error *err)
{
    double start = now_s();
    bool ended = false;
    struct watched watched = {0};
    RL_TRY(rl_child_release(child, err));
    while (!ended) {
        int number = 0;
        RL_TRY(rl_child_wait(child, NULL, 0, ROUND_MS, &ended, &number, err));
        if (number)
            watched.interrupted_by = number;
        watched.elapsed_s = now_s() - start;
        if (progress)
            progress(context, watched.elapsed_s);
    }
    *ret = watched;
    return RL_OK;
}
