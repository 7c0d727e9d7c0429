#include "count/engine/launch/bursts.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64, BURST_MS_MAX = 60000 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For so long, or until whoever asked for it is gone. */
static void wait_for(int ms)
{
    struct pollfd output = {.fd = STDOUT_FILENO}; /* POLLERR: nobody reads */
    poll(&output, 1, ms);
}

static void burst(pid_t pid, const struct attach_options *options, int ms)
{
    char why[REASON_BYTES];
    bool done = attach(pid, options, why);
    uint64_t begin_ns = now_ns();
    if (done) {
        wait_for(ms);
        uint64_t end_ns = now_ns();
        done = detach(pid, options->image, why);
        if (done)
            printf("ok %" PRIu64 "\n", end_ns - begin_ns);
    }
    if (!done)
        printf("failed %s\n", why);
    fflush(stdout);
}

int bursts(pid_t pid, const struct attach_options *options)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof(line), stdin)) {
        long ms = strtol(line, NULL, 10);
        burst(pid, options, ms > 0 && ms < BURST_MS_MAX ? (int)ms : 1);
    }
    return EXIT_SUCCESS;
}
