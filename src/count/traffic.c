/* One reader thread empties the rings in turn and drives the model. Where everything is followed
 * and several workers are asked for, each has a model of its own for a share of the classes of
 * lines (which never meet), and all go through the same records. */
#include "count/traffic.h"

#include "base/error.h"
#include "count/accounts.h"
#include "count/records.h"
#include "timing/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCH = 1 << 14,      /* records of one thread before the next has its turn */
    STEPS_KEPT = 64,      /* turns a thread's reading may lag behind its writing */
    IDLE_NS = 250 * 1000, /* sleep when there was little to do: looking disturbs the writers */
    FEW_RECORDS = 1 << 13,
};
static const double DEFAULT_STEP_S = 1e-3;
static const uint64_t DEFAULT_EXACT = 300000;
static const double THOROUGH_S = 0.05; /* between looks for processes that died */
static const double IDLE_SHARE = 0.5;  /* of a step that a program must have run to be at work */
static const double LONGEST_TURN = 10; /* steps, if the fixed classes have nothing to do */

/* One thread of the program, as the model sees it. */
struct reader {
    uint32_t core;
    uint64_t step;                /* first one not yet applied to its core … */
    uint64_t step_at[STEPS_KEPT]; /* … and where in its ring each one is to be */
};

struct step {
    uint32_t n_changes;
    struct rl_sampling_change change[RL_SAMPLING_CHANGES_MAX];
};

/* Records that every worker has to go through. */
struct job {
    const struct rl_channel_thread *thread;
    struct rl_region_accounts *accounts;
    const struct rle_trace_record *record;
    uint64_t n;
};

struct worker {
    struct rl_simulation *traffic;
    uint32_t index;
    struct rl_cache *cache;
    uint64_t own; /* classes of lines, one bit each */
    pthread_t thread;
    bool out_of_memory;
    uint64_t malformed;
    uint64_t watched; /* records of the fixed classes: the program's work, as far as it shows */
};

struct rl_simulation {
    struct rl_traffic_options options;
    struct rl_sampling sampling;
    struct rl_channel *channel;
    uint32_t n_flows;
    struct worker worker[RL_ACCOUNT_WORKERS];

    pthread_t reader;
    bool started;
    bool stop; /* atomic */
    enum rl_status status;
    struct rl_error error;

    struct step step[STEPS_KEPT];
    uint64_t n_steps;
    double next_step_s;
    double step_began_s;
    uint64_t records;
    uint64_t records_at_step;
    double cpu_at_step_s; /* of the program */
    /* Records of the fixed classes, by which turns of the second stage are as long as steps between
     * them. */
    uint64_t watched; /* those classes, one bit each */
    uint64_t watched_at_step;
    double watched_by_step; /* in a step of the last pause, on average */
    uint32_t pause_steps;
    bool core_used[RL_CACHE_CORES_MAX];

