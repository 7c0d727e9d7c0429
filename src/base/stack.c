#include "base/stack.h"

#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#define ENOUGH_BYTES ((size_t)8 << 20)

struct call {
    rl_task *task;
    void *context;
    struct rl_error *err;
    enum rl_status status;
};

static void *run(void *argument)
{
    struct call *call = argument;
    call->status = call->task(call->context, call->err);
    return NULL;
}

/* The new thread starts with the caller's mask. */
static int run_on_thread(struct call *call)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    int error = pthread_attr_init(&attr);
    if (error)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_attr_setstacksize(&attr, ENOUGH_BYTES);
    if (!error)
        error = pthread_create(&thread, &attr, run, call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

enum rl_status rl_run_with_stack(rl_task *task, void *context, struct rl_error *err)
{
    struct rlimit limit;
    struct call call = {task, context, err, RL_OK};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= ENOUGH_BYTES)
        return task(context, err);
    int error = run_on_thread(&call);
    if (error)
        return rl_fail(err, RL_ESYS, "a thread with %zu MiB of stack: %s", ENOUGH_BYTES >> 20,
                       strerror(error));
    return call.status;
}
