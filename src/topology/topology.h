/* What the machine consists of and what of it this process may use.
 *
 * Hardware from hwloc; what is granted from affinity, cpuset and cgroups. Every source can be
 * replaced by a recorded one, so that foreign machines are tested anywhere. */
#ifndef RL_TOPOLOGY_TOPOLOGY_H
#define RL_TOPOLOGY_TOPOLOGY_H

#include "cpu/cpu.h"

#include <roofline/error.h>
#include <roofline/machine.h>
#include <stdbool.h>
#include <stddef.h>

/** One hardware thread this process may run on. */
struct rl_place_cpu {
    int cpu;       /**< operating-system number */
    unsigned core; /**< counts usable cores from 0 */
    unsigned
        sibling;   /**< 0 for the first usable hardware thread of its core, 1 for the second, … */
    unsigned kind; /**< kind of core, 0 the most capable; see rl_places.n_kinds */
    unsigned node; /**< memory node, operating-system number */
    unsigned package;
};

/** Usable hardware threads, in order of core and sibling. All-zero is valid and empty. */
struct rl_places {
    struct rl_place_cpu *cpu; /**< [n] */
    size_t n;
    unsigned n_cores;
    unsigned n_kinds; /**< 1 unless the processor is a hybrid */
};

void rl_places_release(struct rl_places *places);

/**
 * CPUs for `threads` threads: one a core first, most capable kind first, spread over the packages
 * as numbered; siblings only when every core has a thread.
 *
 * @param ret_cpu  [threads].
 * @return RL_OK; RL_EINVAL for 0 threads or more than places->n.
 */
enum rl_status rl_places_pick(const struct rl_places *places, unsigned threads, int *ret_cpu,
                              struct rl_error *err);

/** Where facts come from. All-zero: this machine. */
struct rl_topology_source {
    const char *hwloc_xml; /**< topology file instead of the machine; then affinity is not asked */
    const char *root;      /**< folder in front of /proc, /sys and /etc; NULL: none */
};

/**
 * Describe the machine.
 *
 * @param source   NULL: this machine.
 * @param cpu      from rl_cpu_detect; fills the record's identity.
 * @param machine  cpu, topology (levels as the system reports them), environment, name and key are
 *                 written, other fields left alone.
 * @param ret_places  release with rl_places_release.
 * @return RL_OK; RL_ESYS, RL_EDATA if hwloc cannot load; RL_ENODATA if no CPU may be used;
 *         RL_ENOMEM. On failure the record may be partly filled; release it.
 */
enum rl_status rl_topology_detect(const struct rl_topology_source *source, const struct rl_cpu *cpu,
                                  struct rl_machine *machine, struct rl_places *ret_places,
                                  struct rl_error *err);

/**
 * Whether `part` is the hardware of `whole` with no more CPUs allowed: what MPI's launchers or
 * taskset leave to a process. Both as rl_topology_detect describes them; another quota is another
 * machine.
 */
bool rl_machine_is_part(const struct rl_machine *part, const struct rl_machine *whole);

/** Bytes this process may still allocate: available memory, cut by the cgroup's limit less its use;
 * 0 when neither can be read. */
uint64_t rl_memory_available(const struct rl_topology_source *source);

#endif
