#pragma once

/*
 * One row that is being sampled, and the passes over it that scores and filters share. Passes over the
 * vocabulary are plain loops that a compiler makes vectors of; what a filter keeps is described by one
 * key, the last one kept, so nothing is sorted. Steps and orders are sample.h's.
 */

#include "kernels/contract/math.h"
#include "kernels/contract/philox.h"
#include "kernels/contract/sample.h"
#include "kernels/host/kernel.h"
#include "kernels/host/select.h"

#define SUNDOG_SAMPLER_BLOCK 64
#define SUNDOG_NOTHING_CUT 0

typedef struct {
    float *logits;
    int64_t n;
    const SundogSampling *options;
    const int32_t *history;
    const int32_t *mask;
    int64_t n_mask; /* words */
    const SundogBias *biases;
    int64_t n_biases; /* room for */
    SundogScore *scores;
    int64_t n_scores; /* room for */
    float best;       /* logit, once it was found */
    int64_t *weights; /* [n] 0 for what is left out */
    uint64_t *keys;   /* [n] and one a block */
    float *raw;       /* [n] the logits as they came */
} SundogSampler;

/* The best logit, or false where the row holds NaN, plus infinity, or nothing finite. */
static bool
sundog_sampler_find_best(SundogSampler *s)
{
    int32_t greatest = INT32_MIN, least = INT32_MAX;
    for (int64_t i = 0; i < s->n; i++) {
        int32_t order = sundog_score_order(s->logits[i]);
        greatest = order > greatest ? order : greatest;
        least = order < least ? order : least;
    }
    s->best = sundog_float_from_bits((uint32_t)greatest ^ ((uint32_t)(greatest >> 31) >> 1));
    return least >= SUNDOG_ORDER_MINUS_INFINITY && greatest < SUNDOG_ORDER_INFINITY &&
           greatest > SUNDOG_ORDER_MINUS_INFINITY;
}

/* Returns their sum. */
static int64_t
sundog_sampler_make_weights(const SundogSampler *s, float temperature)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        float p = sundog_exp((s->logits[i] - s->best) / temperature);
        s->weights[i] = (int64_t)(p * SUNDOG_WEIGHT_ONE);
        sum += s->weights[i];
    }
    return sum;
}

/* The k-th greatest of the blocks' greatest orders: at least k tokens reach it. */
static int32_t
sundog_sampler_find_bound(const SundogSampler *s, int64_t k)
{
    int64_t n_blocks = 0;
    for (int64_t first = 0; first < s->n; first += SUNDOG_SAMPLER_BLOCK) {
        int64_t end = sundog_min(first + SUNDOG_SAMPLER_BLOCK, s->n);
        int32_t greatest = INT32_MIN;
        for (int64_t i = first; i < end; i++) {
            int32_t order = sundog_score_order(s->logits[i]);
            greatest = order > greatest ? order : greatest;
        }
        s->keys[n_blocks] = sundog_order_key(greatest, n_blocks);
        n_blocks++;
    }
    return sundog_key_order(sundog_select_cut(s->keys, n_blocks, NULL, k));
}

/* The key of the k-th best token. */
static uint64_t
sundog_sampler_find_top_k(const SundogSampler *s, int64_t k)
{
    int64_t n_keys = 0;
    if (k <= 0 || k >= s->n)
        return SUNDOG_NOTHING_CUT;
    int32_t bound = k <= s->n / SUNDOG_SAMPLER_BLOCK ? sundog_sampler_find_bound(s, k) : INT32_MIN;
    for (int64_t i = 0; i < s->n; i++) {
        int32_t order = sundog_score_order(s->logits[i]);
        if (order >= bound)
            s->keys[n_keys++] = sundog_order_key(order, i);
    }
    return sundog_select_cut(s->keys, n_keys, NULL, k);
}
