#pragma once

/* The factor of rms-norm.h for one row. */

#include "kernels/contract/rms-norm.h"

#include <math.h>

/* The sum of all partial sums, in rms-norm.h's order. */
static inline float
sundog_norm_fold(float sums[SUNDOG_NORM_LANES])
{
    for (int half = SUNDOG_NORM_LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            sums[lane] += sums[lane + half];
    return sums[0];
}

/* The sum of squares in rms-norm.h's order. */
static inline float
sundog_norm_sum(const float *x, int64_t n)
{
    float sums[SUNDOG_NORM_LANES] = {0};
    int64_t k = 0;
    for (; k + SUNDOG_NORM_LANES <= n; k += SUNDOG_NORM_LANES)
        for (int lane = 0; lane < SUNDOG_NORM_LANES; lane++)
            sums[lane] = fmaf(x[k + lane], x[k + lane], sums[lane]);
    for (int lane = 0; k < n; k++, lane++)
        sums[lane] = fmaf(x[k], x[k], sums[lane]);
    return sundog_norm_fold(sums);
}

/* layer-norm.h's sum of a row. */
static inline float
sundog_norm_plain_sum(const float *x, int64_t n)
{
    float sums[SUNDOG_NORM_LANES] = {0};
    for (int64_t k = 0; k < n; k++)
        sums[k % SUNDOG_NORM_LANES] += x[k];
    return sundog_norm_fold(sums);
}

static inline float
sundog_norm_factor(const float *x, int64_t n, float epsilon)
{
    return 1.0f / sqrtf(sundog_norm_sum(x, n) / (float)n + epsilon);
}
