/* roofline bench: reference kernels on this machine, as a profile and under its roof. */
#include "cli/bench_drift.h"
#include "cli/bench_plan.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/unit.h"
#include "ceilings/ceilings.h"
#include "cpu/cpu.h"
#include "format/format.h"
#include "topology/topology.h"
#include "workload/bench.h"
#include "workload/resources.h"

#include <roofline/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One bench command from its options to its results. */
struct bench {
    struct bench_options options;
    struct bench_plan plan;
    struct rl_work_env env;
    struct rl_machine machine;
    struct rl_places places;
    unsigned n_cpu;       /* threads that "all" means */
    double nop_per_cycle; /* of this core undisturbed; 0 unknown */
    struct rl_profile profile;
    struct bench_drift drift;
    bool measured_before; /* `machine` is a record of this machine, of some other time */
    struct rl_progress progress;
    unsigned at; /* index of the config that runs */
    char label[96];
    unsigned n_failed;
    bool named; /* the kernels were asked for by name */
};

static void list_workload(const struct rl_workload *workload, const struct rl_work_env *env)
{
    printf("%s: %s\n", workload->name, workload->summary);
    for (unsigned v = 0; v < workload->n_variant; v++) {
        struct rl_work_config config;
        struct rl_error err = {0};
        rl_work_config_init(&config, workload, env);
        config.variant = v;
        bool works = !workload->probe || workload->probe(&config, &err) == RL_OK;
        printf("  %-12s %s%s%s\n", workload->variant[v].name, workload->variant[v].summary,
               works ? "" : "; not here: ", works ? "" : err.text);
    }
    printf("  precisions:");
    for (unsigned i = 0; i < workload->n_precision; i++)
        printf(" %s", rl_precision_name(workload->precision[i]));
    printf("\n");
    for (unsigned i = 0; i < workload->n_option; i++) {
        const struct rl_work_option *o = &workload->option[i];
        char left[32];
        snprintf(left, sizeof left, "--%s %s", o->name, o->label);
        printf("  %-18s %s", left, o->help);
        if (o->kind == RL_OPTION_COUNT && o->initial)
            printf(" (%llu)", (unsigned long long)o->initial);
        if (o->kind == RL_OPTION_CHOICE)
            for (unsigned c = 0; o->choice[c]; c++)
                printf("%s%s", c ? ", " : ": ", o->choice[c]);
        printf("\n");
    }
    printf("  checked against a plain reference: %s\n", workload->tolerance);
}

static enum rl_status list_named(const struct bench *b, const struct rl_arguments *args,
                                 struct rl_error *err)
{
    const struct rl_workload *workload;
    for (int a = 0; a < args->n; a++)
        RL_TRY(bench_find_workload(args->item[a], &workload, err));
    for (unsigned i = 0; i < rl_n_workloads; i++) {
        bool named = args->n == 0;
        for (int a = 0; a < args->n; a++)
            named |= !strcmp(args->item[a], rl_workloads[i]->name);
        if (named)
            list_workload(rl_workloads[i], &b->env);
    }
    return RL_OK;
}

static void on_progress(void *context, double fraction, const char *job)
{
    struct bench *b = context;
    (void)job;
    rl_progress_update(&b->progress, (b->at + fraction) / b->plan.n, b->label);
}

/* A kernel that cannot run does not stop the others; it is missing from the profile, with the
 * reason. */
static enum rl_status run_one(struct bench *b, unsigned i, struct rl_error *err)
{
    const struct rl_work_config *config = &b->plan.config[i];
    char title[64];
    rl_work_title(config, title, sizeof title);
    b->at = i;
    snprintf(b->label, sizeof b->label, "%s, %u thread%s", title, config->threads,
             config->threads == 1 ? "" : "s");
    rl_progress_update(&b->progress, (double)i / b->plan.n, b->label);
    int *cpu = calloc(config->threads, sizeof *cpu);
    if (!cpu)
        return rl_fail(err, RL_ENOMEM, "no memory for %u threads", config->threads);
    enum rl_status status = rl_places_pick(&b->places, config->threads, cpu, err);
    struct rl_bench_how how = {.cpu = cpu, .sampling = rl_sampling_default()};
    how.sampling.budget_s = b->options.budget_s;
    how.sampling.probe = true;
    how.sampling.nop_per_cycle = b->nop_per_cycle;
    how.sampling.progress = on_progress;
    how.sampling.cancelled = rl_interrupted;
    how.sampling.context = b;
    if (status == RL_OK)
        status = rl_bench_run(config, &how, &b->profile, err);
    free(cpu);
    if (status == RL_OK || status == RL_ECANCEL || b->plan.n == 1)
        return status;
    bool failed = status != RL_EUNAVAIL;
    b->n_failed += failed;
    if (failed || b->named) {
        rl_progress_end(&b->progress);
        if (failed)
            rl_report_error(err);
        else
            rl_warn("%s", err->text);
        rl_progress_begin(&b->progress);
    }
    return rl_missing_add(&b->profile.missing, title, err->text, err);
}

