/* Three functions whose shares of CPU time the program knows itself.
 *
 *     shares OUT [-t THREADS] [-f FORKS] [-e] [-m MILLISECONDS] [-r] [-g MICROSECONDS] [-w
 * MICROSECONDS]
 *
 * Each thread runs alpha, beta and gamma in turns, 25 : 72 : 3 by work, and times every turn by its
 * own CPU clock. OUT gets one line a function and process: name, first and last file offset of its
 * code, CPU seconds, wall-clock seconds. -f: so many children do the same; -e: the program starts
 * itself anew first; -r: alpha, beta and gamma are marked regions, the CPU clock is read inside and
 * the wall clock outside of them; -g: turns begin at multiples of so long, are a tenth as long, and
 * are waited for at work; -w: turns are a tenth as long and such a sleep follows each round of
 * them.
 *
 * A turn is some milliseconds long: reading a CPU clock may take ten microseconds. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <roofline/region.h>

#define N_FUNCTIONS 3
#define MAX_THREADS 64
#define UNIT        2000
#define LONG        10

#define KERNEL(name)                                                                               \
    extern char __start_code_##name[], __stop_code_##name[];                                       \
    __attribute__((noinline, section("code_" #name))) static double name(int turns)                \
    {                                                                                              \
        double x = 1.0;                                                                            \
        for (int i = 0; i < turns * UNIT; i++) {                                                   \
            x = x * 0.999 + 1e-3;                                                                  \
            __asm__ volatile("" : "+x"(x));                                                        \
        }                                                                                          \
        return x;                                                                                  \
    }

KERNEL(alpha)
KERNEL(beta)
KERNEL(gamma_)

struct function {
    const char *name;
    double (*run)(int turns);
    const char *start, *stop;
    int turns;
};

static const struct function functions[N_FUNCTIONS] = {
    {"alpha", alpha, __start_code_alpha, __stop_code_alpha, 25},
    {"beta", beta, __start_code_beta, __stop_code_beta, 72},
    {"gamma", gamma_, __start_code_gamma_, __stop_code_gamma_, 3},
};

struct worker {
    pthread_t thread;
    double cpu_s[N_FUNCTIONS], wall_s[N_FUNCTIONS];
    double sink;
};

static double limit_s = 0.5;
static int use_regions;
static uint64_t grid_ns;
static useconds_t sleep_us;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t wall_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void await_grid(void)
{
    uint64_t until_ns = grid_ns ? (wall_now_ns() / grid_ns + 1) * grid_ns : 0;
    while (grid_ns && wall_now_ns() < until_ns)
        ;
}

static void run(struct worker *w, int i, int turns)
{
    uint64_t begun_ns = wall_now_ns();
    if (use_regions)
        roofline_region_begin(functions[i].name);
    double before = cpu_now();
    w->sink += functions[i].run(functions[i].turns * turns);
    w->cpu_s[i] += cpu_now() - before;
    if (use_regions)
        roofline_region_end(functions[i].name);
    w->wall_s[i] += (double)(wall_now_ns() - begun_ns) * 1e-9;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    double begin = cpu_now();
    while (cpu_now() - begin < limit_s) {
        await_grid();
        for (int i = 0; i < N_FUNCTIONS; i++)
            run(w, i, grid_ns || sleep_us ? 1 : LONG);
        if (sleep_us)
            usleep(sleep_us);
    }
    return NULL;
}

/* The offset in the file of an address of this program. */
static uint64_t file_offset(const char *address)
{
    char line[512];
    uint64_t start, end, offset, result = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 &&
            (uint64_t)(uintptr_t)address >= start && (uint64_t)(uintptr_t)address < end)
            result = (uint64_t)(uintptr_t)address - start + offset;
    }
    if (maps)
        fclose(maps);
    return result;
}

static void report(const char *path, const struct worker *workers, int n)
{
    char text[1024] = "";
    int at = 0;
    for (int i = 0; i < N_FUNCTIONS; i++) {
        double cpu_s = 0, wall_s = 0;
        for (int k = 0; k < n; k++) {
            cpu_s += workers[k].cpu_s[i];
            wall_s += workers[k].wall_s[i];
        }
        uint64_t start = file_offset(functions[i].start);
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s %" PRIu64 " %" PRIu64 " %.9f %.9f\n", functions[i].name, start,
                       start + (uint64_t)(functions[i].stop - functions[i].start), cpu_s, wall_s);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || write(fd, text, (size_t)at) != at)
        exit(9);
    close(fd);
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    int n_threads = 1;
    int n_forks = 0;
    int c;
    while ((c = getopt(argc, argv, "t:f:em:rg:w:")) != -1) {
        if (c == 't')
            n_threads = atoi(optarg) < MAX_THREADS ? atoi(optarg) : MAX_THREADS;
        if (c == 'f')
            n_forks = atoi(optarg);
        if (c == 'm')
            limit_s = atof(optarg) * 1e-3;
        if (c == 'r')
            use_regions = 1;
        if (c == 'w')
            sleep_us = (useconds_t)atoi(optarg);
        if (c == 'g')
            grid_ns = (uint64_t)(atof(optarg) * 1e3);
        if (c == 'e' && !getenv("SHARES_AGAIN")) {
            setenv("SHARES_AGAIN", "1", 1);
            execv("/proc/self/exe", argv);
            return 8;
        }
    }
    if (optind >= argc)
        return 2;
    for (int i = 0; i < n_forks; i++) {
        if (fork() == 0) {
            n_forks = 0;
            break;
        }
    }
    for (int i = 1; i < n_threads; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    work(&workers[0]);
    for (int i = 1; i < n_threads; i++)
        pthread_join(workers[i].thread, NULL);
    report(argv[optind], workers, n_threads);
    while (n_forks-- > 0)
        wait(NULL);
    return 0;
}
