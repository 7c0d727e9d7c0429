#include "base/error.h"
#include "topology/topology_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { TEXT_BYTES = 256 };

/* "always [madvise] never" -> "madvise". */
static void pick_bracketed(char *text)
{
    char *open = strchr(text, '[');
    char *close = open ? strchr(open, ']') : NULL;
    if (!close)
        return;
    *close = '\0';
    memmove(text, open + 1, strlen(open + 1) + 1);
}

static enum rl_status set(char **field, const char *text, struct rl_error *err)
{
    return rl_string_set(field, text[0] ? text : NULL, err);
}

static enum rl_status read_system(const char *root, struct rl_environment *env,
                                  struct rl_error *err)
{
    char text[TEXT_BYTES];
    struct utsname names;
    rl_read_key(root, "/etc/os-release", "PRETTY_NAME", text, sizeof text);
    RL_TRY(set(&env->os, text, err));
    if (uname(&names) != 0)
        return RL_OK;
    snprintf(text, sizeof text, "%s %s", names.sysname, names.release);
    RL_TRY(set(&env->kernel, text, err));
    return set(&env->hostname, names.nodename, err);
}

enum rl_status rl_environment_read(const char *root, const struct rl_cpu *cpu,
                                   struct rl_environment *env, struct rl_error *err)
{
    char text[TEXT_BYTES];
    RL_TRY(read_system(root, env, err));
    RL_TRY(set(&env->hypervisor, cpu->hypervisor, err));
    rl_read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    RL_TRY(set(&env->governor, text, err));
    rl_read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    pick_bracketed(text);
    RL_TRY(set(&env->thp, text, err));
    struct rl_cgroup limits = rl_cgroup_read(root);
    env->cpu_quota = limits.cpu_quota;
    env->memory_limit_bytes = limits.memory_limit_bytes;
    return RL_OK;
}

uint64_t rl_memory_available(const struct rl_topology_source *source)
{
    const char *root = source && source->root ? source->root : "";
    char text[TEXT_BYTES];
    rl_read_key(root, "/proc/meminfo", "MemAvailable", text, sizeof text);
    uint64_t available = (uint64_t)strtoull(text, NULL, 10) * 1024;
    struct rl_cgroup limits = rl_cgroup_read(root);
    if (limits.memory_limit_bytes == 0)
        return available;
    uint64_t left = limits.memory_limit_bytes > limits.memory_used_bytes
                        ? limits.memory_limit_bytes - limits.memory_used_bytes
                        : 1;
    return available == 0 || left < available ? left : available;
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xFF) * UINT64_C(1099511628211);
}

/* Memory counts in GiB: what firmware and kernel keep for themselves differs from boot to boot.
 * How many caches there are depends on the CPUs that may be used. */
static uint64_t hash_machine(const struct rl_machine *machine, bool with_allowed)
{
    const struct rl_cpu_identity *cpu = &machine->cpu;
    const struct rl_topology *topology = &machine->topology;
    uint64_t hash = UINT64_C(14695981039346656037);
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s %u %u %u", cpu->vendor ? cpu->vendor : "", cpu->family,
             cpu->model, cpu->stepping);
    hash = hash_text(hash, text);
    hash = hash_text(hash, cpu->model_name ? cpu->model_name : "");
    hash = hash_text(hash, cpu->isa ? cpu->isa : "");
    for (size_t i = 0; i < topology->n_levels; i++) {
        const struct rl_level *level = &topology->levels[i];
        if (rl_level_rank(level->name) >= 100)
            continue;
        snprintf(text, sizeof text, "%s %llu %u", level->name,
                 (unsigned long long)level->reported_size_bytes, with_allowed ? level->count : 0);
        hash = hash_text(hash, text);
    }
    snprintf(text, sizeof text, "%llu GiB, quota %.0f",
             (unsigned long long)((topology->memory_bytes + (UINT64_C(1) << 29)) >> 30),
             100 * machine->environment.cpu_quota);
    hash = hash_text(hash, text);
    if (with_allowed)
        hash = hash_text(hash, topology->allowed_cpus ? topology->allowed_cpus : "");
    return hash_text(hash, machine->environment.hypervisor ? machine->environment.hypervisor : "");
}

uint64_t rl_machine_hardware(const struct rl_machine *machine)
{
    return hash_machine(machine, false);
}

enum rl_status rl_machine_set_key(struct rl_machine *machine, struct rl_error *err)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%uc-%016llx", machine->topology.usable_cores,
             (unsigned long long)hash_machine(machine, true));
    return rl_string_set(&machine->key, text, err);
}
