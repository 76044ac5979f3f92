/*
 * attention for the sets with vector registers. A page's keys and values meet a block of pairs of a row and
 * a head at a time, up to six.
 *
 * Rows of a tile are in order, so pairs that a page is past come first; the rest share positions up to
 * what the first of a block may see, and each adds the few that only it may. Pairs whose window begins
 * in a page come after those that have come from an earlier one, and pairs that see it no more are last.
 */

#include "kernels/host/attention-block.h"
#include "kernels/host/attention.h"
#include "kernels/host/kernel.h"
#include "kernels/host/simd.h"

#define PAGE SUNDOG_PAGE_TOKENS
#define PAIRS SUNDOG_ATTENTION_PAIRS
#define BLOCK SUNDOG_BLOCK_PAIRS
#define LANES SUNDOG_LANES

/* Pairs of one tile and group that go through the pages together. */
typedef struct {
    const SundogAttention *at;
    const int32_t *page_table;
    int64_t group;
    int64_t first_row;
    int64_t position; /* of the first row */
    int64_t length;   /* of the sequence */
    int64_t first_head;
    int64_t n_heads;
    int64_t first_pair; /* of the tile's, counted row by row */
    int64_t n_pairs;
    float *queries; /* [n_pairs, C] */
    float *output;  /* [n_pairs, C] */
    int64_t positions[PAIRS];
    float greatest[PAIRS];
    float sums[PAIRS];
} Chunk;

static int64_t
pair_row(const Chunk *chunk, int64_t pair)
{
    return (chunk->first_pair + pair) / chunk->n_heads;
}

static int64_t
pair_head(const Chunk *chunk, int64_t pair)
{
    return chunk->first_head + (chunk->first_pair + pair) % chunk->n_heads;
}

/* The position past the last that a pair may see. */
static int64_t
find_end(const Chunk *chunk, int64_t pair)
{
    return sundog_attention_end(chunk->at, chunk->positions[pair], chunk->length);
}

/* How many positions of the page from `first` on a pair may see; at most 0 where none. */
static int64_t
count_positions(const Chunk *chunk, int64_t pair, int64_t first)
{
    return sundog_min(PAGE, find_end(chunk, pair) - first);
}

/* Of the page from `first` on, how many positions a pair's window leaves out; at least 64 where all. */
static int64_t
count_hidden(const Chunk *chunk, int64_t pair, int64_t first)
{
    return sundog_attention_begin(chunk->at, chunk->positions[pair]) - first;
}

/* PAGE words of set bits, then as many of none: from PAGE - n on, a mask of n. */
static const uint32_t mask_words[2 * PAGE] = {[0 ... PAGE - 1] = 0xffffffff};

/* Scores in n_vectors registers to weights; zero where the mask is, and NULL says nowhere. */
SUNDOG_INLINE void
weigh_vectors(float *scores, const float *mask, const int n_vectors, const bool by_pairs,
              float *greatest, float *sum)
{
    const SundogVector nothing = sundog_vector_set(0), least = sundog_vector_set(-INFINITY);
    SundogVector s[PAGE / LANES], best = least, total = nothing;
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++) {
        s[v] = sundog_vector_load(scores + LANES * v);
        if (mask != NULL)
            s[v] = sundog_vector_select(sundog_vector_load(mask + LANES * v), s[v], least);
        best = sundog_vector_max(s[v], best);
    }
    *greatest = sundog_vector_greatest(best);
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++) {
        s[v] = sundog_vector_sub(s[v], sundog_vector_set(*greatest));
        s[v] = by_pairs ? sundog_vector_exp_above(s[v], SUNDOG_ATTENTION_LOWEST)
                        : sundog_vector_exp(s[v]);
        if (mask != NULL)
            s[v] = sundog_vector_select(sundog_vector_load(mask + LANES * v), s[v], nothing);
        total = sundog_vector_add(total, s[v]);
        sundog_vector_store(scores + LANES * v, s[v]);
    }
    *sum = sundog_vector_sum(total);
}

