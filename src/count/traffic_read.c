/* The reader thread: takes records from the channel, has them put through the model, and changes
 * over to other lines when the sampling's clock says so. */
#include "count/channel.h"
#include "count/records.h"
#include "count/traffic_internal.h"

#include "base/error.h"
#include "timing/clock.h"

#include <stdlib.h>
#include <time.h>

static const double THOROUGH_S = 0.05; /* between looks for processes that died */
static const double IDLE_SHARE = 0.5;  /* of a step that a program must have run to be at work */
static const double LONGEST_TURN = 10; /* steps, if the fixed classes have nothing to do */

/* ---- records into the model ---- */

bool rl_traffic_is_short(const struct rl_traffic_worker *worker)
{
    return __atomic_load_n(&worker->out_of_memory, __ATOMIC_RELAXED);
}

static void be_short(struct rl_traffic_worker *w)
{
    __atomic_store_n(&w->out_of_memory, true, __ATOMIC_RELAXED);
}

/* Everything is followed: a core is there from the first records of its thread on, since a model of
 * one core is faster. */
static bool has_core(struct rl_traffic_worker *w, uint32_t core)
{
    if (core >= w->n_cores && rl_cache_reserve_cores(w->cache, core + 1, NULL) == RL_OK)
        w->n_cores = core + 1;
    return core < w->n_cores;
}

void rl_traffic_run(struct rl_traffic_worker *worker, const struct rl_traffic_piece *piece)
{
    const struct rl_simulation *t = worker->traffic;
    const struct rl_records records = {.sites = piece->sites,
                                       .n_sites = piece->n_sites,
                                       .record = piece->record,
                                       .n = piece->n,
                                       .full = t->sampling.full,
                                       .watched = t->watched,
                                       .own = worker->own,
                                       .n_apart = t->sampling.classes};
    struct rl_account_table *table = &piece->accounts->by_worker[worker->index];
    if (!has_core(worker, piece->core) ||
        !rl_records_run(&records, worker->cache, piece->core, table, t->n_flows, &worker->watched,
                        &worker->malformed))
        be_short(worker);
}

/* Read at most so many of a thread's records, all of one region, changing over to the next step of
 * the sampling where it was taken. Returns how many. */
static uint64_t drain_piece(struct rl_simulation *t, struct rl_channel_thread *thread,
                            uint64_t most)
{
    struct rl_traffic_reader *reader = thread->user;
    uint64_t n;
    const struct rle_trace_record *record = rl_channel_peek(thread, &n);
    if (n > most)
        n = most;
    uint32_t region = rl_channel_region(thread, &n);
    while (reader->step < t->n_steps) {
        uint64_t at = reader->step_at[reader->step % RL_TRAFFIC_STEPS_KEPT];
        uint64_t until = at > thread->position ? (at - thread->position) / sizeof *record : 0;
        if (until > 0) {
            n = n < until ? n : until;
            break;
        }
        const struct rl_traffic_step *step = &t->step[reader->step % RL_TRAFFIC_STEPS_KEPT];
        for (uint32_t i = 0; i < step->n_changes; i++)
            rl_sampling_apply(&t->sampling, t->worker[0].cache, reader->core, step->change[i]);
        reader->step++;
    }
    if (n == 0)
        return 0;
    struct rl_region_accounts *accounts = rl_accounts_of(thread->process->user, region);
    if (!accounts) {
        be_short(&t->worker[0]);
        return 0;
    }
    rl_traffic_run(&t->worker[0], &(struct rl_traffic_piece){.sites = thread->process->sites,
                                                             .accounts = accounts,
                                                             .record = record,
                                                             .reader = reader,
                                                             .n = (uint32_t)n,
                                                             .n_sites = thread->process->n_sites,
                                                             .core = reader->core});
    rl_channel_take(thread, n);
    rl_channel_release(thread, n);
    t->records += n;
    return n;
}

static uint64_t drain(struct rl_simulation *t, struct rl_channel_thread *thread)
{
    uint64_t sum = 0;
    uint64_t n;
    while (sum < RL_TRAFFIC_BATCH && (n = drain_piece(t, thread, RL_TRAFFIC_BATCH - sum)) > 0)
        sum += n;
    return sum;
}

