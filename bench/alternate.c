/* Linked to tests/engine/programs/numeric.c: switches the samples that `roofline record` takes of it off and on, block by
 * block of 100 ms, off on on off and then on off off on, so that whatever drifts is in both alike; pages, caches and
 * launch are the same. On standard error one line for each four blocks: "four CPU WALL", what the kernel took with samples
 * over what it took without, by the thread's processor clock and by the wall's: medians of slices of 25 ms, for bursts of
 * a neighbour are longer than these and shorter than blocks. Without samples to switch it does the same, which shows what
 * the machine adds.
 *
 * Events of perf are the parent's, whose descriptors are borrowed; the signal of timers is kept back, so that the one
 * that comes meanwhile is of no block. */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS      25000000u
#define BLOCK_NS      100000000u
#define BLOCKS        4
#define MOST_SLICES   (BLOCKS / 2 * BLOCK_NS / SLICE_NS)
#define MOST_EVENTS   1024
#define MOST_FOURS    4096
#define TIMER_SIGNAL  SIGSTKFLT

enum { CPU, WALL, CLOCKS };

struct times {
    uint64_t ns[CLOCKS];
};

/* What slices took for each of their rounds. */
struct slices {
    unsigned n;
    double ns[CLOCKS][MOST_SLICES];
};

static int event[MOST_EVENTS];
static unsigned n_event, n_four, n_block, n_round;
static struct times block_begin, slice_begin;
static struct slices off_on[2];
static double four[MOST_FOURS][CLOCKS];

static struct times now(void)
{
    static const clockid_t clock[CLOCKS] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC};
    struct times times;
    for (int i = 0; i < CLOCKS; i++) {
        struct timespec t;
        clock_gettime(clock[i], &t);
        times.ns[i] = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    return times;
}

static void borrow_events(void)
{
    char folder[64], path[512], what[64];
    int parent = (int)syscall(SYS_pidfd_open, getppid(), 0);
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)getppid());
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) && n_event < MOST_EVENTS;) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        ssize_t n = readlink(path, what, sizeof what - 1);
        what[n > 0 ? n : 0] = '\0';
        int fd = strcmp(what, "anon_inode:[perf_event]") ? -1
                                                         : (int)syscall(SYS_pidfd_getfd, parent, atoi(e->d_name), 0);
        if (fd >= 0)
            event[n_event++] = fd;
    }
    if (dir)
        closedir(dir);
    close(parent);
}

static void switch_samples(int on)
{
    uint64_t set = (uint64_t)1 << (TIMER_SIGNAL - 1);
    for (unsigned i = 0; i < n_event; i++)
        ioctl(event[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    syscall(SYS_rt_sigprocmask, on ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL, sizeof set);
}

static int is_on(unsigned block)
{
    int inner = block % BLOCKS == 1 || block % BLOCKS == 2;
    return inner != (block / BLOCKS % 2 == 1);
}

static void tell(void)
{
    for (unsigned i = 0; i < n_four; i++)
        fprintf(stderr, "four %.5f %.5f\n", four[i][CPU], four[i][WALL]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *value, unsigned n)
{
    qsort(value, n, sizeof *value, by_size);
    return (value[(n - 1) / 2] + value[n / 2]) / 2;
}

static void end_slice(struct times end)
{
    struct slices *slices = &off_on[is_on(n_block)];
    for (int i = 0; i < CLOCKS && slices->n < MOST_SLICES; i++)
        slices->ns[i][slices->n] = (double)(end.ns[i] - slice_begin.ns[i]) / n_round;
    slices->n += slices->n < MOST_SLICES;
    n_round = 0;
    slice_begin = end;
}

static void end_four(void)
{
    for (int i = 0; i < CLOCKS && n_four < MOST_FOURS; i++)
        four[n_four][i] = median(off_on[1].ns[i], off_on[1].n) / median(off_on[0].ns[i], off_on[0].n);
    n_four += n_four < MOST_FOURS;
    off_on[0].n = off_on[1].n = 0;
}

void numeric_round(void);
void numeric_round(void)
{
    if (!block_begin.ns[WALL]) {
        borrow_events();
        atexit(tell);
    } else {
        struct times end = now();
        n_round++;
        if (end.ns[WALL] - slice_begin.ns[WALL] < SLICE_NS)
            return;
        end_slice(end);
        if (end.ns[WALL] - block_begin.ns[WALL] < BLOCK_NS)
            return;
        if (++n_block % BLOCKS == 0)
            end_four();
    }
    switch_samples(is_on(n_block));
    block_begin = slice_begin = now();
}
