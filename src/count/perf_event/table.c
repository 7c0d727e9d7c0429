#include "count/perf_event/table.h"

#include "base/array.h"
#include "base/error.h"
#include "count/perf_event/tsv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char rl_pmu_data_cores[];
extern const char rl_pmu_data_events[];
extern const char rl_pmu_data_plans[];
extern const char rl_pmu_data_never[];

/* A word of a column and what it stands for. */
struct word {
    const char *name;
    unsigned value;
};

static const struct word places[] = {{"any", RL_PMU_PLACE_ANY},   {"low", RL_PMU_PLACE_LOW},
                                     {"pair", RL_PMU_PLACE_PAIR}, {"fixed", RL_PMU_PLACE_FIXED},
                                     {"-", RL_PMU_PLACE_ANY},     {NULL, 0}};
static const struct word scopes[] = {{"thread", 0}, {"system", 1}, {"-", 0}, {NULL, 0}};
static const struct word certainties[] = {{"vendor", RL_PMU_VENDOR},
                                          {"derived", RL_PMU_DERIVED},
                                          {"second-hand", RL_PMU_SECOND_HAND},
                                          {"unverified", RL_PMU_UNVERIFIED},
                                          {"none", RL_PMU_NONE},
                                          {NULL, 0}};
static const struct word flop_rules[] = {{"retired", 0},
                                         {"executed", RL_PMU_EXECUTED},
                                         {"speculative", RL_PMU_SPECULATIVE},
                                         {"masked", RL_PMU_MASKED},
                                         {"minmax", RL_PMU_MINMAX},
                                         {"unweighted", RL_PMU_UNWEIGHTED},
                                         {"none", RL_PMU_NO_FLOP},
                                         {NULL, 0}};
static const struct word l3_kinds[] = {{"inclusive", 0}, {"none", 0}, {"victim", 1}, {NULL, 0}};

const char *rl_pmu_certainty_name(enum rl_pmu_certainty certainty)
{
    return certainties[certainty].name;
}

static enum rl_status fail(const struct tsv_row *row, const char *cell, const char *column,
                           struct rl_error *err)
{
    return rl_fail(err, RL_EDATA, "%s:%u: \"%s\" cannot stand in column %s", row->file, row->line,
                   cell, column);
}

static enum rl_status find_word(const struct word *word, const struct tsv_row *row, size_t column,
                                const char *name, unsigned *ret, struct rl_error *err)
{
    for (; word->name; word++) {
        if (strcmp(word->name, row->cell[column]) == 0) {
            *ret = word->value;
            return RL_OK;
        }
    }
    return fail(row, row->cell[column], name, err);
}

/* A cell of words with commas between them, as a set. */
static enum rl_status find_words(const struct word *words, const struct tsv_row *row, size_t column,
                                 const char *name, unsigned *ret, struct rl_error *err)
{
    unsigned set = 0;
    for (const char *at = row->cell[column]; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t n = strcspn(at, ",");
        const struct word *word = words;
        while (word->name && (strlen(word->name) != n || strncmp(word->name, at, n) != 0))
            word++;
        if (!word->name)
            return fail(row, row->cell[column], name, err);
        set |= word->value;
    }
    *ret = set;
    return RL_OK;
}

static const char *or_null(const char *cell)
{
    return tsv_is_nothing(cell) ? NULL : cell;
}

static enum rl_status find_number(const struct tsv_row *row, size_t column, const char *name,
                                  uint64_t *ret, struct rl_error *err)
{
    return tsv_integer(row->cell[column], ret) ? RL_OK : fail(row, row->cell[column], name, err);
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for the table of counter events");
}

enum { CORE_NAME, CORE_MAKER, CORE_IDS, CORE_KIND, CORE_COUNTERS, CORE_COUNTERS_SMT };
enum { CORE_PLAN = CORE_COUNTERS_SMT + 1, CORE_FLOP, CORE_L3, CORE_SOURCE, CORE_NOTE, CORE_CELLS };
static const char *const core_columns[CORE_CELLS] = {"uarch",    "maker",        "ids",  "kind",
                                                     "counters", "counters_smt", "plan", "flop",
                                                     "l3",       "source",       "note"};

