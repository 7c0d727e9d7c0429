#include "base/array.h"
#include "base/error.h"

#include <roofline/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rl_status rl_string_set(char **field, const char *value, struct rl_error *err)
{
    char *copy = NULL;
    if (value && !(copy = strdup(value)))
        return rl_fail(err, RL_ENOMEM, "no memory for a text of %zu bytes", strlen(value));
    free(*field);
    *field = copy;
    return RL_OK;
}

bool rl_missing_has(const struct rl_missing_list *list, const char *what)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->item[i].what, what) == 0)
            return true;
    return false;
}

enum rl_status rl_missing_add(struct rl_missing_list *list, const char *what, const char *why,
                              struct rl_error *err)
{
    struct rl_missing entry = {0};
    RL_TRY(rl_string_set(&entry.what, what, err));
    enum rl_status status = rl_string_set(&entry.why, why, err);
    struct rl_missing *slot = NULL;
    if (status == RL_OK && !(slot = rl_array_append(&list->item, &list->n, sizeof *slot)))
        status = rl_fail(err, RL_ENOMEM, "no memory for a list entry");
    if (status != RL_OK) {
        free(entry.what);
        free(entry.why);
        return status;
    }
    *slot = entry;
    return RL_OK;
}

void rl_missing_release(struct rl_missing_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->item[i].what);
        free(list->item[i].why);
    }
    free(list->item);
    *list = (struct rl_missing_list){0};
}

static void release_cpu(struct rl_cpu_identity *cpu)
{
    free(cpu->vendor);
    free(cpu->model_name);
    free(cpu->microarchitecture);
    free(cpu->identity_note);
    free(cpu->isa);
}

static void release_topology(struct rl_topology *topology)
{
    free(topology->allowed_cpus);
    free(topology->core_kinds);
    free(topology->levels);
}

static void release_environment(struct rl_environment *env)
{
    char *owned[] = {env->os,       env->kernel, env->hypervisor, env->governor, env->thp,
                     env->hostname, env->date,   env->program,    env->mode,     env->contention};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

void rl_machine_release(struct rl_machine *machine)
{
    free(machine->name);
    free(machine->key);
    release_cpu(&machine->cpu);
    release_topology(&machine->topology);
    release_environment(&machine->environment);
    for (size_t i = 0; i < machine->n_compute; i++)
        free(machine->compute[i].extra);
    for (size_t i = 0; i < machine->n_memory; i++)
        free(machine->memory[i].extra);
    for (size_t i = 0; i < machine->n_latency; i++)
        free(machine->latency[i].extra);
    free(machine->compute);
    free(machine->memory);
    free(machine->latency);
    rl_missing_release(&machine->missing);
    free(machine->extra);
    *machine = (struct rl_machine){0};
}

const struct rl_compute_ceiling *rl_machine_compute(const struct rl_machine *machine,
                                                    const char *id)
{
    for (size_t i = 0; i < machine->n_compute; i++)
        if (strcmp(machine->compute[i].id, id) == 0)
            return &machine->compute[i];
    return NULL;
}

const struct rl_memory_ceiling *rl_machine_memory(const struct rl_machine *machine, const char *id)
{
    for (size_t i = 0; i < machine->n_memory; i++)
        if (strcmp(machine->memory[i].id, id) == 0)
            return &machine->memory[i];
    return NULL;
}

static const struct rl_latency *find_latency(const struct rl_machine *machine, const char *id)
{
    for (size_t i = 0; i < machine->n_latency; i++)
        if (strcmp(machine->latency[i].id, id) == 0)
            return &machine->latency[i];
    return NULL;
}

const struct rl_level *rl_machine_level(const struct rl_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->topology.n_levels; i++)
        if (strcmp(machine->topology.levels[i].name, name) == 0)
            return &machine->topology.levels[i];
    return NULL;
}

static enum rl_status fail_duplicate(const char *id, struct rl_error *err)
{
    return rl_fail(err, RL_EINVAL, "the machine record has a ceiling \"%s\" already", id);
}

static enum rl_status fail_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for a ceiling");
}

enum rl_status rl_machine_add_compute(struct rl_machine *machine,
                                      const struct rl_compute_ceiling *c, struct rl_error *err)
{
    struct rl_compute_ceiling copy = *c;
    if (!copy.id[0])
        snprintf(copy.id, sizeof copy.id, "%s.%s.%s@%u", rl_precision_name(c->precision), c->op,
                 c->isa, c->threads);
    if (rl_machine_compute(machine, copy.id))
        return fail_duplicate(copy.id, err);
    struct rl_compute_ceiling *slot =
        rl_array_append(&machine->compute, &machine->n_compute, sizeof *slot);
    if (!slot)
        return fail_memory(err);
    *slot = copy;
    return RL_OK;
}

enum rl_status rl_machine_add_memory(struct rl_machine *machine, const struct rl_memory_ceiling *m,
                                     struct rl_error *err)
{
    struct rl_memory_ceiling copy = *m;
    if (!copy.id[0])
        snprintf(copy.id, sizeof copy.id, "%s.%s@%u", m->level, m->pattern, m->threads);
    if (rl_machine_memory(machine, copy.id))
        return fail_duplicate(copy.id, err);
    struct rl_memory_ceiling *slot =
        rl_array_append(&machine->memory, &machine->n_memory, sizeof *slot);
    if (!slot)
        return fail_memory(err);
    *slot = copy;
    return RL_OK;
}

enum rl_status rl_machine_add_latency(struct rl_machine *machine, const struct rl_latency *l,
                                      struct rl_error *err)
{
    struct rl_latency copy = *l;
    if (!copy.id[0])
        snprintf(copy.id, sizeof copy.id, "%s@%u", l->level, l->threads);
    if (find_latency(machine, copy.id))
        return fail_duplicate(copy.id, err);
    struct rl_latency *slot = rl_array_append(&machine->latency, &machine->n_latency, sizeof *slot);
    if (!slot)
        return fail_memory(err);
    *slot = copy;
    return RL_OK;
}

enum rl_status rl_machine_add_level(struct rl_machine *machine, const struct rl_level *level,
                                    struct rl_error *err)
{
    struct rl_topology *topology = &machine->topology;
    struct rl_level *slot = rl_array_append(&topology->levels, &topology->n_levels, sizeof *slot);
    if (!slot)
        return fail_memory(err);
    *slot = *level;
    return RL_OK;
}

int rl_level_rank(const char *level)
{
    enum { RANK_OTHER = 50, RANK_MEMORY = 100 };
    if (level[0] == 'L' && level[1] >= '1' && level[1] <= '9' && !level[2])
        return level[1] - '0';
    if (strcmp(level, "DRAM") == 0 || strcmp(level, "HBM") == 0)
        return RANK_MEMORY;
    return RANK_OTHER;
}
