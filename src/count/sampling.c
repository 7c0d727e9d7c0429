#include "count/sampling.h"

#include "base/error.h"
#include "count/doubt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_FIXED = 4,
    DEFAULT_ROTATING = 2,
    DEFAULT_LASTING = 1,
    /* Steps between two turns of the second stage, and how many more at most: drawn, or they might
     * beat with the program. A turn costs the program several times what the lasting classes do.
     * The rate must not change, or phases of the program would count by when they happen. */
    PAUSE_LEAST = 8,
    PAUSE_SPAN = 9,
    LEAST_CLASSES = 16, /* with fewer a draw says little: follow everything */
    LEAST_GROUPS = 4,   /* groups of turns below which their disagreement says nothing */
    LINE = RL_CACHE_LINE_BYTES,
};

/* Chosen on simulated programs such that the stated error is never below the true one (see the
 * tests): disagreement of few samples is itself uncertain, … */
static const double SAFETY_FIXED = 2.5;
static const double SAFETY_TURNS = 1.6;
/* … samples may agree by chance where a few sets behave unlike the others, … */
static const double LEAST_ERROR = 0.015;
/* … and few lines seen allow no fine statement: 3 / sqrt(lines), as lines come in pairs, fetched
 * and written back. */
static const double COUNT_ERROR = 3.0;
/* How unlike each other single classes usually are, by standard deviation as a part of their mean,
 * and how many of the four that were compared such knowledge is worth: four that agree by chance,
 * as one draw in dozens does, say little alone. Student's t at 99 % for what is known then, four
 * classes compared or none. */
static const double USUALLY_UNLIKE = 0.02;
static const double USUAL_WEIGHT = 6;
static const double STUDENT_COMPARED = 3.25;
static const double STUDENT_USUAL = 3.71;
/* If the fixed classes miss more than this of L1's lines, what they say of outer levels is void. */
static const double MOSTLY_UNSEEN = 0.5;
/* Turns that disagree at L1 show that classes are unequal, even if the fixed ones agree by chance;
 * this part of their disagreement is the least error of outer levels. */
static const double UNEQUAL = 0.1;
/* Lines that may have gone unseen though none was: the rule of three. Likewise, of classes of which
 * n have had a turn 3 in n may be unlike them, and are taken to be twice as busy. */
static const double UNSEEN_LINES = 3.0;
static const double UNSEEN_CLASSES = 3.0;
/* Part of the busiest outer boundary's lines from which a boundary is worth more classes, and lines
 * of the fixed classes below which their inequality says little. */
static const double SIZABLE = 0.1;
static const double LEAST_LINES_TO_JUDGE = 2000;
/* Lines of the fixed classes, beside turns, from which their number tells how much of the work was
 * done. So few tell it badly, and the error says so; but steps, the other measure, may be wrong by
 * the factor that a turn slows the program down: two or five. */
static const double LEAST_LINES_TO_WEIGH = 100;
static const double SLOWED = 4; /* by so much more than is counted, at worst */
/* By how much while everything it does is recorded, and the reader has a core to share. */
static const double SLOWED_WHOLLY = 16;
/* Lines of a class in a step that would have shown as next to nothing. */
static const double LITTLE_SEEN = 2 * RL_SAMPLING_LITTLE;

void rl_sampling_options_default(struct rl_sampling_options *options)
{
    *options = (struct rl_sampling_options){.n_fixed = DEFAULT_FIXED,
                                            .n_rotating = DEFAULT_ROTATING,
                                            .n_lasting = DEFAULT_LASTING,
                                            .widen = true,
                                            .seed = 1};
}

/* splitmix64 */
static uint64_t draw(struct rl_sampling *s)
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void shuffle(struct rl_sampling *s, uint8_t *items, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)(draw(s) % i);
        uint8_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Can classes be divided into parts at all outer levels? */
static bool has_parts(const struct rl_sampling *s)
{
    for (uint32_t k = 1; k < s->geometry.n_levels; k++)
        if (s->geometry.level[k].sets / s->classes % RL_SAMPLING_PARTS != 0)
            return false;
    return true;
}

/* As many as may stay where that is not settled: fewer than are fixed, or nothing would be saved.
 */
static uint32_t most_lasting(const struct rl_sampling *s)
{
    return s->n_fixed > RL_SAMPLING_LASTING_MAX ? RL_SAMPLING_LASTING_MAX : s->n_fixed - 1;
}

