#include "sample/regions.h"
#include "base/array.h"
#include "base/error.h"
#include "region/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The image that was running in that process when the file was made: the last to start before. */
static uint32_t find_process(const struct rl_samples *s, int32_t pid, double made_s)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < s->n_process; i++) {
        if (s->process[i].pid == pid && s->process[i].start_s <= made_s + 1e-3)
            best = i;
    }
    return best;
}

/* A program may be linked with a library of another time, whose file means something else. */
static enum rl_status refuse(const struct region_head *head, struct rl_samples *samples,
                             struct rl_error *err)
{
    char *text;
    char **note;
    if (asprintf(&text,
                 "the regions of process %d are left out: its roofline-region library speaks "
                 "version %u, where %u is needed; link it with the library of this installation",
                 (int)head->pid, head->version, REGION_VERSION) < 0)
        return rl_fail(err, RL_ENOMEM, "out of memory for regions");
    note = rl_array_append(&samples->note, &samples->n_note, sizeof *note);
    if (!note) {
        free(text);
        return rl_fail(err, RL_ENOMEM, "out of memory for regions");
    }
    *note = text;
    return RL_OK;
}

static char *copy_name(const struct region_entry *entry)
{
    size_t n = strnlen(entry->name, sizeof entry->name - 1);
    return strndup(entry->name, region_name_bytes(entry->name, n));
}

static enum rl_status add_walls(const struct region_file *file, uint32_t n, uint32_t process,
                                struct rl_samples *samples, struct rl_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct rl_sample_region_wall *wall =
            rl_array_append(&samples->region_wall, &samples->n_region_wall, sizeof *wall);
        if (!wall || !(wall->name = copy_name(&file->entry[i])))
            return rl_fail(err, RL_ENOMEM, "out of memory for regions");
        wall->process = process;
        wall->wall_s = (double)file->entry[i].wall_ns * 1e-9;
    }
    return RL_OK;
}

static enum rl_status add_spans(const struct region_file *file, uint32_t n_entry, size_t first_wall,
                                uint64_t start_ns, struct rl_samples *samples, struct rl_error *err)
{
    uint32_t n = file->head.n_span < REGION_SPAN_MAX ? file->head.n_span : REGION_SPAN_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct region_span *from = &file->span[i];
        if (from->entry >= n_entry || from->begin_ns < start_ns || from->end_ns <= from->begin_ns)
            continue;
        struct rl_sample_region_span *span =
            rl_array_append(&samples->region_span, &samples->n_region_span, sizeof *span);
        if (!span)
            return rl_fail(err, RL_ENOMEM, "out of memory for regions");
        span->wall = (uint32_t)first_wall + from->entry;
        span->begin_ns = from->begin_ns - start_ns;
        span->end_ns = from->end_ns - start_ns;
    }
    return RL_OK;
}

static enum rl_status add_slots(const struct region_file *file, uint32_t n_entry, uint32_t process,
                                struct rl_samples *samples, struct rl_error *err)
{
    uint32_t n = file->head.n_slot < REGION_SLOT_MAX ? file->head.n_slot : REGION_SLOT_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct region_slot *slot = &file->slot[i];
        if (slot->entry >= n_entry)
            continue;
        struct rl_sample_region *region =
            rl_array_append(&samples->region, &samples->n_region, sizeof *region);
        if (!region || !(region->name = copy_name(&file->entry[slot->entry])))
            return rl_fail(err, RL_ENOMEM, "out of memory for regions");
        region->process = process;
        region->tid = slot->tid;
        region->calls = slot->calls;
        region->time_s = (double)slot->time_ns * 1e-9;
        region->self_s = (double)slot->self_ns * 1e-9;
        region->unended = slot->depth;
        region->apart = slot->n_apart;
    }
    return RL_OK;
}

enum rl_status regions_read(const void *data, size_t n, uint64_t start_ns,
                            struct rl_samples *samples, struct rl_error *err)
{
    struct region_head seen;
    if (n < sizeof seen)
        return RL_OK;
    memcpy(&seen, data, sizeof seen);
    if (seen.magic != REGION_MAGIC)
        return RL_OK;
    if (seen.version != REGION_VERSION)
        return refuse(&seen, samples, err);
    if (n < sizeof(struct region_file))
        return RL_OK;
    struct region_file *file = malloc(sizeof *file);
    if (!file)
        return rl_fail(err, RL_ENOMEM, "out of memory for regions");
    memcpy(file, data, sizeof *file);
    const struct region_head *head = &file->head;
    uint32_t n_entry = head->n_entry < REGION_MAX ? head->n_entry : REGION_MAX;
    double made_s = ((double)head->start_ns - (double)start_ns) * 1e-9;
    uint32_t process = find_process(samples, head->pid, made_s);
    size_t first_wall = samples->n_region_wall;
    enum rl_status status = add_walls(file, n_entry, process, samples, err);
    if (status == RL_OK)
        status = add_slots(file, n_entry, process, samples, err);
    if (status == RL_OK)
        status = add_spans(file, n_entry, first_wall, start_ns, samples, err);
    free(file);
    return status;
}
