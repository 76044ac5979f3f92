#pragma once

/*
 * Causal attention over the paged cache, for rows of any mix of sequences; grouped queries.
 *
 * Numeric class "page by page": for one row and head, pages in rising order with a running maximum and
 * a running sum (Milakov and Gimelshein 2018); within a page, scores by fma over the head's dimensions
 * in rising order, the weighted values by fma over positions in rising order. So the result does not
 * depend on chunking or on company: equal bits. The exponential is math.h's.
 *
 * tiles [1 + n, 4] i32, made by plan_attention: row 0 is {n, 0, 0, 0}; row i + 1 is {sequence, first
 * row of the step, n_rows, position of the first row}.
 */

#include "kernels/contract/types.h"

#define SUNDOG_ATTENTION_TILE_ROWS 16

/* Rows the tiles buffer needs for so many tokens and sequences, the head row included. */
int64_t sundog_attention_max_tiles(int64_t n_tokens, int64_t n_sequences);
/* Bytes of workspace a unit. */
size_t sundog_attention_workspace_bytes(int64_t head_dim);
