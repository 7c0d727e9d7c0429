#include "cli/bench_plan.h"

#include "base/array.h"
#include "base/error.h"
#include "base/unit.h"
#include "workload/bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIGS = 1000, MOST_WORDS = 64 };
static const double quick_budget_s = 0.5, default_budget_s = 0.8;

struct bench_options bench_options_default(void)
{
    return (struct bench_options){0};
}

void bench_options_release(struct bench_options *options)
{
    memset(options, 0, sizeof *options);
}

/* Families share option names; one row serves all of them. */
static void add_family(struct bench_options *options, const struct rl_workload *workload)
{
    for (unsigned i = 0; i < workload->n_option; i++) {
        bool known = false;
        for (unsigned j = 0; j < options->n_family; j++)
            known |= !strcmp(options->family[j]->name, workload->option[i].name);
        if (!known && options->n_family < BENCH_FAMILY_OPTIONS)
            options->family[options->n_family++] = &workload->option[i];
    }
}

int bench_options_parse(const struct rl_command *command, struct bench_options *o, int argc,
                        char **argv, struct rl_arguments *ret_args)
{
    const struct rl_option common[] = {
        {RL_OPT_FLAG, "list", 'l', NULL, "list kernels, variants and options, and run nothing",
         &o->list, 0, 0},
        {RL_OPT_FLAG, "quick", 0, NULL, "the short standard set, half the time a kernel", &o->quick,
         0, 0},
        {RL_OPT_STRING, "variant", 'v', "LIST", "variants of the kernel, or all", &o->variant, 0,
         0},
        {RL_OPT_STRING, "precision", 'p', "LIST", "fp64, fp32, or all", &o->precision, 0, 0},
        {RL_OPT_STRING, "isa", 0, "NAME", "widest instruction set to use: sse2, avx2, avx512",
         &o->isa, 0, 0},
        {RL_OPT_STRING, "threads", 't', "LIST", "thread counts; all = one a core (default all)",
         &o->threads, 0, 0},
        {RL_OPT_STRING, "sizes", 's', "LIST", "run at each of these sizes", &o->sizes, 0, 0},
        {RL_OPT_DOUBLE, "budget", 0, "SECONDS", "time for each kernel (default 0.8)", &o->budget_s,
         1e-3, 3600},
        {RL_OPT_STRING, "blas", 0, "PATH", "CBLAS library for gemm's variant blas", &o->blas, 0, 0},
        {RL_OPT_STRING, "machine", 'm', "FILE", "machine record (default: the cached one)",
         &o->machine, 0, 0},
        {RL_OPT_STRING, "output", 'o', "FILE", "write the profile there (- for standard output)",
         &o->output, 0, 0},
    };
    for (int i = 1; i < argc; i++) {
        const struct rl_workload *workload = rl_workload_find(argv[i]);
        if (workload)
            add_family(o, workload);
    }
    struct rl_option rows[RL_COUNT(common) + BENCH_FAMILY_OPTIONS];
    memcpy(rows, common, sizeof common);
    for (unsigned i = 0; i < o->n_family; i++)
        rows[RL_COUNT(common) + i] = (struct rl_option){.type = RL_OPT_STRING,
                                                        .name = o->family[i]->name,
                                                        .arg = o->family[i]->label,
                                                        .help = o->family[i]->help,
                                                        .value = &o->value[i]};
    *ret_args = rl_options_parse(command, rows, RL_COUNT(common) + o->n_family, argc, argv, false);
    if (o->budget_s == 0)
        o->budget_s = o->quick ? quick_budget_s : default_budget_s;
    return ret_args->exit_code;
}

/* A comma-separated list, cut in place. */
struct words {
    char *text;
    char *word[MOST_WORDS];
    unsigned n;
};

static enum rl_status words_split(struct words *w, const char *list, const char *what,
                                  struct rl_error *err)
{
    w->n = 0;
    w->text = strdup(list);
    if (!w->text)
        return rl_fail(err, RL_ENOMEM, "no memory for %s", what);
    char *rest = w->text;
    for (char *word; (word = strsep(&rest, ","));) {
        if (!*word || w->n == MOST_WORDS) {
            free(w->text);
            w->text = NULL;
            return rl_fail(err, RL_EINVAL, "--%s: \"%s\" is no list of up to %d words", what, list,
                           MOST_WORDS);
        }
        w->word[w->n++] = word;
    }
    return RL_OK;
}

struct builder {
    struct bench_plan *plan;
    const struct bench_options *options;
    const struct rl_work_env *env;
    unsigned thread[MOST_WORDS], n_thread;
    struct words variant, precision, size;
    struct rl_error *err;
};

