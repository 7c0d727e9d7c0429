/* Did the runs of one program do the same thing? Where they did not, a note says what differed. */
#ifndef RL_PROFILE_AGREE_H
#define RL_PROFILE_AGREE_H

#include "profile/counting.h"

/**
 * @param samples   [n_samples] native runs.
 * @param counting  NULL: there was none.
 * @param profile   notes are added.
 */
enum rl_status agree_check(const struct rl_samples *samples, size_t n_samples,
                           const struct counting *counting, struct rl_profile *profile,
                           struct rl_error *err);

/**
 * Does the program run for a fixed time, whatever it gets done in it? Then it did less while it was
 * counted than while it was timed, and rates that join the two are too low: the profile says that
 * they are not known.
 *
 * It seems so where it was as long on the processor in both runs though counting slows programs
 * down, and where it set timers or kept looking at the clock.
 */
enum rl_status agree_check_duration(const struct rl_samples *timed, double counted_s,
                                    const struct rl_tally *tally, struct rl_profile *profile,
                                    struct rl_error *err);

/** A note for each marked region that the timed run entered more or fewer times than the counted
 * one. */
enum rl_status agree_check_regions(const struct rl_samples *timed, const struct rl_tally *tally,
                                   struct rl_profile *profile, struct rl_error *err);

/** Is it a pipe or socket of which nothing is left to read, now or later? */
bool agree_input_is_spent(int fd);

/** Say that the counted run had no input where the timed run had some. */
enum rl_status agree_note_input(struct rl_profile *profile, struct rl_error *err);

/** Say that the counted run had nobody to type, if runs are known to differ and that may be why. */
enum rl_status agree_note_terminal(int fd, struct rl_profile *profile, struct rl_error *err);

/** A note if a run ended otherwise than the first one did; both as wait(2) gives it.
 * @param which  "the counted run". */
enum rl_status agree_check_end(int first, int other, const char *which, struct rl_profile *profile,
                               struct rl_error *err);

#endif
