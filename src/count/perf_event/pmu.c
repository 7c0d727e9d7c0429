#include "count/perf_event/pmu.h"

#include "base/array.h"
#include "base/error.h"
#include "count/perf_event/tsv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "roofline-counter-self-test"

struct rl_pmu {
    const struct rl_pmu_calls *calls;
    const struct rl_cpu *cpu;
    struct rl_pmu_table table;
    struct rl_pmu_host host;
    struct rl_pmu_plan plan;
    struct rl_pmu_trust trust;
    bool is_tested;
    struct rl_pmu_counter *counter; /* the run in progress */
    unsigned pass;
    struct rl_pmu_readings readings;
    struct rl_pmu_regions regions[REGION_SCOPES]; /* by enum region_scope */
};

struct rl_pmu_options rl_pmu_options_default(const struct rl_cpu *cpu)
{
    return (struct rl_pmu_options){.cpu = cpu, .plan = rl_pmu_plan_options_default()};
}

enum rl_status rl_pmu_new(const struct rl_pmu_options *options, struct rl_pmu **ret,
                          struct rl_error *err)
{
    struct rl_pmu *pmu = calloc(1, sizeof *pmu);
    if (!pmu)
        return rl_fail(err, RL_ENOMEM, "no memory for hardware counters");
    pmu->calls = options->calls ? options->calls : &rl_pmu_system_calls;
    pmu->cpu = options->cpu;
    rl_pmu_trust_init(&pmu->trust);
    rl_pmu_host_detect(options->root, options->cpu, &pmu->host);
    enum rl_status status = rl_pmu_table_load(&pmu->table, err);
    if (status == RL_OK)
        status = rl_pmu_plan_make(&pmu->table, &pmu->host, &options->plan, &pmu->plan, err);
    if (status != RL_OK) {
        rl_pmu_free(pmu);
        return status;
    }
    for (size_t k = 0; k < pmu->plan.n_core; k++)
        pmu->readings.core[k] = pmu->plan.core[k];
    pmu->readings.n_core = pmu->plan.n_core;
    pmu->readings.vector_bits = pmu->host.vector_bits;
    *ret = pmu;
    return RL_OK;
}

void rl_pmu_free(struct rl_pmu *pmu)
{
    if (!pmu)
        return;
    rl_pmu_counter_close(pmu->counter);
    rl_pmu_readings_release(&pmu->readings);
    for (size_t i = 0; i < REGION_SCOPES; i++)
        rl_pmu_regions_release(&pmu->regions[i]);
    rl_pmu_plan_release(&pmu->plan);
    rl_pmu_table_release(&pmu->table);
    free(pmu);
}

/* Why the first run cannot be counted at all; RL_PMU_FINE if some event can be opened. */
static enum rl_status try_open(struct rl_pmu *pmu, enum rl_pmu_why *ret_why, struct rl_error *err)
{
    struct rl_pmu_counter *counter;
    struct rl_pmu_reading reading;
    struct rl_pmu_target target = {.pid = 0};
    const struct rl_pmu_pass *pass = &pmu->plan.pass[0];
    enum rl_pmu_why why = RL_PMU_NO_PMU;
    RL_TRY(rl_pmu_counter_open(pmu->calls, &pmu->host, pass->slot, pass->n_slot, &target, &counter,
                               err));
    enum rl_status status = rl_pmu_counter_read(counter, &reading, err);
    rl_pmu_counter_close(counter);
    RL_TRY(status);
    for (size_t i = reading.n_group; i-- > 0;) {
        if (reading.group[i].cpu < 0 && why != RL_PMU_FINE)
            why = reading.group[i].why;
    }
    rl_pmu_reading_release(&reading);
    *ret_why = why;
    return RL_OK;
}

/* Why nothing can be counted, from the plan or from trying. */
static enum rl_status find_why(struct rl_pmu *pmu, enum rl_pmu_why *ret, struct rl_error *err)
{
    *ret = pmu->plan.why;
    if (*ret == RL_PMU_FINE)
        return try_open(pmu, ret, err);
    if (*ret == RL_PMU_NO_PMU && !pmu->host.has_paranoid)
        *ret = RL_PMU_NO_CALL;
    return RL_OK;
}

static void explain(const struct rl_pmu *pmu, enum rl_pmu_why why, char *text, size_t size)
{
    char detail[96] = "";
    if ((why == RL_PMU_UNKNOWN_CORE || why == RL_PMU_CONTRADICTED) && pmu->host.maker[0])
        snprintf(detail, sizeof detail, "%s family %#x model %#x", pmu->host.maker,
                 pmu->host.family, pmu->host.model);
    else if (why == RL_PMU_NO_PMU && pmu->host.is_virtual)
        snprintf(detail, sizeof detail, "this is a virtual machine without them");
    rl_pmu_why_text(why, &pmu->host, detail, text, size);
}

