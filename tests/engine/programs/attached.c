/* Programs to attach to and to leave: attached SCENARIO SECONDS [EINTR]; SIGTERM ends one early.
 * What is printed is the same however often that happens. With a third argument, epoll_wait may end
 * without cause. "ready" goes to standard error when the scenario has begun. */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

static double end_s;
static bool epoll_may_end; /* as after a stop, when its waiter is let go by nobody but the kernel */
static atomic_ulong wrong, rounds;
static volatile sig_atomic_t is_told_to_end;
static volatile pid_t helper; /* to be told too */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool goes_on(void)
{
    return !is_told_to_end && now_s() < end_s;
}

static void end_early(int signal)
{
    is_told_to_end = 1;
    if (helper)
        kill(helper, signal);
}

static void check(bool holds, const char *what)
{
    if (!holds && wrong++ < 10)
        fprintf(stderr, "wrong: %s (errno %d)\n", what, errno);
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* ---- spin: a loop of six instructions, 4 FLOP and 48 bytes a round -----------------------------
 */

static _Alignas(64) double stream[3][1024];

__attribute__((noinline)) void ratio_loop(void)
{
    uint64_t at = 0;
    __asm__ volatile("1: movapd (%1,%0), %%xmm0\n\t"
                     "mulpd (%2,%0), %%xmm0\n\t"
                     "addpd %%xmm1, %%xmm0\n\t"
                     "movapd %%xmm0, (%3,%0)\n\t"
                     "add $16, %0\n\t"
                     "cmp $8192, %0\n\t"
                     "jne 1b"
                     : "+r"(at)
                     : "r"(stream[0]), "r"(stream[1]), "r"(stream[2])
                     : "xmm0", "xmm1", "cc", "memory");
}

static void *spin(void *unused)
{
    do {
        for (int i = 0; i < 100; i++)
            ratio_loop();
    } while (goes_on());
    return unused;
}

/* ---- registers: every register holds something over a loop without memory ----------------------
 */

static uint64_t hold_general(uint64_t n)
{
    uint64_t sum;
    __asm__ volatile(
        "push %%rbp\n\t"
        "mov $1, %%eax\n\t mov $2, %%edx\n\t mov $3, %%ebx\n\t mov $4, %%esi\n\t"
        "mov $5, %%edi\n\t mov $6, %%r8d\n\t mov $7, %%r9d\n\t mov $8, %%r10d\n\t"
        "mov $9, %%r11d\n\t mov $10, %%r12d\n\t mov $11, %%r13d\n\t mov $12, %%r14d\n\t"
        "mov $13, %%r15d\n\t mov $14, %%ebp\n\t"
        "stc\n"
        "1: dec %%rcx\n\t"
        "jnz 1b\n\t"
        "adc %%rdx, %%rax\n\t" /* with the carry from before the loop */
        "add %%rbx, %%rax\n\t add %%rsi, %%rax\n\t add %%rdi, %%rax\n\t"
        "add %%r8, %%rax\n\t add %%r9, %%rax\n\t add %%r10, %%rax\n\t"
        "add %%r11, %%rax\n\t add %%r12, %%rax\n\t add %%r13, %%rax\n\t"
        "add %%r14, %%rax\n\t add %%r15, %%rax\n\t add %%rbp, %%rax\n\t"
        "pop %%rbp"
        : "=a"(sum), "+c"(n)
        :
        : "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
          "memory");
    return sum;
}

__attribute__((target("avx"))) static bool hold_vectors(uint64_t n)
{
    static const double in[4] = {1.5, -2.25, 3.125, 4.0625};
    double out[4];
    __asm__ volatile("vmovupd %2, %%ymm15\n\t"
                     "vaddpd %%ymm15, %%ymm15, %%ymm7\n"
                     "1: dec %0\n\t"
                     "jnz 1b\n\t"
                     "vsubpd %%ymm15, %%ymm7, %%ymm0\n\t"
                     "vmovupd %%ymm0, %1\n\t"
                     "vzeroupper"
                     : "+r"(n), "=m"(out)
                     : "m"(in)
                     : "xmm0", "xmm7", "xmm15", "cc");
    return memcmp(in, out, sizeof(in)) == 0;
}

static void *registers(void *unused)
{
    bool has_avx = __builtin_cpu_supports("avx");
    do {
        check(hold_general(100000) == 106, "general registers and the carry flag");
        check(!has_avx || hold_vectors(100000), "vector registers");
    } while (goes_on());
    return unused;
}

/* ---- blocked: threads in system calls of many kinds --------------------------------------------
 */

static int pipe_to[2], pipe_back[2], event_fd, epoll_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long turn;
static sem_t semaphore;
static atomic_ulong acknowledged;
static volatile sig_atomic_t waiter_is_ready;

static void *echo(void *unused)
{
    char c;
    ssize_t n;
    while ((n = read(pipe_to[0], &c, 1)) == 1)
        check(write(pipe_back[1], &c, 1) == 1, "write to a pipe");
    check(n == 0, "read from a pipe");
    close(pipe_back[1]);
    return unused;
}

static void *wait_for_turn(void *unused)
{
    unsigned long seen = 0;
    pthread_mutex_lock(&mutex);
    while (turn != ~0ul) {
        while (turn == seen)
            pthread_cond_wait(&changed, &mutex);
        seen = turn;
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *sleeper(void *unused)
{
    do {
        double before = now_s();
        struct timespec t = {0, 30000000};
        check(nanosleep(&t, NULL) == 0, "nanosleep");
        check(now_s() - before >= 0.03, "nanosleep ended early");
        check(poll(NULL, 0, 20) == 0, "poll");
        check(now_s() - before >= 0.0495, "poll ended early");
    } while (goes_on());
    return unused;
}

static void *epoller(void *unused)
{
    struct epoll_event event;
    uint64_t value = 0;
    while (value < UINT32_MAX) {
        int n = epoll_wait(epoll_fd, &event, 1, -1);
        check(n == 1 || (epoll_may_end && errno == EINTR), "epoll_wait");
        if (n == 1)
            check(read(event_fd, &value, sizeof(value)) == sizeof(value), "read from an eventfd");
    }
    return unused;
}

static void count_signal(int signal)
{
    (void)signal;
    acknowledged++;
}

/* A signal that arrives in sigsuspend ends it; one that were lost would leave it waiting. */
static void *suspender(void *unused)
{
    sigset_t open;
    sigemptyset(&open);
    waiter_is_ready = 1;
    do {
        errno = 0;
        check(sigsuspend(&open) == -1 && errno == EINTR, "sigsuspend");
        acknowledged += 1ul << 32;
    } while (goes_on());
    acknowledged = ~0ul;
    return unused;
}

static void signal_suspender(pthread_t thread)
{
    unsigned long before = acknowledged >> 32;
    double give_up_s = now_s() + 10;
    if (acknowledged == ~0ul)
        return;
    check(pthread_kill(thread, SIGUSR1) == 0, "pthread_kill");
    while (acknowledged != ~0ul && acknowledged >> 32 == before && now_s() < give_up_s)
        sleep_ms(1);
    check(acknowledged >> 32 != before, "a signal did not end sigsuspend");
}

static void drive(pthread_t suspended)
{
    char c = 'a', back;
    do {
        check(write(pipe_to[1], &c, 1) == 1 && read(pipe_back[0], &back, 1) == 1 && back == c,
              "ping and pong");
        pthread_mutex_lock(&mutex);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        uint64_t one = 1;
        check(write(event_fd, &one, sizeof(one)) == sizeof(one), "write to an eventfd");
        sem_post(&semaphore);
        signal_suspender(suspended);
        c = c == 'z' ? 'a' : (char)(c + 1);
        sleep_ms(c % 7);
    } while (goes_on());
}

static void *semaphore_waiter(void *unused)
{
    do
        check(sem_wait(&semaphore) == 0, "sem_wait");
    while (goes_on());
    return unused;
}

static void blocked(void)
{
    pthread_t thread[6];
    sigset_t usr1;
    struct sigaction action = {.sa_handler = count_signal};
    struct epoll_event event = {.events = EPOLLIN};
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    event_fd = eventfd(0, 0);
    epoll_fd = epoll_create1(0);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event);
    sem_init(&semaphore, 0, 0);
    check(pipe(pipe_to) == 0 && pipe(pipe_back) == 0, "pipe");
    void *(*const of[])(void *) = {echo,    wait_for_turn, sleeper,
                                   epoller, suspender,     semaphore_waiter};
    for (int i = 0; i < 6; i++)
        pthread_create(&thread[i], NULL, of[i], NULL);
    while (!waiter_is_ready)
        sleep_ms(1);
    drive(thread[4]);
    for (int i = 0; i < 10; i++)
        sem_post(&semaphore);
    close(pipe_to[1]);
    pthread_mutex_lock(&mutex);
    turn = ~0ul;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    uint64_t last = UINT32_MAX;
    check(write(event_fd, &last, sizeof(last)) == sizeof(last), "write to an eventfd");
    while (acknowledged != ~0ul) {
        pthread_kill(thread[4], SIGUSR1);
        sleep_ms(1);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(thread[i], NULL);
}

/* ---- idle: the only thread waits nearly always
 * --------------------------------------------------- */

static void prod(int to, pid_t whom)
{
    for (char n = 0; goes_on(); n++) {
        sleep_ms(300);
        kill(whom, SIGUSR1); /* does not end the read */
        sleep_ms(300);
        if (write(to, &n, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void idle(void)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    char c, expected = 0;
    sigaction(SIGUSR1, &action, NULL);
    check(pipe(pipe_to) == 0, "pipe");
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        prod(pipe_to[1], parent);
    helper = child;
    close(pipe_to[1]);
    while (read(pipe_to[0], &c, 1) == 1) {
        check(c == expected++, "read from a pipe");
        check(acknowledged == (unsigned long)expected, "signals");
    }
    check(waitpid(child, NULL, 0) == child, "waitpid");
}

/* ---- storm: a timer's signals, and threads with all signals blocked -----------------------------
 */

static volatile sig_atomic_t ticks;

static void tick(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    ticks += signal == SIGALRM;
}

static void *without_signals(void *unused)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    do {
        check(hold_general(3000000) == 106, "general registers");
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        check(sigismember(&mask, SIGTRAP) && sigismember(&mask, SIGALRM), "the signal mask");
    } while (goes_on());
    return unused;
}

static void storm(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART}, seen;
    struct itimerval timer = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&thread, NULL, without_signals, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    do {
        int before = ticks;
        check(hold_general(300000) == 106, "general registers");
        check(hold_vectors(300000), "vector registers");
        sigaction(SIGALRM, NULL, &seen);
        check(seen.sa_sigaction == tick, "the handler that is installed");
        while (ticks == before)
            ;
    } while (goes_on());
    memset(&timer, 0, sizeof(timer));
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_join(thread, NULL);
}

/* ---- births: threads and processes that begin and end -------------------------------------------
 */

static void *short_life(void *argument)
{
    ratio_loop();
    return argument;
}

static void *births(void *unused)
{
    do {
        pthread_t thread[4];
        for (int i = 0; i < 4; i++)
            check(pthread_create(&thread[i], NULL, short_life, thread) == 0, "pthread_create");
        for (int i = 0; i < 4; i++) {
            void *back = NULL;
            pthread_join(thread[i], &back);
            check(back == thread, "a thread's result");
        }
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(hold_general(10) == 106 ? 7 : 8);
        check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
              "a child's status");
        if (rounds++ % 16 == 0)
            check(system("exit 5") >> 8 == 5, "a command's status");
    } while (goes_on());
    return unused;
}

/* ---- vfork: a thread that nothing stops while its child has not begun ---------------------------
 */

static void *wait_for_child(void *unused)
{
    static struct timespec longer_than_a_launcher_waits = {5, 500000000};
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_nanosleep, &longer_than_a_launcher_waits, NULL);
        _exit(7);
    }
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "a child's status");
    return unused;
}

