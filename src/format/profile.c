#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "format/document.h"
#include "format/format.h"

#include <stdlib.h>
#include <string.h>

static const struct field kernel_fields[] = {
    FIELD(rl_kernel, "kind", FIELD_KIND, kind),
    FIELD(rl_kernel, "group", FIELD_STRING, group),
    FIELD(rl_kernel, "variant", FIELD_STRING, variant),
    FIELD(rl_kernel, "module", FIELD_STRING, module),
    FIELD(rl_kernel, "file", FIELD_STRING, file),
    FIELD(rl_kernel, "line", FIELD_UINT, line),
    FIELD(rl_kernel, "depth", FIELD_UINT, depth),
    FIELD(rl_kernel, "mix", FIELD_BOOL, is_mix),
    FIELD(rl_kernel, "calls", FIELD_VALUE, calls),
    FIELD(rl_kernel, "time_s", FIELD_VALUE, time_s),
    FIELD(rl_kernel, "total_time_s", FIELD_VALUE, total_time_s),
    FIELD(rl_kernel, "threads", FIELD_VALUE, threads),
    FIELD(rl_kernel, "latency_bound_loads", FIELD_VALUE, latency_bound_loads),
    FIELD(rl_kernel, "flop", FIELD_VALUE, flop),
    FIELD(rl_kernel, "iop", FIELD_VALUE, iop),
    FIELD(rl_kernel, "useful_flop", FIELD_VALUE, useful_flop),
    FIELD(rl_kernel, "total_flop", FIELD_VALUE, total_flop),
    FIELD(rl_kernel, "load_bytes", FIELD_VALUE, load_bytes),
    FIELD(rl_kernel, "store_bytes", FIELD_VALUE, store_bytes),
    FIELD(rl_kernel, "nontemporal_bytes", FIELD_VALUE, nontemporal_bytes),
    FIELD(rl_kernel, "working_set_bytes", FIELD_VALUE, working_set_bytes),
};

static const struct field ops_fields[] = {
    FIELD(rl_op_count, "precision", FIELD_PRECISION, precision),
    FIELD(rl_op_count, "op", FIELD_OP_CLASS, op),
    FIELD_TEXT(rl_op_count, "isa", isa),
    FIELD_TEXT(rl_op_count, "func", func),
    FIELD(rl_op_count, "count", FIELD_VALUE, count),
};

static const struct field traffic_fields[] = {
    FIELD_TEXT(rl_traffic, "level", level),
    FIELD(rl_traffic, "bytes", FIELD_VALUE, bytes),
    FIELD(rl_traffic, "read", FIELD_VALUE, read),
    FIELD(rl_traffic, "write", FIELD_VALUE, write),
    FIELD(rl_traffic, "write_allocate", FIELD_VALUE, write_allocate),
    FIELD(rl_traffic, "compulsory", FIELD_VALUE, compulsory),
};

static const struct field profile_fields[] = {
    FIELD(rl_profile, "name", FIELD_STRING, name),
    FIELD(rl_profile, "elapsed_s", FIELD_VALUE, elapsed_s),
    FIELD(rl_profile, "cpu_s", FIELD_VALUE, cpu_s),
    FIELD(rl_profile, "threads", FIELD_VALUE, threads),
    FIELD(rl_profile, "machine_name", FIELD_STRING, machine_name),
    FIELD(rl_profile, "machine_key", FIELD_STRING, machine_key),
    FIELD(rl_profile, "date", FIELD_STRING, date),
    FIELD(rl_profile, "program", FIELD_STRING, program),
};

static enum rl_status read_ops(json_t *item, void *kernel, const struct place *place,
                               struct rl_error *err)
{
    struct rl_op_count ops = {0};
    RL_TRY(read_fields(item, ops_fields, N_FIELDS(ops_fields), &ops, place, err));
    return rl_kernel_add_ops(kernel, &ops, err);
}

static enum rl_status read_traffic(json_t *item, void *kernel, const struct place *place,
                                   struct rl_error *err)
{
    struct rl_traffic traffic = {0};
    RL_TRY(read_fields(item, traffic_fields, N_FIELDS(traffic_fields), &traffic, place, err));
    if (!traffic.level[0])
        return fail_at(place, "level", "is missing", err);
    if (rl_kernel_find_traffic(kernel, traffic.level))
        return fail_at(place, "level", "stands twice", err);
    struct rl_traffic *slot;
    RL_TRY(rl_kernel_traffic(kernel, traffic.level, &slot, err));
    *slot = traffic;
    return RL_OK;
}

static enum rl_status read_parameters(json_t *object, struct rl_kernel *kernel,
                                      const struct place *place, struct rl_error *err)
{
    json_t *parameters = json_object_get(object, "parameters");
    if (parameters && !json_is_object(parameters))
        return fail_at(place, "parameters", "must be an object", err);
    const char *key;
    json_t *value;
    json_object_foreach(parameters, key, value)
    {
        if (!json_is_string(value))
            return fail_at(place, "parameters", "must hold texts only", err);
        RL_TRY(rl_kernel_set_parameter(kernel, key, json_string_value(value), err));
    }
    json_object_del(object, "parameters");
    return RL_OK;
}

