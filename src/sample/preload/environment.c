/* The object's trace in the environment, where only regions are timed: taken out before the program
 * looks, put back for programs that it starts by the functions below. Others run on without markers
 * of other tools; their time is sampled all the same. Where timers sample it stays: a child that
 * lost it would have no time. */
#include "sample/preload/interpose.h"
#include "sample/preload/timer.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
/* It becomes the program and hands the list on, with the engine in front: see count/engine/launch.
 */
#define LAUNCHER "roofline-engine-launch"

enum { LIST_BYTES = 2 * PATH_MAX, MOST_ENTRIES = 2048 };

extern char **environ;

static char object[PATH_MAX]; /* as LD_PRELOAD named it; "": nothing was taken out */

static bool is_preload(const char *entry)
{
    return !strncmp(entry, PRELOAD, sizeof PRELOAD - 1);
}

/* The list without its first element, if that is this object; else NULL. */
static char *list_without(char *list)
{
    size_t n = strlen(object);
    if (strncmp(list, object, n) != 0 || (list[n] && list[n] != ':' && list[n] != ' '))
        return NULL;
    return list + n + (list[n] != '\0');
}

static size_t count_entries(void)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    return n;
}

/* The array the kernel made stays as it is: some run-times walk over its end, to what lies behind.
 */
static void take_out(const char *self)
{
    size_t n = count_entries(), kept = 0;
    char **copy = strlen(self) < sizeof object ? calloc(n + 1, sizeof *copy) : NULL;
    if (!copy)
        return;
    strcpy(object, self);
    for (size_t i = 0; i < n; i++) {
        char *list = is_preload(environ[i]) ? environ[i] + sizeof PRELOAD - 1 : NULL;
        char *rest = list ? list_without(list) : NULL;
        if (rest && *rest)
            memmove(list, rest, strlen(rest) + 1);
        if (!rest || *rest)
            copy[kept++] = environ[i];
    }
    environ = copy;
}

__attribute__((constructor)) static void hide(void)
{
    Dl_info self;
    bool is_launcher = !strcmp(program_invocation_short_name, LAUNCHER);
    if (!is_launcher && !timer_start() && dladdr(object, &self) && self.dli_fname)
        take_out(self.dli_fname);
}

/** An environment for a program to start, on the stack: this may be a child that shares its
 * parent's memory, where nothing can be allocated. */
struct environment {
    char *entry[MOST_ENTRIES];
    char list[LIST_BYTES];
};

/* `envp` with the object in it again; unchanged where that does not fit. */
static char *const *put_back(char *const *envp, struct environment *made)
{
    const char *before = "";
    size_t n = 0;
    if (!object[0] || !envp)
        return envp;
    for (char *const *e = envp; *e; e++) {
        if (is_preload(*e))
            before = *e + sizeof PRELOAD - 1;
        else if (n < MOST_ENTRIES - 2)
            made->entry[n++] = *e;
        else
            return envp;
    }
    int length = snprintf(made->list, sizeof made->list, PRELOAD "%s%s%s", object,
                          *before ? ":" : "", before);
    if (length < 0 || length >= LIST_BYTES)
        return envp;
    made->entry[n++] = made->list;
    made->entry[n] = NULL;
    return made->entry;
}

static int (*next_execve)(const char *, char *const *, char *const *);
static int (*next_execvpe)(const char *, char *const *, char *const *);
static int (*next_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                         const posix_spawnattr_t *, char *const *, char *const *);
static int (*next_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                          const posix_spawnattr_t *, char *const *, char *const *);

/* Before main, for looking them up may allocate. */
__attribute__((constructor)) static void find_all(void)
{
    preload_find_next(&next_execve, "execve");
    preload_find_next(&next_execvpe, "execvpe");
    preload_find_next(&next_spawn, "posix_spawn");
    preload_find_next(&next_spawnp, "posix_spawnp");
}

EXPORT int execve(const char *path, char *const *argv, char *const *envp)
{
    struct environment made;
    if (!next_execve)
        find_all();
    return next_execve(path, argv, put_back(envp, &made));
}

EXPORT int execv(const char *path, char *const *argv)
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const *argv, char *const *envp)
{
    struct environment made;
    if (!next_execvpe)
        find_all();
    return next_execvpe(file, argv, put_back(envp, &made));
}

EXPORT int execvp(const char *file, char *const *argv)
{
    return execvpe(file, argv, environ);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *argv, char *const *envp)
{
    struct environment made;
    if (!next_spawn)
        find_all();
    return next_spawn(pid, path, actions, attributes, argv, put_back(envp, &made));
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const *argv, char *const *envp)
{
    struct environment made;
    if (!next_spawnp)
        find_all();
    return next_spawnp(pid, file, actions, attributes, argv, put_back(envp, &made));
}
