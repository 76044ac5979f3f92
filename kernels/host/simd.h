#pragma once

/*
 * Sixteen floats as one value, for the kernels that are written for registers: one register of AVX-512
 * or two of AVX2. SUNDOG_VECTORS is how many a tile of 6 tokens may take along its rows before its
 * accumulators no longer fit the registers.
 */

#include "kernels/contract/math.h"

#include <immintrin.h>

#define SUNDOG_INLINE static inline __attribute__((always_inline))
#define SUNDOG_LANES 16

#ifdef __AVX512F__

#define SUNDOG_VECTORS 2
#define SUNDOG_ATTENTION_VECTORS 4

typedef __m512 SundogVector;

SUNDOG_INLINE SundogVector
sundog_vector_set(float value)
{
    return _mm512_set1_ps(value);
}

SUNDOG_INLINE SundogVector
sundog_vector_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

SUNDOG_INLINE SundogVector
sundog_vector_load_halves(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

SUNDOG_INLINE void
sundog_vector_store(float *to, SundogVector v)
{
    _mm512_storeu_ps(to, v);
}

SUNDOG_INLINE SundogVector
sundog_vector_mul(SundogVector a, SundogVector b)
{
    return _mm512_mul_ps(a, b);
}

/* a * b + c, rounded once. */
SUNDOG_INLINE SundogVector
sundog_vector_fma(SundogVector a, SundogVector b, SundogVector c)
{
    return _mm512_fmadd_ps(a, b, c);
}

#else

#define SUNDOG_VECTORS 1
#define SUNDOG_ATTENTION_VECTORS 1

typedef struct {
    __m256 low;
    __m256 high;
} SundogVector;

SUNDOG_INLINE SundogVector
sundog_vector_set(float value)
{
    return (SundogVector){_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

SUNDOG_INLINE SundogVector
sundog_vector_load(const float *from)
{
    return (SundogVector){_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}

SUNDOG_INLINE SundogVector
sundog_vector_load_halves(const uint16_t *from)
{
    return (SundogVector){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)),
                          _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 8)))};
}

SUNDOG_INLINE void
sundog_vector_store(float *to, SundogVector v)
{
    _mm256_storeu_ps(to, v.low);
    _mm256_storeu_ps(to + 8, v.high);
}

SUNDOG_INLINE SundogVector
sundog_vector_mul(SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

/* a * b + c, rounded once. */
SUNDOG_INLINE SundogVector
sundog_vector_fma(SundogVector a, SundogVector b, SundogVector c)
{
    return (SundogVector){_mm256_fmadd_ps(a.low, b.low, c.low),
                          _mm256_fmadd_ps(a.high, b.high, c.high)};
}

#endif