static enum rl_status check_options(const struct rl_sampling_options *options, struct rl_error *err)
{
    if (options->full)
        return RL_OK;
    if (options->n_fixed < 2 || options->n_fixed > RL_SAMPLING_FIXED_MAX)
        return rl_fail(err, RL_EINVAL, "%u fixed classes; 2 to %d are possible", options->n_fixed,
                       RL_SAMPLING_FIXED_MAX);
    if (options->n_rotating < 1 || options->n_rotating > RL_SAMPLING_ROTATING_MAX)
        return rl_fail(err, RL_EINVAL, "%u rotating classes; 1 to %d are possible",
                       options->n_rotating, RL_SAMPLING_ROTATING_MAX);
    if (options->n_lasting < 1 ||
        (options->n_lasting > RL_SAMPLING_LASTING_MAX && options->n_lasting < options->n_fixed))
        return rl_fail(err, RL_EINVAL, "%u lasting classes; 1 to %d, or all, are possible",
                       options->n_lasting, RL_SAMPLING_LASTING_MAX);
    return RL_OK;
}

enum rl_status rl_sampling_init(struct rl_sampling *sampling,
                                const struct rl_cache_geometry *geometry,
                                const struct rl_sampling_options *options, struct rl_error *err)
{
    RL_TRY(rl_cache_check(geometry, err));
    RL_TRY(check_options(options, err));
    struct rl_sampling s = {.geometry = *geometry, .classes = RL_SAMPLING_CLASSES};
    for (uint32_t k = 0; k < geometry->n_levels; k++)
        s.classes = common_divisor(s.classes, geometry->level[k].sets);
    s.full = options->full || s.classes < LEAST_CLASSES ||
             options->n_fixed + options->n_rotating + 1 > s.classes / 2;
    if (!s.full) {
        s.n_fixed = options->n_fixed;
        s.n_rotating = options->n_rotating;
        s.n_least = options->n_lasting < options->n_fixed && has_parts(&s) ? options->n_lasting : 0;
        s.n_kept = s.n_least;
        s.widens = options->widen && s.n_kept > 0;
        s.n_lasting = s.widens ? most_lasting(&s) : s.n_kept;
        s.random = options->seed;
        uint8_t all[RL_SAMPLING_CLASSES];
        for (uint32_t i = 0; i < s.classes; i++)
            all[i] = (uint8_t)i;
        shuffle(&s, all, s.classes);
        memcpy(s.fixed, all, s.n_fixed);
        s.n_turn = s.classes - s.n_fixed;
        memcpy(s.turn, all + s.n_fixed, s.n_turn);
        s.next_turn = 0;
    }
    *sampling = s;
    return RL_OK;
}

/* ---- groups. First level: fixed classes and turns of the first stage; of the second, fixed
 * classes between turns and beside them, and turns; preparation; scouts; exact. Further levels:
 * fixed classes of the first stage; parts of those of the second; exact. ---- */

static uint32_t n_fixed_in(const struct rl_sampling *s, uint32_t stage)
{
    return stage == 0 ? s->n_fixed : s->n_kept;
}

static uint32_t first_fixed(const struct rl_sampling *s, uint32_t stage)
{
    return stage == 0 ? 0 : s->n_fixed + RL_SAMPLING_GROUPS;
}

static uint32_t first_turns(const struct rl_sampling *s, uint32_t stage)
{
    return first_fixed(s, stage) +
           (stage == 0 ? s->n_fixed : (1 + RL_SAMPLING_GROUPS) * s->n_lasting);
}

static uint32_t preparing(const struct rl_sampling *s)
{
    return first_turns(s, s->n_lasting > 0) + RL_SAMPLING_GROUPS;
}

static uint32_t scouts(const struct rl_sampling *s)
{
    return preparing(s) + 1;
}

uint8_t rl_sampling_exact_group(const struct rl_sampling *sampling, uint32_t level)
{
    if (sampling->full)
        return 0;
    return (uint8_t)(level == 0 ? scouts(sampling) + 1
                                : sampling->n_fixed + RL_SAMPLING_PARTS * sampling->n_lasting);
}

void rl_sampling_groups(const struct rl_sampling *sampling, uint32_t ret_n_groups[])
{
    for (uint32_t k = 0; k < sampling->geometry.n_levels; k++)
        ret_n_groups[k] = rl_sampling_exact_group(sampling, k) + 1u;
}

