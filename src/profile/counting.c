#include "profile/counting.h"
#include "base/array.h"
#include "base/child.h"
#include "base/elf.h"
#include "base/error.h"
#include "count/engine/options.h"
#include "count/traffic.h"
#include "profile/geometry.h"
#include "profile/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORKERS 16
/* Status of the dynamic loader when it cannot load a program. */
#define NOT_STARTED 127

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for the counting run");
}

enum rl_status counting_probe(const char *engine, struct rl_error *err)
{
    if (!engine)
        return rl_fail(err, RL_EUNAVAIL, "no counting engine is installed");
    if (access(engine, R_OK) != 0)
        return rl_fail(err, RL_EUNAVAIL, "the counting engine %s cannot be read: %s", engine,
                       strerror(errno));
    return RL_OK;
}

/* Simulating the caches beside the program */

/* With fewer cores than four the program needs what a second one would take: on two cores two were
 * no faster than one, since each reads all records. */
static uint32_t n_workers(void)
{
    cpu_set_t allowed;
    bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0; /* not where there are 1024 */
    long n = known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 4 ? 1 : n > 2 * MAX_WORKERS ? MAX_WORKERS : (uint32_t)n / 2;
}

static enum rl_status start_traffic(struct counting *c, const struct counting_options *o,
                                    struct rl_error *err)
{
    struct rl_traffic_options options;
    struct rl_simulation *traffic;
    if (!o->machine)
        return rl_fail(err, RL_ENODATA, "the caches of this machine are not known");
    rl_traffic_options_default(&options);
    RL_TRY(geometry_of(o->machine, &options.geometry, err));
    if (o->seed)
        options.sampling.seed = o->seed;
    if (o->traffic == RL_TRAFFIC_FULL) {
        options.sampling.full = true;
        options.n_workers = n_workers();
    }
    RL_TRY(rl_traffic_new(&options, &traffic, err));
    enum rl_status status = rl_traffic_start(traffic, err);
    if (status != RL_OK) {
        rl_traffic_free(traffic);
        return status;
    }
    c->traffic = traffic;
    c->caches = options.geometry;
    return RL_OK;
}

static void miss_traffic(struct counting *c, const struct rl_error *why)
{
    rl_traffic_free(c->traffic);
    c->traffic = NULL;
    snprintf(c->traffic_missing, sizeof c->traffic_missing, "%.*s",
             (int)sizeof c->traffic_missing - 1, why->text);
}

/* Without a simulation the program can still be counted. */
static void try_traffic(struct counting *c, const struct counting_options *o)
{
    struct rl_error why = {0};
    if (o->traffic != RL_TRAFFIC_MODEL && o->traffic != RL_TRAFFIC_FULL)
        snprintf(c->traffic_missing, sizeof c->traffic_missing, "%s",
                 o->traffic == RL_TRAFFIC_PMU ? "hardware counters know the traffic of the program "
                                                "as a whole only"
                                              : "traffic was switched off");
    else if (start_traffic(c, o, &why) != RL_OK)
        miss_traffic(c, &why);
}

static void stop_traffic(struct counting *c)
{
    struct rl_error why = {0};
    if (c->traffic && rl_traffic_stop(c->traffic, &why) != RL_OK)
        miss_traffic(c, &why);
}

/* What is run: the program with the engine in its environment, or the launcher with the program */

/** The texts are ours, the arrays end in NULL. */
struct launch {
    char options[RLE_OPTIONS_TEXT_MAX];
    char file[PATH_MAX];
    const char **argv, **env;
    size_t n_argv, n_env;
    char *preload, *variable;
    char *injected[2];
    char *object[3]; /* engine, launcher, markers as they can be named in LD_PRELOAD */
};

static void launch_release(struct launch *l)
{
    free(l->argv);
    free(l->env);
    free(l->preload);
    free(l->variable);
    free(l->injected[0]);
    free(l->injected[1]);
    for (size_t i = 0; i < sizeof l->object / sizeof *l->object; i++)
        free(l->object[i]);
}

