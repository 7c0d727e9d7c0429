#include "cli/machine_table.h"

#include "base/unit.h"
#include "ceilings/ceilings.h"
#include "cli/options.h"
#include "render/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_COUNTS = 8,
    CELL = 32,
    NAME = 24,
    RATE = 16,
    PER_CYCLE = 9,
    LIMIT = 6,
    SPREAD = 6,
    VARIANT = 2 * RL_NOTE_LEN
};

/* The thread counts of a record, in order of appearance. */
struct counts {
    unsigned threads[MOST_COUNTS];
    unsigned n;
};

static void note_count(struct counts *counts, unsigned threads)
{
    for (unsigned i = 0; i < counts->n; i++)
        if (counts->threads[i] == threads)
            return;
    if (counts->n < MOST_COUNTS)
        counts->threads[counts->n++] = threads;
}

static struct counts counts_of(const struct rl_machine *m)
{
    struct counts counts = {0};
    for (size_t i = 0; i < m->n_compute; i++)
        note_count(&counts, m->compute[i].threads);
    for (size_t i = 0; i < m->n_memory; i++)
        note_count(&counts, m->memory[i].threads);
    return counts;
}

/* What a row has room for. */
struct layout {
    struct counts counts;
    bool per_cycle, spread;
    unsigned variant; /**< characters of the variant's name; 0: none */
};

static struct layout layout_for(const struct rl_machine *m, unsigned columns)
{
    const unsigned least_variant = 6;
    struct layout layout = {counts_of(m), true, true, VARIANT};
    unsigned n = layout.counts.n;
    unsigned width = NAME + n * (RATE + PER_CYCLE + LIMIT + SPREAD);
    if (columns == 0)
        return layout;
    layout.variant = 0;
    if (width + 2 + least_variant <= columns)
        layout.variant = columns - width - 2;
    layout.per_cycle = width <= columns;
    width -= layout.per_cycle ? 0 : n * PER_CYCLE;
    layout.spread = width <= columns;
    return layout;
}

/* What a row shows of one ceiling, compute and memory alike. */
struct cell {
    double rate, spread, per_cycle, limit, reachable;
    const char *unit;
    bool contended;
};

static bool is_contended(const struct cell *cell)
{
    return cell->contended;
}

/* In records of programs that did not take such limits back. */
static bool is_above_limit(const struct cell *cell)
{
    return rl_is_above_limit(cell->per_cycle, cell->limit);
}

static bool is_of_reachable(const struct cell *cell)
{
    return cell->limit > 0 && cell->reachable > 0 && cell->per_cycle > 0 && !is_above_limit(cell);
}

static void print_cell(FILE *out, const struct layout *layout, const struct cell *cell)
{
    char rate[CELL];
    char text[CELL + 4];
    if (!cell) {
        fprintf(out, "%*s",
                RATE + LIMIT + (layout->per_cycle ? PER_CYCLE : 0) + (layout->spread ? SPREAD : 0),
                "");
        return;
    }
    rl_format_si(rate, sizeof rate, cell->rate, cell->unit);
    /* "≥" is three bytes and one column */
    snprintf(text, sizeof text, "%s%s", cell->contended ? "≥ " : "", rate);
    fprintf(out, "  %*s", cell->contended ? 16 : 14, text);
    if (layout->per_cycle && cell->per_cycle > 0)
        fprintf(out, " %8.4g", cell->per_cycle);
    else if (layout->per_cycle)
        fprintf(out, " %8s", "");
    if (is_above_limit(cell))
        fprintf(out, " %5s", "no");
    else if (is_of_reachable(cell))
        fprintf(out, "%4.0f%%*", 100 * cell->per_cycle / cell->reachable);
    else if (cell->limit > 0 && cell->per_cycle > 0)
        fprintf(out, " %4.0f%%", 100 * cell->per_cycle / cell->limit);
    else
        fprintf(out, " %5s", "");
    if (layout->spread)
        fprintf(out, " %4.1f%%", 100 * cell->spread);
}

static void print_head(FILE *out, const char *title, const struct layout *layout)
{
    fprintf(out, "\n%-24s", title);
    for (unsigned i = 0; i < layout->counts.n; i++) {
        char threads[CELL];
        snprintf(threads, sizeof threads, "%u %s", layout->counts.threads[i],
                 layout->counts.threads[i] == 1 ? "thread" : "threads");
        fprintf(out, "  %14s%s limit%s", threads, layout->per_cycle ? "   /cycle" : "",
                layout->spread ? "    ±" : "");
    }
    fputc('\n', out);
}

static void print_variant(FILE *out, const struct layout *layout, const char *variant)
{
    bool is_cut = strlen(variant) > layout->variant;
    if (layout->variant && is_cut)
        fprintf(out, "  %.*s…", (int)layout->variant - 1, variant);
    else if (layout->variant)
        fprintf(out, "  %s", variant);
    fputc('\n', out);
}

static struct cell compute_cell(const struct rl_compute_ceiling *c)
{
    return (struct cell){.rate = c->rate.value,
                         .spread = c->rate.spread,
                         .per_cycle = c->per_cycle,
                         .limit = c->limit_per_cycle,
                         .reachable = c->reachable_per_cycle,
                         .unit = c->unit,
                         .contended = c->contended};
}

