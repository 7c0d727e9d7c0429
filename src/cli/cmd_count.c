/* roofline count: one run of a program under the counting engine, and what it left, as plain
 * numbers. Not for users but for tests and benchmarks of the engine itself: no timing run, no
 * names, no record. docs/engine.md has the lines it prints. */
#include "cli/objects.h"
#include "cli/options.h"

#include "base/child.h"
#include "base/error.h"
#include "ceilings/ceilings.h"
#include "count/engine/result_format.h"
#include "count/result.h"
#include "count/traffic.h"
#include "profile/code.h"
#include "profile/counting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct count {
    const char *mode, *output;
    const char *module; /* ending of the path of the module that is counted; NULL: all */
    bool launch;
    uint64_t seed; /* 0: the usual one */
    FILE *out;
};

/* What the images of a run add up to. */
struct totals {
    struct sums sums;
    uint64_t threads, translated, uncounted_blocks, left_out;
    uint64_t in_state[RLE_STATE_FAILED + 1];
};

static const char *const state_names[RLE_STATE_FAILED + 1] = {"unknown", "running",  "exited",
                                                              "execed",  "detached", "failed"};

/* Lines of one image appear only where something is to be said of it. */
static void print_image(FILE *out, const struct rl_result *image)
{
    if (*image->message)
        fprintf(out, "message %d.%u %s\n", image->pid, image->sequence, image->message);
    if (*image->problem)
        fprintf(out, "problem %d.%u %s\n", image->pid, image->sequence, image->problem);
    for (size_t i = 0; i < image->n_uncounted; i++)
        fprintf(out, "uncounted %d.%u %u %s\n", image->pid, image->sequence,
                image->uncounted[i].reason, image->uncounted[i].detail);
}

static bool is_wanted(const struct rl_result *image, const struct rl_result_piece *piece,
                      const char *module)
{
    if (!module)
        return true;
    const char *path =
        piece->module == RL_RESULT_NO_MODULE ? "" : image->modules[piece->module].path;
    size_t have = strlen(path);
    size_t want = strlen(module);
    return have >= want && !strcmp(path + have - want, module);
}

static enum rl_status add_image(const struct count *o, const char *path, struct totals *totals,
                                struct rl_error *err)
{
    struct rl_result image;
    if (rl_result_is_blank(path)) {
        fprintf(o->out, "left_out %s: its process was killed before it was counted\n", path);
        totals->left_out++;
        return RL_OK;
    }
    RL_TRY(rl_result_read(path, &image, err));
    for (size_t i = 0; i < image.n_pieces; i++)
        if (!is_wanted(&image, &image.pieces[i], o->module))
            image.pieces[i].executions = 0;
    for (size_t i = 0; i < image.n_repeats; i++)
        if (!is_wanted(&image, &image.pieces[image.repeats[i].piece], o->module))
            image.repeats[i].times = 0;
    enum rl_status status = code_sum_result(&image, NULL, NULL, &totals->sums)
                                ? RL_OK
                                : rl_fail(err, RL_ENOMEM, "out of memory for sums");
    totals->threads += image.n_threads;
    totals->translated += image.translated_insns;
    totals->uncounted_blocks += image.uncounted_blocks;
    totals->in_state[image.state <= RLE_STATE_FAILED ? image.state : 0]++;
    print_image(o->out, &image);
    rl_result_release(&image);
    return status;
}

static int compare_rows(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct sums_row, count));
}

static enum rl_status print_operations(FILE *out, struct sums *sums, struct rl_error *err)
{
    struct rl_kernel kernel = {0};
    if (sums->n_row)
        qsort(sums->row, sums->n_row, sizeof *sums->row, compare_rows);
    enum rl_status status = sums_fill(sums, &kernel, err);
    for (size_t i = 0; status == RL_OK && i < kernel.n_ops; i++) {
        const struct rl_op_count *ops = &kernel.ops[i];
        fprintf(out, "ops %s %s %s%s%s %.0f\n", rl_precision_name(ops->precision),
                rl_op_class_name(ops->op), ops->isa, *ops->func ? " " : "", ops->func,
                ops->count.value);
    }
    rl_kernel_release(&kernel);
    return status;
}

