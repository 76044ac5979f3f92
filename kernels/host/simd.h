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
sundog_vector_widen_halves(__m256i halves)
{
    return _mm512_cvtph_ps(halves);
}

SUNDOG_INLINE SundogVector
sundog_vector_load_bf16(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* Bits [shift, 8) of sixteen bytes, as far as the mask keeps them. */
SUNDOG_INLINE SundogVector
sundog_vector_load_bytes(const uint8_t *from, const int shift, const int mask)
{
    __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from));
    wide = shift > 0 ? _mm512_srli_epi32(wide, (unsigned)shift) : wide;
    wide = mask < 255 >> shift ? _mm512_and_si512(wide, _mm512_set1_epi32(mask)) : wide;
    return _mm512_cvtepi32_ps(wide);
}

SUNDOG_INLINE SundogVector
sundog_vector_load_signed_bytes(const uint8_t *from)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
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

SUNDOG_INLINE SundogVector
sundog_vector_add(SundogVector a, SundogVector b)
{
    return _mm512_add_ps(a, b);
}

SUNDOG_INLINE SundogVector
sundog_vector_sub(SundogVector a, SundogVector b)
{
    return _mm512_sub_ps(a, b);
}

/* a > b ? a : b, so b where either is NaN. */
SUNDOG_INLINE SundogVector
sundog_vector_max(SundogVector a, SundogVector b)
{
    return _mm512_max_ps(a, b);
}

/* a < b ? a : b */
SUNDOG_INLINE SundogVector
sundog_vector_min(SundogVector a, SundogVector b)
{
    return _mm512_min_ps(a, b);
}

/* Lanes of a where the mask's bits are set, else of b. */
SUNDOG_INLINE SundogVector
sundog_vector_select(SundogVector mask, SundogVector a, SundogVector b)
{
    return _mm512_or_ps(_mm512_and_ps(mask, a), _mm512_andnot_ps(mask, b));
}

/* v, or zero where a < b; v where either is NaN. */
SUNDOG_INLINE SundogVector
sundog_vector_unless_below(SundogVector a, SundogVector b, SundogVector v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), v);
}

/* math.h's factor of products by pairs, as a float. */
SUNDOG_INLINE SundogVector
sundog_vector_round_factor(SundogVector v)
{
    __m512i bits = _mm512_castps_si512(v), odd = _mm512_srli_epi32(bits, 16);
    odd = _mm512_and_si512(odd, _mm512_set1_epi32(1));
    __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    sum = _mm512_mask_or_epi32(sum, is_nan, bits, _mm512_set1_epi32(0x400000));
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    __mmask16 counts =
        _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(SUNDOG_BF16_LOWEST_FACTOR));
    return _mm512_castsi512_ps(
        _mm512_maskz_and_epi32(counts, sum, _mm512_set1_epi32((int)0xffff0000)));
}

/* The same as sixteen halves, of numbers that are zero or no less than the lowest factor. */
SUNDOG_INLINE void
sundog_vector_store_factors(uint16_t *to, SundogVector v)
{
#ifdef __AVX512BF16__
    _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(v));
#else
    __m512i bits = _mm512_castps_si512(sundog_vector_round_factor(v));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
#endif
}

/* 2^n for the integer n that SUNDOG_ROUNDING left in the low bits of t. */
SUNDOG_INLINE SundogVector
sundog_vector_power_of_two(SundogVector t)
{
    __m512i n = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}

SUNDOG_INLINE __m256
sundog_vector_low(SundogVector v)
{
    return _mm512_castps512_ps256(v);
}

SUNDOG_INLINE __m256
sundog_vector_high(SundogVector v)
{
    return _mm512_extractf32x8_ps(v, 1);
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
sundog_vector_widen_halves(__m256i halves)
{
    return (SundogVector){_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
                          _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}

SUNDOG_INLINE SundogVector
sundog_vector_load_bf16(const uint16_t *from)
{
    __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
    __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + 8)));
    return (SundogVector){_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
                          _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}

