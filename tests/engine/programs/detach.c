/* A program that needs the gs segment for itself: the engine must give way, while threads run and
 * signals arrive, and say so. */
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "expect.h"

static volatile int ticks, stop;
static uint64_t block[2] = {0x1234, 0x5678};

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static uint64_t from_segment(void)
{
    uint64_t value;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(value));
    return value;
}

static void *work(void *argument)
{
    long n = 0;
    do {
        n++;
        if (n % 1000 == 0)
            usleep(10);
    } while (!stop);
    return n ? argument : NULL;
}

int main(void)
{
    pthread_t thread[3];
    struct sigaction action;
    struct itimerval timer = {{0, 300}, {0, 300}};
    memset(&action, 0, sizeof(action));
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, block);
    usleep(20000);
    loop_fmul_like(1000);
    long result = syscall(SYS_arch_prctl, ARCH_SET_GS, block);
    printf("%ld %llx\n", result, (unsigned long long)from_segment());
    int before = ticks;
    while (ticks < before + 5)
        __asm__ volatile("pause");
    stop = 1;
    int joined = 0;
    for (int i = 0; i < 3; i++) {
        void *back = NULL;
        pthread_join(thread[i], &back);
        joined += back == block;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(from_segment() == block[1] ? 3 : 4);
    printf("%d\n", joined);
    expect_mnemonic("pmaddwd", 1000);
    fprintf(stderr, "expect state 4\n");
    return 7;
}
