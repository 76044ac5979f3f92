#pragma once

/* The scores of a row: what the model itself gave to the token and to its rivals. */

#include "kernels/host/sampler.h"

/* What a score is made of, as long as the token is not known. */
typedef struct {
    float best;
    double log_sum;
} SundogScale;

static SundogScore
sundog_score_token(const SundogScale *scale, float logit, int64_t token)
{
    double distance = (double)logit - (double)scale->best;
    return (SundogScore){(int32_t)token, (float)(distance - scale->log_sum)};
}

/* The first n entries of the row's list of rivals, best first. There are at most 20. */
static void
sundog_score_rivals(const SundogSampler *s, const SundogScale *scale, SundogScore *rivals,
                    int64_t n)
{
    uint64_t cut = sundog_sampler_find_top_k(s, n), found[SUNDOG_MAX_SCORES];
    int64_t n_found = 0;
    for (int64_t i = 0; n > 0 && i < s->n; i++) {
        uint64_t key = sundog_score_key(s->logits[i], i);
        if (key < cut)
            continue;
        int64_t at = n_found++;
        for (; at > 0 && found[at - 1] < key; at--)
            found[at] = found[at - 1];
        found[at] = key;
    }
    for (int64_t i = 0; i < n_found; i++) {
        int64_t token = sundog_key_index(found[i]);
        rivals[i] = sundog_score_token(scale, s->logits[token], token);
    }
}

/* Of the row as it came. False where its logits are not finite. */
static bool
sundog_sampler_begin_scores(SundogSampler *s, SundogScale *scale)
{
    for (int64_t i = 0; i < s->n_scores; i++)
        s->scores[i] = (SundogScore){-1, 0};
    int64_t n = sundog_min(s->options->n_scores, s->n_scores);
    if (n == 0)
        return true;
    if (!sundog_sampler_find_best(s))
        return false;
    scale->best = s->best;
    scale->log_sum = log((double)sundog_sampler_make_weights(s, 1) / (double)SUNDOG_WEIGHT_ONE);
    sundog_score_rivals(s, scale, s->scores + 1, sundog_min(n - 1, s->n));
    memcpy(s->raw, s->logits, (size_t)s->n * sizeof *s->raw);
    return true;
}

static void
sundog_sampler_end_scores(const SundogSampler *s, const SundogScale *scale, int32_t token)
{
    if (s->options->n_scores > 0 && s->n_scores > 0 && token >= 0)
        s->scores[0] = sundog_score_token(scale, s->raw[token], token);
}
