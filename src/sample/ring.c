#include "sample/ring.h"
#include "base/error.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* A record's body, consumed from the front; reading past its end gives zeros and `short_read`. */
struct body {
    const uint8_t *at;
    size_t n;
    bool short_read;
};

static void take(struct body *body, void *to, size_t n)
{
    if (n > body->n) {
        memset(to, 0, n);
        body->n = 0;
        body->short_read = true;
        return;
    }
    memcpy(to, body->at, n);
    body->at += n;
    body->n -= n;
}

static uint32_t take_u32(struct body *body)
{
    uint32_t value;
    take(body, &value, sizeof value);
    return value;
}

static uint64_t take_u64(struct body *body)
{
    uint64_t value;
    take(body, &value, sizeof value);
    return value;
}

/* With sample_id_all every record but a sample ends in pid, tid, time and event. */
#define TRAILER_SIZE (2 * sizeof(uint32_t) + 2 * sizeof(uint64_t))

static bool cut_trailer(struct body *body, uint64_t *ret_time_ns)
{
    if (body->n < TRAILER_SIZE)
        return false;
    body->n -= TRAILER_SIZE;
    memcpy(ret_time_ns, body->at + body->n + 2 * sizeof(uint32_t), sizeof *ret_time_ns);
    return true;
}

/* The text up to its NUL, or to the end of the record. */
static bool take_text(struct body *body, char **ret_text)
{
    *ret_text = strndup((const char *)body->at, body->n);
    return *ret_text != NULL;
}

static bool decode_mmap(struct event_list *list, struct body *body, uint64_t time_ns)
{
    struct event e = {.pid = (int32_t)take_u32(body), .tid = (int32_t)take_u32(body)};
    e.start = take_u64(body);
    e.length = take_u64(body);
    e.file_offset = take_u64(body);
    take_u64(body); /* major, minor */
    e.inode = take_u64(body);
    take_u64(body); /* inode generation */
    take_u64(body); /* prot, flags */
    if (body->short_read) {
        list->n_corrupt++;
        return true;
    }
    struct event *event = take_text(body, &e.text) ? event_add(list, EVENT_MMAP) : NULL;
    if (!event) {
        free(e.text);
        return false;
    }
    e.order = event->order;
    e.kind = EVENT_MMAP;
    e.time_ns = time_ns;
    *event = e;
    return true;
}

static bool decode_name(struct event_list *list, struct body *body, uint64_t time_ns, bool is_exec)
{
    int32_t pid = (int32_t)take_u32(body);
    int32_t tid = (int32_t)take_u32(body);
    char *text = NULL;
    if (body->short_read) {
        list->n_corrupt++;
        return true;
    }
    struct event *event = take_text(body, &text) ? event_add(list, EVENT_NAME) : NULL;
    if (!event) {
        free(text);
        return false;
    }
    event->pid = pid;
    event->tid = tid;
    event->is_exec = is_exec;
    event->time_ns = time_ns;
    event->text = text;
    return true;
}

static bool decode_task(struct event_list *list, struct body *body, enum event_kind kind)
{
    int32_t pid = (int32_t)take_u32(body);
    int32_t parent_pid = (int32_t)take_u32(body);
    int32_t tid = (int32_t)take_u32(body);
    take_u32(body); /* parent's tid */
    uint64_t time_ns = take_u64(body);
    if (body->short_read) {
        list->n_corrupt++;
        return true;
    }
    struct event *event = event_add(list, kind);
    if (!event)
        return false;
    event->pid = pid;
    event->tid = tid;
    event->parent_pid = parent_pid;
    event->time_ns = time_ns;
    return true;
}

static bool decode_sample(struct event_list *list, struct body *body)
{
    uint64_t ip = take_u64(body);
    int32_t pid = (int32_t)take_u32(body);
    int32_t tid = (int32_t)take_u32(body);
    uint64_t time_ns = take_u64(body);
    uint64_t clock = take_u64(body);
    uint64_t period_ns = take_u64(body);
    if (body->short_read) {
        list->n_corrupt++;
        return true;
    }
    struct event *event = event_add(list, EVENT_SAMPLE);
    if (!event)
        return false;
    event->weight_ns = period_of(&list->periods, clock, period_ns, time_ns);
    event->ip = ip;
    event->pid = pid;
    event->tid = tid;
    event->time_ns = time_ns;
    return true;
}

static void decode_lost(struct event_list *list, struct body *body)
{
    take_u64(body); /* id */
    uint64_t n = take_u64(body);
    list->n_lost += body->short_read ? 0 : n;
}

static bool decode_one(const struct perf_event_header *head, struct body body,
                       struct event_list *list)
{
    uint64_t time_ns = 0;
    if (head->type == PERF_RECORD_SAMPLE)
        return decode_sample(list, &body);
    if (!cut_trailer(&body, &time_ns)) {
        list->n_corrupt++;
        return true;
    }
    switch (head->type) {
    case PERF_RECORD_MMAP2:
        return decode_mmap(list, &body, time_ns);
    case PERF_RECORD_COMM:
        return decode_name(list, &body, time_ns, head->misc & PERF_RECORD_MISC_COMM_EXEC);
    case PERF_RECORD_FORK:
        return decode_task(list, &body, EVENT_FORK);
    case PERF_RECORD_EXIT:
        return decode_task(list, &body, EVENT_EXIT);
    case PERF_RECORD_LOST:
        decode_lost(list, &body);
        return true;
    case PERF_RECORD_THROTTLE:
        list->n_throttled++;
        return true;
    default:
        return true;
    }
}

enum rl_status ring_decode(const uint8_t *data, size_t n, struct event_list *list,
                           struct rl_error *err)
{
    while (n) {
        struct perf_event_header head;
        if (n < sizeof head) {
            list->n_corrupt++;
            return RL_OK;
        }
        memcpy(&head, data, sizeof head);
        if (head.size < sizeof head || head.size > n) {
            list->n_corrupt++;
            return RL_OK;
        }
        struct body body = {data + sizeof head, head.size - sizeof head, false};
        if (!decode_one(&head, body, list))
            return rl_fail(err, RL_ENOMEM, "out of memory for samples");
        data += head.size;
        n -= head.size;
    }
    return RL_OK;
}

enum rl_status ring_drain(struct ring *ring, uint8_t *scratch, struct event_list *list,
                          struct rl_error *err)
{
    struct perf_event_mmap_page *page = ring->page;
    const uint8_t *data = (const uint8_t *)ring->page + page->data_offset;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    uint64_t n = head - tail;
    if (n > ring->size) {
        list->n_corrupt++;
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
        return RL_OK;
    }
    size_t at = tail & (ring->size - 1);
    size_t first = ring->size - at < n ? ring->size - at : (size_t)n;
    memcpy(scratch, data + at, first);
    memcpy(scratch + first, data, (size_t)n - first);
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return ring_decode(scratch, (size_t)n, list, err);
}
