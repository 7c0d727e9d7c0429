#include "count/perf_event/plan.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOW_COUNTERS = 4,      /* those that RL_PMU_PLACE_LOW names */
    OFFCORE_REGISTERS = 2, /* of an Intel core */
    SYSTEM_COUNTERS = 4,   /* of a memory controller's or data fabric's PMU */
    DEVICES_MAX = 64,
    CPUS_MAX = 64,
};

struct rl_pmu_plan_options rl_pmu_plan_options_default(void)
{
    return (struct rl_pmu_plan_options){
        .detail = RL_PMU_FULL, .wants_system = true, .includes_derived = true};
}

bool rl_pmu_same_event(const struct rl_pmu_event *a, const struct rl_pmu_event *b)
{
    if (strcmp(a->pmu, b->pmu) != 0 || a->has_config != b->has_config)
        return false;
    if (!a->has_config)
        return strcmp(a->sysfs, b->sysfs) == 0;
    return a->config == b->config && a->config1 == b->config1;
}

/** A planning in progress. */
struct planner {
    const struct rl_pmu_table *table;
    const struct rl_pmu_host *host;
    const struct rl_pmu_plan_options *options;
    struct rl_pmu_plan *plan;
    bool done[RL_PMU_METRICS];
    struct rl_error *err;
};

/* Counters that some events of one core take up. */
struct load {
    unsigned general, low, pairs, offcore;
};

static void load_add(struct load *load, const struct rl_pmu_event *event)
{
    if (event->place == RL_PMU_PLACE_FIXED)
        return;
    load->general += event->place == RL_PMU_PLACE_PAIR ? 2 : 1;
    load->pairs += event->place == RL_PMU_PLACE_PAIR;
    load->low += event->place == RL_PMU_PLACE_LOW;
    load->offcore += event->config1 != 0;
}

static bool load_fits(const struct load *load, unsigned capacity)
{
    return load->general <= capacity && load->low <= LOW_COUNTERS &&
           2 * load->pairs <= (capacity & ~1u) && load->offcore <= OFFCORE_REGISTERS;
}

static bool has_slot(const struct rl_pmu_pass *pass, unsigned core,
                     const struct rl_pmu_event *event)
{
    for (size_t i = 0; i < pass->n_slot; i++) {
        if (pass->slot[i].core == core && rl_pmu_same_event(pass->slot[i].event, event))
            return true;
    }
    return false;
}

static bool is_wanted(const struct planner *p, unsigned core, const struct rl_pmu_event *event)
{
    return !event->is_system && event->certainty != RL_PMU_NONE &&
           p->plan->gap[core][event->metric].why == RL_PMU_FINE;
}

/* Do all events of these metrics have room in the pass, on every core? `set` is a bool a metric.
 * pass NULL: in an empty one. */
static bool set_fits(const struct planner *p, const struct rl_pmu_pass *pass, const bool *set)
{
    static const struct rl_pmu_pass nothing = {0};
    pass = pass ? pass : &nothing;
    for (unsigned k = 0; k < p->plan->n_core; k++) {
        const struct rl_pmu_core *core = p->plan->core[k];
        struct load load = {0};
        for (size_t i = 0; i < pass->n_slot; i++) {
            if (pass->slot[i].core == k && !pass->slot[i].event->is_system)
                load_add(&load, pass->slot[i].event);
        }
        for (size_t i = 0; i < core->n_event; i++) {
            const struct rl_pmu_event *event = &core->event[i];
            bool is_new = set[event->metric] && is_wanted(p, k, event) && !has_slot(pass, k, event);
            for (size_t j = 0; is_new && j < i; j++)
                is_new = !(set[core->event[j].metric] && is_wanted(p, k, &core->event[j]) &&
                           rl_pmu_same_event(&core->event[j], event));
            if (is_new)
                load_add(&load, event);
        }
        if (!load_fits(&load, p->plan->capacity[k]))
            return false;
    }
    return true;
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for the plan of counters");
}

static enum rl_status add_slot(struct planner *p, struct rl_pmu_pass *pass, unsigned core,
                               const struct rl_pmu_event *event)
{
    if (has_slot(pass, core, event))
        return RL_OK;
    struct rl_pmu_slot *slot = rl_array_append(&pass->slot, &pass->n_slot, sizeof *slot);
    if (!slot)
        return no_memory(p->err);
    const struct rl_pmu_device *device = &p->plan->device[core];
    *slot = (struct rl_pmu_slot){.event = event,
                                 .core = core,
                                 .type = device->type,
                                 .config = event->config,
                                 .config1 = event->config1,
                                 .cpu = -1};
    memcpy(slot->device, device->name, sizeof slot->device);
    return RL_OK;
}

