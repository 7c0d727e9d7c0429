#include "sample/collect.h"
#include "base/array.h"
#include "base/error.h"
#include "sample/buildid.h"
#include "sample/index.h"
#include "sample/timeline.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <roofline/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mapping {
    uint64_t start, end, file_offset;
    uint32_t module;
};

/** The address space of one live process. */
struct space {
    int32_t pid;
    uint32_t process; /**< its present image */
    struct mapping *map;
    size_t n_map;
};

struct collector {
    struct rl_samples *out;
    struct timeline *timeline;
    uint64_t start_ns;
    struct space *space;
    size_t n_space;
    struct index_table spaces, modules, threads, buckets;
    int program_plus_one; /**< descriptor of the program's file; 0: none */
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for samples");
}

enum rl_status collector_new(struct rl_samples *samples, uint64_t period_ns, size_t max_points,
                             struct collector **ret, struct rl_error *err)
{
    struct collector *c = calloc(1, sizeof *c);
    if (!c)
        return no_memory(err);
    c->out = samples;
    enum rl_status status = timeline_new(samples, period_ns, max_points, &c->timeline, err);
    if (status != RL_OK) {
        free(c);
        return status;
    }
    *ret = c;
    return RL_OK;
}

void collector_free(struct collector *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_space; i++)
        free(c->space[i].map);
    free(c->space);
    index_release(&c->spaces);
    index_release(&c->modules);
    index_release(&c->threads);
    index_release(&c->buckets);
    timeline_free(c->timeline);
    if (c->program_plus_one)
        close(c->program_plus_one - 1);
    free(c);
}

void collector_hold_program(struct collector *c, int32_t pid)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
    if (!c->program_plus_one)
        c->program_plus_one = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) + 1;
}

void collector_start(struct collector *c, uint64_t time_ns)
{
    c->start_ns = time_ns;
}

static uint64_t since_start(const struct collector *c, uint64_t time_ns)
{
    return time_ns > c->start_ns ? time_ns - c->start_ns : 0;
}

/* Processes and their address spaces */

static bool same_pid(const void *context, uint32_t position, const void *key)
{
    const struct collector *c = context;
    return c->space[position].pid == *(const int32_t *)key;
}

static struct space *find_space(const struct collector *c, int32_t pid)
{
    uint32_t at = index_find(&c->spaces, index_mix(0, (uint64_t)(uint32_t)pid), same_pid, c, &pid);
    return at == INDEX_NONE ? NULL : &c->space[at];
}

static struct rl_sample_process *add_process(struct collector *c, int32_t pid, int32_t parent_pid,
                                             uint64_t time_ns)
{
    struct rl_samples *out = c->out;
    struct rl_sample_process *process =
        rl_array_append(&out->process, &out->n_process, sizeof *process);
    if (!process)
        return NULL;
    process->pid = pid;
    process->parent_pid = parent_pid;
    process->start_s = (double)since_start(c, time_ns) * 1e-9;
    process->end_s = -1;
    return process;
}

/* The space of `pid`, new and empty if it has none; its image is process index `process`. */
static struct space *reset_space(struct collector *c, int32_t pid, uint32_t process)
{
    struct space *space = find_space(c, pid);
    if (!space) {
        space = rl_array_append(&c->space, &c->n_space, sizeof *space);
        if (!space || !index_add(&c->spaces, index_mix(0, (uint64_t)(uint32_t)pid),
                                 (uint32_t)(c->n_space - 1)))
            return NULL;
        space->pid = pid;
    }
    free(space->map);
    space->map = NULL;
    space->n_map = 0;
    space->process = process;
    return space;
}

enum rl_status collect_process(struct collector *c, int32_t pid, int32_t parent_pid,
                               uint64_t time_ns, struct rl_error *err)
{
    struct rl_samples *out = c->out;
    struct rl_sample_process *process = add_process(c, pid, parent_pid, time_ns);
    struct space *space = process ? reset_space(c, pid, (uint32_t)(out->n_process - 1)) : NULL;
    if (!space)
        return no_memory(err);
    const struct space *parent = parent_pid == pid ? NULL : find_space(c, parent_pid);
    if (!parent)
        return RL_OK;
    const char *command = out->process[parent->process].command;
    if (command)
        RL_TRY(rl_string_set(&out->process[out->n_process - 1].command, command, err));
    for (size_t i = 0; i < parent->n_map; i++) {
        struct mapping *map = rl_array_append(&space->map, &space->n_map, sizeof *map);
        if (!map)
            return no_memory(err);
        *map = parent->map[i];
    }
    return RL_OK;
}

