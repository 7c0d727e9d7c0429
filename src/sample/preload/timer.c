/* Sampling by timers, inside the user's program.
 *
 * A thread's samples are due at moments of its CPU time that are drawn before, so that where it
 * waits, or for how long, has no part in where it is found; each stands for the mean interval. A
 * timer of the CPU time itself goes off at the scheduler's ticks only. So a monotonic timer is set
 * to when the sample will be due if the thread runs on; if it did not, its signal is no sample, and
 * the timer is set to what is left.
 *
 * A thread that blocks should not be woken. In calls that waits.c knows the signal is blocked, or
 * its timer is left alone, and set anew afterwards. Elsewhere it may wake a thread in vain as often
 * as it has found it at work; then the monotonic timer rests, and a timer on the thread's CPU time
 * starts it again when it works. */
#include "sample/preload/timer.h"
#include "sample/preload/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define MAX_HZ   100000
/* Times that a thread may be woken in vain, at the most and at first. */
#define MOST_WAKES 4
/* Below this part of the time that its timer was set to a thread counts as idle. */
#define IDLE_PART 10
/* A signal that comes early by less than this part of a period is a sample: interrupts and a busy
 * host take some of a thread's time. */
#define EARLY_PART 64
/* After so many intervals nothing tells when the first began. */
#define SETTLING 8
/* 2^64 over the golden ratio: threads begun at almost the same time draw different numbers. */
#define SPREAD 0x9E3779B97F4A7C15u
/* Neither the kernel nor programs use this one; Java's libraries take SIGRTMAX - 2, profilers
 * SIGPROF.
 */
#define SIGNAL SIGSTKFLT

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum state { STATE_UNKNOWN, STATE_STARTING, STATE_OFF, STATE_ON };

struct thread {
    int wall, cpu; /**< timers, by the kernel's numbers */
    bool has_wall, has_cpu;
    bool had_no_cpu; /**< it was refused */
    int32_t pid, tid;
    uint64_t due_cpu_ns;  /**< CPU time at the next sample */
    uint64_t tick_cpu_ns; /**< when the wall timer was set last */
    uint64_t set_ns;      /**< to so much from then */
    uint64_t due_ns;      /**< when it expires; 0: at the end of a wait; UINT64_MAX: it rests */
    uint64_t random;      /**< state of the generator of intervals */
    unsigned wakes;       /**< in vain, that are left */
    bool waits;           /**< in a call that waits */
    bool masks;           /**< in one with our signal kept back */
    struct timer_chunk *chunk;
    uint32_t chunk_bytes, room;
    uint32_t n_lost;
};

static int state;
static uint64_t period_ns;
static pthread_key_t key;
static __thread struct thread *self __attribute__((tls_model("initial-exec")));

int timer_signal(void)
{
    return SIGNAL;
}

static uint64_t cpu_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void set_timer(int timer, int flags, uint64_t first_ns)
{
    struct itimerspec when = {
        .it_value = {(time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S)},
    };
    syscall(SYS_timer_settime, timer, flags, &when, NULL);
}

/* From half a period to one and a half: a program that repeats itself once or so a period must not
 * be found at the same few places again and again. */
static uint64_t next_interval_ns(struct thread *t)
{
    t->random ^= t->random << 13; /* Marsaglia's xorshift64 */
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return period_ns / 2 + t->random % period_ns;
}

/* What is left of an interval when a thread begins: the intervals began long before. */
static uint64_t first_interval_ns(struct thread *t)
{
    uint64_t left_ns = SETTLING * period_ns + next_interval_ns(t);
    for (;;) {
        uint64_t interval_ns = next_interval_ns(t);
        if (interval_ns > left_ns)
            return interval_ns - left_ns;
        left_ns -= interval_ns;
    }
}

static void start_wall(struct thread *t, uint64_t cpu_ns)
{
    t->tick_cpu_ns = cpu_ns;
    t->set_ns = t->due_cpu_ns > cpu_ns ? t->due_cpu_ns - cpu_ns : 1;
    t->due_ns = log_now_ns() + t->set_ns;
    set_timer(t->wall, TIMER_ABSTIME, t->due_ns);
}

