/* Memory ceilings: of each level and access pattern the best variant. */
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double sample_s = 20e-6;
static const size_t long_pass_bytes = (size_t)4 << 20; /* no core moves them in sample_s */
static const size_t chunk_bytes = (size_t)8 << 20;     /* of DRAM in one sample */
static const size_t skew_bytes = 1088;                 /* keeps arrays apart in pages and sets */
static const size_t spare_bytes = 4096;                /* more than all arrays are kept apart by */
static const size_t place_bytes =
    ((size_t)8 << 20) + 4096;                       /* holds a chunk, in however many arrays */
static const unsigned most_granule = 2048;          /* of kernels for every level */
static const double unknown_cache_bytes = 32 << 20; /* where the system shows no caches */
static const double most_unsure_bytes = 64 << 20;   /* of a cache reported and not measured */
static const size_t least_buffer_bytes = (size_t)32 << 20;
static const size_t most_buffer_bytes = (size_t)1 << 30;
enum { WARM_PRIVATE = 2, WARM_L3 = 4, FEW_RANKS = 8, MOST_OTHERS = 2 };
static const double trial_tolerance = 0.05;

static uint64_t level_size(const struct rl_session *s, const char *name)
{
    const struct rl_level *level = rl_machine_level(s->machine, name);
    return level ? level->size_bytes : 0;
}

/* A cache's part for one rank, when the ranks spread over all its instances. */
static double share_bytes(const struct rl_session *s, const char *name)
{
    const struct rl_level *level = rl_machine_level(s->machine, name);
    if (!level || !level->size_bytes)
        return 0;
    unsigned instances = level->count ? level->count : 1;
    double sharers = (double)s->threads / instances;
    return (double)level->size_bytes / (sharers > 1 ? sharers : 1);
}

/* Well inside the level and well outside the one before: of a cache that other guests share, often
 * a quarter is all there is. Each rank has its part of a shared cache; a victim cache holds what
 * does not fit before it. */
size_t rl_level_set_bytes(const struct rl_session *s, const char *level)
{
    double l2 = share_bytes(s, "L2");
    if (strcmp(level, "DRAM") == 0)
        return chunk_bytes;
    double size = share_bytes(s, level);
    if (strcmp(level, "L1") == 0)
        return (size_t)(size * 5 / 8);
    /* Of a cache with physical addresses and 8 ways, random pages overfill sets for 5 % of a set of
     * half its size, and for 0.1 % of one of a quarter. */
    if (strcmp(level, "L2") == 0)
        return (size_t)(size / 4 >= 4 * share_bytes(s, "L1") ? size / 4 : size / 2);
    double set = size / 2;
    if (set > 4 * l2 && l2 > 0)
        set = 4 * l2;
    if (set < 2 * l2)
        set = 1.5 * l2;
    return set > 0.8 * (size + l2) ? 0 : (size_t)set;
}

/* What a cache may come to keep. Where more is reported than was measured, other guests had the
 * rest for the moment: a buffer of four times what they left was found in the cache for half of it,
 * and DRAM read at twice its rate. */
static double possible_bytes(const struct rl_level *level)
{
    double size = (double)level->size_bytes;
    double reported = (double)level->reported_size_bytes;
    double possible = reported < most_unsure_bytes ? reported : most_unsure_bytes;
    return size < possible ? possible : size;
}

/* DRAM needs four times what the last cache can keep. Whether ranks share it is not certain in a
 * virtual machine, so few ranks get four times the whole each. */
size_t rl_rank_buffer_bytes(const struct rl_session *s)
{
    const struct rl_topology *topology = &s->machine->topology;
    double last = 0;
    for (size_t i = 0; i < topology->n_levels; i++)
        if (rl_level_rank(topology->levels[i].name) < 10) {
            double size = possible_bytes(&topology->levels[i]);
            double share = share_bytes(s, topology->levels[i].name);
            share = s->threads <= FEW_RANKS ? size : share > size / 4 ? share : size / 4;
            last = share > last ? share : last;
        }
    if (last <= 0)
        last = unknown_cache_bytes;
    size_t bytes = (size_t)(4 * last);
    bytes = bytes < least_buffer_bytes ? least_buffer_bytes : bytes;
    return bytes > most_buffer_bytes ? most_buffer_bytes : bytes;
}