/* ---- the sampling's clock ---- */

static void add_accounts(const struct rl_simulation *t, struct rl_cache_flow total[],
                         const struct rl_accounts *accounts)
{
    for (uint32_t r = 0; accounts && r < RLE_TRACE_REGIONS; r++) {
        if (!accounts->region[r])
            continue;
        const struct rl_account_table *table = &accounts->region[r]->by_worker[0];
        for (uint32_t site = 0; site < table->n; site++)
            if (table->account[site])
                rl_traffic_add(t, total, table->account[site]);
    }
}

/* Sampling has one worker. */
static void decide(struct rl_simulation *t)
{
    size_t n;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n);
    struct rl_cache_flow *total = calloc(t->n_flows, sizeof *total);
    if (!total)
        return; /* the least number stays */
    for (size_t i = 0; i < t->n_row; i++)
        rl_traffic_add(t, total, t->row[i].account);
    for (size_t i = 0; i < n; i++) {
        size_t first = 0; /* thread of the same process */
        while (thread[first].process != thread[i].process)
            first++;
        if (first == i)
            add_accounts(t, total, thread[i].process->user);
    }
    rl_sampling_decide(&t->sampling, total);
    free(total);
}

/* Next to nothing was recorded in this step. Either the program sleeps, or what it does lies in
 * classes that are not followed, which only further turns can show. */
static bool is_idle(const struct rl_simulation *t, bool little, double cpu_s)
{
    return little && cpu_s - t->cpu_at_step_s < IDLE_SHARE * t->options.step_s;
}

/* Has a turn seen less of the program's work yet than a step of the pause before it? */
static bool is_short_of_work(const struct rl_simulation *t, double now_s)
{
    return rl_sampling_is_turn(&t->sampling) &&
           (double)(t->worker[0].watched - t->watched_at_step) < t->watched_by_step &&
           now_s - t->step_began_s < LONGEST_TURN * t->options.step_s;
}

static void note_work(struct rl_simulation *t, bool was_turn)
{
    double work = (double)(t->worker[0].watched - t->watched_at_step);
    t->watched_at_step = t->worker[0].watched;
    if (was_turn) {
        t->pause_steps = 0;
        return;
    }
    t->pause_steps++;
    double before = t->pause_steps > 1 ? t->watched_by_step : 0;
    t->watched_by_step = before + (work - before) / t->pause_steps;
}

static void maybe_step(struct rl_simulation *t)
{
    size_t n;
    if (t->sampling.full || t->records < t->options.exact_records)
        return;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n);
    double now_s = rl_now_s();
    if (now_s < t->next_step_s || is_short_of_work(t, now_s))
        return;
    double cpu_s = rl_channel_cpu_s(t->channel);
    bool little = t->records - t->records_at_step < RL_SAMPLING_LITTLE;
    if (is_idle(t, little, cpu_s))
        return;
    for (size_t i = 0; i < n; i++)
        if (t->n_steps - ((struct rl_traffic_reader *)thread[i].user)->step >=
            RL_TRAFFIC_STEPS_KEPT)
            return;
    if (rl_sampling_is_due(&t->sampling))
        decide(t);
    note_work(t, rl_sampling_is_turn(&t->sampling));
    if (little)
        rl_sampling_scout(&t->sampling);
    struct rl_traffic_step *step = &t->step[t->n_steps % RL_TRAFFIC_STEPS_KEPT];
    step->n_changes = rl_sampling_step(&t->sampling, step->change);
    /* Heads first: lines written until the program is told are then more than the step counts,
     * never fewer, and those too many are left out. */
    for (size_t i = 0; i < n; i++)
        ((struct rl_traffic_reader *)thread[i].user)->step_at[t->n_steps % RL_TRAFFIC_STEPS_KEPT] =
            rle_trace_head(thread[i].slot);
    if (step->n_changes > 0) {
        rl_channel_want(t->channel, rl_sampling_wanted(&t->sampling));
        t->watched = rl_sampling_fixed(&t->sampling);
    }
    t->n_steps++;
    t->step_began_s = now_s;
    t->cpu_at_step_s = cpu_s;
    t->next_step_s = now_s + t->options.step_s;
    t->records_at_step = t->records;
}

