/* Did the timed and the counted run of one program execute the same code? */
#ifndef RL_PROFILE_AGREE_CODE_H
#define RL_PROFILE_AGREE_CODE_H

#include "profile/tally.h"
#include "sample/sample.h"

struct rl_symbols_options;

/** What is known besides the two runs. */
struct agree_ours {
    const char *engine, *preload; /**< objects that are preloaded, nobody's work; may be NULL */
    const struct rl_symbols_options *symbols; /**< as rl_symbols_new */
};

/**
 * A note if the timed run spent much of its time at addresses that the counted run never executed,
 * if the counted run did much in a function that the timed run cannot have done unseen, or if it
 * had less time on a processor than the timed run, though counting takes time.
 *
 * Sound rather than sharp: programs with a little of each are left alone, as are functions that
 * may be waits, and results that are known not to be whole.
 *
 * @param timed        the first run, sampled; without samples only the time is compared.
 * @param counted_s    time on processors of the counted run, of children too; 0: not known.
 * @param profile      a note is added; one is enough.
 */
enum rl_status agree_check_code(const struct rl_samples *timed, const struct rl_tally *tally,
                                double counted_s, struct agree_ours ours,
                                struct rl_profile *profile, struct rl_error *err);

#endif