static bool have_room(struct thread *t)
{
    if (t->chunk && t->chunk->n < t->room)
        return true;
    uint32_t bytes = t->chunk ? TIMER_CHUNK_FURTHER : TIMER_CHUNK_FIRST;
    uint32_t room = 0;
    struct timer_chunk *chunk = log_chunk(bytes, t->pid, t->tid, &room);
    if (!chunk) {
        t->n_lost++;
        if (t->chunk)
            t->chunk->n_lost = t->n_lost;
        return false;
    }
    log_close_chunk(t->chunk, t->chunk_bytes);
    t->chunk = chunk;
    t->chunk_bytes = bytes;
    t->room = room;
    t->n_lost = 0;
    return true;
}

/* Of the C library's own function nobody says that signal handlers may call it. */
static bool make_timer(clockid_t clock, int32_t tid, int *ret)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    event.sigev_value.sival_ptr = ret;
    event.sigev_notify_thread_id = tid;
    return syscall(SYS_timer_create, clock, &event, ret) == 0;
}

/* Few threads ever need one. */
static bool have_cpu_timer(struct thread *t)
{
    if (!t->has_cpu && !t->had_no_cpu) {
        t->has_cpu = make_timer(CLOCK_THREAD_CPUTIME_ID, t->tid, &t->cpu);
        t->had_no_cpu = !t->has_cpu;
    }
    return t->has_cpu;
}

/* Set the wall timer anew, in a wait when that is over; rest that of a thread that does not run. */
static void follow_activity(struct thread *t, uint64_t cpu_ns, bool is_cpu_timer)
{
    bool is_idle = !is_cpu_timer && (cpu_ns - t->tick_cpu_ns) * IDLE_PART < t->set_ns;
    if (is_idle && !t->wakes && have_cpu_timer(t)) {
        t->due_ns = UINT64_MAX;
        set_timer(t->cpu, 0, 1);
        return;
    }
    t->wakes -= is_idle && t->wakes;
    if (t->waits)
        t->due_ns = 0;
    else
        start_wall(t, cpu_ns);
}

static uint64_t instruction_pointer(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (uint64_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return c->uc_mcontext.pc;
#elif defined(__riscv)
    return c->uc_mcontext.__gregs[REG_PC];
#else
#error "the instruction pointer of this architecture is not known here"
#endif
}

/* The intervals that end before `until_cpu_ns`, since the sample before; the next one's end is due.
 */
static uint64_t intervals_gone(struct thread *t, uint64_t until_cpu_ns)
{
    uint64_t n = 0;
    for (; t->due_cpu_ns <= until_cpu_ns; n++)
        t->due_cpu_ns += next_interval_ns(t);
    return n;
}

static void take_sample(struct thread *t, uint64_t ip, uint64_t n_intervals)
{
    log_mapping(ip);
    t->wakes += t->wakes < MOST_WAKES;
    if (!have_room(t))
        return;
    /* The time is taken after the mapping was noted, so that it is known by then. */
    t->chunk->sample[t->chunk->n] =
        (struct timer_sample){ip, log_now_ns(), n_intervals * period_ns};
    __atomic_store_n(&t->chunk->n, t->chunk->n + 1, __ATOMIC_RELEASE);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved_errno = errno;
    struct thread *t = self;
    if (t && info->si_code == SI_TIMER && state == STATE_ON) {
        uint64_t cpu_ns = cpu_time_ns();
        uint64_t n_intervals = intervals_gone(t, cpu_ns + period_ns / EARLY_PART);
        if (n_intervals)
            take_sample(t, instruction_pointer(context), n_intervals);
        follow_activity(t, cpu_ns, info->si_value.sival_ptr == &t->cpu);
    }
    errno = saved_errno;
}

/* The kernel's signal set is one word of the C library's. */
static uint64_t signal_set(void)
{
    return (uint64_t)1 << (SIGNAL - 1);
}

void timer_mask(void)
{
    uint64_t set = signal_set();
    if (!self || !self->has_wall)
        return;
    self->masks = true;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof set);
}

static uint64_t word_of(function called)
{
    return (uint64_t)(uintptr_t)called;
}

/* Samples that became due meanwhile are of the system call's own time; one that is due soon is of
 * what follows the wait, however soon. */
static void set_anew(struct thread *t, function called)
{
    uint64_t cpu_ns = cpu_time_ns();
    uint64_t n_intervals = intervals_gone(t, cpu_ns);
    if (n_intervals)
        take_sample(t, word_of(called), n_intervals);
    start_wall(t, cpu_ns);
}