static enum rl_status print_totals(FILE *out, struct totals *totals, struct rl_error *err)
{
    const struct sums *sums = &totals->sums;
    for (unsigned state = 0; state <= RLE_STATE_FAILED; state++)
        if (totals->in_state[state])
            fprintf(out, "images %s %" PRIu64 "\n", state_names[state], totals->in_state[state]);
    fprintf(out,
            "threads %" PRIu64 "\ntranslated %" PRIu64 "\nuncounted_blocks %" PRIu64
            "\ninstructions %" PRIu64 "\nflop %" PRIu64 "\nload_bytes %" PRIu64
            "\nstore_bytes %" PRIu64 "\nundecodable %" PRIu64 "\n",
            totals->threads, totals->translated, totals->uncounted_blocks, sums->insns, sums->flop,
            sums->load_bytes, sums->store_bytes, sums->undecodable);
    return print_operations(out, &totals->sums, err);
}

static enum rl_status print_traffic(FILE *out, const struct counting *c, struct rl_error *err)
{
    size_t n;
    struct rl_traffic_summary summary;
    const struct rl_traffic_row *row = rl_traffic_rows(c->traffic, &n);
    struct rl_cache_flow *sum = calloc(rl_traffic_flows(c->traffic), sizeof *sum);
    if (!sum)
        return rl_fail(err, RL_ENOMEM, "out of memory for traffic");
    for (size_t i = 0; i < n; i++)
        rl_traffic_add(c->traffic, sum, row[i].account);
    for (uint32_t level = 0; level < c->caches.n_levels; level++)
        fprintf(out, "cache L%u sets %u ways %u\n", level + 1, c->caches.level[level].sets,
                c->caches.level[level].ways);
    for (uint32_t level = 0; level < c->caches.n_levels; level++) {
        struct rl_traffic_value v;
        rl_traffic_estimate(c->traffic, sum, level, &v);
        fprintf(out,
                "level L%u bytes %.0f error %.0f reads %.0f allocates %.0f writebacks %.0f nt "
                "%.0f\n",
                level + 1, v.bytes, v.error_bytes, v.read_bytes, v.allocate_bytes,
                v.writeback_bytes, v.nt_bytes);
    }
    rl_traffic_summarise(c->traffic, &summary);
    fprintf(out,
            "records %" PRIu64 "\nlost %" PRIu64 "\nskipped %" PRIu64 "\noverflow %" PRIu64
            "\nmalformed %" PRIu64 "\n",
            summary.records, summary.channel.lost, summary.channel.skipped,
            summary.channel.overflow, summary.malformed);
    free(sum);
    return RL_OK;
}

static double own_cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static enum rl_status print_counts(const struct count *o, const struct counting *c,
                                   struct rl_error *err)
{
    struct totals totals = {0};
    fprintf(o->out, "elapsed_s %.6f\nprogram_cpu_s %.6f\nreader_cpu_s %.6f\n", c->elapsed_s,
            c->cpu_s, own_cpu_s());
    enum rl_status status = RL_OK;
    for (size_t i = 0; status == RL_OK && i < c->results.n; i++)
        status = add_image(o, c->results.path[i], &totals, err);
    if (status == RL_OK && totals.left_out == c->results.n)
        status = rl_fail(err, RL_EDATA, "every process was killed before it was counted");
    if (status == RL_OK)
        status = print_totals(o->out, &totals, err);
    sums_release(&totals.sums);
    if (status == RL_OK && c->traffic)
        status = print_traffic(o->out, c, err);
    else if (status == RL_OK)
        fprintf(o->out, "no traffic: %s\n", c->traffic_missing);
    return status;
}

