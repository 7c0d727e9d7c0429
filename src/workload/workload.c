#include "base/unit.h"
#include "workload/kernels.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rl_workload *const rl_workloads[] = {
    &rl_workload_axpy, &rl_workload_conv2d,  &rl_workload_copy,
    &rl_workload_dot,  &rl_workload_exp,     &rl_workload_gemm,
    &rl_workload_spmv, &rl_workload_stencil, &rl_workload_triad,
};
const unsigned rl_n_workloads = RL_COUNT_OF(rl_workloads);

static const char *const isa_names[RL_WORK_ISA_COUNT] = {RL_WORK_BASE_ISA, "avx2", "avx512"};

const char *rl_work_isa_name(enum rl_work_isa isa)
{
    return isa_names[isa];
}

bool rl_work_isa_from_name(const char *name, enum rl_work_isa *ret_isa)
{
    for (unsigned i = 0; i < RL_WORK_ISA_COUNT; i++)
        if (!strcmp(name, isa_names[i])) {
            *ret_isa = (enum rl_work_isa)i;
            return true;
        }
    return false;
}

const struct rl_workload *rl_workload_find(const char *name)
{
    for (unsigned i = 0; i < rl_n_workloads; i++)
        if (!strcmp(rl_workloads[i]->name, name))
            return rl_workloads[i];
    return NULL;
}

int rl_work_option_index(const struct rl_workload *workload, const char *name)
{
    for (unsigned i = 0; i < workload->n_option; i++)
        if (!strcmp(workload->option[i].name, name))
            return (int)i;
    return -1;
}

uint64_t rl_work_number(const struct rl_work_config *config, const char *name)
{
    return config->setting[rl_work_option_index(config->workload, name)].number;
}

void rl_work_config_init(struct rl_work_config *config, const struct rl_workload *workload,
                         const struct rl_work_env *env)
{
    memset(config, 0, sizeof *config);
    config->workload = workload;
    config->env = env;
    config->variant = workload->default_variant;
    config->precision = workload->precision[0];
    config->isa = RL_WORK_ISA_COUNT - 1;
    config->threads = 1;
    for (unsigned i = 0; i < workload->n_option; i++)
        if (workload->option[i].kind == RL_OPTION_COUNT)
            config->setting[i].number = workload->option[i].initial;
}

/* One message for every list of words: what was given, for what, and what would do. */
static enum rl_status fail_choice(struct rl_error *err, const struct rl_work_config *config,
                                  const char *key, const char *value, const char *const *word,
                                  unsigned n)
{
    char list[256] = "";
    size_t used = 0;
    for (unsigned i = 0; i < n && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", word[i]);
    return rl_fail(err, RL_EINVAL, "%s: %s \"%s\" is not one of: %s", config->workload->name, key,
                   value, list);
}

static enum rl_status set_variant(struct rl_work_config *config, const char *value,
                                  struct rl_error *err)
{
    const struct rl_workload *workload = config->workload;
    const char *word[16];
    for (unsigned i = 0; i < workload->n_variant; i++) {
        if (!strcmp(workload->variant[i].name, value)) {
            config->variant = i;
            return RL_OK;
        }
        word[i] = workload->variant[i].name;
    }
    return fail_choice(err, config, "variant", value, word, workload->n_variant);
}

static enum rl_status set_precision(struct rl_work_config *config, const char *value,
                                    struct rl_error *err)
{
    const struct rl_workload *workload = config->workload;
    const char *word[RL_PRECISION_COUNT];
    for (unsigned i = 0; i < workload->n_precision; i++) {
        word[i] = rl_precision_name(workload->precision[i]);
        if (!strcmp(word[i], value)) {
            config->precision = workload->precision[i];
            return RL_OK;
        }
    }
    return fail_choice(err, config, "precision", value, word, workload->n_precision);
}

static enum rl_status set_isa(struct rl_work_config *config, const char *value,
                              struct rl_error *err)
{
    if (!rl_work_isa_from_name(value, &config->isa))
        return fail_choice(err, config, "isa", value, isa_names, RL_WORK_ISA_COUNT);
    if (config->isa != RL_WORK_BASE && !(config->env->isa_mask & (1u << config->isa)))
        return rl_fail(err, RL_EUNAVAIL, "%s: this CPU, or the mask it is used with, has no %s",
                       config->workload->name, value);
    return RL_OK;
}

/* "4096", "64k", "2Mi": false for anything else, and for what does not fit. */
static bool parse_count(const char *text, uint64_t *ret_number)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {{"", 1},
                 {"k", 1000},
                 {"M", 1000000},
                 {"G", 1000000000},
                 {"Ki", UINT64_C(1) << 10},
                 {"Mi", UINT64_C(1) << 20},
                 {"Gi", UINT64_C(1) << 30}};
    uint64_t number = 0;
    const char *p = text;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return false;
    for (size_t i = 0; i < RL_COUNT_OF(units); i++)
        if (!strcmp(p, units[i].suffix))
            return !__builtin_mul_overflow(number, units[i].factor, ret_number);
    return false;
}