/* Positions [hidden, n) of the page count. */
SUNDOG_INLINE void
weigh(float *scores, int64_t hidden, int64_t n, const bool by_pairs, float *greatest, float *sum)
{
    const float *mask = (const float *)mask_words + PAGE - n;
    uint32_t both[PAGE];
    if (hidden > 0) {
        for (int64_t i = 0; i < PAGE; i++)
            both[i] = i >= hidden && i < n ? 0xffffffff : 0;
        mask = (const float *)both;
    }
    if (hidden <= 0 && n <= PAGE / 2)
        weigh_vectors(scores, mask, PAGE / LANES / 2, by_pairs, greatest, sum);
    else
        weigh_vectors(scores, mask, PAGE / LANES, by_pairs, greatest, sum);
}

/* The weights of a block of pairs that see a page. */
SUNDOG_INLINE void
weigh_block(const Chunk *chunk, int64_t first, int64_t pair, int64_t n, const bool by_pairs,
            float (*weights)[PAGE], float *greatest, float *sums)
{
    bool whole = count_positions(chunk, pair, first) == PAGE &&
                 count_hidden(chunk, pair + n - 1, first) <= 0;
    for (int64_t i = 0; i < n && whole; i++)
        weigh_vectors(weights[i], NULL, PAGE / LANES, by_pairs, &greatest[i], &sums[i]);
    for (int64_t i = 0; i < n && !whole; i++)
        weigh(weights[i], count_hidden(chunk, pair + i, first),
              count_positions(chunk, pair + i, first), by_pairs, &greatest[i], &sums[i]);
}

static void
cap_scores(const SundogAttention *at, float *scores, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        scores[i] = sundog_attention_cap(at, scores[i]);
}

/* The factors of attention.h's merge for a block of pairs, whose sums are merged. */
static void
merge_block(Chunk *chunk, int64_t pair, int64_t n, const float *greatest, const float *sums,
            SundogMerge *merge)
{
    float old_greatest[LANES] = {0}, merged[LANES];
    memcpy(old_greatest, chunk->greatest + pair, (size_t)n * sizeof(float));
    SundogVector before = sundog_vector_load(old_greatest), now = sundog_vector_load(greatest);
    SundogVector both = sundog_vector_max(now, before);
    sundog_vector_store(merged, both);
    sundog_vector_store(merge->old, sundog_vector_exp(sundog_vector_sub(before, both)));
    sundog_vector_store(merge->new, sundog_vector_exp(sundog_vector_sub(now, both)));
    for (int64_t i = 0; i < n; i++)
        chunk->sums[pair + i] = fmaf(sums[i], merge->new[i], chunk->sums[pair + i] * merge->old[i]);
    memcpy(chunk->greatest + pair, merged, (size_t)n * sizeof(float));
}

static void
merge_output(float *output, const float *partial, int64_t head_dim, float old, float new)
{
    for (int64_t d = 0; d < head_dim; d += LANES) {
        SundogVector before =
            sundog_vector_mul(sundog_vector_load(output + d), sundog_vector_set(old));
        sundog_vector_store(output + d, sundog_vector_fma(sundog_vector_load(partial + d),
                                                          sundog_vector_set(new), before));
    }
}

/* Sums of a block that sees no more than `shared` positions together; merge as in attention-block.h. */
static void
sum_ragged_block(const Chunk *chunk, const SundogPage *page, int64_t first, int64_t pair, int64_t n,
                 int64_t shared, float (*weights)[PAGE], const SundogMerge *merge)
{
    int64_t c = chunk->at->head_dim;
    float space[BLOCK * SUNDOG_ATTENTION_MAX_HEAD];
    float *output = chunk->output + pair * c, *partial = merge != NULL ? space : output;
    SUNDOG_KERNEL(sum_values)(page, c, shared, (int)n, weights, NULL, partial);
    for (int64_t i = 0; i < n; i++) {
        int64_t own = count_positions(chunk, pair + i, first);
        if (own > shared)
            SUNDOG_KERNEL(add_values)(page, c, shared, own, weights[i], partial + i * c);
        if (merge != NULL)
            merge_output(output + i * c, partial + i * c, c, merge->old[i], merge->new[i]);
    }
}

