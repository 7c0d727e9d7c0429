#include "timing/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 8, LEAST_BLOCKS = 3, LEAST_IN_BLOCK = 4, LEAST_IN_STRETCH = 5, TOP_SHARE = 20 };
/* Of the few of a stretch the best: half of five would be what others leave at most times. */
enum { LEAST_OF_STRETCH = 1 };

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

static double *sorted_copy(const double *value, size_t n)
{
    double *copy = malloc(n * sizeof *copy);
    if (copy) {
        memcpy(copy, value, n * sizeof *copy);
        qsort(copy, n, sizeof *copy, descending);
    }
    return copy;
}

/* Median of the first n of a sorted array. */
static double median_sorted(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

size_t rl_top_of(size_t n, size_t least)
{
    return n / TOP_SHARE > least ? n / TOP_SHARE : least;
}

/* With few samples the best half is all that can count as undisturbed. */
static size_t half_of(size_t n, size_t top)
{
    size_t half = (n + 1) / 2;
    return top < half ? top : half;
}

double rl_student_95(size_t freedom)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                   2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                   2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    size_t n = sizeof table / sizeof table[0];
    if (freedom == 0)
        freedom = 1;
    return freedom <= n ? table[freedom - 1] : 1.96 + 2.4 / (double)freedom;
}

static double half_width(const double *x, size_t n)
{
    double mean = 0;
    double squares = 0;
    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return rl_student_95(n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
}

static double spread_of_blocks(const double *rate, size_t n, size_t top, size_t blocks)
{
    double best[MAX_BLOCKS];
    for (size_t b = 0; b < blocks; b++) {
        size_t from = b * n / blocks;
        size_t count = (b + 1) * n / blocks - from;
        double *sorted = sorted_copy(rate + from, count);
        if (!sorted)
            return 0;
        best[b] = median_sorted(sorted, half_of(count, top));
        free(sorted);
    }
    return half_width(best, blocks);
}

struct rl_estimate rl_estimate_top(const double *rate, size_t n, size_t top)
{
    struct rl_estimate estimate = {0};
    double *sorted = n ? sorted_copy(rate, n) : NULL;
    if (!sorted)
        return estimate;
    size_t kept = half_of(n, top);
    estimate.value = median_sorted(sorted, kept);
    estimate.median = median_sorted(sorted, n);
    size_t blocks = n / LEAST_IN_BLOCK < MAX_BLOCKS ? n / LEAST_IN_BLOCK : MAX_BLOCKS;
    double width = blocks >= LEAST_BLOCKS ? spread_of_blocks(rate, n, top, blocks)
                                          : half_width(sorted, kept < 2 && n > 1 ? 2 : kept);
    estimate.spread = estimate.value > 0 ? width / estimate.value : 0;
    free(sorted);
    return estimate;
}

/* The estimate of one stretch; its rates go to `own`, in their order. */
static struct rl_estimate estimate_stretch(const double *rate, const unsigned *place, size_t n,
                                           unsigned n_places, size_t stretches, size_t stretch,
                                           size_t top, double *own)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (place[i] * stretches / n_places == stretch)
            own[kept++] = rate[i];
    size_t least = stretches > 1 ? LEAST_OF_STRETCH : top;
    return rl_estimate_top(own, kept, rl_top_of(kept, least));
}

/* As if all places had the mean's speed, so that only what changes with time spreads. */
static void level_out(double *rate, const unsigned *place, size_t n, unsigned n_places,
                      const double *of_stretch, size_t stretches, double mean)
{
    for (size_t i = 0; i < n; i++) {
        double own = of_stretch[place[i] * stretches / n_places];
        if (own > 0)
            rate[i] *= mean / own;
    }
}

struct rl_estimate rl_estimate_places(const double *rate, const unsigned *place, size_t n,
                                      unsigned n_places, size_t top)
{
    struct rl_estimate estimate = {0};
    size_t stretches = n / LEAST_IN_STRETCH < n_places ? n / LEAST_IN_STRETCH : n_places;
    stretches = stretches ? stretches : 1;
    double *scratch = malloc((n + 1) * sizeof *scratch);
    double *value = malloc(stretches * sizeof *value);
    double seconds = 0;
    double median_seconds = 0;
    size_t seen = 0;
    for (size_t k = 0; scratch && value && k < stretches; k++) {
        struct rl_estimate one =
            estimate_stretch(rate, place, n, n_places, stretches, k, top, scratch);
        value[k] = one.value;
        if (!(one.value > 0) || !(one.median > 0))
            continue;
        seconds += 1 / one.value;
        median_seconds += 1 / one.median;
        seen++;
    }
    if (seen > 0) {
        double mean = (double)seen / seconds;
        memcpy(scratch, rate, n * sizeof *scratch);
        level_out(scratch, place, n, n_places, value, stretches, mean);
        estimate = (struct rl_estimate){.value = mean,
                                        .spread = rl_estimate_top(scratch, n, top).spread,
                                        .median = (double)seen / median_seconds};
    }
    free(scratch);
    free(value);
    return estimate;
}

double rl_quantile(const double *value, size_t n, double p)
{
    double *sorted = n ? sorted_copy(value, n) : NULL;
    if (!sorted)
        return 0;
    double at = (1 - p) * (double)(n - 1);
    size_t low = (size_t)at;
    size_t high = low + 1 < n ? low + 1 : low;
    double result = sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
    free(sorted);
    return result;
}