static enum rl_status set_count(struct rl_work_config *config, unsigned index, const char *value,
                                struct rl_error *err)
{
    const struct rl_work_option *option = &config->workload->option[index];
    uint64_t number;
    if (!parse_count(value, &number))
        return rl_fail(err, RL_EINVAL,
                       "%s: --%s wants a whole number such as %llu, 64k or 2Mi, not \"%s\"",
                       config->workload->name, option->name,
                       (unsigned long long)(option->initial ? option->initial : 1024), value);
    if (number < option->min || number > option->max)
        return rl_fail(err, RL_EINVAL, "%s: --%s must be from %llu to %llu, not %s",
                       config->workload->name, option->name, (unsigned long long)option->min,
                       (unsigned long long)option->max, value);
    config->setting[index].number = number;
    config->setting[index].given = true;
    return RL_OK;
}

static enum rl_status set_choice(struct rl_work_config *config, unsigned index, const char *value,
                                 struct rl_error *err)
{
    const struct rl_work_option *option = &config->workload->option[index];
    unsigned n = 0;
    for (; option->choice[n]; n++)
        if (!strcmp(option->choice[n], value)) {
            config->setting[index].number = n;
            config->setting[index].given = true;
            return RL_OK;
        }
    return fail_choice(err, config, option->name, value, option->choice, n);
}

static enum rl_status fail_unknown(struct rl_error *err, const struct rl_workload *workload,
                                   const char *key)
{
    char list[256] = "variant, precision, isa";
    size_t used = strlen(list);
    for (unsigned i = 0; i < workload->n_option && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, ", %s", workload->option[i].name);
    return rl_fail(err, RL_EINVAL, "%s has no option \"%s\"; it knows: %s", workload->name, key,
                   list);
}

enum rl_status rl_work_config_set(struct rl_work_config *config, const char *key, const char *value,
                                  struct rl_error *err)
{
    if (!strcmp(key, "variant"))
        return set_variant(config, value, err);
    if (!strcmp(key, "precision"))
        return set_precision(config, value, err);
    if (!strcmp(key, "isa"))
        return set_isa(config, value, err);
    int index = rl_work_option_index(config->workload, key);
    if (index < 0)
        return fail_unknown(err, config->workload, key);
    switch (config->workload->option[index].kind) {
    case RL_OPTION_COUNT:
        return set_count(config, (unsigned)index, value, err);
    case RL_OPTION_CHOICE:
        return set_choice(config, (unsigned)index, value, err);
    case RL_OPTION_TEXT:
        config->setting[index].text = value;
        config->setting[index].given = true;
        return RL_OK;
    }
    return RL_EINVAL;
}