/* Taking a signal that came meanwhile costs a tenth of having it delivered. */
void timer_unmask(function called)
{
    struct thread *t = self;
    uint64_t set = signal_set();
    static const struct timespec none;
    if (!t || !t->has_wall)
        return;
    int saved_errno = errno;
    t->masks = false;
    if (t->due_ns == UINT64_MAX || log_now_ns() >= t->due_ns) {
        syscall(SYS_rt_sigtimedwait, &set, NULL, &none, sizeof set);
        set_anew(t, called);
    }
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof set);
    errno = saved_errno;
}

void timer_wait_begin(void)
{
    if (self)
        self->waits = true;
}

void timer_wait_end(function called)
{
    struct thread *t = self;
    if (!t)
        return;
    int saved_errno = errno;
    t->waits = false;
    atomic_signal_fence(memory_order_seq_cst);
    if (!t->due_ns && t->has_wall) {
        uint64_t set = signal_set();
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof set);
        set_anew(t, called);
        syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof set);
    }
    errno = saved_errno;
}

void timer_wait_left(function called)
{
    if (self && self->masks)
        timer_unmask(called);
    if (self && self->waits)
        timer_wait_end(called);
}

void timer_thread_begin(void)
{
    if (!timer_start() || self)
        return;
    struct thread *t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return;
    t->pid = (int32_t)getpid();
    t->tid = (int32_t)syscall(SYS_gettid);
    uint64_t cpu_ns = cpu_time_ns();
    t->random = (log_now_ns() ^ (uint64_t)t->tid) * SPREAD | 1;
    t->due_cpu_ns = cpu_ns + first_interval_ns(t);
    t->wakes = MOST_WAKES;
    self = t;
    pthread_setspecific(key, t);
    t->has_wall = make_timer(CLOCK_MONOTONIC, t->tid, &t->wall);
    if (!t->has_wall) {
        log_refused();
        return;
    }
    uint64_t set = signal_set();
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof set);
    start_wall(t, cpu_ns);
}

static void end_thread(void *state_of_thread)
{
    struct thread *t = state_of_thread;
    if (t->has_wall)
        syscall(SYS_timer_delete, t->wall);
    if (t->has_cpu)
        syscall(SYS_timer_delete, t->cpu);
    self = NULL;
    log_close_chunk(t->chunk, t->chunk_bytes);
    munmap(t, sizeof *t);
}

void timer_thread_end(void)
{
    if (!self)
        return;
    struct thread *t = self;
    pthread_setspecific(key, NULL);
    end_thread(t);
}

/* Timers do not survive a fork, and the files are the parent's. */
static void after_fork(void)
{
    struct thread *t = self;
    if (state != STATE_ON)
        return;
    self = NULL;
    pthread_setspecific(key, NULL);
    if (t) {
        log_close_chunk(t->chunk, t->chunk_bytes);
        munmap(t, sizeof *t);
    }
    const char *directory = getenv(TIMER_DIR_VARIABLE);
    if (!directory || !log_open(directory)) {
        state = STATE_OFF;
        return;
    }
    log_image(false, log_now_ns());
    timer_thread_begin();
}

static bool set_up(void)
{
    const char *directory = getenv(TIMER_DIR_VARIABLE);
    const char *rate = getenv(TIMER_RATE_VARIABLE);
    int hz = rate ? atoi(rate) : 0;
    if (!directory || hz < 1 || hz > MAX_HZ || !log_open(directory))
        return false;
    period_ns = NS_PER_S / (unsigned)hz;
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    if (pthread_key_create(&key, end_thread) != 0 || sigaction(SIGNAL, &action, NULL) != 0)
        return false;
    pthread_atfork(NULL, NULL, after_fork);
    log_image(true, log_now_ns());
    log_mapping((uint64_t)(uintptr_t)on_signal);
    return true;
}

bool timer_start(void)
{
    int seen = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (seen == STATE_UNKNOWN) {
        int expected = STATE_UNKNOWN;
        if (__atomic_compare_exchange_n(&state, &expected, STATE_STARTING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            __atomic_store_n(&state, set_up() ? STATE_ON : STATE_OFF, __ATOMIC_RELEASE);
    }
    return state == STATE_ON;
}
