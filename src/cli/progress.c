#include "cli/progress.h"

#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 24, LABEL_WIDTH = 40 };

static double seconds_between(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

void rl_progress_begin(struct rl_progress *progress)
{
    *progress = (struct rl_progress){.enabled = !rl_is_quiet() && isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &progress->start);
    progress->last = progress->start;
}

void rl_progress_update(struct rl_progress *progress, double fraction, const char *label)
{
    const double first_after_s = 0.5;
    const double every_s = 0.1;
    if (!progress->enabled)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (seconds_between(progress->start, now) < first_after_s ||
        (progress->shown && seconds_between(progress->last, now) < every_s))
        return;
    progress->last = now;
    progress->shown = true;
    if (fraction < 0) {
        fprintf(stderr, "\r%6.1f s  %-*.*s\033[K", seconds_between(progress->start, now),
                LABEL_WIDTH, LABEL_WIDTH, label);
        return;
    }
    int full = (int)(fraction * BAR_WIDTH + 0.5);
    if (full > BAR_WIDTH)
        full = BAR_WIDTH;
    char bar[BAR_WIDTH + 1];
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(BAR_WIDTH - full));
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %-*.*s\033[K", bar, 100 * fraction, LABEL_WIDTH, LABEL_WIDTH,
            label);
}

void rl_progress_end(struct rl_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
    progress->enabled = false;
}
