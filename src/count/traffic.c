/* The beginning and the end of a simulation, and the rows it leaves. One reader thread empties the
 * rings in turn and drives the model, alone or with other workers. */
#include "count/traffic.h"

#include "base/error.h"
#include "count/traffic_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const double DEFAULT_STEP_S = 1e-3;
static const uint64_t DEFAULT_EXACT = 300000;

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

/* ---- life ---- */

/* Several workers: each keeps the classes that are its own. */
static uint64_t share_of(const struct rl_simulation *t, uint32_t index)
{
    uint64_t own = 0;
    for (uint32_t line = 0; line < RLE_TRACE_CLASSES; line++)
        if (line % t->sampling.classes * t->options.n_workers / t->sampling.classes == index)
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
        struct rl_traffic_worker *w = &t->worker[i];
        w->traffic = t;
        w->index = i;
        w->n_cores = 1;
        RL_TRY(rl_cache_new(&t->options.geometry, n_groups, &w->cache, err));
        w->own = share_of(t, i);
    }
    if (!t->sampling.full)
        RL_TRY(rl_sampling_attach(&t->sampling, t->worker[0].cache, 0, err));
    t->piece = calloc(RL_TRAFFIC_PIECES, sizeof *t->piece);
    if (!t->piece)
        return rl_fail(err, RL_ENOMEM, "no memory for the traffic model");
    const struct rl_channel_events events = {rl_traffic_begin_thread, rl_traffic_end_thread,
                                             keep_accounts, t};
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
    struct rl_simulation *t = aligned_alloc(_Alignof(struct rl_simulation), sizeof *t);
    if (!t)
        return rl_fail(err, RL_ENOMEM, "no memory for the traffic model");
    memset(t, 0, sizeof *t);
    t->options = *options;
    pthread_mutex_init(&t->reading, NULL);
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
    __atomic_store_n(&t->quit, true, __ATOMIC_RELEASE);
    for (uint32_t i = 1; i < n; i++)
        pthread_join(t->worker[i].thread, NULL);
}

static enum rl_status start_threads(struct rl_simulation *t, struct rl_error *err)
{
    for (uint32_t i = 1; i < t->options.n_workers; i++)
        if (pthread_create(&t->worker[i].thread, NULL, rl_traffic_share, &t->worker[i]) != 0) {
            end_workers(t, i);
            return rl_fail(err, RL_ESYS, "cannot start a thread for the traffic model");
        }
    if (pthread_create(&t->reader, NULL, rl_traffic_read, t) != 0) {
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
    pthread_mutex_destroy(&t->reading);
    free(t->piece);
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
        summary.malformed += w == 0 ? traffic->worker[w].malformed : 0;
        summary.forgotten += rl_cache_forgotten(traffic->worker[w].cache);
    }
    *ret_summary = summary;
}
