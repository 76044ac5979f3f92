/*
 * attention for the sets with vector registers. A page's keys and values meet six pairs of a row and a
 * head at a time: scores with 64 positions in lanes, values with the head's dimensions in lanes. Halves are
 * widened as they are read, which costs no more than float32 copies would of the first cache. In decoding
 * memory is what few pairs wait for, so that the loop over keys asks for the page's values, and the one
 * over values for the next page's keys.
 *
 * Rows of a tile are in order, so pairs that a page is past come first; the rest share positions up to
 * what the first of a block may see, and each adds the few that only it may. Pairs whose window begins
 * in a page come after those that have come from an earlier one, and pairs that see it no more are last.
 */

#include "kernels/host/attention.h"
#include "kernels/host/half.h"
#include "kernels/host/kernel.h"
#include "kernels/host/simd.h"

#define PAGE SUNDOG_PAGE_TOKENS
#define PAIRS SUNDOG_ATTENTION_PAIRS
#define BLOCK 6 /* pairs */
#define LANES SUNDOG_LANES
#define VECTORS SUNDOG_ATTENTION_VECTORS

/* Pairs of one tile and group that go through the pages together. */
typedef struct {
    const SundogAttention *at;
    const int32_t *page_table;
    int64_t group;
    int64_t first_row;
    int64_t position; /* of the first row */
    int64_t first_head;
    int64_t n_heads;
    int64_t first_pair; /* of the tile's, counted row by row */
    int64_t n_pairs;
    float *queries; /* [n_pairs, C] */
    float *output;  /* [n_pairs, C] */
    float greatest[PAIRS];
    float sums[PAIRS];
} Chunk;

/* One page of one group, in the type that `half` names. */
typedef struct {
    const void *keys;   /* [C, 64] */
    const void *values; /* [64, C] */
    bool half;
    const uint8_t *next_keys; /* the halves that are likely to be read after these */
    int64_t value_bytes;      /* of positions that any row may see */
} Page;

/* One dimension of keys in halves, and so one step of either loop. */
#define STEP_BYTES (2 * PAGE)

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

/* How many positions of the page from `first` on a pair may see; at most 0 where none. */
static int64_t
count_positions(const Chunk *chunk, int64_t pair, int64_t first)
{
    return sundog_min(PAGE, chunk->position + pair_row(chunk, pair) + 1 - first);
}

/* Of the page from `first` on, how many positions a pair's window leaves out; at least 64 where all. */
static int64_t
count_hidden(const Chunk *chunk, int64_t pair, int64_t first)
{
    int64_t position = chunk->position + pair_row(chunk, pair);
    return sundog_attention_begin(chunk->at, position) - first;
}

SUNDOG_INLINE SundogVector
load(const void *elements, int64_t at, const bool half)
{
    return half ? sundog_vector_load_halves((const uint16_t *)elements + at)
                : sundog_vector_load((const float *)elements + at);
}

SUNDOG_INLINE void
prefetch(const uint8_t *bytes)
{
    _mm_prefetch((const char *)bytes, _MM_HINT_T0);
    _mm_prefetch((const char *)bytes + 64, _MM_HINT_T0);
}

/* scores[pair][64] for n pairs, at least for the first n_positions. Many pairs take two registers of
 * positions at a time, so that pages that are only begun cost less; few need more to hide latency. */
SUNDOG_INLINE void
find_scores(const Page *page, const float *queries, int64_t head_dim, int64_t n_positions,
            const int n, const bool half, float (*scores)[PAGE])
{
    const int width = n > 3 && VECTORS > 2 ? 2 : VECTORS;
    for (int first = 0; first < n_positions; first += width * LANES) {
        SundogVector acc[BLOCK][VECTORS];
#pragma GCC unroll 6
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int v = 0; v < width; v++)
                acc[i][v] = sundog_vector_set(0);
        for (int64_t d = 0; d < head_dim; d++) {
            SundogVector keys[VECTORS];
            if (half && first == 0 && d * STEP_BYTES < page->value_bytes)
                prefetch((const uint8_t *)page->values + d * STEP_BYTES);
#pragma GCC unroll 4
            for (int v = 0; v < width; v++)
                keys[v] = load(page->keys, d * PAGE + first + LANES * v, half);
#pragma GCC unroll 6
            for (int i = 0; i < n; i++) {
                SundogVector query = sundog_vector_set(queries[i * head_dim + d]);
#pragma GCC unroll 4
                for (int v = 0; v < width; v++)
                    acc[i][v] = sundog_vector_fma(query, keys[v], acc[i][v]);
            }
        }
#pragma GCC unroll 6
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int v = 0; v < width; v++)
                sundog_vector_store(scores[i] + first + LANES * v, acc[i][v]);
    }
}

