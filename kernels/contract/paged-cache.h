#pragma once

/*
 * The pages of the paged cache scheme. A page holds 64 tokens of one layer's keys and values; element
 * type f16, bf16, f32 or q8.
 *   k_pages [n_pages, G, C, 64]   keys transposed: the 64 positions of one dimension are contiguous
 *   v_pages [n_pages, G, 64, C]
 * Of q8, each [C, 64] or [64, C] is signed bytes, with scales in f32 behind them, [ceil_div(C, 32), 64]: one for 32
 * dimensions of a position, or what is left of them, since few dimensions of keys are far greater than the rest. An
 * element is its byte times its scale, rounded once in f32, then as a bf16 factor of math.h. Of numbers with the
 * greatest magnitude m, the scale is m / 127, and each byte its number times 127 / m, quotient and product rounded by
 * themselves, rounded to even. Where m is below 2^-33 the scale is 0; where a number is not finite the scale is
 * NaN; and then the bytes are 0.
 * Position p of a sequence lies in page page_table[sequence][p / 64], slot p % 64. Page 0 is the null
 * page: never leased, where padding points.
 *
 * Layers with a window may have pages and a table of their own, of the same form: its entries are null
 * pages before the first page of the window of a sequence's first row. Nothing reads those.
 */

#include "kernels/contract/types.h"

#include <stdint.h>

/* Where the state of sequences lies: in pages, in pages of layers with a window, or in slots, one a sequence. */
typedef enum { SUNDOG_STATE_PAGES, SUNDOG_STATE_WINDOWS, SUNDOG_STATE_SLOTS } SundogStateKind;
#define SUNDOG_N_STATE_KINDS 3

#define SUNDOG_PAGE_TOKENS 64
#define SUNDOG_NULL_PAGE 0
#define SUNDOG_Q8_BLOCK 32 /* dimensions that share a scale */

/* Bytes of one group's keys, or values, in a page of elements that have a size of their own, and of q8. */
static inline uint64_t
sundog_page_part_bytes(SundogDtype dtype, uint64_t element_bytes, uint64_t head_dim)
{
    uint64_t n_bytes = SUNDOG_PAGE_TOKENS * head_dim * element_bytes;
    uint64_t n_scales = (head_dim + SUNDOG_Q8_BLOCK - 1) / SUNDOG_Q8_BLOCK * SUNDOG_PAGE_TOKENS;
    return dtype == SUNDOG_DTYPE_Q8 ? n_bytes + n_scales * sizeof(float) : n_bytes;
}

/* The most pages of windows that a sequence holds between steps: those that its next token sees, which begin and
 * end anywhere in a page, and one more for guesses that may be taken back. */
static inline uint32_t
sundog_window_held_pages(uint32_t window_tokens, uint32_t page_tokens)
{
    return (window_tokens + page_tokens - 2) / page_tokens + 3;
}
