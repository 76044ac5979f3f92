#pragma once

/* Writing of a8 tiles, as activation.h defines them, a block of 32 columns at a time. */

#include "kernels/contract/activation.h"
#include "kernels/contract/math.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define SUNDOG_FLOAT_INFINITY_BITS 0x7f800000

/* What a block comes to before it is stored in its tile. */
typedef struct {
    int8_t bytes[SUNDOG_ACTIVATION_BLOCK];
    int32_t lower; /* sum of the first 16 */
    int32_t upper;
} SundogQuantizedBlock;

/* The greatest magnitude, as bits: compared as integers, which orders NaN above infinity and makes the
 * result independent of the order. */
static inline int32_t
sundog_block_magnitude(const float *x)
{
#ifdef __AVX2__
    const __m256i mask = _mm256_set1_epi32(0x7fffffff);
    __m256i greatest = _mm256_setzero_si256();
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i += 8) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(x + i));
        greatest = _mm256_max_epi32(greatest, _mm256_and_si256(bits, mask));
    }
    __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128(greatest), _mm256_extracti128_si256(greatest, 1));
    __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
#else
    int32_t greatest = 0;
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i++) {
        int32_t magnitude = (int32_t)(sundog_float_bits(x[i]) & 0x7fffffff);
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    return greatest;
#endif
}

/* Rounds x * inverse to even. The results are at most 127 in magnitude. */
static inline void
sundog_block_round(const float *x, float inverse, SundogQuantizedBlock *block)
{
#ifdef __AVX2__
    const __m256 factor = _mm256_set1_ps(inverse);
    __m256i v[4];
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor));
    /* Packing works within halves of a register: fours come out as 0 2 4 6 1 3 5 7. */
    __m256i mixed =
        _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_permutevar8x32_epi32(mixed, order);
    _mm256_storeu_si256((__m256i *)block->bytes, bytes);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
    __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    fours = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0x4e));
    fours = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0xb1));
    block->lower = _mm_cvtsi128_si32(_mm256_castsi256_si128(fours));
    block->upper = _mm_cvtsi128_si32(_mm256_extracti128_si256(fours, 1));
#else
    block->lower = block->upper = 0;
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i++) {
        float rounded = x[i] * inverse + SUNDOG_ROUNDING;
        int32_t value = (int32_t)(sundog_float_bits(rounded) - 0x4b400000);
        block->bytes[i] = (int8_t)value;
        if (i < SUNDOG_ACTIVATION_BLOCK / 2)
            block->lower += value;
        else
            block->upper += value;
    }
#endif
}

/* One block of one token: 32 values to bytes, scale and sums. */
static inline void
sundog_quantize_block(const float *x, uint8_t *tile, const SundogTileLayout *layout, int64_t block,
                      int64_t token)
{
    SundogQuantizedBlock quantized = {{0}, 0, 0};
    int32_t greatest = sundog_block_magnitude(x);
    float amax = sundog_float_from_bits((uint32_t)greatest), scale = 0;
    if (greatest >= SUNDOG_FLOAT_INFINITY_BITS) {
        scale = NAN;
    } else if (amax >= SUNDOG_ACTIVATION_LOWEST) {
        scale = amax / 127.0f;
        sundog_block_round(x, 127.0f / amax, &quantized);
    }

    const int64_t row = SUNDOG_TILE_TOKENS;
    uint8_t *to = tile + block * SUNDOG_ACTIVATION_BLOCK * row + 4 * token;
    for (int group = 0; group < SUNDOG_ACTIVATION_BLOCK / 4; group++)
        memcpy(to + 4 * row * group, quantized.bytes + 4 * group, 4);
    int32_t sum = quantized.lower + quantized.upper;
    ((float *)(tile + layout->scales))[block * row + token] = scale;
    ((float *)(tile + layout->sums))[block * row + token] = scale * (float)sum;
    int32_t *isums = (int32_t *)(tile + layout->isums) + 2 * block * row + token;
    isums[0] = quantized.lower;
    isums[row] = quantized.upper;
}

/* Zero for tokens [first, 6) of one block: what is not there. */
static inline void
sundog_quantize_nothing(uint8_t *tile, const SundogTileLayout *layout, int64_t block, int64_t first)
{
    static const float zero[SUNDOG_ACTIVATION_BLOCK];
    for (int64_t token = first; token < SUNDOG_TILE_TOKENS; token++)
        sundog_quantize_block(zero, tile, layout, block, token);
}

static inline void
sundog_tile_set_tokens(uint8_t *tile, const SundogTileLayout *layout, int64_t n_tokens)
{
    *(int32_t *)(tile + layout->tokens) = (int32_t)n_tokens;
}

static inline int64_t
sundog_tile_get_tokens(const uint8_t *tile, const SundogTileLayout *layout)
{
    return *(const int32_t *)(tile + layout->tokens);
}

/* Tokens of a product from a to y: activations in a8 count tiles, floats count tokens. */
static inline int64_t
sundog_linear_n_tokens(const SundogArgument *a, const SundogArgument *y)
{
    if (y->dtype != SUNDOG_DTYPE_A8)
        return y->shape[0];
    if (a->dtype != SUNDOG_DTYPE_A8)
        return a->shape[0];
    SundogTileLayout layout = sundog_tile_layout(a->shape[1]);
    const uint8_t *last = (const uint8_t *)a->data + (size_t)(a->shape[0] - 1) * layout.n_bytes;
    return (a->shape[0] - 1) * SUNDOG_TILE_TOKENS + sundog_tile_get_tokens(last, &layout);
}