enum rl_status rl_pmu_probe(struct rl_pmu *pmu, struct rl_error *err)
{
    enum rl_pmu_why why;
    char text[256];
    RL_TRY(find_why(pmu, &why, err));
    if (why == RL_PMU_FINE)
        return RL_OK;
    const char *enable = rl_pmu_why_enable(why);
    explain(pmu, why, text, sizeof text);
    return rl_fail(err, RL_EUNAVAIL, "%s%s%s", text, enable[0] ? "; to enable: " : "", enable);
}

enum rl_status rl_pmu_self_test(struct rl_pmu *pmu, const struct rl_pmu_sizes *sizes,
                                struct rl_error *err)
{
    struct rl_pmu_trials trials;
    RL_TRY(rl_pmu_trials_make(pmu->cpu, sizes, &trials, err));
    enum rl_status status = rl_pmu_self_test_run(pmu->calls, &pmu->host, &pmu->plan, trials.trial,
                                                 trials.n_trial, &pmu->trust, err);
    rl_pmu_trials_release(&trials);
    pmu->is_tested = pmu->is_tested || status == RL_OK;
    return status;
}

bool rl_pmu_is_tested(const struct rl_pmu *pmu)
{
    return pmu->is_tested;
}

enum rl_status rl_pmu_check(const struct rl_pmu *pmu, enum rl_pmu_kind kind, struct rl_error *err)
{
    const char *what = kind == RL_PMU_FLOP ? "FLOP" : "traffic";
    const struct rl_pmu_verdict *wrong = NULL;
    for (size_t k = 0; k < pmu->plan.n_core; k++) {
        for (size_t m = 0; m < RL_PMU_METRICS; m++) {
            const struct rl_pmu_verdict *v = &pmu->trust.verdict[k][m];
            if (rl_pmu_metric[m].kind != kind || pmu->plan.gap[k][m].why != RL_PMU_FINE)
                continue;
            if (v->why == RL_PMU_FINE)
                return RL_OK;
            wrong = v->why == RL_PMU_WRONG ? v : wrong;
        }
    }
    if (wrong)
        return rl_fail(err, RL_EUNAVAIL,
                       "hardware counters failed their self-test: %s came out %.4g times what was "
                       "done",
                       what, wrong->ratio);
    return rl_fail(err, RL_EUNAVAIL, "no self-test has shown that hardware counters count %s right",
                   what);
}

unsigned rl_pmu_passes(const struct rl_pmu *pmu)
{
    return (unsigned)pmu->plan.n_pass;
}

static const struct {
    enum rl_pmu_kind kind;
    const char *prefix; /* of the metric's name */
    const char *title;
} titles[] = {
    {RL_PMU_FLOP, "flop_any", "FLOP"},        {RL_PMU_FLOP, "flop_fp64", "fp64"},
    {RL_PMU_FLOP, "flop_fp32", "fp32"},       {RL_PMU_FLOP, "flop_fp16", "fp16"},
    {RL_PMU_FLOP, "flop_bf16", "bf16"},       {RL_PMU_BYTES, "bytes_l2", "L2 traffic"},
    {RL_PMU_BYTES, "bytes_l3", "L3 traffic"}, {RL_PMU_BYTES, "bytes_dram", "memory traffic"},
};

const char *rl_pmu_pass_title(const struct rl_pmu *pmu, unsigned pass, char *buffer, size_t size)
{
    size_t used = 0;
    if (!size)
        return "";
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof titles / sizeof *titles && pass < pmu->plan.n_pass; i++) {
        const struct rl_pmu_pass *p = &pmu->plan.pass[pass];
        bool found = false;
        for (size_t j = 0; j < p->n_slot; j++)
            found = found || strncmp(rl_pmu_metric[p->slot[j].event->metric].name, titles[i].prefix,
                                     strlen(titles[i].prefix)) == 0;
        if (!found || used >= size)
            continue;
        int n = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", titles[i].title);
        used += n > 0 ? (size_t)n : 0;
    }
    return buffer;
}

enum rl_status rl_pmu_start(struct rl_pmu *pmu, unsigned pass, pid_t pid, struct rl_error *err)
{
    struct rl_pmu_target target = {.pid = pid, .on_exec = true};
    if (pmu->counter || pass >= pmu->plan.n_pass || pid <= 0)
        return rl_fail(err, RL_EINVAL, "counter run %u cannot be started now", pass);
    pmu->pass = pass;
    return rl_pmu_counter_open(pmu->calls, &pmu->host, pmu->plan.pass[pass].slot,
                               pmu->plan.pass[pass].n_slot, &target, &pmu->counter, err);
}

