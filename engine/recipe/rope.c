/* Inverse frequencies of the rotary embedding. */

#include "engine/recipe/rope.h"

#include "engine/format/error.h"
#include "engine/model/floats.h"

#include <math.h>

/* The dimension that makes so many rotations over the original context. */
static double
yarn_dimension(const SundogRope *rope, double n_rotations)
{
    return rope->n_dims * log(rope->original_context / (n_rotations * 2 * G_PI)) /
           (2 * log(rope->base));
}

/* How much of the frequency of pair i is interpolated, 0 to 1. */
static double
yarn_ramp(const SundogRope *rope, uint32_t i)
{
    double fast = yarn_dimension(rope, rope->yarn_fast);
    double slow = yarn_dimension(rope, rope->yarn_slow);
    double low = MAX(rope->yarn_is_exact ? fast : floor(fast), 0);
    double high = MIN(rope->yarn_is_exact ? slow : ceil(slow), (double)rope->n_dims - 1);
    return CLAMP((i - low) / MAX(high - low, 0.001), 0, 1);
}

double *
sundog_rope_dup_values(const SundogTensor *vector)
{
    if (vector == NULL)
        return NULL;
    double *values = g_new(double, vector->n_columns);
    g_autofree uint8_t *scratch = g_malloc(vector->n_bytes);
    const uint8_t *row = sundog_tensor_get_rows(vector, 0, 1, scratch);
    for (uint32_t i = 0; i < vector->n_columns; i++)
        values[i] = sundog_float_get(vector->type, row, i);
    return values;
}

static double
compute_frequency(const SundogRope *rope, const double *factors, uint32_t i)
{
    double frequency = pow(rope->base, -2.0 * i / rope->n_dims);
    double scaled = frequency / rope->factor;
    if (factors != NULL)
        return frequency / factors[i];
    if (rope->scaling == SUNDOG_ROPE_SCALING_LINEAR)
        return scaled;
    if (rope->scaling == SUNDOG_ROPE_SCALING_YARN)
        return frequency + (scaled - frequency) * yarn_ramp(rope, i);
    return frequency;
}

float *
sundog_rope_dup_inverse_frequencies(const SundogRope *rope, const SundogTensor *factors,
                                    GError **error)
{
    uint32_t n = rope->n_dims / 2;
    g_autofree float *frequencies = g_new(float, n);
    g_autofree double *divisors = sundog_rope_dup_values(factors);
    for (uint32_t i = 0; i < n; i++) {
        frequencies[i] = (float)compute_frequency(rope, divisors, i);
        if (isfinite(frequencies[i]) && frequencies[i] > 0)
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the file's rotary settings give pair %u the frequency %g, expected a number "
                    "above 0",
                    i, frequencies[i]);
        return NULL;
    }
    return g_steal_pointer(&frequencies);
}

double
sundog_rope_get_magnitude(const SundogRope *rope)
{
    if (rope->magnitude != 0)
        return rope->magnitude;
    if (rope->scaling != SUNDOG_ROPE_SCALING_YARN || rope->factor <= 1)
        return 1;
    return 0.1 * log(rope->factor) + 1;
}
