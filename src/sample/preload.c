#include "sample/preload.h"
#include "base/array.h"
#include "base/error.h"
#include "base/scratch.h"
#include "region/wire.h"
#include "sample/event.h"
#include "sample/preload/wire.h"
#include "sample/regions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <roofline/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A maps file longer than this is cut. */
#define MAX_MAPS_BYTES ((size_t)16 << 20)

struct preload {
    struct rl_scratch scratch;
    char *object; /**< what is preloaded; NULL: nothing */
    char **env;   /**< [n_env] with a NULL at the end; the first n_own are ours to free */
    size_t n_env;
    char **own;
    size_t n_own;
    int32_t *seen_pid;
    size_t n_seen_pid;
    unsigned n_refused; /**< threads without a timer */
};

enum rl_status preload_probe(const char *path, struct rl_error *err)
{
    if (!path)
        return rl_fail(err, RL_EUNAVAIL, "no object to preload for sampling by timers");
    if (access(path, R_OK) != 0)
        return rl_fail(err, RL_EUNAVAIL, "%s cannot be preloaded: %s", path, strerror(errno));
    return RL_OK;
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for the program's environment");
}

static enum rl_status add_env(struct preload *p, const char *text, struct rl_error *err)
{
    char **slot = rl_array_append(&p->env, &p->n_env, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = (char *)text;
    return RL_OK;
}

static enum rl_status set_env(struct preload *p, const char *name, const char *value,
                              struct rl_error *err)
{
    char *text = NULL;
    char **slot = rl_array_append(&p->own, &p->n_own, sizeof *slot);
    if (!slot || asprintf(&text, "%s=%s", name, value) < 0)
        return no_memory(err);
    *slot = text;
    return add_env(p, text, err);
}

static const char *value_of(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(entry, name, n) && entry[n] == '=' ? entry + n + 1 : NULL;
}

/* Tools that a program looks for by itself are only named where the user named none. */
static const char *const injected[] = {"INTEL_LIBITTNOTIFY64", "NVTX_INJECTION64_PATH"};

static enum rl_status build_environment(struct preload *p, const struct rl_sample_options *options,
                                        bool timers, unsigned rate_hz, const char *const *envp,
                                        struct rl_error *err)
{
    const char *preload_before = NULL;
    bool has[sizeof injected / sizeof *injected] = {false};
    for (; envp && *envp; envp++) {
        const char *value = value_of(*envp, "LD_PRELOAD");
        if (value) {
            preload_before = value;
            continue;
        }
        for (size_t i = 0; i < sizeof injected / sizeof *injected; i++)
            has[i] |= value_of(*envp, injected[i]) != NULL;
        RL_TRY(add_env(p, *envp, err));
    }
    if (options->regions)
        RL_TRY(set_env(p, REGION_DIR_VARIABLE, p->scratch.path, err));
    if (timers) {
        char rate[16];
        snprintf(rate, sizeof rate, "%u", rate_hz);
        RL_TRY(set_env(p, TIMER_DIR_VARIABLE, p->scratch.path, err));
        RL_TRY(set_env(p, TIMER_RATE_VARIABLE, rate, err));
    }
    if (options->preload) {
        char list[2 * PATH_MAX];
        bool more = preload_before && *preload_before;
        if (snprintf(list, sizeof list, "%s%s%s", p->object, more ? ":" : "",
                     more ? preload_before : "") >= (int)sizeof list)
            return rl_fail(err, RL_EINVAL, "LD_PRELOAD is too long");
        RL_TRY(set_env(p, "LD_PRELOAD", list, err));
        for (size_t i = 0; options->regions && i < sizeof injected / sizeof *injected; i++) {
            if (!has[i])
                RL_TRY(set_env(p, injected[i], options->preload, err));
        }
    } else if (preload_before) {
        RL_TRY(set_env(p, "LD_PRELOAD", preload_before, err));
    }
    return add_env(p, NULL, err);
}

enum rl_status preload_new(const struct rl_sample_options *options, bool timers, unsigned rate_hz,
                           const char *const *envp, struct preload **ret, struct rl_error *err)
{
    struct preload *p = calloc(1, sizeof *p);
    if (!p)
        return no_memory(err);
    enum rl_status status = rl_scratch_make(options->scratch_dir, &p->scratch, err);
    if (status == RL_OK && options->preload)
        status = rl_scratch_name(&p->scratch, options->preload, &p->object, err);
    if (status == RL_OK)
        status = build_environment(p, options, timers, rate_hz, envp, err);
    if (status != RL_OK) {
        preload_free(p);
        return status;
    }
    *ret = p;
    return RL_OK;
}

const char *const *preload_environment(const struct preload *p)
{
    return (const char *const *)p->env;
}

const char *preload_folder(const struct preload *p)
{
    return p->scratch.path;
}

unsigned preload_refused(const struct preload *p)
{
    return p->n_refused;
}

void preload_free(struct preload *p)
{
    if (!p)
        return;
    rl_scratch_remove(&p->scratch);
    free(p->object);
    for (size_t i = 0; i < p->n_own; i++)
        free(p->own[i]);
    free(p->own);
    free(p->env);
    free(p->seen_pid);
    free(p);
}

/* Reading back */

/** A whole file; `data` ends in a NUL that `n` does not count. */
struct content {
    char *data;
    size_t n;
};

static bool read_file(int dir, const char *name, size_t most, struct content *ret)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    size_t n = ok ? ((uint64_t)st.st_size < most ? (size_t)st.st_size : most) : 0;
    char *data = ok ? malloc(n + 1) : NULL;
    size_t got = 0;
    for (ssize_t k; data && got < n && (k = read(fd, data + got, n - got)) > 0;)
        got += (size_t)k;
    close(fd);
    if (!data)
        return false;
    data[got] = 0;
    *ret = (struct content){data, got};
    return true;
}

