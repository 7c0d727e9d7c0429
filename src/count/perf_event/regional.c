#include "count/perf_event/regional.h"

#include "base/array.h"
#include "base/error.h"
#include "region/name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reading counters disturbs caches and pipeline: of more than this part of a region's own time the
 * counts are not the region's. */
#define MAX_READING_SHARE 0.1

void rl_pmu_regions_release(struct rl_pmu_regions *regions)
{
    for (size_t i = 0; i < regions->n_region; i++) {
        free(regions->region[i].name);
        rl_pmu_readings_release(&regions->region[i].readings);
    }
    free(regions->region);
    *regions = (struct rl_pmu_regions){0};
}

static struct rl_pmu_region *find_region(const struct rl_pmu_regions *regions, const char *name)
{
    for (size_t i = 0; i < regions->n_region; i++) {
        if (!strcmp(regions->region[i].name, name))
            return &regions->region[i];
    }
    return NULL;
}

const struct rl_pmu_region *rl_pmu_regions_find(const struct rl_pmu_regions *regions,
                                                const char *name)
{
    return find_region(regions, name);
}

/* The events of threads in a pass, in the order of the plan. @return their number. */
static size_t thread_slots(const struct rl_pmu_pass *pass,
                           const struct rl_pmu_slot *ret[REGION_EVENT_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < pass->n_slot; i++) {
        if (pass->slot[i].cpu >= 0)
            continue;
        if (n < REGION_EVENT_MAX)
            ret[n] = &pass->slot[i];
        n++;
    }
    return n;
}

enum rl_status rl_pmu_regions_encode(const struct rl_pmu_pass *pass, enum region_scope scope,
                                     struct region_plan *ret, struct rl_error *err)
{
    const struct rl_pmu_slot *slot[REGION_EVENT_MAX];
    size_t n = thread_slots(pass, slot);
    if (!n)
        return rl_fail(err, RL_ENODATA, "no events of threads are counted in this run");
    if (n > REGION_EVENT_MAX)
        return rl_fail(err, RL_EINVAL, "more than %u events in a run", REGION_EVENT_MAX);
    *ret = (struct region_plan){.magic = REGION_PLAN_MAGIC,
                                .version = REGION_VERSION,
                                .scope = (uint32_t)scope,
                                .n_event = (uint32_t)n};
    for (size_t i = 0; i < n; i++)
        ret->event[i] = (struct region_event){.type = slot[i]->type,
                                              .group = slot[i]->core,
                                              .config = slot[i]->config,
                                              .config1 = slot[i]->config1};
    return RL_OK;
}

/** A file being added. */
struct adding {
    const struct rl_pmu_region_file *file;
    const struct rl_pmu_plan *plan;
    const struct rl_pmu_host *host;
    const struct rl_pmu_slot *slot[REGION_EVENT_MAX];
    size_t n_slot;
    struct rl_error *err;
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for the counts of regions");
}

static struct rl_pmu_group *group_of(struct rl_pmu_reading *reading, unsigned core)
{
    for (size_t g = 0; g < reading->n_group; g++) {
        if (reading->group[g].core == core)
            return &reading->group[g];
    }
    return NULL;
}

/* The groups of a reading, all zero. */
static enum rl_status make_groups(const struct adding *a, struct rl_pmu_reading *reading)
{
    for (size_t i = 0; i < a->n_slot; i++) {
        const struct rl_pmu_slot *slot = a->slot[i];
        struct rl_pmu_group *group = group_of(reading, slot->core);
        if (!group)
            group = rl_array_append(&reading->group, &reading->n_group, sizeof *group);
        if (!group)
            return no_memory(a->err);
        group->core = slot->core;
        group->cpu = -1;
        struct rl_pmu_count *count = rl_array_append(&group->count, &group->n_count, sizeof *count);
        if (!count)
            return no_memory(a->err);
        *count = (struct rl_pmu_count){.event = slot->event, .bytes = slot->bytes};
    }
    return RL_OK;
}