static enum rl_status add(const char ***list, size_t *n, const char *text, struct rl_error *err)
{
    const char **slot = rl_array_append(list, n, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = text;
    return RL_OK;
}

static enum rl_status engine_options(const struct counting *c, const struct counting_options *o,
                                     struct launch *l, struct rl_error *err)
{
    struct rle_options options;
    rle_options_default(&options);
    options.follow = !o->no_follow;
    options.launch = o->launch_all;
    if (o->translate_only)
        options.mode = RLE_MODE_TRANSLATE;
    if (o->only && strlen(o->only) < sizeof options.only)
        strcpy(options.only, o->only);
    if (c->traffic) {
        /* Of what is written in full nothing can be left out. */
        bool in_full = o->traffic == RL_TRAFFIC_FULL && !options.only[0];
        options.mode = in_full ? RLE_MODE_FULL : RLE_MODE_TRAFFIC;
        options.reader = (uint32_t)getpid();
        options.channel = (uint32_t)rl_traffic_descriptor(c->traffic);
    }
    snprintf(options.output, sizeof options.output, "%s/" RESULT_PREFIX, c->scratch.path);
    if (!rle_options_format(&options, l->options, sizeof l->options))
        return rl_fail(err, RL_EINVAL, "%s: path too long for the counting engine",
                       c->scratch.path);
    return RL_OK;
}

/* Interfaces that load a tool which a variable names, unless the user named one. */
static const char *const injected[] = {"INTEL_LIBITTNOTIFY64", "NVTX_INJECTION64_PATH"};
#define N_INJECTED (sizeof injected / sizeof *injected)

static enum rl_status add_injected(const char *const *envp, const struct counting_options *o,
                                   struct launch *l, struct rl_error *err)
{
    for (size_t i = 0; i < N_INJECTED; i++) {
        size_t n = strlen(injected[i]);
        bool is_set = false;
        for (const char *const *e = envp; e && *e; e++)
            is_set |= !strncmp(*e, injected[i], n) && (*e)[n] == '=';
        if (is_set)
            continue;
        if (asprintf(&l->injected[i], "%s=%s", injected[i], o->markers) < 0) {
            l->injected[i] = NULL;
            return no_memory(err);
        }
        RL_TRY(add(&l->env, &l->n_env, l->injected[i], err));
    }
    return RL_OK;
}

/* The engine takes its variables out of the environment in pairs: where LD_PRELOAD stays, because
 * it names other objects too, another one keeps it company. */
static enum rl_status build_environment(const char *const *envp, const struct counting_options *o,
                                        struct launch *l, struct rl_error *err)
{
    static const char preload[] = "LD_PRELOAD=";
    const char *before = "";
    const char *markers = o->markers ? o->markers : "";
    for (const char *const *e = envp; e && *e; e++) {
        if (!strncmp(*e, preload, sizeof preload - 1))
            before = *e + sizeof preload - 1;
        else
            RL_TRY(add(&l->env, &l->n_env, *e, err));
    }
    if (asprintf(&l->preload, "%s%s%s%s%s%s", preload, o->engine, *markers ? ":" : "", markers,
                 *before ? ":" : "", before) < 0 ||
        asprintf(&l->variable, "%s=%s", RLE_OPTIONS_ENV, l->options) < 0)
        return no_memory(err);
    RL_TRY(add(&l->env, &l->n_env, l->preload, err));
    RL_TRY(add(&l->env, &l->n_env, l->variable, err));
    if (*before || *markers)
        RL_TRY(add(&l->env, &l->n_env, RLE_OPTIONS_ENV "_PAD=", err));
    if (*markers)
        RL_TRY(add_injected(envp, o, l, err));
    return add(&l->env, &l->n_env, NULL, err);
}

/* A program that names no loader: nothing could be preloaded into it. */
static bool is_static(const char *file)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool is_elf = fd >= 0 && rl_elf_head(fd, &head);
    bool has_loader = false;
    for (unsigned i = 0; is_elf && i < head.e_phnum; i++)
        has_loader |= rl_elf_segment(fd, &head, i, &segment) && segment.p_type == PT_INTERP;
    if (fd >= 0)
        close(fd);
    return is_elf && !has_loader;
}

/* The engine looks for the launcher beside itself, so both are linked or none is. */
static enum rl_status name_objects(const struct counting *c, struct counting_options *o,
                                   struct launch *l, struct rl_error *err)
{
    const char **path[] = {&o->engine, &o->launcher, &o->markers};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        if (!*path[i])
            continue;
        RL_TRY(rl_scratch_name(&c->scratch, *path[i], &l->object[i], err));
        *path[i] = l->object[i];
    }
    return RL_OK;
}

