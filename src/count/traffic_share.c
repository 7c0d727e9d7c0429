/* Where everything is followed, several workers may go through the same records, each with a model
 * of its own for a share of the classes of lines, which never meet. Records are handed out in
 * pieces, to all in the same order; each worker takes them at its own pace, and the ring gets its
 * room back when the slowest is through. Who has nothing to do and finds nobody else at it hands
 * out more. Nobody waits for another but by sleeping for a while. */
#include "count/channel.h"
#include "count/traffic_internal.h"

#include "base/error.h"

enum {
    PIECE = 1 << 12,  /* records */
    PIECES_MOST = 64, /* that a worker does before it looks at other things */
    IDLE_MOST = 8,    /* times the usual rest that a worker without work sleeps at a time */
};

static uint64_t slowest(const struct rl_simulation *t)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t w = 0; w < t->options.n_workers; w++) {
        uint64_t done = __atomic_load_n(&t->worker[w].done, __ATOMIC_ACQUIRE);
        least = done < least ? done : least;
    }
    return least;
}

static void give_back(struct rl_simulation *t)
{
    uint64_t end = slowest(t);
    if (end == t->given_back)
        return;
    for (; t->given_back < end; t->given_back++) {
        const struct rl_traffic_piece *piece = &t->piece[t->given_back % RL_TRAFFIC_PIECES];
        piece->reader->done += piece->n;
    }
    size_t n;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n);
    for (size_t i = 0; i < n; i++) {
        struct rl_traffic_reader *reader = thread[i].user;
        if (reader->done > 0)
            rl_channel_release(&thread[i], reader->done);
        reader->done = 0;
    }
}

/* Returns how many records of a thread it was, all of one region. */
static enum rl_status hand_out_piece(struct rl_simulation *t, struct rl_channel_thread *thread,
                                     uint64_t *ret_n)
{
    uint64_t n;
    const struct rle_trace_record *record = rl_channel_peek(thread, &n);
    if (n > PIECE)
        n = PIECE;
    uint32_t region = rl_channel_region(thread, &n);
    *ret_n = n;
    if (n == 0)
        return RL_OK;
    struct rl_region_accounts *accounts = rl_accounts_of(thread->process->user, region);
    if (!accounts)
        return rl_fail(&t->error, RL_ENOMEM, "no memory for what instructions move");
    struct rl_traffic_reader *reader = thread->user;
    uint64_t at = t->handed_out;
    t->piece[at % RL_TRAFFIC_PIECES] =
        (struct rl_traffic_piece){.sites = thread->process->sites,
                                  .accounts = accounts,
                                  .record = record,
                                  .reader = reader,
                                  .n = (uint32_t)n,
                                  .n_sites = thread->process->n_sites,
                                  .core = reader->core};
    __atomic_store_n(&t->handed_out, at + 1, __ATOMIC_RELEASE);
    rl_channel_take(thread, n);
    t->records += n;
    return RL_OK;
}

static enum rl_status hand_out_some(struct rl_simulation *t, struct rl_channel_thread *thread,
                                    uint64_t *ret_n)
{
    uint64_t sum = 0;
    uint64_t n = 1;
    while (n > 0 && sum < RL_TRAFFIC_BATCH && t->handed_out - t->given_back < RL_TRAFFIC_PIECES) {
        RL_TRY(hand_out_piece(t, thread, &n));
        sum += n;
    }
    *ret_n += sum;
    return RL_OK;
}

static enum rl_status hand_out(struct rl_simulation *t, bool thorough, uint64_t *ret_n)
{
    *ret_n = 0;
    RL_TRY(t->status);
    give_back(t);
    RL_TRY(rl_channel_scan(t->channel, thorough, &t->error));
    size_t n_threads;
    struct rl_channel_thread *thread = rl_channel_threads(t->channel, &n_threads);
    for (size_t i = 0; i < n_threads; i++)
        RL_TRY(hand_out_some(t, &thread[i], ret_n));
    for (uint32_t w = 0; w < t->options.n_workers; w++)
        if (rl_traffic_is_short(&t->worker[w]))
            return rl_fail(&t->error, RL_ENOMEM, "no memory for what instructions move");
    return RL_OK;
}

enum rl_status rl_traffic_hand_out(struct rl_simulation *traffic, bool thorough, uint64_t *ret_n)
{
    struct rl_simulation *t = traffic;
    pthread_mutex_lock(&t->reading);
    t->status = hand_out(t, thorough, ret_n);
    enum rl_status status = t->status;
    pthread_mutex_unlock(&t->reading);
    return status;
}

/* Unless another is at it. An error is for the reader thread to find. */
static void try_to_hand_out(struct rl_simulation *t)
{
    uint64_t n;
    if (pthread_mutex_trylock(&t->reading) != 0)
        return;
    t->status = hand_out(t, false, &n);
    pthread_mutex_unlock(&t->reading);
}

uint64_t rl_traffic_work(struct rl_traffic_worker *worker)
{
    struct rl_simulation *t = worker->traffic;
    uint64_t sum = 0;
    uint64_t since = 0; /* records, since it was looked whether there are more */
    uint64_t at = worker->done;
    uint64_t end = at + PIECES_MOST;
    while (at < end && at < __atomic_load_n(&t->handed_out, __ATOMIC_ACQUIRE)) {
        const struct rl_traffic_piece *piece = &t->piece[at % RL_TRAFFIC_PIECES];
        rl_traffic_run(worker, piece);
        sum += piece->n;
        since += piece->n;
        __atomic_store_n(&worker->done, ++at, __ATOMIC_RELEASE);
        if (since >= PIECE) {
            try_to_hand_out(t);
            since = 0;
        }
    }
    return sum;
}

/* Has the reader thread something to do but look for more? */
static bool is_behind(const struct rl_traffic_worker *reader)
{
    uint64_t done = __atomic_load_n(&reader->done, __ATOMIC_ACQUIRE);
    return done < __atomic_load_n(&reader->traffic->handed_out, __ATOMIC_ACQUIRE);
}

void *rl_traffic_share(void *argument)
{
    struct rl_traffic_worker *w = argument;
    struct rl_simulation *t = w->traffic;
    unsigned idle = 0; /* times in a row */
    while (!__atomic_load_n(&t->quit, __ATOMIC_ACQUIRE)) {
        bool few = rl_traffic_work(w) < RL_TRAFFIC_FEW;
        idle = !few ? 0 : idle < IDLE_MOST ? idle + 1 : IDLE_MOST;
        if (few)
            rl_traffic_rest(idle);
        if (!few || is_behind(&t->worker[0]))
            try_to_hand_out(t);
    }
    return NULL;
}