static enum rl_status describe_profile(struct bench *b, double elapsed_s, struct rl_error *err)
{
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    RL_TRY(rl_string_set(&b->profile.name, "bench", err));
    RL_TRY(rl_string_set(&b->profile.date, date, err));
    RL_TRY(rl_string_set(&b->profile.program, "roofline " ROOFLINE_VERSION, err));
    RL_TRY(rl_string_set(&b->profile.machine_name, b->machine.name, err));
    RL_TRY(rl_string_set(&b->profile.machine_key, b->machine.key, err));
    b->profile.elapsed_s = rl_value(elapsed_s, RL_SOURCE_MEASURED, 0);
    return rl_profile_note(
        &b->profile, err,
        "operations and bytes are computed from the kernels' loops; time is that "
        "of one call, the median of the fastest five; on a busy machine even those are slowed");
}

static enum rl_status run_all(struct bench *b, struct rl_error *err)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    rl_progress_begin(&b->progress);
    rl_end_when_interrupted(true);
    if (b->measured_before)
        bench_drift_plan(&b->drift, &b->plan, &b->machine);
    enum rl_status status = bench_drift_check(&b->drift, &b->machine, err);
    for (unsigned i = 0; i < b->plan.n && status == RL_OK; i++)
        status = rl_interrupted(NULL) ? rl_fail(err, RL_ECANCEL, "interrupted; nothing was written")
                                      : run_one(b, i, err);
    if (status == RL_OK)
        status = bench_drift_check(&b->drift, &b->machine, err);
    rl_end_when_interrupted(false);
    rl_progress_end(&b->progress);
    clock_gettime(CLOCK_MONOTONIC, &to);
    RL_TRY(status);
    RL_TRY(describe_profile(
        b, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec), err));
    return bench_drift_apply(&b->drift, &b->machine, &b->profile, err);
}

/* FLOP a byte, or why there is no such figure. */
static const char *intensity(char *buf, size_t size, double flop, struct rl_value bytes)
{
    if (!rl_known(bytes))
        return "unknown";
    if (bytes.value == 0)
        return "in cache";
    snprintf(buf, size, "%.3g", flop / bytes.value);
    return buf;
}

/* The bare figures. The least traffic, everything once, gives the most intensity. */
static void print_table(const struct rl_profile *profile)
{
    printf("%-34s %7s %9s %15s %9s %9s\n", "", "", "", "", "AI", "AI");
    printf("%-34s %7s %9s %15s %9s %9s\n", "kernel", "threads", "time", "rate", "of DRAM",
           "at most");
    for (size_t i = 0; i < profile->n_kernel; i++) {
        const struct rl_kernel *k = &profile->kernel[i];
        char time[32], rate[32], dram[32], most[32];
        double flop = rl_kernel_flop(k).value, time_s = k->time_s.value;
        rl_format_time(time, sizeof time, time_s);
        if (flop > 0)
            rl_format_si(rate, sizeof rate, flop / time_s, "FLOP/s");
        else
            rl_format_si(rate, sizeof rate, (k->load_bytes.value + k->store_bytes.value) / time_s,
                         "B/s");
        const struct rl_traffic *t = rl_kernel_find_traffic(k, "DRAM");
        const struct rl_traffic none = {0};
        t = t ? t : &none;
        printf("%-34s %7.0f %9s %s%14s %9s %9s\n", k->name, k->threads.value, time,
               rl_bench_is_disturbed(k) ? "≥" : " ", rate,
               intensity(dram, sizeof dram, flop, t->bytes),
               intensity(most, sizeof most, flop, t->compulsory));
    }
}

/* Under the roof where there is one, else the bare figures. */
static enum rl_status show(const struct bench *b, struct rl_error *err)
{
    struct rl_report report = {0};
    if (b->machine.n_compute == 0 && b->machine.n_memory == 0) {
        print_table(&b->profile);
        rl_say("no roof to compare with: run 'roofline measure' first");
        return RL_OK;
    }
    RL_TRY(rl_report_build(&b->machine, &b->profile, NULL, &report, err));
    struct rl_render_options options = rl_show_options(NULL, false);
    enum rl_status status = rl_show(rl_renderer_find("text"), &report, &options, NULL, err);
    rl_report_release(&report);
    if (status == RL_OK && b->options.sizes) {
        printf("\n");
        print_table(&b->profile);
    }
    return status;
}

