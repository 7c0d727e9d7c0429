/* Compute ceilings: of each precision, operation and width the best variant. */
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double sample_s = 20e-6;
static const double trial_sample_s = 8e-6;
static const double trial_tolerance = 0.03;
/* Tiles take 2000 cycles to begin: 3 % of a sample of ordinary length. */
static const double tile_length = 1.5;

/* Ceilings a plain roofline needs: the widest FMA, addition and multiplication, and scalar FMA. */
static bool wanted(const struct rl_session *s, const struct rl_compute_kernel *k,
                   const char *widest)
{
    if (s->options->mode != RL_MEASURE_QUICK)
        return true;
    bool is_basic = strcmp(k->op, "fma") == 0 || strcmp(k->op, "add") == 0 ||
                    strcmp(k->op, "mul") == 0 || strcmp(k->op, "fma+add") == 0;
    bool is_scalar_fma = strcmp(k->op, "fma") == 0 && strcmp(k->width, "scalar") == 0;
    return (k->precision == RL_FP64 || k->precision == RL_FP32) &&
           ((is_basic && strcmp(k->width, widest) == 0) || is_scalar_fma);
}

static const char *widest_width(const struct rl_cpu *cpu)
{
    if (rl_cpu_usable(cpu, RL_ISA_AVX512))
        return "avx512";
    if (rl_cpu_usable(cpu, RL_ISA_AVX2))
        return "avx2";
    return rl_cpu_usable(cpu, RL_ISA_SSE2) ? "sse2" : "c";
}

static bool same_ceiling(const struct rl_compute_kernel *a, const struct rl_compute_kernel *b)
{
    return a->precision == b->precision && strcmp(a->op, b->op) == 0 &&
           strcmp(a->width, b->width) == 0;
}

static void run(void *arg, unsigned rank, uint64_t loops)
{
    const struct rl_compute_item *item = arg;
    const struct rl_session *s = item->session;
    struct rl_kernel_args args = {
        .loops = loops, .in = s->image[item->kernel->precision], .out = s->rank[rank].out};
    item->kernel->run(&args);
}

/* Some cores run wide vectors at a fraction of their speed for the first microseconds; a product of
 * tiles takes as long as sixteen vectors. */
static void wake_wide_units(void *arg, unsigned rank)
{
    const struct rl_compute_item *item = arg;
    run(arg, rank, strcmp(item->kernel->width, "amx") == 0 ? 250 : 1000);
}

static struct rl_job job_of(struct rl_compute_item *item, double length_s)
{
    bool tiles = strcmp(item->kernel->width, "amx") == 0;
    bool slow_start = strcmp(item->session->cpu.vendor, "GenuineIntel") == 0 &&
                      (item->kernel->bits == 512 || tiles);
    return (struct rl_job){.name = item->session->label,
                           .run = run,
                           .prepare = slow_start ? wake_wide_units : NULL,
                           .arg = item,
                           .sample_s = tiles ? tile_length * length_s : length_s};
}

static enum rl_status list_missing(struct rl_session *s, const struct rl_compute_kernel *kernel,
                                   struct rl_error *err)
{
    char what[RL_ID_LEN];
    char why[RL_NOTE_LEN];
    snprintf(what, sizeof what, "%s.%s.%s", rl_precision_name(kernel->precision), kernel->op,
             kernel->width);
    snprintf(why, sizeof why, "needs %s: %s", rl_isa_title(kernel->isa),
             rl_cpu_why_not(&s->cpu, kernel->isa));
    if (rl_missing_has(&s->machine->missing, what))
        return RL_OK;
    return rl_missing_add(&s->machine->missing, what, why, err);
}

/* Kernels that may run here, variants of a ceiling next to each other. */
static enum rl_status list_items(struct rl_session *s, struct rl_compute_item **ret_item,
                                 unsigned *ret_n, struct rl_error *err)
{
    size_t n_kernel;
    const struct rl_compute_kernel *kernel = rl_compute_kernels(&n_kernel);
    const char *widest = widest_width(&s->cpu);
    struct rl_compute_item *item = calloc(n_kernel, sizeof *item);
    bool *taken = calloc(n_kernel, sizeof *taken);
    unsigned n = 0;
    enum rl_status status =
        item && taken ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    for (size_t i = 0; status == RL_OK && i < n_kernel; i++) {
        if (taken[i])
            continue;
        if (!rl_cpu_usable(&s->cpu, kernel[i].isa)) {
            status = list_missing(s, &kernel[i], err);
            continue;
        }
        for (size_t j = i; wanted(s, &kernel[i], widest) && j < n_kernel; j++)
            if (rl_cpu_usable(&s->cpu, kernel[j].isa) && same_ceiling(&kernel[i], &kernel[j])) {
                item[n++] = (struct rl_compute_item){.kernel = &kernel[j], .session = s};
                taken[j] = true;
            }
    }
    free(taken);
    if (status != RL_OK) {
        free(item);
        return status;
    }
    *ret_item = item;
    *ret_n = n;
    return RL_OK;
}

