#include "base/child.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Longest wait between two looks at the child, should its SIGCHLD go to another thread. */
#define LOOK_MS 200
/* Descriptors of a caller, besides the signal descriptor. */
#define MAX_FDS 4096

static const int caught_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};

static const char *search_path(const char *const *envp)
{
    for (; envp && *envp; envp++) {
        if (!strncmp(*envp, "PATH=", 5))
            return *envp + 5;
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Fill `file` with the path to execute; errno says why not. */
static bool find_program(const char *name, const char *const *envp, char file[PATH_MAX])
{
    int why = ENOENT;
    size_t n_name = strlen(name);
    if (n_name >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (strchr(name, '/') || !*name) {
        memcpy(file, name, n_name + 1);
        return access(file, X_OK) == 0;
    }
    for (const char *p = search_path(envp); p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        size_t n = strcspn(p, ":");
        if (n + n_name + 2 > PATH_MAX)
            continue;
        memcpy(file, p, n);
        size_t at = n ? n : 1;
        if (!n)
            file[0] = '.';
        file[at] = '/';
        memcpy(file + at + 1, name, n_name + 1);
        struct stat st;
        if (stat(file, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (access(file, X_OK) == 0)
            return true;
        why = errno;
    }
    file[0] = '\0';
    errno = why;
    return false;
}

static enum rl_status fail_exec(struct rl_error *err, const char *name, const char *file, int why)
{
    switch (why) {
    case ENOENT:
        if (access(file, F_OK) == 0)
            return rl_fail(err, RL_ESYS, "%s: the interpreter or loader it names does not exist",
                           name);
        return rl_fail(err, RL_ESYS, "%s: no such program", name);
    case EACCES:
        return rl_fail(err, RL_ESYS, "%s: not executable (permission denied)", name);
    case ENOEXEC:
        return rl_fail(err, RL_ESYS, "%s: not a program this machine can run (wrong architecture?)",
                       name);
    default:
        return rl_fail(err, RL_ESYS, "%s: cannot be run: %s", name, strerror(why));
    }
}

enum rl_status rl_child_find(const char *name, const char *const *envp, char *ret_path,
                             struct rl_error *err)
{
    char file[PATH_MAX] = "";
    struct stat st;
    if (!find_program(name, envp, file))
        return fail_exec(err, name, file, errno);
    if (stat(file, &st) == 0 && S_ISDIR(st.st_mode))
        return rl_fail(err, RL_ESYS, "%s: is a directory", name);
    memcpy(ret_path, file, sizeof file);
    return RL_OK;
}

/* A file without a recognised format that is no ELF file is a shell script, as for execvp(3). */
static bool is_elf(const char *file)
{
    char magic[4] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t n = read(fd, magic, sizeof magic);
    close(fd);
    return n == 4 && !memcmp(magic, "\177ELF", 4);
}

static void exec_as_script(const char *file, const char *const *argv, const char *const *envp)
{
    size_t n = 0;
    while (argv[n])
        n++;
    const char **args = calloc(n + 2, sizeof *args);
    if (!args)
        return;
    args[0] = "/bin/sh";
    args[1] = file;
    for (size_t i = 1; i < n; i++)
        args[i + 1] = argv[i];
    execve(args[0], (char *const *)args, (char *const *)envp);
    free(args);
}

/* A program that nobody sees must not wait for what somebody types: it finds an input that is at
 * its end, and no /dev/tty. Keys such as Ctrl-C are for its process group and still reach it. */
static void leave_terminal(int null)
{
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0) {
        ioctl(terminal, TIOCNOTTY);
        close(terminal);
    }
    if (isatty(STDIN_FILENO))
        dup2(null, STDIN_FILENO);
}

static void discard_outputs(void)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        return;
    leave_terminal(null);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

/** What the forked child needs to become the program. */
struct image {
    const char *file;
    const char *const *argv, *const *envp;
    bool discard_output;
    sigset_t mask;
};

static _Noreturn void run_child(const struct image *image, int go_fd, int failed_fd)
{
    char byte;
    ssize_t n;
    /* A caller that is killed has nobody pass its end on, and nobody would see a silent run go on.
     * One that is dead by now says so by closing its end of the pipe. */
    prctl(PR_SET_PDEATHSIG, image->discard_output ? SIGKILL : SIGTERM);
    while ((n = read(go_fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        _exit(127);
    if (image->discard_output)
        discard_outputs();
    sigprocmask(SIG_SETMASK, &image->mask, NULL);
    execve(image->file, (char *const *)image->argv, (char *const *)image->envp);
    int why = errno;
    if (why == ENOEXEC && !is_elf(image->file))
        exec_as_script(image->file, image->argv, image->envp);
    while (write(failed_fd, &why, sizeof why) < 0 && errno == EINTR)
        ;
    _exit(127);
}

enum rl_status rl_child_start(const char *const *argv, const char *const *envp, bool discard_output,
                              struct rl_child *ret_child, struct rl_error *err)
{
    char file[PATH_MAX] = "";
    if (!argv || !argv[0])
        return rl_fail(err, RL_EINVAL, "no program given");
    RL_TRY(rl_child_find(argv[0], envp, file, err));
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return rl_fail_errno(err, "pipe");
    if (pipe2(failed, O_CLOEXEC) != 0) {
        close(go[0]), close(go[1]);
        return rl_fail_errno(err, "pipe");
    }
    struct rl_child child = {
        .go_fd = go[1], .failed_fd = failed[0], .name = argv[0], .signal_fd = -1};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof caught_signals / sizeof *caught_signals; i++)
        sigaddset(&mask, caught_signals[i]);
    sigprocmask(SIG_BLOCK, &mask, &child.old_mask);
    child.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    child.pid = child.signal_fd < 0 ? -1 : fork();
    if (child.pid == 0) {
        close(go[1]);
        struct image image = {file, argv, envp, discard_output, child.old_mask};
        run_child(&image, go[0], failed[1]);
    }
    int why = errno;
    close(go[0]), close(failed[1]);
    /* A caller that ignores SIGCHLD would have its children reaped behind its back. */
    struct sigaction keep_children = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, child.pid < 0 ? NULL : &keep_children, &child.old_chld);
    if (child.pid < 0) {
        close(go[1]), close(failed[0]);
        if (child.signal_fd >= 0)
            close(child.signal_fd);
        sigprocmask(SIG_SETMASK, &child.old_mask, NULL);
        errno = why;
        return rl_fail_errno(err, "cannot start %s", argv[0]);
    }
    *ret_child = child;
    return RL_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

enum rl_status rl_child_release(struct rl_child *child, struct rl_error *err)
{
    int why = 0;
    ssize_t n;
    while ((n = write(child->go_fd, "", 1)) < 0 && errno == EINTR)
        ;
    close_fd(&child->go_fd);
    if (n == 1) {
        while ((n = read(child->failed_fd, &why, sizeof why)) < 0 && errno == EINTR)
            ;
    }
    close_fd(&child->failed_fd);
    if (n == 0)
        return RL_OK;
    return fail_exec(err, child->name, child->name, why ? why : EPIPE);
}

/* Pass on what the program did not get by itself; a signal made by the kernel came from the
 * terminal and went to the whole process group. */
static void take_signals(struct rl_child *child, int *last)
{
    struct signalfd_siginfo info;
    while (read(child->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        *last = (int)info.ssi_signo;
        if (info.ssi_code != SI_KERNEL && !child->ended)
            kill(child->pid, (int)info.ssi_signo);
    }
}

static bool has_ended(struct rl_child *child)
{
    siginfo_t info = {0};
    if (child->ended)
        return true;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        child->ended = info.si_pid == child->pid;
    else
        child->ended = errno == ECHILD;
    return child->ended;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum rl_status rl_child_wait(struct rl_child *child, struct pollfd *fds, size_t n_fds,
                             int timeout_ms, bool *ret_ended, int *ret_signal, struct rl_error *err)
{
    int last = 0;
    if (n_fds > MAX_FDS)
        return rl_fail(err, RL_EINVAL, "%zu descriptors to wait for", n_fds);
    struct pollfd *all = calloc(n_fds + 1, sizeof *all);
    if (!all)
        return rl_fail(err, RL_ENOMEM, "out of memory");
    double until = now_s() + timeout_ms / 1e3;
    int n = 0;
    while (!has_ended(child)) {
        if (n_fds)
            memcpy(all, fds, n_fds * sizeof *fds);
        all[n_fds] = (struct pollfd){.fd = child->signal_fd, .events = POLLIN};
        double left_ms = timeout_ms < 0 ? LOOK_MS : (until - now_s()) * 1e3;
        n = poll(all, n_fds + 1, left_ms < 0 ? 0 : left_ms > LOOK_MS ? LOOK_MS : (int)left_ms + 1);
        take_signals(child, &last);
        bool ready = false;
        for (size_t i = 0; n > 0 && i < n_fds; i++) {
            fds[i].revents = all[i].revents;
            ready |= fds[i].revents != 0;
        }
        if (ready || last || (timeout_ms >= 0 && now_s() >= until))
            break;
    }
    free(all);
    *ret_ended = has_ended(child);
    if (ret_signal)
        *ret_signal = last;
    return RL_OK;
}

/* Bytes that this process and the children it has reaped wrote: a child adds its own when it is
 * reaped. What it wrote cannot be asked of itself, for nobody but root may look at the dead. */
static uint64_t written_by_us(void)
{
    char line[64];
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "wchar: %llu", &bytes) != 1)
        ;
    if (file)
        fclose(file);
    return bytes;
}

enum rl_status rl_child_finish(struct rl_child *child, struct rl_child_end *ret_end,
                               struct rl_error *err)
{
    struct rusage usage = {0};
    int status = 0;
    pid_t pid = child->pid;
    close_fd(&child->go_fd);
    close_fd(&child->failed_fd);
    while (ret_end && !has_ended(child)) {
        bool ended;
        RL_TRY(rl_child_wait(child, NULL, 0, -1, &ended, NULL, err));
    }
    if (!ret_end && !has_ended(child))
        kill(pid, SIGKILL);
    uint64_t written = ret_end ? written_by_us() : 0;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    written = ret_end ? written_by_us() - written : 0;
    child->ended = true;
    int ignored;
    take_signals(child, &ignored);
    close_fd(&child->signal_fd);
    sigaction(SIGCHLD, &child->old_chld, NULL);
    sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
    if (ret_end) {
        ret_end->wait_status = status;
        ret_end->user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
        ret_end->system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
        ret_end->written_bytes = written;
        ret_end->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    }
    return RL_OK;
}

int rl_child_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
