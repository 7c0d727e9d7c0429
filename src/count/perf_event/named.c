#include "count/perf_event/named.h"

#include "base/error.h"
#include "count/perf_event/pfm.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rl_named_events {
    const struct rl_pmu_calls *calls;
    struct rl_pmu_host host;
    size_t n;
    struct rl_named_event *event; /* [n] */
    struct perf_event_attr *attr; /* [n] as encoded */
    int *fd;                      /* [n] -1: not open */
};

static int open_event(const struct rl_named_events *events, size_t i, pid_t pid)
{
    struct perf_event_attr attr = events->attr[i];
    attr.size = sizeof attr;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.disabled = 1;
    attr.inherit = pid != 0;
    attr.enable_on_exec = pid != 0;
    return events->calls->open(events->calls->context, &attr, pid, -1, -1);
}

/* Events that tables of a core encode, libpfm4's or the kernel's; not those of the kernel itself.
 */
static bool is_of_a_core(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_RAW || attr->type == PERF_TYPE_HW_CACHE;
}

/* On ourselves: what cannot be had is said before the program runs. */
static enum rl_status try_event(const struct rl_named_events *events, size_t i,
                                struct rl_error *err)
{
    char text[256];
    if (events->host.is_contradicted && is_of_a_core(&events->attr[i])) {
        rl_pmu_why_text(RL_PMU_CONTRADICTED, &events->host, NULL, text, sizeof text);
        return rl_fail(err, RL_EUNAVAIL, "%s: %s", events->event[i].name, text);
    }
    int fd = open_event(events, i, 0);
    if (fd >= 0) {
        close(fd);
        return RL_OK;
    }
    enum rl_pmu_why why = rl_pmu_why_from_errno(errno, &events->host, false);
    const char *enable = rl_pmu_why_enable(why);
    rl_pmu_why_text(why, &events->host, NULL, text, sizeof text);
    return rl_fail(err, RL_EUNAVAIL, "%s: %s%s%s", events->event[i].name, text,
                   *enable ? "; to enable: " : "", enable);
}

static enum rl_status fill(struct rl_named_events *events, const char *const *name,
                           struct rl_error *err)
{
    for (size_t i = 0; i < events->n; i++) {
        struct rl_named_event *event = &events->event[i];
        int n = snprintf(event->name, sizeof event->name, "%s", name[i]);
        if (n <= 0 || (size_t)n >= sizeof event->name)
            return rl_fail(err, RL_EINVAL, "'%s' is no name of an event", name[i]);
        event->why = RL_PMU_UNTESTED;
        RL_TRY(rl_pfm_encode(event->name, &events->attr[i], err));
        RL_TRY(try_event(events, i, err));
    }
    return RL_OK;
}

enum rl_status rl_named_events_new(const char *const *name, size_t n, const struct rl_cpu *cpu,
                                   const struct rl_pmu_calls *calls, struct rl_named_events **ret,
                                   struct rl_error *err)
{
    struct rl_named_events *events = calloc(1, sizeof *events);
    if (!events)
        return rl_fail(err, RL_ENOMEM, "no memory for events");
    events->calls = calls ? calls : &rl_pmu_system_calls;
    events->event = calloc(n + 1, sizeof *events->event);
    events->attr = calloc(n + 1, sizeof *events->attr);
    events->fd = calloc(n + 1, sizeof *events->fd);
    rl_pmu_host_detect(NULL, cpu, &events->host);
    enum rl_status status = RL_OK;
    if (!events->event || !events->attr || !events->fd) {
        status = rl_fail(err, RL_ENOMEM, "no memory for events");
    } else {
        events->n = n;
        for (size_t i = 0; i < n; i++)
            events->fd[i] = -1;
        status = fill(events, name, err);
    }
    if (status != RL_OK) {
        rl_named_events_free(events);
        return status;
    }
    *ret = events;
    return RL_OK;
}

static void close_all(struct rl_named_events *events)
{
    for (size_t i = 0; i < events->n; i++) {
        if (events->fd[i] >= 0)
            close(events->fd[i]);
        events->fd[i] = -1;
    }
}

void rl_named_events_free(struct rl_named_events *events)
{
    if (!events)
        return;
    close_all(events);
    free(events->event);
    free(events->attr);
    free(events->fd);
    free(events);
}

enum rl_status rl_named_events_start(struct rl_named_events *events, pid_t pid,
                                     struct rl_error *err)
{
    if (pid <= 0)
        return rl_fail(err, RL_EINVAL, "process %d cannot be counted", (int)pid);
    close_all(events);
    for (size_t i = 0; i < events->n; i++) {
        events->fd[i] = open_event(events, i, pid);
        if (events->fd[i] < 0)
            events->event[i].why = rl_pmu_why_from_errno(errno, &events->host, false);
    }
    return RL_OK;
}

static enum rl_pmu_why read_event(const struct rl_named_events *events, size_t i, uint64_t *ret)
{
    uint64_t buffer[3]; /* value, time enabled, time on a counter */
    ssize_t got = events->calls->read(events->calls->context, events->fd[i], buffer, sizeof buffer);
    if (got != (ssize_t)sizeof buffer)
        return RL_PMU_SHORT_READ;
    if (buffer[2] == 0)
        return RL_PMU_NEVER_RAN;
    if (buffer[2] < buffer[1])
        return RL_PMU_SHARED;
    *ret = buffer[0];
    return RL_PMU_FINE;
}

void rl_named_events_stop(struct rl_named_events *events)
{
    for (size_t i = 0; i < events->n; i++) {
        struct rl_named_event *event = &events->event[i];
        event->value = 0;
        if (events->fd[i] >= 0)
            event->why = read_event(events, i, &event->value);
    }
    close_all(events);
}

const struct rl_named_event *rl_named_events_list(const struct rl_named_events *events,
                                                  size_t *ret_n)
{
    *ret_n = events->n;
    return events->event;
}