static enum rl_status add_metric(struct planner *p, struct rl_pmu_pass *pass, size_t metric)
{
    for (unsigned k = 0; k < p->plan->n_core; k++) {
        const struct rl_pmu_core *core = p->plan->core[k];
        for (size_t i = 0; i < core->n_event; i++) {
            const struct rl_pmu_event *event = &core->event[i];
            if (event->metric == metric && is_wanted(p, k, event))
                RL_TRY(add_slot(p, pass, k, event));
        }
    }
    return RL_OK;
}

/* Instructions first: they lead each group, tell whether a core was used at all and whether two
 * runs did the same. Where they take no general counter they cost nothing. */
static enum rl_status add_fixed(struct planner *p, struct rl_pmu_pass *pass)
{
    for (unsigned k = 0; k < p->plan->n_core; k++) {
        const struct rl_pmu_core *core = p->plan->core[k];
        for (size_t i = 0; i < core->n_event; i++) {
            if (core->event[i].place == RL_PMU_PLACE_FIXED && is_wanted(p, k, &core->event[i]))
                RL_TRY(add_slot(p, pass, k, &core->event[i]));
        }
    }
    return RL_OK;
}

static enum rl_status new_pass(struct planner *p, struct rl_pmu_pass **ret)
{
    *ret = NULL;
    if (p->options->max_passes && p->plan->n_pass >= p->options->max_passes)
        return RL_OK;
    struct rl_pmu_pass *pass = rl_array_append(&p->plan->pass, &p->plan->n_pass, sizeof *pass);
    if (!pass)
        return no_memory(p->err);
    *ret = pass;
    return add_fixed(p, pass);
}

static bool can_count(const struct planner *p, size_t metric)
{
    for (unsigned k = 0; k < p->plan->n_core; k++) {
        for (size_t i = 0; i < p->plan->core[k]->n_event; i++) {
            const struct rl_pmu_event *event = &p->plan->core[k]->event[i];
            if (event->metric == metric && is_wanted(p, k, event))
                return true;
        }
    }
    return false;
}

static void give_up(struct planner *p, size_t metric, enum rl_pmu_why why)
{
    for (unsigned k = 0; k < p->plan->n_core; k++) {
        if (p->plan->gap[k][metric].why == RL_PMU_FINE)
            p->plan->gap[k][metric].why = why;
    }
}

/* Hints fill what room there is; no run is made for them. */
static bool is_worth_a_run(const bool *set)
{
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        if (set[m] &&
            (rl_pmu_metric[m].kind == RL_PMU_FLOP || rl_pmu_metric[m].kind == RL_PMU_BYTES))
            return true;
    }
    return false;
}

/* Put a set of metrics into the first run that has room for all of them. */
static enum rl_status place_set(struct planner *p, const bool *set, bool *ret_placed)
{
    struct rl_pmu_pass *pass = NULL;
    for (size_t i = 0; i < p->plan->n_pass && !pass; i++) {
        if (set_fits(p, &p->plan->pass[i], set))
            pass = &p->plan->pass[i];
    }
    if (!pass && is_worth_a_run(set) && set_fits(p, NULL, set))
        RL_TRY(new_pass(p, &pass));
    *ret_placed = pass != NULL;
    for (size_t m = 0; m < RL_PMU_METRICS && pass; m++) {
        if (set[m])
            RL_TRY(add_metric(p, pass, m));
    }
    return RL_OK;
}

/* One word of an order: all metrics it names together if that is possible, else one by one. */
static enum rl_status place_word(struct planner *p, const char *word)
{
    bool set[RL_PMU_METRICS] = {false};
    bool placed = false;
    bool any = false;
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        set[m] = !p->done[m] && rl_pmu_fits(word, rl_pmu_metric[m].name) && can_count(p, m);
        any = any || set[m];
        p->done[m] = p->done[m] || set[m];
    }
    if (!any)
        return RL_OK;
    RL_TRY(place_set(p, set, &placed));
    for (size_t m = 0; m < RL_PMU_METRICS && !placed; m++) {
        bool one[RL_PMU_METRICS] = {false};
        bool done = false;
        one[m] = true;
        if (!set[m])
            continue;
        RL_TRY(place_set(p, one, &done));
        if (!done)
            give_up(p, m, RL_PMU_NOT_PLANNED);
    }
    return RL_OK;
}

static void mark(struct planner *p, unsigned core, const struct rl_pmu_event *event,
                 enum rl_pmu_why why, const char *note)
{
    struct rl_pmu_gap *gap = &p->plan->gap[core][event->metric];
    if (gap->why == RL_PMU_FINE)
        *gap = (struct rl_pmu_gap){why, note};
}

