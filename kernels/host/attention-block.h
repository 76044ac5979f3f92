#pragma once

/*
 * What attention-pages.c asks of an instruction set: products of one page of one group with a block of up
 * to six pairs of a row and a head, in the order of attention.h.
 */

#include "kernels/contract/paged-cache.h"
#include "kernels/host/kernel.h"
#include "kernels/host/simd.h"

#define SUNDOG_BLOCK_PAIRS 6
/* The largest head that the versions for vector registers take; larger ones run plain. */
#define SUNDOG_ATTENTION_MAX_HEAD 512

/* One page of one group. */
typedef struct {
    const void *keys;   /* [C, 64] */
    const void *values; /* [64, C] */
    SundogDtype dtype;
    const uint8_t *next_keys; /* what is likely to be read after these; not where dtype is F32 */
    int64_t value_bytes;      /* of positions that any row may see; the same */
} SundogPage;

/* scores[pair][64] of n pairs with queries [n, C], at least for the first n_positions. */
void SUNDOG_KERNEL(find_scores)(const SundogPage *page, const float *queries, int64_t head_dim,
                                int64_t n_positions, int n, float (*scores)[SUNDOG_PAGE_TOKENS]);
/* How a block's sums join the results of the pages before: result * old + sum * new, rounded once after
 * the first product. */
typedef struct {
    float old[SUNDOG_LANES];
    float new[SUNDOG_LANES];
} SundogMerge;

/* results [n, C] of sums over positions [0, n_positions), an even number where pages go by pairs, with
 * weights as they were before rounding; merge is NULL where nothing comes before. */
void SUNDOG_KERNEL(sum_values)(const SundogPage *page, int64_t head_dim, int64_t n_positions, int n,
                               float (*weights)[SUNDOG_PAGE_TOKENS], const SundogMerge *merge,
                               float *results);
/* Adds positions [begin, end) of one pair to its sums [C]; the same of `begin`. */
void SUNDOG_KERNEL(add_values)(const SundogPage *page, int64_t head_dim, int64_t begin, int64_t end,
                               const float *weights, float *sums);