uint32_t rl_sampling_flows(const struct rl_sampling *sampling)
{
    uint32_t flows = 0;
    for (uint32_t k = 0; k < sampling->geometry.n_levels; k++)
        flows += rl_sampling_exact_group(sampling, k) + 1u;
    return flows;
}

/* ---- steps ---- */

static uint64_t bits_of(const struct rl_sampling *s, uint32_t class)
{
    uint64_t bits = 0;
    for (uint32_t i = class; i < RL_SAMPLING_CLASSES; i += s->classes)
        bits |= 1ull << i;
    return bits;
}

uint64_t rl_sampling_wanted(const struct rl_sampling *sampling)
{
    if (sampling->full || !sampling->thinned)
        return UINT64_MAX;
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < n_fixed_in(sampling, sampling->stage); i++)
        wanted |= bits_of(sampling, sampling->fixed[i]);
    for (uint32_t i = 0; i < sampling->n_active; i++)
        wanted |= bits_of(sampling, sampling->active[i]);
    return wanted;
}

/* The class whose turn it is; a new order once all had theirs. A class still active is passed over.
 */
static uint8_t next_class(struct rl_sampling *s)
{
    for (;;) {
        if (s->next_turn == 0)
            shuffle(s, s->turn, s->n_turn);
        uint8_t class = s->turn[s->next_turn];
        s->next_turn = (s->next_turn + 1) % s->n_turn;
        bool active = false;
        for (uint32_t i = 0; i < s->n_active; i++)
            active |= s->active[i] == class;
        if (!active)
            return class;
    }
}

static struct rl_sampling_change begin_turn(struct rl_sampling *s)
{
    uint8_t class = next_class(s);
    s->active[s->n_active] = class;
    s->active_group[s->n_active] = (uint8_t)(s->turns++ % RL_SAMPLING_GROUPS);
    s->n_active++;
    return (struct rl_sampling_change){class, (uint8_t)preparing(s), RL_CACHE_OUT, false};
}

static uint32_t thin_out(struct rl_sampling *s, struct rl_sampling_change changes[])
{
    uint32_t n = 0;
    for (uint32_t class = 0; class < s->classes; class ++) {
        struct rl_sampling_change change = {(uint8_t) class, RL_CACHE_OUT, RL_CACHE_OUT, true};
        for (uint32_t i = 0; i < s->n_fixed; i++)
            if (s->fixed[i] == class)
                change.first_group = change.outer_group = (uint8_t)i;
        changes[n++] = change;
    }
    s->thinned = true;
    /* All contents are known at this moment, so the first turns need no preparation. */
    while (s->n_active <= s->n_rotating) {
        struct rl_sampling_change change = begin_turn(s);
        if (s->n_active <= s->n_rotating)
            change.first_group = (uint8_t)(first_turns(s, 0) + s->active_group[s->n_active - 1]);
        changes[change.class].first_group = change.first_group;
    }
    return n;
}

/* The second stage: fewer classes stay, and they begin to be counted by parts. The others take
 * turns from now on. */
static uint32_t thin_out_further(struct rl_sampling *s, struct rl_sampling_change changes[])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_active; i++)
        changes[n++] = (struct rl_sampling_change){s->active[i], RL_CACHE_OUT, RL_CACHE_OUT, false};
    for (uint32_t i = 0; i < s->n_fixed; i++) {
        struct rl_sampling_change change = {s->fixed[i], RL_CACHE_OUT, RL_CACHE_OUT, true};
        if (i < s->n_kept) {
            change.first_group = (uint8_t)(first_fixed(s, 1) + i);
            change.outer_group = (uint8_t)(s->n_fixed + RL_SAMPLING_PARTS * i);
        } else {
            s->turn[s->n_turn++] = s->fixed[i];
        }
        changes[n++] = change;
    }
    s->stage = 1;
    s->n_active = 0;
    s->counting = false;
    s->pause = 1;
    return n;
}

/* Where fixed class i is counted at the first level: apart while another class has its turn. */
static uint8_t first_group_of(const struct rl_sampling *s, uint32_t i)
{
    uint32_t apart = s->counting && !s->scouting ? 1u + s->active_group[0] : 0;
    return (uint8_t)(first_fixed(s, s->stage) + (s->stage == 0 ? i : apart * s->n_lasting + i));
}

static uint32_t count_apart(const struct rl_sampling *s, struct rl_sampling_change changes[])
{
    for (uint32_t i = 0; i < s->n_kept; i++)
        changes[i] =
            (struct rl_sampling_change){s->fixed[i], first_group_of(s, i), RL_CACHE_OUT, false};
    return s->n_kept;
}

