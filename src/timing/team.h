/* A team of threads, each pinned to one CPU. The caller's own thread is never pinned.
 *
 * Between runs the threads sleep; inside a run they meet at barriers that spin (and yield the CPU
 * when someone is late). Used by the sampler of timing.h and by kernels that need threads. */
#ifndef RL_TIMING_TEAM_H
#define RL_TIMING_TEAM_H

#include <roofline/error.h>
#include <stdbool.h>

struct rl_team;

/**
 * Start `n` threads.
 *
 * @param cpu  [n] operating-system CPU number of each rank; borrowed. A negative number leaves that
 *             thread unpinned.
 * @param n    >= 1.
 * @return RL_OK; RL_EINVAL for n = 0; RL_ESYS if a thread cannot be started or pinned (nothing is
 *         left behind); RL_ENOMEM.
 */
enum rl_status rl_team_new(const int *cpu, unsigned n, struct rl_team **ret_team,
                           struct rl_error *err);

/** Stop and join the threads; NULL is fine. */
void rl_team_free(struct rl_team *team);

unsigned rl_team_size(const struct rl_team *team);

/** CPU of a rank, as given. */
int rl_team_cpu(const struct rl_team *team, unsigned rank);

/** Call fn(arg, rank) on every thread and return when all have. Not reentrant. */
void rl_team_run(struct rl_team *team, void (*fn)(void *arg, unsigned rank), void *arg);

/** Inside rl_team_run: wait until every rank has arrived. All ranks must call it equally often. */
void rl_team_barrier(struct rl_team *team);

#endif
