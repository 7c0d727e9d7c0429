#include "count/perf_event/selftest.h"

#include "base/error.h"
#include "timing/clock.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5, CPUS_MAX = 1024 };

/* How far a count may be off. */
#define FLOP_TOLERANCE        0.002
#define BYTES_TOLERANCE       0.05
#define INSTRUCTION_TOLERANCE 0.01
#define SLOWEST_HZ            0.2e9
#define FASTEST_HZ            7e9

static double expects_flop(const struct rl_pmu_trial *trial, const struct rl_pmu_metric *metric)
{
    bool is_sum = metric->precisions & (metric->precisions - 1);
    if (!trial->flop)
        return 0;
    /* What else a count of all FLOP takes in differs from core to core. */
    if (is_sum && !(metric->precisions >> trial->precision & 1))
        return NAN;
    if (!(metric->precisions >> trial->precision & 1) || !(metric->widths & trial->widths))
        return 0;
    return trial->widths & ~metric->widths ? NAN : trial->flop;
}

static double expects_bytes(const struct rl_pmu_trial *trial, const struct rl_pmu_metric *metric)
{
    static const char *const names[] = {"L1", "L2", "L3", "DRAM"};
    unsigned level = 0;
    while (level < 3 && strcmp(names[level], metric->level) != 0)
        level++;
    if (!trial->is_memory || !level || metric->is_lower_bound)
        return NAN;
    /* Others use the memory too, so that the system's counters cannot be held to 0. */
    if (level > trial->depth)
        return metric->is_system ? NAN : 0;
    return metric->way == RL_PMU_FILL    ? trial->fill
           : metric->way == RL_PMU_WRITE ? trial->write
                                         : trial->fill + trial->write;
}

double rl_pmu_trial_expects(const struct rl_pmu_trial *trial, const struct rl_pmu_metric *metric)
{
    if (metric->kind == RL_PMU_FLOP)
        return expects_flop(trial, metric);
    if (metric->kind == RL_PMU_BYTES)
        return expects_bytes(trial, metric);
    return NAN;
}

/** A self-test in progress, on one kind of core and one pass. */
struct test {
    const struct rl_pmu_calls *calls;
    const struct rl_pmu_host *host;
    const struct rl_pmu_plan *plan;
    struct rl_pmu_trust *trust;
    struct rl_pmu_counter *counter;
    unsigned core;
    bool shown[RL_PMU_METRICS];  /* a trial has shown that the metric counts */
    double base[RL_PMU_METRICS]; /* what an empty trial counts */
};

static void subtract(struct rl_pmu_reading *after, const struct rl_pmu_reading *before)
{
    for (size_t i = 0; i < after->n_group; i++) {
        struct rl_pmu_group *group = &after->group[i];
        group->enabled_ns -= before->group[i].enabled_ns;
        group->running_ns -= before->group[i].running_ns;
        for (size_t j = 0; j < group->n_count; j++)
            group->count[j].value -= before->group[i].count[j].value;
    }
}

static void interpret(const struct test *t, struct rl_pmu_reading *reading,
                      double value[RL_PMU_METRICS])
{
    struct rl_pmu_trust trust;
    struct rl_pmu_counts counts;
    struct rl_pmu_readings readings = {.core = {t->plan->core[t->core]},
                                       .n_core = 1,
                                       .vector_bits = t->host->vector_bits,
                                       .reading = reading,
                                       .n_reading = 1};
    for (size_t i = 0; i < reading->n_group; i++)
        reading->group[i].core = 0;
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        trust.verdict[0][m] = (struct rl_pmu_verdict){RL_PMU_FINE, 1};
    rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        value[m] = rl_known(counts.metric[0][m].value) ? counts.metric[0][m].value.value : NAN;
}

