#include "sample/event.h"
#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct event *event_add(struct event_list *list, enum event_kind kind)
{
    struct event *event = rl_array_append(&list->event, &list->n, sizeof *event);
    if (event) {
        event->kind = kind;
        event->order = list->order++;
    }
    return event;
}

static enum rl_status hand_on(struct collector *c, const struct event *e, struct rl_error *err)
{
    switch (e->kind) {
    case EVENT_SAMPLE:
        return collect_sample(c, e->pid, e->tid, e->ip, e->time_ns, e->weight_ns, err);
    case EVENT_MMAP: {
        struct collect_map map = {e->start, e->length, e->file_offset, e->inode, e->text};
        return collect_mmap(c, e->pid, &map, err);
    }
    case EVENT_NAME:
        if (e->is_exec)
            RL_TRY(collect_exec(c, e->pid, e->time_ns, e->text, err));
        return collect_name(c, e->pid, e->tid, e->text, err);
    case EVENT_FORK:
        return e->pid == e->parent_pid ? RL_OK
                                       : collect_process(c, e->pid, e->parent_pid, e->time_ns, err);
    case EVENT_MAPS:
        return collect_maps_text(c, e->pid, e->text, err);
    case EVENT_EXIT:
        return collect_exit(c, e->pid, e->tid, e->time_ns, err);
    }
    return RL_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct event *e = a;
    const struct event *f = b;
    if (e->time_ns != f->time_ns)
        return e->time_ns < f->time_ns ? -1 : 1;
    return e->order < f->order ? -1 : e->order > f->order;
}

enum rl_status event_hand_on(struct event_list *list, struct collector *collector,
                             uint64_t until_ns, struct rl_error *err)
{
    size_t n = 0;
    enum rl_status status = RL_OK;
    if (list->n == 0)
        return RL_OK; /* an empty list may have no array, which qsort must not be handed */
    qsort(list->event, list->n, sizeof *list->event, by_time);
    while (n < list->n && list->event[n].time_ns <= until_ns && status == RL_OK) {
        status = hand_on(collector, &list->event[n], err);
        free(list->event[n++].text);
    }
    memmove(list->event, list->event + n, (list->n - n) * sizeof *list->event);
    list->n -= n;
    return status;
}

void event_list_release(struct event_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->event[i].text);
    free(list->event);
    period_release(&list->periods);
    *list = (struct event_list){0};
}
