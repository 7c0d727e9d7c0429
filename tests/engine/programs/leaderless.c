/* A process whose first thread has ended: its entries in /proc that go by the process are empty,
 * and the others run code that was never run before, handle signals, have children. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "handle.h"

enum { PAGE = 4096, FUNCTIONS = 40, FUNCTION_BYTES = 64, ROUNDS = 700, STATUS = 9 };

static volatile int handled;
static pthread_t first;

static void note(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    handled++;
}

/* Each returns its number. */
static int run_new_code(void)
{
    int sum = 0;
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FUNCTIONS; i++) {
        unsigned char *at = page + (size_t)i * FUNCTION_BYTES;
        at[0] = 0xB8; /* mov eax, i; ret */
        memcpy(at + 1, &i, sizeof(i));
        at[5] = 0xC3;
    }
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    for (int i = 0; i < FUNCTIONS; i++) {
        int (*function)(void);
        void *at = page + (size_t)i * FUNCTION_BYTES;
        memcpy(&function, &at, sizeof(function));
        sum += function();
    }
    return sum;
}

static void *go_on(void *unused)
{
    int status = 0;
    pthread_join(first, NULL);
    handle(SIGUSR1, note, 0);
    printf("%d\n", run_new_code());
    loop_fmul_like(ROUNDS);
    for (int i = 0; i < FUNCTIONS; i++)
        raise(SIGUSR1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(run_new_code() == FUNCTIONS * (FUNCTIONS - 1) / 2 ? STATUS + 1 : 1);
    waitpid(child, &status, 0);
    printf("handled %d, child %x\n", handled, (unsigned)status);
    expect_mnemonic("pmaddwd", ROUNDS);
    fprintf(stderr, "expect state 2\nexpect status %d\n", STATUS);
    exit(STATUS);
    return unused;
}

int main(void)
{
    pthread_t thread;
    first = pthread_self();
    if (pthread_create(&thread, NULL, go_on, NULL))
        return 1;
    pthread_exit(NULL);
}
