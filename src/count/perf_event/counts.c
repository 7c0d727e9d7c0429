#include "count/perf_event/counts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUNS_MAX = 64 };

void rl_pmu_trust_init(struct rl_pmu_trust *trust)
{
    for (size_t k = 0; k < 2; k++) {
        for (size_t m = 0; m < RL_PMU_METRICS; m++)
            trust->verdict[k][m] = (struct rl_pmu_verdict){RL_PMU_UNTESTED, 0};
    }
}

static struct rl_pmu_value known(double value, double spread)
{
    return (struct rl_pmu_value){.value = rl_value(value, RL_SOURCE_MEASURED, spread)};
}

static struct rl_pmu_value unknown(enum rl_pmu_why why, const char *detail)
{
    struct rl_pmu_value value = {.why = why};
    snprintf(value.detail, sizeof value.detail, "%s", detail ? detail : "");
    return value;
}

static bool is_known(const struct rl_pmu_value *v)
{
    return rl_known(v->value);
}

/* The sum of two, or the first reason. */
static struct rl_pmu_value sum(struct rl_pmu_value a, struct rl_pmu_value b)
{
    if (!is_known(&a))
        return a;
    if (!is_known(&b))
        return b;
    a.value = rl_value_add(a.value, b.value);
    return a;
}

/* On a hybrid processor a group runs while the program is on its kind of core; together the groups
 * must cover all of the time. The kernel's clocks of two PMUs may differ a little. */
static enum rl_pmu_why judge_hybrid(const struct rl_pmu_reading *reading,
                                    const struct rl_pmu_group *group)
{
    uint64_t running = 0;
    for (size_t i = 0; i < reading->n_group; i++) {
        if (reading->group[i].cpu < 0)
            running += reading->group[i].running_ns;
    }
    return (double)running < 0.999 * (double)group->enabled_ns ? RL_PMU_SHARED : RL_PMU_FINE;
}

static enum rl_pmu_why judge_group(const struct rl_pmu_readings *r,
                                   const struct rl_pmu_reading *reading,
                                   const struct rl_pmu_group *group)
{
    if (group->why != RL_PMU_FINE)
        return group->why;
    if (!group->enabled_ns)
        return RL_PMU_NEVER_ON;
    if (r->n_core > 1 && group->cpu < 0)
        return judge_hybrid(reading, group);
    if (!group->running_ns)
        return RL_PMU_NEVER_RAN;
    return group->running_ns < group->enabled_ns ? RL_PMU_SHARED : RL_PMU_FINE;
}

static bool counts_anything(const struct rl_pmu_group *group)
{
    for (size_t i = 0; i < group->n_count; i++) {
        if (group->count[i].value)
            return true;
    }
    return false;
}

/** One row of the table over all runs. */
struct row_sum {
    double value[RUNS_MAX]; /* weighted, by run that has it */
    unsigned run[RUNS_MAX];
    size_t n;
    enum rl_pmu_why why; /* if n is 0 */
    char detail[96];
    bool never_ran;  /* the program was never on this kind of core */
    bool is_suspect; /* nothing in the group counted */
};

static double weight_of(const struct rl_pmu_readings *r, const struct rl_pmu_event *row,
                        const struct rl_pmu_count *count)
{
    if (count->bytes > 0)
        return count->bytes;
    return row->per_vector ? row->weight * r->vector_bits / 128.0 : row->weight;
}