static enum rl_status parse_threads(struct builder *b, unsigned n_cpu)
{
    b->n_thread = 1;
    b->thread[0] = n_cpu;
    if (!b->options->threads)
        return RL_OK;
    struct words w = {0};
    RL_TRY(words_split(&w, b->options->threads, "threads", b->err));
    enum rl_status status = RL_OK;
    b->n_thread = w.n;
    for (unsigned i = 0; i < w.n && status == RL_OK; i++) {
        uint64_t n = n_cpu;
        if (strcmp(w.word[i], "all") != 0)
            status = rl_parse_uint(w.word[i], "--threads", 1, UINT_MAX, &n, b->err);
        if (status == RL_OK && n > n_cpu)
            status = rl_fail(b->err, RL_EINVAL,
                             "--threads: %s are more than this process may use here, which is %u",
                             w.word[i], n_cpu);
        b->thread[i] = (unsigned)n;
    }
    free(w.text);
    return status;
}

static enum rl_status add(struct builder *b, const struct rl_work_config *config)
{
    struct bench_plan *plan = b->plan;
    if (plan->n >= MOST_CONFIGS)
        return rl_fail(b->err, RL_EINVAL, "more than %d combinations", MOST_CONFIGS);
    struct rl_work_config *slot = rl_array_append(&plan->config, &plan->n, sizeof *slot);
    if (!slot)
        return rl_fail(b->err, RL_ENOMEM, "no memory for the list of kernels");
    *slot = *config;
    return RL_OK;
}

static enum rl_status add_threads(struct builder *b, struct rl_work_config *config)
{
    for (unsigned i = 0; i < b->n_thread; i++) {
        config->threads = b->thread[i];
        RL_TRY(add(b, config));
    }
    return RL_OK;
}

static const char *size_option(const struct rl_workload *workload)
{
    for (unsigned i = 0; i < workload->n_option; i++)
        if (workload->option[i].is_size)
            return workload->option[i].name;
    return NULL;
}

static enum rl_status add_sizes(struct builder *b, struct rl_work_config *config)
{
    const struct rl_workload *workload = config->workload;
    if (!b->size.n)
        return add_threads(b, config);
    const char *key = size_option(workload);
    if (!key)
        return rl_fail(b->err, RL_EINVAL, "%s has no size that --sizes could set", workload->name);
    for (unsigned i = 0; i < b->size.n; i++) {
        RL_TRY(rl_work_config_set(config, key, b->size.word[i], b->err));
        RL_TRY(add_threads(b, config));
    }
    return RL_OK;
}

static bool is_all(const struct words *w)
{
    return w->n == 1 && !strcmp(w->word[0], "all");
}

static enum rl_status add_precisions(struct builder *b, struct rl_work_config *config)
{
    const struct rl_workload *workload = config->workload;
    if (!b->precision.n)
        return add_sizes(b, config);
    unsigned n = is_all(&b->precision) ? workload->n_precision : b->precision.n;
    for (unsigned i = 0; i < n; i++) {
        const char *name = is_all(&b->precision) ? rl_precision_name(workload->precision[i])
                                                 : b->precision.word[i];
        RL_TRY(rl_work_config_set(config, "precision", name, b->err));
        RL_TRY(add_sizes(b, config));
    }
    return RL_OK;
}

static enum rl_status add_variants(struct builder *b, struct rl_work_config *config)
{
    const struct rl_workload *workload = config->workload;
    if (!b->variant.n)
        return add_precisions(b, config);
    unsigned n = is_all(&b->variant) ? workload->n_variant : b->variant.n;
    for (unsigned i = 0; i < n; i++) {
        const char *name = is_all(&b->variant) ? workload->variant[i].name : b->variant.word[i];
        RL_TRY(rl_work_config_set(config, "variant", name, b->err));
        struct rl_error why = {0};
        bool works =
            !is_all(&b->variant) || !workload->probe || workload->probe(config, &why) == RL_OK;
        if (works)
            RL_TRY(add_precisions(b, config));
        else if (workload->variant[i].cblas && b->options->blas)
            return rl_fail(b->err, why.status, "%s", why.text); /* the library was asked for */
    }
    return RL_OK;
}

enum rl_status bench_find_workload(const char *name, const struct rl_workload **ret_workload,
                                   struct rl_error *err)
{
    *ret_workload = rl_workload_find(name);
    if (*ret_workload)
        return RL_OK;
    return rl_fail(err, RL_EINVAL,
                   "unknown kernel '%s'; 'roofline bench --list' shows what there is", name);
}

static enum rl_status add_named(struct builder *b, const char *name)
{
    const struct rl_workload *workload;
    struct rl_work_config config;
    RL_TRY(bench_find_workload(name, &workload, b->err));
    rl_work_config_init(&config, workload, b->env);
    if (b->options->isa)
        RL_TRY(rl_work_config_set(&config, "isa", b->options->isa, b->err));
    for (unsigned i = 0; i < b->options->n_family; i++)
        if (b->options->value[i] &&
            rl_work_option_index(workload, b->options->family[i]->name) >= 0)
            RL_TRY(rl_work_config_set(&config, b->options->family[i]->name, b->options->value[i],
                                      b->err));
    const char *size = size_option(workload);
    if (b->size.n && size && config.setting[rl_work_option_index(workload, size)].given)
        return rl_fail(b->err, RL_EINVAL, "--sizes and --%s both set the size of %s; give one",
                       size, workload->name);
    return add_variants(b, &config);
}