static enum rl_status build_launch(const char *const *argv, const char *const *envp,
                                   const struct counting *c, struct counting_options options,
                                   struct launch *l, struct rl_error *err)
{
    struct counting_options *o = &options;
    RL_TRY(name_objects(c, o, l, err));
    RL_TRY(engine_options(c, o, l, err));
    RL_TRY(rl_child_find(argv[0], envp, l->file, err));
    bool launch = o->launch_all || is_static(l->file);
    if (launch && !o->launcher)
        return rl_fail(err, RL_EUNAVAIL,
                       "%s is statically linked, and the launcher for such programs is not "
                       "installed",
                       argv[0]);
    if (launch) {
        const char *first[] = {o->launcher, o->engine, l->options, l->file};
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            RL_TRY(add(&l->argv, &l->n_argv, first[i], err));
    } else {
        RL_TRY(build_environment(envp, o, l, err));
    }
    for (; *argv; argv++)
        RL_TRY(add(&l->argv, &l->n_argv, *argv, err));
    for (; launch && envp && *envp; envp++)
        RL_TRY(add(&l->env, &l->n_env, *envp, err));
    if (launch)
        RL_TRY(add(&l->env, &l->n_env, NULL, err));
    return add(&l->argv, &l->n_argv, NULL, err);
}

static enum rl_status run(const char *const *argv, const char *const *envp,
                          const struct counting_options *options, struct counting *c,
                          struct rl_error *err)
{
    struct launch *l = calloc(1, sizeof *l);
    struct rl_child child;
    struct rl_child_end end = {0};
    struct watched watched = {0};
    if (!l)
        return no_memory(err);
    enum rl_status status = build_launch(argv, envp, c, *options, l, err);
    if (status == RL_OK)
        status = rl_child_start(l->argv, l->env, options->discard_output, &child, err);
    if (status == RL_OK) {
        status = watch_child(&child, options->progress, options->context, &watched, err);
        c->elapsed_s = watched.elapsed_s;
        c->interrupted_by = watched.interrupted_by;
        enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
        c->wait_status = end.wait_status;
        c->cpu_s = end.user_s + end.system_s;
        c->written_bytes = end.written_bytes;
        if (status == RL_OK)
            status = finish;
    }
    launch_release(l);
    free(l);
    stop_traffic(c);
    RL_TRY(status);
    RL_TRY(result_files_find(c->scratch.path, &c->results, err));
    if (!c->results.n && WIFEXITED(c->wait_status) && WEXITSTATUS(c->wait_status) == NOT_STARTED)
        return rl_fail(err, RL_EUNAVAIL,
                       "the program could not be counted: it ended with status %d, as one does "
                       "whose shared libraries are not found",
                       NOT_STARTED);
    if (!c->results.n)
        return rl_fail(err, RL_EUNAVAIL,
                       "the program could not be counted: it may be set-user-ID or a 32-bit one, a "
                       "static one where ptrace is refused, as in containers, or memory to run its "
                       "code in was refused");
    return RL_OK;
}

enum rl_status counting_run(const char *const *argv, const char *const *envp,
                            const struct counting_options *options, struct counting *ret,
                            struct rl_error *err)
{
    struct counting c = {0};
    RL_TRY(counting_probe(options->engine, err));
    struct rl_error why = {0};
    enum rl_status status = rl_scratch_make(options->scratch_dir, &c.scratch, &why);
    if (status != RL_OK) /* nothing to do with the program: its time stays known */
        return rl_fail(err, status == RL_ENOMEM ? status : RL_EUNAVAIL, "%s", why.text);
    try_traffic(&c, options);
    status = run(argv, envp, options, &c, err);
    if (status != RL_OK) {
        counting_release(&c);
        return status;
    }
    *ret = c;
    return RL_OK;
}

void counting_release(struct counting *c)
{
    rl_traffic_free(c->traffic);
    rl_scratch_remove(&c->scratch);
    result_files_release(&c->results);
    *c = (struct counting){0};
}

enum rl_status rl_profile_probe_engine(const char *engine, const char *const *envp,
                                       struct rl_error *err)
{
    static const char *const argv[] = {"true", NULL};
    struct counting c = {0};
    struct counting_options options = {
        .engine = engine, .traffic = RL_TRAFFIC_NONE, .discard_output = true};
    RL_TRY(counting_run(argv, envp, &options, &c, err));
    int wait_status = c.wait_status;
    counting_release(&c);
    if (wait_status != 0)
        return rl_fail(err, RL_EUNAVAIL, "the counting engine ended a program with status %d",
                       rl_child_exit_code(wait_status));
    return RL_OK;
}