static void beside_vfork(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_child, NULL);
    spin(NULL);
    pthread_join(thread, NULL);
}

/* ---- jit: code that is never writable while it runs, and is another one every time
 * ---------------- */

static void jit(void)
{
    enum { PAGE_BYTES = 4096, FILL_BYTES = 64, CALLS = 200000 };
    uint8_t *code =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t answer = 1;
    do {
        mprotect(code, PAGE_BYTES, PROT_READ | PROT_WRITE);
        memset(code, 0x90, FILL_BYTES);
        code[answer % FILL_BYTES] = 0xB8; /* mov eax, answer; ret */
        memcpy(code + answer % FILL_BYTES + 1, &answer, sizeof(answer));
        code[answer % FILL_BYTES + 5] = 0xC3;
        mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC);
        uint32_t (*function)(void) = (uint32_t(*)(void))(void *)code;
        for (int i = 0; i < CALLS; i++)
            check(function() == answer, "generated code");
        answer++;
    } while (goes_on());
}

/* ---- what cannot be attached to -----------------------------------------------------------------
 */

static void use_gs(void)
{
    static uint64_t block[2] = {0x1234, 0x5678};
    uint64_t value;
    check(syscall(SYS_arch_prctl, ARCH_SET_GS, block) == 0, "arch_prctl");
    do {
        __asm__ volatile("mov %%gs:8, %0" : "=r"(value));
        check(value == block[1], "the gs segment");
    } while (goes_on());
}

