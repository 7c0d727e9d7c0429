#include "count/sampling_internal.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_FIXED = 4,
    DEFAULT_ROTATING = 2,
    DEFAULT_LASTING = 1,
    /* Steps between two turns of the second stage, and how many more at most: drawn, or they might
     * beat with the program. A turn costs the program more than the lasting classes do, though
     * little in loops that count down to the next line. The rate must not change, or phases of the
     * program would count by when they happen. */
    PAUSE_LEAST = 4,
    PAUSE_SPAN = 5,
    LEAST_CLASSES = 16, /* with fewer a draw says little: follow everything */
};

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

uint64_t rl_sampling_fixed(const struct rl_sampling *sampling)
{
    uint64_t classes = 0;
    for (uint32_t i = 0; sampling->thinned && i < n_fixed_in(sampling, sampling->stage); i++)
        classes |= bits_of(sampling, sampling->fixed[i]);
    return classes;
}