    /* Between the reader and the other workers: a job is open while `open` is ahead of `closed`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job job;
    uint64_t jobs;
    uint32_t busy;
    bool quit;

    struct rl_traffic_row *row;
    size_t n_row;
    size_t row_capacity;
    struct rl_channel_totals totals;
};

void rl_traffic_options_default(struct rl_traffic_options *options)
{
    memset(options, 0, sizeof *options);
    rl_sampling_options_default(&options->sampling);
    options->exact_records = DEFAULT_EXACT;
    options->step_s = DEFAULT_STEP_S;
    options->n_workers = 1;
}

/* ---- accounts ---- */

uint32_t rl_traffic_flows(const struct rl_simulation *traffic)
{
    return traffic->n_flows;
}

void rl_traffic_add(const struct rl_simulation *traffic, struct rl_cache_flow sum[],
                    const struct rl_cache_flow account[])
{
    rl_account_add(sum, account, traffic->n_flows);
}

void rl_traffic_estimate(const struct rl_simulation *traffic, const struct rl_cache_flow account[],
                         uint32_t level, struct rl_traffic_value *ret_value)
{
    rl_sampling_estimate(&traffic->sampling, account, level, ret_value);
}

static bool add_row(struct rl_simulation *t, struct rl_traffic_row row)
{
    if (t->n_row == t->row_capacity) {
        size_t capacity = t->row_capacity ? 2 * t->row_capacity : 1024;
        struct rl_traffic_row *grown = realloc(t->row, capacity * sizeof *grown);
        if (!grown)
            return false;
        t->row = grown;
        t->row_capacity = capacity;
    }
    t->row[t->n_row++] = row;
    return true;
}

/* What all workers saw of a site, taken from them; NULL: nothing. */
static struct rl_cache_flow *take_account(const struct rl_simulation *t,
                                          struct rl_region_accounts *accounts, uint32_t site)
{
    struct rl_cache_flow *sum = NULL;
    for (uint32_t w = 0; w < t->options.n_workers; w++) {
        struct rl_account_table *table = &accounts->by_worker[w];
        struct rl_cache_flow *account = site < table->n ? table->account[site] : NULL;
        if (!account)
            continue;
        table->account[site] = NULL;
        if (sum) {
            rl_traffic_add(t, sum, account);
            free(account);
        } else {
            sum = account;
        }
    }
    return sum;
}

static bool add_rows(struct rl_simulation *t, const struct rl_channel_process *process,
                     uint32_t region, struct rl_region_accounts *accounts)
{
    for (uint32_t site = 0; site < process->n_sites; site++) {
        const struct rle_trace_site *s = &process->sites[site];
        struct rl_cache_flow *sum = take_account(t, accounts, site);
        if (sum && !add_row(t, (struct rl_traffic_row){process->pid, process->sequence, s->block,
                                                       s->insn, region, sum})) {
            free(sum);
            return false;
        }
    }
    return true;
}

/* Turn a process's accounts into rows; accounts become the rows' own. */
static enum rl_status keep_accounts(void *context, struct rl_channel_process *process,
                                    struct rl_error *err)
{
    struct rl_accounts *all = process->user;
    bool ok = true;
    process->user = NULL;
    for (uint32_t r = 0; all && r < RLE_TRACE_REGIONS && ok; r++)
        if (all->region[r])
            ok = add_rows(context, process, r, all->region[r]);
    rl_accounts_free(all);
    return ok ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for what instructions moved");
}

/* ---- records into the model ---- */

static void run_job(struct worker *w, const struct job *job)
{
    const struct rl_channel_process *process = job->thread->process;
    const struct rl_records records = {.sites = process->sites,
                                       .n_sites = process->n_sites,
                                       .record = job->record,
                                       .n = job->n,
                                       .full = w->traffic->sampling.full,
                                       .watched = w->traffic->watched,
                                       .own = w->own,
                                       .n_apart = w->traffic->sampling.classes};
    uint32_t core = ((const struct reader *)job->thread->user)->core;
    if (!rl_records_run(&records, w->cache, core, &job->accounts->by_worker[w->index],
                        w->traffic->n_flows, &w->watched, &w->malformed))
        w->out_of_memory = true;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct rl_simulation *t = w->traffic;
    uint64_t done = 0;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->jobs == done && !t->quit)
            pthread_cond_wait(&t->changed, &t->lock);
        if (t->jobs == done)
            break;
        struct job job = t->job;
        done = t->jobs;
        pthread_mutex_unlock(&t->lock);
        run_job(w, &job);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void run_by_all(struct rl_simulation *t, const struct job *job)
{
    bool others = t->options.n_workers > 1;
    if (others) {
        pthread_mutex_lock(&t->lock);
        t->job = *job;
        t->jobs++;
        t->busy = t->options.n_workers - 1;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->lock);
    }
    run_job(&t->worker[0], job);
    if (others) {
        pthread_mutex_lock(&t->lock);
        while (t->busy > 0)
            pthread_cond_wait(&t->changed, &t->lock);
        pthread_mutex_unlock(&t->lock);
    }
}

/* Read at most so many of a thread's records, all of one region, changing over to the next step of
 * the sampling where it was taken. Returns how many. */
