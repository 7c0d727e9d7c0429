/* Sampling by timers, inside the user's program.
 *
 * Each thread has a monotonic timer that signals it; the handler notes the instruction pointer and
 * the CPU time used since the last sample. (A thread-CPU-time timer alone expires on scheduler
 * ticks only and is biased.) A timer that expires while its thread does not run finds it where it
 * was put aside, most often at a system call: such a signal is late, it is no sample, and its CPU
 * time goes to the next one. A thread that blocks must not be woken: after two signals without CPU
 * time its monotonic timer rests, and a timer on its CPU time starts it again when it works. */
#include "sample/preload/timer.h"
#include "sample/preload/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NS_PER_S   1000000000u
#define MAX_HZ     100000
#define IDLE_TICKS 2
/* Below this part of a period a thread counts as idle in it. */
#define IDLE_PART 10
/* A signal later than this part of a period found its thread off the CPU. */
#define LATE_PART 16
/* Where clocks are coarse every signal is late: after so many of them that tells nothing. */
#define TRIAL       64
#define TRIAL_LEAST 8
/* Neither the kernel nor programs use this one; Java's libraries take SIGRTMAX - 2, profilers
 * SIGPROF.
 */
#define SIGNAL SIGSTKFLT

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum state { STATE_UNKNOWN, STATE_STARTING, STATE_OFF, STATE_ON };

struct thread {
    timer_t wall, cpu;
    bool has_wall, has_cpu;
    int32_t pid, tid;
    uint64_t cpu_ns;      /**< at the last sample */
    uint64_t tick_cpu_ns; /**< at the last signal */
    uint64_t due_ns;      /**< when the wall timer expires */
    uint64_t random;      /**< state of the generator of intervals */
    unsigned idle_ticks;
    unsigned n_ticks, n_late; /**< until the trial is over */
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

static void set_timer(timer_t timer, int flags, uint64_t first_ns)
{
    struct itimerspec when = {
        .it_value = {(time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S)},
    };
    timer_settime(timer, flags, &when, NULL);
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

static void start_wall(struct thread *t)
{
    t->due_ns = log_now_ns() + next_interval_ns(t);
    set_timer(t->wall, TIMER_ABSTIME, t->due_ns);
}

static bool is_late(struct thread *t, uint64_t now_ns)
{
    bool late = now_ns > t->due_ns + period_ns / LATE_PART;
    if (t->n_ticks < TRIAL) {
        t->n_ticks++;
        t->n_late += late;
    }
    bool is_coarse = t->n_ticks == TRIAL && t->n_late > TRIAL - TRIAL_LEAST;
    return late && !is_coarse;
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

/* Set the wall timer anew; rest that of a thread that does not run, and wake it when it runs again.
 */
static void follow_activity(struct thread *t, uint64_t used_ns, bool is_cpu_timer)
{
    if (is_cpu_timer || used_ns * IDLE_PART >= period_ns)
        t->idle_ticks = 0;
    else if (++t->idle_ticks >= IDLE_TICKS && t->has_cpu) {
        set_timer(t->cpu, 0, 1);
        return;
    }
    start_wall(t);
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

static void take_sample(struct thread *t, uint64_t ip, uint64_t cpu_ns)
{
    uint64_t used_ns = cpu_ns - t->cpu_ns;
    log_mapping(ip);
    if (!used_ns || !have_room(t))
        return;
    /* The time is taken after the mapping was noted, so that it is known by then. */
    t->chunk->sample[t->chunk->n] = (struct timer_sample){ip, log_now_ns(), used_ns};
    __atomic_store_n(&t->chunk->n, t->chunk->n + 1, __ATOMIC_RELEASE);
    t->cpu_ns = cpu_ns;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved_errno = errno;
    struct thread *t = self;
    if (t && info->si_code == SI_TIMER && state == STATE_ON) {
        bool is_cpu_timer = info->si_value.sival_ptr == &t->cpu;
        uint64_t now_ns = log_now_ns();
        uint64_t cpu_ns = cpu_time_ns();
        if (!is_cpu_timer && !is_late(t, now_ns))
            take_sample(t, instruction_pointer(context), cpu_ns);
        follow_activity(t, cpu_ns - t->tick_cpu_ns, is_cpu_timer);
        t->tick_cpu_ns = cpu_ns;
    }
    errno = saved_errno;
}

static bool make_timer(clockid_t clock, int32_t tid, timer_t *ret)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    event.sigev_value.sival_ptr = ret;
    event.sigev_notify_thread_id = tid;
    return timer_create(clock, &event, ret) == 0;
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
    t->cpu_ns = t->tick_cpu_ns = cpu_time_ns();
    t->random = log_now_ns() | 1;
    self = t;
    pthread_setspecific(key, t);
    t->has_wall = make_timer(CLOCK_MONOTONIC, t->tid, &t->wall);
    t->has_cpu = t->has_wall && make_timer(CLOCK_THREAD_CPUTIME_ID, t->tid, &t->cpu);
    if (t->has_wall)
        start_wall(t);
}

static void end_thread(void *state_of_thread)
{
    struct thread *t = state_of_thread;
    if (t->has_wall)
        timer_delete(t->wall);
    if (t->has_cpu)
        timer_delete(t->cpu);
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
