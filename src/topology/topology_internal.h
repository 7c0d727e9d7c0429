/* Between the files of this folder. */
#ifndef RL_TOPOLOGY_TOPOLOGY_INTERNAL_H
#define RL_TOPOLOGY_TOPOLOGY_INTERNAL_H

#include "topology/topology.h"

/** First line of "<root><path>" without its newline; "" if it cannot be read. */
void rl_read_line(const char *root, const char *path, char *buffer, size_t n_buffer);

/** The value behind "key" and separators on the first line that starts with it; "" if none. */
void rl_read_key(const char *root, const char *path, const char *key, char *buffer,
                 size_t n_buffer);

/** What the control groups of this process grant. */
struct rl_cgroup {
    double cpu_quota;            /**< CPUs; 0 no quota */
    uint64_t memory_limit_bytes; /**< 0 no limit */
    uint64_t memory_used_bytes;  /**< of the group with the least left; 0 unknown */
};

/** Version 1 and 2; the tightest limit between the process's group and the root counts. */
struct rl_cgroup rl_cgroup_read(const char *root);

/** Governor, huge pages, system, kernel, host name, quota and limit. */
enum rl_status rl_environment_read(const char *root, const struct rl_cpu *cpu,
                                   struct rl_environment *env, struct rl_error *err);

/** Of what the key is made of all but the CPUs that may be used. */
uint64_t rl_machine_hardware(const struct rl_machine *machine);

/** Replace machine->key by one computed from what identifies the machine and what is granted. */
enum rl_status rl_machine_set_key(struct rl_machine *machine, struct rl_error *err);

#endif