static uint64_t drain_piece(struct rl_simulation *t, struct rl_channel_thread *thread,
                            uint64_t most)
{
    struct reader *reader = thread->user;
    uint64_t n;
    const struct rle_trace_record *record = rl_channel_peek(thread, &n);
    if (n > most)
        n = most;
    uint32_t region = rl_channel_region(thread, &n);
    while (reader->step < t->n_steps) {
        uint64_t at = reader->step_at[reader->step % STEPS_KEPT];
        uint64_t until = at > thread->position ? (at - thread->position) / sizeof *record : 0;
        if (until > 0) {
            n = n < until ? n : until;
            break;
        }
        const struct step *step = &t->step[reader->step % STEPS_KEPT];
        for (uint32_t i = 0; i < step->n_changes; i++)
            rl_sampling_apply(&t->sampling, t->worker[0].cache, reader->core, step->change[i]);
        reader->step++;
    }
    if (n == 0)
        return 0;
    struct rl_region_accounts *accounts = rl_accounts_of(thread->process->user, region);
    if (!accounts) {
        t->worker[0].out_of_memory = true;
        return 0;
    }
    run_by_all(t, &(struct job){thread, accounts, record, n});
    rl_channel_consume(thread, n);
    t->records += n;
    return n;
}

static uint64_t drain(struct rl_simulation *t, struct rl_channel_thread *thread)
{
    uint64_t sum = 0;
    uint64_t n;
    while (sum < BATCH && (n = drain_piece(t, thread, BATCH - sum)) > 0)
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
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n);
    if (t->sampling.full || t->records < t->options.exact_records)
        return;
    double now_s = rl_now_s();
    if (now_s < t->next_step_s || is_short_of_work(t, now_s))
        return;
    double cpu_s = rl_channel_cpu_s(t->channel);
    bool little = t->records - t->records_at_step < RL_SAMPLING_LITTLE;
    if (is_idle(t, little, cpu_s))
        return;
    for (size_t i = 0; i < n; i++)
        if (t->n_steps - ((struct reader *)thread[i].user)->step >= STEPS_KEPT)
            return;
    if (rl_sampling_is_due(&t->sampling))
        decide(t);
    note_work(t, rl_sampling_is_turn(&t->sampling));
    if (little)
        rl_sampling_scout(&t->sampling);
    struct step *step = &t->step[t->n_steps % STEPS_KEPT];
    step->n_changes = rl_sampling_step(&t->sampling, step->change);
    /* Heads first: lines written until the program is told are then more than the step counts,
     * never fewer, and those too many are left out. */
    for (size_t i = 0; i < n; i++)
        ((struct reader *)thread[i].user)->step_at[t->n_steps % STEPS_KEPT] =
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

static enum rl_status begin_thread(void *context, struct rl_channel_thread *thread,
                                   struct rl_error *err)
{
    struct rl_simulation *t = context;
    struct reader *reader = calloc(1, sizeof *reader);
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
    for (uint32_t w = 0; w < t->options.n_workers; w++)
        RL_TRY(rl_cache_reserve_cores(t->worker[w].cache, reader->core + 1, err));
    if (t->options.n_workers > 1)
        return RL_OK;
    return rl_sampling_attach(&t->sampling, t->worker[0].cache, reader->core, err);
}

static void end_thread(void *context, struct rl_channel_thread *thread)
{
    struct rl_simulation *t = context;
    struct reader *reader = thread->user;
    if (reader)
        t->core_used[reader->core] = false;
    free(reader);
}

/* ---- the reader thread ---- */

static void sleep_a_little(void)
{
    const struct timespec idle = {.tv_nsec = IDLE_NS};
    nanosleep(&idle, NULL);
}