static enum rl_status read_kernel(json_t *item, void *profile, const struct place *place,
                                  struct rl_error *err)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    if (!name)
        return fail_at(place, "name", "is missing or no text", err);
    struct rl_kernel *kernel;
    RL_TRY(rl_profile_add(profile, RL_KIND_FUNCTION, name, &kernel, err));
    json_object_del(item, "name");
    RL_TRY(read_fields(item, kernel_fields, N_FIELDS(kernel_fields), kernel, place, err));
    RL_TRY(read_list(item, "ops", read_ops, kernel, place, err));
    RL_TRY(read_list(item, "traffic", read_traffic, kernel, place, err));
    RL_TRY(read_parameters(item, kernel, place, err));
    RL_TRY(read_missing(item, &kernel->missing, place, err));
    return keep_extra(item, &kernel->extra, err);
}

/* Read a list of texts into an owned array, then remove it. */
static enum rl_status read_texts(json_t *root, const char *key, char ***list, size_t *n,
                                 const struct place *top, struct rl_error *err)
{
    json_t *array;
    RL_TRY(get_array(root, key, top, &array, err));
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item))
            return fail_at(top, key, "must hold texts only", err);
        char **slot = rl_array_append(list, n, sizeof *slot);
        if (!slot)
            return rl_fail(err, RL_ENOMEM, "no memory for a list of texts");
        RL_TRY(rl_string_set(slot, json_string_value(item), err));
    }
    json_object_del(root, key);
    return RL_OK;
}

static enum rl_status read_root(json_t *root, struct rl_profile *profile, const struct place *top,
                                struct rl_error *err)
{
    RL_TRY(read_fields(root, profile_fields, N_FIELDS(profile_fields), profile, top, err));
    json_t *exit_status = json_object_get(root, "exit_status");
    if (exit_status && !json_is_integer(exit_status))
        return fail_at(top, "exit_status", "must be a whole number", err);
    profile->has_exit_status = exit_status != NULL;
    profile->exit_status = (int)json_integer_value(exit_status);
    json_object_del(root, "exit_status");
    RL_TRY(read_texts(root, "command", &profile->command, &profile->n_command, top, err));
    RL_TRY(read_texts(root, "notes", &profile->note, &profile->n_note, top, err));
    RL_TRY(read_list(root, "kernels", read_kernel, profile, top, err));
    RL_TRY(read_missing(root, &profile->missing, top, err));
    return keep_extra(root, &profile->extra, err);
}

enum rl_status rl_profile_parse(const char *text, size_t size, const char *name,
                                struct rl_profile *ret_profile, struct rl_error *err)
{
    json_t *root;
    RL_TRY(load_document(text, size, name, "roofline-profile/1", &root, err));
    struct rl_profile profile = {0};
    struct place top = {.file = name};
    enum rl_status status = read_root(root, &profile, &top, err);
    json_decref(root);
    if (status == RL_OK)
        *ret_profile = profile;
    else
        rl_profile_release(&profile);
    return status;
}

static json_t *kernel_json(const struct rl_kernel *kernel)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_json(kernel->name));
    write_fields(object, kernel_fields, N_FIELDS(kernel_fields), kernel);
    if (kernel->n_parameter) {
        json_t *parameters = json_object();
        for (size_t i = 0; i < kernel->n_parameter; i++)
            json_object_set_new(parameters, kernel->parameter[i].key,
                                text_json(kernel->parameter[i].value));
        json_object_set_new(object, "parameters", parameters);
    }
    json_t *ops = json_array();
    for (size_t i = 0; i < kernel->n_ops; i++) {
        json_t *row = json_object();
        write_fields(row, ops_fields, N_FIELDS(ops_fields), &kernel->ops[i]);
        json_array_append_new(ops, row);
    }
    json_t *traffic = json_array();
    for (size_t i = 0; i < kernel->n_traffic; i++) {
        json_t *row = json_object();
        write_fields(row, traffic_fields, N_FIELDS(traffic_fields), &kernel->traffic[i]);
        json_array_append_new(traffic, row);
    }
    json_object_set_new(object, "ops", ops);
    json_object_set_new(object, "traffic", traffic);
    write_missing(object, &kernel->missing);
    restore_extra(object, kernel->extra);
    return object;
}

static void write_texts(json_t *root, const char *key, char *const *list, size_t n)
{
    if (n == 0)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, text_json(list[i]));
    json_object_set_new(root, key, array);
}

enum rl_status rl_profile_print(const struct rl_profile *profile, char **ret_text,
                                struct rl_error *err)
{
    json_t *root = json_pack("{s:s}", "schema", "roofline-profile/1");
    write_fields(root, profile_fields, N_FIELDS(profile_fields), profile);
    if (profile->has_exit_status)
        json_object_set_new(root, "exit_status", json_integer(profile->exit_status));
    write_texts(root, "command", profile->command, profile->n_command);
    write_texts(root, "notes", profile->note, profile->n_note);
    json_t *kernels = json_array();
    for (size_t i = 0; i < profile->n_kernel; i++)
        json_array_append_new(kernels, kernel_json(&profile->kernel[i]));
    json_object_set_new(root, "kernels", kernels);
    write_missing(root, &profile->missing);
    restore_extra(root, profile->extra);
    return dump_document(root, ret_text, err);
}

enum rl_status rl_profile_read(const char *path, struct rl_profile *ret_profile,
                               struct rl_error *err)
{
    char *text;
    size_t size;
    RL_TRY(rl_file_read(path, MAX_RECORD_BYTES, &text, &size, err));
    enum rl_status status = rl_profile_parse(text, size, path, ret_profile, err);
    free(text);
    return status;
}

enum rl_status rl_profile_write(const char *path, const struct rl_profile *profile,
                                struct rl_error *err)
{
    char *text;
    RL_TRY(rl_profile_print(profile, &text, err));
    enum rl_status status = rl_file_write(path, text, strlen(text), err);
    free(text);
    return status;
}
