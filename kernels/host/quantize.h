#pragma once

/* Writing of a8 tiles, as activation.h defines them, a block of 32 columns at a time. */

#include "kernels/contract/activation.h"
#include "kernels/contract/math.h"

#define SUNDOG_FLOAT_INFINITY_BITS 0x7f800000

/* One block of one token: 32 values to bytes, scale and sums. Magnitudes are compared as integers,
 * which orders NaN above infinity and makes the greatest independent of the order. */
static inline void
sundog_quantize_block(const float *x, uint8_t *tile, const SundogTileLayout *layout, int64_t block,
                      int64_t token)
{
    int32_t greatest = 0;
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i++) {
        int32_t magnitude = (int32_t)(sundog_float_bits(x[i]) & 0x7fffffff);
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    float amax = sundog_float_from_bits((uint32_t)greatest);
    bool finite = greatest < SUNDOG_FLOAT_INFINITY_BITS;
    bool used = finite && amax >= SUNDOG_ACTIVATION_LOWEST;
    float inverse = used ? 127.0f / amax : 0.0f;
    float scale = used ? amax / 127.0f : finite ? 0.0f : NAN;

    int8_t bytes[SUNDOG_ACTIVATION_BLOCK];
    int32_t values[SUNDOG_ACTIVATION_BLOCK];
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK; i++) {
        float rounded = x[i] * inverse + SUNDOG_ROUNDING;
        int32_t value = (int32_t)(sundog_float_bits(rounded) - 0x4b400000);
        values[i] = finite ? value : 0;
        bytes[i] = (int8_t)values[i];
    }
    int32_t lower = 0, upper = 0;
    for (int i = 0; i < SUNDOG_ACTIVATION_BLOCK / 2; i++) {
        lower += values[i];
        upper += values[i + SUNDOG_ACTIVATION_BLOCK / 2];
    }

    const int64_t row = SUNDOG_TILE_TOKENS;
    uint8_t *to = tile + block * SUNDOG_ACTIVATION_BLOCK * row + 4 * token;
    for (int group = 0; group < SUNDOG_ACTIVATION_BLOCK / 4; group++)
        memcpy(to + 4 * row * group, bytes + 4 * group, 4);
    ((float *)(tile + layout->scales))[block * row + token] = scale;
    ((float *)(tile + layout->sums))[block * row + token] = scale * (float)(lower + upper);
    int32_t *isums = (int32_t *)(tile + layout->isums) + 2 * block * row + token;
    isums[0] = lower;
    isums[row] = upper;
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
