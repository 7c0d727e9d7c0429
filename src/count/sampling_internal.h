/* Where the draw counts, by group: between sampling.c and sampling_estimate.c. */
#ifndef RL_COUNT_SAMPLING_INTERNAL_H
#define RL_COUNT_SAMPLING_INTERNAL_H

#include "count/sampling.h"

static inline uint32_t n_fixed_in(const struct rl_sampling *s, uint32_t stage)
{
    return stage == 0 ? s->n_fixed : s->n_kept;
}

static inline uint32_t first_fixed(const struct rl_sampling *s, uint32_t stage)
{
    return stage == 0 ? 0 : s->n_fixed + RL_SAMPLING_GROUPS;
}

static inline uint32_t first_turns(const struct rl_sampling *s, uint32_t stage)
{
    return first_fixed(s, stage) +
           (stage == 0 ? s->n_fixed : (1 + RL_SAMPLING_GROUPS) * s->n_lasting);
}

static inline uint32_t preparing(const struct rl_sampling *s)
{
    return first_turns(s, s->n_lasting > 0) + RL_SAMPLING_GROUPS;
}

static inline uint32_t scouts(const struct rl_sampling *s)
{
    return preparing(s) + 1;
}
#endif
