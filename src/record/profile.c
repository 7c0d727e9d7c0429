#include "base/array.h"
#include "base/error.h"

#include <roofline/profile.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rl_kernel_release(struct rl_kernel *kernel)
{
    free(kernel->name);
    free(kernel->group);
    free(kernel->variant);
    free(kernel->module);
    free(kernel->file);
    for (size_t i = 0; i < kernel->n_parameter; i++) {
        free(kernel->parameter[i].key);
        free(kernel->parameter[i].value);
    }
    free(kernel->parameter);
    free(kernel->ops);
    free(kernel->traffic);
    rl_missing_release(&kernel->missing);
    free(kernel->extra);
    *kernel = (struct rl_kernel){0};
}

static void release_strings(char **text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(text[i]);
    free(text);
}

void rl_profile_release(struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->n_kernel; i++)
        rl_kernel_release(&profile->kernel[i]);
    free(profile->kernel);
    release_strings(profile->command, profile->n_command);
    release_strings(profile->note, profile->n_note);
    free(profile->name);
    free(profile->machine_name);
    free(profile->machine_key);
    free(profile->date);
    free(profile->program);
    rl_missing_release(&profile->missing);
    free(profile->extra);
    *profile = (struct rl_profile){0};
}

enum rl_status rl_profile_add(struct rl_profile *profile, enum rl_kernel_kind kind,
                              const char *name, struct rl_kernel **ret_kernel, struct rl_error *err)
{
    char *copy = NULL;
    RL_TRY(rl_string_set(&copy, name, err));
    struct rl_kernel *kernel =
        rl_array_append(&profile->kernel, &profile->n_kernel, sizeof *kernel);
    if (!kernel) {
        free(copy);
        return rl_fail(err, RL_ENOMEM, "no memory for a kernel row");
    }
    kernel->kind = kind;
    kernel->name = copy;
    *ret_kernel = kernel;
    return RL_OK;
}

static enum rl_status append_string(char ***list, size_t *n, const char *text, struct rl_error *err)
{
    char *copy = strdup(text);
    char **slot = copy ? rl_array_append(list, n, sizeof *slot) : NULL;
    if (!slot) {
        free(copy);
        return rl_fail(err, RL_ENOMEM, "no memory for a text of %zu bytes", strlen(text));
    }
    *slot = copy;
    return RL_OK;
}

enum rl_status rl_profile_note(struct rl_profile *profile, struct rl_error *err, const char *fmt,
                               ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return append_string(&profile->note, &profile->n_note, text, err);
}

enum rl_status rl_profile_set_command(struct rl_profile *profile, const char *const *argv, size_t n,
                                      struct rl_error *err)
{
    release_strings(profile->command, profile->n_command);
    profile->command = NULL;
    profile->n_command = 0;
    for (size_t i = 0; i < n; i++)
        RL_TRY(append_string(&profile->command, &profile->n_command, argv[i], err));
    return RL_OK;
}

enum rl_status rl_kernel_add_ops(struct rl_kernel *kernel, const struct rl_op_count *ops,
                                 struct rl_error *err)
{
    for (size_t i = 0; i < kernel->n_ops; i++) {
        struct rl_op_count *row = &kernel->ops[i];
        if (row->precision == ops->precision && row->op == ops->op &&
            strcmp(row->isa, ops->isa) == 0 && strcmp(row->func, ops->func) == 0) {
            row->count = rl_value_add(row->count, ops->count);
            return RL_OK;
        }
    }
    struct rl_op_count *slot = rl_array_append(&kernel->ops, &kernel->n_ops, sizeof *slot);
    if (!slot)
        return rl_fail(err, RL_ENOMEM, "no memory for an operation count");
    *slot = *ops;
    return RL_OK;
}

const struct rl_traffic *rl_kernel_find_traffic(const struct rl_kernel *kernel, const char *level)
{
    for (size_t i = 0; i < kernel->n_traffic; i++)
        if (strcmp(kernel->traffic[i].level, level) == 0)
            return &kernel->traffic[i];
    return NULL;
}

enum rl_status rl_kernel_traffic(struct rl_kernel *kernel, const char *level,
                                 struct rl_traffic **ret_traffic, struct rl_error *err)
{
    for (size_t i = 0; i < kernel->n_traffic; i++)
        if (strcmp(kernel->traffic[i].level, level) == 0) {
            *ret_traffic = &kernel->traffic[i];
            return RL_OK;
        }
    struct rl_traffic *slot = rl_array_append(&kernel->traffic, &kernel->n_traffic, sizeof *slot);
    if (!slot)
        return rl_fail(err, RL_ENOMEM, "no memory for a traffic row");
    snprintf(slot->level, sizeof slot->level, "%s", level);
    *ret_traffic = slot;
    return RL_OK;
}

const char *rl_kernel_parameter(const struct rl_kernel *kernel, const char *key)
{
    for (size_t i = 0; i < kernel->n_parameter; i++)
        if (strcmp(kernel->parameter[i].key, key) == 0)
            return kernel->parameter[i].value;
    return NULL;
}

enum rl_status rl_kernel_set_parameter(struct rl_kernel *kernel, const char *key, const char *value,
                                       struct rl_error *err)
{
    for (size_t i = 0; i < kernel->n_parameter; i++)
        if (strcmp(kernel->parameter[i].key, key) == 0)
            return rl_string_set(&kernel->parameter[i].value, value, err);
    struct rl_parameter entry = {0};
    RL_TRY(rl_string_set(&entry.key, key, err));
    enum rl_status status = rl_string_set(&entry.value, value, err);
    struct rl_parameter *slot = NULL;
    if (status == RL_OK &&
        !(slot = rl_array_append(&kernel->parameter, &kernel->n_parameter, sizeof *slot)))
        status = rl_fail(err, RL_ENOMEM, "no memory for a parameter");
    if (status != RL_OK) {
        free(entry.key);
        free(entry.value);
        return status;
    }
    *slot = entry;
    return RL_OK;
}

/* Which rows of kernel->ops a sum takes. */
enum selection { ALL_FLOAT, ALL_INTEGER, ONE_PRECISION };

static struct rl_value sum_ops(const struct rl_kernel *kernel, enum selection selection,
                               enum rl_precision precision)
{
    struct rl_value sum = {0};
    for (size_t i = 0; i < kernel->n_ops; i++) {
        const struct rl_op_count *row = &kernel->ops[i];
        bool is_float = rl_precision_is_float(row->precision);
        bool taken = selection == ONE_PRECISION ? row->precision == precision
                                                : is_float == (selection == ALL_FLOAT);
        if (!taken)
            continue;
        struct rl_value term = row->count;
        term.value *= rl_op_class_weight(row->op);
        if (!rl_known(term))
            return (struct rl_value){0};
        sum = rl_known(sum) ? rl_value_add(sum, term) : term;
    }
    return sum;
}

struct rl_value rl_kernel_flop(const struct rl_kernel *kernel)
{
    struct rl_value sum = sum_ops(kernel, ALL_FLOAT, RL_FP64);
    return rl_known(sum) ? sum : kernel->flop;
}

struct rl_value rl_kernel_flop_of(const struct rl_kernel *kernel, enum rl_precision precision)
{
    return sum_ops(kernel, ONE_PRECISION, precision);
}

struct rl_value rl_kernel_iop(const struct rl_kernel *kernel)
{
    struct rl_value sum = sum_ops(kernel, ALL_INTEGER, RL_FP64);
    return rl_known(sum) ? sum : kernel->iop;
}
