#include "base/array.h"
#include "base/error.h"
#include "catalog/catalog_internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char rl_catalog_data[];
extern const char rl_catalog_data_end[];

enum { COL_CORE, COL_METRIC, COL_VALUE, COL_UNIT, COL_CERTAINTY, COL_SOURCE, COL_NOTE, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"core",      "metric", "value", "unit",
                                                    "certainty", "source", "note"};

struct certainty_row {
    const char *in_file;
    const char *title;
};

static const struct certainty_row certainties[RL_CERTAIN_COUNT] = {
    [RL_CERTAIN_VERIFIED] = {"verified", "verified"},
    [RL_CERTAIN_SINGLE] = {"single", "single source"},
    [RL_CERTAIN_DERIVED] = {"derived", "derived"},
    [RL_CERTAIN_UNVERIFIED] = {"unverified", "unverified"},
    [RL_CERTAIN_MEMORY] = {"memory", "from memory"},
};

const char *rl_certainty_name(enum rl_certainty certainty)
{
    return certainties[certainty].title;
}

/* Where in which file we are, for messages. */
struct place {
    const char *file;
    unsigned line;
};

static enum rl_status split(char *line, const struct place *at, char *cell[N_COLUMNS],
                            struct rl_error *err)
{
    int n = 0;
    for (char *rest = line; rest; n++) {
        char *next = strchr(rest, '\t');
        if (next)
            *next++ = '\0';
        if (n < N_COLUMNS)
            cell[n] = rest;
        rest = next;
    }
    if (n != N_COLUMNS)
        return rl_fail(err, RL_EDATA, "%s:%u: %d columns instead of %d", at->file, at->line, n,
                       N_COLUMNS);
    for (int i = 0; i < N_COLUMNS; i++)
        if (!cell[i][0])
            return rl_fail(err, RL_EDATA, "%s:%u: column %s is empty", at->file, at->line,
                           column_names[i]);
    return RL_OK;
}

/* Digits and one dot; strtod would take a comma for a dot in some locales. */
static bool parse_number(const char *text, double *ret_value)
{
    double value = 0;
    double unit = 1;
    bool seen_dot = false;
    bool digits = false;
    for (const char *c = text; *c; c++) {
        if (*c == '.' && !seen_dot) {
            seen_dot = true;
        } else if (*c >= '0' && *c <= '9') {
            value = 10 * value + (*c - '0');
            unit *= seen_dot ? 10 : 1;
            digits = true;
        } else {
            return false;
        }
    }
    *ret_value = value / unit;
    return digits;
}

static enum rl_status parse_spec(char *cell[N_COLUMNS], const struct place *at,
                                 struct rl_spec *ret_spec, struct rl_error *err)
{
    struct rl_spec spec = {.metric = cell[COL_METRIC],
                           .text = cell[COL_VALUE],
                           .unit = cell[COL_UNIT],
                           .source = cell[COL_SOURCE],
                           .note = cell[COL_NOTE],
                           .certainty = RL_CERTAIN_COUNT};
    for (int i = 0; i < RL_CERTAIN_COUNT; i++)
        if (strcmp(cell[COL_CERTAINTY], certainties[i].in_file) == 0)
            spec.certainty = (enum rl_certainty)i;
    if (spec.certainty == RL_CERTAIN_COUNT)
        return rl_fail(err, RL_EDATA, "%s:%u: unknown certainty \"%s\"", at->file, at->line,
                       cell[COL_CERTAINTY]);
    bool is_list = strcmp(spec.metric, "ids") == 0 || strcmp(spec.metric, "features") == 0;
    if (!is_list && (!parse_number(spec.text, &spec.value) || spec.value <= 0))
        return rl_fail(err, RL_EDATA, "%s:%u: \"%s\" is not a positive number", at->file, at->line,
                       spec.text);
    *ret_spec = spec;
    return RL_OK;
}

static enum rl_status add_row(struct rl_catalog *catalog, char *line, const struct place *at,
                              struct rl_error *err)
{
    char *cell[N_COLUMNS];
    struct rl_spec spec;
    RL_TRY(split(line, at, cell, err));
    RL_TRY(parse_spec(cell, at, &spec, err));
    struct rl_core *core = catalog->n_core ? &catalog->core[catalog->n_core - 1] : NULL;
    if (!core || strcmp(core->name, cell[COL_CORE]) != 0) {
        if (rl_catalog_core(catalog, cell[COL_CORE]))
            return rl_fail(err, RL_EDATA, "%s:%u: rows of %s do not stand together", at->file,
                           at->line, cell[COL_CORE]);
        core = rl_array_append(&catalog->core, &catalog->n_core, sizeof *core);
        if (!core)
            return rl_fail(err, RL_ENOMEM, "no memory for the catalogue");
        core->name = cell[COL_CORE];
    }
    if (rl_core_spec(core, spec.metric))
        return rl_fail(err, RL_EDATA, "%s:%u: %s has two rows for %s", at->file, at->line,
                       core->name, spec.metric);
    struct rl_spec *slot = rl_array_append(&core->spec, &core->n_spec, sizeof *slot);
    if (!slot)
        return rl_fail(err, RL_ENOMEM, "no memory for the catalogue");
    *slot = spec;
    return RL_OK;
}

static enum rl_status check_head(char *line, const struct place *at, struct rl_error *err)
{
    char *cell[N_COLUMNS];
    RL_TRY(split(line, at, cell, err));
    for (int i = 0; i < N_COLUMNS; i++)
        if (strcmp(cell[i], column_names[i]) != 0)
            return rl_fail(err, RL_EDATA, "%s:%u: column \"%s\" where \"%s\" belongs", at->file,
                           at->line, cell[i], column_names[i]);
    return RL_OK;
}