/* Which of the kinds a name is, and the numbers in it. */
static bool parse_name(const char *name, const char *prefix, unsigned n, uint64_t number[])
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0)
        return false;
    name += length;
    for (unsigned i = 0; i < n; i++) {
        char *end;
        if (*name < '0' || *name > '9')
            return false;
        number[i] = strtoull(name, &end, 10);
        if (*end != (i + 1 < n ? '.' : 0))
            return false;
        name = end + 1;
    }
    return true;
}

static enum rl_status see_pid(struct preload *p, int32_t pid, bool *ret_is_new,
                              struct rl_error *err)
{
    for (size_t i = 0; i < p->n_seen_pid; i++) {
        if (p->seen_pid[i] == pid) {
            *ret_is_new = false;
            return RL_OK;
        }
    }
    int32_t *slot = rl_array_append(&p->seen_pid, &p->n_seen_pid, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = pid;
    *ret_is_new = true;
    return RL_OK;
}

static enum rl_status add_image(struct preload *p, const struct content *file, int32_t pid,
                                uint64_t time_ns, int32_t main_pid, struct event_list *list,
                                struct rl_error *err)
{
    int parent = 0, at = 0;
    char how[8];
    bool is_new;
    if (sscanf(file->data, "%d %7s %n", &parent, how, &at) < 2)
        return RL_OK;
    RL_TRY(see_pid(p, pid, &is_new, err));
    bool was_execed = !strcmp(how, "exec");
    if (pid != main_pid && (is_new || !was_execed)) {
        struct event *fork_event = event_add(list, EVENT_FORK);
        if (!fork_event)
            return no_memory(err);
        fork_event->pid = fork_event->tid = pid;
        fork_event->parent_pid = parent;
        fork_event->time_ns = time_ns;
    }
    if (was_execed) {
        struct event *exec_event = event_add(list, EVENT_NAME);
        const char *slash = strrchr(file->data, '/');
        if (!exec_event || !(exec_event->text = strdup(slash ? slash + 1 : file->data + at)))
            return no_memory(err);
        exec_event->is_exec = true;
        exec_event->pid = exec_event->tid = pid;
        exec_event->time_ns = time_ns;
    }
    return RL_OK;
}

static enum rl_status add_maps(const struct content *file, int32_t pid, uint64_t time_ns,
                               struct event_list *list, struct rl_error *err)
{
    struct event *event = event_add(list, EVENT_MAPS);
    if (!event || !(event->text = strdup(file->data)))
        return no_memory(err);
    event->pid = event->tid = pid;
    event->time_ns = time_ns;
    return RL_OK;
}

static enum rl_status add_samples(const struct content *file, struct rl_samples *samples,
                                  struct event_list *list, struct rl_error *err)
{
    struct timer_chunk head;
    if (file->n < sizeof head)
        return RL_OK;
    memcpy(&head, file->data, sizeof head);
    size_t room = (file->n - sizeof head) / sizeof(struct timer_sample);
    if (head.magic != TIMER_MAGIC || head.version != TIMER_VERSION || head.n > room)
        return RL_OK;
    samples->n_lost += head.n_lost;
    for (uint32_t i = 0; i < head.n; i++) {
        struct timer_sample sample;
        memcpy(&sample, file->data + sizeof head + i * sizeof sample, sizeof sample);
        struct event *event = event_add(list, EVENT_SAMPLE);
        if (!event)
            return no_memory(err);
        event->pid = head.pid;
        event->tid = head.tid;
        event->ip = sample.ip;
        event->time_ns = sample.time_ns;
        event->weight_ns = sample.weight_ns;
    }
    return RL_OK;
}

static enum rl_status load_timers(struct preload *p, int dir, const char *name, int32_t main_pid,
                                  struct rl_samples *samples, struct event_list *list,
                                  struct rl_error *err)
{
    uint64_t number[3];
    struct content file = {0};
    enum rl_status status = RL_OK;
    if (parse_name(name, TIMER_IMAGE_PREFIX, 2, number)) {
        if (read_file(dir, name, PATH_MAX, &file))
            status = add_image(p, &file, (int32_t)number[0], number[1], main_pid, list, err);
    } else if (parse_name(name, TIMER_MAPS_PREFIX, 2, number)) {
        if (read_file(dir, name, MAX_MAPS_BYTES, &file))
            status = add_maps(&file, (int32_t)number[0], number[1], list, err);
    } else if (parse_name(name, TIMER_SAMPLES_PREFIX, 3, number)) {
        if (read_file(dir, name, TIMER_CHUNK_FURTHER, &file))
            status = add_samples(&file, samples, list, err);
    } else if (parse_name(name, TIMER_REFUSED_PREFIX, 2, number)) {
        p->n_refused++;
    }
    free(file.data);
    return status;
}

static enum rl_status load_regions(int dir, const char *name, uint64_t start_ns,
                                   struct rl_samples *samples, struct rl_error *err)
{
    uint64_t number[2];
    struct content file = {0};
    if (!parse_name(name, REGION_FILE_PREFIX, 2, number) ||
        !read_file(dir, name, sizeof(struct region_file), &file))
        return RL_OK;
    enum rl_status status = regions_read(file.data, file.n, start_ns, samples, err);
    free(file.data);
    return status;
}

enum rl_status preload_region_files(const struct preload *p, size_t most,
                                    enum rl_status (*each)(void *context, const void *data,
                                                           size_t n, struct rl_error *err),
                                    void *context, struct rl_error *err)
{
    enum rl_status status = RL_OK;
    DIR *folder = opendir(p->scratch.path);
    if (!folder)
        return rl_fail_errno(err, "%s: cannot be read", p->scratch.path);
    for (struct dirent *entry; status == RL_OK && (entry = readdir(folder));) {
        uint64_t number[2];
        struct content file = {0};
        if (parse_name(entry->d_name, REGION_FILE_PREFIX, 2, number) &&
            read_file(dirfd(folder), entry->d_name, most, &file))
            status = each(context, file.data, file.n, err);
        free(file.data);
    }
    closedir(folder);
    return status;
}

/* Images must be known in the order they began, so file names are taken in order of their time,
 * which is their last number. */
static int by_time(const struct dirent **a, const struct dirent **b)
{
    const char *p = strrchr((*a)->d_name, '.');
    const char *q = strrchr((*b)->d_name, '.');
    uint64_t t = p ? strtoull(p + 1, NULL, 10) : 0;
    uint64_t u = q ? strtoull(q + 1, NULL, 10) : 0;
    return t < u ? -1 : t > u;
}

enum rl_status preload_read(struct preload *p, struct rl_samples *samples,
                            struct collector *collector, uint64_t start_ns, struct rl_error *err)
{
    struct dirent **entry = NULL;
    struct event_list list = {0};
    enum rl_status status = RL_OK;
    int32_t main_pid = samples->n_process ? samples->process[0].pid : 0;
    int n = scandir(p->scratch.path, &entry, NULL, by_time);
    int dir = open(p->scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < n && status == RL_OK; i++)
        status = load_timers(p, dir, entry[i]->d_name, main_pid, samples, &list, err);
    if (status == RL_OK)
        status = event_hand_on(&list, collector, UINT64_MAX, err);
    for (int i = 0; i < n && status == RL_OK; i++)
        status = load_regions(dir, entry[i]->d_name, start_ns, samples, err);
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    if (dir >= 0)
        close(dir);
    event_list_release(&list);
    return status;
}
