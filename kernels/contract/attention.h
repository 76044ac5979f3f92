#pragma once

/*
 * plan_attention and attention: causal attention over the paged cache, for rows of any mix of
 * sequences; grouped queries: head h reads the keys and values of group h / (H / G).
 *
 * Numeric class "page by page": each page gives a partial result of its own, and partial results are
 * merged in rising order (Milakov and Gimelshein 2018), so it does not matter which rows, heads or
 * pages are worked on together, or where: equal bits. For one row at position p and one head, with
 * q'[d] = q[d] * scale, rounded once, and page j holding n = min(64, p + 1 - 64 j) positions that count:
 *   s[i]  = fma over d in rising order of q'[d], k[d][i], from 0       i < n
 *   m_j   = max s[i]
 *   e[i]  = exp(s[i] - m_j), math.h's
 *   l_j   = 16 partial sums of e, e[i] to i mod 16 in rising order, then added as in rms-norm.h
 *   o_j[d] = fma over i < n in rising order of e[i], v[i][d], from 0
 * The first page's are M, L, O. Each later page:
 *   M' = max(M, m_j); a = exp(M - M'); b = exp(m_j - M')
 *   L  = fma(l_j, b, L * a); O[d] = fma(o_j[d], b, O[d] * a); M = M'
 * At the end o[d] = O[d] * (1 / L). Positions past n are not read into any result, whatever they hold.
 *
 * Where pages are bf16 or q8, products go by pairs, as processors with such products add them (VDPBF16PS): q' and,
 * in o_j, e are rounded to bf16, magnitudes below 2^-40 to zero (math.h's factors, as the pages hold them),
 * and of dimensions 2 j and 2 j + 1, or such positions, the second is added first. Where the second is past
 * the last, the first is added alone. e[i] is zero where s[i] - m_j is below SUNDOG_ATTENTION_LOWEST.
 *
 * softcap > 0: s[i] becomes softcap * tanh(s[i] / softcap), math.h's, before anything else is done.
 * window > 0: a row sees its own position and the window - 1 before it. Pages that end before those are
 * not read. In the page where the window begins, positions before it have e[i] = 0 and no part in m_j;
 * o_j is still summed from i = 0, so that rows whose windows begin apart go together.
 * chunk > 0: positions come in chunks of so many from 0 on, and a row sees those of its own; else as with
 * a window.
 * both_ways: a row sees the positions after its own too, to the end of its sequence in the step, or
 * window - 1 of them: n = min(64, end - 64 j). All of them are rows of the step.
 * sinks: each head's number is a score without a value (Xiao et al. 2023), merged after the last page as
 * one more with m = sink, l = 1 and o = 0.
 *
 * o may be f32 [T, H C] or, where C is a multiple of 32, a8 [ceil_div(T, 6), H C]: equal to attention,
 * then quantize.
 *
 * On CUDA o is bf16 [T, H C], pages are bf16 or q8, and the class is another, "chunks of 16": queries, scaled, and
 * weights are rounded to bf16, scores and results are summed in float32 by the tensor cores, chunks of 16
 * positions are merged in rising order, then the parts that several warps and blocks worked on. Heads of other
 * sizes than 64 and 128, q8 pages, and whatever has a window, a chunk, a cap, sinks, a view both ways or queries
 * alone, are merged by pages in place of chunks;
 * where a GPU has warpgroups, prompts with heads of 64, 128 or 256 and at most a window from the last position down.
 *
 * tiles [1 + n, 4] i32, made by plan_attention, which cuts each sequence's rows by 32: row 0 is {n, 0,
 * 0, 0}; row i + 1 is {sequence, first row of the step, n_rows, position of the first row}; rows past
 * n are zero. plan_attention is thread 0's work.
 */

#include "kernels/contract/paged-cache.h"

#define SUNDOG_ATTENTION_TILE_ROWS 32
#define SUNDOG_ATTENTION_LOWEST -27.5f /* e to it is above 2^-40 */

/* Rows the tiles buffer needs for so many tokens and sequences, the head row included. */
int64_t sundog_attention_max_tiles(int64_t n_tokens, int64_t n_sequences);
/* Bytes of workspace a unit. */
size_t sundog_attention_workspace_bytes(int64_t head_dim);
