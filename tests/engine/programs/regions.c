/* Regions: nested, repeated, in threads of their own and inherited from the first thread,
 * overlapping, over a fork, and with a timer's signals in between. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "region/mark.h"

enum { REPEATS = 20, WORKERS = 4 };
static const uint64_t some = 1000;
static pthread_barrier_t start, done;
static volatile int ticks;

static __attribute__((noinline)) void begin(const char *name)
{
    REGION_MARK(REGION_MARK_BEGIN, name);
}

static __attribute__((noinline)) void end(const char *name)
{
    REGION_MARK(REGION_MARK_END, name);
}

static __attribute__((noinline)) void end_innermost(void)
{
    REGION_MARK(REGION_MARK_END_INNERMOST, NULL);
}

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static void *worker(void *own)
{
    for (int i = 0; i < REPEATS; i++) {
        pthread_barrier_wait(&start);
        loop_fmul_like(some);
        if (own) {
            begin("own");
            loop_fmul_like(some);
            end("own");
        }
        pthread_barrier_wait(&done);
    }
    return NULL;
}

static void expect_in(const char *region, uint64_t executions)
{
    fprintf(stderr, "expect region %s mnemonic pmaddwd %" PRIu64 "\n", region, executions);
}

int main(void)
{
    pthread_t thread[WORKERS];
    struct sigaction action;
    struct itimerval timer = {{0, 500}, {0, 500}};
    memset(&action, 0, sizeof(action));
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_barrier_init(&start, NULL, WORKERS + 1);
    pthread_barrier_init(&done, NULL, WORKERS + 1);
    for (intptr_t i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, worker, (void *)(i % 2));
    loop_fmul_like(some);
    for (int i = 0; i < REPEATS; i++) {
        begin("outer");
        loop_fmul_like(some);
        pthread_barrier_wait(&start);
        pthread_barrier_wait(&done);
        begin("inner");
        loop_fmul_like(2 * some);
        end("inner");
        end("outer");
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    begin("first");
    begin("second");
    end("first"); /* overlapping */
    loop_fmul_like(3 * some);
    end_innermost();
    end("never begun");
    begin("fork");
    pid_t child = fork();
    if (child == 0) {
        loop_fmul_like(some);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    loop_fmul_like(5 * some);
    memset(&timer, 0, sizeof(timer));
    setitimer(ITIMER_REAL, &timer, NULL);
    puts("done");
    expect_in("-", some);
    expect_in("outer", REPEATS * some * (1 + WORKERS));
    expect_in("inner", REPEATS * some * 2);
    expect_in("own", REPEATS * some * (WORKERS / 2));
    expect_in("second", 3 * some);
    expect_in("fork", 5 * some);
    fprintf(stderr, "expect region inner entries %d\nexpect region first entries 1\n", REPEATS);
    expect_mnemonic("pmaddwd", some * (1 + REPEATS * (3 + WORKERS + WORKERS / 2) + 3 + 5));
    return 0; /* "fork" is still open */
}