SUNDOG_INLINE __m256
sundog_eight_bytes(const uint8_t *from, const int shift, const int mask)
{
    __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
    wide = shift > 0 ? _mm256_srli_epi32(wide, shift) : wide;
    wide = mask < 255 >> shift ? _mm256_and_si256(wide, _mm256_set1_epi32(mask)) : wide;
    return _mm256_cvtepi32_ps(wide);
}

/* Bits [shift, 8) of sixteen bytes, as far as the mask keeps them. */
SUNDOG_INLINE SundogVector
sundog_vector_load_bytes(const uint8_t *from, const int shift, const int mask)
{
    return (SundogVector){sundog_eight_bytes(from, shift, mask),
                          sundog_eight_bytes(from + 8, shift, mask)};
}

SUNDOG_INLINE SundogVector
sundog_vector_load_signed_bytes(const uint8_t *from)
{
    __m256i low = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from));
    __m256i high = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(from + 8)));
    return (SundogVector){_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)};
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

SUNDOG_INLINE SundogVector
sundog_vector_add(SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

SUNDOG_INLINE SundogVector
sundog_vector_sub(SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}

/* a > b ? a : b, so b where either is NaN. */
SUNDOG_INLINE SundogVector
sundog_vector_max(SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}

/* a < b ? a : b */
SUNDOG_INLINE SundogVector
sundog_vector_min(SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}

/* Lanes of a where the mask's bits are set, else of b. */
SUNDOG_INLINE SundogVector
sundog_vector_select(SundogVector mask, SundogVector a, SundogVector b)
{
    return (SundogVector){_mm256_blendv_ps(b.low, a.low, mask.low),
                          _mm256_blendv_ps(b.high, a.high, mask.high)};
}

/* v, or zero where a < b; v where either is NaN. */
SUNDOG_INLINE SundogVector
sundog_vector_unless_below(SundogVector a, SundogVector b, SundogVector v)
{
    return (SundogVector){_mm256_and_ps(_mm256_cmp_ps(a.low, b.low, _CMP_NLT_UQ), v.low),
                          _mm256_and_ps(_mm256_cmp_ps(a.high, b.high, _CMP_NLT_UQ), v.high)};
}

SUNDOG_INLINE __m256
sundog_round_eight_factors(__m256 v)
{
    __m256i bits = _mm256_castps_si256(v), odd = _mm256_srli_epi32(bits, 16);
    odd = _mm256_and_si256(odd, _mm256_set1_epi32(1));
    __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    sum =
        _mm256_blendv_epi8(sum, nan, _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000)));
    __m256i counts =
        _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(SUNDOG_BF16_LOWEST_FACTOR - 1));
    sum = _mm256_and_si256(sum, _mm256_set1_epi32((int)0xffff0000));
    return _mm256_castsi256_ps(_mm256_and_si256(sum, counts));
}

/* math.h's factor of products by pairs, as a float. */
SUNDOG_INLINE SundogVector
sundog_vector_round_factor(SundogVector v)
{
    return (SundogVector){sundog_round_eight_factors(v.low), sundog_round_eight_factors(v.high)};
}

/* The same as sixteen halves. */
SUNDOG_INLINE void
sundog_vector_store_factors(uint16_t *to, SundogVector v)
{
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(sundog_round_eight_factors(v.low)), 16);
    __m256i high = _mm256_srli_epi32(_mm256_castps_si256(sundog_round_eight_factors(v.high)), 16);
    /* Packing works within halves of a register. */
    __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_storeu_si256((__m256i *)to, both);
}

/* 2^n for the integer n that SUNDOG_ROUNDING left in the low bits of t. */
SUNDOG_INLINE SundogVector
sundog_vector_power_of_two(SundogVector t)
{
    const __m256i bias = _mm256_set1_epi32(127);
    __m256i low = _mm256_add_epi32(_mm256_castps_si256(t.low), bias);
    __m256i high = _mm256_add_epi32(_mm256_castps_si256(t.high), bias);
    return (SundogVector){_mm256_castsi256_ps(_mm256_slli_epi32(low, 23)),
                          _mm256_castsi256_ps(_mm256_slli_epi32(high, 23))};
}