/* For comparison: the same program without the engine. */
static enum rl_status run_natively(const struct count *o, char **command, int *ret_wait_status,
                                   struct rl_error *err)
{
    struct rl_child child;
    struct rl_child_end end = {0};
    bool ended = false;
    RL_TRY(rl_child_start((const char *const *)command, (const char *const *)environ, false, &child,
                          err));
    enum rl_status status = rl_child_release(&child, err);
    while (status == RL_OK && !ended)
        status = rl_child_wait(&child, NULL, 0, -1, &ended, NULL, err);
    enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
    RL_TRY(status);
    RL_TRY(finish);
    fprintf(o->out, "program_cpu_s %.6f\n", end.user_s + end.system_s);
    *ret_wait_status = end.wait_status;
    return RL_OK;
}

static enum rl_status run_counted(const struct count *o, char **command, int *ret_wait_status,
                                  struct rl_error *err)
{
    struct counting c = {0};
    struct rl_machine machine = {0};
    char *engine = rl_object_path("libroofline-engine.so");
    char *launcher = rl_object_path("roofline-engine-launch");
    struct counting_options how = {
        .engine = engine,
        .launcher = launcher,
        .launch_all = o->launch,
        .translate_only = !strcmp(o->mode, "translate"),
        .traffic = !strcmp(o->mode, "traffic") ? RL_TRAFFIC_MODEL
                   : !strcmp(o->mode, "full")  ? RL_TRAFFIC_FULL
                                               : RL_TRAFFIC_NONE,
        .seed = o->seed,
        .machine = &machine,
    };
    enum rl_status status = rl_host_describe(NULL, &machine, err);
    if (status == RL_OK)
        status =
            counting_run((const char *const *)command, (const char *const *)environ, &how, &c, err);
    if (status == RL_OK)
        status = print_counts(o, &c, err);
    *ret_wait_status = c.wait_status;
    counting_release(&c);
    rl_machine_release(&machine);
    free(engine);
    free(launcher);
    return status;
}

static int count(struct count *o, char **command)
{
    struct rl_error err = {0};
    int wait_status = 0;
    /* Beside the program's own descriptors, not among them. */
    o->out = o->output ? fopen(o->output, "we") : stdout;
    enum rl_status status = RL_OK;
    if (!o->out)
        status = rl_fail_errno(&err, "%s", o->output);
    else if (!strcmp(o->mode, "native"))
        status = run_natively(o, command, &wait_status, &err);
    else
        status = run_counted(o, command, &wait_status, &err);
    if (o->output && o->out && fclose(o->out) != 0 && status == RL_OK)
        status = rl_fail_errno(&err, "%s", o->output);
    if (status == RL_OK)
        return rl_child_exit_code(wait_status);
    rl_report_error(&err);
    return RL_EXIT_WRAPPER;
}

static bool is_mode(const char *mode)
{
    static const char *const modes[] = {"native", "translate", "count", "traffic", "full"};
    for (size_t i = 0; i < RL_COUNT(modes); i++)
        if (!strcmp(mode, modes[i]))
            return true;
    return false;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct count o = {.mode = "count"};
    const struct rl_option rows[] = {
        {RL_OPT_STRING, "mode", 'm', "MODE", "native, translate, count, traffic or full", &o.mode,
         0, 0},
        {RL_OPT_STRING, "output", 'o', "FILE", "write the numbers there", &o.output, 0, 0},
        {RL_OPT_STRING, "module", 0, "ENDING", "sum what ran in files whose path ends so",
         &o.module, 0, 0},
        {RL_OPT_UINT, "seed", 0, "N", "draw other lines for -m traffic", &o.seed, 0, 0},
        {RL_OPT_FLAG, "launcher", 0, NULL, "start by the launcher, not by preloading", &o.launch, 0,
         0},
    };
    struct rl_arguments args = rl_options_parse(self, rows, RL_COUNT(rows), argc, argv, true);
    if (args.done)
        return args.exit_code;
    if (!args.n)
        return rl_usage_error(self, "no program given");
    if (!is_mode(o.mode))
        return rl_usage_error(
            self, "--mode: '%s' is none of native, translate, count, traffic, full", o.mode);
    return count(&o, args.item);
}

const struct rl_command rl_cmd_count = {
    .name = "count",
    .summary = "one run under the counting engine, as plain numbers",
    .synopsis = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .hidden = true,
    .wraps = true,
    .run = run,
};