/* One run of one trial. */
static enum rl_status count_once(const struct test *t, const struct rl_pmu_trial *trial,
                                 double value[RL_PMU_METRICS], double *ret_s, struct rl_error *err)
{
    struct rl_pmu_reading before;
    struct rl_pmu_reading after;
    RL_TRY(rl_pmu_counter_read(t->counter, &before, err));
    double start_s = rl_now_s();
    if (trial->run)
        trial->run(trial);
    *ret_s = rl_now_s() - start_s;
    enum rl_status status = rl_pmu_counter_read(t->counter, &after, err);
    if (status == RL_OK) {
        subtract(&after, &before);
        interpret(t, &after, value);
        rl_pmu_reading_release(&after);
    }
    rl_pmu_reading_release(&before);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* NAN if one of the runs could not be counted. */
static double median(double value[REPEATS])
{
    for (size_t i = 0; i < REPEATS; i++) {
        if (isnan(value[i]))
            return NAN;
    }
    qsort(value, REPEATS, sizeof *value, by_value);
    return value[REPEATS / 2];
}

static enum rl_status count_trial(const struct test *t, const struct rl_pmu_trial *trial,
                                  double ret_value[RL_PMU_METRICS], double *ret_s,
                                  struct rl_error *err)
{
    double value[REPEATS][RL_PMU_METRICS];
    double time_s[REPEATS];
    if (trial->run)
        trial->run(trial); /* bring the caches into the state of all later runs */
    for (size_t i = 0; i < REPEATS; i++)
        RL_TRY(count_once(t, trial, value[i], &time_s[i], err));
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        double one[REPEATS];
        for (size_t i = 0; i < REPEATS; i++)
            one[i] = value[i][m];
        ret_value[m] = median(one);
    }
    *ret_s = median(time_s);
    return RL_OK;
}

static void condemn(struct test *t, size_t m, double ratio)
{
    struct rl_pmu_verdict *verdict = &t->trust->verdict[t->core][m];
    if (verdict->why != RL_PMU_WRONG || fabs(ratio - 1) > fabs(verdict->ratio - 1))
        *verdict = (struct rl_pmu_verdict){RL_PMU_WRONG, ratio};
}

static void approve(struct test *t, size_t m, double ratio)
{
    struct rl_pmu_verdict *verdict = &t->trust->verdict[t->core][m];
    t->shown[m] = true;
    if (verdict->why == RL_PMU_UNTESTED ||
        (verdict->why == RL_PMU_FINE && fabs(ratio - 1) > fabs(verdict->ratio - 1)))
        *verdict = (struct rl_pmu_verdict){RL_PMU_FINE, ratio};
}

/* A victim cache takes and gives more lines than are asked for: its ratio is kept, not judged from
 * above. So is that of counters that see everybody. */
static bool may_exceed(const struct test *t, const struct rl_pmu_metric *metric)
{
    bool is_l3 = metric->kind == RL_PMU_BYTES && strcmp(metric->level, "L3") == 0;
    return metric->is_system || (is_l3 && t->plan->core[t->core]->has_victim_l3);
}

static void judge(struct test *t, const struct rl_pmu_trial *trial, size_t m, double value)
{
    const struct rl_pmu_metric *metric = &rl_pmu_metric[m];
    double tolerance = metric->kind == RL_PMU_FLOP ? FLOP_TOLERANCE : BYTES_TOLERANCE;
    double expected = rl_pmu_trial_expects(trial, metric);
    if (isnan(expected) || isnan(value) || trial->scale <= 0)
        return;
    value -= isnan(t->base[m]) ? 0 : t->base[m];
    if (expected == 0) {
        if (value > tolerance * trial->scale && !may_exceed(t, metric))
            condemn(t, m, 1 + value / trial->scale);
        return;
    }
    double ratio = value / expected;
    if (ratio < 1 - tolerance || (ratio > 1 + tolerance && !may_exceed(t, metric)))
        condemn(t, m, ratio);
    else
        approve(t, m, ratio);
}

/* Counters that count nonsense, as some virtual machines have them, are caught here. */
static bool is_plausible(const struct test *t, const struct rl_pmu_trial *trial,
                         const double *value, double time_s, double *ret_ratio)
{
    size_t instructions = rl_pmu_metric_find("instructions");
    size_t cycles = rl_pmu_metric_find("cycles");
    if (trial->instructions > 0 && !isnan(value[instructions])) {
        double base = isnan(t->base[instructions]) ? 0 : t->base[instructions];
        *ret_ratio = (value[instructions] - base) / trial->instructions;
        if (fabs(*ret_ratio - 1) > INSTRUCTION_TOLERANCE)
            return false;
    }
    if (trial->instructions > 0 && !isnan(value[cycles]) && time_s > 0) {
        *ret_ratio = value[cycles] / time_s / FASTEST_HZ;
        return *ret_ratio < 1 && value[cycles] / time_s > SLOWEST_HZ;
    }
    return true;
}