SUNDOG_INLINE __m256
sundog_vector_low(SundogVector v)
{
    return v.low;
}

SUNDOG_INLINE __m256
sundog_vector_high(SundogVector v)
{
    return v.high;
}

/* a * b + c, rounded once. */
SUNDOG_INLINE SundogVector
sundog_vector_fma(SundogVector a, SundogVector b, SundogVector c)
{
    return (SundogVector){_mm256_fmadd_ps(a.low, b.low, c.low),
                          _mm256_fmadd_ps(a.high, b.high, c.high)};
}

#endif

SUNDOG_INLINE SundogVector
sundog_vector_load_halves(const uint16_t *from)
{
    return sundog_vector_widen_halves(_mm256_loadu_si256((const __m256i *)from));
}

/* math.h's e4m3: the same bits as a half lie 2^8 lower, subnormal numbers too. */
SUNDOG_INLINE SundogVector
sundog_vector_load_e4m3(const uint8_t *from)
{
    __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from));
    __m256i sign = _mm256_and_si256(_mm256_slli_epi16(wide, 8), _mm256_set1_epi16((short)0x8000));
    __m256i rest = _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(0x3f80));
    return sundog_vector_mul(sundog_vector_widen_halves(_mm256_or_si256(sign, rest)),
                             sundog_vector_set(256));
}
/* Lane i takes i + 8, then i + 4, + 2, + 1. */
SUNDOG_INLINE float
sundog_vector_sum(SundogVector v)
{
    __m256 eight = _mm256_add_ps(sundog_vector_low(v), sundog_vector_high(v));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

SUNDOG_INLINE float
sundog_vector_greatest(SundogVector v)
{
    __m256 eight = _mm256_max_ps(sundog_vector_low(v), sundog_vector_high(v));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* math.h's exponential, step by step, within its range. */
SUNDOG_INLINE SundogVector
sundog_vector_exp_in_range(SundogVector x)
{
    const SundogVector rounding = sundog_vector_set(SUNDOG_ROUNDING), one = sundog_vector_set(1);
    SundogVector t = sundog_vector_fma(x, sundog_vector_set(SUNDOG_LOG2_E), rounding);
    SundogVector n = sundog_vector_sub(t, rounding);
    SundogVector r = sundog_vector_fma(n, sundog_vector_set(-SUNDOG_LN2_HIGH), x);
    r = sundog_vector_fma(n, sundog_vector_set(-SUNDOG_LN2_LOW), r);
    SundogVector p =
        sundog_vector_fma(sundog_vector_set(SUNDOG_EXP_C4), r, sundog_vector_set(SUNDOG_EXP_C3));
    p = sundog_vector_fma(p, r, sundog_vector_set(SUNDOG_EXP_C2));
    p = sundog_vector_fma(p, r, sundog_vector_set(SUNDOG_EXP_C1));
    p = sundog_vector_fma(p, r, sundog_vector_set(SUNDOG_EXP_C0));
    p = sundog_vector_fma(p, r, one);
    p = sundog_vector_fma(p, r, one);
    return sundog_vector_mul(p, sundog_vector_power_of_two(t));
}

SUNDOG_INLINE SundogVector
sundog_vector_exp(SundogVector x)
{
    x = sundog_vector_min(sundog_vector_set(SUNDOG_EXP_HIGHEST), x);
    x = sundog_vector_max(sundog_vector_set(SUNDOG_EXP_LOWEST), x);
    return sundog_vector_exp_in_range(x);
}

/* The exponential of x from `lowest` on, which is in its range, to 0; zero of what is below. */
SUNDOG_INLINE SundogVector
sundog_vector_exp_above(SundogVector x, const float lowest)
{
    return sundog_vector_unless_below(x, sundog_vector_set(lowest), sundog_vector_exp_in_range(x));
}
