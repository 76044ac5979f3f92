#pragma once

/* What leaves tokens out of the draw, by taking their weights. Each takes the sum of the weights and
 * returns what is left of it. */

#include "kernels/host/sampler.h"

/* Folds a sum by lanes, as sample.h says. */
static double
sundog_sampler_fold(double lanes[SUNDOG_SAMPLE_LANES])
{
    for (int half = SUNDOG_SAMPLE_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

/* Leaves out the tokens whose logits are below a bound. */
static int64_t
sundog_sampler_keep_logits(const SundogSampler *s, double bound)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        s->weights[i] = (double)s->logits[i] >= bound ? s->weights[i] : 0;
        sum += s->weights[i];
    }
    return sum;
}

static int64_t
sundog_sampler_top_n_sigma(const SundogSampler *s, int64_t sum)
{
    double totals[SUNDOG_SAMPLE_LANES] = {0}, squares[SUNDOG_SAMPLE_LANES] = {0};
    int64_t n_finite = 0;
    if (!(s->options->top_n_sigma > 0))
        return sum;
    for (int64_t i = 0; i < s->n; i++) {
        bool is_finite = s->logits[i] != -INFINITY;
        totals[i % SUNDOG_SAMPLE_LANES] += is_finite ? (double)s->logits[i] : 0;
        n_finite += is_finite;
    }
    double mean = sundog_sampler_fold(totals) / (double)n_finite;
    for (int64_t i = 0; i < s->n; i++) {
        double distance = s->logits[i] != -INFINITY ? (double)s->logits[i] - mean : 0;
        squares[i % SUNDOG_SAMPLE_LANES] += distance * distance;
    }
    double deviation = sqrt(sundog_sampler_fold(squares) / (double)n_finite);
    return sundog_sampler_keep_logits(s, (double)s->best -
                                             (double)s->options->top_n_sigma * deviation);
}

/* Leaves out all tokens past the cut or below the least weight. */
static int64_t
sundog_sampler_cut(const SundogSampler *s, uint64_t cut, double least)
{
    int32_t cut_order = sundog_key_order(cut), cut_token = (int32_t)sundog_key_index(cut);
    int64_t least_weight = (int64_t)ceil(least), sum = 0;
    for (int32_t i = 0; i < (int32_t)s->n; i++) {
        int32_t order = sundog_score_order(s->logits[i]);
        bool kept = order > cut_order || (order == cut_order && i <= cut_token);
        int64_t weight = kept && s->weights[i] >= least_weight ? s->weights[i] : 0;
        s->weights[i] = weight;
        sum += weight;
    }
    return sum;
}

static int64_t
sundog_sampler_top_k(const SundogSampler *s, int64_t sum)
{
    uint64_t cut = sundog_sampler_find_top_k(s, s->options->top_k);
    return cut == SUNDOG_NOTHING_CUT ? sum : sundog_sampler_cut(s, cut, 0);
}

static float
sundog_sampler_scale(const SundogSampler *s, int64_t token)
{
    return (s->logits[token] - s->best) / s->options->temperature;
}

/* Orders tokens by how near their information is to the mean, the nearest greatest. */
static uint64_t
sundog_sampler_typical_key(const SundogSampler *s, int64_t token, double mean)
{
    float distance = (float)fabs((double)sundog_sampler_scale(s, token) - mean);
    return sundog_score_key(-distance, token);
}

static int64_t
sundog_sampler_typical(const SundogSampler *s, int64_t sum)
{
    double reach = (double)s->options->typical_p * (double)sum;
    double products[SUNDOG_SAMPLE_LANES] = {0};
    int64_t n_keys = 0, left = 0;
    if (!(reach > 0 && reach < (double)sum))
        return sum;
    for (int64_t i = 0; i < s->n; i++)
        if (s->weights[i] > 0)
            products[i % SUNDOG_SAMPLE_LANES] +=
                (double)s->weights[i] * (double)sundog_sampler_scale(s, i);
    double mean = sundog_sampler_fold(products) / (double)sum;
    for (int64_t i = 0; i < s->n; i++)
        if (s->weights[i] > 0)
            s->keys[n_keys++] = sundog_sampler_typical_key(s, i, mean);
    int64_t wanted = reach > 1 ? (int64_t)ceil(reach) : 1;
    uint64_t cut = sundog_select_cut(s->keys, n_keys, s->weights, wanted);
    for (int64_t i = 0; i < s->n; i++) {
        if (s->weights[i] > 0 && sundog_sampler_typical_key(s, i, mean) < cut)
            s->weights[i] = 0;
        left += s->weights[i];
    }
    return left;
}