static struct cell memory_cell(const struct rl_memory_ceiling *m)
{
    return (struct cell){.rate = m->rate.value,
                         .spread = m->rate.spread,
                         .per_cycle = m->per_cycle,
                         .limit = m->limit_per_cycle,
                         .reachable = m->reachable_per_cycle,
                         .unit = "B/s",
                         .contended = m->contended};
}

/* An id is "<what>@<threads>"; rows are the different whats. */
static size_t what_length(const char *id)
{
    const char *at = strrchr(id, '@');
    return at ? (size_t)(at - id) : strlen(id);
}

static bool same_what(const char *a, const char *b)
{
    size_t n = what_length(a);
    return n == what_length(b) && strncmp(a, b, n) == 0;
}

/* No other instruction set does this operation faster with as many threads. */
static bool is_fastest(const struct rl_machine *m, const struct rl_compute_ceiling *c)
{
    for (size_t i = 0; i < m->n_compute; i++) {
        const struct rl_compute_ceiling *other = &m->compute[i];
        if (other != c && other->precision == c->precision && other->threads == c->threads &&
            strcmp(other->op, c->op) == 0 && other->rate.value > c->rate.value)
            return false;
    }
    return true;
}

/* Returns how many rows were left out because another instruction set is faster. */
static unsigned print_compute(FILE *out, const struct rl_machine *m, const struct layout *layout,
                              bool all)
{
    unsigned left_out = 0;
    for (size_t i = 0; i < m->n_compute; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = same_what(m->compute[i].id, m->compute[j].id);
        if (seen)
            continue;
        if (!all && !is_fastest(m, &m->compute[i])) {
            left_out++;
            continue;
        }
        fprintf(out, "%-24.*s", (int)what_length(m->compute[i].id), m->compute[i].id);
        for (unsigned k = 0; k < layout->counts.n; k++) {
            const struct rl_compute_ceiling *found = NULL;
            for (size_t j = i; j < m->n_compute && !found; j++)
                if (m->compute[j].threads == layout->counts.threads[k] &&
                    same_what(m->compute[i].id, m->compute[j].id))
                    found = &m->compute[j];
            struct cell cell = found ? compute_cell(found) : (struct cell){0};
            print_cell(out, layout, found ? &cell : NULL);
        }
        char variant[VARIANT];
        snprintf(variant, sizeof variant, "%s%s%s", m->compute[i].variant,
                 m->compute[i].accuracy[0] ? ", " : "", m->compute[i].accuracy);
        print_variant(out, layout, variant);
    }
    return left_out;
}

static void print_memory(FILE *out, const struct rl_machine *m, const struct layout *layout)
{
    for (size_t i = 0; i < m->n_memory; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = same_what(m->memory[i].id, m->memory[j].id);
        if (seen)
            continue;
        fprintf(out, "%-24.*s", (int)what_length(m->memory[i].id), m->memory[i].id);
        for (unsigned k = 0; k < layout->counts.n; k++) {
            const struct rl_memory_ceiling *found = NULL;
            for (size_t j = i; j < m->n_memory && !found; j++)
                if (m->memory[j].threads == layout->counts.threads[k] &&
                    same_what(m->memory[i].id, m->memory[j].id))
                    found = &m->memory[j];
            struct cell cell = found ? memory_cell(found) : (struct cell){0};
            print_cell(out, layout, found ? &cell : NULL);
        }
        print_variant(out, layout, m->memory[i].variant);
    }
}

static void print_latency(FILE *out, const struct rl_machine *m)
{
    if (m->n_latency)
        fprintf(out, "\n%-24s  %14s %8s\n", "latency of a load", "time", "cycles");
    for (size_t i = 0; i < m->n_latency; i++) {
        char time[CELL];
        rl_format_time(time, sizeof time, m->latency[i].time_s.value);
        fprintf(out, "%-24s  %14s", m->latency[i].level, time);
        if (m->latency[i].cycles > 0)
            fprintf(out, " %8.3g", m->latency[i].cycles);
        fputc('\n', out);
    }
}

static void print_levels(FILE *out, const struct rl_machine *m)
{
    fputs("memory   ", out);
    for (size_t i = 0; i < m->topology.n_levels; i++) {
        const struct rl_level *level = &m->topology.levels[i];
        char size[CELL];
        char reported[CELL];
        rl_format_size(size, sizeof size, level->size_bytes);
        fprintf(out, "%s%s %s", i ? " · " : "", level->name, size);
        if (level->source == RL_SOURCE_MEASURED && level->reported_size_bytes)
            fprintf(out, " (reported %s)",
                    rl_format_size(reported, sizeof reported, level->reported_size_bytes));
    }
    fputc('\n', out);
}

static bool has_text(const char *text)
{
    return text && *text;
}

