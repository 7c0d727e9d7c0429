/* Of how much time, in ticks, samples of any thread stand for one group. Inside sample only. */
#ifndef RL_SAMPLE_COVER_H
#define RL_SAMPLE_COVER_H

#include "sample/sample.h"

enum { COVER_TICKS = 64 };

/** What of a group's last ticks, up to `end`, samples of any thread stand for. All-zero: of none.
 */
struct cover {
    uint64_t ticks; /**< bit i: the i-th tick before `end` */
    uint32_t end;
};

/**
 * Ticks that a sample stands for and no other of the group before it does; of a sample longer than
 * what is remembered, its last part speaks for all. Points come in the order of their ends.
 */
static inline double cover_add(struct cover *cover, const struct rl_sample_point *point)
{
    uint32_t later = point->tick - cover->end;
    uint32_t n = point->ticks < COVER_TICKS ? point->ticks : COVER_TICKS;
    uint64_t own = n < COVER_TICKS ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
    uint64_t before = later < COVER_TICKS ? cover->ticks << later : 0;
    *cover = (struct cover){before | own, point->tick};
    double added = __builtin_popcountll(own & ~before);
    return n ? added * point->ticks / n : 0;
}

#endif
