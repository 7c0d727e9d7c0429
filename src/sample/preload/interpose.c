/* The functions of libc that the preloaded object stands in front of: thread creation, so that
 * every thread is sampled; signal masks, so that samples arrive; sleeping, so that it is not cut
 * short by one. Each calls the one behind it and changes nothing when sampling is off. */
#include "sample/preload/interpose.h"
#include "sample/preload/timer.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void preload_find_next(void *to, const char *name)
{
    void *found;
    memcpy(&found, to, sizeof found);
    if (found)
        return;
    found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(to, &found, sizeof found);
}

struct start {
    void *(*routine)(void *);
    void *argument;
};

static void *thread_main(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    timer_thread_begin();
    void *result = start.routine(start.argument);
    timer_thread_end();
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
                          void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    preload_find_next(&next, "pthread_create");
    struct start *start = timer_start() ? malloc(sizeof *start) : NULL;
    if (!start)
        return next(thread, attr, routine, argument);
    *start = (struct start){routine, argument};
    int status = next(thread, attr, thread_main, start);
    if (status != 0)
        free(start);
    return status;
}

/* A program that blocks all signals does not mean this one. */
static const sigset_t *without_ours(int how, const sigset_t *set, sigset_t *copy)
{
    if (!set || how == SIG_UNBLOCK || !timer_start())
        return set;
    *copy = *set;
    sigdelset(copy, timer_signal());
    return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    preload_find_next(&next, "pthread_sigmask");
    return next(how, without_ours(how, set, &copy), old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    preload_find_next(&next, "sigprocmask");
    return next(how, without_ours(how, set, &copy), old);
}

/* The kernel's signal set is one word of the C library's. */
static void mask_ours(int how)
{
    if (!timer_start())
        return;
    uint64_t set = (uint64_t)1 << (timer_signal() - 1);
    syscall(SYS_rt_sigprocmask, how, &set, NULL, sizeof set);
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    static int (*next)(const struct timespec *, struct timespec *);
    preload_find_next(&next, "nanosleep");
    mask_ours(SIG_BLOCK);
    int result = next(wanted, left);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                           struct timespec *left)
{
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    preload_find_next(&next, "clock_nanosleep");
    mask_ours(SIG_BLOCK);
    int result = next(clock, flags, wanted, left);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT unsigned sleep(unsigned seconds)
{
    static unsigned (*next)(unsigned);
    preload_find_next(&next, "sleep");
    mask_ours(SIG_BLOCK);
    unsigned result = next(seconds);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT int usleep(useconds_t microseconds)
{
    static int (*next)(useconds_t);
    preload_find_next(&next, "usleep");
    mask_ours(SIG_BLOCK);
    int result = next(microseconds);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    preload_find_next(&next, "poll");
    mask_ours(SIG_BLOCK);
    int result = next(fds, n, timeout_ms);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *odd, struct timeval *timeout)
{
    static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    preload_find_next(&next, "select");
    mask_ours(SIG_BLOCK);
    int result = next(n, in, out, odd, timeout);
    mask_ours(SIG_UNBLOCK);
    return result;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
    static int (*next)(int, struct epoll_event *, int, int);
    preload_find_next(&next, "epoll_wait");
    mask_ours(SIG_BLOCK);
    int result = next(fd, events, n, timeout_ms);
    mask_ours(SIG_UNBLOCK);
    return result;
}

__attribute__((constructor)) static void begin(void)
{
    if (timer_start())
        timer_thread_begin();
}
