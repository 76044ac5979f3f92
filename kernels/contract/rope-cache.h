#pragma once

/*
 * rope_cache, and rope, which rotates alone: rotary position embedding (Su et al. 2021) of q and k in place, and k and v written to
 * the sequence's pages (paged-cache.h).
 *
 * For position p and pair i of rope_dims / 2:
 *   angle = (float)p * inverse_frequencies[i], rounded once; sine and cosine by math.h, each times
 *   magnitude, rounded once;
 *   low  = fma(x, c, -(y * s))
 *   high = fma(y, c, x * s)       the product in the second place rounded by itself
 * where (x, y) are elements (i, i + rope_dims / 2) of the head, or (2 i, 2 i + 1) where interleaved is
 * not 0. Elements from rope_dims on are kept; where it is 0, all are. Pages of f16 take math.h's rounding, pages of
 * q8 what paged-cache.h says, pages of bf16 math.h's factors (on CUDA without their zeros); attention reads keys and values from the pages only. Rows of v in qkv are kept as they are.
 *
 * rope_pages is rope_cache into f32 pages that live for one step, in which every sequence begins at
 * position 0; they are numbered 1 to n in any order. Slots that no row of the step has are zeros. On CUDA these
 * pages are bf16, and such slots keep what they had, which nothing reads.
 *
 * Two rows of a step never have one position of one sequence; a row whose page is the null page
 * writes nothing.
 */

#include "kernels/contract/paged-cache.h"
