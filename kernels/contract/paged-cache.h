#pragma once

/*
 * The pages of the paged cache scheme. A page holds 64 tokens of one layer's keys and values; element
 * type f16, bf16 or f32.
 *   k_pages [n_pages, G, C, 64]   keys transposed: the 64 positions of one dimension are contiguous
 *   v_pages [n_pages, G, 64, C]
 * Position p of a sequence lies in page page_table[sequence][p / 64], slot p % 64. Page 0 is the null
 * page: never leased, where padding points.
 */

#include "kernels/contract/types.h"

#define SUNDOG_PAGE_TOKENS 64
#define SUNDOG_NULL_PAGE 0
