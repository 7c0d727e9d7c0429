/* Running the user's program: started on hold, released, watched, reaped.
 *
 * The program keeps the caller's standard streams, terminal, process group, working directory and
 * the signal dispositions and mask the caller had. Signals that would end the caller are blocked
 * and read while the child lives: those from the terminal reach the program by themselves, those
 * sent to the caller alone are passed on. So an interrupted program ends by its own rules and
 * the caller can still write what it has. */
#ifndef RL_BASE_CHILD_H
#define RL_BASE_CHILD_H

#include <poll.h>
#include <roofline/error.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rl_child {
    pid_t pid;
    int go_fd;        /**< closing it lets the child exec */
    int failed_fd;    /**< carries errno if exec fails */
    const char *name; /**< argv[0], for messages; borrowed */
    int signal_fd;
    bool ended;
    sigset_t old_mask;
    struct sigaction old_chld;
};

/** How the program ended. */
struct rl_child_end {
    int wait_status; /**< as wait(2) gives it */
    double user_s;   /**< of the program and the children it waited for */
    double system_s;
    uint64_t max_rss_bytes;
    uint64_t written_bytes; /**< by write(2) and the like, with children as above; 0: unknown */
};

/**
 * The file that would be executed, as execvp(3) looks for it.
 *
 * @param envp      its PATH is searched unless `name` has a slash.
 * @param ret_path  [PATH_MAX], written on RL_OK only.
 * @return RL_OK; RL_ESYS: no such program, not executable, or a directory.
 */
enum rl_status rl_child_find(const char *name, const char *const *envp, char *ret_path,
                             struct rl_error *err);

/**
 * Fork a child that waits just before exec. Should the calling thread end while the program runs,
 * as in a process that is killed, the program gets SIGTERM, or SIGKILL where its output is
 * discarded.
 *
 * @param argv  NULL-terminated; argv[0] without a slash is looked up in PATH of `envp`.
 * @param envp  NULL-terminated environment of the program.
 * @param discard_output  its standard output and error go to /dev/null; it has no terminal, and
 *              standard input, if that is one, is at its end.
 * @return RL_OK: end with rl_child_finish. RL_ESYS if the file cannot be executed (found before
 *         forking where possible); RL_EINVAL for an empty argv.
 */
enum rl_status rl_child_start(const char *const *argv, const char *const *envp, bool discard_output,
                              struct rl_child *ret_child, struct rl_error *err);

/** Let it exec. @return RL_OK once the new image runs; RL_ESYS with the reason if exec failed (the
 * child is then reaped and only rl_child_finish remains to be called). */
enum rl_status rl_child_release(struct rl_child *child, struct rl_error *err);

/**
 * Wait for the program's end, a signal, one of the caller's descriptors, or the time limit.
 *
 * @param fds         [n_fds] as for poll(2), revents are filled; may be NULL.
 * @param timeout_ms  < 0: no limit.
 * @param ret_ended   true once the program has ended (not yet reaped).
 * @param ret_signal  last signal that asked the caller to end, 0 if none; may be NULL.
 */
enum rl_status rl_child_wait(struct rl_child *child, struct pollfd *fds, size_t n_fds,
                             int timeout_ms, bool *ret_ended, int *ret_signal,
                             struct rl_error *err);

/** Reap the child, waiting for its end, and restore the caller's signal mask. `ret_end` may be
 * NULL: a child still on hold is then killed. */
enum rl_status rl_child_finish(struct rl_child *child, struct rl_child_end *ret_end,
                               struct rl_error *err);

/** Exit code that stands for a wait status, as shells do it: the status, or 128 + signal. */
int rl_child_exit_code(int wait_status);

#endif