static enum rl_status read_all(struct rl_simulation *t, bool thorough, uint64_t *ret_n)
{
    RL_TRY(rl_channel_scan(t->channel, thorough, &t->error));
    size_t n_threads;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n_threads);
    uint64_t n = 0;
    for (size_t i = 0; i < n_threads; i++)
        n += drain(t, &thread[i]);
    for (uint32_t w = 0; w < t->options.n_workers; w++)
        if (t->worker[w].out_of_memory)
            return rl_fail(&t->error, RL_ENOMEM, "no memory for what instructions move");
    *ret_n = n;
    return RL_OK;
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
        RL_TRY(read_all(t, thorough, &n));
        maybe_step(t);
        if (n < FEW_RECORDS)
            sleep_a_little();
    }
    rl_channel_close(t->channel);
    size_t left;
    do {
        RL_TRY(read_all(t, true, &n));
        rl_channel_threads(t->channel, &left);
    } while (n > 0 || left > 0);
    return rl_channel_scan(t->channel, true, &t->error);
}

static void *read_channel(void *argument)
{
    struct rl_simulation *t = argument;
    t->status = read_until_stopped(t);
    if (t->status != RL_OK)
        rl_channel_close(t->channel);
    return NULL;
}

/* ---- life ---- */

/* Several workers: each keeps the classes that are its own. */
static uint64_t share_of(const struct rl_simulation *t, uint32_t index)
{
    uint64_t own = 0;
    for (uint32_t line = 0; line < RLE_TRACE_CLASSES; line++)
        if (line % t->sampling.classes % t->options.n_workers == index)
            own |= (uint64_t)1 << line;
    return own;
}

static enum rl_status init(struct rl_simulation *t, struct rl_error *err)
{
    RL_TRY(rl_sampling_init(&t->sampling, &t->options.geometry, &t->options.sampling, err));
    if (!t->sampling.full || t->options.n_workers > t->sampling.classes)
        t->options.n_workers = 1;
    t->n_flows = rl_sampling_flows(&t->sampling);
    uint32_t n_groups[RL_CACHE_LEVELS_MAX];
    rl_sampling_groups(&t->sampling, n_groups);
    for (uint32_t i = 0; i < t->options.n_workers; i++) {
        struct worker *w = &t->worker[i];
        w->traffic = t;
        w->index = i;
        RL_TRY(rl_cache_new(&t->options.geometry, n_groups, &w->cache, err));
        w->own = share_of(t, i);
    }
    if (t->options.n_workers == 1)
        RL_TRY(rl_sampling_attach(&t->sampling, t->worker[0].cache, 0, err));
    const struct rl_channel_events events = {begin_thread, end_thread, keep_accounts, t};
    return rl_channel_new(t->sampling.full, t->sampling.classes, t->options.geometry.level[0].ways,
                          rl_sampling_wanted(&t->sampling), t->sampling.fixed[0], &events,
                          &t->channel, err);
}

enum rl_status rl_traffic_new(const struct rl_traffic_options *options,
                              struct rl_simulation **ret_traffic, struct rl_error *err)
{
    if (!(options->step_s > 0) || options->n_workers < 1 || options->n_workers > RL_ACCOUNT_WORKERS)
        return rl_fail(err, RL_EINVAL, "a traffic model has 1 to %d workers and a step above 0 s",
                       RL_ACCOUNT_WORKERS);
    struct rl_simulation *t = calloc(1, sizeof *t);
    if (!t)
        return rl_fail(err, RL_ENOMEM, "no memory for the traffic model");
    t->options = *options;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    enum rl_status status = init(t, err);
    if (status != RL_OK) {
        rl_traffic_free(t);
        return status;
    }
    *ret_traffic = t;
    return RL_OK;
}

static void end_workers(struct rl_simulation *t, uint32_t n)
{
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 1; i < n; i++)
        pthread_join(t->worker[i].thread, NULL);
}

static enum rl_status start_threads(struct rl_simulation *t, struct rl_error *err)
{
    for (uint32_t i = 1; i < t->options.n_workers; i++)
        if (pthread_create(&t->worker[i].thread, NULL, work, &t->worker[i]) != 0) {
            end_workers(t, i);
            return rl_fail(err, RL_ESYS, "cannot start a thread for the traffic model");
        }
    if (pthread_create(&t->reader, NULL, read_channel, t) != 0) {
        end_workers(t, t->options.n_workers);
        return rl_fail(err, RL_ESYS, "cannot start a thread for the traffic model");
    }
    t->started = true;
    return RL_OK;
}