/* A process whose beginning was lost is asked for its mappings, should it still live. */
static enum rl_status need_space(struct collector *c, int32_t pid, uint64_t time_ns,
                                 struct space **ret, struct rl_error *err)
{
    *ret = find_space(c, pid);
    if (*ret)
        return RL_OK;
    RL_TRY(collect_process(c, pid, 0, time_ns, err));
    RL_TRY(collect_live_maps(c, pid, err));
    *ret = find_space(c, pid);
    return RL_OK;
}

static void end_process(struct collector *c, uint32_t process, uint64_t time_ns)
{
    struct rl_sample_process *p = &c->out->process[process];
    if (p->end_s < 0)
        p->end_s = (double)since_start(c, time_ns) * 1e-9;
}

enum rl_status collect_exec(struct collector *c, int32_t pid, uint64_t time_ns, const char *name,
                            struct rl_error *err)
{
    struct space *space;
    struct rl_samples *out = c->out;
    RL_TRY(need_space(c, pid, time_ns, &space, err));
    struct rl_sample_process *before = &out->process[space->process];
    /* The program itself was forked on hold: its own exec starts image 0, no second one. */
    bool is_first = space->process == 0 && !before->was_execed && out->n_thread == 0;
    if (!is_first) {
        int32_t parent_pid = before->parent_pid;
        end_process(c, space->process, time_ns);
        if (!add_process(c, pid, parent_pid, time_ns))
            return no_memory(err);
    }
    uint32_t process = is_first ? 0 : (uint32_t)(out->n_process - 1);
    out->process[process].was_execed = true;
    RL_TRY(rl_string_set(&out->process[process].command, name, err));
    return reset_space(c, pid, process) ? RL_OK : no_memory(err);
}

/* Threads */

struct thread_key {
    uint32_t process;
    int32_t tid;
};

static bool same_thread(const void *context, uint32_t position, const void *key)
{
    const struct collector *c = context;
    const struct thread_key *k = key;
    const struct rl_sample_thread *thread = &c->out->thread[position];
    return thread->tid == k->tid && thread->process == k->process;
}

static enum rl_status need_thread(struct collector *c, struct thread_key key, uint32_t *ret,
                                  struct rl_error *err)
{
    uint64_t hash = index_mix(index_mix(0, key.process), (uint64_t)(uint32_t)key.tid);
    *ret = index_find(&c->threads, hash, same_thread, c, &key);
    if (*ret != INDEX_NONE)
        return RL_OK;
    struct rl_sample_thread *thread =
        rl_array_append(&c->out->thread, &c->out->n_thread, sizeof *thread);
    *ret = (uint32_t)(c->out->n_thread - 1);
    if (!thread || !index_add(&c->threads, hash, *ret))
        return no_memory(err);
    thread->process = key.process;
    thread->tid = key.tid;
    return RL_OK;
}

enum rl_status collect_name(struct collector *c, int32_t pid, int32_t tid, const char *name,
                            struct rl_error *err)
{
    const struct space *space = find_space(c, pid);
    uint32_t thread;
    if (!space)
        return RL_OK;
    RL_TRY(need_thread(c, (struct thread_key){space->process, tid}, &thread, err));
    snprintf(c->out->thread[thread].name, RL_SAMPLE_NAME_LEN, "%s", name);
    return RL_OK;
}

enum rl_status collect_exit(struct collector *c, int32_t pid, int32_t tid, uint64_t time_ns,
                            struct rl_error *err)
{
    (void)err;
    const struct space *space = find_space(c, pid);
    if (space && pid == tid)
        end_process(c, space->process, time_ns);
    return RL_OK;
}

/* Modules and mappings */

struct module_key {
    enum rl_sample_module_kind kind;
    uint32_t process;
    uint64_t inode;
    const char *path;
};

static bool same_module(const void *context, uint32_t position, const void *key)
{
    const struct collector *c = context;
    const struct module_key *k = key;
    const struct rl_sample_module *m = &c->out->module[position];
    return m->kind == k->kind && m->process == k->process && m->inode == k->inode &&
           !strcmp(m->path, k->path);
}

/* `mapped` is where a file's code is mapped at present; NULL for what is no file. */
static enum rl_status need_module(struct collector *c, const struct module_key *key,
                                  const struct module_mapping *mapped, uint32_t *ret,
                                  struct rl_error *err)
{
    uint64_t hash = index_mix(index_mix(index_mix(0, key->kind), key->process), key->inode);
    for (const char *p = key->path; *p; p++)
        hash = index_mix(hash, (unsigned char)*p);
    *ret = index_find(&c->modules, hash, same_module, c, key);
    if (*ret != INDEX_NONE)
        return RL_OK;
    struct rl_samples *out = c->out;
    struct rl_sample_module *module = rl_array_append(&out->module, &out->n_module, sizeof *module);
    *ret = (uint32_t)(out->n_module - 1);
    if (!module || !index_add(&c->modules, hash, *ret))
        return no_memory(err);
    module->kind = key->kind;
    module->process = key->process;
    module->inode = key->inode;
    RL_TRY(rl_string_set(&module->path, key->path, err));
    if (key->kind == RL_SAMPLE_FILE)
        module_identify(module, mapped);
    return RL_OK;
}

