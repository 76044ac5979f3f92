#pragma once

/*
 * quantize, and the form of quantized activations ("a8"): signed bytes in blocks of 32 along k, with a
 * scale each.
 *   amax = max |x|; scale = amax / 127; q = round to even of x * (127 / amax), each step rounded once.
 * A block whose amax is below 2^-100 is all zero, scale too. A block with an infinity or a NaN has
 * scale NaN and bytes of zero: it spoils every product that it takes part in.
 *
 * Rows (tokens) are packed in tiles of 6. One tile of K columns (a multiple of 32) is, in this order,
 * with KB = K / 32:
 *   bytes   [KB][8 groups][6 tokens][4]  int8   the values
 *   scales  [KB][6]                      f32    scale
 *   sums    [KB][6]                      f32    scale * sum of the 32 values, rounded once
 *   isums   [KB][2][6]                   i32    sum of the 16 lower and of the 16 upper values
 *   tokens  [1]                          i32    how many of the 6 are there, from the first on
 * padded to 64 bytes. Tokens past the last are zero. A buffer's shape is [ceil_div(T, 6), K].
 */

#include "kernels/contract/types.h"

#define SUNDOG_TILE_TOKENS 6
#define SUNDOG_ACTIVATION_BLOCK 32
#define SUNDOG_ACTIVATION_LOWEST 0x1p-100f

/* Where the parts of one tile begin, in bytes. */
typedef struct {
    size_t scales;
    size_t sums;
    size_t isums;
    size_t tokens;
    size_t n_bytes;
} SundogTileLayout;

static inline SundogTileLayout
sundog_tile_layout(int64_t n_columns)
{
    size_t blocks = (size_t)n_columns / SUNDOG_ACTIVATION_BLOCK;
    size_t row = SUNDOG_TILE_TOKENS * sizeof(float);
    SundogTileLayout layout;
    layout.scales = blocks * SUNDOG_ACTIVATION_BLOCK * SUNDOG_TILE_TOKENS;
    layout.sums = layout.scales + blocks * row;
    layout.isums = layout.sums + blocks * row;
    layout.tokens = layout.isums + 2 * blocks * row;
    layout.n_bytes = (layout.tokens + sizeof(int32_t) + 63) / 64 * 64;
    return layout;
}

/* Bytes of one tile of 6 tokens with so many columns. */
size_t sundog_activation_tile_bytes(int64_t n_columns);
