/* From one traffic model to bytes at each level, given how large the caches are. */
#include "base/unit.h"
#include "workload/workload_internal.h"

#include <stdio.h>
#include <string.h>

/* A set surely stays in a cache of which it takes at most this share, and surely streams through
 * one that it exceeds by this factor. In between, replacement policy, hashing and neighbours
 * decide, and no formula does. */
static const double surely_fits = 0.75;
static const double surely_streams = 2.0;

enum rl_status rl_account_ops(struct rl_kernel *kernel, enum rl_precision precision,
                              enum rl_op_class op, const char *isa, double count,
                              struct rl_error *err)
{
    struct rl_op_count ops = {
        .precision = precision, .op = op, .count = rl_value(count, RL_SOURCE_MODELLED, 0)};
    if (count == 0)
        return RL_OK;
    snprintf(ops.isa, sizeof ops.isa, "%s", isa);
    return rl_kernel_add_ops(kernel, &ops, err);
}

enum rl_status rl_account_multiply_add(struct rl_kernel *kernel, enum rl_precision precision,
                                       const char *isa, bool fused, double multiply_add, double add,
                                       struct rl_error *err)
{
    if (fused)
        RL_TRY(rl_account_ops(kernel, precision, RL_OP_FMA, isa, multiply_add, err));
    else
        RL_TRY(rl_account_ops(kernel, precision, RL_OP_MUL, isa, multiply_add, err));
    return rl_account_ops(kernel, precision, RL_OP_ADD, isa, fused ? add : add + multiply_add, err);
}

void rl_traffic_step(struct rl_work_traffic *t, double holds_bytes, double read, double write,
                     double write_allocate)
{
    t->step[t->n_step++] = (struct rl_work_step){
        .holds_bytes = holds_bytes, .read = read, .write = write, .write_allocate = write_allocate};
}

void rl_traffic_unknown(struct rl_work_traffic *t, double holds_bytes, const char *why)
{
    t->step[t->n_step++] = (struct rl_work_step){.holds_bytes = holds_bytes, .why_not = why};
}

enum rl_status rl_account_parameter(struct rl_kernel *kernel, const char *key, double number,
                                    struct rl_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", number);
    return rl_kernel_set_parameter(kernel, key, text, err);
}

/* Hardware threads that share one instance of a level; where the system does not say, L1 and L2
 * belong to a thread and everything beyond to all. */
static unsigned sharers(const struct rl_level *level, unsigned threads)
{
    if (level->shared_by)
        return level->shared_by;
    return rl_level_rank(level->name) <= 2 ? 1 : threads;
}

/* What all threads together can keep in a level. */
static double capacity(const struct rl_level *level, unsigned threads)
{
    unsigned share = sharers(level, threads);
    unsigned instances = (threads + share - 1) / share;
    if (level->count && instances > level->count)
        instances = level->count;
    return (double)level->size_bytes * (instances ? instances : 1);
}

uint64_t rl_work_last_cache(const struct rl_work_env *env)
{
    double best = 0;
    int rank = 0;
    const struct rl_machine *machine = env ? env->machine : NULL;
    for (size_t i = 0; machine && i < machine->topology.n_levels; i++) {
        const struct rl_level *level = &machine->topology.levels[i];
        int r = rl_level_rank(level->name);
        if (r < 50 && r > rank && level->size_bytes) {
            rank = r;
            best = (double)level->size_bytes * (level->count ? level->count : 1);
        }
    }
    return rank ? (uint64_t)best : UINT64_C(32) << 20;
}

/* A cache that does not evict strictly the oldest line keeps an eighth of a set eight times its
 * size; a quarter of one four times its size would let kernels stand above the DRAM roof. */
uint64_t rl_work_streaming_bytes(const struct rl_work_env *env)
{
    const uint64_t cache = rl_work_last_cache(env);
    const uint64_t enough = 1ull << 30;
    uint64_t bytes = 8 * cache;
    return bytes <= enough ? bytes : 4 * cache > enough ? 4 * cache : enough;
}

uint64_t rl_work_cache(const struct rl_work_env *env, unsigned level, uint64_t fallback)
{
    char name[16];
    snprintf(name, sizeof name, "L%u", level);
    const struct rl_level *found =
        env && env->machine ? rl_machine_level(env->machine, name) : NULL;
    return found && found->size_bytes ? found->size_bytes : fallback;
}

/* The step that holds behind a cache of `size` bytes; NULL with the reason in `why` if none does.
 */
static const struct rl_work_step *find_step(const struct rl_work_traffic *t, double size,
                                            const char *cache, char *why, size_t n_why)
{
    for (unsigned i = 0; i < t->n_step; i++) {
        const struct rl_work_step *step = &t->step[i];
        if (step->holds_bytes <= surely_fits * size) {
            if (!step->why_not)
                return step;
            snprintf(why, n_why, "%s", step->why_not);
            return NULL;
        }
        if (step->holds_bytes < surely_streams * size) {
            char set[24], room[24];
            snprintf(
                why, n_why,
                "the data it uses again (%s) are about as large as the %s (%s): what stays there "
                "is not predictable",
                rl_format_size(set, sizeof set, (uint64_t)step->holds_bytes), cache,
                rl_format_size(room, sizeof room, (uint64_t)size));
            return NULL;
        }
    }
    snprintf(why, n_why, "no traffic model for this kernel");
    return NULL;
}

