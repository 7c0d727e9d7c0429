/* Special-function ceilings: routines of the libraries found here, applied to arrays in L1. */
#include "kernel/special.h"
#include "base/error.h"
#include "ceilings/ceilings_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays lie a line further apart than a page. PLACES sets of them fit the least buffer. */
enum {
    MOST_LIBRARIES = 4,
    ARRAY_BYTES = 4096,
    SKEW_BYTES = 64,
    PLACE_BYTES = 20480,
    PLACES = 16,
    PAGE_BYTES = 4096
};
static const double sample_s = 20e-6;
static const size_t array_step_bytes = ARRAY_BYTES + SKEW_BYTES;

struct library {
    const char *soname;
    void *handle; /* NULL: not here */
};

struct library_list {
    struct library library[MOST_LIBRARIES];
    unsigned n;
};

struct special_item {
    const struct rl_special *special;
    struct rl_session *session;
    void (*routine)(void);
    unsigned n_items; /* sampled in a round */
};

static void *open_library(struct library_list *list, const char *soname)
{
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->library[i].soname, soname) == 0)
            return list->library[i].handle;
    if (list->n == MOST_LIBRARIES)
        return NULL;
    void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    list->library[list->n++] = (struct library){.soname = soname, .handle = handle};
    return handle;
}

static void close_libraries(struct library_list *list)
{
    for (unsigned i = 0; i < list->n; i++)
        if (list->library[i].handle)
            dlclose(list->library[i].handle);
}

/* POSIX lets dlsym's result stand for a function; ISO C has no cast for it. */
static void (*find_routine(void *handle, const char *symbol))(void)
{
    void (*routine)(void) = NULL;
    void *address = handle ? dlsym(handle, symbol) : NULL;
    memcpy(&routine, &address, sizeof routine);
    return routine;
}

static bool same_ceiling(const struct rl_special *a, const struct rl_special *b)
{
    return a->precision == b->precision && strcmp(a->op, b->op) == 0 &&
           strcmp(a->library, b->library) == 0;
}

