/* A progress bar on stderr: only on a terminal, only for work of over a second, never with -q. */
#ifndef RL_CLI_PROGRESS_H
#define RL_CLI_PROGRESS_H

#include <stdbool.h>
#include <time.h>

struct rl_progress {
    bool shown; /**< something is on the screen */
    bool enabled;
    struct timespec start; /**< of the work */
    struct timespec last;  /**< of the last redraw */
};

/** Start; nothing is shown before half a second has passed. */
void rl_progress_begin(struct rl_progress *progress);

/**
 * Redraw if due (10 times a second).
 * @param fraction  0..1 done; negative: unknown, elapsed time is shown.
 * @param label     what is being done now, e.g. "L2 load, 2 threads".
 */
void rl_progress_update(struct rl_progress *progress, double fraction, const char *label);

/** Wipe the line. */
void rl_progress_end(struct rl_progress *progress);

#endif
