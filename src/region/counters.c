#include "region/counters.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads that come while their elders' counters are opened may have inherited half a group: then
 * all is done again, so often. */
#define TRIES_MAX 10

/* A group is read as its number of events, the times enabled and running, and a value of each. */
#define READ_HEAD 3

static int system_open(struct perf_event_attr *attr, pid_t pid, int group_fd)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

static ssize_t system_read(int fd, void *buffer, size_t size)
{
    return syscall(SYS_read, fd, buffer, size); /* no cancellation point */
}

/* Only an event has no room in a buffer of nothing; files, pipes and sockets read nothing. Asked so
 * because read is all that the strict mode of seccomp lets a program do. (A program that closed our
 * descriptor and opened a blocking inotify one in its place would wait here for a file to change.)
 */
static bool system_is_event(int fd)
{
    int before = errno;
    bool is_event = system_read(fd, NULL, 0) < 0 && errno == ENOSPC;
    errno = before; /* which is the program's */
    return is_event;
}

const struct region_calls region_system_calls = {
    .open = system_open, .read = system_read, .is_event = system_is_event};

/** The events of one thread. */
struct thread {
    pid_t tid;
    int fd[REGION_EVENT_MAX];     /* -1: not open */
    int leader[REGION_GROUP_MAX]; /* likewise */
    uint32_t n_open[REGION_GROUP_MAX];
};

struct region_counters {
    const struct region_plan *plan;
    const struct region_calls *calls;
    size_t n_thread;
    struct thread *thread;
};

static void make_attr(const struct region_counters *c, uint32_t i, bool is_leader,
                      struct perf_event_attr *attr)
{
    const struct region_event *event = &c->plan->event[i];
    memset(attr, 0, sizeof *attr);
    attr->type = event->type;
    attr->size = sizeof *attr;
    attr->config = event->config;
    attr->config1 = event->config1;
    attr->read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    attr->disabled = is_leader;
    attr->inherit = c->plan->scope == REGION_SCOPE_PROCESS;
}

/* Child processes have counters of their own, where the kernel can keep them out. */
static int open_event(const struct region_counters *c, uint32_t i, pid_t tid, int leader)
{
    struct perf_event_attr attr;
    make_attr(c, i, leader < 0, &attr);
#ifdef PERF_ATTR_SIZE_VER7
    attr.inherit_thread = attr.inherit;
    int fd = c->calls->open(&attr, tid, leader);
    if (fd >= 0 || !attr.inherit || (errno != EINVAL && errno != E2BIG))
        return fd;
    attr.inherit_thread = 0;
#endif
    return c->calls->open(&attr, tid, leader);
}

static void open_thread(const struct region_counters *c, struct thread *t, uint16_t *error)
{
    for (uint32_t g = 0; g < REGION_GROUP_MAX; g++)
        t->leader[g] = -1;
    for (uint32_t i = 0; i < c->plan->n_event; i++) {
        uint32_t g = c->plan->event[i].group;
        t->fd[i] = open_event(c, i, t->tid, t->leader[g]);
        if (t->fd[i] < 0) {
            error[i] = error[i] ? error[i] : (uint16_t)errno;
            continue;
        }
        t->leader[g] = t->leader[g] < 0 ? t->fd[i] : t->leader[g];
        t->n_open[g]++;
    }
    for (uint32_t g = 0; g < REGION_GROUP_MAX; g++) {
        if (t->leader[g] >= 0)
            ioctl(t->leader[g], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    }
}

static void close_thread(const struct region_counters *c, struct thread *t)
{
    for (uint32_t i = 0; i < c->plan->n_event; i++) {
        if (t->fd[i] >= 0 && c->calls->is_event(t->fd[i]))
            close(t->fd[i]);
    }
}

static bool add_thread(struct region_counters *c, pid_t tid)
{
    struct thread *more = realloc(c->thread, (c->n_thread + 1) * sizeof *more);
    if (!more)
        return false;
    c->thread = more;
    memset(&more[c->n_thread], 0, sizeof *more);
    more[c->n_thread++].tid = tid;
    return true;
}

static bool has_thread(const struct region_counters *c, pid_t tid)
{
    for (size_t i = 0; i < c->n_thread; i++) {
        if (c->thread[i].tid == tid)
            return true;
    }
    return false;
}

/* Adds the threads of this process that are not known yet. @return how many; -1 on failure. */
static int find_threads(struct region_counters *c)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return -1;
    for (struct dirent *entry; n >= 0 && (entry = readdir(folder));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && !has_thread(c, tid))
            n = add_thread(c, tid) ? n + 1 : -1;
    }
    closedir(folder);
    return n;
}