/* ---- threads come and go ---- */

enum rl_status rl_traffic_begin_thread(void *context, struct rl_channel_thread *thread,
                                       struct rl_error *err)
{
    struct rl_simulation *t = context;
    struct rl_traffic_reader *reader = calloc(1, sizeof *reader);
    if (!thread->process->user)
        thread->process->user = calloc(1, sizeof(struct rl_accounts));
    if (!reader || !thread->process->user) {
        free(reader);
        return rl_fail(err, RL_ENOMEM, "no memory to follow another thread");
    }
    while (reader->core < RL_CACHE_CORES_MAX - 1 && t->core_used[reader->core])
        reader->core++;
    reader->step = t->n_steps;
    thread->user = reader;
    t->core_used[reader->core] = true;
    if (t->sampling.full)
        return RL_OK;
    if (!has_core(&t->worker[0], reader->core))
        return rl_fail(err, RL_ENOMEM, "no memory for the caches of another thread");
    return rl_sampling_attach(&t->sampling, t->worker[0].cache, reader->core, err);
}

void rl_traffic_end_thread(void *context, struct rl_channel_thread *thread)
{
    struct rl_simulation *t = context;
    struct rl_traffic_reader *reader = thread->user;
    if (reader)
        t->core_used[reader->core] = false;
    free(reader);
}

/* ---- the reader thread ---- */

void rl_traffic_rest(unsigned times)
{
    const struct timespec idle = {.tv_nsec = (long)times * RL_TRAFFIC_IDLE_NS};
    nanosleep(&idle, NULL);
}

/* One worker, the reader thread itself. */
static enum rl_status read_alone(struct rl_simulation *t, bool thorough, uint64_t *ret_n)
{
    RL_TRY(rl_channel_scan(t->channel, thorough, &t->error));
    size_t n_threads;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n_threads);
    uint64_t n = 0;
    for (size_t i = 0; i < n_threads; i++)
        n += drain(t, &thread[i]);
    if (rl_traffic_is_short(&t->worker[0]))
        return rl_fail(&t->error, RL_ENOMEM, "no memory for what instructions move");
    *ret_n = n;
    return RL_OK;
}

static enum rl_status read_some(struct rl_simulation *t, bool thorough, uint64_t *ret_n)
{
    if (t->options.n_workers == 1)
        return read_alone(t, thorough, ret_n);
    RL_TRY(rl_traffic_hand_out(t, thorough, ret_n));
    *ret_n = rl_traffic_work(&t->worker[0]);
    return RL_OK;
}

static void close_channel(struct rl_simulation *t)
{
    pthread_mutex_lock(&t->reading);
    rl_channel_close(t->channel);
    pthread_mutex_unlock(&t->reading);
}

static size_t n_threads_left(struct rl_simulation *t)
{
    size_t left;
    pthread_mutex_lock(&t->reading);
    rl_channel_threads(t->channel, &left);
    pthread_mutex_unlock(&t->reading);
    return left;
}

static enum rl_status read_until_stopped(struct rl_simulation *t)
{
    double thorough_s = 0;
    uint64_t n = 0;
    while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
        double now_s = rl_now_s();
        bool thorough = now_s >= thorough_s;
        if (thorough)
            thorough_s = now_s + THOROUGH_S;
        rl_channel_beat(t->channel);
        RL_TRY(read_some(t, thorough, &n));
        maybe_step(t);
        if (n < RL_TRAFFIC_FEW)
            rl_traffic_rest(1);
    }
    close_channel(t);
    bool more = true;
    while (more) { /* threads stay until other workers are through as well */
        RL_TRY(read_some(t, true, &n));
        more = n > 0 || n_threads_left(t) > 0;
        if (n == 0 && more)
            rl_traffic_rest(1);
    }
    return read_some(t, true, &n);
}

void *rl_traffic_read(void *simulation)
{
    struct rl_simulation *t = simulation;
    enum rl_status status = read_until_stopped(t);
    if (status != RL_OK)
        close_channel(t);
    pthread_mutex_lock(&t->reading);
    if (t->status == RL_OK) /* no other worker has failed */
        t->status = status;
    pthread_mutex_unlock(&t->reading);
    return NULL;
}
