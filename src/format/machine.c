#include "base/error.h"
#include "base/file.h"
#include "format/document.h"
#include "format/format.h"

#include <stdlib.h>
#include <string.h>

static const struct field compute_fields[] = {
    FIELD_TEXT(rl_compute_ceiling, "id", id),
    FIELD(rl_compute_ceiling, "precision", FIELD_PRECISION, precision),
    FIELD_TEXT(rl_compute_ceiling, "op", op),
    FIELD_TEXT(rl_compute_ceiling, "isa", isa),
    FIELD(rl_compute_ceiling, "threads", FIELD_UINT, threads),
    FIELD_TEXT(rl_compute_ceiling, "unit", unit),
    FIELD(rl_compute_ceiling, "rate", FIELD_VALUE, rate),
    FIELD(rl_compute_ceiling, "per_cycle", FIELD_NUMBER, per_cycle),
    FIELD(rl_compute_ceiling, "limit_per_cycle", FIELD_NUMBER, limit_per_cycle),
    FIELD(rl_compute_ceiling, "reachable_per_cycle", FIELD_NUMBER, reachable_per_cycle),
    FIELD_TEXT(rl_compute_ceiling, "limit_note", limit_note),
    FIELD(rl_compute_ceiling, "clock_hz", FIELD_NUMBER, clock_hz),
    FIELD(rl_compute_ceiling, "repeats", FIELD_UINT, repeats),
    FIELD(rl_compute_ceiling, "contended", FIELD_BOOL, contended),
    FIELD_TEXT(rl_compute_ceiling, "accuracy", accuracy),
    FIELD_TEXT(rl_compute_ceiling, "variant", variant),
};

static const struct field memory_fields[] = {
    FIELD_TEXT(rl_memory_ceiling, "id", id),
    FIELD_TEXT(rl_memory_ceiling, "level", level),
    FIELD_TEXT(rl_memory_ceiling, "pattern", pattern),
    FIELD(rl_memory_ceiling, "threads", FIELD_UINT, threads),
    FIELD(rl_memory_ceiling, "rate", FIELD_VALUE, rate),
    FIELD(rl_memory_ceiling, "per_cycle", FIELD_NUMBER, per_cycle),
    FIELD(rl_memory_ceiling, "limit_per_cycle", FIELD_NUMBER, limit_per_cycle),
    FIELD(rl_memory_ceiling, "reachable_per_cycle", FIELD_NUMBER, reachable_per_cycle),
    FIELD_TEXT(rl_memory_ceiling, "limit_note", limit_note),
    FIELD(rl_memory_ceiling, "clock_hz", FIELD_NUMBER, clock_hz),
    FIELD(rl_memory_ceiling, "repeats", FIELD_UINT, repeats),
    FIELD(rl_memory_ceiling, "contended", FIELD_BOOL, contended),
    FIELD(rl_memory_ceiling, "working_set_bytes", FIELD_U64, working_set_bytes),
    FIELD_TEXT(rl_memory_ceiling, "variant", variant),
};

static const struct field latency_fields[] = {
    FIELD_TEXT(rl_latency, "id", id),
    FIELD_TEXT(rl_latency, "level", level),
    FIELD(rl_latency, "threads", FIELD_UINT, threads),
    FIELD(rl_latency, "time_s", FIELD_VALUE, time_s),
    FIELD(rl_latency, "cycles", FIELD_NUMBER, cycles),
    FIELD(rl_latency, "working_set_bytes", FIELD_U64, working_set_bytes),
};

static const struct field level_fields[] = {
    FIELD_TEXT(rl_level, "name", name),
    FIELD(rl_level, "size_bytes", FIELD_U64, size_bytes),
    FIELD(rl_level, "reported_size_bytes", FIELD_U64, reported_size_bytes),
    FIELD(rl_level, "measured_size_bytes", FIELD_U64, measured_size_bytes),
    FIELD(rl_level, "line_bytes", FIELD_UINT, line_bytes),
    FIELD(rl_level, "ways", FIELD_UINT, ways),
    FIELD(rl_level, "shared_by", FIELD_UINT, shared_by),
    FIELD(rl_level, "count", FIELD_UINT, count),
    FIELD(rl_level, "source", FIELD_SOURCE, source),
};

static const struct field cpu_fields[] = {
    FIELD(rl_cpu_identity, "vendor", FIELD_STRING, vendor),
    FIELD(rl_cpu_identity, "model_name", FIELD_STRING, model_name),
    FIELD(rl_cpu_identity, "microarchitecture", FIELD_STRING, microarchitecture),
    FIELD(rl_cpu_identity, "family", FIELD_UINT, family),
    FIELD(rl_cpu_identity, "model", FIELD_UINT, model),
    FIELD(rl_cpu_identity, "stepping", FIELD_UINT, stepping),
    FIELD(rl_cpu_identity, "identity_note", FIELD_STRING, identity_note),
    FIELD(rl_cpu_identity, "isa", FIELD_STRING, isa),
};