void rl_work_title(const struct rl_work_config *config, char *out, size_t size)
{
    const struct rl_workload *workload = config->workload;
    int used =
        snprintf(out, size, "%s/%s %s", workload->name, workload->variant[config->variant].name,
                 rl_precision_name(config->precision));
    char label[48] = "";
    if (workload->label)
        workload->label(config, label, sizeof label);
    if (label[0] && used > 0 && (size_t)used < size)
        used += snprintf(out + used, size - (size_t)used, " %s", label);
    for (unsigned i = 0; i < workload->n_option; i++)
        if (workload->option[i].is_size && config->setting[i].number && used > 0 &&
            (size_t)used < size)
            snprintf(out + used, size - (size_t)used, " %s=%llu", workload->option[i].name,
                     (unsigned long long)config->setting[i].number);
}

enum rl_work_isa rl_work_best_isa(const struct rl_work_config *config)
{
    unsigned mask = config->env ? config->env->isa_mask : 0;
    for (int isa = (int)config->isa; isa > RL_WORK_BASE; isa--)
        if (mask & (1u << isa))
            return (enum rl_work_isa)isa;
    return RL_WORK_BASE;
}

enum rl_status rl_work_open(struct rl_work *work, const struct rl_work_config *config,
                            struct rl_error *err)
{
    memset(work, 0, sizeof *work);
    if (config->threads == 0)
        return rl_fail(err, RL_EINVAL, "%s: 0 threads", config->workload->name);
    if (config->workload->probe)
        RL_TRY(config->workload->probe(config, err));
    work->config = *config;
    return config->workload->prepare(&work->config, &work->state, err);
}

enum rl_status rl_work_check_memory(const struct rl_work_config *config, uint64_t need,
                                    struct rl_error *err)
{
    const struct rl_workload *workload = config->workload;
    uint64_t have = config->env ? config->env->memory_bytes : 0;
    if (have == 0 || need <= have)
        return RL_OK;
    char needed[32], there[32];
    return rl_fail(err, RL_ENOMEM, "%s needs %s of memory, %s are available; choose a smaller size",
                   workload->name, rl_format_size(needed, sizeof needed, need),
                   rl_format_size(there, sizeof there, have));
}

static void fill_part(void *arg, unsigned rank)
{
    struct rl_work *work = arg;
    work->config.workload->fill(work->state, rank);
}

enum rl_status rl_work_setup(struct rl_work *work, struct rl_team *team, struct rl_error *err)
{
    RL_TRY(rl_work_check_memory(&work->config, work->config.workload->memory(work->state), err));
    RL_TRY(work->config.workload->allocate(work->state, err));
    if (team)
        rl_team_run(team, fill_part, work);
    else
        fill_part(work, 0);
    work->allocated = true;
    return RL_OK;
}

struct one_call {
    struct rl_work *work;
    struct rl_team *team;
};

static void run_part(void *arg, unsigned rank)
{
    struct one_call *call = arg;
    call->work->config.workload->run(call->work->state, rank, call->team);
}

enum rl_status rl_work_verify(struct rl_work *work, struct rl_team *team, struct rl_error *err)
{
    struct one_call call = {work, team};
    if (team)
        rl_team_run(team, run_part, &call);
    else
        run_part(&call, 0);
    return work->config.workload->check(work->state, err);
}

enum rl_status rl_work_account(const struct rl_work *work, struct rl_kernel *kernel,
                               struct rl_error *err)
{
    const struct rl_work_config *config = &work->config;
    struct rl_work_traffic traffic = {0};
    RL_TRY(rl_string_set(&kernel->group, config->workload->name, err));
    RL_TRY(rl_string_set(&kernel->variant, config->workload->variant[config->variant].name, err));
    RL_TRY(rl_kernel_set_parameter(kernel, "precision", rl_precision_name(config->precision), err));
    RL_TRY(config->workload->account(work->state, kernel, &traffic, err));
    return rl_account_traffic(config, &traffic, kernel, err);
}

void rl_work_release(struct rl_work *work)
{
    if (work->config.workload)
        work->config.workload->release(work->state);
    memset(work, 0, sizeof *work);
}