/* Bytes of each array: the set divided among them, whole granules. */
static size_t array_bytes(const struct rl_memory_item *item)
{
    unsigned arrays = rl_pattern_arrays(item->kernel->pattern);
    size_t granule = item->kernel->granule;
    size_t bytes = item->set_bytes / arrays / granule * granule;
    return bytes ? bytes : granule;
}

double rl_memory_pass_bytes(const struct rl_memory_item *item)
{
    return (double)array_bytes(item) * rl_pattern_arrays(item->kernel->pattern);
}

size_t rl_memory_used(size_t bytes)
{
    return rl_memory_places(bytes) * place_bytes;
}

unsigned rl_memory_places(size_t bytes)
{
    unsigned n = bytes / place_bytes > 1 ? (unsigned)(bytes / place_bytes) : 1;
    for (unsigned divisor = 2; divisor * divisor <= n; divisor++)
        if (n % divisor == 0) {
            n--;
            divisor = 1;
        }
    return n;
}

static unsigned place_of(void *arg, unsigned rank)
{
    const struct rl_memory_item *item = arg;
    return item->session->rank[rank].place;
}

static struct rl_kernel_args args_of(const struct rl_memory_item *item, unsigned rank,
                                     uint64_t loops)
{
    struct rl_rank *r = &item->session->rank[rank];
    size_t bytes = array_bytes(item);
    size_t step = bytes + skew_bytes;
    size_t from = 0;
    if (item->rolling) {
        r->turn++;
        r->place = (r->turn + (item->round % item->places == 0 ? r->turn / item->round : 0)) %
                   item->places;
        from = r->place * place_bytes;
    }
    char *base = r->buffer.base + from;
    return (struct rl_kernel_args){.loops = loops,
                                   .in = item->session->image[RL_FP64],
                                   .out = r->out,
                                   .a = base,
                                   .b = base + step,
                                   .c = base + 2 * step,
                                   .bytes = bytes};
}

void rl_memory_run(void *arg, unsigned rank, uint64_t loops)
{
    const struct rl_memory_item *item = arg;
    struct rl_kernel_args args = args_of(item, rank, loops);
    item->kernel->run(&args);
}

void rl_memory_prepare(void *arg, unsigned rank)
{
    const struct rl_memory_item *item = arg;
    struct rl_kernel_args args = args_of(item, rank, item->warm);
    item->kernel->run(&args);
}

struct rl_job rl_memory_job(struct rl_memory_item *item)
{
    return (struct rl_job){.name = item->session->label,
                           .run = rl_memory_run,
                           .prepare = item->warm ? rl_memory_prepare : NULL,
                           .arg = item,
                           .sample_s = sample_s,
                           .loops = item->rolling || item->set_bytes >= long_pass_bytes ? 1 : 0,
                           .shared = rl_level_rank(item->level) > 2,
                           .place = item->rolling ? place_of : NULL,
                           .places = item->places};
}

static bool wanted(const struct rl_session *s, const char *level,
                   const struct rl_memory_kernel *kernel)
{
    bool streaming = kernel->pattern >= RL_NT_STORE;
    if (!rl_cpu_usable(&s->cpu, kernel->isa) || (streaming && strcmp(level, "DRAM") != 0))
        return false;
    /* made for the first level: long loops spare it the loop's end, which does not show further
     * out */
    if (kernel->granule > most_granule && strcmp(level, "L1") != 0)
        return false;
    /* 128-bit accesses cannot win where 256-bit ones exist */
    if (kernel->bits == 128 && rl_cpu_usable(&s->cpu, RL_ISA_AVX2))
        return false;
    if (s->options->mode != RL_MEASURE_QUICK)
        return true;
    return kernel->pattern == RL_LOAD || kernel->pattern == RL_TRIAD ||
           kernel->pattern == RL_NT_TRIAD;
}

/* Working sets of a level to try. Some shared caches serve stores faster from a larger set and some
 * guests get too little of one for it. The L2 of Zen 5 delivers 32, 48 or 63 bytes a cycle to one
 * and the same loop, and keeps to it for a while; sets of 384 KiB and more lift it to 63, for
 * reasons unknown. */
