#include "count/perf_event/counter.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUP_MAX = 64 };

static int system_open(void *context, struct perf_event_attr *attr, pid_t pid, int cpu,
                       int group_fd)
{
    (void)context;
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
}

static ssize_t system_read(void *context, int fd, void *buffer, size_t size)
{
    (void)context;
    return read(fd, buffer, size);
}

const struct rl_pmu_calls rl_pmu_system_calls = {.open = system_open, .read = system_read};

/** One group: thread events of one core, or one system-wide event. */
struct group {
    unsigned core;
    int cpu;
    int leader;      /* descriptor; -1: nothing is open */
    bool one_by_one; /* the kernel cannot read inherited groups as a whole */
    enum rl_pmu_why why;
    size_t n;
    const struct rl_pmu_slot *slot[GROUP_MAX];
    int fd[GROUP_MAX]; /* -1: not open, for the reason beside */
    enum rl_pmu_why fd_why[GROUP_MAX];
    uint64_t base[GROUP_MAX];
    uint64_t base_enabled_ns, base_running_ns;
};

struct rl_pmu_counter {
    const struct rl_pmu_calls *calls;
    const struct rl_pmu_host *host;
    struct rl_pmu_target target;
    struct group *group;
    size_t n_group;
};

static void make_attr(const struct rl_pmu_counter *c, const struct group *group,
                      const struct rl_pmu_slot *slot, struct perf_event_attr *attr)
{
    bool is_system = slot->cpu >= 0;
    *attr = (struct perf_event_attr){
        .type = slot->type,
        .size = sizeof *attr,
        .config = slot->config,
        .config1 = slot->config1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    if (!group->one_by_one)
        attr->read_format |= PERF_FORMAT_GROUP;
    if (is_system)
        return; /* a PMU outside the cores cannot leave the kernel out */
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    attr->inherit = c->target.pid != 0;
    attr->disabled = group->leader < 0;
    attr->enable_on_exec = attr->disabled && c->target.on_exec;
}

static int open_slot(const struct rl_pmu_counter *c, const struct group *group,
                     const struct rl_pmu_slot *slot)
{
    struct perf_event_attr attr;
    bool is_system = slot->cpu >= 0;
    make_attr(c, group, slot, &attr);
    return c->calls->open(c->calls->context, &attr, is_system ? -1 : c->target.pid, slot->cpu,
                          group->leader);
}

/* Nothing else of the group can be opened either. */
static bool is_final(enum rl_pmu_why why)
{
    return why == RL_PMU_PARANOID || why == RL_PMU_POLICY || why == RL_PMU_SECCOMP ||
           why == RL_PMU_NO_CALL || why == RL_PMU_GONE || why == RL_PMU_FILES ||
           why == RL_PMU_FILES_ALL || why == RL_PMU_OTHER_KERNEL;
}

static void open_one(const struct rl_pmu_counter *c, struct group *group, size_t i)
{
    const struct rl_pmu_slot *slot = group->slot[i];
    int fd = open_slot(c, group, slot);
    if (fd < 0 && errno == EINVAL && group->leader < 0 && !group->one_by_one && slot->cpu < 0) {
        group->one_by_one = true;
        fd = open_slot(c, group, slot);
        group->one_by_one = fd >= 0;
        if (fd < 0)
            errno = EINVAL;
    }
    group->fd[i] = fd;
    group->fd_why[i] = fd < 0 ? rl_pmu_why_from_errno(errno, c->host, slot->cpu >= 0) : RL_PMU_FINE;
    if (fd >= 0 && group->leader < 0)
        group->leader = fd;
}

static void open_group(const struct rl_pmu_counter *c, struct group *group)
{
    bool all_unknown = true;
    for (size_t i = 0; i < group->n; i++) {
        open_one(c, group, i);
        all_unknown = all_unknown && group->fd_why[i] == RL_PMU_NO_EVENT;
        if (is_final(group->fd_why[i]) && group->leader < 0) {
            group->why = group->fd_why[i];
            for (size_t j = i + 1; j < group->n; j++) {
                group->fd[j] = -1;
                group->fd_why[j] = group->why;
            }
            return;
        }
    }
    if (group->leader < 0)
        group->why = all_unknown ? RL_PMU_NO_PMU : group->fd_why[0];
}

/* Of the calling thread. A group that is switched on at once, after its last event was added, is
 * surely on as a whole; one that grows while it is on need not be. Where the descriptor is no event
 * (in tests) nothing happens. */
static void switch_on(const struct group *group)
{
    if (group->leader >= 0)
        ioctl(group->leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static enum rl_status add_slot(struct rl_pmu_counter *c, const struct rl_pmu_slot *slot,
                               struct rl_error *err)
{
    struct group *group = NULL;
    for (size_t i = 0; i < c->n_group && slot->cpu < 0 && !group; i++)
        group = c->group[i].core == slot->core && c->group[i].cpu < 0 ? &c->group[i] : NULL;
    if (!group) {
        group = rl_array_append(&c->group, &c->n_group, sizeof *group);
        if (!group)
            return rl_fail(err, RL_ENOMEM, "no memory for counters");
        group->core = slot->core;
        group->cpu = slot->cpu;
        group->leader = -1;
    }
    if (group->n == GROUP_MAX)
        return rl_fail(err, RL_EINVAL, "more than %d events in a group", GROUP_MAX);
    group->fd[group->n] = -1;
    group->slot[group->n++] = slot;
    return RL_OK;
}

/* Raw values of what is open, in order. */
static enum rl_pmu_why read_group(const struct rl_pmu_counter *c, const struct group *group,
                                  uint64_t *value, uint64_t *ret_enabled_ns,
                                  uint64_t *ret_running_ns)
{
    uint64_t buffer[3 + GROUP_MAX];
    size_t n_open = 0;
    for (size_t i = 0; i < group->n; i++)
        n_open += group->fd[i] >= 0;
    size_t size = (3 + n_open) * sizeof *buffer;
    ssize_t got = c->calls->read(c->calls->context, group->leader, buffer, size);
    if (got != (ssize_t)size || buffer[0] != n_open)
        return RL_PMU_SHORT_READ;
    *ret_enabled_ns = buffer[1];
    *ret_running_ns = buffer[2];
    for (size_t i = 0, k = 3; i < group->n; i++)
        value[i] = group->fd[i] >= 0 ? buffer[k++] : 0;
    return RL_PMU_FINE;
}

/* The same where the kernel reads one event at a time; the worst coverage is the group's. */
static enum rl_pmu_why read_each(const struct rl_pmu_counter *c, const struct group *group,
                                 uint64_t *value, uint64_t *ret_enabled_ns,
                                 uint64_t *ret_running_ns)
{
    uint64_t buffer[3];
    bool is_first = true;
    for (size_t i = 0; i < group->n; i++) {
        value[i] = 0;
        if (group->fd[i] < 0)
            continue;
        ssize_t got = c->calls->read(c->calls->context, group->fd[i], buffer, sizeof buffer);
        if (got != (ssize_t)sizeof buffer)
            return RL_PMU_SHORT_READ;
        value[i] = buffer[0];
        if (is_first || buffer[1] - buffer[2] > *ret_enabled_ns - *ret_running_ns) {
            *ret_enabled_ns = buffer[1];
            *ret_running_ns = buffer[2];
        }
        is_first = false;
    }
    return RL_PMU_FINE;
}

static enum rl_pmu_why read_values(const struct rl_pmu_counter *c, const struct group *group,
                                   uint64_t *value, uint64_t *enabled_ns, uint64_t *running_ns)
{
    if (group->leader < 0)
        return group->why;
    return group->one_by_one ? read_each(c, group, value, enabled_ns, running_ns)
                             : read_group(c, group, value, enabled_ns, running_ns);
}

enum rl_status rl_pmu_counter_open(const struct rl_pmu_calls *calls, const struct rl_pmu_host *host,
                                   const struct rl_pmu_slot *slot, size_t n_slot,
                                   const struct rl_pmu_target *target, struct rl_pmu_counter **ret,
                                   struct rl_error *err)
{
    struct rl_pmu_counter *c = calloc(1, sizeof *c);
    enum rl_status status = RL_OK;
    if (!c)
        return rl_fail(err, RL_ENOMEM, "no memory for counters");
    c->calls = calls;
    c->host = host;
    c->target = *target;
    for (size_t i = 0; i < n_slot && status == RL_OK; i++)
        status = add_slot(c, &slot[i], err);
    for (size_t i = 0; i < c->n_group && status == RL_OK; i++)
        open_group(c, &c->group[i]);
    for (size_t i = 0; i < c->n_group && status == RL_OK; i++) {
        struct group *group = &c->group[i];
        if (group->cpu < 0 && target->on_exec)
            continue;
        if (group->cpu < 0)
            switch_on(group);
        if (read_values(c, group, group->base, &group->base_enabled_ns, &group->base_running_ns))
            memset(group->base, 0, sizeof group->base);
    }
    if (status != RL_OK) {
        rl_pmu_counter_close(c);
        return status;
    }
    *ret = c;
    return RL_OK;
}

static enum rl_status copy_group(const struct rl_pmu_counter *c, const struct group *group,
                                 struct rl_pmu_group *ret, struct rl_error *err)
{
    uint64_t value[GROUP_MAX] = {0};
    *ret = (struct rl_pmu_group){.core = group->core, .cpu = group->cpu};
    ret->why = read_values(c, group, value, &ret->enabled_ns, &ret->running_ns);
    ret->count = calloc(group->n, sizeof *ret->count);
    if (!ret->count)
        return rl_fail(err, RL_ENOMEM, "no memory for counter readings");
    ret->n_count = group->n;
    if (ret->why == RL_PMU_FINE) {
        ret->enabled_ns -= group->base_enabled_ns;
        ret->running_ns -= group->base_running_ns;
    }
    for (size_t i = 0; i < group->n; i++) {
        bool is_good = ret->why == RL_PMU_FINE && group->fd[i] >= 0;
        ret->count[i] = (struct rl_pmu_count){
            .event = group->slot[i]->event,
            .bytes = group->slot[i]->bytes,
            .value = is_good ? value[i] - group->base[i] : 0,
            .why = group->fd[i] >= 0 ? ret->why : group->fd_why[i],
        };
    }
    return RL_OK;
}

enum rl_status rl_pmu_counter_read(struct rl_pmu_counter *c, struct rl_pmu_reading *ret,
                                   struct rl_error *err)
{
    struct rl_pmu_reading reading = {0};
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < c->n_group && status == RL_OK; i++) {
        struct rl_pmu_group *group =
            rl_array_append(&reading.group, &reading.n_group, sizeof *group);
        status = group ? copy_group(c, &c->group[i], group, err)
                       : rl_fail(err, RL_ENOMEM, "no memory for counter readings");
    }
    if (status != RL_OK) {
        rl_pmu_reading_release(&reading);
        return status;
    }
    *ret = reading;
    return RL_OK;
}

void rl_pmu_counter_close(struct rl_pmu_counter *c)
{
    for (size_t i = 0; c && i < c->n_group; i++) {
        for (size_t j = 0; j < c->group[i].n; j++) {
            if (c->group[i].fd[j] >= 0)
                close(c->group[i].fd[j]);
        }
    }
    if (c)
        free(c->group);
    free(c);
}
