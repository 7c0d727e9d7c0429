/* Joins a machine and a profile: places each kernel, sorts by time, asks the rules. */
#include "analysis/advice.h"
#include "base/array.h"
#include "base/error.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rl_report_release(struct rl_report *report)
{
    for (size_t i = 0; i < report->n_row; i++) {
        for (size_t j = 0; j < report->row[i].n_advice; j++)
            free(report->row[i].advice[j].text);
        free(report->row[i].advice);
    }
    free(report->row);
    rl_missing_release(&report->missing);
    *report = (struct rl_report){0};
}

/** What shares are taken of. */
struct whole {
    double elapsed_s; /**< of a program, or summed over kernels that are no parts of one run */
    double active_s;  /**< with at least one thread of the program on a processor */
};

/* Sampled times are of time on a processor: what the program waited for its turn on a busy machine,
 * or for input, is no part of the whole that they are parts of. */
static struct whole whole_of(const struct rl_profile *profile)
{
    struct whole whole = {0};
    for (size_t i = 0; i < profile->n_kernel; i++) {
        const struct rl_kernel *k = &profile->kernel[i];
        bool counts = k->kind != RL_KIND_PROGRAM && k->kind != RL_KIND_LOOP;
        if (counts && rl_known(k->time_s))
            whole.elapsed_s += k->time_s.value;
    }
    if (profile->n_command > 0 && rl_known(profile->elapsed_s))
        whole.elapsed_s = profile->elapsed_s.value;
    whole.active_s = whole.elapsed_s;
    bool is_sampled = rl_known(profile->cpu_s) && rl_known(profile->threads);
    if (is_sampled && profile->cpu_s.value > 0 && profile->threads.value > 0)
        whole.active_s = fmin(profile->cpu_s.value / profile->threads.value, whole.elapsed_s);
    return whole;
}

/* The thread count whose roof is drawn: the profile's most used, else the largest measured. */
static unsigned roof_threads(const struct rl_machine *machine, const struct rl_profile *profile)
{
    double most = 0;
    for (size_t i = 0; profile && i < profile->n_kernel; i++)
        if (rl_known(profile->kernel[i].threads))
            most = fmax(most, profile->kernel[i].threads.value);
    if (most >= 1)
        return (unsigned)lround(most);
    unsigned threads = 1;
    for (size_t i = 0; i < machine->n_compute; i++)
        if (machine->compute[i].threads > threads)
            threads = machine->compute[i].threads;
    for (size_t i = 0; i < machine->n_memory; i++)
        if (machine->memory[i].threads > threads)
            threads = machine->memory[i].threads;
    return threads;
}

static int by_time(const void *a, const void *b)
{
    const struct rl_row *x = a, *y = b;
    double tx = rl_known(x->kernel->time_s) ? x->kernel->time_s.value : -1;
    double ty = rl_known(y->kernel->time_s) ? y->kernel->time_s.value : -1;
    if (tx != ty)
        return tx < ty ? 1 : -1;
    return x->kernel < y->kernel ? -1 : x->kernel > y->kernel; /* file order */
}

static double total_of(const struct rl_row *row)
{
    const struct rl_kernel *k = row->kernel;
    struct rl_value time = rl_known(k->total_time_s) ? k->total_time_s : k->time_s;
    return rl_known(time) ? time.value : -1;
}

/* What programs and threads begin in calls all that they do, and says nothing of it. */
static bool is_start(const struct rl_row *row)
{
    static const char *const names[] = {"_start", "start_thread", "clone",
                                        "clone3", "__clone",      "__clone3"};
    static const char libc[] = "__libc_start_";
    const struct rl_kernel *kernel = row->kernel;
    bool is = !strncmp(kernel->name, libc, sizeof libc - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is |= !strcmp(kernel->name, names[i]);
    return is && kernel->kind == RL_KIND_FUNCTION;
}

static int by_total(const void *a, const void *b)
{
    const struct rl_row *x = a, *y = b;
    if (is_start(x) != is_start(y))
        return is_start(x) ? 1 : -1;
    double tx = total_of(x), ty = total_of(y);
    return tx == ty ? by_time(a, b) : tx < ty ? 1 : -1;
}

/* No time of its own, and less operations than what it called. */
static bool only_calls(const struct rl_kernel *kernel)
{
    struct rl_value flop = rl_kernel_flop(kernel);
    bool calls = rl_known(kernel->total_time_s) || rl_known(kernel->total_flop);
    bool works = rl_known(flop) && rl_known(kernel->total_flop) && flop.value > 0 &&
                 flop.value >= kernel->total_flop.value / 2;
    return calls && !works && !rl_known(kernel->time_s);
}

/* Estimates of totals are from samples too. */
static double share_of(struct rl_value time, const struct whole *whole)
{
    bool is_sampled = time.source == RL_SOURCE_SAMPLED || time.source == RL_SOURCE_MODELLED;
    double whole_s = is_sampled ? whole->active_s : whole->elapsed_s;
    return rl_known(time) && whole_s > 0 ? time.value / whole_s : 0;
}

static enum rl_status add_row(struct rl_report *report, const struct rl_kernel *kernel,
                              const struct rl_report_options *options, const struct whole *whole,
                              struct rl_error *err)
{
    double share = share_of(kernel->time_s, whole);
    if (options->select && fnmatch(options->select, kernel->name, 0) != 0)
        return RL_OK;
    if (share < options->min_time_share)
        return RL_OK;
    if (!options->totals && only_calls(kernel))
        return RL_OK;
    bool has_thresholds = options->thresholds.above_roof > 0;
    struct rl_row row = {.kernel = kernel,
                         .time_share = share,
                         .total_time_share = share_of(kernel->total_time_s, whole)};
    RL_TRY(rl_place(report->machine, kernel, has_thresholds ? &options->thresholds : NULL,
                    &row.place, err));
    struct rl_row *slot = rl_array_append(&report->row, &report->n_row, sizeof *slot);
    if (!slot)
        return rl_fail(err, RL_ENOMEM, "no memory for a report row");
    *slot = row;
    return rl_advise(report->machine, slot, err);
}

enum rl_status rl_report_build(const struct rl_machine *machine, const struct rl_profile *profile,
                               const struct rl_report_options *options,
                               struct rl_report *ret_report, struct rl_error *err)
{
    static const struct rl_report_options defaults;
    const struct rl_report_options *o = options ? options : &defaults;
    if (machine->n_compute == 0 && machine->n_memory == 0)
        return rl_fail(err, RL_ENODATA, "the machine record \"%s\" holds no ceilings",
                       machine->name ? machine->name : "");
    struct rl_report report = {
        .machine = machine, .profile = profile, .model = o->model, .totals = o->totals};
    report.threads = o->threads ? o->threads : roof_threads(machine, profile);
    struct whole whole = profile ? whole_of(profile) : (struct whole){0};
    enum rl_status status = RL_OK;
    for (size_t i = 0; profile && status == RL_OK && i < profile->n_kernel; i++)
        status = add_row(&report, &profile->kernel[i], o, &whole, err);
    if (status != RL_OK) {
        rl_report_release(&report);
        return status;
    }
    if (report.n_row > 1)
        qsort(report.row, report.n_row, sizeof *report.row, o->totals ? by_total : by_time);
    *ret_report = report;
    return RL_OK;
}