static unsigned list_sets(const struct rl_session *s, const char *level, size_t set[2])
{
    set[0] = rl_level_set_bytes(s, level);
    set[1] = 2 * set[0];
    if (strcmp(level, "L1") == 0 || strcmp(level, "DRAM") == 0)
        return 1;
    double most = share_bytes(s, level) / (strcmp(level, "L2") == 0 ? 2 : 4);
    return (double)set[1] <= most ? 2 : 1;
}

/* Variants of one pattern and working set stand together. */
static enum rl_status list_items(struct rl_session *s, const char *level,
                                 struct rl_memory_item **ret_item, unsigned *ret_n,
                                 struct rl_error *err)
{
    size_t n_kernel;
    size_t set[2];
    const struct rl_memory_kernel *kernel = rl_memory_kernels(&n_kernel);
    struct rl_memory_item *item = calloc(2 * n_kernel, sizeof *item);
    bool dram = strcmp(level, "DRAM") == 0;
    unsigned places = dram ? rl_memory_places(s->rank[0].buffer.bytes) : 1;
    unsigned n_sets = list_sets(s, level, set);
    unsigned n = 0;
    if (!item)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    for (unsigned k = 0; k < RL_PATTERN_COUNT * n_sets; k++)
        for (size_t i = 0; i < n_kernel; i++)
            if (kernel[i].pattern == k / n_sets && wanted(s, level, &kernel[i]))
                item[n++] = (struct rl_memory_item){.kernel = &kernel[i],
                                                    .session = s,
                                                    .level = level,
                                                    .set_bytes = set[k % n_sets],
                                                    .rolling = dram,
                                                    .places = places};
    *ret_item = item;
    *ret_n = n;
    return RL_OK;
}

static enum rl_status sample(struct rl_session *s, struct rl_memory_item *item, unsigned n,
                             const struct rl_phase *phase, struct rl_timing *timing,
                             struct rl_error *err)
{
    struct rl_job *job = calloc(n ? n : 1, sizeof *job);
    if (!job)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    for (unsigned i = 0; i < n; i++) {
        item[i].round = n;
        job[i] = rl_memory_job(&item[i]);
    }
    enum rl_status status = rl_session_sample(s, phase, job, n, timing, err);
    free(job);
    return status;
}

static double bytes_per_s(const struct rl_memory_item *item, const struct rl_timing *timing)
{
    return timing->loops_per_s * rl_memory_pass_bytes(item);
}

/* Index of the fastest among item[from] and those behind it of the same pattern (and, if
 * `same_set`, working set); the first one after them goes to ret_next. */
static unsigned best_of(const struct rl_memory_item *item, unsigned n,
                        const struct rl_timing *timing, unsigned from, bool same_set,
                        unsigned *ret_next)
{
    unsigned best = from;
    unsigned j = from + 1;
    for (; j < n && item[j].kernel->pattern == item[from].kernel->pattern &&
           (!same_set || item[j].set_bytes == item[from].set_bytes);
         j++)
        if (bytes_per_s(&item[j], &timing[j]) > bytes_per_s(&item[best], &timing[best]))
            best = j;
    *ret_next = j;
    return best;
}

unsigned rl_memory_keep_best(struct rl_memory_item *item, unsigned n,
                             const struct rl_timing *timing)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n;) {
        unsigned next;
        unsigned best = best_of(item, n, timing, i, true, &next);
        double bar = (1 - trial_tolerance) * bytes_per_s(&item[best], &timing[best]);
        bool is_private = rl_level_rank(item[i].level) <= 2;
        struct rl_memory_item winner = item[best];
        unsigned others = 0;
        for (unsigned j = i; j < next; j++) {
            bool unsure = is_private && timing[j].disturbed;
            bool close = others < MOST_OTHERS && bytes_per_s(&item[j], &timing[j]) >= bar;
            if (j == best || (!unsure && !close))
                continue;
            item[kept++] = item[j];
            others += !unsure;
        }
        item[kept++] = winner;
        i = next;
    }
    return kept;
}

