/*
 * attention as attention.h defines it, one row and head at a time: the reference that the versions for
 * an instruction set are compared with.
 */

#include "kernels/host/attention.h"
#include "kernels/contract/math.h"
#include "kernels/host/half.h"
#include "kernels/host/kernel.h"
#include "kernels/host/quantize.h"

#define LANES 16

/* One row and head, and its merged result so far. */
typedef struct {
    const SundogAttention *at;
    int64_t head_dim;
    bool by_pairs;      /* as the pages' type says */
    const float *query; /* scaled */
    float *output;
    float greatest;
    float sum;
} Pair;

/* Number `at` of a part of q8 pages, which is dimension d of a position. */
static float
q8_element(const SundogArgument *pages, int64_t base, int64_t at, int64_t position, int64_t d)
{
    int64_t size = pages->shape[2] * pages->shape[3];
    const uint8_t *part =
        (const uint8_t *)pages->data +
        (uint64_t)(base / size) *
            sundog_page_part_bytes(SUNDOG_DTYPE_Q8, 1, (uint64_t)size / SUNDOG_PAGE_TOKENS);
    const float *scales = (const float *)(part + size);
    return sundog_bf16_to_f32(
        sundog_f32_to_bf16_factor((float)((const int8_t *)part)[at] *
                                  scales[d / SUNDOG_Q8_BLOCK * SUNDOG_PAGE_TOKENS + position]));
}

/* Number `offset` of the part that begins at `base` in elements, which is dimension d of a position. */
static float
element(const SundogArgument *pages, int64_t base, int64_t offset, int64_t position, int64_t d)
{
    int64_t at = base + offset;
    if (pages->dtype == SUNDOG_DTYPE_Q8)
        return q8_element(pages, base, offset, position, d);
    if (pages->dtype == SUNDOG_DTYPE_BF16)
        return sundog_bf16_to_f32(((const uint16_t *)pages->data)[at]);
    return pages->dtype == SUNDOG_DTYPE_F16 ? sundog_f16_to_f32(((const uint16_t *)pages->data)[at])
                                            : ((const float *)pages->data)[at];
}

/* Positions [begin, end) of a page, which begins at `base` in elements. */
typedef struct {
    int64_t base;
    int64_t begin;
    int64_t end;
} Page;

/* Which of n comes at a step: in order, or the second of each pair first. */
static int64_t
turn(bool by_pairs, int64_t step, int64_t n)
{
    return by_pairs && (step ^ 1) < n ? step ^ 1 : step;
}

/* What products take where pages go by pairs. */
static float
round_factor(bool by_pairs, float value)
{
    return by_pairs ? sundog_bf16_to_f32(sundog_f32_to_bf16_factor(value)) : value;
}

/* What a score so far below the greatest weighs. */
static float
weigh(bool by_pairs, float difference)
{
    return by_pairs && difference < SUNDOG_ATTENTION_LOWEST ? 0 : sundog_exp(difference);
}

/* Scores of a page's positions; returns the greatest. */
static float
page_scores(const Pair *pair, const SundogArgument *k_pages, const Page *page, float *scores)
{
    float greatest = -INFINITY;
    for (int64_t i = page->begin; i < page->end; i++) {
        float score = 0;
        for (int64_t step = 0; step < pair->head_dim; step++) {
            int64_t d = turn(pair->by_pairs, step, pair->head_dim);
            score = fmaf(pair->query[d],
                         element(k_pages, page->base, d * SUNDOG_PAGE_TOKENS + i, i, d), score);
        }
        scores[i] = sundog_attention_cap(pair->at, score);
        greatest = scores[i] > greatest ? scores[i] : greatest;
    }
    return greatest;
}