static enum rl_status add_standard(struct builder *b)
{
    if (b->options->variant || b->options->precision || b->options->sizes)
        return rl_fail(b->err, RL_EINVAL,
                       "--variant, --precision and --sizes need the name of a kernel");
    for (unsigned i = 0; i < rl_n_bench_standard; i++) {
        struct rl_work_config config;
        if (b->options->quick && !rl_bench_standard[i].quick)
            continue;
        RL_TRY(rl_bench_configure(&rl_bench_standard[i], b->env, &config, b->err));
        if (b->options->isa)
            RL_TRY(rl_work_config_set(&config, "isa", b->options->isa, b->err));
        RL_TRY(add_threads(b, &config));
    }
    return RL_OK;
}

/* Each option must change something of what runs; one that does not was meant otherwise. */
static enum rl_status fail_idle(struct rl_error *err, const char *option, const char *why)
{
    return rl_fail(err, RL_EINVAL, "--%s would have no effect: %s", option, why);
}

static bool any_variant(const struct bench_plan *plan,
                        bool (*is)(const struct rl_work_variant *variant))
{
    bool any = false;
    for (size_t i = 0; i < plan->n; i++)
        any |= is(&plan->config[i].workload->variant[plan->config[i].variant]);
    return any;
}

static bool is_vectorised(const struct rl_work_variant *variant)
{
    return variant->vectorised;
}

static bool is_cblas(const struct rl_work_variant *variant)
{
    return variant->cblas;
}

/* Why an option of a family changes nothing in any config; NULL: it does in one. */
static const char *why_idle(const struct bench_plan *plan, const char *name)
{
    const char *why = "none of these kernels has it";
    for (size_t i = 0; i < plan->n; i++) {
        const struct rl_work_config *config = &plan->config[i];
        int option = rl_work_option_index(config->workload, name);
        if (option < 0)
            continue;
        why = config->workload->idle ? config->workload->idle(config, (unsigned)option) : NULL;
        if (!why)
            return NULL;
    }
    return why;
}

static enum rl_status check_effects(const struct builder *b)
{
    const struct bench_options *o = b->options;
    if (o->isa && !any_variant(b->plan, is_vectorised))
        return fail_idle(b->err, "isa", "none of these variants is written for vectors");
    if (o->blas && !any_variant(b->plan, is_cblas))
        return fail_idle(b->err, "blas", "only 'gemm --variant blas' calls such a library");
    for (unsigned i = 0; i < o->n_family; i++) {
        const char *why = o->value[i] ? why_idle(b->plan, o->family[i]->name) : NULL;
        if (why)
            return fail_idle(b->err, o->family[i]->name, why);
    }
    for (size_t i = 0; o->sizes && i < b->plan->n; i++) {
        const struct rl_workload *workload = b->plan->config[i].workload;
        const char *why = why_idle(b->plan, size_option(workload));
        if (why)
            return fail_idle(b->err, "sizes", why);
    }
    return RL_OK;
}

static enum rl_status build(struct builder *b, const struct rl_arguments *args, unsigned n_cpu)
{
    const struct bench_options *o = b->options;
    RL_TRY(parse_threads(b, n_cpu));
    if (o->variant)
        RL_TRY(words_split(&b->variant, o->variant, "variant", b->err));
    if (o->precision)
        RL_TRY(words_split(&b->precision, o->precision, "precision", b->err));
    if (o->sizes)
        RL_TRY(words_split(&b->size, o->sizes, "sizes", b->err));
    if (args->n == 0) {
        RL_TRY(add_standard(b));
        return check_effects(b);
    }
    for (int i = 0; i < args->n; i++)
        RL_TRY(add_named(b, args->item[i]));
    if (b->plan->n == 0)
        return rl_fail(b->err, RL_EUNAVAIL, "none of these variants can run here");
    return check_effects(b);
}

enum rl_status bench_plan_build(struct bench_plan *plan, const struct bench_options *options,
                                const struct rl_arguments *args, const struct rl_work_env *env,
                                unsigned n_cpu, struct rl_error *err)
{
    struct builder b = {.plan = plan, .options = options, .env = env, .err = err};
    enum rl_status status = build(&b, args, n_cpu);
    free(b.variant.text);
    free(b.precision.text);
    free(b.size.text);
    return status;
}

void bench_plan_release(struct bench_plan *plan)
{
    free(plan->config);
    memset(plan, 0, sizeof *plan);
}
