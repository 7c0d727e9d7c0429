/* Processes made in every way; each counts for itself. */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { CHILDREN = 40 };
static const uint64_t own = 1000;
extern char **environ;

static int status_of(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* With arguments longer than anybody knows them, as from a later C library. */
static void clone_of_the_future(void)
{
    union {
        struct clone_args args;
        char bytes[4096];
    } long_args;
    memset(&long_args, 0, sizeof(long_args));
    long_args.args.exit_signal = SIGCHLD;
    long child = syscall(SYS_clone3, &long_args, sizeof(long_args));
    if (child == 0)
        _exit(5);
    if (child < 0) {
        printf("clone3: %s\n", strerror(errno));
        return;
    }
    printf("clone3: %d\n", status_of((pid_t)child));
    long_args.bytes[sizeof(long_args) - 1] = 1;
    child = syscall(SYS_clone3, &long_args, sizeof(long_args));
    printf("clone3, more than is known: %s\n", child < 0 ? strerror(errno) : "done");
    child = syscall(SYS_clone3, &long_args, 2 * sizeof(long_args));
    printf("clone3, more than a page: %s\n", child < 0 ? strerror(errno) : "done");
}

static int in_stack_of_its_own(void *argument)
{
    return *(int *)argument + 1;
}

static void *forking_thread(void *argument)
{
    pid_t child = fork();
    if (child == 0) {
        loop_fmul_like(own);
        _exit(9);
    }
    *(int *)argument = status_of(child);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* execed by a relative of ours */
        printf("child %s %s\n", argv[1], getenv("LD_PRELOAD") ? "preloaded" : "clean");
        return 17;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    int sum = 0;
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            loop_fmul_like(own);
            _exit(i);
        }
    }
    for (int i = 0; i < CHILDREN; i++)
        sum += status_of(children[i]);
    printf("forks: %d\n", sum);
    clone_of_the_future();

    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", argv[0], "vfork", (char *)NULL);
        _exit(1);
    }
    printf("vfork: %d\n", status_of(child));
    child = vfork();
    if (child == 0)
        _exit(3);
    printf("vfork without exec: %d\n", status_of(child));

    char *spawned[] = {argv[0], (char *)"spawn", NULL};
    int error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, spawned, environ);
    printf("spawn: %d %d\n", error, status_of(child));
    error = posix_spawn(&child, "/does/not/exist", NULL, NULL, spawned, environ);
    printf("spawn of nothing: %s\n", strerror(error));
    printf("system: %d\n", WEXITSTATUS(system("exit 4")));

    static char stack[65536];
    int seven = 7;
    child = clone(in_stack_of_its_own, stack + sizeof(stack), SIGCHLD, &seven);
    printf("clone: %d\n", status_of(child));
    child =
        clone(in_stack_of_its_own, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &seven);
    printf("clone sharing memory: %d\n", status_of(child));

    child = fork();
    if (child == 0) {
        execl("/does/not/exist", "x", (char *)NULL);
        _exit(errno == ENOENT ? 21 : 22);
    }
    printf("failed exec: %d\n", status_of(child));
    child = fork();
    if (child == 0)
        raise(SIGKILL);
    printf("killed: %d\n", status_of(child));
    pthread_t thread;
    pthread_create(&thread, NULL, forking_thread, &seven);
    pthread_join(thread, NULL);
    printf("fork in a thread: %d\n", seven);
    loop_fmul_like(own);
    expect_mnemonic("pmaddwd", own);
    execl("/proc/self/exe", argv[0], "last", (char *)NULL);
    return 1;
}