static enum rl_status missing_bytes(struct rl_kernel *kernel, const char *level, const char *why,
                                    struct rl_error *err)
{
    char what[RL_WORD_LEN + 8];
    snprintf(what, sizeof what, "bytes.%s", level);
    return rl_missing_add(&kernel->missing, what, why, err);
}

static enum rl_status account_level(const struct rl_work_traffic *t, const char *level,
                                    const char *inner, double inner_size, struct rl_kernel *kernel,
                                    struct rl_error *err)
{
    char why[RL_NOTE_LEN * 2];
    const struct rl_work_step *step = find_step(t, inner_size, inner, why, sizeof why);
    if (!step)
        RL_TRY(missing_bytes(kernel, level, why, err));
    struct rl_traffic *row;
    RL_TRY(rl_kernel_traffic(kernel, level, &row, err));
    row->compulsory = rl_value(t->compulsory_read + t->compulsory_write, RL_SOURCE_MODELLED, 0);
    if (!step)
        return RL_OK;
    row->read = rl_value(step->read, RL_SOURCE_MODELLED, 0);
    row->write = rl_value(step->write, RL_SOURCE_MODELLED, 0);
    row->write_allocate = rl_value(step->write_allocate, RL_SOURCE_MODELLED, 0);
    row->bytes = rl_value(step->read + step->write + step->write_allocate, RL_SOURCE_MODELLED, 0);
    return RL_OK;
}

static enum rl_status account_l1(const struct rl_work_traffic *t, struct rl_kernel *kernel,
                                 struct rl_error *err)
{
    if (t->load_bytes < 0 || t->store_bytes < 0)
        return missing_bytes(kernel, "L1", "what a foreign library loads and stores is not known",
                             err);
    kernel->load_bytes = rl_value(t->load_bytes, RL_SOURCE_MODELLED, 0);
    kernel->store_bytes = rl_value(t->store_bytes, RL_SOURCE_MODELLED, 0);
    kernel->nontemporal_bytes = rl_value(t->nontemporal_bytes, RL_SOURCE_MODELLED, 0);
    struct rl_traffic *row;
    RL_TRY(rl_kernel_traffic(kernel, "L1", &row, err));
    row->read = kernel->load_bytes;
    row->write = kernel->store_bytes;
    row->write_allocate = rl_value(0, RL_SOURCE_MODELLED, 0);
    row->bytes = rl_value(t->load_bytes + t->store_bytes, RL_SOURCE_MODELLED, 0);
    row->compulsory = rl_value(t->compulsory_read + t->compulsory_write, RL_SOURCE_MODELLED, 0);
    return RL_OK;
}

static const struct rl_level *next_cache(const struct rl_machine *machine, int rank)
{
    const struct rl_level *best = NULL;
    for (size_t i = 0; i < machine->topology.n_levels; i++) {
        const struct rl_level *level = &machine->topology.levels[i];
        int r = rl_level_rank(level->name);
        if (r > rank && r < 50 && level->size_bytes && (!best || r < rl_level_rank(best->name)))
            best = level;
    }
    return best;
}

enum rl_status rl_account_traffic(const struct rl_work_config *config,
                                  const struct rl_work_traffic *t, struct rl_kernel *kernel,
                                  struct rl_error *err)
{
    kernel->working_set_bytes = rl_value(t->working_set_bytes, RL_SOURCE_MODELLED, 0);
    RL_TRY(account_l1(t, kernel, err));
    const struct rl_machine *machine = config->env ? config->env->machine : NULL;
    const struct rl_level *inner = machine ? next_cache(machine, 0) : NULL;
    if (!inner)
        return missing_bytes(kernel, "DRAM", "the cache sizes of this machine are not known", err);
    for (;;) {
        const struct rl_level *outer = next_cache(machine, rl_level_rank(inner->name));
        RL_TRY(account_level(t, outer ? outer->name : "DRAM", inner->name,
                             capacity(inner, config->threads), kernel, err));
        if (!outer)
            return RL_OK;
        inner = outer;
    }
}

uint64_t rl_size_mul(uint64_t a, uint64_t b, uint64_t size)
{
    uint64_t out;
    if (__builtin_mul_overflow(a, b, &out) || __builtin_mul_overflow(out, size, &out))
        return UINT64_MAX;
    return out;
}

double rl_pseudo(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed << 40) + i + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(int64_t)((x >> 40) | 1) * 0x1p-23 - 1.0;
}

void rl_fill_pseudo(void *array, enum rl_precision precision, size_t from, size_t to, uint64_t seed)
{
    if (precision == RL_FP64)
        for (size_t i = from; i < to; i++)
            ((double *)array)[i] = rl_pseudo(seed, i);
    else
        for (size_t i = from; i < to; i++)
            ((float *)array)[i] = (float)rl_pseudo(seed, i);
}
