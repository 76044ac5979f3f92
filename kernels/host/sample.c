/*
 * sample: sample.h. Passes over the vocabulary are plain loops that a compiler makes vectors of; what
 * top-k and top-p keep is described by one key, the last one kept, so nothing is sorted.
 */

#include "kernels/contract/sample.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernel.h"
#include "kernels/host/select.h"

#define BLOCK 64
#define WEIGHT_ONE 0x1p40f
#define ORDER_INFINITY 0x7f800000
#define ORDER_MINUS_INFINITY (-0x7f800001)
#define NOTHING_CUT 0

typedef struct {
    float *logits;
    int64_t n;
    const SundogSampling *options;
    const int32_t *history;
    const int32_t *mask;
    int64_t n_mask; /* words */
    const SundogBias *biases;
    int64_t n_biases; /* room for */
    int64_t *weights; /* [n] */
    uint64_t *keys;   /* [n] */
} Sampler;

/* Each different token of the history once: its count is taken, then cleared. */
static void
apply_penalties(const Sampler *s, int64_t window)
{
    const SundogSampling *o = s->options;
    int64_t *counts = s->weights, n = sundog_min(o->n_history, window);
    for (int64_t i = 0; i < n; i++)
        if (s->history[i] >= 0 && s->history[i] < s->n)
            counts[s->history[i]] = 0;
    for (int64_t i = 0; i < n; i++)
        if (s->history[i] >= 0 && s->history[i] < s->n)
            counts[s->history[i]]++;
    for (int64_t i = 0; i < n; i++) {
        int32_t token = s->history[i];
        if (token < 0 || token >= s->n || counts[token] == 0)
            continue;
        float logit = s->logits[token];
        logit = logit > 0 ? logit / o->repetition_penalty : logit * o->repetition_penalty;
        s->logits[token] =
            logit - fmaf((float)counts[token], o->frequency_penalty, o->presence_penalty);
        counts[token] = 0;
    }
}

static bool
has_penalties(const SundogSampling *o)
{
    return o->n_history > 0 && (o->repetition_penalty != 1.0f || o->presence_penalty != 0.0f ||
                                o->frequency_penalty != 0.0f);
}

static void
apply_biases(const Sampler *s)
{
    int64_t n = sundog_min(s->options->n_bias, s->n_biases);
    for (int64_t i = 0; i < n; i++)
        if (s->biases[i].token >= 0 && s->biases[i].token < s->n)
            s->logits[s->biases[i].token] += s->biases[i].amount;
}

static void
apply_mask(const Sampler *s)
{
    for (int64_t first = 0; first < s->n; first += 32) {
        uint32_t bits = first / 32 < s->n_mask ? (uint32_t)s->mask[first / 32] : 0;
        int64_t end = bits == UINT32_MAX ? first : sundog_min(first + 32, s->n);
        for (int64_t i = first; i < end; i++)
            s->logits[i] = bits >> (i - first) & 1 ? s->logits[i] : -INFINITY;
    }
}

/* The best logit, or false where the row holds NaN, plus infinity, or nothing finite. */
static bool
find_best(const Sampler *s, float *best)
{
    int32_t greatest = INT32_MIN, least = INT32_MAX;
    for (int64_t i = 0; i < s->n; i++) {
        int32_t order = sundog_logit_order(s->logits[i]);
        greatest = order > greatest ? order : greatest;
        least = order < least ? order : least;
    }
    if (least < ORDER_MINUS_INFINITY || greatest >= ORDER_INFINITY ||
        greatest <= ORDER_MINUS_INFINITY)
        return false;
    uint32_t bits = (uint32_t)greatest ^ ((uint32_t)(greatest >> 31) >> 1);
    *best = sundog_float_from_bits(bits);
    return true;
}

static int32_t
first_equal(const Sampler *s, float value)
{
    int64_t i = 0;
    while (s->logits[i] != value)
        i++;
    return (int32_t)i;
}

static int64_t
make_weights(const Sampler *s, float best)
{
    float temperature = s->options->temperature;
    int64_t sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        float p = sundog_exp((s->logits[i] - best) / temperature);
        s->weights[i] = (int64_t)(p * WEIGHT_ONE);
        sum += s->weights[i];
    }
    return sum;
}

/* The k-th greatest of the blocks' greatest orders: at least k tokens reach it. */
static int32_t
find_bound_by_blocks(const Sampler *s, int64_t k)
{
    int64_t n_blocks = 0;
    for (int64_t first = 0; first < s->n; first += BLOCK) {
        int64_t end = sundog_min(first + BLOCK, s->n);
        int32_t greatest = INT32_MIN;
        for (int64_t i = first; i < end; i++) {
            int32_t order = sundog_logit_order(s->logits[i]);
            greatest = order > greatest ? order : greatest;
        }
        s->keys[n_blocks] = sundog_sample_key(greatest, n_blocks);
        n_blocks++;
    }
    return sundog_key_order(sundog_select_cut(s->keys, n_blocks, NULL, k));
}