/* What each metric of a core lacks before any counter is looked at: one row is enough. */
static void find_gaps(struct planner *p, unsigned k)
{
    const struct rl_pmu_core *core = p->plan->core[k];
    bool has_row[RL_PMU_METRICS] = {false};
    for (size_t i = 0; i < core->n_event; i++) {
        const struct rl_pmu_event *event = &core->event[i];
        const struct rl_pmu_metric *m = &rl_pmu_metric[event->metric];
        const struct rl_pmu_ban *ban = rl_pmu_ban_find(p->table, core, event);
        has_row[event->metric] = true;
        if (event->certainty == RL_PMU_NONE || !rl_pmu_width_exists(m, p->host->vector_bits))
            mark(p, k, event, RL_PMU_NO_ROW, event->note);
        else if (ban)
            mark(p, k, event, RL_PMU_BANNED, ban->reason);
        else if (event->per_vector && !p->host->vector_bits)
            mark(p, k, event, RL_PMU_NO_ROW, "the length of vectors is not known");
        else if (event->certainty != RL_PMU_VENDOR && !p->options->includes_derived)
            mark(p, k, event, RL_PMU_UNTESTED, event->note);
        else if (!event->is_system && rl_pmu_format_lacks(p->host, p->plan->device[k].name,
                                                          event->config, event->config1))
            mark(p, k, event, RL_PMU_FORMAT, event->note);
    }
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        if (!has_row[m])
            p->plan->gap[k][m].why = RL_PMU_NO_ROW;
    }
}

static enum rl_status plan_threads(struct planner *p)
{
    static const char *const details[] = {[RL_PMU_QUICK] = "quick", [RL_PMU_FULL] = "full"};
    const struct rl_pmu_order *order =
        rl_pmu_order_find(p->table, p->plan->core[0], details[p->options->detail]);
    char *text = order ? strdup(order->metrics) : NULL;
    enum rl_status status = RL_OK;
    if (!order)
        return RL_OK;
    if (!text)
        return no_memory(p->err);
    for (char *rest = text, *word; status == RL_OK && (word = strtok_r(rest, " ", &rest));)
        status = place_word(p, word);
    free(text);
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        if (!p->done[m] && !rl_pmu_metric[m].is_system && rl_pmu_metric[m].kind != RL_PMU_CORE)
            give_up(p, m, RL_PMU_NOT_PLANNED);
    }
    return status;
}

/* Events of a pass on one system-wide PMU and CPU. */
static unsigned system_load(const struct rl_pmu_pass *pass, const char *device, int cpu)
{
    unsigned n = 0;
    for (size_t i = 0; i < pass->n_slot; i++)
        n += pass->slot[i].cpu == cpu && strcmp(pass->slot[i].device, device) == 0;
    return n;
}

static bool make_system_slot(const struct planner *p, const struct rl_pmu_event *event,
                             const struct rl_pmu_device *device, struct rl_pmu_slot *slot)
{
    struct rl_pmu_named named;
    *slot = (struct rl_pmu_slot){.event = event, .type = device->type, .config = event->config};
    memcpy(slot->device, device->name, sizeof slot->device);
    if (event->sysfs && rl_pmu_named_event(p->host, device->name, event->sysfs, &named)) {
        slot->config = named.config;
        slot->config1 = named.config1;
        slot->bytes = named.bytes;
        return true;
    }
    return event->has_config &&
           !rl_pmu_format_lacks(p->host, device->name, event->config, event->config1);
}

/* All CPUs of one PMU, in the first pass with room. */
static enum rl_status place_system(struct planner *p, const struct rl_pmu_slot *slot,
                                   const char *cpus, bool *ret_placed)
{
    int cpu[CPUS_MAX];
    size_t n = rl_pmu_cpu_list(cpus, cpu, CPUS_MAX);
    struct rl_pmu_pass *pass = NULL;
    for (size_t i = 0; i < p->plan->n_pass && !pass && n; i++) {
        if (system_load(&p->plan->pass[i], slot->device, cpu[0]) < SYSTEM_COUNTERS)
            pass = &p->plan->pass[i];
    }
    if (!pass && n)
        RL_TRY(new_pass(p, &pass));
    *ret_placed = pass != NULL;
    for (size_t i = 0; i < n && pass; i++) {
        struct rl_pmu_slot *new = rl_array_append(&pass->slot, &pass->n_slot, sizeof *new);
        if (!new)
            return no_memory(p->err);
        *new = *slot;
        new->cpu = cpu[i];
    }
    return RL_OK;
}

