/* Load-to-use latency per level: a chain of pointers in random order through a working set. */
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64, MOST_LEVELS = 8, SETTLED_LOOPS = 64 };
static const double sample_s = 30e-6;

struct chase {
    struct rl_session *session;
    char *at; /* where the last sample ended */
    size_t set_bytes;
    const char *level;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One cycle through all lines of the set (Sattolo's algorithm), links written in place. */
static enum rl_status build(char *base, size_t bytes, struct rl_error *err)
{
    size_t n = bytes / LINE_BYTES;
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    if (!order)
        return rl_fail(err, RL_ENOMEM, "no memory for a chain of %zu lines", n);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = next_random(&state) % i;
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < n; i++) {
        char *target = base + (size_t)order[(i + 1) % n] * LINE_BYTES;
        memcpy(base + (size_t)order[i] * LINE_BYTES, &target, sizeof target);
    }
    free(order);
    return RL_OK;
}

static void run(void *arg, unsigned rank, uint64_t loops)
{
    struct chase *chase = arg;
    struct rl_rank *r = &chase->session->rank[rank];
    struct rl_kernel_args args = {.loops = loops, .a = chase->at, .out = r->out};
    rl_chase(&args);
    memcpy(&chase->at, r->out, sizeof chase->at);
}

/* Chains lie one behind the other; DRAM's takes what is left of the buffer. */
static size_t set_of(const struct rl_session *s, const char *level, size_t left)
{
    size_t set = strcmp(level, "DRAM") == 0 ? left : rl_level_set_bytes(s, level);
    return set / LINE_BYTES * LINE_BYTES;
}

static enum rl_status list(struct rl_session *s, struct chase *chase, unsigned *ret_n,
                           struct rl_error *err)
{
    const struct rl_topology *topology = &s->machine->topology;
    size_t used = 0;
    unsigned n = 0;
    for (size_t i = 0; i < topology->n_levels && n < MOST_LEVELS; i++) {
        const char *level = topology->levels[i].name;
        size_t set = set_of(s, level, s->rank[0].buffer.bytes - used);
        if (set < 2 * LINE_BYTES || used + set > s->rank[0].buffer.bytes)
            continue;
        char *base = s->rank[0].buffer.base + used;
        RL_TRY(build(base, set, err));
        chase[n++] = (struct chase){.session = s, .at = base, .set_bytes = set, .level = level};
        used += (set + 4095) / 4096 * 4096;
    }
    *ret_n = n;
    return RL_OK;
}

/* Walk a set once before it is timed, on the CPU that will be, so that it is where it belongs. In a
 * private cache that is done before every sample: others on the core push lines out of it. */
static void warm(void *arg, unsigned rank)
{
    struct chase *chase = arg;
    if (rl_level_rank(chase->level) < 10)
        run(arg, rank, chase->set_bytes / LINE_BYTES / RL_CHASE_STEPS + 1);
}

static bool is_private(const char *level)
{
    return rl_level_rank(level) <= 2;
}

static bool is_shared_cache(const char *level)
{
    int rank = rl_level_rank(level);
    return rank > 2 && rank < 10;
}

/* Other guests of a shared cache push a chain out faster than it is walked once: 4 MiB take
 * milliseconds. So before a sample its own few lines are fetched, and pushed from the private
 * caches into the shared one by a stretch of twice their size. */
static void settle(void *arg, unsigned rank)
{
    struct chase *chase = arg;
    const struct rl_session *s = chase->session;
    const struct rl_buffer *buffer = &s->rank[rank].buffer;
    const struct rl_level *l2 = rl_machine_level(s->machine, "L2");
    size_t stretch = l2 ? 2 * (size_t)l2->size_bytes : 0;
    stretch = stretch < buffer->bytes / 4 ? stretch : buffer->bytes / 4;
    char *start = chase->at;
    run(arg, rank, SETTLED_LOOPS);
    chase->at = start;
    for (size_t i = buffer->bytes - stretch; stretch && i < buffer->bytes; i += LINE_BYTES)
        (void)*(volatile const char *)(buffer->base + i);
}

static enum rl_status add(struct rl_session *s, const struct chase *chase,
                          const struct rl_timing *t, struct rl_error *err)
{
    double time_s = t->time_s / RL_CHASE_STEPS;
    struct rl_latency latency = {
        .threads = 1,
        .time_s = rl_value(time_s, RL_SOURCE_MEASURED, t->spread),
        .cycles = t->per_cycle > 0 ? 1 / t->per_cycle / RL_CHASE_STEPS : 0,
        .working_set_bytes = chase->set_bytes,
    };
    snprintf(latency.level, sizeof latency.level, "%s", chase->level);
    return rl_machine_add_latency(s->machine, &latency, err);
}

/* Caches first and DRAM last, each level by itself: the chains would evict each other. */
enum rl_status rl_measure_latency(struct rl_session *s, double budget_s, struct rl_error *err)
{
    struct chase chase[MOST_LEVELS];
    unsigned n = 0;
    if (s->threads != 1)
        return RL_OK;
    RL_TRY(list(s, chase, &n, err));
    for (unsigned i = 0; i < n; i++) {
        bool settles = is_shared_cache(chase[i].level);
        struct rl_job job = {.name = s->label,
                             .run = run,
                             .prepare = settles                      ? settle
                                        : is_private(chase[i].level) ? warm
                                                                     : NULL,
                             .arg = &chase[i],
                             .loops = settles ? SETTLED_LOOPS : 0,
                             .sample_s = sample_s};
        const struct rl_phase phase = {.label = "latency", .budget_s = budget_s / n};
        struct rl_timing timing;
        rl_team_run(s->team, warm, &chase[i]);
        RL_TRY(rl_session_sample(s, &phase, &job, 1, &timing, err));
        RL_TRY(add(s, &chase[i], &timing, err));
    }
    return RL_OK;
}
