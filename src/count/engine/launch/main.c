/* roofline-engine-launch ENGINE OPTIONS FILE ARGV0 [ARGUMENT…]
 * roofline-engine-launch --attach ENGINE OPTIONS PID
 * roofline-engine-launch --detach ENGINE PID
 * roofline-engine-launch --bursts ENGINE OPTIONS PID
 *
 * The first becomes the program FILE, with the engine in it from the first instruction: for
 * programs without a dynamic loader that would preload it (static, static-PIE, musl, Go). A helper
 * process traces this one over its exec, maps the engine, and goes away; process number, parent and
 * descriptors stay. Where tracing is not allowed the preloaded engine still serves dynamic
 * programs.
 *
 * FILE without a slash is looked up in PATH, but "descriptor:N" is what descriptor N has open: the
 * engine passes on what a program executes by descriptor. OPTIONS is the value of the engine's
 * variable (options.h). Ends with status 127 or 126 if FILE cannot be executed, as a shell would.
 *
 * The others bring the engine into a running process, out of it, or both at the word of standard
 * input (bursts.h). Status 126 and the reason if that cannot be done; the process runs on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "count/engine/launch/attach.h"
#include "count/engine/launch/bursts.h"
#include "count/engine/launch/image.h"
#include "count/engine/launch/inject.h"
#include "count/engine/options.h"

enum {
    NOT_FOUND = 127,
    NOT_EXECUTABLE = 126,
    USAGE = 2,
    FIRST_ARGUMENT = 4,
    HEAD_BYTES = 4096,
    HIGHEST_PRIORITY = -20,
};

extern char **environ;

static void complain(const char *file, const char *what)
{
    fprintf(stderr, "roofline-engine: %s: %s; running uncounted\n", file, what);
}

/* The helper, no relative any more: trace `pid` over its exec. Says when it is ready, or why not.
 */
static void trace(pid_t pid, int channel, const char *file, const struct image *image)
{
    char word = 'n';
    pid_t self = getpid();
    if (write(channel, &self, sizeof(self)) != sizeof(self) || read(channel, &word, 1) != 1)
        return;
    long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
    bool seized = ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) == 0;
    word = seized ? 'y' : 'n';
    if (write(channel, &word, 1) != 1 || !seized)
        return;
    const char *error = inject(pid, image);
    if (error)
        complain(file, error);
}

/* Start the helper as a grandchild, so that nobody has to wait for it. True if it traces us. */
static bool be_traced(const char *file, const struct image *image)
{
    int channel[2];
    pid_t self = getpid(), tracer;
    char word = 'n';
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(channel[0]);
        if (fork() == 0)
            trace(self, channel[1], file, image);
        _exit(0);
    }
    close(channel[1]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (child > 0 && read(channel[0], &tracer, sizeof(tracer)) == sizeof(tracer)) {
        prctl(PR_SET_PTRACER, tracer, 0, 0, 0); /* where only ancestors may trace */
        if (write(channel[0], "g", 1) != 1 || read(channel[0], &word, 1) != 1)
            word = 'n';
    }
    close(channel[0]);
    return word == 'y';
}

/* Different for every run of this program. */
static uint64_t session_number(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)getpid() << 32) ^ ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

/* Will the kernel run it as another user? As exec_file.c asks. */
static bool changes_user(const char *file)
{
    struct stat status;
    struct statvfs fs;
    if (stat(file, &status) != 0)
        return false;
    bool user = status.st_mode & S_ISUID && status.st_uid != geteuid();
    bool group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getegid();
    return (user || group) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
           !(statvfs(file, &fs) == 0 && fs.f_flag & ST_NOSUID);
}

/* Will the dynamic loader put the engine in if we do not? */
static bool is_preloadable(const char *file)
{
    static const char loader[] = "ld-linux-x86-64.so.2";
    char head[HEAD_BYTES];
    FILE *f = fopen(file, "rb");
    size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
    if (f)
        fclose(f);
    bool is_elf = n > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
    return !is_elf || memmem(head, n, loader, sizeof(loader));
}

/* The engine's variables; always an even number of them (environment.h). */
static bool set_environment(const char *engine, const char *options)
{
    static const char name[] = "LD_PRELOAD=";
    const char *theirs = "";
    char *preload = NULL;
    for (char **e = environ; *e; e++) /* of several the loader takes the last */
        if (strncmp(*e, name, sizeof(name) - 1) == 0)
            theirs = *e + sizeof(name) - 1;
    if (*theirs && setenv(RLE_OPTIONS_ENV "_PAD", "", 1) != 0)
        return false;
    if (asprintf(&preload, "%s%s%s", engine, *theirs ? ":" : "", theirs) < 0)
        return false;
    bool set = unsetenv("LD_PRELOAD") == 0 && /* however many there are */
               setenv("LD_PRELOAD", preload, 1) == 0 && setenv(RLE_OPTIONS_ENV, options, 1) == 0;
    free(preload);
    return set;
}

