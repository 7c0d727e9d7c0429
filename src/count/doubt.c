#include "count/doubt.h"

#include <math.h>

/* Student's t at 97.5 %, by degrees of freedom. */
static const double student[] = {INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36,
                                 2.31,     2.26,  2.23, 2.20, 2.18, 2.16, 2.14, 2.13};

double rl_mean_and_doubt(const double sample[], uint32_t n, double share, double safety,
                         double *ret_mean)
{
    double mean = 0;
    double square = 0;
    for (uint32_t i = 0; i < n; i++)
        mean += sample[i] / n;
    for (uint32_t i = 0; i < n; i++)
        square += (sample[i] - mean) * (sample[i] - mean);
    *ret_mean = mean;
    if (n < 2)
        return INFINITY;
    double deviation = sqrt(square / (n - 1) / n * (1 - share));
    return deviation > 0 ? safety * student[n - 1] * deviation : 0;
}