/* A block of pairs and one page; where it is the first that they see, its sums are the results so far. */
static void
attend_block(Chunk *chunk, const SundogPage *page, int64_t first, int64_t pair, int64_t n,
             bool is_first)
{
    int64_t c = chunk->at->head_dim;
    float weights[BLOCK][PAGE], greatest[LANES] = {0}, sums[BLOCK];
    bool by_pairs = sundog_pages_go_by_pairs(page->dtype);
    int64_t most = count_positions(chunk, pair + n - 1, first);
    SUNDOG_KERNEL(find_scores)(page, chunk->queries + pair * c, c, most, (int)n, weights);
    for (int64_t i = 0; i < n && chunk->at->softcap > 0; i++)
        cap_scores(chunk->at, weights[i], most);
    if (by_pairs)
        weigh_block(chunk, first, pair, n, true, weights, greatest, sums);
    else
        weigh_block(chunk, first, pair, n, false, weights, greatest, sums);
    SundogMerge factors, *merge = is_first ? NULL : &factors;
    if (is_first) {
        memcpy(chunk->greatest + pair, greatest, (size_t)n * sizeof(float));
        memcpy(chunk->sums + pair, sums, (size_t)n * sizeof(float));
    } else {
        merge_block(chunk, pair, n, greatest, sums, merge);
    }
    int64_t shared = count_positions(chunk, pair, first);
    shared -= by_pairs ? shared % 2 : 0;
    if (shared == most)
        SUNDOG_KERNEL(sum_values)
    (page, c, shared, (int)n, weights, merge, chunk->output + pair * c);
    else sum_ragged_block(chunk, page, first, pair, n, shared, weights, merge);
}

/* Which part a page's of one group is. */
static int64_t
find_part(const Chunk *chunk, int64_t first, int64_t group)
{
    return chunk->page_table[first / PAGE] * chunk->at->n_kv_heads + group;
}

/* Where that begins, in elements. */
static int64_t
find_base(const Chunk *chunk, int64_t first, int64_t group)
{
    return find_part(chunk, first, group) * chunk->at->head_dim * PAGE;
}

/* A page of q8 in bf16. */
typedef struct {
    uint16_t keys[SUNDOG_ATTENTION_MAX_HEAD * PAGE];
    uint16_t values[SUNDOG_ATTENTION_MAX_HEAD * PAGE];
} WidePage;

/* Dimensions [begin, end) of [C, 64] bytes, of one block with scales [64]. */
static void
widen_key_block(const uint8_t *part, const float *scales, int64_t begin, int64_t end,
                uint16_t *keys)
{
    SundogVector scale[PAGE / LANES];
    for (int v = 0; v < PAGE / LANES; v++)
        scale[v] = sundog_vector_load(scales + LANES * v);
    for (int64_t d = begin; d < end; d++)
        for (int v = 0; v < PAGE / LANES; v++) {
            int64_t at = d * PAGE + LANES * v;
            SundogVector byte = sundog_vector_load_signed_bytes(part + at);
            sundog_vector_store_factors(keys + at, sundog_vector_mul(byte, scale[v]));
        }
}

/* [C, 64] bytes and their scales; what is read next lies at `next`. */
static void
widen_keys(const uint8_t *part, const uint8_t *next, int64_t head_dim, uint16_t *keys)
{
    const float *scales = (const float *)(part + head_dim * PAGE);
    for (int64_t d = 0; d < head_dim; d += SUNDOG_Q8_BLOCK, scales += PAGE) {
        int64_t end = sundog_min(d + SUNDOG_Q8_BLOCK, head_dim);
        for (int64_t line = d; line < end; line++)
            _mm_prefetch((const char *)next + line * PAGE, _MM_HINT_T0);
        widen_key_block(part, scales, d, end, keys);
    }
}

/* [64, C] bytes and their scales, of which n positions count. */
static void
widen_values(const uint8_t *part, const uint8_t *next, int64_t head_dim, int64_t n,
             uint16_t *values)
{
    const float *scales = (const float *)(part + head_dim * PAGE);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t d = 0; d < head_dim; d += LANES) {
            const SundogVector scale = sundog_vector_set(scales[d / SUNDOG_Q8_BLOCK * PAGE + i]);
            int64_t at = i * head_dim + d;
            if (d % PAGE == 0)
                _mm_prefetch((const char *)next + at, _MM_HINT_T0);
            SundogVector byte = sundog_vector_load_signed_bytes(part + at);
            sundog_vector_store_factors(values + at, sundog_vector_mul(byte, scale));
        }
    }
}