enum rl_status rl_pmu_stop(struct rl_pmu *pmu, struct rl_error *err)
{
    struct rl_pmu_reading reading;
    if (!pmu->counter)
        return rl_fail(err, RL_EINVAL, "no counter run was started");
    enum rl_status status = rl_pmu_counter_read(pmu->counter, &reading, err);
    rl_pmu_counter_close(pmu->counter);
    pmu->counter = NULL;
    RL_TRY(status);
    struct rl_pmu_reading *slot =
        rl_array_append(&pmu->readings.reading, &pmu->readings.n_reading, sizeof *slot);
    if (!slot) {
        rl_pmu_reading_release(&reading);
        return rl_fail(err, RL_ENOMEM, "no memory for counter readings");
    }
    *slot = reading;
    slot->pass = pmu->pass;
    return RL_OK;
}

void rl_pmu_counts(const struct rl_pmu *pmu, struct rl_pmu_counts *ret)
{
    rl_pmu_counts_compute(&pmu->readings, &pmu->trust, &pmu->plan, ret);
}

const struct rl_pmu_readings *rl_pmu_readings(const struct rl_pmu *pmu)
{
    return &pmu->readings;
}

enum rl_status rl_pmu_region_plan(const struct rl_pmu *pmu, unsigned pass, enum region_scope scope,
                                  struct region_plan *ret, struct rl_error *err)
{
    if (pass >= pmu->plan.n_pass)
        return rl_fail(err, RL_EINVAL, "there is no counter run %u", pass);
    return rl_pmu_regions_encode(&pmu->plan.pass[pass], scope, ret, err);
}

enum rl_status rl_pmu_region_add(struct rl_pmu *pmu, const struct rl_pmu_region_file *file,
                                 struct rl_error *err)
{
    if (file->pass >= pmu->plan.n_pass)
        return rl_fail(err, RL_EINVAL, "there is no counter run %u", file->pass);
    return rl_pmu_regions_add(file, &pmu->plan, &pmu->host, &pmu->regions[file->scope], err);
}

const struct rl_pmu_regions *rl_pmu_regions_counted(struct rl_pmu *pmu, enum region_scope scope)
{
    rl_pmu_regions_judge(&pmu->regions[scope]);
    return &pmu->regions[scope];
}

void rl_pmu_region_counts(const struct rl_pmu *pmu, const struct rl_pmu_region *region,
                          struct rl_pmu_counts *ret)
{
    rl_pmu_counts_compute(&region->readings, &pmu->trust, &pmu->plan, ret);
}

/* What a self-test holds for; less can be tested where memory controllers are refused. */
static void key_of(const struct rl_pmu *pmu, char *key, size_t size)
{
    const struct rl_pmu_host *h = &pmu->host;
    snprintf(key, size, "%s:%x:%x:%x:%s:%s:%s:%u:%zu:%s", h->maker, h->family, h->model,
             h->stepping, h->microcode[0] ? h->microcode : "-", h->kernel[0] ? h->kernel : "-",
             pmu->cpu && pmu->cpu->hypervisor[0] ? pmu->cpu->hypervisor : "-", h->vector_bits,
             pmu->plan.n_core, h->is_privileged || h->paranoid <= 0 ? "all" : "own");
}

enum rl_status rl_pmu_self_test_save(const struct rl_pmu *pmu, FILE *stream, struct rl_error *err)
{
    char key[256];
    key_of(pmu, key, sizeof key);
    fprintf(stream, TITLE "\t1\nkey\t%s\n", key);
    for (size_t k = 0; k < pmu->plan.n_core; k++) {
        for (size_t m = 0; m < RL_PMU_METRICS; m++) {
            const struct rl_pmu_verdict *v = &pmu->trust.verdict[k][m];
            if (v->why != RL_PMU_UNTESTED)
                fprintf(stream, "verdict\t%zu\t%s\t%s\t%a\n", k, rl_pmu_metric[m].name,
                        rl_pmu_why_name(v->why), v->ratio);
        }
    }
    return ferror(stream) ? rl_fail_errno(err, "cannot keep the self-test of counters") : RL_OK;
}

static bool load_verdict(char *line, struct rl_pmu_trust *trust)
{
    char *cell[5];
    size_t n = 0;
    uint64_t core;
    char *end;
    for (char *rest = line; rest && n < 5;)
        cell[n++] = strsep(&rest, "\t");
    if (n != 5 || strcmp(cell[0], "verdict") != 0 || !tsv_integer(cell[1], &core) || core > 1)
        return false;
    size_t metric = rl_pmu_metric_find(cell[2]);
    struct rl_pmu_verdict verdict = {rl_pmu_why_find(cell[3]), strtod(cell[4], &end)};
    bool is_known = verdict.why == RL_PMU_FINE || verdict.why == RL_PMU_WRONG;
    if (metric == RL_PMU_METRICS || !is_known || *end || !isfinite(verdict.ratio))
        return false;
    trust->verdict[core][metric] = verdict;
    return true;
}