/* Scores to weights, none before the page's first position; returns their sum. */
static float
page_weights(const Pair *pair, float *scores, const Page *page, float greatest)
{
    float sums[LANES] = {0};
    for (int64_t i = 0; i < page->begin; i++)
        scores[i] = 0;
    for (int64_t i = page->begin; i < page->end; i++) {
        scores[i] = weigh(pair->by_pairs, scores[i] - greatest);
        sums[i % LANES] += scores[i];
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            sums[lane] += sums[lane + half];
    return sums[0];
}

static void
attend_page(Pair *pair, const SundogArgument *k_pages, const SundogArgument *v_pages,
            const Page *page, bool first)
{
    float weights[SUNDOG_PAGE_TOKENS];
    float greatest = page_scores(pair, k_pages, page, weights);
    float sum = page_weights(pair, weights, page, greatest);
    float merged = first || greatest > pair->greatest ? greatest : pair->greatest;
    float old = first ? 0 : sundog_exp(pair->greatest - merged);
    float new = first ? 1 : sundog_exp(greatest - merged);
    for (int64_t d = 0; d < pair->head_dim; d++) {
        float partial = 0;
        for (int64_t step = 0; step < page->end; step++) {
            int64_t i = turn(pair->by_pairs, step, page->end);
            partial = fmaf(round_factor(pair->by_pairs, weights[i]),
                           element(v_pages, page->base, i * pair->head_dim + d, i, d), partial);
        }
        pair->output[d] = first ? partial : fmaf(partial, new, pair->output[d] * old);
    }
    pair->sum = first ? sum : fmaf(sum, new, pair->sum * old);
    pair->greatest = merged;
}

/* Row i of a tile. */
static void
attend_pair(const SundogCall *call, const SundogAttention *at, Pair *pair,
            const SundogAttentionTile *tile, int64_t i, int64_t head)
{
    const float *q = at->qkv + (tile->first_row + i) * at->row_floats + head * at->head_dim;
    const int32_t *page_table = at->page_table + tile->sequence * at->sequence_pages;
    int64_t position = tile->position + i, end = sundog_attention_end(at, position, tile->length);
    int64_t group = head / at->heads_per_group;
    float *scaled = at->workspace + sundog_attention_workspace(at->head_dim).queries;
    for (int64_t d = 0; d < at->head_dim; d++)
        scaled[d] = round_factor(pair->by_pairs, q[d] * at->scale);
    pair->query = scaled;
    int64_t begin = sundog_attention_begin(at, position), start = sundog_page_begin(begin);
    for (int64_t first = start; first < end; first += SUNDOG_PAGE_TOKENS) {
        int64_t index = page_table[first / SUNDOG_PAGE_TOKENS];
        Page page = {.base = (index * at->n_kv_heads + group) * at->head_dim * SUNDOG_PAGE_TOKENS,
                     .begin = first == start ? begin - start : 0,
                     .end = sundog_min(SUNDOG_PAGE_TOKENS, end - first)};
        attend_page(pair, &call->arguments[4], &call->arguments[5], &page, first == start);
    }
    sundog_attention_finish(at, head, pair->greatest, pair->sum, pair->output);
}

void
SUNDOG_KERNEL(ATTENTION)(const SundogCall *call)
{
    SundogAttention at = sundog_attention_from_call(call);
    Pair pair = {.at = &at,
                 .head_dim = at.head_dim,
                 .by_pairs = sundog_pages_go_by_pairs(call->arguments[4].dtype)};
    pair.output = at.workspace + sundog_attention_workspace(at.head_dim).output;
    SundogAttentionShare share = sundog_attention_share(call, &at);
    for (int64_t t = 0; t < at.n_tiles; t++) {
        SundogAttentionTile tile = sundog_attention_next_tile(&at, &share, t);
        for (int64_t head = tile.heads.begin; head < tile.heads.end; head++)
            for (int64_t i = 0; i < tile.n_rows; i++) {
                attend_pair(call, &at, &pair, &tile, i, head);
                sundog_attention_store(&at, tile.first_row + i, head, pair.output);
            }
    }
}
