/* A program that maps memory at addresses of its choice where, under the engine, the engine's own
 * memory lies, and natively nothing: alone, or ("threads") while another thread waits in a system
 * call, when it may be refused the memory. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

enum { PLACES = 2, BYTES = 48 << 20 };

/* From where thread blocks and the result are placed, and what holds the tables of targets. */
static void *const place[PLACES] = {(void *)0x7E8000000000, (void *)0x7C000000};

static int to_waiter[2];

static void *wait_for_word(void *unused)
{
    char word;
    return read(to_waiter[0], &word, 1) == 1 ? unused : &to_waiter;
}

static int use(uint8_t *wanted, bool may_be_refused)
{
    uint8_t *got =
        mmap(wanted, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED && errno == ENOMEM && may_be_refused)
        return 0;
    if (got != wanted)
        return 1;
    memset(got, 7, BYTES);
    loop_fmul_like(1000);
    for (size_t i = 0; i < BYTES; i += 997)
        if (got[i] != 7)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    bool has_threads = argc > 1 && !strcmp(argv[1], "threads");
    pthread_t waiter;
    void *waited = NULL;
    int bad = 0;
    if (has_threads && (pipe(to_waiter) || pthread_create(&waiter, NULL, wait_for_word, NULL)))
        return 1;
    if (has_threads)
        usleep(20000); /* it waits */
    for (int i = 0; i < PLACES; i++)
        bad |= use(place[i], has_threads);
    if (has_threads &&
        (write(to_waiter[1], "w", 1) != 1 || pthread_join(waiter, &waited) || waited))
        bad = 1;
    fprintf(stderr, has_threads ? "expect state 2\n" : "expect state 4\n");
    fprintf(stderr, has_threads ? "expect message a thread was refused memory where the counting "
                                  "engine's own lies (ENOMEM)\n"
                                : "expect message the program maps memory where the counting "
                                  "engine's own lies\n");
    printf("%d\n", bad);
    return 8;
}
