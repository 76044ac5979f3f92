#pragma once

/*
 * One block of a whole a8 tile at once: six tokens, or fewer and zeros. With AVX-512 the six go side by
 * side wherever a token has one number: magnitudes, scales and sums.
 */

#include "kernels/host/quantize.h"

#ifdef __AVX512F__

#define SUNDOG_QUANTIZE static inline __attribute__((always_inline))

/* A register of eight 32-bit numbers for each token. */
typedef struct {
    __m256i of[SUNDOG_TILE_TOKENS];
} SundogTokenEights;

/* The two ways in which the eight of each token become one, or four and four. */
#define SUNDOG_PAIR_UP(join, a, b) join(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
#define SUNDOG_PAIR_UP_WIDE(join, a, b) \
    join(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))

/* Lane t: the greatest of token t's; lanes 6 and 7 repeat 4 and 5. */
SUNDOG_QUANTIZE __m256i
sundog_greatest_of_eights(const SundogTokenEights *v)
{
    __m256i a = SUNDOG_PAIR_UP(_mm256_max_epi32, v->of[0], v->of[1]);
    __m256i b = SUNDOG_PAIR_UP(_mm256_max_epi32, v->of[2], v->of[3]);
    __m256i c = SUNDOG_PAIR_UP(_mm256_max_epi32, v->of[4], v->of[5]);
    __m256i first = SUNDOG_PAIR_UP_WIDE(_mm256_max_epi32, a, b);
    __m256i last = SUNDOG_PAIR_UP_WIDE(_mm256_max_epi32, c, c);
    return _mm256_max_epi32(_mm256_permute2x128_si256(first, last, 0x20),
                            _mm256_permute2x128_si256(first, last, 0x31));
}

/* Sums of each token's lower four and of its upper four. */
SUNDOG_QUANTIZE void
sundog_sums_of_eights(const SundogTokenEights *v, __m256i *lower, __m256i *upper)
{
    __m256i a = SUNDOG_PAIR_UP(_mm256_add_epi32, v->of[0], v->of[1]);
    __m256i b = SUNDOG_PAIR_UP(_mm256_add_epi32, v->of[2], v->of[3]);
    __m256i c = SUNDOG_PAIR_UP(_mm256_add_epi32, v->of[4], v->of[5]);
    __m256i first = SUNDOG_PAIR_UP_WIDE(_mm256_add_epi32, a, b);
    __m256i last = SUNDOG_PAIR_UP_WIDE(_mm256_add_epi32, c, c);
    *lower = _mm256_permute2x128_si256(first, last, 0x20);
    *upper = _mm256_permute2x128_si256(first, last, 0x31);
}

/* Six tokens' bytes, a word of four columns from each in turn. */
SUNDOG_QUANTIZE void
sundog_store_words(const SundogTokenEights *v, uint8_t *to)
{
    /* Word i of the result is word i / 6 of token i mod 6. */
    static const int32_t from_four[3][16] = {
        {0, 8, 16, 24, 0, 0, 1, 9, 17, 25, 0, 0, 2, 10, 18, 26},
        {0, 0, 3, 11, 19, 27, 0, 0, 4, 12, 20, 28, 0, 0, 5, 13},
        {21, 29, 0, 0, 6, 14, 22, 30, 0, 0, 7, 15, 23, 31, 0, 0},
    };
    static const int32_t from_two[3][16] = {
        {0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 9, 0, 0, 0, 0},
        {2, 10, 0, 0, 0, 0, 3, 11, 0, 0, 0, 0, 4, 12, 0, 0},
        {0, 0, 5, 13, 0, 0, 0, 0, 6, 14, 0, 0, 0, 0, 7, 15},
    };
    static const __mmask16 in_two[3] = {0x0c30, 0x30c3, 0xc30c};
    __m512i first = _mm512_inserti64x4(_mm512_castsi256_si512(v->of[0]), v->of[1], 1);
    __m512i second = _mm512_inserti64x4(_mm512_castsi256_si512(v->of[2]), v->of[3], 1);
    __m512i third = _mm512_inserti64x4(_mm512_castsi256_si512(v->of[4]), v->of[5], 1);
    for (int i = 0; i < 3; i++) {
        __m512i words = _mm512_permutex2var_epi32(first, _mm512_loadu_si512(from_four[i]), second);
        words =
            _mm512_mask_permutexvar_epi32(words, in_two[i], _mm512_loadu_si512(from_two[i]), third);
        _mm512_storeu_si512(to + 64 * i, words);
    }
}