/* Add what one group has of a row. @return whether it has it. */
static bool add_group(const struct rl_pmu_readings *r, const struct rl_pmu_reading *reading,
                      const struct rl_pmu_group *group, const struct rl_pmu_event *row,
                      struct row_sum *sums, double *value)
{
    for (size_t i = 0; i < group->n_count; i++) {
        const struct rl_pmu_count *count = &group->count[i];
        if (!rl_pmu_same_event(count->event, row))
            continue;
        enum rl_pmu_why why = judge_group(r, reading, group);
        if (why == RL_PMU_FINE)
            why = count->why;
        if (why != RL_PMU_FINE) {
            sums->why = why;
            if (why == RL_PMU_SHARED)
                snprintf(sums->detail, sizeof sums->detail, "%.1f %% of the time",
                         100.0 * (double)group->running_ns / (double)group->enabled_ns);
            return false;
        }
        sums->never_ran = sums->never_ran && !group->running_ns;
        sums->is_suspect = sums->is_suspect || (group->running_ns && !counts_anything(group));
        *value += (double)count->value * weight_of(r, row, count);
        return true;
    }
    return false;
}

/* A thread event is in one group of a reading; a system-wide one in a group a PMU and CPU, and all
 * of them must be there. */
static void add_row(const struct rl_pmu_readings *r, unsigned core, const struct rl_pmu_event *row,
                    struct row_sum *sums)
{
    *sums = (struct row_sum){.why = RL_PMU_NOT_PLANNED, .never_ran = true};
    for (size_t i = 0; i < r->n_reading && sums->n < RUNS_MAX; i++) {
        const struct rl_pmu_reading *reading = &r->reading[i];
        double value = 0;
        size_t n = 0;
        bool failed = false;
        for (size_t j = 0; j < reading->n_group && !failed; j++) {
            const struct rl_pmu_group *group = &reading->group[j];
            enum rl_pmu_why before = sums->why;
            if (group->core != core || (group->cpu >= 0) != row->is_system)
                continue;
            sums->why = RL_PMU_FINE;
            n += add_group(r, reading, group, row, sums, &value);
            failed = sums->why != RL_PMU_FINE;
            sums->why = failed ? sums->why : before;
        }
        if (!n || failed)
            continue;
        sums->value[sums->n] = value;
        sums->run[sums->n++] = (unsigned)i;
    }
}

static double mean_of(const struct row_sum *sums)
{
    double total = 0;
    for (size_t i = 0; i < sums->n; i++)
        total += sums->value[i];
    return total / (double)sums->n;
}

static bool value_in_run(const struct row_sum *sums, unsigned run, double *value)
{
    for (size_t i = 0; i < sums->n; i++) {
        if (sums->run[i] == run) {
            *value += sums->value[i];
            return true;
        }
    }
    return false;
}