static SundogPage
widen_page(const Chunk *chunk, const SundogCall *call, int64_t first, int64_t last, WidePage *wide)
{
    int64_t c = chunk->at->head_dim, part = find_part(chunk, first, chunk->group);
    int64_t next = first + PAGE <= last ? find_part(chunk, first + PAGE, chunk->group) : part;
    int64_t n_bytes = (int64_t)sundog_page_part_bytes(SUNDOG_DTYPE_Q8, 1, (uint64_t)c);
    const uint8_t *keys = call->arguments[4].data, *values = call->arguments[5].data;
    int64_t n = sundog_min(PAGE, last + 1 - first);
    widen_keys(keys + part * n_bytes, keys + next * n_bytes, c, wide->keys);
    widen_values(values + part * n_bytes, values + next * n_bytes, c, n, wide->values);
    return (SundogPage){.keys = wide->keys,
                        .values = wide->values,
                        .dtype = SUNDOG_DTYPE_BF16,
                        .next_keys = (const uint8_t *)wide->keys};
}

static SundogPage
find_page(const Chunk *chunk, const SundogArgument *k_pages, const SundogArgument *v_pages,
          int64_t begin, int64_t first, int64_t last)
{
    const SundogAttention *at = chunk->at;
    int64_t base = find_base(chunk, first, chunk->group), next = base;
    if (k_pages->dtype == SUNDOG_DTYPE_F32)
        return (SundogPage){.keys = (const float *)k_pages->data + base,
                            .values = (const float *)v_pages->data + base,
                            .dtype = SUNDOG_DTYPE_F32};
    if (first + PAGE <= last)
        next = find_base(chunk, first + PAGE, chunk->group);
    else if (chunk->group + 1 < at->n_kv_heads)
        next = find_base(chunk, begin, chunk->group + 1);
    return (SundogPage){.keys = (const uint16_t *)k_pages->data + base,
                        .values = (const uint16_t *)v_pages->data + base,
                        .dtype = k_pages->dtype,
                        .next_keys = (const uint8_t *)((const uint16_t *)k_pages->data + next),
                        .value_bytes = 2 * at->head_dim * sundog_min(PAGE, last + 1 - first)};
}

/* Queries and positions of all pairs. */
static void
scale_queries(Chunk *chunk, bool by_pairs)
{
    const SundogAttention *at = chunk->at;
    const SundogVector scale = sundog_vector_set(at->scale);
    int64_t c = at->head_dim;
    for (int64_t i = 0; i < chunk->n_pairs; i++) {
        int64_t row = pair_row(chunk, i);
        chunk->positions[i] = chunk->position + row;
        const float *q =
            at->qkv + (chunk->first_row + row) * at->row_floats + pair_head(chunk, i) * c;
        for (int64_t d = 0; d < c; d += LANES) {
            SundogVector scaled = sundog_vector_mul(sundog_vector_load(q + d), scale);
            sundog_vector_store(chunk->queries + i * c + d,
                                by_pairs ? sundog_vector_round_factor(scaled) : scaled);
        }
    }
}

static void
store_output(const Chunk *chunk)
{
    int64_t c = chunk->at->head_dim;
    for (int64_t i = 0; i < chunk->n_pairs; i++) {
        float *output = chunk->output + i * c;
        int64_t head = pair_head(chunk, i);
        sundog_attention_finish(chunk->at, head, chunk->greatest[i], chunk->sums[i], output);
        sundog_attention_store(chunk->at, chunk->first_row + pair_row(chunk, i), head, output);
    }
}

/* Pairs [begin, end), block by block. */
static void
attend_pairs(Chunk *chunk, const SundogPage *page, int64_t first, int64_t begin, int64_t end,
             bool is_first)
{
    for (int64_t pair = begin; pair < end; pair += BLOCK)
        attend_block(chunk, page, first, pair, sundog_min(BLOCK, end - pair), is_first);
}

