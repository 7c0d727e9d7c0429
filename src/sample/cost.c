#include "sample/cost.h"

#include "sample/now.h"
#include "sample/sample.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Few kernels need more; fewer leave short runs without a verdict. */
#define MOST_HZ    3989
#define LEAST_HZ   251
#define PROBE_HZ   4000
#define PROBE_NS   20000000u
#define GIVE_UP_NS 100000000u
/* Enough for a median; fewer tell nothing. */
#define MOST_SAMPLES  256
#define LEAST_SAMPLES 16
#define RING_PAGES    8

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* `*head_at` changes with every sample. The longer of two steps of the clock around each sample: it
 * falls into the step that sees it or into the one before. */
static size_t watch_samples(const volatile uint64_t *head_at, uint64_t gap_ns[MOST_SAMPLES],
                            uint64_t *ret_step_ns)
{
    size_t n = 0;
    uint64_t begin_ns = now_ns();
    uint64_t last_ns = begin_ns;
    uint64_t step_before_ns = 0;
    uint64_t head_before = 0;
    *ret_step_ns = UINT64_MAX;
    while (n < MOST_SAMPLES && last_ns - begin_ns < GIVE_UP_NS &&
           (last_ns - begin_ns < PROBE_NS || n < LEAST_SAMPLES)) {
        uint64_t head = __atomic_load_n(head_at, __ATOMIC_ACQUIRE);
        uint64_t time_ns = now_ns();
        uint64_t step_ns = time_ns - last_ns;
        if (head != head_before)
            gap_ns[n++] = step_ns > step_before_ns ? step_ns : step_before_ns;
        else if (step_ns < *ret_step_ns)
            *ret_step_ns = step_ns;
        head_before = head;
        step_before_ns = step_ns;
        last_ns = time_ns;
    }
    return n;
}

/* The median of what samples take from the caller, who does nothing but read the clock. */
static double measure(const volatile uint64_t *head_at)
{
    uint64_t gap_ns[MOST_SAMPLES];
    uint64_t step_ns;
    size_t n = watch_samples(head_at, gap_ns, &step_ns);
    if (n < LEAST_SAMPLES)
        return 0;
    qsort(gap_ns, n, sizeof *gap_ns, by_size);
    uint64_t median_ns = gap_ns[n / 2];
    return median_ns > step_ns ? (double)(median_ns - step_ns) * 1e-9 : 0;
}

static double measure_ring(int fd)
{
    size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_mmap_page *page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 0;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    double cost_s = measure((const volatile uint64_t *)&page->data_head);
    munmap(page, bytes);
    return cost_s;
}

double cost_of_perf(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = NS_PER_S / PROBE_HZ,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return 0;
    double cost_s = measure_ring(fd);
    close(fd);
    return cost_s;
}

/** What the handler of a timer's signal needs. */
struct tick {
    timer_t timer;
    uint64_t n;
};

static void set_tick(timer_t timer)
{
    struct itimerspec when = {.it_value = {0, NS_PER_S / PROBE_HZ}};
    timer_settime(timer, 0, &when, NULL);
}

/* The system calls of a sample in the preloaded object. */
static void on_tick(int number, siginfo_t *info, void *context)
{
    struct timespec cpu;
    struct tick *tick = info->si_value.sival_ptr;
    (void)number, (void)context;
    if (info->si_code != SI_TIMER || !tick)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    set_tick(tick->timer);
    __atomic_store_n(&tick->n, tick->n + 1, __ATOMIC_RELEASE);
}

double cost_of_timers(void)
{
    struct tick tick = {.n = 0};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGSTKFLT};
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction before;
    sigset_t wanted, mask;
    event.sigev_value.sival_ptr = &tick;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigfillset(&action.sa_mask);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGSTKFLT);
    if (sigaction(SIGSTKFLT, &action, &before) != 0)
        return 0;
    double cost_s = 0;
    if (timer_create(CLOCK_MONOTONIC, &event, &tick.timer) == 0) {
        pthread_sigmask(SIG_UNBLOCK, &wanted, &mask);
        set_tick(tick.timer);
        cost_s = measure(&tick.n);
        timer_delete(tick.timer); /* a signal that was on its way comes before this returns */
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
    sigaction(SIGSTKFLT, &before, NULL);
    return cost_s;
}

unsigned cost_rate_hz(double cost_s)
{
    if (cost_s <= 0)
        return RL_SAMPLE_USUAL_HZ;
    double hz = COST_PART / cost_s;
    return hz > MOST_HZ ? MOST_HZ : hz < LEAST_HZ ? LEAST_HZ : (unsigned)hz;
}
