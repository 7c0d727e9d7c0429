#include "count/perf_event/reading.h"

#include "base/array.h"
#include "base/error.h"
#include "count/perf_event/plan.h"
#include "count/perf_event/tsv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "roofline-counter-readings"

enum { CELLS_MAX = 9 };

void rl_pmu_reading_release(struct rl_pmu_reading *reading)
{
    for (size_t i = 0; i < reading->n_group; i++)
        free(reading->group[i].count);
    free(reading->group);
    *reading = (struct rl_pmu_reading){0};
}

void rl_pmu_readings_release(struct rl_pmu_readings *readings)
{
    for (size_t i = 0; i < readings->n_reading; i++)
        rl_pmu_reading_release(&readings->reading[i]);
    free(readings->reading);
    *readings = (struct rl_pmu_readings){0};
}

static void write_group(const struct rl_pmu_group *group, FILE *stream)
{
    fprintf(stream, "group\t%u\t%d\t%" PRIu64 "\t%" PRIu64 "\t%s\n", group->core, group->cpu,
            group->enabled_ns, group->running_ns, rl_pmu_why_name(group->why));
    for (size_t i = 0; i < group->n_count; i++) {
        const struct rl_pmu_count *count = &group->count[i];
        const struct rl_pmu_event *event = count->event;
        fprintf(stream, "count\t%s\t%s\t0x%" PRIx64 "\t0x%" PRIx64 "\t%s\t%a\t%" PRIu64 "\t%s\n",
                rl_pmu_metric[event->metric].name, event->pmu, event->config, event->config1,
                event->sysfs ? event->sysfs : "-", count->bytes, count->value,
                rl_pmu_why_name(count->why));
    }
}

enum rl_status rl_pmu_readings_write(const struct rl_pmu_readings *readings, FILE *stream,
                                     struct rl_error *err)
{
    fprintf(stream, TITLE "\t1\n");
    for (size_t i = 0; i < readings->n_core; i++)
        fprintf(stream, "core\t%s\n", readings->core[i]->name);
    fprintf(stream, "vector_bits\t%u\n", readings->vector_bits);
    for (size_t i = 0; i < readings->n_reading; i++) {
        fprintf(stream, "reading\t%u\n", readings->reading[i].pass);
        for (size_t j = 0; j < readings->reading[i].n_group; j++)
            write_group(&readings->reading[i].group[j], stream);
    }
    return ferror(stream) ? rl_fail_errno(err, "cannot write counter readings") : RL_OK;
}

/** A parse in progress. */
struct parser {
    const char *name;
    unsigned line;
    const struct rl_pmu_table *table;
    struct rl_pmu_readings *out;
    char *cell[CELLS_MAX];
    size_t n_cell;
};

static enum rl_status fail(const struct parser *p, const char *what, struct rl_error *err)
{
    return rl_fail(err, RL_EDATA, "%s:%u: %s", p->name, p->line, what);
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for counter readings");
}

static bool whole(const struct parser *p, size_t cell, uint64_t most, uint64_t *ret)
{
    return tsv_integer(p->cell[cell], ret) && *ret <= most;
}

static enum rl_status parse_title(struct parser *p, struct rl_error *err)
{
    return strcmp(p->cell[1], "1") == 0 ? RL_OK : fail(p, "unknown version", err);
}

static enum rl_status parse_core(struct parser *p, struct rl_error *err)
{
    const struct rl_pmu_core *core = rl_pmu_core_find(p->table, p->cell[1]);
    if (!core)
        return fail(p, "unknown core", err);
    if (p->out->n_core == 2 || p->out->n_reading)
        return fail(p, "a core too many", err);
    p->out->core[p->out->n_core++] = core;
    return RL_OK;
}

static enum rl_status parse_vector_bits(struct parser *p, struct rl_error *err)
{
    uint64_t bits;
    if (!whole(p, 1, 2048, &bits))
        return fail(p, "impossible length of vectors", err);
    p->out->vector_bits = (unsigned)bits;
    return RL_OK;
}

static enum rl_status parse_reading(struct parser *p, struct rl_error *err)
{
    uint64_t pass;
    if (!whole(p, 1, 1000, &pass))
        return fail(p, "impossible number of a run", err);
    struct rl_pmu_reading *reading =
        rl_array_append(&p->out->reading, &p->out->n_reading, sizeof *reading);
    if (!reading)
        return no_memory(err);
    reading->pass = (unsigned)pass;
    return RL_OK;
}

