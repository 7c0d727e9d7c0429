#include "base/scratch.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A folder is called PREFIX PID "-XXXXXX"; its owner holds a lock on it. The number alone would not
 * do: it may be another process's by now, or of another process namespace. */
#define PREFIX   "roofline-"
#define RANDOM   "-XXXXXX"
#define ATTEMPTS 8

/* Containers give shared memory of 64 MB; less is soon full. */
#define MIN_SPACE ((uint64_t)32 << 20)

static void empty_folder(int fd)
{
    DIR *dir = fdopendir(fd);
    for (struct dirent *e; dir && (e = readdir(dir));)
        unlinkat(fd, e->d_name, 0);
    if (dir)
        closedir(dir);
    else
        close(fd);
}

/* The process in the name of a folder, or 0 if that is no folder of ours. */
static pid_t owner_of(const char *name)
{
    char *end;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return 0;
    name += sizeof PREFIX - 1;
    long pid = *name >= '1' && *name <= '9' ? strtol(name, &end, 10) : 0;
    return pid > 0 && pid <= INT32_MAX && strlen(end) == sizeof RANDOM - 1 && *end == '-'
               ? (pid_t)pid
               : 0;
}

static void remove_if_dead(int parent, const char *name)
{
    struct stat st;
    pid_t pid = owner_of(name);
    if (!pid || kill(pid, 0) == 0 || errno != ESRCH)
        return;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return;
    }
    empty_folder(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_dead(const char *under)
{
    DIR *dir = opendir(under);
    for (struct dirent *e; dir && (e = readdir(dir));)
        remove_if_dead(dirfd(dir), e->d_name);
    if (dir)
        closedir(dir);
}

/* Between its making and its locking a folder may be taken for a dead one's. */
static bool lock_folder(struct rl_scratch *scratch)
{
    struct stat mine, there;
    int fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &mine) != 0 ||
        stat(scratch->path, &there) != 0 || mine.st_ino != there.st_ino) {
        close(fd);
        return false;
    }
    scratch->lock_plus_one = fd + 1;
    return true;
}

static bool make_in(const char *under, struct rl_scratch *scratch)
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        int n = snprintf(scratch->path, sizeof scratch->path, "%s/" PREFIX "%ld" RANDOM, under,
                         (long)getpid());
        if (n < 0 || (size_t)n >= sizeof scratch->path) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!mkdtemp(scratch->path))
            return false;
        if (lock_folder(scratch))
            return true;
    }
    return false;
}

/* Programs that are handed the path may be in another directory when they use it. */
static bool make(const char *under, struct rl_scratch *scratch)
{
    char *absolute = realpath(under, NULL);
    bool is_made = absolute && make_in(absolute, scratch);
    int why = errno;
    free(absolute);
    errno = why;
    return is_made;
}

static bool has_space(const char *under)
{
    struct statvfs fs;
    return statvfs(under, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= MIN_SPACE;
}

/* Shared memory first, unless it is nearly full and another place is not. */
enum rl_status rl_scratch_make(const char *under, struct rl_scratch *ret, struct rl_error *err)
{
    const char *place[] = {under ? under : "/dev/shm", under ? NULL : secure_getenv("TMPDIR"),
                           under ? NULL : "/tmp"};
    enum { PLACES = sizeof place / sizeof *place };
    char tried[PLACES * sizeof ret->path] = "";
    *ret = (struct rl_scratch){0};
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < PLACES; i++) {
            if (!place[i] || !*place[i] || (round == 0 && !has_space(place[i])))
                continue;
            remove_dead(place[i]);
            if (make(place[i], ret))
                return RL_OK;
            size_t n = strlen(tried);
            if (round > 0)
                snprintf(tried + n, sizeof tried - n, "%s%s (%s)", n ? ", " : "", place[i],
                         strerror(errno));
        }
    }
    *ret = (struct rl_scratch){0};
    return rl_fail(err, RL_ESYS, "no scratch folder under %s%s", tried,
                   under ? "" : "; set TMPDIR to a folder that can be written to");
}

enum rl_status rl_scratch_name(const struct rl_scratch *scratch, const char *file, char **ret_path,
                               struct rl_error *err)
{
    static const char special[] = ": \t\n$";
    const char *slash = strrchr(file, '/');
    bool links = strpbrk(file, special) != NULL;
    char *path = NULL;
    int n = links ? asprintf(&path, "%s/%s", scratch->path, slash ? slash + 1 : file)
                  : asprintf(&path, "%s", file);
    if (n < 0)
        return rl_fail(err, RL_ENOMEM, "out of memory for a path");
    if (links && strpbrk(path, special)) {
        free(path);
        return rl_fail(err, RL_EUNAVAIL,
                       "%s cannot be preloaded: its path and that of the folder for scratch files "
                       "(%s) have a colon, a dollar sign or white space",
                       file, scratch->path);
    }
    if (links && symlink(file, path) != 0 && errno != EEXIST) {
        enum rl_status status = rl_fail_errno(err, "cannot make a link %s to %s", path, file);
        free(path);
        return status;
    }
    *ret_path = path;
    return RL_OK;
}

void rl_scratch_remove(struct rl_scratch *scratch)
{
    if (scratch->path[0]) {
        int fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            empty_folder(fd);
        rmdir(scratch->path);
    }
    if (scratch->lock_plus_one)
        close(scratch->lock_plus_one - 1);
    *scratch = (struct rl_scratch){0};
}
