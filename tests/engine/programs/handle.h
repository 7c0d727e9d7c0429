/* Handlers of signals, for the test programs. */
#ifndef RL_TESTS_ENGINE_HANDLE_H
#define RL_TESTS_ENGINE_HANDLE_H

#include <signal.h>
#include <string.h>

/** Install a handler with SA_SIGINFO and `flags`, and nothing more blocked while it runs. */
static inline void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &action, NULL);
}

#endif
