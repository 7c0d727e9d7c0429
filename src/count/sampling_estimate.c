/* What the followed lines say about all of them, and how sure that is. */
#include "count/doubt.h"
#include "count/sampling_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEAST_GROUPS = 4, /* groups of turns below which their disagreement says nothing */
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
/* Lines that may have gone unseen though none was: the rule of three. Likewise, of all turns of
 * which n were had 3 in n may be unlike them, and are taken to be twice as busy. */
static const double UNSEEN_LINES = 3.0;
static const double UNSEEN_TURNS = 3.0;
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
    value->writeback_bytes += factor * LINE * (double)flow->writebacks;
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

static double turns_had(const struct rl_sampling *s, uint32_t stage)
{
    double had = 0;
    if (stage == 0)
        return (double)s->stages[0].steps + s->n_rotating;
    for (uint32_t g = 0; g < RL_SAMPLING_GROUPS; g++)
        had += (double)s->stages[1].measured[g];
    return had;
}

/* Part of what classes at turn do that may be unlike all that was seen of it: even where each had
 * its turn, one may be busy at times only, and those that had theirs then agree without it. */
static double unseen_turns(const struct rl_sampling *s, uint32_t stage)
{
    return fmin(1, UNSEEN_TURNS / turns_had(s, stage));
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
    e.error = (mean > 0 ? e.lines * doubt / mean : 0) + e.lines * unseen_turns(s, stage);
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
    if (stage == 0 || s->stages[0].steps == 0 || turns_had(s, stage) >= s->classes - s->n_kept)
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