static enum rl_status core_row(void *context, const struct tsv_row *row, struct rl_error *err)
{
    struct rl_pmu_table *t = context;
    uint64_t counters;
    uint64_t counters_smt;
    unsigned victim;
    if (rl_pmu_core_find(t, row->cell[CORE_NAME]))
        return fail(row, row->cell[CORE_NAME], "uarch a second time: it", err);
    if (!strchr("PE-", row->cell[CORE_KIND][0]) || row->cell[CORE_KIND][1])
        return fail(row, row->cell[CORE_KIND], core_columns[CORE_KIND], err);
    struct rl_pmu_core core = {.name = row->cell[CORE_NAME],
                               .maker = row->cell[CORE_MAKER],
                               .ids = row->cell[CORE_IDS],
                               .kind = row->cell[CORE_KIND][0],
                               .plan = or_null(row->cell[CORE_PLAN])};
    RL_TRY(find_number(row, CORE_COUNTERS, "counters", &counters, err));
    RL_TRY(find_number(row, CORE_COUNTERS_SMT, "counters_smt", &counters_smt, err));
    RL_TRY(find_words(flop_rules, row, CORE_FLOP, "flop", &core.flop, err));
    RL_TRY(find_word(l3_kinds, row, CORE_L3, "l3", &victim, err));
    if (counters > 64 || counters_smt > counters)
        return fail(row, row->cell[CORE_COUNTERS_SMT], "counters_smt", err);
    core.counters = (unsigned)counters;
    core.counters_smt = (unsigned)counters_smt;
    core.has_victim_l3 = victim;
    struct rl_pmu_core *slot = rl_array_append(&t->core, &t->n_core, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = core;
    return RL_OK;
}

enum { EV_CORE, EV_METRIC, EV_PMU, EV_CONFIG, EV_CONFIG1, EV_SYSFS, EV_WEIGHT, EV_PLACE };
enum { EV_SCOPE = EV_PLACE + 1, EV_CERTAINTY, EV_EVENT, EV_LIBPFM4, EV_SOURCE, EV_NOTE, EV_CELLS };
static const char *const event_columns[EV_CELLS] = {
    "uarch", "metric", "pmu",       "config", "config1", "sysfs",  "weight",
    "place", "scope",  "certainty", "event",  "libpfm4", "source", "note"};

static enum rl_status event_weight(const struct tsv_row *row, struct rl_pmu_event *event,
                                   struct rl_error *err)
{
    const char *cell = row->cell[EV_WEIGHT];
    uint64_t weight = 1;
    event->per_vector = strcmp(cell, "vl/128") == 0;
    bool is_negative = cell[0] == '-';
    if (!event->per_vector && !tsv_integer(cell + is_negative, &weight))
        return fail(row, cell, "weight", err);
    if (!weight || weight > 4096)
        return fail(row, cell, "weight", err);
    event->weight = is_negative ? -(double)weight : (double)weight;
    return RL_OK;
}

static enum rl_status event_code(const struct tsv_row *row, struct rl_pmu_event *event,
                                 struct rl_error *err)
{
    event->has_config = !tsv_is_nothing(row->cell[EV_CONFIG]);
    if (event->has_config)
        RL_TRY(find_number(row, EV_CONFIG, "config", &event->config, err));
    if (!tsv_is_nothing(row->cell[EV_CONFIG1]))
        RL_TRY(find_number(row, EV_CONFIG1, "config1", &event->config1, err));
    if (event->certainty == RL_PMU_NONE)
        return RL_OK;
    if (!event->has_config && !event->sysfs)
        return fail(row, row->cell[EV_CONFIG], "config, without a name in sysfs,", err);
    return event_weight(row, event, err);
}

static enum rl_status event_row(void *context, const struct tsv_row *row, struct rl_error *err)
{
    struct rl_pmu_table *t = context;
    unsigned place;
    unsigned scope;
    unsigned certainty;
    struct rl_pmu_core *core = NULL;
    for (size_t i = 0; i < t->n_core; i++)
        core = strcmp(t->core[i].name, row->cell[EV_CORE]) == 0 ? &t->core[i] : core;
    size_t metric = rl_pmu_metric_find(row->cell[EV_METRIC]);
    if (!core)
        return fail(row, row->cell[EV_CORE], "uarch", err);
    if (metric == RL_PMU_METRICS)
        return fail(row, row->cell[EV_METRIC], "metric", err);
    RL_TRY(find_word(places, row, EV_PLACE, "place", &place, err));
    RL_TRY(find_word(scopes, row, EV_SCOPE, "scope", &scope, err));
    RL_TRY(find_word(certainties, row, EV_CERTAINTY, "certainty", &certainty, err));
    struct rl_pmu_event event = {.metric = metric,
                                 .pmu = row->cell[EV_PMU],
                                 .sysfs = or_null(row->cell[EV_SYSFS]),
                                 .place = (enum rl_pmu_place)place,
                                 .is_system = scope,
                                 .certainty = (enum rl_pmu_certainty)certainty,
                                 .event = or_null(row->cell[EV_EVENT]),
                                 .libpfm4 = or_null(row->cell[EV_LIBPFM4]),
                                 .source = row->cell[EV_SOURCE],
                                 .note = or_null(row->cell[EV_NOTE])};
    RL_TRY(event_code(row, &event, err));
    struct rl_pmu_event *slot = rl_array_append(&core->event, &core->n_event, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = event;
    return RL_OK;
}

enum { ORDER_PLAN, ORDER_DETAIL, ORDER_METRICS, ORDER_CELLS };
static const char *const order_columns[ORDER_CELLS] = {"plan", "detail", "metrics"};

static enum rl_status order_row(void *context, const struct tsv_row *row, struct rl_error *err)
{
    struct rl_pmu_table *t = context;
    struct rl_pmu_order *slot = rl_array_append(&t->order, &t->n_order, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = (struct rl_pmu_order){row->cell[ORDER_PLAN], row->cell[ORDER_DETAIL],
                                  row->cell[ORDER_METRICS]};
    return RL_OK;
}

enum { BAN_CORE, BAN_PMU, BAN_CONFIG, BAN_MASK, BAN_METRIC, BAN_REASON, BAN_SOURCE, BAN_CELLS };
static const char *const ban_columns[BAN_CELLS] = {"uarch",  "pmu",    "config", "mask",
                                                   "metric", "reason", "source"};

static enum rl_status ban_row(void *context, const struct tsv_row *row, struct rl_error *err)
{
    struct rl_pmu_table *t = context;
    struct rl_pmu_ban ban = {.core = row->cell[BAN_CORE],
                             .pmu = row->cell[BAN_PMU],
                             .metric = row->cell[BAN_METRIC],
                             .reason = row->cell[BAN_REASON]};
    RL_TRY(find_number(row, BAN_CONFIG, "config", &ban.config, err));
    RL_TRY(find_number(row, BAN_MASK, "mask", &ban.mask, err));
    struct rl_pmu_ban *slot = rl_array_append(&t->ban, &t->n_ban, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = ban;
    return RL_OK;
}

static enum rl_status parse(struct rl_pmu_table *t, struct rl_error *err)
{
    const struct tsv_format format[4] = {
        {"cores.tsv", core_columns, CORE_CELLS, core_row, t},
        {"events.tsv", event_columns, EV_CELLS, event_row, t},
        {"plans.tsv", order_columns, ORDER_CELLS, order_row, t},
        {"never.tsv", ban_columns, BAN_CELLS, ban_row, t},
    };
    for (size_t i = 0; i < 4; i++)
        RL_TRY(tsv_read(t->text[i], &format[i], err));
    return RL_OK;
}

enum rl_status rl_pmu_table_parse(const struct rl_pmu_texts *texts, struct rl_pmu_table *ret_table,
                                  struct rl_error *err)
{
    const char *const text[4] = {texts->cores, texts->events, texts->plans, texts->never};
    struct rl_pmu_table table = {0};
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < 4 && status == RL_OK; i++) {
        table.text[i] = strdup(text[i]);
        if (!table.text[i])
            status = no_memory(err);
    }
    if (status == RL_OK)
        status = parse(&table, err);
    if (status != RL_OK) {
        rl_pmu_table_release(&table);
        return status;
    }
    *ret_table = table;
    return RL_OK;
}

enum rl_status rl_pmu_table_load(struct rl_pmu_table *ret_table, struct rl_error *err)
{
    const struct rl_pmu_texts texts = {rl_pmu_data_cores, rl_pmu_data_events, rl_pmu_data_plans,
                                       rl_pmu_data_never};
    return rl_pmu_table_parse(&texts, ret_table, err);
}

void rl_pmu_table_release(struct rl_pmu_table *t)
{
    for (size_t i = 0; i < t->n_core; i++)
        free(t->core[i].event);
    for (size_t i = 0; i < 4; i++)
        free(t->text[i]);
    free(t->core);
    free(t->order);
    free(t->ban);
    *t = (struct rl_pmu_table){0};
}

const struct rl_pmu_core *rl_pmu_core_find(const struct rl_pmu_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_core; i++) {
        if (strcmp(t->core[i].name, name) == 0)
            return &t->core[i];
    }
    return NULL;
}

/* first or first-last, ending at a comma, colon or the end. */
static bool in_range(const char *text, const char **ret_end, unsigned value)
{
    char *end;
    unsigned long first = strtoul(text, &end, 0);
    unsigned long last = *end == '-' ? strtoul(end + 1, &end, 0) : first;
    *ret_end = end;
    return value >= first && value <= last;
}

static bool id_fits(const char *id, unsigned family, unsigned model, unsigned stepping)
{
    const char *end;
    bool fits = in_range(id, &end, family) && *end == ':';
    fits = fits && in_range(end + 1, &end, model);
    return fits && (*end != ':' || in_range(end + 1, &end, stepping));
}

size_t rl_pmu_core_identify(const struct rl_pmu_table *t, const char *maker, unsigned family,
                            unsigned model, unsigned stepping,
                            const struct rl_pmu_core *ret_core[2])
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_core && n < 2; i++) {
        if (strcmp(t->core[i].maker, maker) != 0 || tsv_is_nothing(t->core[i].ids))
            continue;
        bool fits = false;
        for (const char *id = t->core[i].ids; id && !fits; id = strchr(id, ',')) {
            id += *id == ',';
            fits = id_fits(id, family, model, stepping);
        }
        if (fits)
            ret_core[n++] = &t->core[i];
    }
    return n;
}