/* The pairs of a chunk as a page divides them: [begin, middle) have come from an earlier page,
 * [middle, end) begin in it, the rest see none of it. */
typedef struct {
    int64_t begin, middle, end;
} Division;

/* Moves on to the page from `first` on; no bound ever moves back. */
static void
divide_pairs(const Chunk *chunk, int64_t first, Division *division)
{
    int64_t n = chunk->n_pairs;
    while (count_positions(chunk, division->begin, first) <= 0)
        division->begin++;
    while (division->middle < n && count_hidden(chunk, division->middle, first) < 0)
        division->middle++;
    while (division->end < n && count_hidden(chunk, division->end, first) < PAGE)
        division->end++;
}

static void
attend_chunk(const SundogCall *call, Chunk *chunk, WidePage *wide)
{
    Division division = {0};
    scale_queries(chunk, sundog_pages_go_by_pairs(call->arguments[4].dtype));
    int64_t begin = sundog_page_begin(sundog_attention_begin(chunk->at, chunk->positions[0]));
    int64_t last = find_end(chunk, chunk->n_pairs - 1) - 1;
    for (int64_t first = begin; first <= last; first += PAGE) {
        SundogPage page = wide != NULL ? widen_page(chunk, call, first, last, wide)
                                       : find_page(chunk, &call->arguments[4], &call->arguments[5],
                                                   begin, first, last);
        divide_pairs(chunk, first, &division);
        attend_pairs(chunk, &page, first, division.begin, division.middle, false);
        attend_pairs(chunk, &page, first, division.middle, division.end, true);
    }
    store_output(chunk);
}

/* The heads of one group that a thread has of a tile. */
static void
attend_group(const SundogCall *call, const SundogAttention *at, const SundogAttentionTile *tile,
             int64_t group, SundogRange heads, WidePage *wide)
{
    SundogAttentionWorkspace places = sundog_attention_workspace(at->head_dim);
    Chunk chunk = {.at = at,
                   .page_table = at->page_table + tile->sequence * at->sequence_pages,
                   .group = group,
                   .first_row = tile->first_row,
                   .position = tile->position,
                   .length = tile->length,
                   .first_head = heads.begin,
                   .n_heads = heads.end - heads.begin,
                   .queries = at->workspace + places.queries,
                   .output = at->workspace + places.output};
    int64_t n_pairs = chunk.n_heads * tile->n_rows;
    for (; chunk.first_pair < n_pairs; chunk.first_pair += PAIRS) {
        chunk.n_pairs = sundog_min(PAIRS, n_pairs - chunk.first_pair);
        attend_chunk(call, &chunk, wide);
    }
}

/* A thread's heads of all tiles; where pages are q8, by way of a wide one. */
static void
attend_tiles(const SundogCall *call, const SundogAttention *at, WidePage *wide)
{
    SundogAttentionShare share = sundog_attention_share(call, at);
    for (int64_t t = 0; t < at->n_tiles; t++) {
        SundogAttentionTile tile = sundog_attention_next_tile(at, &share, t);
        for (int64_t head = tile.heads.begin; head < tile.heads.end;) {
            int64_t group = head / at->heads_per_group;
            int64_t end = sundog_min((group + 1) * at->heads_per_group, tile.heads.end);
            attend_group(call, at, &tile, group, (SundogRange){head, end}, wide);
            head = end;
        }
    }
}

/* The wide page takes 128 KB of the stack, which only such calls should touch. */
static __attribute__((noinline)) void
attend_narrow(const SundogCall *call, const SundogAttention *at)
{
    WidePage wide;
    attend_tiles(call, at, &wide);
}

void
SUNDOG_KERNEL(ATTENTION)(const SundogCall *call)
{
    SundogAttention at = sundog_attention_from_call(call);
    bool is_for_cuda = at.output->dtype == SUNDOG_DTYPE_BF16;
    if (is_for_cuda || at.head_dim % LANES != 0 || at.head_dim > SUNDOG_ATTENTION_MAX_HEAD) {
        sundog_host_plain_ATTENTION(call);
        return;
    }
    if (call->arguments[4].dtype == SUNDOG_DTYPE_Q8)
        attend_narrow(call, &at);
    else
        attend_tiles(call, &at, NULL);
}