/* Scales of six magnitudes, and what values are multiplied by; the result says which tokens have values
 * that are not all zero. */
SUNDOG_QUANTIZE __mmask8
sundog_find_scales(__m256i greatest, __m256 *scale, float inverse[8])
{
    const __m256 most = _mm256_set1_ps(127.0f), amax = _mm256_castsi256_ps(greatest);
    __mmask8 finite =
        _mm256_cmplt_epi32_mask(greatest, _mm256_set1_epi32(SUNDOG_FLOAT_INFINITY_BITS));
    __mmask8 useful =
        finite & _mm256_cmp_ps_mask(amax, _mm256_set1_ps(SUNDOG_ACTIVATION_LOWEST), _CMP_GE_OQ);
    *scale = _mm256_maskz_div_ps(useful, amax, most);
    *scale = _mm256_mask_mov_ps(_mm256_set1_ps(NAN), finite, *scale);
    _mm256_storeu_ps(inverse, _mm256_maskz_div_ps(useful, most, amax));
    return useful;
}

SUNDOG_QUANTIZE void
sundog_store_sums(const SundogTokenEights *bytes, __m256 scale, float *sums, int32_t *isums)
{
    SundogTokenEights fours;
    const __mmask8 six = 0x3f;
    __m256i lower, upper;
    for (int t = 0; t < SUNDOG_TILE_TOKENS; t++)
        fours.of[t] =
            _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), bytes->of[t]);
    sundog_sums_of_eights(&fours, &lower, &upper);
    __m256 sum = _mm256_cvtepi32_ps(_mm256_add_epi32(lower, upper));
    _mm256_mask_storeu_epi32(isums, six, lower);
    _mm256_mask_storeu_epi32(isums + SUNDOG_TILE_TOKENS, six, upper);
    _mm256_mask_storeu_ps(sums, six, _mm256_mul_ps(scale, sum));
}

static inline void
sundog_quantize_tokens(const float *x, int64_t stride, int64_t n_tokens, uint8_t *tile,
                       const SundogTileLayout *layout, int64_t block)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    SundogTokenEights greatest, bytes;
    __m512 values[SUNDOG_TILE_TOKENS][2];
    float inverse[8];
    __m256 scale;
#pragma GCC unroll 6
    for (int t = 0; t < SUNDOG_TILE_TOKENS; t++) {
        const __mmask16 there = t < n_tokens ? 0xffff : 0;
        const float *from = t < n_tokens ? x + t * stride : x;
        values[t][0] = _mm512_maskz_loadu_ps(there, from);
        values[t][1] = _mm512_maskz_loadu_ps(there, from + 16);
        __m512i most =
            _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(values[t][0]), magnitude),
                             _mm512_and_si512(_mm512_castps_si512(values[t][1]), magnitude));
        greatest.of[t] =
            _mm256_max_epi32(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    }
    __mmask8 useful = sundog_find_scales(sundog_greatest_of_eights(&greatest), &scale, inverse);
#pragma GCC unroll 6
    for (int t = 0; t < SUNDOG_TILE_TOKENS; t++) {
        const __mmask16 has_values = (__mmask16) - (useful >> t & 1);
        const __m512 factor = _mm512_set1_ps(inverse[t]);
        __m128i half[2];
        for (int i = 0; i < 2; i++)
            half[i] = _mm512_cvtsepi32_epi8(
                _mm512_maskz_cvtps_epi32(has_values, _mm512_mul_ps(values[t][i], factor)));
        bytes.of[t] = _mm256_set_m128i(half[1], half[0]);
    }
    const int64_t row = SUNDOG_TILE_TOKENS;
    sundog_store_words(&bytes, tile + block * SUNDOG_ACTIVATION_BLOCK * row);
    _mm256_mask_storeu_ps((float *)(tile + layout->scales) + block * row, 0x3f, scale);
    sundog_store_sums(&bytes, scale, (float *)(tile + layout->sums) + block * row,
                      (int32_t *)(tile + layout->isums) + 2 * block * row);
}

#else

/* Values of n_tokens, `stride` floats apart, to block `block` of the tile; zeros for the others. */
static inline void
sundog_quantize_tokens(const float *x, int64_t stride, int64_t n_tokens, uint8_t *tile,
                       const SundogTileLayout *layout, int64_t block)
{
    for (int64_t token = 0; token < n_tokens; token++)
        sundog_quantize_block(x + token * stride, tile, layout, block, token);
    sundog_quantize_nothing(tile, layout, block, n_tokens);
}

#endif
