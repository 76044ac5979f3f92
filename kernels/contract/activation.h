#pragma once

/*
 * Quantized activations ("a8"): signed bytes in blocks of 32 along k, with a scale each.
 *   amax = max |x|; scale = amax / 127; q = round to even of x * (127 / amax); 0 where amax is 0.
 * Rows (tokens) are packed in tiles of 6. One tile of K columns (a multiple of 32) is, in this order,
 * with KB = K / 32:
 *   bytes   [KB][8 groups][6 tokens][4]  int8   the values
 *   scales  [KB][6]                      f32    scale
 *   sums    [KB][6]                      f32    scale * sum of the 32 values
 *   isums   [KB][2][6]                   i32    sum of the 16 lower and of the 16 upper values
 * padded to 64 bytes. Tokens past the last are zero. A buffer's shape is [tiles, K]: how many tokens
 * are in it, a consumer takes from its own output.
 */

#include "kernels/contract/types.h"

#define SUNDOG_TILE_TOKENS 6
#define SUNDOG_ACTIVATION_BLOCK 32

/* Bytes of one tile of 6 tokens with so many columns. */
size_t sundog_activation_tile_bytes(int64_t n_columns);
