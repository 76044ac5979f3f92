#pragma once

/*
 * The pages of the paged cache scheme. A page holds 64 tokens of one layer's keys and values; element
 * type f16, bf16 or f32.
 *   k_pages [n_pages, G, C, 64]   keys transposed: the 64 positions of one dimension are contiguous
 *   v_pages [n_pages, G, 64, C]
 * Position p of a sequence lies in page page_table[sequence][p / 64], slot p % 64. Page 0 is the null
 * page: never leased, where padding points.
 *
 * Layers with a window may have pages and a table of their own, of the same form: its entries are null
 * pages before the first page of the window of a sequence's first row. Nothing reads those.
 */

#include "kernels/contract/types.h"

#include <stdint.h>

#define SUNDOG_PAGE_TOKENS 64
#define SUNDOG_NULL_PAGE 0

/* The most pages of windows that a sequence holds between steps: those that its next token sees, which begin and
 * end anywhere in a page, and one more for guesses that may be taken back. */
static inline uint32_t
sundog_window_held_pages(uint32_t window_tokens, uint32_t page_tokens)
{
    return (window_tokens + page_tokens - 2) / page_tokens + 3;
}