static bool starts_with(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static struct module_key classify(const struct collect_map *map, uint32_t process)
{
    const char *path = map->path;
    if (!strcmp(path, "[vdso]"))
        return (struct module_key){RL_SAMPLE_VDSO, 0, 0, "[vdso]"};
    if (path[0] != '/' || starts_with(path, "//anon") || starts_with(path, "/memfd:") ||
        starts_with(path, "/dev/zero") || starts_with(path, "/SYSV"))
        return (struct module_key){RL_SAMPLE_JIT, process, 0, "[jit]"};
    return (struct module_key){RL_SAMPLE_FILE, 0, map->inode, path};
}

/* Cut [start, end) out of the mappings, which stay sorted by start. */
static bool unmap(struct space *space, uint64_t start, uint64_t end)
{
    size_t n = space->n_map;
    for (size_t i = 0; i < n; i++) {
        struct mapping *map = &space->map[i];
        if (map->start >= end || map->end <= start)
            continue;
        struct mapping rest = *map;
        rest.file_offset += end - map->start;
        rest.start = end;
        map->end = start > map->start ? start : map->start;
        if (rest.start >= rest.end)
            continue;
        if (map->end <= map->start) {
            *map = rest;
            continue;
        }
        struct mapping *added = rl_array_append(&space->map, &space->n_map, sizeof *added);
        if (!added)
            return false;
        *added = rest;
    }
    size_t kept = 0;
    for (size_t i = 0; i < space->n_map; i++) {
        if (space->map[i].end > space->map[i].start)
            space->map[kept++] = space->map[i];
    }
    space->n_map = kept;
    return true;
}

/* A program whose file was replaced since, as by building it again, is still called what it was. */
static enum rl_status name_program(struct rl_sample_process *process, const char *path,
                                   struct rl_error *err)
{
    static const char removed[] = " (deleted)";
    RL_TRY(rl_string_set(&process->command, path, err));
    size_t n = strlen(path), tail = sizeof removed - 1;
    if (n > tail && !strcmp(path + n - tail, removed))
        process->command[n - tail] = '\0';
    return RL_OK;
}

enum rl_status collect_mmap(struct collector *c, int32_t pid, const struct collect_map *map,
                            struct rl_error *err)
{
    struct space *space;
    uint64_t end = map->start + map->length;
    if (end <= map->start)
        return RL_OK;
    RL_TRY(need_space(c, pid, c->start_ns, &space, err));
    struct module_key key = classify(map, space->process);
    uint32_t module;
    struct module_mapping mapped = {pid, map->start, end, c->program_plus_one - 1};
    RL_TRY(need_module(c, &key, &mapped, &module, err));
    if (!unmap(space, map->start, end))
        return no_memory(err);
    struct mapping *added = rl_array_append(&space->map, &space->n_map, sizeof *added);
    if (!added)
        return no_memory(err);
    *added = (struct mapping){map->start, end, map->file_offset, module};
    /* The main program's first file is what was executed: a better name than the short one. */
    struct rl_sample_process *process = &c->out->process[space->process];
    if (space->n_map == 1 && key.kind == RL_SAMPLE_FILE && process->was_execed)
        RL_TRY(name_program(process, map->path, err));
    return RL_OK;
}

/* The kernel writes a line's end within a name as "\\012" there, and as it is in events. */
static void put_line_ends(char *path)
{
    static const char escape[] = "\\012";
    for (char *at = path; (at = strstr(at, escape)); at++) {
        *at = '\n';
        memmove(at + 1, at + sizeof escape - 1, strlen(at + sizeof escape - 1) + 1);
    }
}

enum rl_status collect_maps_text(struct collector *c, int32_t pid, const char *text,
                                 struct rl_error *err)
{
    char path[PATH_MAX];
    for (const char *line = text; line && *line;) {
        const char *next = strchr(line, '\n');
        size_t n = next ? (size_t)(next - line) : strlen(line);
        char copy[PATH_MAX + 128];
        uint64_t start, end, offset, inode;
        char perms[5];
        int at = 0;
        if (n < sizeof copy) {
            memcpy(copy, line, n);
            copy[n] = 0;
            if (sscanf(copy, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
                       &start, &end, perms, &offset, &inode, &at) >= 5 &&
                end > start && strlen(perms) >= 3 && perms[2] == 'x') {
                snprintf(path, sizeof path, "%s", copy + (at ? (size_t)at : n));
                put_line_ends(path);
                struct collect_map map = {start, end - start, offset, inode, path};
                RL_TRY(collect_mmap(c, pid, &map, err));
            }
        }
        line = next ? next + 1 : NULL;
    }
    return RL_OK;
}

static enum rl_status add_maps_file(struct collector *c, int32_t pid, const char *name,
                                    bool *ret_is_empty, struct rl_error *err)
{
    FILE *file = fopen(name, "re");
    char *line = NULL;
    size_t capacity = 0;
    enum rl_status status = RL_OK;
    *ret_is_empty = true;
    while (file && status == RL_OK && getline(&line, &capacity, file) > 0) {
        *ret_is_empty = false;
        status = collect_maps_text(c, pid, line, err);
    }
    free(line);
    if (file)
        fclose(file);
    return status;
}

/* Of a process whose main thread has ended only the other threads have mappings to show. */
enum rl_status collect_live_maps(struct collector *c, int32_t pid, struct rl_error *err)
{
    char name[NAME_MAX + 64];
    bool is_empty;
    snprintf(name, sizeof name, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(name);
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    enum rl_status status = add_maps_file(c, pid, name, &is_empty, err);
    for (struct dirent *e; dir && status == RL_OK && is_empty && (e = readdir(dir));) {
        snprintf(name, sizeof name, "/proc/%d/task/%s/maps", (int)pid, e->d_name);
        if (e->d_name[0] != '.')
            status = add_maps_file(c, pid, name, &is_empty, err);
    }
    if (dir)
        closedir(dir);
    return status;
}

/* Samples */

static const struct mapping *find_mapping(const struct space *space, uint64_t ip)
{
    for (size_t i = space->n_map; i-- > 0;) {
        if (ip - space->map[i].start < space->map[i].end - space->map[i].start)
            return &space->map[i];
    }
    return NULL;
}

static bool same_bucket(const void *context, uint32_t position, const void *key)
{
    const struct collector *c = context;
    const struct rl_sample_bucket *k = key;
    const struct rl_sample_bucket *b = &c->out->bucket[position];
    return b->offset == k->offset && b->module == k->module && b->thread == k->thread;
}

static enum rl_status need_bucket(struct collector *c, const struct rl_sample_bucket *key,
                                  uint32_t *ret, struct rl_error *err)
{
    uint64_t hash = index_mix(index_mix(index_mix(0, key->offset), key->module), key->thread);
    *ret = index_find(&c->buckets, hash, same_bucket, c, key);
    if (*ret != INDEX_NONE)
        return RL_OK;
    struct rl_sample_bucket *bucket =
        rl_array_append(&c->out->bucket, &c->out->n_bucket, sizeof *bucket);
    *ret = (uint32_t)(c->out->n_bucket - 1);
    if (!bucket || !index_add(&c->buckets, hash, *ret))
        return no_memory(err);
    *bucket = *key;
    return RL_OK;
}

static enum rl_status locate(struct collector *c, const struct space *space, uint64_t ip,
                             struct rl_sample_bucket *key, struct rl_error *err)
{
    const struct mapping *map = find_mapping(space, ip);
    if (!map) {
        struct module_key unknown = {RL_SAMPLE_UNKNOWN, space->process, 0, "[unknown]"};
        key->offset = ip;
        return need_module(c, &unknown, NULL, &key->module, err);
    }
    key->module = map->module;
    switch (c->out->module[map->module].kind) {
    case RL_SAMPLE_FILE:
        key->offset = ip - map->start + map->file_offset;
        break;
    case RL_SAMPLE_VDSO:
        key->offset = ip - map->start;
        break;
    default:
        key->offset = ip;
    }
    return RL_OK;
}

enum rl_status collect_sample(struct collector *c, int32_t pid, int32_t tid, uint64_t ip,
                              uint64_t time_ns, uint64_t weight_ns, struct rl_error *err)
{
    struct space *space;
    struct rl_sample_bucket key = {0};
    uint32_t at;
    RL_TRY(need_space(c, pid, time_ns, &space, err));
    RL_TRY(locate(c, space, ip, &key, err));
    RL_TRY(need_thread(c, (struct thread_key){space->process, tid}, &key.thread, err));
    RL_TRY(need_bucket(c, &key, &at, err));
    double weight_s = (double)weight_ns * 1e-9;
    struct rl_sample_bucket *bucket = &c->out->bucket[at];
    bucket->cpu_s += weight_s;
    bucket->n_samples++;
    c->out->thread[key.thread].cpu_s += weight_s;
    c->out->sampled_s += weight_s;
    return timeline_add(c->timeline, at, since_start(c, time_ns), weight_ns, err);
}

enum rl_status collector_finish(struct collector *c, uint64_t time_ns, struct rl_error *err)
{
    for (size_t i = 0; i < c->out->n_process; i++)
        end_process(c, (uint32_t)i, time_ns);
    enum rl_status status = timeline_finish(c->timeline, err);
    collector_free(c);
    return status;
}