static enum rl_status plan_system_event(struct planner *p, const struct rl_pmu_event *event)
{
    struct rl_pmu_device device[DEVICES_MAX];
    size_t n = rl_pmu_devices(p->host, event->pmu, device, DEVICES_MAX);
    size_t n_placed = 0;
    size_t n_ghost = 0;
    bool is_known = false;
    for (size_t i = 0; i < n; i++) {
        struct rl_pmu_slot slot;
        bool placed = false;
        if (!device[i].cpus[0]) {
            n_ghost++; /* a channel without memory: there is no CPU to open it on */
            continue;
        }
        if (!make_system_slot(p, event, &device[i], &slot))
            continue;
        is_known = true;
        RL_TRY(place_system(p, &slot, device[i].cpus, &placed));
        n_placed += placed;
    }
    if (n_placed && n_placed + n_ghost == n)
        return RL_OK;
    enum rl_pmu_why why = n == n_ghost ? RL_PMU_NO_PMU
                          : is_known   ? RL_PMU_NOT_PLANNED
                                       : RL_PMU_FORMAT;
    mark(p, 0, event, why, event->pmu);
    return RL_OK;
}

static enum rl_status plan_system(struct planner *p)
{
    const struct rl_pmu_core *core = p->plan->core[0];
    bool is_allowed = p->host->is_privileged || (p->host->has_paranoid && p->host->paranoid <= 0);
    for (size_t i = 0; i < core->n_event; i++) {
        const struct rl_pmu_event *event = &core->event[i];
        /* A64FX counts a whole core memory group by an event of the cores: not supported. */
        bool is_core_event = strcmp(event->pmu, "core") == 0;
        if (!event->is_system || p->plan->gap[0][event->metric].why != RL_PMU_FINE)
            continue;
        if (!p->options->wants_system || is_core_event)
            mark(p, 0, event, RL_PMU_NOT_PLANNED, NULL);
        else if (!is_allowed)
            mark(p, 0, event, RL_PMU_SYSTEM_ONLY, NULL);
        else
            RL_TRY(plan_system_event(p, event));
    }
    return RL_OK;
}

/* A hybrid processor has one PMU a kind; a virtual machine may have one kind only. */
static void find_cores(struct planner *p)
{
    const struct rl_pmu_core *core[2];
    size_t n = rl_pmu_core_identify(p->table, p->host->maker, p->host->family, p->host->model,
                                    p->host->stepping, core);
    struct rl_pmu_plan *plan = p->plan;
    plan->why = n ? RL_PMU_NO_PMU : RL_PMU_UNKNOWN_CORE;
    if (n && p->host->is_contradicted) {
        plan->why = RL_PMU_CONTRADICTED;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct rl_pmu_device device;
        unsigned counters = p->host->has_smt ? core[i]->counters_smt : core[i]->counters;
        if (!rl_pmu_core_device(p->host, core[i]->kind, &device))
            continue;
        if (plan->n_core && plan->device[0].type == device.type)
            continue;
        plan->core[plan->n_core] = core[i];
        plan->device[plan->n_core] = device;
        plan->capacity[plan->n_core++] = counters - (counters && p->host->has_watchdog);
        plan->why = RL_PMU_FINE;
    }
    if (plan->n_core && !plan->core[0]->plan)
        plan->why = RL_PMU_NO_PLAN;
}

enum rl_status rl_pmu_plan_make(const struct rl_pmu_table *table, const struct rl_pmu_host *host,
                                const struct rl_pmu_plan_options *options,
                                struct rl_pmu_plan *ret_plan, struct rl_error *err)
{
    struct rl_pmu_plan plan = {0};
    struct planner p = {
        .table = table, .host = host, .options = options, .plan = &plan, .err = err};
    enum rl_status status = RL_OK;
    find_cores(&p);
    if (plan.why == RL_PMU_FINE) {
        for (unsigned k = 0; k < plan.n_core; k++)
            find_gaps(&p, k);
        status = plan_threads(&p);
        if (status == RL_OK)
            status = plan_system(&p);
        if (status == RL_OK && !plan.n_pass)
            plan.why = RL_PMU_NO_PLAN;
    }
    if (status != RL_OK) {
        rl_pmu_plan_release(&plan);
        return status;
    }
    *ret_plan = plan;
    return RL_OK;
}

void rl_pmu_plan_release(struct rl_pmu_plan *plan)
{
    for (size_t i = 0; i < plan->n_pass; i++)
        free(plan->pass[i].slot);
    free(plan->pass);
    *plan = (struct rl_pmu_plan){0};
}
