#include "count/engine/launch/bursts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 64, BURST_MS_MAX = 60000, TRIES = 5 };

/* For so long, or until whoever asked for it is gone. */
static void wait_for(int ms, int owner)
{
    struct pollfd gone[] = {{.fd = STDOUT_FILENO}, {.fd = owner}}; /* errors and hang-ups only */
    poll(gone, sizeof(gone) / sizeof(gone[0]), ms);
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

static bool is_gone(int owner)
{
    struct pollfd gone = {.fd = owner};
    return poll(&gone, 1, 0) > 0;
}

static void burst(pid_t pid, const struct attach_options *options, int ms, int owner)
{
    char why[REASON_BYTES];
    bool done = attach_to_whatever_runs(pid, options, why);
    uint64_t begin_ns = monotonic_ns();
    if (done) {
        wait_for(ms, owner);
        uint64_t end_ns = monotonic_ns();
        done = detach(pid, options->image, why) || engine_went_with_program(pid, options->image);
        if (done)
            printf("ok %" PRIu64 "\n", end_ns - begin_ns);
    }
    if (!done)
        printf("failed %s\n", why);
    fflush(stdout);
}

/* Whoever interrupts its owner from the terminal must not end it in the midst of a burst: it ends
 * with its input. */
static void ignore_signals(void)
{
    static const int from_terminal[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(from_terminal) / sizeof(from_terminal[0]); i++)
        signal(from_terminal[i], SIG_IGN);
}

/* @param owner  hangs up when the process that was asked for bursts is gone. */
static void serve(pid_t pid, const struct attach_options *options, int owner)
{
    char line[LINE_BYTES];
    while (!is_gone(owner) && fgets(line, sizeof(line), stdin)) {
        long ms = strtol(line, NULL, 10);
        burst(pid, options, ms > 0 && ms < BURST_MS_MAX ? (int)ms : 1, owner);
    }
}

/* A tracer that is killed leaves threads with borrowed registers. So a child traces, in a session
 * of its own, which no signal to this process or its group reaches, and takes the program out of
 * the engine when this process is gone. */
int bursts(pid_t pid, const struct attach_options *options)
{
    enum { READ, WRITE };
    int owner[2], status = 0;
    ignore_signals();
    if (pipe2(owner, O_CLOEXEC) != 0)
        return EXIT_FAILURE;
    pid_t tracer = fork();
    if (tracer < 0)
        return EXIT_FAILURE;
    if (tracer == 0) {
        close(owner[WRITE]);
        setsid();
        serve(pid, options, owner[READ]);
        exit(EXIT_SUCCESS);
    }
    close(owner[READ]);
    close(STDIN_FILENO); /* the child's alone, so that it is seen to end */
    close(STDOUT_FILENO);
    while (waitpid(tracer, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
