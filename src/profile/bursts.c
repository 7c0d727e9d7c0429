#include "profile/bursts.h"

#include "base/error.h"
#include "count/engine/options.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static enum rl_status format_options(const struct bursts *b, char *text, size_t n,
                                     struct rl_error *err)
{
    struct rle_options options;
    rle_options_default(&options);
    options.mode = RLE_MODE_MIX;
    snprintf(options.output, sizeof options.output, "%s/" RESULT_PREFIX, b->scratch.path);
    if (!rle_options_format(&options, text, n))
        return rl_fail(err, RL_EINVAL, "%s: path too long for the counting engine",
                       b->scratch.path);
    return RL_OK;
}

/* The process writes the result itself: as its own user, if root looks at another's. */
static void make_writable(const struct bursts *b)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)b->pid);
    if (stat(path, &st) == 0 && st.st_uid != geteuid() &&
        chown(b->scratch.path, st.st_uid, st.st_gid) != 0)
        return; /* then creating the file fails there, and says so */
}

static enum rl_status spawn(struct bursts *b, char *const *argv, struct rl_error *err)
{
    enum { READ, WRITE };
    int to[2] = {-1, -1}, from[2] = {-1, -1}, error = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        error = errno;
    if (!error) {
        posix_spawn_file_actions_adddup2(&actions, to[READ], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, from[WRITE], STDOUT_FILENO);
        error = posix_spawn(&b->launcher, argv[0], &actions, NULL, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (to[READ] >= 0)
        close(to[READ]);
    if (from[WRITE] >= 0)
        close(from[WRITE]);
    if (!error) {
        b->to = fdopen(to[WRITE], "w");
        b->from = fdopen(from[READ], "r");
        error = b->to && b->from ? 0 : ENOMEM;
    } else {
        b->launcher = 0;
    }
    if (!b->to && to[WRITE] >= 0)
        close(to[WRITE]);
    if (!b->from && from[READ] >= 0)
        close(from[READ]);
    return error ? rl_fail(err, RL_ESYS, "%s: %s", argv[0], strerror(error)) : RL_OK;
}

enum rl_status bursts_start(pid_t pid, const char *engine, const char *launcher,
                            const char *scratch_dir, struct bursts *ret, struct rl_error *err)
{
    char options[RLE_OPTIONS_TEXT_MAX], number[16];
    struct bursts b = {.pid = pid};
    snprintf(number, sizeof number, "%d", (int)pid);
    char *argv[] = {(char *)launcher, (char *)"--bursts", (char *)engine, options, number, NULL};
    RL_TRY(rl_scratch_make(scratch_dir, &b.scratch, err));
    make_writable(&b);
    enum rl_status status = format_options(&b, options, sizeof options, err);
    if (status == RL_OK)
        status = spawn(&b, argv, err);
    if (status != RL_OK) {
        bursts_release(&b);
        return status;
    }
    *ret = b;
    return RL_OK;
}

bool bursts_count(struct bursts *b, unsigned burst_ms)
{
    enum { NS_PER_S = 1000000000 };
    static const char ok[] = "ok ", failed[] = "failed ";
    char line[sizeof b->why + sizeof failed] = "";
    if (b->why[0])
        return false;
    if (fprintf(b->to, "%u\n", burst_ms) < 0 || fflush(b->to) != 0 ||
        !fgets(line, sizeof line, b->from)) {
        snprintf(b->why, sizeof b->why, "the launcher of the counting engine ended");
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    if (!strncmp(line, ok, sizeof ok - 1)) {
        b->counted_s += strtod(line + sizeof ok - 1, NULL) / NS_PER_S;
        b->n++;
        return true;
    }
    bool has_reason = !strncmp(line, failed, sizeof failed - 1);
    snprintf(b->why, sizeof b->why, "%.*s", (int)sizeof b->why - 1,
             has_reason ? line + sizeof failed - 1 : "the counting engine gave no answer");
    return false;
}

enum rl_status bursts_end(struct bursts *b, struct rl_error *err)
{
    if (b->to)
        fclose(b->to); /* at the end of its input it lets go of the process and ends */
    if (b->from)
        fclose(b->from);
    if (b->launcher)
        while (waitpid(b->launcher, NULL, 0) < 0 && errno == EINTR)
            ;
    b->to = b->from = NULL;
    b->launcher = 0;
    return b->n && !b->results.n ? result_files_find(b->scratch.path, &b->results, err) : RL_OK;
}

void bursts_release(struct bursts *b)
{
    bursts_end(b, NULL);
    rl_scratch_remove(&b->scratch);
    result_files_release(&b->results);
    *b = (struct bursts){0};
}