static const struct field topology_fields[] = {
    FIELD(rl_topology, "packages", FIELD_UINT, packages),
    FIELD(rl_topology, "cores", FIELD_UINT, cores),
    FIELD(rl_topology, "hw_threads", FIELD_UINT, hw_threads),
    FIELD(rl_topology, "numa_nodes", FIELD_UINT, numa_nodes),
    FIELD(rl_topology, "smt", FIELD_UINT, smt),
    FIELD(rl_topology, "usable_cores", FIELD_UINT, usable_cores),
    FIELD(rl_topology, "allowed_cpus", FIELD_STRING, allowed_cpus),
    FIELD(rl_topology, "core_kinds", FIELD_STRING, core_kinds),
    FIELD(rl_topology, "memory_bytes", FIELD_U64, memory_bytes),
};

static const struct field environment_fields[] = {
    FIELD(rl_environment, "os", FIELD_STRING, os),
    FIELD(rl_environment, "kernel", FIELD_STRING, kernel),
    FIELD(rl_environment, "hypervisor", FIELD_STRING, hypervisor),
    FIELD(rl_environment, "governor", FIELD_STRING, governor),
    FIELD(rl_environment, "thp", FIELD_STRING, thp),
    FIELD(rl_environment, "hostname", FIELD_STRING, hostname),
    FIELD(rl_environment, "clock_min_hz", FIELD_NUMBER, clock_min_hz),
    FIELD(rl_environment, "clock_max_hz", FIELD_NUMBER, clock_max_hz),
    FIELD(rl_environment, "tsc_hz", FIELD_NUMBER, tsc_hz),
    FIELD(rl_environment, "cpu_quota", FIELD_NUMBER, cpu_quota),
    FIELD(rl_environment, "memory_limit_bytes", FIELD_U64, memory_limit_bytes),
    FIELD(rl_environment, "date", FIELD_STRING, date),
    FIELD(rl_environment, "program", FIELD_STRING, program),
    FIELD(rl_environment, "mode", FIELD_STRING, mode),
    FIELD(rl_environment, "elapsed_s", FIELD_NUMBER, elapsed_s),
    FIELD(rl_environment, "contention", FIELD_STRING, contention),
};

static const struct field machine_fields[] = {
    FIELD(rl_machine, "name", FIELD_STRING, name),
    FIELD(rl_machine, "key", FIELD_STRING, key),
};

static enum rl_status read_compute(json_t *item, void *machine, const struct place *place,
                                   struct rl_error *err)
{
    struct rl_compute_ceiling c = {0};
    RL_TRY(read_fields(item, compute_fields, N_FIELDS(compute_fields), &c, place, err));
    RL_TRY(keep_extra(item, &c.extra, err));
    enum rl_status status = rl_machine_add_compute(machine, &c, err);
    if (status != RL_OK)
        free(c.extra);
    return status == RL_EINVAL ? fail_at(place, "id", "stands twice", err) : status;
}

static enum rl_status read_memory(json_t *item, void *machine, const struct place *place,
                                  struct rl_error *err)
{
    struct rl_memory_ceiling m = {0};
    RL_TRY(read_fields(item, memory_fields, N_FIELDS(memory_fields), &m, place, err));
    RL_TRY(keep_extra(item, &m.extra, err));
    enum rl_status status = rl_machine_add_memory(machine, &m, err);
    if (status != RL_OK)
        free(m.extra);
    return status == RL_EINVAL ? fail_at(place, "id", "stands twice", err) : status;
}

static enum rl_status read_latency(json_t *item, void *machine, const struct place *place,
                                   struct rl_error *err)
{
    struct rl_latency l = {0};
    RL_TRY(read_fields(item, latency_fields, N_FIELDS(latency_fields), &l, place, err));
    RL_TRY(keep_extra(item, &l.extra, err));
    enum rl_status status = rl_machine_add_latency(machine, &l, err);
    if (status != RL_OK)
        free(l.extra);
    return status == RL_EINVAL ? fail_at(place, "id", "stands twice", err) : status;
}

static enum rl_status read_level(json_t *item, void *machine, const struct place *place,
                                 struct rl_error *err)
{
    struct rl_level level = {0};
    RL_TRY(read_fields(item, level_fields, N_FIELDS(level_fields), &level, place, err));
    return rl_machine_add_level(machine, &level, err);
}

/* Read a nested object's fields; an absent object is fine. Keys left in it stay for `extra`. */
static enum rl_status read_nested(json_t *root, const char *key, const struct field *fields,
                                  size_t n, void *base, const struct place *top,
                                  struct rl_error *err)
{
    json_t *object = json_object_get(root, key);
    if (!object)
        return RL_OK;
    struct place place = {.file = top->file};
    snprintf(place.path, sizeof place.path, "%s", key);
    RL_TRY(read_fields(object, fields, n, base, &place, err));
    return RL_OK;
}