static void print_about(FILE *out, const struct rl_machine *m)
{
    const struct rl_environment *env = &m->environment;
    fprintf(out, "machine  %s", has_text(m->name) ? m->name : "?");
    if (has_text(m->cpu.microarchitecture))
        fprintf(out, " (%s)", m->cpu.microarchitecture);
    fputc('\n', out);
    print_levels(out, m);
    if (has_text(m->cpu.identity_note))
        fprintf(out, "identity %s\n", m->cpu.identity_note);
    if (has_text(m->cpu.isa))
        fprintf(out, "isa      %s\n", m->cpu.isa);
    fputs("system   ", out);
    fprintf(out, "%s%s%s", env->os ? env->os : "", env->os && env->kernel ? ", " : "",
            env->kernel ? env->kernel : "");
    if (env->hypervisor)
        fprintf(out, ", under %s", env->hypervisor);
    if (env->cpu_quota > 0)
        fprintf(out, ", quota %.3g CPUs", env->cpu_quota);
    fputc('\n', out);
    if (env->clock_max_hz > 0)
        fprintf(out, "clock    %.2f to %.2f GHz\n", env->clock_min_hz / 1e9,
                env->clock_max_hz / 1e9);
    if (env->contention)
        fprintf(out, "probe    %s\n", env->contention);
    if (env->date)
        fprintf(out, "measured %s in %.1f s (%s)\n", env->date, env->elapsed_s,
                env->mode ? env->mode : "");
}

static bool any(const struct rl_machine *m, bool (*is)(const struct cell *cell))
{
    bool found = false;
    for (size_t i = 0; i < m->n_compute; i++) {
        struct cell cell = compute_cell(&m->compute[i]);
        found |= is(&cell);
    }
    for (size_t i = 0; i < m->n_memory; i++) {
        struct cell cell = memory_cell(&m->memory[i]);
        found |= is(&cell);
    }
    return found;
}

/* A ceiling's id and a library's name have no blanks; other names are of what holds for them all.
 */
static bool is_condition(const struct rl_missing_list *missing, size_t i)
{
    return strchr(missing->item[i].what, ' ') != NULL;
}

static void print_missing(FILE *out, const struct rl_machine *m, const char *title, bool conditions)
{
    bool any = false;
    for (size_t i = 0; i < m->missing.n; i++) {
        if (is_condition(&m->missing, i) != conditions)
            continue;
        if (!any)
            fprintf(out, "\n%s\n", title);
        fprintf(out, "  %-28s %s\n", m->missing.item[i].what, m->missing.item[i].why);
        any = true;
    }
}

static void print_all(FILE *out, const struct rl_machine *m, bool all, unsigned columns)
{
    struct layout layout = layout_for(m, columns);
    unsigned left_out = 0;
    print_about(out, m);
    if (m->n_compute) {
        print_head(out, "compute", &layout);
        left_out = print_compute(out, m, &layout, all);
    }
    if (m->n_memory) {
        print_head(out, "memory", &layout);
        print_memory(out, m, &layout);
    }
    print_latency(out, m);
    if (!layout.per_cycle)
        fputs("\na wider terminal, or a pipe, also shows figures per cycle and the variant that "
              "won\n",
              out);
    if (any(m, is_contended))
        fputs("\n≥: too few undisturbed samples agree, so the ceiling is at least this\n", out);
    if (any(m, is_of_reachable))
        fputs("\n*: of what such cores are known to reach, where that is below their limit\n", out);
    if (any(m, is_above_limit))
        fputs("\nno: faster than the limit in the record, which therefore is not this core's; "
              "measure again\n",
              out);
    unsigned unavailable = 0;
    for (size_t i = 0; i < m->missing.n; i++)
        unavailable += !is_condition(&m->missing, i);
    print_missing(out, m, "keep in mind", true);
    if (!all && (left_out || unavailable))
        fprintf(out,
                "\n%u ceilings of slower instruction sets and %u not available here "
                "are left out;\n'roofline measure --all' and 'roofline machines ID' show them\n",
                left_out, unavailable);
    if (all)
        print_missing(out, m, "not available here", false);
}

/* A record may come from elsewhere: what it names must not steer the terminal. */
static void print_clean(FILE *out, char *text, size_t size)
{
    enum { GROWTH = 3 }; /* a byte becomes a replacement mark */
    char *clean = malloc(GROWTH * size + 1);
    for (char *line = text, *end; clean && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        rl_text_clean(clean, GROWTH * size + 1, line, true);
        fprintf(out, "%s\n", clean);
    }
    if (!clean)
        rl_warn("out of memory for the table of the machine");
    free(clean);
}

static void print_machine(FILE *out, const struct rl_machine *m, bool head_only, bool all,
                          unsigned columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *buffer = open_memstream(&text, &size);
    if (buffer && head_only)
        print_about(buffer, m);
    else if (buffer)
        print_all(buffer, m, all, columns);
    if (!buffer || fclose(buffer) != 0)
        rl_warn("out of memory for the table of the machine");
    else
        print_clean(out, text, size);
    free(text);
}

void rl_machine_table_head(FILE *out, const struct rl_machine *machine)
{
    print_machine(out, machine, true, false, 0);
}

void rl_machine_table_print(FILE *out, const struct rl_machine *machine, bool all, unsigned columns)
{
    print_machine(out, machine, false, all, columns);
}