/* A filter that allows everything. */
static void use_seccomp(void)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    spin(NULL);
}

static void in_threads(void *(*of)(void *), int n)
{
    pthread_t thread[8];
    for (int i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, of, NULL);
    of(NULL);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "spin";
    end_s = now_s() + (argc > 2 ? atof(argv[2]) : 1);
    epoll_may_end = argc > 3;
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = end_early, .sa_flags = SA_RESTART}, NULL);
    fprintf(stderr, "ready\n");
    if (!strcmp(scenario, "gs"))
        use_gs();
    else if (!strcmp(scenario, "seccomp"))
        use_seccomp();
    else if (!strcmp(scenario, "blocked"))
        blocked();
    else if (!strcmp(scenario, "idle"))
        idle();
    else if (!strcmp(scenario, "storm"))
        storm();
    else if (!strcmp(scenario, "jit"))
        jit();
    else if (!strcmp(scenario, "vfork"))
        beside_vfork();
    else if (!strcmp(scenario, "births"))
        in_threads(births, 1);
    else if (!strcmp(scenario, "registers"))
        in_threads(registers, 2);
    else
        in_threads(spin, !strcmp(scenario, "threads") ? 3 : 0);
    printf("%s %lu\n", scenario, (unsigned long)wrong);
    return 5;
}
