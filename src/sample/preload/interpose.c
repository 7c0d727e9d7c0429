/* The functions of libc that the preloaded object stands in front of beside those that wait: thread
 * creation, so that every thread is sampled; signal masks and handlers, so that samples arrive and
 * are ours. Each calls the one behind it and changes nothing when sampling is off. */
#include "sample/preload/interpose.h"
#include "sample/preload/timer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

void preload_find_early(void *to, const char *name, const char *version)
{
    void *found;
    memcpy(&found, to, sizeof found);
    if (found)
        return;
    found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    memcpy(to, &found, sizeof found);
}

void preload_find_form(void *to, const char *name, const char *version)
{
    void *found;
    preload_find_early(to, name, version);
    memcpy(&found, to, sizeof found);
    if (!found)
        abort();
}

void preload_find_next(void *to, const char *name)
{
    preload_find_form(to, name, NULL);
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

static int (*next_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
FIND_EARLY(next_pthread_create, pthread_create, NULL)

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
                          void *argument)
{
    preload_find_next(&next_pthread_create, "pthread_create");
    struct start *start = timer_start() ? malloc(sizeof *start) : NULL;
    if (!start)
        return next_pthread_create(thread, attr, routine, argument);
    *start = (struct start){routine, argument};
    int status = next_pthread_create(thread, attr, thread_main, start);
    if (status != 0)
        free(start);
    return status;
}

struct c11_start {
    thrd_start_t routine;
    void *argument;
};

static int c11_thread_main(void *argument)
{
    struct c11_start start = *(struct c11_start *)argument;
    free(argument);
    timer_thread_begin();
    int result = start.routine(start.argument);
    timer_thread_end();
    return result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    static int (*next)(thrd_t *, thrd_start_t, void *);
    preload_find_next(&next, "thrd_create");
    struct c11_start *start = timer_start() ? malloc(sizeof *start) : NULL;
    if (!start)
        return next(thread, routine, argument);
    *start = (struct c11_start){routine, argument};
    int status = next(thread, c11_thread_main, start);
    if (status != thrd_success)
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

static int (*next_pthread_sigmask)(int, const sigset_t *, sigset_t *);
FIND_EARLY(next_pthread_sigmask, pthread_sigmask, NULL)

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    preload_find_next(&next_pthread_sigmask, "pthread_sigmask");
    return next_pthread_sigmask(how, without_ours(how, set, &copy), old);
}

static int (*next_sigprocmask)(int, const sigset_t *, sigset_t *);
FIND_EARLY(next_sigprocmask, sigprocmask, NULL)

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    preload_find_next(&next_sigprocmask, "sigprocmask");
    return next_sigprocmask(how, without_ours(how, set, &copy), old);
}

/* Many programs set all signals back to their defaults: that of ours would end them. What they ask
 * for is told to them again and never done. */
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);
FIND_EARLY(next_sigaction, sigaction, NULL)

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    static struct sigaction theirs;
    preload_find_next(&next_sigaction, "sigaction");
    if (number != timer_signal() || !timer_start())
        return next_sigaction(number, action, before);
    struct sigaction old = theirs;
    if (action)
        theirs = *action;
    if (before)
        *before = old;
    return 0;
}

typedef void (*handler)(int);

#define SIGNAL_FUNCTION(name)                                                                      \
    static handler (*next_##name)(int, handler);                                                   \
    FIND_EARLY(next_##name, name, NULL)                                                            \
    EXPORT handler name(int number, handler wanted)                                                \
    {                                                                                              \
        static handler theirs = SIG_DFL;                                                           \
        preload_find_next(&next_##name, #name);                                                    \
        if (number != timer_signal() || !timer_start())                                            \
            return next_##name(number, wanted);                                                    \
        handler old = theirs;                                                                      \
        theirs = wanted;                                                                           \
        return old;                                                                                \
    }

SIGNAL_FUNCTION(signal)
SIGNAL_FUNCTION(ssignal)
SIGNAL_FUNCTION(sysv_signal)
EXPORT handler __sysv_signal(int number, handler wanted); /* signal of strict C */
SIGNAL_FUNCTION(__sysv_signal)
SIGNAL_FUNCTION(sigset)

__attribute__((constructor)) static void begin(void)
{
    if (timer_start())
        timer_thread_begin();
}
