#include "workload/resources.h"

#include "base/error.h"
#include "cpu/cpu.h"
#include "workload/workload.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rl_status rl_work_isa_mask(const char *mask, unsigned *ret_isa_mask, struct rl_error *err)
{
    struct rl_cpu cpu;
    RL_TRY(rl_cpu_detect(mask, &cpu, err));
    unsigned isas = 1u << RL_WORK_BASE;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX2) && rl_cpu_usable(&cpu, RL_ISA_FMA))
        isas |= 1u << RL_WORK_AVX2;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX512))
        isas |= 1u << RL_WORK_AVX512;
    *ret_isa_mask = isas;
    return RL_OK;
}

enum rl_status rl_work_cpus(int **ret_cpu, unsigned *ret_n, struct rl_error *err)
{
    enum { MOST_CPUS = 8192 };
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t set_bytes = CPU_ALLOC_SIZE(MOST_CPUS);
    int *cpu = calloc(MOST_CPUS, sizeof *cpu);
    if (!set || !cpu || sched_getaffinity(0, set_bytes, set) != 0) {
        CPU_FREE(set);
        free(cpu);
        return rl_fail_errno(err, "cannot ask which CPUs are allowed");
    }
    unsigned n = 0;
    for (int i = 0; i < MOST_CPUS; i++)
        if (CPU_ISSET_S((size_t)i, set_bytes, set))
            cpu[n++] = i;
    CPU_FREE(set);
    *ret_cpu = cpu;
    *ret_n = n;
    return RL_OK;
}

/* A number from a file of one line; UINT64_MAX for "max" or when there is none. */
static uint64_t read_number(const char *path)
{
    uint64_t value = UINT64_MAX;
    FILE *f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%" SCNu64, &value) != 1)
            value = UINT64_MAX;
        fclose(f);
    }
    return value;
}

static uint64_t available_in_system(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* The folder of this process in the cgroup hierarchy mounted at `root`; the root itself when the
 * line is not there (a container that sees only its own). */
static void cgroup_limit(const char *prefix, const char *root, const char *limit_file,
                         const char *usage_file, uint64_t *least)
{
    char line[512], path[1100];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0 && !strstr(line, ":memory:"))
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *folder = strrchr(line, ':') + 1;
        const char *const at[] = {folder, ""};
        for (unsigned i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s%s/%s", root, at[i], limit_file);
            uint64_t limit = read_number(path);
            snprintf(path, sizeof path, "%s%s/%s", root, at[i], usage_file);
            uint64_t usage = read_number(path);
            if (limit < UINT64_MAX && usage < UINT64_MAX) {
                uint64_t left = limit > usage ? limit - usage : 0;
                *least = left < *least ? left : *least;
            }
        }
    }
    if (f)
        fclose(f);
}

uint64_t rl_work_memory_available(void)
{
    uint64_t system = available_in_system();
    uint64_t least = system ? system : UINT64_MAX;
    cgroup_limit("0::", "/sys/fs/cgroup", "memory.max", "memory.current", &least);
    cgroup_limit("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                 "memory.usage_in_bytes", &least);
    return least == UINT64_MAX ? 0 : least;
}