/* The caller's signals are its own: a thread that left them open would take them, and end the
 * process, while the caller keeps them blocked. */
enum rl_status rl_traffic_start(struct rl_simulation *traffic, struct rl_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    enum rl_status status = start_threads(traffic, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct rl_traffic_row *x = a;
    const struct rl_traffic_row *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    const uint32_t of_x[] = {x->sequence, x->block, x->insn, x->region};
    const uint32_t of_y[] = {y->sequence, y->block, y->insn, y->region};
    for (unsigned i = 0; i < sizeof of_x / sizeof *of_x; i++)
        if (of_x[i] != of_y[i])
            return of_x[i] < of_y[i] ? -1 : 1;
    return 0;
}

/* Rows of one instruction in one region, which may have several operands, become one. */
static void merge_rows(struct rl_simulation *t)
{
    if (t->n_row > 0)
        qsort(t->row, t->n_row, sizeof *t->row, by_place);
    size_t n = 0;
    for (size_t i = 0; i < t->n_row; i++) {
        if (n > 0 && by_place(&t->row[n - 1], &t->row[i]) == 0) {
            struct rl_cache_flow *sum = (struct rl_cache_flow *)(uintptr_t)t->row[n - 1].account;
            rl_traffic_add(t, sum, t->row[i].account);
            free((void *)(uintptr_t)t->row[i].account);
        } else {
            t->row[n++] = t->row[i];
        }
    }
    t->n_row = n;
}

static void weigh(struct rl_simulation *t)
{
    struct rl_cache_flow *total = calloc(t->n_flows, sizeof *total);
    for (size_t i = 0; total && i < t->n_row; i++)
        rl_traffic_add(t, total, t->row[i].account);
    if (total)
        rl_sampling_weigh(&t->sampling, total);
    free(total);
}

enum rl_status rl_traffic_stop(struct rl_simulation *traffic, struct rl_error *err)
{
    struct rl_simulation *t = traffic;
    if (!t->started)
        return RL_OK;
    __atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
    pthread_join(t->reader, NULL);
    end_workers(t, t->options.n_workers);
    t->started = false;
    rl_channel_totals(t->channel, &t->totals);
    merge_rows(t);
    weigh(t);
    if (t->status != RL_OK && err)
        *err = t->error;
    return t->status;
}

void rl_traffic_free(struct rl_simulation *traffic)
{
    if (!traffic)
        return;
    struct rl_simulation *t = traffic;
    rl_traffic_stop(t, NULL);
    if (t->channel) {
        size_t n;
        struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n);
        for (size_t i = 0; i < n; i++) { /* only after an error */
            free(thread[i].user);
            rl_accounts_free(thread[i].process->user);
            thread[i].process->user = NULL;
        }
    }
    rl_channel_free(t->channel);
    for (size_t i = 0; i < t->n_row; i++)
        free((void *)(uintptr_t)t->row[i].account);
    free(t->row);
    for (uint32_t i = 0; i < RL_ACCOUNT_WORKERS; i++)
        rl_cache_free(t->worker[i].cache);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t);
}

int rl_traffic_descriptor(const struct rl_simulation *traffic)
{
    return rl_channel_descriptor(traffic->channel);
}

const struct rl_traffic_row *rl_traffic_rows(const struct rl_simulation *traffic, size_t *ret_n)
{
    *ret_n = traffic->n_row;
    return traffic->row;
}

void rl_traffic_summarise(const struct rl_simulation *traffic,
                          struct rl_traffic_summary *ret_summary)
{
    struct rl_traffic_summary summary = {.channel = traffic->totals,
                                         .records = traffic->records,
                                         .followed = rl_sampling_followed(&traffic->sampling),
                                         .classes = traffic->sampling.classes,
                                         .widened = rl_sampling_widened(&traffic->sampling),
                                         .sampled = traffic->sampling.thinned};
    for (uint32_t w = 0; w < traffic->options.n_workers; w++) {
        summary.malformed += traffic->worker[w].malformed;
        summary.forgotten += rl_cache_forgotten(traffic->worker[w].cache);
    }
    *ret_summary = summary;
}
