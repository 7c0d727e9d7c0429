#include "topology/topology_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 256 };

/* Version 1 writes its "no limit" as the largest multiple of a page. */
static const uint64_t no_limit_v1 = UINT64_C(1) << 62;

void rl_read_line(const char *root, const char *path, char *buffer, size_t n_buffer)
{
    char full[PATH_BYTES];
    buffer[0] = '\0';
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full)
        return;
    FILE *file = fopen(full, "re");
    if (!file)
        return;
    if (!fgets(buffer, (int)n_buffer, file))
        buffer[0] = '\0';
    fclose(file);
    buffer[strcspn(buffer, "\n")] = '\0';
}

void rl_read_key(const char *root, const char *path, const char *key, char *buffer, size_t n_buffer)
{
    char full[PATH_BYTES];
    char line[PATH_BYTES];
    buffer[0] = '\0';
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full)
        return;
    FILE *file = fopen(full, "re");
    if (!file)
        return;
    while (!buffer[0] && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strlen(key);
        value += strspn(value, "=: \t\"");
        snprintf(buffer, n_buffer, "%.*s", (int)strcspn(value, "\"\n"), value);
    }
    fclose(file);
}

/* A group's folder, and how far up its parents reach. */
struct group {
    char mount[PATH_BYTES];
    char path[PATH_BYTES]; /* below the mount, "" for its top */
};

static void up(struct group *group)
{
    char *slash = strrchr(group->path, '/');
    if (slash)
        *slash = '\0';
    else
        group->path[0] = '\0';
}

static void read_in(const char *root, const struct group *group, const char *file, char *text)
{
    char path[2 * PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s/%s", group->mount, group->path, file);
    rl_read_line(root, path, text, TEXT_BYTES);
}

/* Path of this process's group in the hierarchy with `controller`; version 2 has the empty name. */
static bool own_path(const char *root, const char *controller, char *path, size_t n_path)
{
    char full[PATH_BYTES];
    char line[PATH_BYTES];
    bool found = false;
    snprintf(full, sizeof full, "%s/proc/self/cgroup", root);
    FILE *file = fopen(full, "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        size_t n = strlen(controller);
        for (char *word = list + 1; word && !found;) {
            size_t length = strcspn(word, ",");
            found = length == n && strncmp(word, controller, n) == 0;
            word = word[length] ? word + length + 1 : NULL;
        }
        if (found)
            snprintf(path, n_path, "%s", strcmp(group, "/") == 0 ? "" : group);
    }
    fclose(file);
    return found;
}

static void tighten(double *limit, double value)
{
    if (value > 0 && (*limit <= 0 || value < *limit))
        *limit = value;
}

static void take_memory(struct rl_cgroup *limits, double limit, double used)
{
    double left = limit - used;
    double had_left = (double)limits->memory_limit_bytes - (double)limits->memory_used_bytes;
    if (limits->memory_limit_bytes == 0 || left < had_left) {
        limits->memory_limit_bytes = (uint64_t)limit;
        limits->memory_used_bytes = used > 0 ? (uint64_t)used : 0;
    }
}

/* "max 100000" or "50000 100000". */
static double quota_v2(const char *text)
{
    unsigned long long quota;
    unsigned long long period;
    if (sscanf(text, "%llu %llu", &quota, &period) != 2 || period == 0)
        return 0;
    return (double)quota / (double)period;
}

static void read_v2(const char *root, struct group group, struct rl_cgroup *limits)
{
    for (;;) {
        char text[TEXT_BYTES];
        char used[TEXT_BYTES];
        read_in(root, &group, "cpu.max", text);
        tighten(&limits->cpu_quota, quota_v2(text));
        read_in(root, &group, "memory.max", text);
        read_in(root, &group, "memory.current", used);
        if (text[0] >= '0' && text[0] <= '9')
            take_memory(limits, (double)strtoull(text, NULL, 10), (double)strtoull(used, NULL, 10));
        if (!group.path[0])
            return;
        up(&group);
    }
}

static void read_cpu_v1(const char *root, struct group group, struct rl_cgroup *limits)
{
    for (;;) {
        char quota[TEXT_BYTES];
        char period[TEXT_BYTES];
        read_in(root, &group, "cpu.cfs_quota_us", quota);
        read_in(root, &group, "cpu.cfs_period_us", period);
        double q = strtod(quota, NULL);
        double p = strtod(period, NULL);
        if (q > 0 && p > 0)
            tighten(&limits->cpu_quota, q / p);
        if (!group.path[0])
            return;
        up(&group);
    }
}

static void read_memory_v1(const char *root, struct group group, struct rl_cgroup *limits)
{
    for (;;) {
        char text[TEXT_BYTES];
        char used[TEXT_BYTES];
        read_in(root, &group, "memory.limit_in_bytes", text);
        read_in(root, &group, "memory.usage_in_bytes", used);
        unsigned long long limit = strtoull(text, NULL, 10);
        if (limit > 0 && limit < no_limit_v1)
            take_memory(limits, (double)limit, (double)strtoull(used, NULL, 10));
        if (!group.path[0])
            return;
        up(&group);
    }
}

/* Inside a container the own path often names a folder of the host; then the mount's top is the
 * container's group. */
static void settle(const char *root, struct group *group, const char *file)
{
    char text[TEXT_BYTES];
    read_in(root, group, file, text);
    if (!text[0])
        group->path[0] = '\0';
}

static void try_mounts(const char *root, const char *controller, const char *const *mounts,
                       const char *file,
                       void (*read)(const char *, struct group, struct rl_cgroup *),
                       struct rl_cgroup *limits)
{
    for (; *mounts; mounts++) {
        struct group group;
        snprintf(group.mount, sizeof group.mount, "%s", *mounts);
        if (!own_path(root, controller, group.path, sizeof group.path))
            group.path[0] = '\0';
        settle(root, &group, file);
        read(root, group, limits);
    }
}

struct rl_cgroup rl_cgroup_read(const char *root)
{
    static const char *const unified[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL};
    static const char *const cpu[] = {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu", NULL};
    static const char *const memory[] = {"/sys/fs/cgroup/memory", NULL};
    struct rl_cgroup limits = {0};
    try_mounts(root, "", unified, "cgroup.controllers", read_v2, &limits);
    try_mounts(root, "cpu", cpu, "cpu.cfs_period_us", read_cpu_v1, &limits);
    try_mounts(root, "memory", memory, "memory.limit_in_bytes", read_memory_v1, &limits);
    return limits;
}