/* The same for one between turns, which is not one of them. */
static uint32_t step_scout(struct rl_sampling *s, struct rl_sampling_change changes[])
{
    s->pause -= s->pause > 1;
    if (s->n_active == 0) {
        s->active[s->n_active++] = next_class(s);
        changes[0] =
            (struct rl_sampling_change){s->active[0], (uint8_t)preparing(s), RL_CACHE_OUT, false};
        return 1;
    }
    if (!s->counting) {
        s->counting = true;
        changes[0] =
            (struct rl_sampling_change){s->active[0], (uint8_t)scouts(s), RL_CACHE_OUT, false};
        return 1;
    }
    s->scouted++;
    s->counting = s->scouting = false;
    s->n_active = 0;
    changes[0] = (struct rl_sampling_change){s->active[0], RL_CACHE_OUT, RL_CACHE_OUT, false};
    return 1;
}

/* Prepare a class, count it, let it go, pause. */
static uint32_t step_second(struct rl_sampling *s, struct rl_sampling_change changes[])
{
    uint32_t n = 0;
    if (s->scouting)
        return step_scout(s, changes);
    if (s->n_active == 0) {
        if (--s->pause > 0)
            return 0;
        changes[n++] = begin_turn(s);
    } else if (!s->counting) {
        s->counting = true;
        changes[n++] = (struct rl_sampling_change){
            s->active[0], (uint8_t)(first_turns(s, 1) + s->active_group[0]), RL_CACHE_OUT, false};
        n += count_apart(s, changes + n);
    } else {
        s->stages[1].measured[s->active_group[0]]++;
        changes[n++] = (struct rl_sampling_change){s->active[0], RL_CACHE_OUT, RL_CACHE_OUT, false};
        s->counting = false;
        s->n_active = 0;
        n += count_apart(s, changes + n);
        s->pause = PAUSE_LEAST + (uint32_t)(draw(s) % PAUSE_SPAN);
    }
    return n;
}

static uint32_t step_first(struct rl_sampling *s, struct rl_sampling_change changes[])
{
    for (uint32_t i = 0; i < s->n_rotating; i++)
        s->stages[0].measured[s->active_group[i]]++;
    changes[0] = (struct rl_sampling_change){s->active[0], RL_CACHE_OUT, RL_CACHE_OUT, false};
    s->n_active--;
    memmove(s->active, s->active + 1, s->n_active);
    memmove(s->active_group, s->active_group + 1, s->n_active);
    uint32_t ready = s->n_active - 1;
    changes[1] = (struct rl_sampling_change){s->active[ready],
                                             (uint8_t)(first_turns(s, 0) + s->active_group[ready]),
                                             RL_CACHE_OUT, false};
    changes[2] = begin_turn(s);
    return 3;
}

uint32_t rl_sampling_step(struct rl_sampling *sampling, struct rl_sampling_change ret_changes[])
{
    struct rl_sampling *s = sampling;
    if (s->full)
        return 0;
    if (!s->thinned)
        return thin_out(s, ret_changes);
    s->stages[s->stage].steps++;
    if (s->stage == 1)
        return step_second(s, ret_changes);
    uint32_t n = step_first(s, ret_changes);
    if (s->n_kept > 0 && s->stages[0].steps % RL_SAMPLING_FIRST_STEPS == 0 && !s->prolonged)
        n += thin_out_further(s, ret_changes + n);
    return n;
}

void rl_sampling_apply(const struct rl_sampling *sampling, struct rl_cache *cache, uint32_t core,
                       struct rl_sampling_change change)
{
    const struct rl_cache_geometry *g = &sampling->geometry;
    bool by_parts = change.outer_group != RL_CACHE_OUT && change.outer_group >= sampling->n_fixed;
    for (uint32_t k = 0; k < (change.beyond ? g->n_levels : 1); k++)
        for (uint32_t set = change.class; set < g->level[k].sets; set += sampling->classes) {
            uint32_t part = by_parts ? set / sampling->classes % RL_SAMPLING_PARTS : 0;
            rl_cache_choose_set(cache, k, core, set,
                                k == 0 ? change.first_group : (uint8_t)(change.outer_group + part));
        }
}