/* Half the range of the sum over the runs that have all rows, relative to its mean. */
static double spread_of(const struct row_sum *sums, size_t n_row, double mean)
{
    double least = INFINITY;
    double most = -INFINITY;
    for (size_t i = 0; i < sums[0].n; i++) {
        double value = 0;
        bool all = true;
        for (size_t j = 0; j < n_row; j++)
            all = value_in_run(&sums[j], sums[0].run[i], &value) && all;
        if (!all)
            continue;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    return mean > 0 && most > least ? (most - least) / 2 / mean : 0;
}

static struct rl_pmu_value doubted(const struct rl_pmu_verdict *verdict)
{
    char detail[96] = "";
    if (verdict->why == RL_PMU_WRONG)
        snprintf(detail, sizeof detail, "it counted %.4g times what was done", verdict->ratio);
    return unknown(verdict->why, detail);
}

enum { ROWS_MAX = 16 };

static struct rl_pmu_value compute_metric(const struct rl_pmu_readings *r, unsigned core,
                                          size_t metric, const struct rl_pmu_verdict *verdict,
                                          const struct rl_pmu_gap *gap)
{
    static const char none[] = "";
    struct row_sum sums[ROWS_MAX];
    size_t n_row = 0;
    double total = 0;
    bool never_ran = true;
    bool is_suspect = false;
    const struct rl_pmu_core *c = r->core[core];
    if (gap && gap->why != RL_PMU_FINE)
        return unknown(gap->why, gap->note);
    if (!rl_pmu_width_exists(&rl_pmu_metric[metric], r->vector_bits))
        return unknown(RL_PMU_NO_ROW, none);
    for (size_t i = 0; i < c->n_event && n_row < ROWS_MAX; i++) {
        const struct rl_pmu_event *row = &c->event[i];
        if (row->metric != metric)
            continue;
        if (row->certainty == RL_PMU_NONE)
            return unknown(RL_PMU_NO_ROW, row->note);
        add_row(r, core, row, &sums[n_row]);
        if (!sums[n_row].n)
            return unknown(sums[n_row].why, sums[n_row].detail);
        never_ran = never_ran && sums[n_row].never_ran;
        is_suspect = is_suspect || sums[n_row].is_suspect;
        total += mean_of(&sums[n_row++]);
    }
    if (!n_row)
        return unknown(RL_PMU_NO_ROW, none);
    bool is_system = rl_pmu_metric[metric].is_system;
    if (never_ran && !is_system)
        return known(0, 0);
    if (is_suspect || total < 0 || (is_system && total == 0))
        return unknown(RL_PMU_ZERO, none);
    if (verdict->why != RL_PMU_FINE)
        return doubted(verdict);
    return known(total, spread_of(sums, n_row, total));
}

/* All metrics of one kind of core whose sum is the FLOP of one precision. */
static struct rl_pmu_value core_flop(const struct rl_pmu_counts *counts, unsigned core,
                                     enum rl_precision precision)
{
    struct rl_pmu_value total = unknown(RL_PMU_NO_ROW, "");
    unsigned covered = 0;
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        const struct rl_pmu_metric *metric = &rl_pmu_metric[m];
        const struct rl_pmu_value *value = &counts->metric[core][m];
        if (metric->kind != RL_PMU_FLOP || metric->precisions != 1u << precision ||
            value->why == RL_PMU_NO_ROW || metric->widths & covered)
            continue;
        total = covered ? sum(total, *value) : *value;
        covered |= metric->widths;
    }
    return total;
}

/* Over the kinds of core: where the program never ran, nothing is missing. */
static struct rl_pmu_value over_cores(const struct rl_pmu_counts *counts,
                                      struct rl_pmu_value (*of)(const struct rl_pmu_counts *counts,
                                                                unsigned core, size_t index),
                                      size_t index)
{
    struct rl_pmu_value total = unknown(RL_PMU_NO_ROW, "");
    bool is_first = true;
    for (unsigned k = 0; k < counts->n_core; k++) {
        struct rl_pmu_value part = of(counts, k, index);
        const struct rl_pmu_value *ran = &counts->metric[k][rl_pmu_metric_find("instructions")];
        if (counts->n_core > 1 && is_known(ran) && ran->value.value == 0)
            continue;
        if (!is_known(&part) && !is_first && is_known(&total))
            part = unknown(RL_PMU_OTHER_CORE, counts->core[k]->name);
        total = is_first ? part : sum(total, part);
        is_first = false;
    }
    return total;
}

static struct rl_pmu_value of_precision(const struct rl_pmu_counts *counts, unsigned core,
                                        size_t index)
{
    return core_flop(counts, core, (enum rl_precision)index);
}

static struct rl_pmu_value of_metric(const struct rl_pmu_counts *counts, unsigned core,
                                     size_t index)
{
    return counts->metric[core][index];
}

static struct rl_pmu_value total_of(const struct rl_pmu_counts *counts, const char *metric)
{
    return over_cores(counts, of_metric, rl_pmu_metric_find(metric));
}

/* A bound is not a value: what is executed more than once, or weighted by guess. */
static struct rl_pmu_value unless_bound(const struct rl_pmu_counts *counts, struct rl_pmu_value v)
{
    for (size_t k = 0; k < counts->n_core && is_known(&v); k++) {
        char detail[96];
        snprintf(detail, sizeof detail, "at most %.6g: replayed instructions count again",
                 v.value.value);
        if (counts->core[k]->flop & RL_PMU_EXECUTED)
            return unknown(RL_PMU_BOUND, detail);
    }
    return v;
}