/* The name of a file that is handed over open, and to be closed by exec. NULL: `file` is none. */
static const char *open_file(const char *file, char *path, size_t bytes)
{
    static const char prefix[] = RLE_LAUNCHER_DESCRIPTOR;
    if (strncmp(file, prefix, sizeof(prefix) - 1) != 0)
        return NULL;
    int fd = atoi(file + sizeof(prefix) - 1);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return NULL;
    snprintf(path, bytes, "/proc/self/fd/%d", fd);
    return path;
}

/* As execvp(3) looks for it; `file` itself where nothing is found. Static storage. */
static const char *find(const char *file)
{
    static char path[PATH_MAX];
    const char *directories = getenv("PATH");
    if (open_file(file, path, sizeof(path)))
        return path;
    if (strchr(file, '/') || !*file)
        return file;
    for (const char *d = directories ? directories : "/bin:/usr/bin"; *d;) {
        size_t n = strcspn(d, ":");
        int length = snprintf(path, sizeof(path), "%.*s%s%s", (int)n, d, n ? "/" : "", file);
        if (length > 0 && (size_t)length < sizeof(path) && access(path, X_OK) == 0)
            return path;
        d += n + (d[n] == ':');
    }
    return file;
}

static const char shell[] = "/bin/sh";

/* What concerns running processes: false if argv asks for nothing of that kind. */
static bool serve_running(int argc, char **argv, int *ret_status)
{
    enum { WORD = 1, ENGINE, FIRST };
    char why[REASON_BYTES] = "";
    struct image image;
    if (argc <= FIRST || strncmp(argv[WORD], "--", 2) != 0)
        return false;
    bool is_detach = strcmp(argv[WORD], "--detach") == 0;
    const char *process = argv[argc - 1], *error = image_read(argv[ENGINE], &image);
    pid_t pid = (pid_t)strtol(process, NULL, 10);
    struct attach_options options = {.image = &image,
                                     .engine_path = argv[ENGINE],
                                     .options = argv[FIRST],
                                     .session = session_number()};
    if (strcmp(argv[WORD], "--bursts") == 0)
        options.owner = getpid();
    *ret_status = NOT_EXECUTABLE;
    if (error) {
        fprintf(stderr, "roofline-engine: %s: %s\n", argv[ENGINE], error);
        return true;
    }
    signal(SIGPIPE, SIG_IGN);
    /* Among hundreds of threads that compute it would get to stop them too late; where this is not
     * permitted it only takes longer. */
    setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
    if (options.owner)
        *ret_status = bursts(pid, &options);
    else if (is_detach ? detach(pid, &image, why) : attach(pid, &options, why))
        *ret_status = EXIT_SUCCESS;
    if (why[0] && *ret_status)
        fprintf(stderr, "roofline-engine: process %s: %s\n", process, why);
    image_release(&image);
    return true;
}

int main(int argc, char **argv)
{
    struct image image;
    int status;
    if (serve_running(argc, argv, &status))
        return status;
    if (argc <= FIRST_ARGUMENT) {
        fputs("usage: roofline-engine-launch ENGINE OPTIONS FILE ARGV0 [ARGUMENT...]\n", stderr);
        return USAGE;
    }
    const char *engine = argv[1], *options = argv[2], *file = find(argv[3]);
    const char *error = image_read(engine, &image);
    if (error)
        complain(engine, error);
    else if (changes_user(file))
        complain(file, "programs that change the user (setuid) cannot be counted");
    else if (!set_environment(engine, options))
        complain(file, "out of memory");
    else if (!be_traced(file, &image) && !is_preloadable(file))
        complain(file, "it is static, and tracing it is not permitted here");
    execve(file, argv + FIRST_ARGUMENT, environ);
    if (errno == ENOEXEC) { /* a shell script without a first line that says so */
        argv[FIRST_ARGUMENT - 1] = (char *)shell;
        argv[FIRST_ARGUMENT] = (char *)file;
        execve(shell, argv + FIRST_ARGUMENT - 1, environ);
    }
    int reason = errno;
    fprintf(stderr, "roofline-engine: %s: %s\n", file, strerror(reason));
    return reason == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}