/* partial[pair][dimension, of n_vectors * 16] over positions [0, n_positions). */
SUNDOG_INLINE void
sum_values(const Page *page, int64_t head_dim, int64_t dimension, int64_t n_positions, const int n,
           const int n_vectors, const bool half, float (*weights)[PAGE], float *partial)
{
    SundogVector acc[BLOCK][VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            acc[i][v] = sundog_vector_set(0);
    for (int64_t p = 0; p < n_positions; p++) {
        SundogVector values[VECTORS];
        if (half && dimension == 0)
            prefetch(page->next_keys + p * STEP_BYTES);
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            values[v] = load(page->values, p * head_dim + dimension + LANES * v, half);
#pragma GCC unroll 6
        for (int i = 0; i < n; i++) {
            SundogVector weight = sundog_vector_set(weights[i][p]);
#pragma GCC unroll 4
            for (int v = 0; v < n_vectors; v++)
                acc[i][v] = sundog_vector_fma(weight, values[v], acc[i][v]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            sundog_vector_store(partial + i * head_dim + dimension + LANES * v, acc[i][v]);
}

/* All dimensions of a head. */
SUNDOG_INLINE void
sum_all_values(const Page *page, int64_t head_dim, int64_t n_positions, const int n,
               const bool half, float (*weights)[PAGE], float *partial)
{
    int64_t d = 0;
    for (; d + VECTORS * LANES <= head_dim; d += VECTORS * LANES)
        sum_values(page, head_dim, d, n_positions, n, VECTORS, half, weights, partial);
    for (; d < head_dim; d += LANES)
        sum_values(page, head_dim, d, n_positions, n, 1, half, weights, partial);
}

/* One function a number of pairs and a type, so that each keeps its accumulators in registers. */
#define BLOCK_OF(n, half, suffix)                                                       \
    static __attribute__((noinline)) void find_scores_##n##suffix(                      \
        const Page *page, const float *queries, int64_t head_dim, int64_t n_positions,  \
        float(*scores)[PAGE])                                                           \
    {                                                                                   \
        find_scores(page, queries, head_dim, n_positions, n, half, scores);             \
    }                                                                                   \
    static __attribute__((noinline)) void sum_values_##n##suffix(                       \
        const Page *page, int64_t head_dim, int64_t n_positions, float(*weights)[PAGE], \
        float *partial)                                                                 \
    {                                                                                   \
        sum_all_values(page, head_dim, n_positions, n, half, weights, partial);         \
    }
#define BLOCKS_OF(n) BLOCK_OF(n, false, _f32) BLOCK_OF(n, true, _f16)
BLOCKS_OF(1)
BLOCKS_OF(2)
BLOCKS_OF(3)
BLOCKS_OF(4)
BLOCKS_OF(5)
BLOCKS_OF(6)

typedef struct {
    void (*find_scores)(const Page *page, const float *queries, int64_t head_dim,
                        int64_t n_positions, float (*scores)[PAGE]);
    void (*sum_values)(const Page *page, int64_t head_dim, int64_t n_positions,
                       float (*weights)[PAGE], float *partial);
} BlockKernels;

#define ENTRY(n)                                           \
    {                                                      \
        {find_scores_##n##_f32, sum_values_##n##_f32},     \
            {find_scores_##n##_f16, sum_values_##n##_f16}, \
    }
static const BlockKernels block_kernels[BLOCK][2] = {ENTRY(1), ENTRY(2), ENTRY(3),
                                                     ENTRY(4), ENTRY(5), ENTRY(6)};

/* PAGE words of set bits, then as many of none: from PAGE - n on, a mask of n. */
static const uint32_t mask_words[2 * PAGE] = {[0 ... PAGE - 1] = 0xffffffff};

/* Scores in n_vectors registers to weights, zero where the mask is; NULL: none are. */
SUNDOG_INLINE void
weigh_vectors(float *scores, const float *mask, const int n_vectors, float *greatest, float *sum)
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
        s[v] = sundog_vector_exp(sundog_vector_sub(s[v], sundog_vector_set(*greatest)));
        if (mask != NULL)
            s[v] = sundog_vector_select(sundog_vector_load(mask + LANES * v), s[v], nothing);
        total = sundog_vector_add(total, s[v]);
        sundog_vector_store(scores + LANES * v, s[v]);
    }
    *sum = sundog_vector_sum(total);
}

/* Positions [hidden, n) of the page count. */
static void
weigh(float *scores, int64_t hidden, int64_t n, float *greatest, float *sum)
{
    const float *mask = (const float *)mask_words + PAGE - n;
    uint32_t both[PAGE];
    if (hidden > 0) {
        for (int64_t i = 0; i < PAGE; i++)
            both[i] = i >= hidden && i < n ? 0xffffffff : 0;
        weigh_vectors(scores, (const float *)both, PAGE / LANES, greatest, sum);
    } else if (n == PAGE) {
        weigh_vectors(scores, NULL, PAGE / LANES, greatest, sum);
    } else if (n > PAGE / 2) {
        weigh_vectors(scores, mask, PAGE / LANES, greatest, sum);
    } else {
        weigh_vectors(scores, mask, PAGE / LANES / 2, greatest, sum);
    }
}

static void
cap_scores(const SundogAttention *at, float *scores, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        scores[i] = sundog_attention_cap(at, scores[i]);
}

/* Positions that only this pair of its block may see, added to its partial result. */
static void
add_positions(const Page *page, int64_t head_dim, int64_t begin, int64_t end, const float *weights,
              float *partial)
{
    for (int64_t d = 0; d < head_dim; d += LANES) {
        SundogVector acc = sundog_vector_load(partial + d);
        for (int64_t p = begin; p < end; p++)
            acc = sundog_vector_fma(sundog_vector_set(weights[p]),
                                    load(page->values, p * head_dim + d, page->half), acc);
        sundog_vector_store(partial + d, acc);
    }
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

/* The factors of attention.h's merge for a block of pairs, a lane each. */
static void
merge_block(Chunk *chunk, int64_t pair, int64_t n, const float *greatest, const float *sums,
            const float *partial)
{
    int64_t c = chunk->at->head_dim;
    float old_greatest[LANES] = {0}, old[LANES], new[LANES], merged[LANES];
    memcpy(old_greatest, chunk->greatest + pair, (size_t)n * sizeof(float));
    SundogVector before = sundog_vector_load(old_greatest), now = sundog_vector_load(greatest);
    SundogVector both = sundog_vector_max(now, before);
    sundog_vector_store(merged, both);
    sundog_vector_store(old, sundog_vector_exp(sundog_vector_sub(before, both)));
    sundog_vector_store(new, sundog_vector_exp(sundog_vector_sub(now, both)));
    for (int64_t i = 0; i < n; i++) {
        chunk->sums[pair + i] = fmaf(sums[i], new[i], chunk->sums[pair + i] * old[i]);
        merge_output(chunk->output + (pair + i) * c, partial + i * c, c, old[i], new[i]);
    }
    memcpy(chunk->greatest + pair, merged, (size_t)n * sizeof(float));
}

/* A block of pairs and one page; where it is the first that they see, its partial results are the
 * results so far. */
static void
attend_block(Chunk *chunk, const Page *page, int64_t first, int64_t pair, int64_t n, bool is_first)
{
    int64_t c = chunk->at->head_dim;
    float weights[BLOCK][PAGE], greatest[LANES] = {0}, sums[BLOCK];
    float space[BLOCK * SUNDOG_ATTENTION_MAX_HEAD];
    float *partial = is_first ? chunk->output + pair * c : space;
    const BlockKernels *kernels = &block_kernels[n - 1][page->half];
    int64_t most = count_positions(chunk, pair + n - 1, first);
    kernels->find_scores(page, chunk->queries + pair * c, c, most, weights);
    for (int64_t i = 0; i < n; i++) {
        if (chunk->at->softcap > 0)
            cap_scores(chunk->at, weights[i], most);
        weigh(weights[i], count_hidden(chunk, pair + i, first),
              count_positions(chunk, pair + i, first), &greatest[i], &sums[i]);
    }
    int64_t shared = count_positions(chunk, pair, first);
    kernels->sum_values(page, c, shared, weights, partial);
    for (int64_t i = 1; i < n; i++) {
        int64_t own = count_positions(chunk, pair + i, first);
        if (own > shared)
            add_positions(page, c, shared, own, weights[i], partial + i * c);
    }
    if (!is_first) {
        merge_block(chunk, pair, n, greatest, sums, partial);
        return;
    }
    memcpy(chunk->greatest + pair, greatest, (size_t)n * sizeof(float));
    memcpy(chunk->sums + pair, sums, (size_t)n * sizeof(float));
}

/* Where a page's part of one group begins, in elements. */
static int64_t
find_base(const Chunk *chunk, int64_t first, int64_t group)
{
    int64_t page = chunk->page_table[first / PAGE];
    return (page * chunk->at->n_kv_heads + group) * chunk->at->head_dim * PAGE;
}

static Page
find_page(const Chunk *chunk, const SundogArgument *k_pages, const SundogArgument *v_pages,
          int64_t begin, int64_t first, int64_t last)
{
    const SundogAttention *at = chunk->at;
    int64_t base = find_base(chunk, first, chunk->group), next = base;
    if (k_pages->dtype != SUNDOG_DTYPE_F16)
        return (Page){.keys = (const float *)k_pages->data + base,
                      .values = (const float *)v_pages->data + base};
    if (first + PAGE <= last)
        next = find_base(chunk, first + PAGE, chunk->group);
    else if (chunk->group + 1 < at->n_kv_heads)
        next = find_base(chunk, begin, chunk->group + 1);
    return (Page){.keys = (const uint16_t *)k_pages->data + base,
                  .values = (const uint16_t *)v_pages->data + base,
                  .half = true,
                  .next_keys = (const uint8_t *)((const uint16_t *)k_pages->data + next),
                  .value_bytes = 2 * at->head_dim * sundog_min(PAGE, last + 1 - first)};
}

static void
scale_queries(const Chunk *chunk)
{
    const SundogAttention *at = chunk->at;
    const SundogVector scale = sundog_vector_set(at->scale);
    int64_t c = at->head_dim;
    for (int64_t i = 0; i < chunk->n_pairs; i++) {
        int64_t row = chunk->first_row + pair_row(chunk, i);
        const float *q = at->qkv + row * at->row_floats + pair_head(chunk, i) * c;
        for (int64_t d = 0; d < c; d += LANES)
            sundog_vector_store(chunk->queries + i * c + d,
                                sundog_vector_mul(sundog_vector_load(q + d), scale));
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
attend_pairs(Chunk *chunk, const Page *page, int64_t first, int64_t begin, int64_t end,
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
attend_chunk(const SundogCall *call, Chunk *chunk)
{
    int64_t begin =
        sundog_page_begin(sundog_attention_begin(chunk->at, chunk->position + pair_row(chunk, 0)));
    int64_t last = chunk->position + pair_row(chunk, chunk->n_pairs - 1);
    Division division = {0};
    scale_queries(chunk);
    for (int64_t first = begin; first <= last; first += PAGE) {
        Page page = find_page(chunk, &call->arguments[4], &call->arguments[5], begin, first, last);
        divide_pairs(chunk, first, &division);
        attend_pairs(chunk, &page, first, division.begin, division.middle, false);
        attend_pairs(chunk, &page, first, division.middle, division.end, true);
    }
    store_output(chunk);
}

/* The heads of one group that a thread has of a tile. */
static void
attend_group(const SundogCall *call, const SundogAttention *at, const SundogAttentionTile *tile,
             int64_t group, SundogRange heads)
{
    SundogAttentionWorkspace places = sundog_attention_workspace(at->head_dim);
    Chunk chunk = {.at = at,
                   .page_table = at->page_table + tile->sequence * at->sequence_pages,
                   .group = group,
                   .first_row = tile->first_row,
                   .position = tile->position,
                   .first_head = heads.begin,
                   .n_heads = heads.end - heads.begin,
                   .queries = at->workspace + places.queries,
                   .output = at->workspace + places.output};
    int64_t n_pairs = chunk.n_heads * tile->n_rows;
    for (; chunk.first_pair < n_pairs; chunk.first_pair += PAIRS) {
        chunk.n_pairs = sundog_min(PAIRS, n_pairs - chunk.first_pair);
        attend_chunk(call, &chunk);
    }
}

void
SUNDOG_KERNEL(ATTENTION)(const SundogCall *call)
{
    SundogAttention at = sundog_attention_from_call(call);
    bool is_for_cuda =
        call->arguments[4].dtype == SUNDOG_DTYPE_BF16 || at.output->dtype == SUNDOG_DTYPE_BF16;
    if (is_for_cuda || at.head_dim % LANES != 0 || at.head_dim > SUNDOG_ATTENTION_MAX_HEAD) {
        sundog_host_plain_ATTENTION(call);
        return;
    }
    SundogAttentionShare share = sundog_attention_share(call, &at);
    for (int64_t t = 0; t < at.n_tiles; t++) {
        SundogAttentionTile tile = sundog_attention_next_tile(&at, &share, t);
        for (int64_t head = tile.heads.begin; head < tile.heads.end;) {
            int64_t group = head / at.heads_per_group;
            int64_t end = sundog_min((group + 1) * at.heads_per_group, tile.heads.end);
            attend_group(call, &at, &tile, group, (SundogRange){head, end});
            head = end;
        }
    }
}