static enum rl_status read_root(json_t *root, struct rl_machine *machine, const struct place *top,
                                struct rl_error *err)
{
    RL_TRY(read_fields(root, machine_fields, N_FIELDS(machine_fields), machine, top, err));
    RL_TRY(read_nested(root, "cpu", cpu_fields, N_FIELDS(cpu_fields), &machine->cpu, top, err));
    RL_TRY(read_nested(root, "topology", topology_fields, N_FIELDS(topology_fields),
                       &machine->topology, top, err));
    RL_TRY(read_nested(root, "environment", environment_fields, N_FIELDS(environment_fields),
                       &machine->environment, top, err));
    json_t *topology = json_object_get(root, "topology");
    if (topology) {
        struct place place = {.file = top->file, .path = "topology"};
        RL_TRY(read_list(topology, "levels", read_level, machine, &place, err));
    }
    RL_TRY(read_list(root, "compute", read_compute, machine, top, err));
    RL_TRY(read_list(root, "memory", read_memory, machine, top, err));
    RL_TRY(read_list(root, "latency", read_latency, machine, top, err));
    RL_TRY(read_missing(root, &machine->missing, top, err));
    static const char *const nested[] = {"cpu", "topology", "environment"};
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++)
        if (json_object_size(json_object_get(root, nested[i])) == 0)
            json_object_del(root, nested[i]);
    return keep_extra(root, &machine->extra, err);
}

enum rl_status rl_machine_parse(const char *text, size_t size, const char *name,
                                struct rl_machine *ret_machine, struct rl_error *err)
{
    json_t *root;
    RL_TRY(load_document(text, size, name, "roofline-machine/1", &root, err));
    struct rl_machine machine = {0};
    struct place top = {.file = name};
    enum rl_status status = read_root(root, &machine, &top, err);
    json_decref(root);
    if (status == RL_OK)
        *ret_machine = machine;
    else
        rl_machine_release(&machine);
    return status;
}

/* One object with a struct's fields and its unknown keys. */
static json_t *object_of(const struct field *fields, size_t n, const void *base, const char *extra)
{
    json_t *object = json_object();
    write_fields(object, fields, n, base);
    restore_extra(object, extra);
    return object;
}

static json_t *topology_json(const struct rl_machine *machine)
{
    const struct rl_topology *topology = &machine->topology;
    json_t *object = object_of(topology_fields, N_FIELDS(topology_fields), topology, NULL);
    json_t *levels = json_array();
    for (size_t i = 0; i < topology->n_levels; i++)
        json_array_append_new(
            levels, object_of(level_fields, N_FIELDS(level_fields), &topology->levels[i], NULL));
    json_object_set_new(object, "levels", levels);
    return object;
}

enum rl_status rl_machine_print(const struct rl_machine *machine, char **ret_text,
                                struct rl_error *err)
{
    json_t *root = json_pack("{s:s}", "schema", "roofline-machine/1");
    write_fields(root, machine_fields, N_FIELDS(machine_fields), machine);
    json_object_set_new(root, "cpu",
                        object_of(cpu_fields, N_FIELDS(cpu_fields), &machine->cpu, NULL));
    json_object_set_new(root, "topology", topology_json(machine));
    json_object_set_new(
        root, "environment",
        object_of(environment_fields, N_FIELDS(environment_fields), &machine->environment, NULL));
    json_t *compute = json_array();
    for (size_t i = 0; i < machine->n_compute; i++)
        json_array_append_new(compute, object_of(compute_fields, N_FIELDS(compute_fields),
                                                 &machine->compute[i], machine->compute[i].extra));
    json_t *memory = json_array();
    for (size_t i = 0; i < machine->n_memory; i++)
        json_array_append_new(memory, object_of(memory_fields, N_FIELDS(memory_fields),
                                                &machine->memory[i], machine->memory[i].extra));
    json_t *latency = json_array();
    for (size_t i = 0; i < machine->n_latency; i++)
        json_array_append_new(latency, object_of(latency_fields, N_FIELDS(latency_fields),
                                                 &machine->latency[i], machine->latency[i].extra));
    json_object_set_new(root, "compute", compute);
    json_object_set_new(root, "memory", memory);
    json_object_set_new(root, "latency", latency);
    write_missing(root, &machine->missing);
    restore_extra(root, machine->extra);
    return dump_document(root, ret_text, err);
}

enum rl_status rl_machine_read(const char *path, struct rl_machine *ret_machine,
                               struct rl_error *err)
{
    char *text;
    size_t size;
    RL_TRY(rl_file_read(path, MAX_RECORD_BYTES, &text, &size, err));
    enum rl_status status = rl_machine_parse(text, size, path, ret_machine, err);
    free(text);
    return status;
}

enum rl_status rl_machine_write(const char *path, const struct rl_machine *machine,
                                struct rl_error *err)
{
    char *text;
    RL_TRY(rl_machine_print(machine, &text, err));
    enum rl_status status = rl_file_write(path, text, strlen(text), err);
    free(text);
    return status;
}