static void compute_flop(struct rl_pmu_counts *counts)
{
    static const enum rl_precision all[] = {RL_FP64, RL_FP32, RL_FP16, RL_BF16};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        counts->flop_of[all[i]] =
            unless_bound(counts, over_cores(counts, of_precision, (size_t)all[i]));
    struct rl_pmu_value any = unless_bound(counts, total_of(counts, "flop_any"));
    struct rl_pmu_value typed = sum(counts->flop_of[RL_FP64], counts->flop_of[RL_FP32]);
    if (is_known(&any) && is_known(&typed) && any.value.value > 0)
        counts->flop_disagreement = fabs(typed.value.value / any.value.value - 1);
    bool was_any_tried = any.why != RL_PMU_NO_ROW && any.why != RL_PMU_NOT_PLANNED;
    counts->flop = is_known(&typed) || !was_any_tried ? typed : any;
    /* Whether the count of all takes in other precisions differs from core to core. */
    for (size_t i = 2; i < 4 && is_known(&typed); i++) {
        if (is_known(&counts->flop_of[all[i]]))
            counts->flop = sum(counts->flop, counts->flop_of[all[i]]);
    }
}

static struct rl_pmu_level level(const struct rl_pmu_counts *counts, const char *name,
                                 const char *fill, const char *write)
{
    struct rl_pmu_level l = {
        .name = name, .fill = total_of(counts, fill), .write = total_of(counts, write)};
    l.total = sum(l.fill, l.write);
    return l;
}

static void compute_traffic(struct rl_pmu_counts *counts)
{
    counts->level[RL_PMU_LEVEL_L2] = level(counts, "L2", "bytes_l2_fill", "bytes_l2_wb");
    counts->level[RL_PMU_LEVEL_L3] = level(counts, "L3", "bytes_l3_fill", "bytes_l3_wb");
    struct rl_pmu_level *dram = &counts->level[RL_PMU_LEVEL_DRAM];
    *dram = level(counts, "DRAM", "bytes_dram_core_rd", "bytes_dram_core_wb");
    struct rl_pmu_value prefetch = total_of(counts, "bytes_dram_core_rd_l3pf");
    if (is_known(&prefetch) && is_known(&dram->fill))
        dram->fill = sum(dram->fill, prefetch);
    if (is_known(&dram->fill) && dram->write.why == RL_PMU_NO_ROW)
        dram->write = unknown(RL_PMU_NO_ROW, "write-backs to memory belong to no core");
    dram->total = sum(dram->fill, dram->write);
    counts->system_dram = level(counts, "DRAM", "bytes_dram_rd", "bytes_dram_wr");
    struct rl_pmu_value both = total_of(counts, "bytes_dram_rdwr");
    if (!is_known(&counts->system_dram.total) && is_known(&both))
        counts->system_dram.total = both;
}

void rl_pmu_counts_compute(const struct rl_pmu_readings *readings, const struct rl_pmu_trust *trust,
                           const struct rl_pmu_plan *plan, struct rl_pmu_counts *ret)
{
    static const struct rl_pmu_verdict fine = {RL_PMU_FINE, 1};
    *ret = (struct rl_pmu_counts){.n_core = readings->n_core, .n_runs = readings->n_reading};
    for (unsigned k = 0; k < readings->n_core; k++) {
        ret->core[k] = readings->core[k];
        for (size_t m = 0; m < RL_PMU_METRICS; m++) {
            /* Instructions are a check, also of whether a core was used. */
            bool is_check = rl_pmu_metric[m].kind == RL_PMU_CORE;
            ret->metric[k][m] =
                compute_metric(readings, k, m, is_check ? &fine : &trust->verdict[k][m],
                               plan ? &plan->gap[k][m] : NULL);
        }
    }
    ret->instructions = total_of(ret, "instructions");
    compute_flop(ret);
    compute_traffic(ret);
}