/* The region of that name, with a reading of this pass, which is its last one. */
static enum rl_status need_region(const struct adding *a, const char *name,
                                  struct rl_pmu_regions *regions, struct rl_pmu_region **ret)
{
    struct rl_pmu_region *region = find_region(regions, name);
    if (!region) {
        char *copy = strdup(name);
        region =
            copy ? rl_array_append(&regions->region, &regions->n_region, sizeof *region) : NULL;
        if (!region) {
            free(copy);
            return no_memory(a->err);
        }
        region->name = copy;
        region->coverage = 1;
        region->readings.n_core = a->plan->n_core;
        region->readings.vector_bits = a->host->vector_bits;
        for (size_t k = 0; k < a->plan->n_core; k++)
            region->readings.core[k] = a->plan->core[k];
    }
    *ret = region;
    struct rl_pmu_readings *all = &region->readings;
    if (all->n_reading && all->reading[all->n_reading - 1].pass == a->file->pass)
        return RL_OK;
    struct rl_pmu_reading *reading =
        rl_array_append(&all->reading, &all->n_reading, sizeof *reading);
    if (!reading)
        return no_memory(a->err);
    reading->pass = a->file->pass;
    return make_groups(a, reading);
}

static struct rl_pmu_count *count_of(struct rl_pmu_group *group, const struct rl_pmu_slot *slot)
{
    for (size_t i = 0; i < group->n_count; i++) {
        if (rl_pmu_same_event(group->count[i].event, slot->event))
            return &group->count[i];
    }
    return NULL;
}

/* An event that one thread lacks is unknown for all. */
static void add_counts(const struct adding *a, const struct region_count *count,
                       struct rl_pmu_reading *reading)
{
    for (unsigned k = 0; k < a->plan->n_core; k++) {
        struct rl_pmu_group *group = group_of(reading, k);
        if (group) {
            group->enabled_ns += count->enabled_ns[k];
            group->running_ns += count->running_ns[k];
        }
    }
    for (size_t i = 0; i < a->n_slot; i++) {
        struct rl_pmu_group *group = group_of(reading, a->slot[i]->core);
        struct rl_pmu_count *to = count_of(group, a->slot[i]);
        to->value += count->value[i];
        if (count->error[i] && to->why == RL_PMU_FINE)
            to->why = rl_pmu_why_from_errno(count->error[i], a->host, false);
    }
}

static enum rl_status add_slot(const struct adding *a, const struct region_file *times,
                               const struct region_slot *slot, const struct region_count *count,
                               struct rl_pmu_regions *regions)
{
    char name[REGION_NAME_LEN] = "";
    struct rl_pmu_region *region = NULL;
    memcpy(name, times->entry[slot->entry].name, REGION_NAME_LEN - 1);
    name[region_name_bytes(name, strlen(name))] = 0;
    RL_TRY(need_region(a, name, regions, &region));
    if (a->file->scope == REGION_SCOPE_PROCESS && slot->tid != times->head.pid) {
        region->is_by_others = true;
        return RL_OK;
    }
    region->n_thread += region->readings.n_reading == 1;
    region->n_counted += count->n_counted;
    region->n_missed += count->n_missed;
    region->time_ns += count->time_ns;
    region->read_ns += count->read_ns;
    add_counts(a, count, &region->readings.reading[region->readings.n_reading - 1]);
    return RL_OK;
}

static bool is_sound(const struct region_counted_file *file, size_t n_event)
{
    const struct region_head *head = &file->times.head;
    return head->counting == REGION_COUNTING_ON && head->n_event == n_event;
}