static enum rl_status load_lines(const struct rl_pmu *pmu, char *text, struct rl_pmu_trust *trust,
                                 struct rl_error *err)
{
    char key[256];
    char *rest = text;
    const char *title = strsep(&rest, "\n");
    const char *line = rest ? strsep(&rest, "\n") : NULL;
    key_of(pmu, key, sizeof key);
    if (strcmp(title, TITLE "\t1") != 0 || !line || strncmp(line, "key\t", 4) != 0)
        return rl_fail(err, RL_EDATA, "not a self-test of counters");
    if (strcmp(line + 4, key) != 0)
        return rl_fail(err, RL_ENODATA,
                       "the self-test of counters is of another machine or kernel");
    while (rest && *rest) {
        if (!load_verdict(strsep(&rest, "\n"), trust))
            return rl_fail(err, RL_EDATA, "the self-test of counters is damaged");
    }
    return RL_OK;
}

enum rl_status rl_pmu_self_test_load(struct rl_pmu *pmu, const char *text, struct rl_error *err)
{
    struct rl_pmu_trust trust;
    char *copy = strdup(text);
    if (!copy)
        return rl_fail(err, RL_ENOMEM, "no memory for the self-test of counters");
    rl_pmu_trust_init(&trust);
    enum rl_status status = load_lines(pmu, copy, &trust, err);
    free(copy);
    if (status != RL_OK)
        return status;
    pmu->trust = trust;
    pmu->is_tested = true;
    return RL_OK;
}

/** Metrics that one line of the doctor speaks of. */
static const struct {
    const char *name;
    const char *metrics; /* pattern */
} topics[] = {
    {"counters: FLOP", "flop_*"},
    {"counters: caches", "bytes_l*"},
    {"counters: memory", "bytes_dram_core*"},
    {"counters: system", "bytes_dram_rd*"},
};

static const char *verdict_mark(const struct rl_pmu *pmu, enum rl_pmu_why verdict)
{
    if (verdict == RL_PMU_WRONG)
        return " (failed its self-test)";
    return verdict == RL_PMU_UNTESTED && pmu->is_tested ? " (not shown by the self-test)" : "";
}

static void describe_topic(const struct rl_pmu *pmu, const char *pattern, struct rl_pmu_line *line)
{
    size_t used = 0;
    unsigned n_good = 0;
    unsigned n_planned = 0;
    enum rl_pmu_why why = RL_PMU_NO_ROW;
    const char *note = NULL;
    for (size_t m = 0; m < RL_PMU_METRICS; m++) {
        const struct rl_pmu_gap *gap = &pmu->plan.gap[0][m];
        enum rl_pmu_why verdict = pmu->trust.verdict[0][m].why;
        if (!rl_pmu_fits(pattern, rl_pmu_metric[m].name))
            continue;
        if (gap->why != RL_PMU_FINE) {
            note = why == RL_PMU_NO_ROW && gap->note ? gap->note : note;
            why = why == RL_PMU_NO_ROW ? gap->why : why;
            continue;
        }
        n_planned++;
        n_good += verdict == RL_PMU_FINE || !pmu->is_tested;
        int n = snprintf(line->text + used, sizeof line->text - used, "%s%s%s", used ? ", " : "",
                         rl_pmu_metric[m].title, verdict_mark(pmu, verdict));
        used += n > 0 && used + (size_t)n < sizeof line->text ? (size_t)n : 0;
    }
    line->works = n_good > 0;
    if (n_planned)
        return;
    rl_pmu_why_text(why, &pmu->host, note, line->text, sizeof line->text);
    snprintf(line->enable, sizeof line->enable, "%s", rl_pmu_why_enable(why));
}

size_t rl_pmu_doctor(struct rl_pmu *pmu, struct rl_pmu_line *ret, size_t n_max)
{
    enum rl_pmu_why why = RL_PMU_NO_MEMORY;
    size_t n = 0;
    (void)find_why(pmu, &why, NULL);
    if (why != RL_PMU_FINE && n_max) {
        ret[0] = (struct rl_pmu_line){.name = "counters"};
        explain(pmu, why, ret[0].text, sizeof ret[0].text);
        snprintf(ret[0].enable, sizeof ret[0].enable, "%s", rl_pmu_why_enable(why));
        return 1;
    }
    for (size_t i = 0; i < sizeof topics / sizeof *topics && n < n_max; i++) {
        ret[n] = (struct rl_pmu_line){0};
        snprintf(ret[n].name, sizeof ret[n].name, "%s", topics[i].name);
        describe_topic(pmu, topics[i].metrics, &ret[n++]);
    }
    return n;
}
