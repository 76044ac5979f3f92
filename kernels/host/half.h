#pragma once

/* Runs of half-precision numbers: by the processor where it can, which rounds as math.h says. */

#include "kernels/contract/math.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

static inline void
sundog_store_halves(uint16_t *halves, const float *values, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(halves + i), _mm256_cvtps_ph(_mm256_loadu_ps(values + i), 0));
#endif
    for (; i < n; i++)
        halves[i] = sundog_f32_to_f16(values[i]);
}

static inline void
sundog_load_halves(float *values, const uint16_t *halves, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128((__m128i *)(halves + i))));
#endif
    for (; i < n; i++)
        values[i] = sundog_f16_to_f32(halves[i]);
}

/* The same for bf16, one value at a time: no host kernel is chosen for it where speed matters. */
static inline void
sundog_store_bf16(uint16_t *to, const float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = sundog_f32_to_bf16(values[i]);
}

/* Factors of products by pairs. */
static inline void
sundog_store_factors(uint16_t *to, const float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = sundog_f32_to_bf16_factor(values[i]);
}