static void forget_threads(struct region_counters *c)
{
    for (size_t i = 0; i < c->n_thread; i++)
        close_thread(c, &c->thread[i]);
    free(c->thread);
    c->thread = NULL;
    c->n_thread = 0;
}

/* A thread that ended meanwhile did nothing in any region. */
static void open_each(struct region_counters *c, uint16_t *ret_error)
{
    memset(ret_error, 0, REGION_EVENT_MAX * sizeof *ret_error);
    for (size_t i = 0; i < c->n_thread; i++) {
        uint16_t error[REGION_EVENT_MAX] = {0};
        open_thread(c, &c->thread[i], error);
        bool is_gone = error[0] == ESRCH;
        for (uint32_t k = 0; k < REGION_EVENT_MAX && !is_gone; k++)
            ret_error[k] = ret_error[k] ? ret_error[k] : error[k];
    }
}

static bool open_process(struct region_counters *c, uint16_t *ret_error)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        if (find_threads(c) < 0)
            return false;
        open_each(c, ret_error);
        if (find_threads(c) == 0)
            return true;
        forget_threads(c);
    }
    for (uint32_t i = 0; i < REGION_EVENT_MAX; i++)
        ret_error[i] = EAGAIN;
    return false;
}

struct region_counters *region_counters_open(const struct region_plan *plan,
                                             const struct region_calls *calls, uint16_t *ret_error)
{
    struct region_counters *c = calloc(1, sizeof *c);
    for (uint32_t i = 0; i < REGION_EVENT_MAX; i++)
        ret_error[i] = ENOMEM;
    if (!c)
        return NULL;
    c->plan = plan;
    c->calls = calls;
    bool ok;
    if (plan->scope == REGION_SCOPE_PROCESS) {
        ok = open_process(c, ret_error);
    } else {
        ok = add_thread(c, (pid_t)syscall(SYS_gettid));
        if (ok)
            open_each(c, ret_error);
    }
    for (uint32_t i = 0; ok && i < plan->n_event; i++) {
        if (!ret_error[i])
            return c;
    }
    region_counters_close(c);
    return NULL;
}

static bool read_group(const struct region_counters *c, const struct thread *t, uint32_t g,
                       struct region_reading *sum)
{
    uint64_t buffer[READ_HEAD + REGION_EVENT_MAX];
    size_t size = (READ_HEAD + t->n_open[g]) * sizeof *buffer;
    if (!c->calls->is_event(t->leader[g]) ||
        c->calls->read(t->leader[g], buffer, size) != (ssize_t)size || buffer[0] != t->n_open[g])
        return false;
    sum->enabled_ns[g] += buffer[1];
    sum->running_ns[g] += buffer[2];
    uint32_t k = READ_HEAD;
    for (uint32_t i = 0; i < c->plan->n_event; i++) {
        if (c->plan->event[i].group == g && t->fd[i] >= 0)
            sum->value[i] += buffer[k++];
    }
    return true;
}

bool region_counters_read(const struct region_counters *c, struct region_reading *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < c->n_thread; i++) {
        for (uint32_t g = 0; g < REGION_GROUP_MAX; g++) {
            if (c->thread[i].leader[g] >= 0 && !read_group(c, &c->thread[i], g, ret))
                return false;
        }
    }
    return true;
}

void region_counters_close(struct region_counters *c)
{
    if (c)
        forget_threads(c);
    free(c);
}