static int finish(struct bench *b, enum rl_status status, struct rl_error *err)
{
    bool to_stdout = b->options.output && !strcmp(b->options.output, "-");
    if (status == RL_OK && b->options.output)
        status = rl_profile_write(b->options.output, &b->profile, err);
    if (status == RL_OK && !to_stdout && b->profile.n_kernel)
        status = show(b, err);
    if (status != RL_OK)
        return rl_report_error(err);
    if (b->options.output && !to_stdout)
        rl_say("profile written to %s; 'roofline report %s' draws it", b->options.output,
               b->options.output);
    return b->n_failed ? RL_EXIT_FAILED : RL_EXIT_DONE;
}

/* Before minutes of work, not after. */
static enum rl_status check_writable(const char *path, struct rl_error *err)
{
    struct rl_output out;
    if (!path || !strcmp(path, "-"))
        return RL_OK;
    RL_TRY(rl_output_open(&out, path, err));
    rl_output_abort(&out);
    return RL_OK;
}

/* Cores of the most capable kind; where the cgroup grants less, as many as it grants. */
static unsigned usable_cores(const struct rl_machine *host, const struct rl_places *places)
{
    unsigned n = 0;
    for (size_t i = 0; i < places->n; i++)
        n += places->cpu[i].kind == 0 && places->cpu[i].sibling == 0;
    double quota = host->environment.cpu_quota;
    if (quota > 0 && quota < n) {
        rl_warn("the cgroup grants %.2g of %u cores: times are those of a throttled program", quota,
                n);
        n = quota < 1 ? 1 : (unsigned)quota;
    }
    return n;
}

/* The record asked for, else the measured one of this machine if there is one, else what the system
 * says of it. */
static enum rl_status find_machine(struct bench *b, struct rl_machine *host, struct rl_error *err)
{
    if (b->options.machine) {
        RL_TRY(rl_machine_read(b->options.machine, &b->machine, err));
        b->measured_before = host->key && b->machine.key && !strcmp(host->key, b->machine.key);
        return RL_OK;
    }
    if (host->key && rl_store_load(host->key, &b->machine, NULL) == RL_OK) {
        b->measured_before = true;
        return RL_OK;
    }
    b->machine = *host;
    memset(host, 0, sizeof *host);
    return RL_OK;
}

static enum rl_status find_resources(struct bench *b, struct rl_error *err)
{
    const char *mask = getenv("ROOFLINE_ISA");
    struct rl_cpu cpu;
    struct rl_machine host = {0};
    RL_TRY(rl_work_isa_mask(mask, &b->env.isa_mask, err));
    RL_TRY(rl_cpu_detect(mask, &cpu, err));
    b->nop_per_cycle = rl_host_nop_per_cycle(&cpu);
    enum rl_status status = rl_topology_detect(NULL, &cpu, &host, &b->places, err);
    if (status == RL_OK) {
        b->n_cpu = usable_cores(&host, &b->places);
        status = find_machine(b, &host, err);
    }
    rl_machine_release(&host);
    b->env.memory_bytes = rl_memory_available(NULL);
    b->env.blas = b->options.blas;
    b->env.machine = &b->machine;
    return status;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct bench b = {.options = bench_options_default()};
    struct rl_arguments args;
    struct rl_error err = {0};
    int exit_code = bench_options_parse(self, &b.options, argc, argv, &args);
    if (args.done)
        return exit_code;
    enum rl_status status = find_resources(&b, &err);
    if (status == RL_OK && b.options.list) {
        status = list_named(&b, &args, &err);
        exit_code = status == RL_OK ? RL_EXIT_DONE : rl_report_error(&err);
    } else {
        if (status == RL_OK)
            status = check_writable(b.options.output, &err);
        if (status == RL_OK)
            status = bench_plan_build(&b.plan, &b.options, &args, &b.env, b.n_cpu, &err);
        b.named = args.n > 0;
        rl_catch_interrupts();
        if (status == RL_OK)
            status = run_all(&b, &err);
        exit_code = finish(&b, status, &err);
    }
    bench_drift_release(&b.drift);
    bench_plan_release(&b.plan);
    bench_options_release(&b.options);
    rl_profile_release(&b.profile);
    rl_machine_release(&b.machine);
    rl_places_release(&b.places);
    return exit_code;
}

const struct rl_command rl_cmd_bench = {
    .name = "bench",
    .summary = "run reference kernels and place them under this machine's roof",
    .synopsis = "[OPTIONS] [KERNEL...]",
    .run = run,
};