/* @param rival_unsure  another variant, that may be faster, has not settled. */
static enum rl_status add(struct rl_session *s, const struct rl_memory_item *item,
                          const struct rl_timing *timing, bool rival_unsure, struct rl_error *err)
{
    struct rl_limit limit = rl_memory_limit(s->core, item->level, item->kernel->pattern);
    double per_cycle = timing->per_cycle * rl_memory_pass_bytes(item);
    char id[RL_ID_LEN];
    snprintf(id, sizeof id, "%s.%s@%u", item->level, rl_pattern_name(item->kernel->pattern),
             s->threads);
    rl_limit_check(&limit, id, per_cycle, timing->disturbed, &s->exceeded);
    struct rl_memory_ceiling m = {
        .threads = s->threads,
        .rate = rl_value(bytes_per_s(item, timing), RL_SOURCE_MEASURED, timing->spread),
        .per_cycle = per_cycle,
        .limit_per_cycle = limit.value,
        .reachable_per_cycle = limit.reachable,
        .clock_hz = timing->clock_hz,
        .repeats = timing->repeats,
        .contended = (timing->disturbed || rival_unsure) &&
                     !rl_limit_is_met(&limit, per_cycle, timing->clean),
        .working_set_bytes =
            item->rolling ? item->places * place_bytes : (uint64_t)rl_memory_pass_bytes(item),
    };
    snprintf(m.level, sizeof m.level, "%s", item->level);
    snprintf(m.pattern, sizeof m.pattern, "%s", rl_pattern_name(item->kernel->pattern));
    snprintf(m.variant, sizeof m.variant, "%s", item->kernel->variant);
    snprintf(m.limit_note, sizeof m.limit_note, "%s", limit.note);
    return rl_machine_add_memory(s->machine, &m, err);
}

/* Passes over a shared cache's set take long, and all items use the same memory: to choose among
 * them one pass after another item's is enough. */
static void warm_up(struct rl_memory_item *item, unsigned n, bool trial)
{
    for (unsigned i = 0; i < n; i++)
        if (!item[i].rolling)
            item[i].warm = rl_level_rank(item[i].level) <= 2 ? WARM_PRIVATE : trial ? 1 : WARM_L3;
}

/* Of each pattern the fastest kernel, which stands last, and instead of places passes over the
 * whole buffer: as long as the calls of kernels that they are to be compared with, so that what
 * other guests take within milliseconds is missing from both. */
static unsigned lengthen(const struct rl_session *s, struct rl_memory_item *item, unsigned n)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n && item[i + 1].kernel->pattern == item[i].kernel->pattern)
            continue;
        item[kept] = item[i];
        item[kept].rolling = false;
        item[kept].places = 1;
        item[kept++].set_bytes = s->rank[0].buffer.bytes - spare_bytes;
    }
    return kept;
}

enum rl_status rl_measure_level(struct rl_session *s, const char *level, double budget_s,
                                struct rl_error *err)
{
    const struct rl_phase trial = {.label = level, .budget_s = 0.3 * budget_s, .trial = true};
    const struct rl_phase phase = {.label = level, .budget_s = 0.7 * budget_s};
    struct rl_memory_item *item = NULL;
    unsigned n = 0;
    if (strcmp(level, "DRAM") != 0 && !level_size(s, level))
        return RL_OK;
    if (rl_level_set_bytes(s, level) == 0) {
        char why[RL_NOTE_LEN];
        snprintf(why, sizeof why, "each of %u threads has too little of it to tell it from L2",
                 s->threads);
        return rl_missing_add(&s->machine->missing, level, why, err);
    }
    RL_TRY(list_items(s, level, &item, &n, err));
    struct rl_timing *timing = calloc(n ? n : 1, sizeof *timing);
    enum rl_status status =
        timing ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for the list of kernels");
    warm_up(item, n, true);
    if (status == RL_OK)
        status = sample(s, item, n, &trial, timing, err);
    if (status == RL_OK) {
        n = rl_memory_keep_best(item, n, timing);
        if (s->sustained)
            n = lengthen(s, item, n);
        else
            warm_up(item, n, false);
        status = sample(s, item, n, &phase, timing, err);
    }
    for (unsigned i = 0; status == RL_OK && i < n;) {
        unsigned next;
        unsigned best = best_of(item, n, timing, i, false, &next);
        bool rival_unsure = false;
        for (unsigned j = i; j < next; j++)
            rival_unsure |=
                rl_level_rank(level) <= 2 &&
                rl_rival_is_unsure(&timing[j], s->was_quiet, rl_memory_pass_bytes(&item[j]),
                                   timing[best].per_cycle * rl_memory_pass_bytes(&item[best]));
        status = add(s, &item[best], &timing[best], rival_unsure, err);
        i = next;
    }
    free(timing);
    free(item);
    return status;
}
