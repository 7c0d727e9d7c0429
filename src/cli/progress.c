#include "cli/progress.h"

#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 24, LABEL_WIDTH = 40, LINE_LEN = 128 };

static double seconds_between(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* A line that is longer than the terminal is wide would be wrapped, and not be written over. */
static int columns(void)
{
    unsigned n = rl_error_columns();
    return n > 1 && n < LINE_LEN ? (int)n - 1 : LINE_LEN - 1;
}

void rl_progress_begin(struct rl_progress *progress)
{
    *progress = (struct rl_progress){.enabled = !rl_is_quiet() && isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &progress->start);
    progress->last = progress->start;
}

/* Where there is no room for the bar it is the number that counts. */
static void put_bar(char line[LINE_LEN], double fraction, const char *label)
{
    char bar[BAR_WIDTH + 1];
    int full = (int)(fraction * BAR_WIDTH + 0.5);
    if (full > BAR_WIDTH)
        full = BAR_WIDTH;
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(BAR_WIDTH - full));
    bar[BAR_WIDTH] = '\0';
    bool has_room = columns() >= 2 * BAR_WIDTH;
    snprintf(line, LINE_LEN, "%s%s%s%3.0f %%  %.*s", has_room ? "[" : "", has_room ? bar : "",
             has_room ? "] " : "", 100 * fraction, LABEL_WIDTH, label);
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
    char line[LINE_LEN];
    if (fraction < 0)
        snprintf(line, sizeof line, "%6.1f s  %.*s", seconds_between(progress->start, now),
                 LABEL_WIDTH, label);
    else
        put_bar(line, fraction, label);
    fprintf(stderr, "\r%.*s\033[K", columns(), line);
}

void rl_progress_end(struct rl_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
    progress->enabled = false;
}