enum rl_status rl_pmu_regions_add(const struct rl_pmu_region_file *file,
                                  const struct rl_pmu_plan *plan, const struct rl_pmu_host *host,
                                  struct rl_pmu_regions *regions, struct rl_error *err)
{
    struct adding a = {.file = file, .plan = plan, .host = host, .err = err};
    struct region_head head;
    regions->is_judged = false;
    if (file->n < sizeof head)
        return RL_OK;
    memcpy(&head, file->data, sizeof head);
    if (head.magic != REGION_MAGIC)
        return RL_OK;
    regions->n_foreign +=
        head.version != REGION_VERSION || head.counting == REGION_COUNTING_FOREIGN;
    a.n_slot = thread_slots(&plan->pass[file->pass], a.slot);
    if (head.version != REGION_VERSION || file->n != sizeof(struct region_counted_file) ||
        a.n_slot > REGION_EVENT_MAX)
        return RL_OK;
    struct region_counted_file *copy = malloc(sizeof *copy);
    if (!copy)
        return no_memory(err);
    memcpy(copy, file->data, sizeof *copy);
    enum rl_status status = RL_OK;
    uint32_t n_entry = head.n_entry < REGION_MAX ? head.n_entry : REGION_MAX;
    uint32_t n_slot = head.n_slot < REGION_SLOT_MAX ? head.n_slot : REGION_SLOT_MAX;
    if (!is_sound(copy, a.n_slot))
        n_slot = 0;
    for (uint32_t i = 0; i < n_slot && status == RL_OK; i++) {
        if (copy->times.slot[i].entry < n_entry)
            status = add_slot(&a, &copy->times, &copy->times.slot[i], &copy->count[i], regions);
    }
    free(copy);
    return status;
}

/* On hybrid processors the program is on one kind of core at a time. */
static double coverage_of(const struct rl_pmu_reading *reading)
{
    uint64_t running_ns = 0, enabled_ns = 0;
    for (size_t g = 0; g < reading->n_group; g++) {
        running_ns += reading->group[g].running_ns;
        if (reading->group[g].enabled_ns > enabled_ns)
            enabled_ns = reading->group[g].enabled_ns;
    }
    return enabled_ns ? (double)running_ns / (double)enabled_ns : 1;
}

/* A group of which nothing could be opened says why; the first such reason is the region's. */
static enum rl_pmu_why judge_groups(struct rl_pmu_reading *reading)
{
    enum rl_pmu_why first = RL_PMU_FINE;
    for (size_t g = 0; g < reading->n_group; g++) {
        struct rl_pmu_group *group = &reading->group[g];
        bool none_known = true;
        bool none_open = true;
        for (size_t i = 0; i < group->n_count; i++) {
            none_open = none_open && group->count[i].why != RL_PMU_FINE;
            none_known = none_known && group->count[i].why == RL_PMU_NO_EVENT;
        }
        if (none_open)
            group->why = none_known ? RL_PMU_NO_PMU : group->count[0].why;
        first = first == RL_PMU_FINE ? group->why : first;
    }
    return first;
}

static void refuse(struct rl_pmu_region *region, enum rl_pmu_why why, const char *detail)
{
    region->why = why;
    snprintf(region->detail, sizeof region->detail, "%s", detail);
}

static void judge(struct rl_pmu_region *region)
{
    char text[sizeof region->detail] = "";
    region->coverage = 1;
    refuse(region, RL_PMU_FINE, text);
    double own_ns = (double)region->time_ns - (double)region->read_ns;
    enum rl_pmu_why none = RL_PMU_FINE;
    for (size_t i = 0; i < region->readings.n_reading; i++) {
        enum rl_pmu_why why = judge_groups(&region->readings.reading[i]);
        none = none == RL_PMU_FINE ? why : none;
        region->coverage = fmin(region->coverage, coverage_of(&region->readings.reading[i]));
    }
    if (region->is_by_others) {
        refuse(region, RL_PMU_OTHER_THREADS, text);
    } else if (!region->n_counted && none != RL_PMU_FINE) {
        refuse(region, none, text);
    } else if (region->n_missed) {
        snprintf(text, sizeof text, "%llu of %llu times", (unsigned long long)region->n_missed,
                 (unsigned long long)(region->n_missed + region->n_counted));
        refuse(region, RL_PMU_SHORT_READ, text);
    } else if (!region->n_counted) {
        refuse(region, RL_PMU_NEVER_ON, text);
    } else if ((double)region->read_ns > MAX_READING_SHARE * own_ns) {
        double n = (double)region->n_counted;
        snprintf(text, sizeof text, "reading them takes %.3g us of a call of %.3g us",
                 (double)region->read_ns / n * 1e-3, (double)region->time_ns / n * 1e-3);
        refuse(region, RL_PMU_SHORT, text);
    }
}

void rl_pmu_regions_judge(struct rl_pmu_regions *regions)
{
    for (size_t i = 0; i < regions->n_region && !regions->is_judged; i++)
        judge(&regions->region[i]);
    regions->is_judged = true;
}
