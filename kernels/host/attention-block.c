/*
 * Products of a page with a block of pairs: scores with 64 positions in lanes, values with the head's
 * dimensions in lanes. Halves are widened as they are read, which costs no more than float32 copies would
 * of the first cache. In decoding memory is what few pairs wait for, so that the loop over keys asks for
 * the page's values, and the one over values for the next page's keys.
 *
 * Where the processor multiplies pairs of bf16, two dimensions of keys, or two positions of values, are
 * interleaved as they are read, four words of each in turn; lanes are put in order once the sums are done.
 */

#include "kernels/host/attention-block.h"

#define PAGE SUNDOG_PAGE_TOKENS
#define BLOCK SUNDOG_BLOCK_PAIRS
#define LANES SUNDOG_LANES
#define VECTORS SUNDOG_ATTENTION_VECTORS
/* One dimension of keys in halves, and so one step of either loop. */
#define STEP_BYTES (2 * PAGE)

SUNDOG_INLINE SundogVector
load(const void *elements, int64_t at, const SundogDtype dtype)
{
    if (dtype == SUNDOG_DTYPE_F32)
        return sundog_vector_load((const float *)elements + at);
    const uint16_t *halves = (const uint16_t *)elements + at;
    return dtype == SUNDOG_DTYPE_F16 ? sundog_vector_load_halves(halves)
                                     : sundog_vector_load_bf16(halves);
}

SUNDOG_INLINE void
prefetch(const uint8_t *bytes)
{
    _mm_prefetch((const char *)bytes, _MM_HINT_T0);
    _mm_prefetch((const char *)bytes + 64, _MM_HINT_T0);
}

/* Many pairs take two registers of positions at a time, so that pages that are only begun cost less; few
 * need more to hide latency. */
