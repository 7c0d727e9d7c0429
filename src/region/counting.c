#include "region/counting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** What counters said at one time. */
struct moment {
    bool is_read;
    uint64_t time_ns;
    uint64_t read_ns; /* spent on readings until then, this one not included */
    struct region_reading reading;
};

struct region_thread_counting {
    const struct region_plan *plan;
    struct region_counters *counters; /* NULL: for the reasons below */
    uint16_t error[REGION_EVENT_MAX];
    uint64_t read_ns; /* spent on readings */
    struct moment now;
    struct moment begun[]; /* by place on the stack */
};

uint64_t region_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_sound(const struct region_plan *plan)
{
    bool is_good = plan->magic == REGION_PLAN_MAGIC && plan->version == REGION_VERSION &&
                   plan->scope < REGION_SCOPES && plan->n_event &&
                   plan->n_event <= REGION_EVENT_MAX;
    for (uint32_t i = 0; is_good && i < plan->n_event; i++)
        is_good = plan->event[i].group < REGION_GROUP_MAX;
    return is_good;
}

enum region_counting region_plan_load(const char *directory, struct region_plan *ret)
{
    char path[4096];
    struct region_plan plan;
    int n = snprintf(path, sizeof path, "%s/" REGION_PLAN_FILE, directory);
    int fd = n > 0 && n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return REGION_COUNTING_OFF;
    ssize_t got = read(fd, &plan, sizeof plan);
    close(fd);
    if (got != (ssize_t)sizeof plan || !is_sound(&plan))
        return REGION_COUNTING_FOREIGN;
    *ret = plan;
    return REGION_COUNTING_ON;
}

struct region_thread_counting *region_counting_new(const struct region_plan *plan,
                                                   const struct region_calls *calls, uint32_t depth)
{
    struct region_thread_counting *t;
    if (plan->scope == REGION_SCOPE_PROCESS && (pid_t)syscall(SYS_gettid) != getpid())
        return NULL;
    size_t size = sizeof *t + depth * sizeof *t->begun;
    t = malloc(size);
    if (!t)
        return NULL;
    explicit_bzero(t, size); /* touched now, so that no region counts the page faults */
    t->plan = plan;
    t->counters = region_counters_open(plan, calls, t->error);
    return t;
}

void region_counting_free(struct region_thread_counting *t)
{
    if (t)
        region_counters_close(t->counters);
    free(t);
}

static void take(struct region_thread_counting *t, struct moment *moment, uint64_t before_ns)
{
    moment->read_ns = t->read_ns;
    moment->time_ns = before_ns;
    moment->is_read = t->counters && region_counters_read(t->counters, &moment->reading);
}

/* The clock after it costs the region some tens of instructions, none of them a FLOP. */
void region_counting_begin(struct region_thread_counting *t, uint32_t at, uint64_t now_ns)
{
    take(t, &t->begun[at], now_ns);
    t->read_ns += region_now_ns() - now_ns;
}

void region_counting_read(struct region_thread_counting *t)
{
    uint64_t before_ns = region_now_ns();
    take(t, &t->now, before_ns);
    t->read_ns += region_now_ns() - before_ns;
}

static void add_reading(const struct region_plan *plan, const struct region_reading *from,
                        const struct region_reading *to, struct region_count *sum)
{
    for (uint32_t g = 0; g < REGION_GROUP_MAX; g++) {
        sum->enabled_ns[g] += to->enabled_ns[g] - from->enabled_ns[g];
        sum->running_ns[g] += to->running_ns[g] - from->running_ns[g];
    }
    for (uint32_t i = 0; i < plan->n_event; i++)
        sum->value[i] += to->value[i] - from->value[i];
}

void region_counting_end(struct region_thread_counting *t, uint32_t at, uint64_t now_ns,
                         struct region_count *sum)
{
    const struct moment *begun = &t->begun[at];
    for (uint32_t i = 0; i < t->plan->n_event; i++)
        sum->error[i] = t->error[i];
    if (!t->counters)
        return;
    if (!begun->is_read || !t->now.is_read) {
        sum->n_missed++;
        return;
    }
    sum->n_counted++;
    sum->time_ns += now_ns - begun->time_ns;
    sum->read_ns += t->read_ns - begun->read_ns;
    add_reading(t->plan, &begun->reading, &t->now.reading, sum);
}

void region_counting_close_gap(struct region_thread_counting *t, uint32_t at, uint32_t depth)
{
    memmove(&t->begun[at], &t->begun[at + 1], (depth - at) * sizeof *t->begun);
}
