/* Calls of libc that wait and return at any signal with a handler, whether or not that asks for
 * system calls to be taken up again: signal(7). Samples must not end them, nor be what a program
 * waits for. Each calls the one behind it and changes nothing when sampling is off. */
#include "sample/preload/wait.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define WAIT(type, name, parameters, arguments) WAIT_IF(true, type, name, parameters, arguments)

WAIT(int, nanosleep, (const struct timespec *wanted, struct timespec *left), (wanted, left))
WAIT(int, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left),
     (clock, flags, wanted, left))
WAIT(unsigned, sleep, (unsigned seconds), (seconds))
WAIT(int, usleep, (useconds_t microseconds), (microseconds))
WAIT(int, thrd_sleep, (const struct timespec *wanted, struct timespec *left), (wanted, left))
WAIT(int, pause, (void), ())
WAIT(int, poll, (struct pollfd * fds, nfds_t n, int timeout_ms), (fds, n, timeout_ms))
WAIT(int, select, (int n, fd_set *in, fd_set *out, fd_set *odd, struct timeval *timeout),
     (n, in, out, odd, timeout))
WAIT(int, epoll_wait, (int fd, struct epoll_event *events, int n, int timeout_ms),
     (fd, events, n, timeout_ms))
WAIT(int, semop, (int id, struct sembuf *operations, size_t n), (id, operations, n))
WAIT(int, semtimedop, (int id, struct sembuf *operations, size_t n, const struct timespec *timeout),
     (id, operations, n, timeout))
WAIT(int, msgsnd, (int id, const void *message, size_t n, int flags), (id, message, n, flags))
WAIT(ssize_t, msgrcv, (int id, void *message, size_t n, long type, int flags),
     (id, message, n, type, flags))

/* What poll is under _FORTIFY_SOURCE. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t bytes);
WAIT(int, __poll_chk, (struct pollfd * fds, nfds_t n, int timeout_ms, size_t bytes),
     (fds, n, timeout_ms, bytes))

WAIT(int, sem_timedwait, (sem_t * semaphore, const struct timespec *until), (semaphore, until))
WAIT(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *until),
     (semaphore, clock, until))

/* These go on by themselves after a signal; others of their kind, sem_timedwait for one, do not. */
#define QUIET_WAIT(type, name, version, parameters, arguments)                                     \
    static type(*next_##name) parameters;                                                          \
    FIND_EARLY(next_##name, name, version)                                                         \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        preload_find_form(&next_##name, #name, version);                                           \
        timer_wait_begin();                                                                        \
        type result = next_##name arguments;                                                       \
        timer_wait_end((function)next_##name);                                                     \
        return result;                                                                             \
    }

/* Condition variables had another form once, which old C libraries still find first. */
#define CONDITION_SINCE "GLIBC_2.3.2"

QUIET_WAIT(int, pthread_cond_wait, CONDITION_SINCE,
           (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
QUIET_WAIT(int, pthread_cond_timedwait, CONDITION_SINCE,
           (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
           (condition, mutex, until))
QUIET_WAIT(int, pthread_cond_clockwait, NULL,
           (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
            const struct timespec *until),
           (condition, mutex, clock, until))
QUIET_WAIT(int, pthread_barrier_wait, NULL, (pthread_barrier_t * barrier), (barrier))
QUIET_WAIT(int, pthread_join, NULL, (pthread_t thread, void **ret), (thread, ret))
QUIET_WAIT(int, sem_wait, NULL, (sem_t * semaphore), (semaphore))

/* Masks that hold during a wait get our signal added; NULL leaves that which blocks it already. */
static const sigset_t *with_ours(const sigset_t *set, sigset_t *copy)
{
    if (!set || !timer_start())
        return set;
    *copy = *set;
    sigaddset(copy, timer_signal());
    return copy;
}

#define WAIT_MASKED(type, name, parameters, arguments)                                             \
    static type(*next_##name) parameters;                                                          \
    FIND_EARLY(next_##name, name, NULL)                                                            \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        sigset_t copy;                                                                             \
        preload_find_next(&next_##name, #name);                                                    \
        timer_mask();                                                                              \
        type result = next_##name arguments;                                                       \
        timer_unmask((function)next_##name);                                                       \
        return result;                                                                             \
    }

WAIT_MASKED(int, sigsuspend, (const sigset_t *set), (with_ours(set, &copy)))
WAIT_MASKED(int, ppoll,
            (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *set),
            (fds, n, timeout, with_ours(set, &copy)))
WAIT_MASKED(int, pselect,
            (int n, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *timeout,
             const sigset_t *set),
            (n, in, out, odd, timeout, with_ours(set, &copy)))
WAIT_MASKED(int, epoll_pwait,
            (int fd, struct epoll_event *events, int n, int timeout_ms, const sigset_t *set),
            (fd, events, n, timeout_ms, with_ours(set, &copy)))

/* Since glibc 2.35. */
EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
                        const sigset_t *set);
WAIT_MASKED(int, epoll_pwait2,
            (int fd, struct epoll_event *events, int n, const struct timespec *timeout,
             const sigset_t *set),
            (fd, events, n, timeout, with_ours(set, &copy)))

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                       const sigset_t *set, size_t bytes);
WAIT_MASKED(int, __ppoll_chk,
            (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *set,
             size_t bytes),
            (fds, n, timeout, with_ours(set, &copy), bytes))

/* A program that waits for all signals does not mean this one. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    if (!set || !timer_start())
        return set;
    *copy = *set;
    sigdelset(copy, timer_signal());
    return copy;
}

WAIT_MASKED(int, sigwait, (const sigset_t *set, int *number), (without_ours(set, &copy), number))
WAIT_MASKED(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info),
            (without_ours(set, &copy), info))
WAIT_MASKED(int, sigtimedwait,
            (const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
            (without_ours(set, &copy), info, timeout))

static int (*next_signalfd)(int, const sigset_t *, int);
FIND_EARLY(next_signalfd, signalfd, NULL)

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    preload_find_next(&next_signalfd, "signalfd");
    return next_signalfd(fd, without_ours(set, &copy), flags);
}