enum rl_status rl_sampling_attach(const struct rl_sampling *sampling, struct rl_cache *cache,
                                  uint32_t core, struct rl_error *err)
{
    const struct rl_sampling *s = sampling;
    for (uint32_t k = 0; k < s->geometry.n_levels; k++) {
        const struct rl_cache_level *level = &s->geometry.level[k];
        if (s->full || (level->shared && core > 0))
            continue;
        uint8_t *group = malloc(level->sets);
        if (!group)
            return rl_fail(err, RL_ENOMEM, "no memory for the sets of L%u", k + 1);
        memset(group, s->thinned ? RL_CACHE_OUT : rl_sampling_exact_group(s, k), level->sets);
        enum rl_status status = rl_cache_choose_sets(cache, k, core, group, err);
        free(group);
        RL_TRY(status);
    }
    for (uint32_t i = 0; s->thinned && i < n_fixed_in(s, s->stage); i++) {
        uint32_t outer = s->stage == 0 ? i : s->n_fixed + RL_SAMPLING_PARTS * i;
        rl_sampling_apply(
            s, cache, core,
            (struct rl_sampling_change){s->fixed[i], first_group_of(s, i), (uint8_t)outer, true});
    }
    for (uint32_t i = 0; s->thinned && i < s->n_active; i++) {
        bool ready = s->stage == 0 ? i + 1 < s->n_active : s->counting;
        uint32_t counted = s->scouting ? scouts(s) : first_turns(s, s->stage) + s->active_group[i];
        uint32_t group = ready ? counted : preparing(s);
        rl_sampling_apply(
            s, cache, core,
            (struct rl_sampling_change){s->active[i], (uint8_t)group, RL_CACHE_OUT, false});
    }
    return RL_OK;
}

/* ---- estimates ---- */

static double lines_of(const struct rl_cache_flow *flow)
{
    return (double)rl_cache_flow_bytes(flow) / LINE;
}

static void add_scaled(struct rl_traffic_value *value, const struct rl_cache_flow *flow,
                       double factor)
{
    value->read_bytes += factor * LINE * (double)flow->reads;
    value->allocate_bytes += factor * LINE * (double)flow->allocates;
    value->writeback_bytes += factor * LINE * (double)(flow->writebacks + flow->castouts);
    value->nt_bytes += factor * (double)flow->nt_bytes;
}

/* Lines of one stage, by one way of estimating, with absolute error. */
struct estimate {
    double lines;
    double error;
    double seen;   /* lines in the samples, or in what they are weighed by, if fewer */
    double factor; /* lines that one seen line stands for */
};

/* How unlike each other single classes are, as a part of their mean: what one class alone may be
 * off. From the first stage, as far as anything was seen there. */
static double inequality(const struct rl_sampling *s, const struct rl_cache_flow flow[])
{
    double mean = 0;
    double square = 0;
    for (uint32_t i = 0; i < s->n_fixed; i++)
        mean += lines_of(&flow[i]) / s->n_fixed;
    if (mean == 0)
        return STUDENT_USUAL * USUALLY_UNLIKE;
    for (uint32_t i = 0; i < s->n_fixed; i++)
        square += pow(lines_of(&flow[i]) / mean - 1, 2);
    square += USUAL_WEIGHT * USUALLY_UNLIKE * USUALLY_UNLIKE;
    return STUDENT_COMPARED * sqrt(square / (s->n_fixed - 1 + USUAL_WEIGHT));
}

static struct estimate from_samples(const struct rl_sampling *s, const double sample[], uint32_t n,
                                    uint32_t n_classes)
{
    double mean;
    double doubt =
        rl_mean_and_doubt(sample, n, (double)n_classes / s->classes, SAFETY_FIXED, &mean);
    double factor = (double)s->classes / n_classes;
    return (struct estimate){factor * n * mean, factor * n * doubt, n * mean, factor};
}

/* The first level, by fixed classes. */
static struct estimate from_first(const struct rl_sampling *s, uint32_t stage,
                                  const struct rl_cache_flow flow[])
{
    double sample[RL_SAMPLING_FIXED_MAX] = {0};
    uint32_t n = n_fixed_in(s, stage);
    for (uint32_t i = 0; i < n; i++) {
        sample[i] = lines_of(&flow[first_fixed(s, stage) + i]);
        for (uint32_t g = 0; stage > 0 && g < RL_SAMPLING_GROUPS; g++)
            sample[i] += lines_of(&flow[first_fixed(s, stage) + (1 + g) * s->n_lasting + i]);
    }
    struct estimate e = from_samples(s, sample, n, n);
    if (n == 1)
        e.error = fmax(1, inequality(s, flow)) * e.lines;
    return e;
}

