#pragma once

/* rope-cache.h's rotation of one head. Angles are found for some pairs at once and then serve all heads of
 * a row. */

#include "kernels/contract/math.h"

#define SUNDOG_ANGLES 64

typedef struct {
    const float *inverse_frequencies;
    int64_t n_dims;
    bool interleaved;
    float magnitude;
} SundogRotation;

/* Of pairs from some first one on. */
typedef struct {
    int64_t n;
    float sines[SUNDOG_ANGLES];
    float cosines[SUNDOG_ANGLES];
} SundogAngles;

static inline void
sundog_find_angles(const SundogRotation *rotation, float position, int64_t first,
                   SundogAngles *angles)
{
    int64_t left = rotation->n_dims / 2 - first;
    angles->n = left < SUNDOG_ANGLES ? left : SUNDOG_ANGLES;
    for (int64_t i = 0; i < angles->n; i++) {
        sundog_sin_cos(position * rotation->inverse_frequencies[first + i], &angles->sines[i],
                       &angles->cosines[i]);
        angles->sines[i] *= rotation->magnitude;
        angles->cosines[i] *= rotation->magnitude;
    }
}

/* Pairs with one element `step` after the other's, between `low` and `high`, which do not overlap. */
static inline __attribute__((always_inline)) void
sundog_rotate_pairs(float *restrict low, float *restrict high, const int64_t step,
                    const SundogAngles *restrict angles)
{
    for (int64_t i = 0; i < angles->n; i++) {
        float x = low[i * step], y = high[i * step];
        low[i * step] = fmaf(x, angles->cosines[i], -(y * angles->sines[i]));
        high[i * step] = fmaf(y, angles->cosines[i], x * angles->sines[i]);
    }
}

/* Rotates the pairs of the angles in one head. Written for each step apart, so that loops become vectors. */
static inline void
sundog_rotate(const SundogRotation *rotation, float *head, int64_t first,
              const SundogAngles *angles)
{
    if (rotation->interleaved)
        sundog_rotate_pairs(head + 2 * first, head + 2 * first + 1, 2, angles);
    else
        sundog_rotate_pairs(head + first, head + first + rotation->n_dims / 2, 1, angles);
}