static enum rl_status test_pass(struct test *t, const struct rl_pmu_trial *trial, size_t n_trial,
                                bool *ret_plausible, double *ret_ratio, struct rl_error *err)
{
    static const struct rl_pmu_trial empty = {.name = "nothing"};
    double value[RL_PMU_METRICS];
    double time_s;
    RL_TRY(count_trial(t, &empty, t->base, &time_s, err));
    for (size_t i = 0; i < n_trial && *ret_plausible; i++) {
        RL_TRY(count_trial(t, &trial[i], value, &time_s, err));
        *ret_plausible = is_plausible(t, &trial[i], value, time_s, ret_ratio);
        for (size_t m = 0; m < RL_PMU_METRICS; m++)
            judge(t, &trial[i], m, value[m]);
    }
    return RL_OK;
}

/* The slots of one kind of core, and for the first kind those that count everybody. */
static size_t choose_slots(const struct rl_pmu_pass *pass, unsigned core, struct rl_pmu_slot *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < pass->n_slot; i++) {
        if (pass->slot[i].core == core)
            ret[n++] = pass->slot[i];
    }
    return n;
}

static enum rl_status test_core(struct test *t, const struct rl_pmu_trial *trial, size_t n_trial,
                                struct rl_error *err)
{
    bool plausible = true;
    double ratio = 0;
    struct rl_pmu_target target = {.pid = 0};
    for (size_t i = 0; i < t->plan->n_pass && plausible; i++) {
        const struct rl_pmu_pass *pass = &t->plan->pass[i];
        struct rl_pmu_slot *slot = calloc(pass->n_slot, sizeof *slot);
        if (!slot)
            return rl_fail(err, RL_ENOMEM, "no memory for the self-test of counters");
        size_t n = choose_slots(pass, t->core, slot);
        enum rl_status status =
            rl_pmu_counter_open(t->calls, t->host, slot, n, &target, &t->counter, err);
        if (status == RL_OK) {
            status = test_pass(t, trial, n_trial, &plausible, &ratio, err);
            rl_pmu_counter_close(t->counter);
        }
        free(slot);
        RL_TRY(status);
    }
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        if (!plausible)
            t->trust->verdict[t->core][m] = (struct rl_pmu_verdict){RL_PMU_WRONG, ratio};
        else if (!t->shown[m] && t->trust->verdict[t->core][m].why == RL_PMU_FINE)
            t->trust->verdict[t->core][m] = (struct rl_pmu_verdict){RL_PMU_UNTESTED, 0};
    }
    return RL_OK;
}

/* Stay on one CPU of the kind; anywhere where the kinds are not told apart. */
static bool pin(const struct rl_pmu_host *host, const struct rl_pmu_device *device, bool is_hybrid)
{
    cpu_set_t set;
    int cpu[CPUS_MAX];
    if (host->root[0])
        return true;
    int target = sched_getcpu();
    if (is_hybrid) {
        cpu_set_t allowed;
        size_t n = rl_pmu_cpu_list(device->cpus, cpu, CPUS_MAX);
        target = -1;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
            return false;
        for (size_t i = 0; i < n && target < 0; i++)
            target = cpu[i] < CPU_SETSIZE && CPU_ISSET(cpu[i], &allowed) ? cpu[i] : -1;
    }
    if (target < 0 || target >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET(target, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

enum rl_status rl_pmu_self_test_run(const struct rl_pmu_calls *calls,
                                    const struct rl_pmu_host *host, const struct rl_pmu_plan *plan,
                                    const struct rl_pmu_trial *trial, size_t n_trial,
                                    struct rl_pmu_trust *ret_trust, struct rl_error *err)
{
    struct rl_pmu_trust trust;
    cpu_set_t old;
    enum rl_status status = RL_OK;
    bool has_old = sched_getaffinity(0, sizeof old, &old) == 0;
    rl_pmu_trust_init(&trust);
    for (unsigned k = 0; k < plan->n_core && status == RL_OK; k++) {
        struct test t = {.calls = calls, .host = host, .plan = plan, .trust = &trust, .core = k};
        /* A kind of core that may not be used needs no test, and gets no trust. */
        if (pin(host, &plan->device[k], plan->n_core > 1))
            status = test_core(&t, trial, n_trial, err);
        if (has_old)
            sched_setaffinity(0, sizeof old, &old);
    }
    if (status == RL_OK)
        *ret_trust = trust;
    return status;
}