SUNDOG_INLINE void
find_scores(const SundogPage *page, const float *queries, int64_t head_dim, int64_t n_positions,
            const int n, const SundogDtype dtype, float (*scores)[PAGE])
{
    const int width = n > 3 && VECTORS > 2 ? 2 : VECTORS;
    const int64_t turn = dtype == SUNDOG_DTYPE_BF16;
    for (int first = 0; first < n_positions; first += width * LANES) {
        SundogVector acc[BLOCK][VECTORS];
#pragma GCC unroll 6
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int v = 0; v < width; v++)
                acc[i][v] = sundog_vector_set(0);
        for (int64_t step = 0; step < head_dim; step++) {
            int64_t d = step ^ turn;
            SundogVector keys[VECTORS];
            if (dtype != SUNDOG_DTYPE_F32 && first == 0 && step * STEP_BYTES < page->value_bytes)
                prefetch((const uint8_t *)page->values + step * STEP_BYTES);
#pragma GCC unroll 4
            for (int v = 0; v < width; v++)
                keys[v] = load(page->keys, d * PAGE + first + LANES * v, dtype);
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

/* One register of a pair's sums to its results. */
SUNDOG_INLINE void
store_sum(float *to, SundogVector sum, const SundogMerge *merge, int pair)
{
    if (merge != NULL) {
        SundogVector old = sundog_vector_set(merge->old[pair]);
        sum = sundog_vector_fma(sum, sundog_vector_set(merge->new[pair]),
                                sundog_vector_mul(sundog_vector_load(to), old));
    }
    sundog_vector_store(to, sum);
}

/* results[pair][dimension, of n_vectors * 16]. */
SUNDOG_INLINE void
sum_some_values(const SundogPage *page, int64_t head_dim, int64_t dimension, int64_t n_positions,
                const int n, const int n_vectors, const SundogDtype dtype, float (*weights)[PAGE],
                const SundogMerge *merge, float *results)
{
    const int64_t turn = dtype == SUNDOG_DTYPE_BF16;
    SundogVector acc[BLOCK][VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            acc[i][v] = sundog_vector_set(0);
    for (int64_t step = 0; step < n_positions; step++) {
        int64_t p = step ^ turn;
        SundogVector values[VECTORS];
        if (dtype != SUNDOG_DTYPE_F32 && dimension == 0)
            prefetch(page->next_keys + step * STEP_BYTES);
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            values[v] = load(page->values, p * head_dim + dimension + LANES * v, dtype);
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
            store_sum(results + i * head_dim + dimension + LANES * v, acc[i][v], merge, i);
}

SUNDOG_INLINE void
sum_values(const SundogPage *page, int64_t head_dim, int64_t n_positions, const int n,
           const SundogDtype dtype, float (*weights)[PAGE], const SundogMerge *merge,
           float *results)
{
    int64_t d = 0;
    for (; d + VECTORS * LANES <= head_dim; d += VECTORS * LANES)
        sum_some_values(page, head_dim, d, n_positions, n, VECTORS, dtype, weights, merge, results);
    for (; d < head_dim; d += LANES)
        sum_some_values(page, head_dim, d, n_positions, n, 1, dtype, weights, merge, results);
}

#ifdef __AVX512BF16__

/* A register of each of two rows, interleaved: the pairs of 32 columns. */
typedef struct {
    __m512i low;  /* of columns 0 to 3 of every eight */
    __m512i high; /* of columns 4 to 7 */
} Pairs;

SUNDOG_INLINE Pairs
load_pairs(const uint16_t *rows, int64_t stride, const __mmask32 columns)
{
    __m512i first = _mm512_maskz_loadu_epi16(columns, rows);
    __m512i second = _mm512_maskz_loadu_epi16(columns, rows + stride);
    return (Pairs){_mm512_unpacklo_epi16(first, second), _mm512_unpackhi_epi16(first, second)};
}

/* Sums of 32 columns, in order, from those of their pairs. */
typedef struct {
    __m512 lower;
    __m512 upper;
} Columns;

SUNDOG_INLINE Columns
put_in_order(__m512 low, __m512 high)
{
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i upper = _mm512_add_epi32(order, _mm512_set1_epi32(8));
    return (Columns){_mm512_permutex2var_ps(low, order, high),
                     _mm512_permutex2var_ps(low, upper, high)};
}

/* n numbers, a multiple of 16, rounded to bf16. None is subnormal. */
SUNDOG_INLINE void
pack_row(const float *from, int64_t n, uint32_t *to)
{
    for (int64_t i = 0; i < n; i += LANES)
        _mm256_storeu_si256((__m256i *)(to + i / 2),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
}

/* acc[i] and the products of pairs of rows with the words [i] at `at`. */
SUNDOG_INLINE void
multiply_pairs(const uint32_t *words, int64_t stride, const Pairs *pairs, const int n,
               const int n_pairs, __m512 acc[BLOCK][VECTORS])
{
#pragma GCC unroll 6
    for (int i = 0; i < n; i++) {
        __m512bh word = (__m512bh)_mm512_set1_epi32((int)words[i * stride]);
#pragma GCC unroll 2
        for (int v = 0; v < n_pairs; v++) {
            acc[i][2 * v] = _mm512_dpbf16_ps(acc[i][2 * v], (__m512bh)pairs[v].low, word);
            acc[i][2 * v + 1] = _mm512_dpbf16_ps(acc[i][2 * v + 1], (__m512bh)pairs[v].high, word);
        }
    }
}

#define CLEAR(acc, n, n_vectors)                                                  \
    _Pragma("GCC unroll 6") for (int i = 0; i < (n); i++)                         \
        _Pragma("GCC unroll 4") for (int v = 0; v < (n_vectors); v++) acc[i][v] = \
            _mm512_setzero_ps()

/* Scores of n_pairs * 32 positions. */
SUNDOG_INLINE void
find_scores_of_pairs(const SundogPage *page, const uint32_t *words, int64_t head_dim, const int n,
                     const int n_pairs, float (*scores)[PAGE])
{
    const uint16_t *keys = page->keys;
    __m512 acc[BLOCK][VECTORS];
    CLEAR(acc, n, 2 * n_pairs);
    for (int64_t d = 0; d < head_dim; d += 2, keys += 2 * PAGE) {
        Pairs pairs[2];
        if (d * STEP_BYTES < page->value_bytes) {
            prefetch((const uint8_t *)page->values + d * STEP_BYTES);
            prefetch((const uint8_t *)page->values + (d + 1) * STEP_BYTES);
        }
#pragma GCC unroll 2
        for (int v = 0; v < n_pairs; v++)
            pairs[v] = load_pairs(keys + 2 * LANES * v, PAGE, ~(__mmask32)0);
        multiply_pairs(words + d / 2, head_dim / 2, pairs, n, n_pairs, acc);
    }
#pragma GCC unroll 6
    for (int i = 0; i < n; i++)
#pragma GCC unroll 2
        for (int v = 0; v < n_pairs; v++) {
            Columns columns = put_in_order(acc[i][2 * v], acc[i][2 * v + 1]);
            _mm512_storeu_ps(scores[i] + 2 * LANES * v, columns.lower);
            _mm512_storeu_ps(scores[i] + 2 * LANES * v + LANES, columns.upper);
        }
}

SUNDOG_INLINE void
find_bf16_scores(const SundogPage *page, const float *queries, int64_t head_dim,
                 int64_t n_positions, const int n, float (*scores)[PAGE])
{
    uint32_t words[BLOCK * SUNDOG_ATTENTION_MAX_HEAD / 2];
    pack_row(queries, n * head_dim, words);
    if (n_positions > PAGE / 2)
        find_scores_of_pairs(page, words, head_dim, n, 2, scores);
    else
        find_scores_of_pairs(page, words, head_dim, n, 1, scores);
}

/* results[pair][dimension, of n_pairs * 32, or 16 where only half of the one is there]. */
SUNDOG_INLINE void
sum_values_of_pairs(const SundogPage *page, int64_t head_dim, int64_t dimension,
                    int64_t n_positions, const int n, const int n_pairs, const bool all,
                    uint32_t (*words)[PAGE / 2], const SundogMerge *merge, float *results)
{
    const uint16_t *values = (const uint16_t *)page->values + dimension;
    __m512 acc[BLOCK][VECTORS];
    CLEAR(acc, n, 2 * n_pairs);
    for (int64_t p = 0; p < n_positions; p += 2, values += 2 * head_dim) {
        Pairs pairs[2];
        if (dimension == 0) {
            prefetch(page->next_keys + p * STEP_BYTES);
            prefetch(page->next_keys + (p + 1) * STEP_BYTES);
        }
#pragma GCC unroll 2
        for (int v = 0; v < n_pairs; v++)
            pairs[v] = load_pairs(values + 2 * LANES * v, head_dim, all ? ~(__mmask32)0 : 0xffff);
        multiply_pairs(words[0] + p / 2, PAGE / 2, pairs, n, n_pairs, acc);
    }
#pragma GCC unroll 6
    for (int i = 0; i < n; i++)
#pragma GCC unroll 2
        for (int v = 0; v < n_pairs; v++) {
            Columns columns = put_in_order(acc[i][2 * v], acc[i][2 * v + 1]);
            float *to = results + i * head_dim + dimension + 2 * LANES * v;
            store_sum(to, columns.lower, merge, i);
            if (all)
                store_sum(to + LANES, columns.upper, merge, i);
        }
}

SUNDOG_INLINE void
sum_bf16_values(const SundogPage *page, int64_t head_dim, int64_t n_positions, const int n,
                float (*weights)[PAGE], const SundogMerge *merge, float *results)
{
    uint32_t words[BLOCK][PAGE / 2];
    int64_t d = 0;
    pack_row(weights[0], n * PAGE, words[0]);
    for (; d + 4 * LANES <= head_dim; d += 4 * LANES)
        sum_values_of_pairs(page, head_dim, d, n_positions, n, 2, true, words, merge, results);
    if (d + 2 * LANES <= head_dim) {
        sum_values_of_pairs(page, head_dim, d, n_positions, n, 1, true, words, merge, results);
        d += 2 * LANES;
    }
    if (d < head_dim)
        sum_values_of_pairs(page, head_dim, d, n_positions, n, 1, false, words, merge, results);
}

#else

SUNDOG_INLINE void
find_bf16_scores(const SundogPage *page, const float *queries, int64_t head_dim,
                 int64_t n_positions, const int n, float (*scores)[PAGE])
{
    find_scores(page, queries, head_dim, n_positions, n, SUNDOG_DTYPE_BF16, scores);
}

SUNDOG_INLINE void
sum_bf16_values(const SundogPage *page, int64_t head_dim, int64_t n_positions, const int n,
                float (*weights)[PAGE], const SundogMerge *merge, float *results)
{
    float factors[BLOCK][PAGE];
    for (int64_t i = 0; i < n * PAGE; i += LANES)
        sundog_vector_store(factors[0] + i,
                            sundog_vector_round_factor(sundog_vector_load(weights[0] + i)));
    sum_values(page, head_dim, n_positions, n, SUNDOG_DTYPE_BF16, factors, merge, results);
}

#endif

/* One function a number of pairs and a type, so that each keeps its accumulators in registers. */
#define BLOCK_OF(n, name, find, sum)                                                          \
    static __attribute__((noinline)) void find_##name##_scores_##n(                           \
        const SundogPage *page, const float *queries, int64_t head_dim, int64_t n_positions,  \
        float(*scores)[PAGE])                                                                 \
    {                                                                                         \
        find;                                                                                 \
    }                                                                                         \
    static __attribute__((noinline)) void sum_##name##_values_##n(                            \
        const SundogPage *page, int64_t head_dim, int64_t n_positions, float(*weights)[PAGE], \
        const SundogMerge *merge, float *results)                                             \
    {                                                                                         \
        sum;                                                                                  \
    }
#define BLOCKS_OF(n)                                                                            \
    BLOCK_OF(                                                                                   \
        n, f32, find_scores(page, queries, head_dim, n_positions, n, SUNDOG_DTYPE_F32, scores), \
        sum_values(page, head_dim, n_positions, n, SUNDOG_DTYPE_F32, weights, merge, results))  \
    BLOCK_OF(                                                                                   \
        n, f16, find_scores(page, queries, head_dim, n_positions, n, SUNDOG_DTYPE_F16, scores), \
        sum_values(page, head_dim, n_positions, n, SUNDOG_DTYPE_F16, weights, merge, results))  \
    BLOCK_OF(n, bf16, find_bf16_scores(page, queries, head_dim, n_positions, n, scores),        \
             sum_bf16_values(page, head_dim, n_positions, n, weights, merge, results))
BLOCKS_OF(1)
BLOCKS_OF(2)
BLOCKS_OF(3)
BLOCKS_OF(4)
BLOCKS_OF(5)
BLOCKS_OF(6)

typedef struct {
    void (*find_scores)(const SundogPage *page, const float *queries, int64_t head_dim,
                        int64_t n_positions, float (*scores)[PAGE]);
    void (*sum_values)(const SundogPage *page, int64_t head_dim, int64_t n_positions,
                       float (*weights)[PAGE], const SundogMerge *merge, float *results);
} BlockKernels;

enum { OF_F32, OF_F16, OF_BF16, N_TYPES };

#define ENTRY(n)                                                 \
    {                                                            \
        [OF_F32] = {find_f32_scores_##n, sum_f32_values_##n},    \
        [OF_F16] = {find_f16_scores_##n, sum_f16_values_##n},    \
        [OF_BF16] = {find_bf16_scores_##n, sum_bf16_values_##n}, \
    }
static const BlockKernels block_kernels[BLOCK][N_TYPES] = {ENTRY(1), ENTRY(2), ENTRY(3),
                                                           ENTRY(4), ENTRY(5), ENTRY(6)};

static const BlockKernels *
choose_kernels(const SundogPage *page, int n)
{
    int type = page->dtype == SUNDOG_DTYPE_F32   ? OF_F32
               : page->dtype == SUNDOG_DTYPE_F16 ? OF_F16
                                                 : OF_BF16;
    return &block_kernels[n - 1][type];
}

void
SUNDOG_KERNEL(find_scores)(const SundogPage *page, const float *queries, int64_t head_dim,
                           int64_t n_positions, int n, float (*scores)[PAGE])
{
    choose_kernels(page, n)->find_scores(page, queries, head_dim, n_positions, scores);
}

void
SUNDOG_KERNEL(sum_values)(const SundogPage *page, int64_t head_dim, int64_t n_positions, int n,
                          float (*weights)[PAGE], const SundogMerge *merge, float *results)
{
    choose_kernels(page, n)->sum_values(page, head_dim, n_positions, weights, merge, results);
}

void
SUNDOG_KERNEL(add_values)(const SundogPage *page, int64_t head_dim, int64_t begin, int64_t end,
                          const float *weights, float *sums)
{
    bool by_pairs = page->dtype == SUNDOG_DTYPE_BF16;
    for (int64_t d = 0; d < head_dim; d += LANES) {
        SundogVector acc = sundog_vector_load(sums + d);
        for (int64_t step = begin; step < end; step++) {
            int64_t p = by_pairs && (step ^ 1) < end ? step ^ 1 : step;
            SundogVector weight = sundog_vector_set(weights[p]);
            weight = by_pairs ? sundog_vector_round_factor(weight) : weight;
            acc = sundog_vector_fma(weight, load(page->values, p * head_dim + d, page->dtype), acc);
        }
        sundog_vector_store(sums + d, acc);
    }
}
