#include "count/engine/launch/bursts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64, BURST_MS_MAX = 60000, TRIES = 5 };

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

/* Who replaces the program just now is tried again. */
static bool attach_to_whatever_runs(pid_t pid, const struct attach_options *options, char *why)
{
    uint64_t stack = 0, before = 1;
    bool done = false;
    for (int i = 0; i < TRIES && !done && stack != before; i++) {
        before = process_stack_start(pid);
        done = attach(pid, options, why);
        stack = process_stack_start(pid);
    }
    return done;
}

static void burst(pid_t pid, const struct attach_options *options, int ms)
{
    char why[REASON_BYTES];
    bool done = attach_to_whatever_runs(pid, options, why);
    uint64_t begin_ns = now_ns();
    if (done) {
        wait_for(ms);
        uint64_t end_ns = now_ns();
        done = detach(pid, options->image, why) || engine_went_with_program(pid, options->image);
        if (done)
            printf("ok %" PRIu64 "\n", end_ns - begin_ns);
    }
    if (!done)
        printf("failed %s\n", why);
    fflush(stdout);
}

/* Should this process be killed in the midst of a burst, another one lets the program leave the
 * engine. It hears of it by the end of a pipe that nobody else holds, and ends in any case. */
static int start_guardian(pid_t pid, const struct attach_options *options)
{
    enum { READ, WRITE };
    int alive[2];
    char why[REASON_BYTES], word;
    if (pipe2(alive, O_CLOEXEC) != 0)
        return -1;
    if (fork() != 0) {
        close(alive[READ]);
        return alive[WRITE];
    }
    close(alive[WRITE]);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    setsid();
    ssize_t n;
    while ((n = read(alive[READ], &word, 1)) < 0 && errno == EINTR)
        ;
    if (n == 0) /* no word that all is well */
        detach(pid, options->image, why);
    _exit(EXIT_SUCCESS);
}

/* Whoever interrupts its owner from the terminal must not end it in the midst of a burst: it ends
 * with its input. */
static void ignore_signals(void)
{
    static const int from_terminal[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(from_terminal) / sizeof(from_terminal[0]); i++)
        signal(from_terminal[i], SIG_IGN);
}

int bursts(pid_t pid, const struct attach_options *options)
{
    char line[LINE_BYTES];
    ignore_signals();
    int guardian = start_guardian(pid, options);
    while (fgets(line, sizeof(line), stdin)) {
        long ms = strtol(line, NULL, 10);
        burst(pid, options, ms > 0 && ms < BURST_MS_MAX ? (int)ms : 1);
    }
    if (guardian >= 0 && write(guardian, "w", 1) < 0)
        return EXIT_FAILURE; /* it was killed; nothing needs it any more */
    return EXIT_SUCCESS;
}