/* Keys of the tokens whose weights are above a bound. Most blocks have none, and that is seen by a loop
 * that a compiler makes vectors of. */
static int64_t
sundog_sampler_collect_above(const SundogSampler *s, int64_t bound)
{
    int64_t n_keys = 0;
    for (int64_t first = 0; first < s->n; first += SUNDOG_SAMPLER_BLOCK) {
        int64_t end = sundog_min(first + SUNDOG_SAMPLER_BLOCK, s->n), n_above = 0;
        for (int64_t i = first; i < end; i++)
            n_above += s->weights[i] > bound;
        for (int64_t i = first; n_above > 0 && i < end; i++)
            if (s->weights[i] > bound)
                s->keys[n_keys++] = sundog_score_key(s->logits[i], i);
    }
    return n_keys;
}

/* Tokens whose weights all together cannot make up what top-p leaves out need not be looked at. */
static uint64_t
sundog_sampler_find_top_p(const SundogSampler *s, int64_t sum)
{
    double reach = (double)s->options->top_p * (double)sum;
    if (!(reach < (double)sum))
        return SUNDOG_NOTHING_CUT;
    int64_t wanted = reach > 1 ? (int64_t)ceil(reach) : 1;
    int64_t n_keys = sundog_sampler_collect_above(s, (sum - wanted) / s->n);
    return sundog_select_cut(s->keys, n_keys, s->weights, wanted);
}

/* Only typical takes the best token away, whose weight is one. */
static int64_t
sundog_sampler_find_greatest(const SundogSampler *s)
{
    int64_t greatest = 0;
    for (int64_t i = 0; i < s->n; i++)
        greatest = s->weights[i] > greatest ? s->weights[i] : greatest;
    return greatest;
}

static int64_t
sundog_sampler_top_p_and_min_p(const SundogSampler *s, int64_t sum)
{
    uint64_t cut = sundog_sampler_find_top_p(s, sum);
    double least = 0;
    if (s->options->min_p > 0)
        least = (double)s->options->min_p * (double)sundog_sampler_find_greatest(s);
    return cut == SUNDOG_NOTHING_CUT && !(least > 0) ? sum : sundog_sampler_cut(s, cut, least);
}

static int64_t
sundog_sampler_xtc(const SundogSampler *s, int64_t sum)
{
    const SundogSampling *o = s->options;
    double least = (double)o->xtc_threshold * (double)sum;
    uint64_t worst = UINT64_MAX;
    if (!(o->xtc_probability > 0 && o->xtc_threshold <= 0.5f) ||
        sundog_sample_uniform(o->seed, o->position + SUNDOG_XTC_COUNTER) >=
            (double)o->xtc_probability)
        return sum;
    for (int64_t i = 0; i < s->n; i++) {
        uint64_t key = sundog_score_key(s->logits[i], i);
        bool counts = s->weights[i] > 0 && (double)s->weights[i] >= least;
        worst = counts && key < worst ? key : worst;
    }
    for (int64_t i = 0; i < s->n; i++) {
        uint64_t key = sundog_score_key(s->logits[i], i);
        if ((double)s->weights[i] >= least && key > worst) {
            sum -= s->weights[i];
            s->weights[i] = 0;
        }
    }
    return sum;
}

static int64_t
sundog_sampler_filter(const SundogSampler *s, int64_t sum)
{
    sum = sundog_sampler_top_n_sigma(s, sum);
    sum = sundog_sampler_top_k(s, sum);
    sum = sundog_sampler_typical(s, sum);
    sum = sundog_sampler_top_p_and_min_p(s, sum);
    return sundog_sampler_xtc(s, sum);
}