const struct rl_pmu_order *rl_pmu_order_find(const struct rl_pmu_table *t,
                                             const struct rl_pmu_core *core, const char *detail)
{
    for (size_t i = 0; i < t->n_order && core->plan; i++) {
        if (strcmp(t->order[i].plan, core->plan) == 0 && strcmp(t->order[i].detail, detail) == 0)
            return &t->order[i];
    }
    return NULL;
}

bool rl_pmu_fits(const char *pattern, const char *text)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return strcmp(pattern, text) == 0;
    size_t before = (size_t)(star - pattern);
    size_t after = strlen(star + 1);
    size_t n = strlen(text);
    return n >= before + after && strncmp(pattern, text, before) == 0 &&
           strcmp(star + 1, text + n - after) == 0;
}

const struct rl_pmu_ban *rl_pmu_ban_find(const struct rl_pmu_table *t,
                                         const struct rl_pmu_core *core,
                                         const struct rl_pmu_event *event)
{
    if (!event->has_config)
        return NULL;
    for (size_t i = 0; i < t->n_ban; i++) {
        const struct rl_pmu_ban *ban = &t->ban[i];
        if (rl_pmu_fits(ban->core, core->name) && strcmp(ban->pmu, event->pmu) == 0 &&
            (event->config & ban->mask) == ban->config &&
            rl_pmu_fits(ban->metric, rl_pmu_metric[event->metric].name))
            return ban;
    }
    return NULL;
}
