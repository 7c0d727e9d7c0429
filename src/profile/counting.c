#include "profile/counting.h"
#include "base/array.h"
#include "base/child.h"
#include "base/error.h"
#include "count/engine/options.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUND_MS      100
#define RESULT_PREFIX "result"

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
    if (strpbrk(engine, ": \t\n"))
        return rl_fail(err, RL_EUNAVAIL,
                       "%s cannot be preloaded: the path has a colon or white space", engine);
    return RL_OK;
}

static enum rl_status make_directory(struct counting *c, const char *under, struct rl_error *err)
{
    const char *candidate[] = {under ? under : "/dev/shm", under ? under : "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        int n =
            snprintf(c->directory, sizeof c->directory, "%s/roofline-count-XXXXXX", candidate[i]);
        if (n > 0 && (size_t)n < sizeof c->directory && mkdtemp(c->directory))
            return RL_OK;
    }
    c->directory[0] = 0;
    return rl_fail_errno(err, "no scratch directory under %s", candidate[1]);
}

/** The program's environment with the engine's variables; the two texts are ours. */
struct environment {
    const char **env;
    size_t n_env;
    char *preload, *engine;
};

static void environment_release(struct environment *e)
{
    free(e->env);
    free(e->preload);
    free(e->engine);
}

static enum rl_status add(struct environment *e, const char *text, struct rl_error *err)
{
    const char **slot = rl_array_append(&e->env, &e->n_env, sizeof *slot);
    if (!slot)
        return no_memory(err);
    *slot = text;
    return RL_OK;
}

static enum rl_status engine_options(const struct counting *c, const struct counting_options *o,
                                     struct environment *e, struct rl_error *err)
{
    char text[RLE_OUTPUT_MAX + 256];
    struct rle_options options;
    rle_options_default(&options);
    options.mode = RLE_MODE_COUNT;
    snprintf(options.output, sizeof options.output, "%s/" RESULT_PREFIX, c->directory);
    (void)o;
    if (!rle_options_format(&options, text, sizeof text))
        return rl_fail(err, RL_EINVAL, "%s: path too long for the counting engine", c->directory);
    return asprintf(&e->engine, "%s=%s", RLE_OPTIONS_ENV, text) < 0 ? no_memory(err) : RL_OK;
}

static enum rl_status environment_build(const char *const *envp, const struct counting *c,
                                        const struct counting_options *o, struct environment *e,
                                        struct rl_error *err)
{
    static const char preload[] = "LD_PRELOAD=";
    const char *before = "";
    RL_TRY(engine_options(c, o, e, err));
    for (; envp && *envp; envp++) {
        if (!strncmp(*envp, preload, sizeof preload - 1))
            before = *envp + sizeof preload - 1;
        else
            RL_TRY(add(e, *envp, err));
    }
    if (asprintf(&e->preload, "%s%s%s%s", preload, o->engine, *before ? ":" : "", before) < 0) {
        e->preload = NULL;
        return no_memory(err);
    }
    RL_TRY(add(e, e->preload, err));
    RL_TRY(add(e, e->engine, err));
    return add(e, NULL, err);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static enum rl_status watch(struct rl_child *child, const struct counting_options *o,
                            struct counting *c, struct rl_error *err)
{
    double start = now_s();
    bool ended = false;
    RL_TRY(rl_child_release(child, err));
    while (!ended) {
        int number = 0;
        RL_TRY(rl_child_wait(child, NULL, 0, ROUND_MS, &ended, &number, err));
        if (number)
            c->interrupted_by = number;
        c->elapsed_s = now_s() - start;
        if (o->progress)
            o->progress(o->context, c->elapsed_s);
    }
    return RL_OK;
}

static enum rl_status list_results(struct counting *c, struct rl_error *err)
{
    DIR *dir = opendir(c->directory);
    if (!dir)
        return rl_fail_errno(err, "%s", c->directory);
    enum rl_status status = RL_OK;
    for (struct dirent *e; status == RL_OK && (e = readdir(dir));) {
        if (strncmp(e->d_name, RESULT_PREFIX ".", sizeof RESULT_PREFIX) != 0)
            continue;
        char **slot = rl_array_append(&c->file, &c->n_file, sizeof *slot);
        if (!slot || asprintf(slot, "%s/%s", c->directory, e->d_name) < 0)
            status = no_memory(err);
    }
    closedir(dir);
    return status;
}

static enum rl_status run(const char *const *argv, const char *const *envp,
                          const struct counting_options *options, struct counting *c,
                          struct rl_error *err)
{
    struct environment e = {0};
    struct rl_child child;
    struct rl_child_end end = {0};
    enum rl_status status = environment_build(envp, c, options, &e, err);
    if (status == RL_OK)
        status = rl_child_start(argv, e.env, options->discard_output, &child, err);
    if (status == RL_OK) {
        status = watch(&child, options, c, err);
        enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
        c->wait_status = end.wait_status;
        if (status == RL_OK)
            status = finish;
    }
    environment_release(&e);
    RL_TRY(status);
    RL_TRY(list_results(c, err));
    if (!c->n_file)
        return rl_fail(err, RL_EUNAVAIL,
                       "the program could not be counted: it may be statically linked or "
                       "set-user-ID");
    return RL_OK;
}

enum rl_status counting_run(const char *const *argv, const char *const *envp,
                            const struct counting_options *options, struct counting *ret,
                            struct rl_error *err)
{
    struct counting c = {0};
    RL_TRY(counting_probe(options->engine, err));
    RL_TRY(make_directory(&c, options->scratch_dir, err));
    enum rl_status status = run(argv, envp, options, &c, err);
    if (status != RL_OK) {
        counting_release(&c);
        return status;
    }
    *ret = c;
    return RL_OK;
}

void counting_release(struct counting *c)
{
    DIR *dir = c->directory[0] ? opendir(c->directory) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));)
        unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    if (c->directory[0])
        rmdir(c->directory);
    for (size_t i = 0; i < c->n_file; i++)
        free(c->file[i]);
    free(c->file);
    *c = (struct counting){0};
}