static enum rl_status parse_group(struct parser *p, struct rl_error *err)
{
    uint64_t core;
    uint64_t cpu = 0;
    struct rl_pmu_group group = {.why = rl_pmu_why_find(p->cell[5])};
    bool is_system = strcmp(p->cell[2], "-1") != 0;
    if (!p->out->n_reading)
        return fail(p, "a group before the first reading", err);
    if (!whole(p, 1, 1, &core) || core >= p->out->n_core ||
        (is_system && !whole(p, 2, 1u << 20, &cpu)) ||
        !whole(p, 3, UINT64_MAX, &group.enabled_ns) ||
        !whole(p, 4, UINT64_MAX, &group.running_ns) || group.why == RL_PMU_WHY_COUNT)
        return fail(p, "not a group", err);
    struct rl_pmu_reading *reading = &p->out->reading[p->out->n_reading - 1];
    struct rl_pmu_group *slot = rl_array_append(&reading->group, &reading->n_group, sizeof *slot);
    if (!slot)
        return no_memory(err);
    group.core = (unsigned)core;
    group.cpu = is_system ? (int)cpu : -1;
    *slot = group;
    return RL_OK;
}

static const struct rl_pmu_event *find_event(const struct parser *p, unsigned core)
{
    uint64_t config;
    uint64_t config1;
    if (!whole(p, 3, UINT64_MAX, &config) || !whole(p, 4, UINT64_MAX, &config1))
        return NULL;
    size_t metric = rl_pmu_metric_find(p->cell[1]);
    for (size_t i = 0; i < p->out->core[core]->n_event; i++) {
        const struct rl_pmu_event *event = &p->out->core[core]->event[i];
        const char *sysfs = event->sysfs ? event->sysfs : "-";
        if (event->metric == metric && event->config == config && event->config1 == config1 &&
            strcmp(event->pmu, p->cell[2]) == 0 && strcmp(sysfs, p->cell[5]) == 0)
            return event;
    }
    return NULL;
}

static enum rl_status parse_count(struct parser *p, struct rl_error *err)
{
    struct rl_pmu_reading *reading =
        p->out->n_reading ? &p->out->reading[p->out->n_reading - 1] : NULL;
    if (!reading || !reading->n_group)
        return fail(p, "a count before the first group", err);
    struct rl_pmu_group *group = &reading->group[reading->n_group - 1];
    struct rl_pmu_count count = {.event = find_event(p, group->core),
                                 .why = rl_pmu_why_find(p->cell[8])};
    char *end;
    count.bytes = strtod(p->cell[6], &end);
    if (!count.event)
        return fail(p, "the core has no such event", err);
    if (*end || !(count.bytes >= 0 && count.bytes < 1e6) ||
        !whole(p, 7, UINT64_MAX, &count.value) || count.why == RL_PMU_WHY_COUNT)
        return fail(p, "not a count", err);
    struct rl_pmu_count *slot = rl_array_append(&group->count, &group->n_count, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = count;
    return RL_OK;
}

static const struct {
    const char *word;
    size_t n_cell;
    enum rl_status (*parse)(struct parser *p, struct rl_error *err);
} lines[] = {
    {TITLE, 2, parse_title},       {"core", 2, parse_core},   {"vector_bits", 2, parse_vector_bits},
    {"reading", 2, parse_reading}, {"group", 6, parse_group}, {"count", 9, parse_count},
};

static enum rl_status parse_line(struct parser *p, char *line, struct rl_error *err)
{
    p->n_cell = 0;
    p->line++;
    for (char *rest = line; rest;) {
        if (p->n_cell == CELLS_MAX)
            return fail(p, "too many columns", err);
        p->cell[p->n_cell++] = strsep(&rest, "\t");
    }
    bool is_first = strcmp(p->cell[0], TITLE) == 0;
    if (is_first != (p->line == 1))
        return fail(p, "not a file of counter readings", err);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strcmp(p->cell[0], lines[i].word) == 0)
            return p->n_cell == lines[i].n_cell ? lines[i].parse(p, err)
                                                : fail(p, "wrong number of columns", err);
    }
    return fail(p, "unknown line", err);
}

enum rl_status rl_pmu_readings_parse(const char *text, const char *name,
                                     const struct rl_pmu_table *table, struct rl_pmu_readings *ret,
                                     struct rl_error *err)
{
    struct rl_pmu_readings readings = {0};
    struct parser p = {.name = name, .table = table, .out = &readings};
    char *copy = strdup(text);
    if (!copy)
        return no_memory(err);
    enum rl_status status = RL_OK;
    for (char *rest = copy; status == RL_OK && rest && *rest;)
        status = parse_line(&p, strsep(&rest, "\n"), err);
    free(copy);
    if (status == RL_OK && !p.line)
        status = fail(&p, "the file is empty", err);
    if (status != RL_OK) {
        rl_pmu_readings_release(&readings);
        return status;
    }
    *ret = readings;
    return RL_OK;
}