static uint64_t
find_top_k_cut(const Sampler *s)
{
    int64_t k = s->options->top_k, n_keys = 0;
    if (k <= 0 || k >= s->n)
        return NOTHING_CUT;
    int32_t bound = k <= s->n / BLOCK ? find_bound_by_blocks(s, k) : INT32_MIN;
    for (int64_t i = 0; i < s->n; i++) {
        int32_t order = sundog_logit_order(s->logits[i]);
        if (order >= bound)
            s->keys[n_keys++] = sundog_sample_key(order, i);
    }
    return sundog_select_cut(s->keys, n_keys, NULL, k);
}

/* Takes the weight from all tokens past the cut or below the least weight; returns what is left. */
static int64_t
filter_weights(const Sampler *s, uint64_t cut, double least)
{
    int32_t cut_order = sundog_key_order(cut), cut_token = (int32_t)sundog_key_token(cut);
    int64_t least_weight = (int64_t)ceil(least), sum = 0;
    for (int32_t i = 0; i < (int32_t)s->n; i++) {
        int32_t order = sundog_logit_order(s->logits[i]);
        bool kept = order > cut_order || (order == cut_order && i <= cut_token);
        int64_t weight = kept && s->weights[i] >= least_weight ? s->weights[i] : 0;
        s->weights[i] = weight;
        sum += weight;
    }
    return sum;
}

/* Keys of the tokens whose weights are above a bound. Most blocks have none, and that is seen by a loop
 * that a compiler makes vectors of. */
static int64_t
collect_above(const Sampler *s, int64_t bound)
{
    int64_t n_keys = 0;
    for (int64_t first = 0; first < s->n; first += BLOCK) {
        int64_t end = sundog_min(first + BLOCK, s->n), n_above = 0;
        for (int64_t i = first; i < end; i++)
            n_above += s->weights[i] > bound;
        for (int64_t i = first; n_above > 0 && i < end; i++)
            if (s->weights[i] > bound)
                s->keys[n_keys++] = sundog_sample_key(sundog_logit_order(s->logits[i]), i);
    }
    return n_keys;
}

/* Tokens whose weights all together cannot make up what top-p leaves out need not be looked at. */
static uint64_t
find_top_p_cut(const Sampler *s, int64_t sum)
{
    double reach = (double)s->options->top_p * (double)sum;
    if (!(reach < (double)sum))
        return NOTHING_CUT;
    int64_t wanted = reach > 1 ? (int64_t)ceil(reach) : 1;
    int64_t n_keys = collect_above(s, (sum - wanted) / s->n);
    return sundog_select_cut(s->keys, n_keys, s->weights, wanted);
}

static int32_t
draw(const Sampler *s, int64_t sum)
{
    const SundogSampling *o = s->options;
    int64_t left = (int64_t)(sundog_sample_uniform(o->seed, o->position) * (double)sum);
    left = sundog_min(left, sum - 1);
    int64_t first = 0;
    for (; first < s->n; first += BLOCK) {
        int64_t end = sundog_min(first + BLOCK, s->n), block = 0;
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

static int32_t
sample_row(const Sampler *s, int64_t window)
{
    float best;
    apply_biases(s);
    if (has_penalties(s->options))
        apply_penalties(s, window);
    if (s->options->masked)
        apply_mask(s);
    if (!find_best(s, &best))
        return -1;
    if (!(s->options->temperature > 0))
        return first_equal(s, best);
    int64_t sum = make_weights(s, best);
    uint64_t cut = find_top_k_cut(s);
    if (cut != NOTHING_CUT)
        sum = filter_weights(s, cut, 0);
    uint64_t top_p_cut = find_top_p_cut(s, sum);
    double least = (double)s->options->min_p * WEIGHT_ONE;
    if (top_p_cut != NOTHING_CUT || least > 0)
        sum = filter_weights(s, top_p_cut, least);
    return draw(s, sum);
}

void
SUNDOG_KERNEL(SAMPLE)(const SundogCall *call)
{
    const SundogArgument *logits = &call->arguments[0], *history = &call->arguments[2];
    const SundogSampling *options = call->arguments[1].data;
    const SundogArgument *mask = &call->arguments[3], *bias = &call->arguments[4];
    int32_t *token = call->arguments[5].data;
    int64_t n = logits->shape[1];
    uint8_t *workspace = (uint8_t *)call->arguments[6].data +
                         (size_t)call->thread * sundog_sample_workspace_bytes(n);
    Sampler sampler = {.n = n,
                       .n_mask = mask->shape[1],
                       .n_biases = bias->shape[1] / SUNDOG_BIAS_WORDS,
                       .weights = (int64_t *)workspace};
    sampler.keys = (uint64_t *)(sampler.weights + n);
    SundogRange range = sundog_split(call, logits->shape[0]);
    for (int64_t r = range.begin; r < range.end; r++) {
        sampler.logits = (float *)logits->data + r * n;
        sampler.options = &options[r];
        sampler.history = (const int32_t *)history->data + r * history->shape[1];
        sampler.mask = (const int32_t *)mask->data + r * mask->shape[1];
        sampler.biases =
            (const SundogBias *)(const void *)((const int32_t *)bias->data + r * bias->shape[1]);
        token[r] = sample_row(&sampler, history->shape[1]);
    }
}