static struct estimate from_outer(const struct rl_sampling *s, uint32_t stage,
                                  const struct rl_cache_flow flow[])
{
    double sample[RL_SAMPLING_PARTS * RL_SAMPLING_FIXED_MAX] = {0};
    uint32_t n = n_fixed_in(s, stage) * (stage == 0 ? 1 : RL_SAMPLING_PARTS);
    for (uint32_t i = 0; i < n; i++)
        sample[i] = lines_of(&flow[(stage == 0 ? 0 : s->n_fixed) + i]);
    struct estimate e = from_samples(s, sample, n, n_fixed_in(s, stage));
    e.error = fmax(e.error, inequality(s, flow) / sqrt(n_fixed_in(s, stage)) * e.lines);
    return e;
}

/* Part of the classes at turn that were not, or if few were, may be, unlike those that were. */
static double unseen_classes(const struct rl_sampling *s, uint32_t stage)
{
    double classes = s->classes - n_fixed_in(s, stage);
    double had = 0;
    if (stage == 0)
        had = (double)s->stages[0].steps + s->n_rotating;
    else
        for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
            had += (double)s->stages[1].measured[g];
    return fmax(0, fmin(UNSEEN_CLASSES / had, (classes - had) / classes));
}

/* Over the classes that are not fixed. Each group's lines are related to the steps it had. */
static struct estimate from_turns(const struct rl_sampling *s, uint32_t stage,
                                  const struct rl_cache_flow flow[])
{
    double sample[RL_SAMPLING_GROUPS];
    double mean;
    uint32_t n = 0;
    uint64_t steps = 0;
    const struct rl_sampling_stage *had = &s->stages[stage];
    struct estimate e = {.error = INFINITY};
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++) {
        double lines = lines_of(&flow[first_turns(s, stage) + g]);
        e.seen += lines;
        steps += had->measured[g];
        double work = stage > 0 && s->turn_share > 0 ? s->group_share[g] : (double)had->measured[g];
        if (work > 0)
            sample[n++] = lines / work;
    }
    if (steps == 0)
        return e;
    double at_turn = s->n_rotating;
    if (stage > 0)
        at_turn = s->turn_share > 0 ? s->turn_share : (double)steps / (double)had->steps;
    e.factor = (s->classes - n_fixed_in(s, stage)) / at_turn;
    e.lines = e.seen * e.factor;
    if (n < LEAST_GROUPS || steps < 2 * RL_SAMPLING_GROUPS)
        return e;
    double doubt = rl_mean_and_doubt(sample, n, 0, SAFETY_TURNS, &mean);
    e.error = fmax(mean > 0 ? e.lines * doubt / mean : 0, e.lines * unseen_classes(s, stage));
    if (stage > 0 && s->turn_share > 0)
        e.seen = fmin(e.seen, s->lines_beside); /* the weight is no surer than these allow */
    else if (stage > 0)
        e.error += SLOWED * e.lines;
    return e;
}

/* How far, beyond what chance explains, the fixed classes are from the turns at L1: so far may they
 * be from the others at outer levels too. A part of the larger of both. */
static double apart(const struct estimate *turns, const struct estimate *fixed, double chance,
                    bool *ret_unseen)
{
    double turns_low = turns->lines / (1 + turns->error / fmax(turns->lines, 1));
    double turns_high = turns->lines + turns->error;
    double fixed_high = fixed->lines + fmin(chance, fixed->lines);
    double fixed_low = fixed->lines / (1 + chance / fmax(fixed->lines, 1));
    *ret_unseen = turns_low > fixed_high;
    if (*ret_unseen)
        return (turns_low - fixed_high) / turns_low;
    return fixed_low > turns_high ? (fixed_low - turns_high) / fixed_low : 0;
}

static double error_of(const struct estimate *e)
{
    double least = fmax(LEAST_ERROR, e->seen > 0 ? COUNT_ERROR / sqrt(e->seen) : 0) * e->lines;
    return fmax(fmax(e->error, least), UNSEEN_LINES * e->factor);
}

/* Lines by which the second stage may be off for what scouts found while the fixed classes showed
 * next to nothing, beyond what would not have shown and what a class does otherwise. */
