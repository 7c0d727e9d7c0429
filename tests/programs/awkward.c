/* Programs that are awkward to sample from inside: awkward HOW. Works, does something with signals,
 * waits or threads, and ends with 0 if that went as it does without samples. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define WORK_S     0.1
#define WAIT_S     0.3
#define C11_RESULT 7
/* Times that it works after jumps out of waits, and once before. */
#define AFTER_JUMPS 4

static volatile double sink;
static volatile sig_atomic_t n_alarms;

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

static void work(void)
{
    double end_s = clock_s(CLOCK_THREAD_CPUTIME_ID) + WORK_S;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end_s)
        sink = sink * 0.999 + 1e-3;
}

static void on_alarm(int number)
{
    n_alarms += number == SIGALRM;
}

/* The alarm comes so long after the work, and again if it was too early for who waits for it. */
static void work_and_set_alarm(void)
{
    work();
    struct timeval wait = {0, (suseconds_t)(WAIT_S * 1e6)};
    struct itimerval when = {.it_interval = wait, .it_value = wait};
    setitimer(ITIMER_REAL, &when, NULL);
}

static bool block_all(sigset_t *ret)
{
    sigfillset(ret);
    return sigprocmask(SIG_BLOCK, ret, NULL) == 0;
}

/* As daemons do. */
static bool resets_all_signals(void)
{
    struct sigaction seen = {0};
    struct sigaction fallback = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &fallback, NULL);
    work();
    return sigaction(SIGSTKFLT, NULL, &seen) == 0 && seen.sa_handler == SIG_DFL;
}

static bool waits_for_all_signals(void)
{
    sigset_t all;
    int number = 0;
    if (!block_all(&all))
        return false;
    work_and_set_alarm();
    return sigwait(&all, &number) == 0 && number == SIGALRM;
}

static bool waits_for_none_in_time(void)
{
    sigset_t all;
    struct timespec most = {0, (long)(WAIT_S * 1e9)};
    if (!block_all(&all))
        return false;
    work();
    double begin_s = now_s();
    int number = sigtimedwait(&all, NULL, &most);
    return number == -1 && errno == EAGAIN && now_s() - begin_s >= WAIT_S;
}

static bool reads_all_signals(void)
{
    sigset_t all;
    struct signalfd_siginfo info = {0};
    if (!block_all(&all))
        return false;
    int fd = signalfd(-1, &all, 0);
    work_and_set_alarm();
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo == SIGALRM;
}

static bool pauses(void)
{
    signal(SIGALRM, on_alarm);
    work_and_set_alarm();
    pause();
    return n_alarms >= 1;
}

static bool suspends(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGALRM, on_alarm);
    work_and_set_alarm();
    sigsuspend(&none);
    return n_alarms >= 1;
}

static bool polls_with_a_mask(void)
{
    sigset_t none;
    struct timespec most = {0, (long)(WAIT_S * 1e9)};
    sigemptyset(&none);
    work();
    double begin_s = now_s();
    return ppoll(NULL, 0, &most, &none) == 0 && now_s() - begin_s >= WAIT_S;
}

static struct timespec in_a_while(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += (long)(WAIT_S * 1e9);
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Work first each time, so that a sample is due while it waits. */
static bool waits_for_nobody(void)
{
    sem_t none;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    if (sem_init(&none, 0, 0) != 0 || pthread_mutex_lock(&mutex) != 0)
        return false;
    work();
    struct timespec until = in_a_while(CLOCK_REALTIME);
    if (sem_timedwait(&none, &until) != -1 || errno != ETIMEDOUT)
        return false;
    work();
    until = in_a_while(CLOCK_MONOTONIC);
    if (sem_clockwait(&none, CLOCK_MONOTONIC, &until) != -1 || errno != ETIMEDOUT)
        return false;
    work();
    until = in_a_while(CLOCK_REALTIME);
    return pthread_cond_timedwait(&never, &mutex, &until) == ETIMEDOUT;
}

static bool reads_in_vain(ssize_t (*read_some)(int fd, void *to, size_t n), int fd)
{
    char byte;
    work();
    double begin_s = now_s();
    return read_some(fd, &byte, 1) == -1 && errno == EAGAIN && now_s() - begin_s >= 0.9 * WAIT_S;
}

static ssize_t receive(int fd, void *to, size_t n)
{
    return recv(fd, to, n, 0);
}

static bool waits_for_a_socket(void)
{
    int pair[2];
    struct timeval most = {0, (suseconds_t)(WAIT_S * 1e6)};
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
           setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
           reads_in_vain(read, pair[0]) && reads_in_vain(receive, pair[0]);
}

static jmp_buf back;

static void jump_back(int number)
{
    longjmp(back, number);
}

/* Out of a wait that signals end, and out of one that goes on after them; then it works on. */
static bool jumps_out_of_waits(void)
{
    static sem_t none;
    static volatile int n_jumps;
    struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_NODEFER};
    sem_init(&none, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    if (setjmp(back))
        n_jumps++;
    if (n_jumps == 0) {
        work_and_set_alarm();
        for (;;)
            sleep(1);
    }
    if (n_jumps == 1) {
        for (;;)
            sem_wait(&none);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    for (int i = 0; i < AFTER_JUMPS; i++)
        work();
    return n_jumps == 2;
}

static int c11_main(void *result)
{
    work();
    return *(int *)result;
}

static bool starts_a_c11_thread(void)
{
    thrd_t thread;
    int wanted = C11_RESULT;
    int result = 0;
    return thrd_create(&thread, c11_main, &wanted) == thrd_success &&
           thrd_join(thread, &result) == thrd_success && result == C11_RESULT;
}

static void *thread_main(void *nothing)
{
    work();
    return nothing;
}

static bool has_no_timers_left(void)
{
    struct rlimit one = {1, 1};
    pthread_t thread;
    return setrlimit(RLIMIT_SIGPENDING, &one) == 0 &&
           pthread_create(&thread, NULL, thread_main, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static const struct {
    const char *name;
    bool (*run)(void);
} all_ways[] = {
    {"reset", resets_all_signals},
    {"sigwait", waits_for_all_signals},
    {"wait", waits_for_none_in_time},
    {"signalfd", reads_all_signals},
    {"pause", pauses},
    {"suspend", suspends},
    {"ppoll", polls_with_a_mask},
    {"timed", waits_for_nobody},
    {"socket", waits_for_a_socket},
    {"jump", jumps_out_of_waits},
    {"c11", starts_a_c11_thread},
    {"no-timers", has_no_timers_left},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof all_ways / sizeof *all_ways; i++) {
        if (!strcmp(all_ways[i].name, argv[1]))
            return all_ways[i].run() ? 0 : 1;
    }
    return 2;
}