static char *place_of(const struct rl_rank *r, size_t place)
{
    return r->buffer.base + place * PLACE_BYTES;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Arguments in ascending order: routines branch on them (`log` near 1, `sin` by the quadrant), and
 * what the predictor keeps of branches in random order differs from process to process. Words of
 * the buffer are positive fp32 and, two by two, fp64: their order as integers serves both. */
static void order_arguments(void *arg, unsigned rank)
{
    const struct rl_session *s = arg;
    for (size_t place = 0; place < PLACES; place++)
        for (size_t array = 1; array <= 2; array++)
            qsort(place_of(&s->rank[rank], place) + array * array_step_bytes,
                  ARRAY_BYTES / sizeof(uint32_t), sizeof(uint32_t), ascending);
}

static void run(void *arg, unsigned rank, uint64_t loops)
{
    const struct special_item *item = arg;
    const struct rl_rank *r = &item->session->rank[rank];
    const size_t place = r->prepared / item->n_items % PLACES;
    char *base = place_of(r, place);
    volatile char *stack = __builtin_alloca(1 + place * PAGE_BYTES);
    *stack = 0; /* the routine's own stack lies behind it */
    struct rl_kernel_args args = {.loops = loops,
                                  .a = base,
                                  .b = base + array_step_bytes,
                                  .c = base + 2 * array_step_bytes,
                                  .bytes = ARRAY_BYTES};
    item->special->run(item->routine, &args);
}

/* Each round uses arrays and stack at another place, loaded before the clock starts: some cores
 * guess the cache way from a hash of the address, and where the hash of one is that of the
 * routine's constants, each pushes out the other. */
static void move_on(void *arg, unsigned rank)
{
    const struct special_item *item = arg;
    item->session->rank[rank].prepared++;
    run(arg, rank, 1);
}

/* The one job whose samples nobody asks for: in every second round the routines start from what the
 * predictor learns of them alone, in the others from what the round before left; the best of both
 * counts. */
static void forget(void *arg, unsigned rank, uint64_t loops)
{
    (void)arg;
    (void)rank;
    (void)loops;
    rl_forget_branches();
}

static const struct rl_job forget_job = {
    .name = "special functions", .run = forget, .loops = 1, .every = 2, .untimed = true};

static unsigned elements(const struct rl_special *special)
{
    return ARRAY_BYTES / (special->precision == RL_FP64 ? 8 : 4);
}

/* One entry for a library that is not here; routines of a library that lacks one stay silent. */
static enum rl_status list_missing(struct rl_session *s, const struct rl_special *special,
                                   struct rl_error *err)
{
    char why[RL_NOTE_LEN];
    snprintf(why, sizeof why, "special functions of %s: no library %s was found", special->library,
             special->soname);
    if (rl_missing_has(&s->machine->missing, special->library))
        return RL_OK;
    return rl_missing_add(&s->machine->missing, special->library, why, err);
}

static enum rl_status list_items(struct rl_session *s, struct library_list *libraries,
                                 struct special_item *item, unsigned *ret_n, struct rl_error *err)
{
    size_t n_special;
    const struct rl_special *special = rl_specials(&n_special);
    unsigned n = 0;
    for (size_t i = 0; i < n_special; i++) {
        if (!rl_cpu_usable(&s->cpu, special[i].isa))
            continue;
        void *handle = open_library(libraries, special[i].soname);
        if (!handle)
            RL_TRY(list_missing(s, &special[i], err));
        void (*routine)(void) = find_routine(handle, special[i].symbol);
        if (routine)
            item[n++] =
                (struct special_item){.special = &special[i], .session = s, .routine = routine};
    }
    *ret_n = n;
    return RL_OK;
}

static enum rl_status add(struct rl_session *s, const struct special_item *item,
                          const struct rl_timing *timing, struct rl_error *err)
{
    const struct rl_special *special = item->special;
    struct rl_compute_ceiling c = {
        .precision = special->precision,
        .threads = s->threads,
        .unit = "elem/s",
        .rate =
            rl_value(timing->loops_per_s * elements(special), RL_SOURCE_MEASURED, timing->spread),
        .per_cycle = timing->per_cycle * elements(special),
        .clock_hz = timing->clock_hz,
        .repeats = timing->repeats,
        .contended = timing->disturbed,
    };
    snprintf(c.op, sizeof c.op, "%s", special->op);
    snprintf(c.isa, sizeof c.isa, "%s", special->library);
    snprintf(c.accuracy, sizeof c.accuracy, "%s", special->accuracy);
    snprintf(c.variant, sizeof c.variant, "%s", special->symbol);
    return rl_machine_add_compute(s->machine, &c, err);
}

/* Of the variants of a ceiling the fastest enters the record. */
static enum rl_status add_best(struct rl_session *s, const struct special_item *item, unsigned n,
                               const struct rl_timing *timing, struct rl_error *err)
{
    for (unsigned i = 0; i < n;) {
        unsigned best = i;
        unsigned j = i + 1;
        for (; j < n && same_ceiling(item[i].special, item[j].special); j++)
            if (timing[j].per_cycle > timing[best].per_cycle)
                best = j;
        RL_TRY(add(s, &item[best], &timing[best], err));
        i = j;
    }
    return RL_OK;
}

static enum rl_status sample(struct rl_session *s, double budget_s, struct special_item *item,
                             unsigned n, struct rl_timing *timing, struct rl_error *err)
{
    /* timing has room for one more */
    const struct rl_phase phase = {.label = "special functions", .budget_s = budget_s};
    if (n == 0)
        return RL_OK;
    struct rl_job *job = calloc(n + 1, sizeof *job);
    if (!job)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of special functions");
    for (unsigned i = 0; i < n; i++) {
        item[i].n_items = n;
        job[i] = (struct rl_job){.name = item[i].special->symbol,
                                 .run = run,
                                 .prepare = move_on,
                                 .arg = &item[i],
                                 .sample_s = sample_s};
    }
    job[n] = forget_job;
    rl_team_run(s->team, order_arguments, s);
    enum rl_status status = rl_session_sample(s, &phase, job, n + 1, timing, err);
    free(job);
    return status;
}

enum rl_status rl_measure_special(struct rl_session *s, double budget_s, struct rl_error *err)
{
    struct library_list libraries = {0};
    size_t most;
    rl_specials(&most);
    struct special_item *item = calloc(most, sizeof *item);
    struct rl_timing *timing = calloc(most + 1, sizeof *timing);
    unsigned n = 0;
    enum rl_status status =
        item && timing ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for special functions");
    if (status == RL_OK)
        status = list_items(s, &libraries, item, &n, err);
    if (status == RL_OK)
        status = sample(s, budget_s, item, n, timing, err);
    if (status == RL_OK)
        status = add_best(s, item, n, timing, err);
    close_libraries(&libraries);
    free(timing);
    free(item);
    return status;
}