static double found_by_scouts(const struct rl_sampling *s, uint32_t stage,
                              const struct rl_cache_flow first[])
{
    if (stage == 0)
        return 0;
    double looked_at = (double)s->scouted;
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
        looked_at += (double)s->stages[1].measured[g];
    if (looked_at < s->classes &&
        (double)s->blind_steps > MOSTLY_UNSEEN * (double)s->stages[1].steps)
        return INFINITY; /* what it mostly does may lie in those that are left */
    if (s->scouted == 0)
        return 0;
    double usual = from_first(s, stage, first).seen / s->n_kept / (double)s->stages[1].steps;
    double found = lines_of(&first[scouts(s)]) / (double)s->scouted;
    double more = found - fmax(LITTLE_SEEN, SLOWED * usual);
    double steps = (double)s->blind_steps + 2 * (double)s->scouted;
    return fmax(0, more) * steps * SLOWED_WHOLLY * (s->classes - s->n_kept);
}

/* Lines by which the second stage may be off because a busy class has not had a turn in it yet:
 * what turns of the first stage saw of such, if the fixed classes mostly did not, from step to
 * step. */
static double busy_unseen(const struct rl_sampling *s, uint32_t stage,
                          const struct rl_cache_flow first[])
{
    if (stage == 0 || s->stages[0].steps == 0 || unseen_classes(s, stage) == 0)
        return 0;
    struct estimate turns = from_turns(s, 0, first);
    struct estimate fixed = from_first(s, 0, first);
    if (isinf(turns.error) || fixed.lines + fixed.error > (1 - MOSTLY_UNSEEN) * turns.lines)
        return 0;
    return (turns.lines + turns.error) / (double)s->stages[0].steps * (double)s->stages[1].steps;
}

/* Beyond L1: the fixed classes alone; turns at L1 tell whether those are like the others. */
static double outer_error(const struct rl_sampling *s, uint32_t stage,
                          const struct rl_cache_flow first[], const struct estimate *e)
{
    struct estimate turns = from_turns(s, stage, first);
    double error = error_of(e) + busy_unseen(s, stage, first) + found_by_scouts(s, stage, first);
    if (isinf(turns.error))
        return error;
    struct estimate fixed = from_first(s, stage, first);
    bool unseen;
    double chance = n_fixed_in(s, stage) > 1 ? fixed.error : 0;
    double share = apart(&turns, &fixed, chance, &unseen);
    double unequal = turns.lines > 0 ? UNEQUAL * turns.error / turns.lines : 0;
    return fmax(error, unequal * e->lines) +
           share * (unseen && share > MOSTLY_UNSEEN ? turns.lines + turns.error : e->lines);
}

static double add_first(const struct rl_sampling *s, uint32_t stage,
                        const struct rl_cache_flow flow[], struct rl_traffic_value *value)
{
    struct estimate e = from_turns(s, stage, flow);
    uint32_t n = first_turns(s, stage) - first_fixed(s, stage);
    const struct rl_cache_flow *fixed = flow + first_fixed(s, stage);
    bool few_turns = isinf(e.error);
    struct estimate fixed_alone = from_first(s, stage, flow);
    if (few_turns)
        e = fixed_alone;
    else if (stage > 0)
        e.error = fmax(e.error, fabs(fixed_alone.lines - e.lines));
    for (uint32_t i = 0; i < n; i++)
        add_scaled(value, &fixed[i], few_turns ? e.factor : 1);
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS && !few_turns; g++)
        add_scaled(value, &flow[first_turns(s, stage) + g], e.factor);
    return error_of(&e) + busy_unseen(s, stage, flow) + found_by_scouts(s, stage, flow);
}

static double add_outer(const struct rl_sampling *s, uint32_t stage,
                        const struct rl_cache_flow first[], const struct rl_cache_flow flow[],
                        struct rl_traffic_value *value)
{
    struct estimate e = from_outer(s, stage, flow);
    uint32_t begin = stage == 0 ? 0 : s->n_fixed;
    uint32_t n = n_fixed_in(s, stage) * (stage == 0 ? 1 : RL_SAMPLING_PARTS);
    for (uint32_t i = 0; i < n; i++)
        add_scaled(value, &flow[begin + i], e.factor);
    return outer_error(s, stage, first, &e);
}

/* ---- how many classes are to stay ---- */

bool rl_sampling_is_due(const struct rl_sampling *sampling)
{
    const struct rl_sampling *s = sampling;
    return s->thinned && s->stage == 0 && s->n_kept > 0 &&
           (s->stages[0].steps + 1) % RL_SAMPLING_FIRST_STEPS == 0;
}