static enum rl_status parse_lines(struct rl_catalog *catalog, const char *name,
                                  struct rl_error *err)
{
    struct place at = {.file = name};
    bool head_seen = false;
    for (char *line = catalog->text; line && *line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        at.line++;
        if (line[0] && line[0] != '#') {
            RL_TRY(head_seen ? add_row(catalog, line, &at, err) : check_head(line, &at, err));
            head_seen = true;
        }
        line = next;
    }
    return RL_OK;
}

enum rl_status rl_catalog_parse(const char *text, size_t n_text, const char *name,
                                struct rl_catalog *ret_catalog, struct rl_error *err)
{
    struct rl_catalog catalog = {.text = malloc(n_text + 1)};
    if (!catalog.text)
        return rl_fail(err, RL_ENOMEM, "no memory for the catalogue");
    memcpy(catalog.text, text, n_text);
    catalog.text[n_text] = '\0';
    enum rl_status status = parse_lines(&catalog, name, err);
    if (status == RL_OK)
        status = rl_catalog_resolve_features(&catalog, name, err);
    if (status != RL_OK) {
        rl_catalog_release(&catalog);
        return status;
    }
    *ret_catalog = catalog;
    return RL_OK;
}

enum rl_status rl_catalog_load(struct rl_catalog *ret_catalog, struct rl_error *err)
{
    return rl_catalog_parse(rl_catalog_data, (size_t)(rl_catalog_data_end - rl_catalog_data),
                            "microarchitectures.tsv", ret_catalog, err);
}

void rl_catalog_release(struct rl_catalog *catalog)
{
    for (size_t i = 0; i < catalog->n_core; i++)
        free(catalog->core[i].spec);
    free(catalog->core);
    free(catalog->text);
    *catalog = (struct rl_catalog){0};
}

const struct rl_core *rl_catalog_core(const struct rl_catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->n_core; i++)
        if (strcmp(catalog->core[i].name, name) == 0)
            return &catalog->core[i];
    return NULL;
}

const struct rl_spec *rl_core_spec(const struct rl_core *core, const char *metric)
{
    for (size_t i = 0; core && i < core->n_spec; i++)
        if (strcmp(core->spec[i].metric, metric) == 0)
            return &core->spec[i];
    return NULL;
}

double rl_core_value(const struct rl_core *core, const char *metric)
{
    const struct rl_spec *spec = rl_core_spec(core, metric);
    return spec ? spec->value : 0;
}

/* One identifier: "family:model", hexadecimal or decimal, with ":first-last" steppings if the model
 * is shared by several cores. */
static bool id_fits(const char *id, unsigned family, unsigned model, unsigned stepping)
{
    char *end;
    if (strtoul(id, &end, 0) != family || *end != ':')
        return false;
    if (strtoul(end + 1, &end, 0) != model)
        return false;
    if (*end != ':')
        return true;
    unsigned long first = strtoul(end + 1, &end, 0);
    unsigned long last = *end == '-' ? strtoul(end + 1, &end, 0) : first;
    return stepping >= first && stepping <= last;
}

static bool ids_fit(const char *ids, unsigned family, unsigned model, unsigned stepping)
{
    while (ids) {
        if (id_fits(ids, family, model, stepping))
            return true;
        ids = strchr(ids, ',');
        ids = ids ? ids + 1 : NULL;
    }
    return false;
}

/* Where both kinds of a hybrid processor share family and model, the data file lists the
 * performance core first, so the last match is the efficient one. */
const struct rl_core *rl_catalog_x86(const struct rl_catalog *catalog, const char *vendor,
                                     unsigned family, unsigned model, unsigned stepping,
                                     unsigned core_type)
{
    enum { TYPE_EFFICIENT = 0x20 };
    const char *maker = strcmp(vendor, "GenuineIntel") == 0   ? "intel-"
                        : strcmp(vendor, "AuthenticAMD") == 0 ? "amd-"
                                                              : NULL;
    const struct rl_core *found = NULL;
    for (size_t i = 0; maker && i < catalog->n_core; i++) {
        const struct rl_core *core = &catalog->core[i];
        const struct rl_spec *ids = rl_core_spec(core, "ids");
        if (strncmp(core->name, maker, strlen(maker)) != 0 || !ids ||
            !ids_fit(ids->text, family, model, stepping))
            continue;
        if (!found || core_type == TYPE_EFFICIENT)
            found = core;
    }
    return found;
}

const struct rl_core *rl_catalog_arm(const struct rl_catalog *catalog, unsigned implementer,
                                     unsigned part)
{
    for (size_t i = 0; i < catalog->n_core; i++) {
        const struct rl_core *core = &catalog->core[i];
        const struct rl_spec *ids = rl_core_spec(core, "ids");
        bool is_x86 = strncmp(core->name, "intel-", 6) == 0 || strncmp(core->name, "amd-", 4) == 0;
        if (!is_x86 && ids && ids_fit(ids->text, implementer, part, 0))
            return core;
    }
    return NULL;
}

const struct rl_core *rl_catalog_find(const struct rl_catalog *catalog, const struct rl_cpu *cpu)
{
    return cpu->is_arm ? rl_catalog_arm(catalog, cpu->family, cpu->model)
                       : rl_catalog_x86(catalog, cpu->vendor, cpu->family, cpu->model,
                                        cpu->stepping, cpu->core_type);
}
