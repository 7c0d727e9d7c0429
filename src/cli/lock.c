#include "cli/lock.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int open_lock_file(void)
{
    char *folder;
    char *path = NULL;
    if (rl_store_folder(&folder, NULL) != RL_OK)
        return -1;
    int fd = -1;
    if (rl_mkdirs(folder, NULL) == RL_OK && asprintf(&path, "%s/measure.lock", folder) >= 0)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    free(path);
    free(folder);
    return fd;
}

static enum rl_status fail_held(int fd, struct rl_error *err)
{
    char holder[24] = "";
    ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    long pid = strtol(holder, NULL, 10);
    close(fd);
    if (pid > 0)
        return rl_fail(err, RL_EUNAVAIL,
                       "another measurement is running (process %ld), and two would disturb each "
                       "other; try again when it has ended",
                       pid);
    return rl_fail(err, RL_EUNAVAIL, "another measurement is running; try again when it has ended");
}

enum rl_status rl_lock_take(struct rl_lock *lock, struct rl_error *err)
{
    int fd = open_lock_file();
    if (fd < 0)
        return RL_OK;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail_held(fd, err);
    if (ftruncate(fd, 0) == 0)
        (void)!dprintf(fd, "%ld\n", (long)getpid());
    lock->fd_plus_one = fd + 1;
    return RL_OK;
}

void rl_lock_release(struct rl_lock *lock)
{
    if (lock->fd_plus_one)
        close(lock->fd_plus_one - 1);
    lock->fd_plus_one = 0;
}