bool rl_sampling_is_turn(const struct rl_sampling *sampling)
{
    return sampling->thinned && sampling->stage == 1 && sampling->n_active > 0 &&
           !sampling->scouting;
}

void rl_sampling_scout(struct rl_sampling *sampling)
{
    if (!sampling->thinned || sampling->stage == 0)
        return;
    sampling->blind_steps++;
    sampling->scouting |= sampling->n_active == 0 && sampling->pause > 1;
}

uint32_t rl_sampling_followed(const struct rl_sampling *sampling)
{
    return sampling->thinned ? n_fixed_in(sampling, sampling->stage) : sampling->classes;
}

bool rl_sampling_widened(const struct rl_sampling *sampling)
{
    return sampling->prolonged || sampling->n_kept > sampling->n_least;
}

static const struct rl_cache_flow *boundary(const struct rl_sampling *s,
                                            const struct rl_cache_flow account[], uint32_t level)
{
    for (uint32_t k = 0; k < level; k++)
        account += rl_sampling_exact_group(s, k) + 1u;
    return account;
}

/* Of the fixed classes, in the first stage. */
static double lines_beyond(const struct rl_sampling *s, const struct rl_cache_flow flow[])
{
    double lines = 0;
    for (uint32_t i = 0; i < s->n_fixed; i++)
        lines += lines_of(&flow[i]);
    return lines;
}

/* How many classes must stay, for this boundary, to bring what one alone may be off below the
 * limit; more than may if that is not enough. */
static uint32_t classes_needed(const struct rl_sampling *s, const struct rl_cache_flow flow[])
{
    double unequal = inequality(s, flow);
    uint32_t n = s->n_kept;
    while (n <= s->n_lasting && unequal / sqrt(n) > RL_TRAFFIC_RELIABLE)
        n++;
    return n;
}

void rl_sampling_decide(struct rl_sampling *sampling, const struct rl_cache_flow total[])
{
    struct rl_sampling *s = sampling;
    double most = 0;
    uint32_t needed = s->n_kept;
    for (uint32_t k = 1; k < s->geometry.n_levels; k++)
        most = fmax(most, lines_beyond(s, boundary(s, total, k)));
    for (uint32_t k = 1; k < s->geometry.n_levels && s->widens; k++) {
        const struct rl_cache_flow *flow = boundary(s, total, k);
        double lines = lines_beyond(s, flow);
        uint32_t here = classes_needed(s, flow);
        if (lines >= LEAST_LINES_TO_JUDGE && lines >= SIZABLE * most && here > needed)
            needed = here;
    }
    s->prolonged = needed > s->n_lasting;
    if (!s->prolonged)
        s->n_kept = needed;
}

void rl_sampling_weigh(struct rl_sampling *sampling, const struct rl_cache_flow total[])
{
    struct rl_sampling *s = sampling;
    const struct rl_cache_flow *fixed = &total[first_fixed(s, 1)];
    double all = 0;
    double beside = 0;
    double by_group[RL_SAMPLING_GROUPS] = {0};
    if (s->stage == 0)
        return;
    for (uint32_t i = 0; i < s->n_lasting; i++) {
        all += lines_of(&fixed[i]);
        for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
            by_group[g] += lines_of(&fixed[(1 + g) * s->n_lasting + i]);
    }
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
        beside += by_group[g];
    if (beside < LEAST_LINES_TO_WEIGH)
        return;
    all += beside;
    s->turn_share = beside / all;
    s->lines_beside = beside;
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
        s->group_share[g] = by_group[g] / all;
}

void rl_sampling_estimate(const struct rl_sampling *sampling, const struct rl_cache_flow account[],
                          uint32_t level, struct rl_traffic_value *ret_value)
{
    const struct rl_sampling *s = sampling;
    const struct rl_cache_flow *flow = boundary(s, account, level);
    struct rl_traffic_value value = {0};
    add_scaled(&value, &flow[rl_sampling_exact_group(s, level)], 1);
    for (uint32_t stage = 0; s->thinned && stage <= s->stage; stage++)
        value.error_bytes += LINE * (level == 0 ? add_first(s, stage, flow, &value)
                                                : add_outer(s, stage, account, flow, &value));
    value.bytes = value.read_bytes + value.allocate_bytes + value.writeback_bytes + value.nt_bytes;
    *ret_value = value;
}
