#include "timing/team.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct member {
    struct rl_team *team;
    pthread_t thread;
    unsigned rank;
    int cpu;
    int pin_errno;
};

struct rl_team {
    unsigned size;
    unsigned started;
    struct member *member; /* [size] */

    pthread_mutex_t lock; /* of the fields up to `quit` */
    pthread_cond_t wake;
    pthread_cond_t finished;
    void (*fn)(void *arg, unsigned rank);
    void *arg;
    uint64_t run; /* number of the current run */
    unsigned running;
    bool quit;

    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint generation;
};

/* The team's lines must not be shared with others', and malloc promises 16 bytes only. */
static struct rl_team *team_alloc(unsigned n)
{
    struct rl_team *team = aligned_alloc(_Alignof(struct rl_team), sizeof *team);
    if (!team)
        return NULL;
    memset(team, 0, sizeof *team);
    team->member = calloc(n, sizeof *team->member);
    if (!team->member) {
        free(team);
        return NULL;
    }
    return team;
}

static int pin_self(int cpu)
{
    if (cpu < 0)
        return 0;
    size_t set_bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (!set)
        return ENOMEM;
    CPU_ZERO_S(set_bytes, set);
    CPU_SET_S((size_t)cpu, set_bytes, set);
    int error = sched_setaffinity(0, set_bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    return error;
}

static void finish_run(struct rl_team *team)
{
    pthread_mutex_lock(&team->lock);
    if (--team->running == 0)
        pthread_cond_signal(&team->finished);
    pthread_mutex_unlock(&team->lock);
}

static void *member_main(void *arg)
{
    struct member *self = arg;
    struct rl_team *team = self->team;
    self->pin_errno = pin_self(self->cpu);
    for (uint64_t run = 1;; run++) {
        pthread_mutex_lock(&team->lock);
        while (team->run < run && !team->quit)
            pthread_cond_wait(&team->wake, &team->lock);
        bool quit = team->run < run;
        pthread_mutex_unlock(&team->lock);
        if (quit)
            return NULL;
        team->fn(team->arg, self->rank);
        finish_run(team);
    }
}

static void nothing(void *arg, unsigned rank)
{
    (void)arg;
    (void)rank;
}

static enum rl_status start(struct rl_team *team, const int *cpu, struct rl_error *err)
{
    for (unsigned rank = 0; rank < team->size; rank++) {
        struct member *m = &team->member[rank];
        *m = (struct member){.team = team, .rank = rank, .cpu = cpu[rank]};
        int error = pthread_create(&m->thread, NULL, member_main, m);
        if (error) {
            errno = error;
            return rl_fail_errno(err, "cannot start thread %u of %u", rank + 1, team->size);
        }
        team->started++;
    }
    rl_team_run(team, nothing, NULL); /* everyone has tried to pin itself now */
    for (unsigned rank = 0; rank < team->size; rank++)
        if (team->member[rank].pin_errno) {
            errno = team->member[rank].pin_errno;
            return rl_fail_errno(err, "cannot pin a thread to CPU %d", cpu[rank]);
        }
    return RL_OK;
}

enum rl_status rl_team_new(const int *cpu, unsigned n, struct rl_team **ret_team,
                           struct rl_error *err)
{
    if (n == 0)
        return rl_fail(err, RL_EINVAL, "a team needs at least one thread");
    struct rl_team *team = team_alloc(n);
    if (!team)
        return rl_fail(err, RL_ENOMEM, "no memory for a team of %u threads", n);
    team->size = n;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->finished, NULL);
    enum rl_status status = start(team, cpu, err);
    if (status != RL_OK) {
        rl_team_free(team);
        return status;
    }
    *ret_team = team;
    return RL_OK;
}

void rl_team_free(struct rl_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->quit = true;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (unsigned rank = 0; rank < team->started; rank++)
        pthread_join(team->member[rank].thread, NULL);
    pthread_cond_destroy(&team->finished);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    free(team->member);
    free(team);
}

unsigned rl_team_size(const struct rl_team *team)
{
    return team->size;
}

int rl_team_cpu(const struct rl_team *team, unsigned rank)
{
    return team->member[rank].cpu;
}

void rl_team_run(struct rl_team *team, void (*fn)(void *arg, unsigned rank), void *arg)
{
    pthread_mutex_lock(&team->lock);
    team->fn = fn;
    team->arg = arg;
    team->running = team->size;
    team->run++;
    pthread_cond_broadcast(&team->wake);
    while (team->running > 0)
        pthread_cond_wait(&team->finished, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void rl_team_barrier(struct rl_team *team)
{
    enum { SPINS = 4000 };
    if (team->size == 1)
        return;
    unsigned generation = atomic_load_explicit(&team->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == team->size) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&team->generation, generation + 1, memory_order_release);
        return;
    }
    unsigned spins = 0;
    while (atomic_load_explicit(&team->generation, memory_order_acquire) == generation) {
        if (++spins > SPINS)
            sched_yield(); /* someone has lost the CPU, perhaps to us */
        else
            relax();
    }
}