static enum rl_status sample(struct rl_session *s, struct rl_compute_item *item, unsigned n,
                             const struct rl_phase *phase, struct rl_timing *timing,
                             struct rl_error *err)
{
    struct rl_job *job = calloc(n ? n : 1, sizeof *job);
    if (!job)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    for (unsigned i = 0; i < n; i++)
        job[i] = job_of(&item[i], phase->trial ? trial_sample_s : sample_s);
    enum rl_status status = rl_session_sample(s, phase, job, n, timing, err);
    free(job);
    return status;
}

static double work_per_cycle(const struct rl_compute_item *item, const struct rl_timing *timing)
{
    return timing->per_cycle * item->kernel->work;
}

/* Index of the fastest among item[from] and those behind it of the same ceiling; the first one
 * after them goes to ret_next. */
static unsigned best_of(const struct rl_compute_item *item, unsigned n,
                        const struct rl_timing *timing, unsigned from, unsigned *ret_next)
{
    unsigned best = from;
    unsigned j = from + 1;
    for (; j < n && same_ceiling(item[from].kernel, item[j].kernel); j++)
        if (work_per_cycle(&item[j], &timing[j]) > work_per_cycle(&item[best], &timing[best]))
            best = j;
    *ret_next = j;
    return best;
}

unsigned rl_compute_keep_best(struct rl_compute_item *item, unsigned n,
                              const struct rl_timing *timing)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n;) {
        unsigned next;
        unsigned best = best_of(item, n, timing, i, &next);
        double bar = (1 - trial_tolerance) * work_per_cycle(&item[best], &timing[best]);
        for (unsigned j = i; j < next; j++)
            if (timing[j].disturbed || work_per_cycle(&item[j], &timing[j]) >= bar)
                item[kept++] = item[j];
        i = next;
    }
    return kept;
}

/* @param rival_unsure  another variant, that may be faster, has not settled. */
static enum rl_status add(struct rl_session *s, const struct rl_compute_item *item,
                          const struct rl_timing *timing, bool rival_unsure, struct rl_error *err)
{
    const struct rl_compute_kernel *k = item->kernel;
    struct rl_limit limit = rl_compute_limit(s->core, k->precision, k->op, k->width, k->bits);
    double per_cycle = timing->per_cycle * k->work;
    char id[RL_ID_LEN];
    snprintf(id, sizeof id, "%s.%s.%s@%u", rl_precision_name(k->precision), k->op, k->width,
             s->threads);
    rl_limit_check(&limit, id, per_cycle, timing->disturbed, &s->exceeded);
    struct rl_compute_ceiling c = {
        .precision = k->precision,
        .threads = s->threads,
        .rate = rl_value(timing->loops_per_s * k->work, RL_SOURCE_MEASURED, timing->spread),
        .per_cycle = per_cycle,
        .limit_per_cycle = limit.value,
        .reachable_per_cycle = limit.reachable,
        .clock_hz = timing->clock_hz,
        .repeats = timing->repeats,
        .contended = (timing->disturbed || rival_unsure) &&
                     !rl_limit_is_met(&limit, per_cycle, timing->clean),
    };
    snprintf(c.op, sizeof c.op, "%s", k->op);
    snprintf(c.isa, sizeof c.isa, "%s", k->width);
    snprintf(c.unit, sizeof c.unit, "%s", k->unit);
    snprintf(c.variant, sizeof c.variant, "%s", k->variant);
    snprintf(c.limit_note, sizeof c.limit_note, "%s", limit.note);
    return rl_machine_add_compute(s->machine, &c, err);
}

enum rl_status rl_measure_compute(struct rl_session *s, double budget_s, struct rl_error *err)
{
    const struct rl_phase trial = {.label = "compute", .budget_s = 0.15 * budget_s, .trial = true};
    const struct rl_phase phase = {.label = "compute", .budget_s = 0.85 * budget_s};
    struct rl_compute_item *item = NULL;
    unsigned n = 0;
    RL_TRY(list_items(s, &item, &n, err));
    struct rl_timing *timing = calloc(n ? n : 1, sizeof *timing);
    enum rl_status status =
        timing ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    if (status == RL_OK)
        status = sample(s, item, n, &trial, timing, err);
    if (status == RL_OK) {
        n = rl_compute_keep_best(item, n, timing);
        status = sample(s, item, n, &phase, timing, err);
    }
    for (unsigned i = 0; status == RL_OK && i < n;) {
        unsigned next;
        unsigned best = best_of(item, n, timing, i, &next);
        bool rival_unsure = false;
        for (unsigned j = i; j < next; j++)
            rival_unsure |= rl_rival_is_unsure(&timing[j], s->was_quiet, item[j].kernel->work,
                                               work_per_cycle(&item[best], &timing[best]));
        status = add(s, &item[best], &timing[best], rival_unsure, err);
        i = next;
    }
    free(timing);
    free(item);
    return status;
}
