/* What hardware counters depend on, read from /sys and /proc below a root that tests choose. */
#ifndef RL_COUNT_PERF_EVENT_HOST_H
#define RL_COUNT_PERF_EVENT_HOST_H

#include "cpu/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The machine as counters see it. Plain data. */
struct rl_pmu_host {
    char root[200];  /**< in front of /sys and /proc; "" is this machine */
    char maker[8];   /**< "intel", "amd", "arm"; "" unknown */
    unsigned family; /**< CPUID family, or MIDR_EL1 implementer */
    unsigned model;  /**< CPUID model, or MIDR_EL1 part */
    unsigned stepping;
    bool has_paranoid;  /**< `paranoid` was readable; else the kernel has no perf_event */
    int paranoid;       /**< kernel.perf_event_paranoid */
    bool is_privileged; /**< CAP_PERFMON or CAP_SYS_ADMIN */
    bool has_smt;       /**< sibling threads are switched on */
    bool has_watchdog;  /**< the NMI watchdog holds a counter */
    bool is_virtual;
    unsigned vector_bits; /**< widest vector in use: 256 or 512 on x86, the SVE length on Arm; 0:
                             none or not known */
    char kernel[64];      /**< release */
    char microcode[24];
    bool is_contradicted; /**< it offers instructions that the core it names never had: the events
                             of that core are not to be programmed */
};

/**
 * Look at a machine.
 * @param root  NULL: this one.
 * @param cpu   who the x86 processor is; on Arm MIDR_EL1 in sysfs tells.
 * @param ret   what cannot be read is unknown, never an error.
 */
void rl_pmu_host_detect(const char *root, const struct rl_cpu *cpu, struct rl_pmu_host *ret);

/** A PMU that the kernel offers: a folder of /sys/bus/event_source/devices. */
struct rl_pmu_device {
    char name[48];
    uint32_t type; /**< of perf_event_attr */
    char cpus[96]; /**< list of CPUs to open system-wide events on, or of the cores it belongs to;
                        "" none given */
};

/**
 * PMUs whose name fits.
 * @param pattern  a name, with one * at most, which stands for a number.
 * @param ret      [n_max], in order of name.
 * @return number found, n_max at most.
 */
size_t rl_pmu_devices(const struct rl_pmu_host *host, const char *pattern,
                      struct rl_pmu_device *ret, size_t n_max);

/**
 * The PMU of the cores of one kind.
 * @param kind  'P', 'E' or '-' as in data/events/cores.tsv.
 * @return false if the kernel offers none.
 */
bool rl_pmu_core_device(const struct rl_pmu_host *host, char kind, struct rl_pmu_device *ret);

/** How a kernel understands an event: every bit belongs to a field of its format/ folder.
 * @return NULL, or the name of what it lacks: "config" or "offcore_rsp". */
const char *rl_pmu_format_lacks(const struct rl_pmu_host *host, const char *device, uint64_t config,
                                uint64_t config1);

/** An event that the kernel names. */
struct rl_pmu_named {
    uint64_t config, config1;
    double bytes; /**< for one count, from its scale and unit; 0: not given */
};

/** @return false if there is none of that name, or its terms are not understood. */
bool rl_pmu_named_event(const struct rl_pmu_host *host, const char *device, const char *name,
                        struct rl_pmu_named *ret);

/** CPUs of a list such as "0,28-29". @param ret [n_max]. @return number, n_max at most. */
size_t rl_pmu_cpu_list(const char *text, int *ret, size_t n_max);

#endif
