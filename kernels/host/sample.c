/* sample: sample.h. */

#include "kernels/host/sample-filters.h"
#include "kernels/host/sample-scores.h"

/* Each different token of the history once: then its count is -1. */
static void
apply_penalties(const SundogSampler *s, int64_t window)
{
    const SundogSampling *o = s->options;
    int64_t *counts = s->weights, n = sundog_min(o->n_history, window);
    int64_t first_answered = n - sundog_min(o->n_answered, n);
    for (int64_t i = 0; i < n; i++)
        if (s->history[i] >= 0 && s->history[i] < s->n)
            counts[s->history[i]] = 0;
    for (int64_t i = first_answered; i < n; i++)
        if (s->history[i] >= 0 && s->history[i] < s->n)
            counts[s->history[i]]++;
    for (int64_t i = 0; i < n; i++) {
        int32_t token = s->history[i];
        if (token < 0 || token >= s->n || counts[token] < 0)
            continue;
        float logit = s->logits[token];
        logit = logit > 0 ? logit / o->repetition_penalty : logit * o->repetition_penalty;
        if (counts[token] > 0)
            logit -= fmaf((float)counts[token], o->frequency_penalty, o->presence_penalty);
        s->logits[token] = logit;
        counts[token] = -1;
    }
}

static bool
has_penalties(const SundogSampling *o)
{
    return o->n_history > 0 && (o->repetition_penalty != 1.0f || o->presence_penalty != 0.0f ||
                                o->frequency_penalty != 0.0f);
}

static void
apply_biases(const SundogSampler *s)
{
    int64_t n = sundog_min(s->options->n_bias, s->n_biases);
    for (int64_t i = 0; i < n; i++)
        if (s->biases[i].token >= 0 && s->biases[i].token < s->n)
            s->logits[s->biases[i].token] += s->biases[i].amount;
}

static void
apply_mask(const SundogSampler *s)
{
    for (int64_t first = 0; first < s->n; first += 32) {
        uint32_t bits = first / 32 < s->n_mask ? (uint32_t)s->mask[first / 32] : 0;
        int64_t end = bits == UINT32_MAX ? first : sundog_min(first + 32, s->n);
        for (int64_t i = first; i < end; i++)
            s->logits[i] = bits >> (i - first) & 1 ? s->logits[i] : -INFINITY;
    }
}

static int32_t
first_equal(const SundogSampler *s, float value)
{
    int64_t i = 0;
    while (s->logits[i] != value)
        i++;
    return (int32_t)i;
}

static int32_t
draw(const SundogSampler *s, int64_t sum)
{
    const SundogSampling *o = s->options;
    int64_t left = (int64_t)(sundog_sample_uniform(o->seed, o->position) * (double)sum);
    left = sundog_min(left, sum - 1);
    int64_t first = 0;
    for (; first < s->n; first += SUNDOG_SAMPLER_BLOCK) {
        int64_t end = sundog_min(first + SUNDOG_SAMPLER_BLOCK, s->n), block = 0;
        for (int64_t i = first; i < end; i++)
            block += s->weights[i];
        if (left < block)
            break;
        left -= block;
    }
    int64_t i = first;
    while (left >= s->weights[i])
        left -= s->weights[i++];
    return (int32_t)i;
}

/* The token of a row whose logits are what they came as. */
static int32_t
draw_row(SundogSampler *s, int64_t window)
{
    apply_biases(s);
    if (has_penalties(s->options))
        apply_penalties(s, window);
    if (s->options->masked)
        apply_mask(s);
    if (!sundog_sampler_find_best(s))
        return -1;
    float temperature = s->options->temperature;
    if (!(temperature > 0))
        return first_equal(s, s->best);
    return draw(s, sundog_sampler_filter(s, sundog_sampler_make_weights(s, temperature)));
}

static int32_t
sample_row(SundogSampler *s, int64_t window)
{
    SundogScale scale = {0};
    bool is_given = s->options->given > 0 && s->options->given <= s->n;
    if (!sundog_sampler_begin_scores(s, &scale))
        return -1;
    int32_t token = is_given ? (int32_t)(s->options->given - 1) : draw_row(s, window);
    sundog_sampler_end_scores(s, &scale, token);
    return token;
}

void
SUNDOG_KERNEL(SAMPLE)(const SundogCall *call)
{
    const SundogArgument *logits = &call->arguments[0], *history = &call->arguments[2];
    const SundogSampling *options = call->arguments[1].data;
    const SundogArgument *mask = &call->arguments[3], *bias = &call->arguments[4];
    const SundogArgument *scores = &call->arguments[7];
    int32_t *token = call->arguments[5].data;
    int64_t n = logits->shape[1];
    uint8_t *workspace = (uint8_t *)call->arguments[6].data +
                         (size_t)call->thread * sundog_sample_workspace_bytes(n);
    int64_t padded = sundog_ceil_div(n, SUNDOG_SAMPLER_BLOCK) * SUNDOG_SAMPLER_BLOCK;
    SundogSampler sampler = {.n = n,
                             .n_mask = mask->shape[1],
                             .n_biases = bias->shape[1] / SUNDOG_BIAS_WORDS,
                             .n_scores = scores->data ? scores->shape[1] / SUNDOG_SCORE_WORDS : 0,
                             .weights = (int64_t *)workspace};
    sampler.keys = (uint64_t *)(sampler.weights + padded);
    sampler.raw = (float *)(sampler.keys + padded);
    SundogRange range = sundog_split(call, logits->shape[0]);
    for (int64_t r = range.begin; r < range.end; r++) {
        sampler.logits = (float *)logits->data + r * n;
        sampler.options = &options[r];
        sampler.history = (const int32_t *)history->data + r * history->shape[1];
        sampler.mask = (const int32_t *)mask->data + r * mask->shape[1];
        sampler.biases =
            (const SundogBias *)(const void *)((const int32_t *)bias->data + r * bias->shape[1]);
        if (sampler.n_scores > 0)
            sampler.scores = (SundogScore *)scores->data + r * sampler.n_scores;
        token[r] = sample_row(&sampler, history->shape[1]);
    }
}
