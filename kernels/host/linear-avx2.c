/*
 * Integer products for AVX2. vpmaddubsw multiplies unsigned by signed bytes and adds pairs in 16 bits;
 * with weights of 4 bits a whole block of 32 columns fits there (8 * 2 * 15 * 127 = 30,480), so pairs
 * are joined to 32 bits once a block. A weight of 8 bits is two of 4, sixteen times the upper one.
 *
 * Float accumulators stand in the result, since the integer ones take the registers: 12 of 16.
 */

#include "kernels/host/linear-tiles.h"
#include "kernels/host/panels.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define TOKENS SUNDOG_TILE_TOKENS
#define GROUPS SUNDOG_PANEL_GROUPS
#define LANES 8 /* rows in a register */
#define GROUP_BYTES (4 * SUNDOG_UNIT_ROWS)
#define PREFETCH_BYTES 4096

INLINE __m256i
load(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

INLINE void
store(uint8_t *to, __m256i v)
{
    _mm256_storeu_si256((__m256i *)to, v);
}

INLINE void
prefetch(const uint8_t *from, int n_lines)
{
    for (int i = 0; i < n_lines; i++)
        _mm_prefetch((const char *)from + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
}

INLINE void
store_widened(float *to, const uint8_t *halves)
{
    for (int i = 0; i < 2; i++)
        _mm256_storeu_ps(to + 8 * i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(halves + 16 * i))));
}

/* Adds one group of four columns for a register of rows and all tokens. */
INLINE void
add_products(__m256i *acc, const int stride, __m256i w, const int8_t *bytes, const int n_tokens)
{
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++) {
        __m256i a = _mm256_set1_epi32(*(const int32_t *)(bytes + 4 * t));
        acc[t * stride] = _mm256_add_epi16(acc[t * stride], _mm256_maddubs_epi16(w, a));
    }
}

/* acc = fma(dot, d * scale, acc), in memory. */
INLINE void
scale_dot(float *out, __m256i dot, __m256 d, float scale)
{
    __m256 product = _mm256_mul_ps(d, _mm256_set1_ps(scale));
    _mm256_storeu_ps(out, _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), product, _mm256_loadu_ps(out)));
}

INLINE void
clear(float *out, const int n_tokens)
{
    for (int t = 0; t < n_tokens; t++)
        for (int r = 0; r < SUNDOG_UNIT_ROWS; r += LANES)
            _mm256_storeu_ps(out + t * SUNDOG_UNIT_ROWS + r, _mm256_setzero_ps());
}

/* One block of 16 rows, two registers of them at a time. */
INLINE void
multiply_q4_1_block(const uint8_t *w, const float *d, const float *m, const SundogTile *tile,
                    int64_t block, const int n_tokens, float *out)
{
    const int8_t *bytes = tile->bytes + block * GROUPS * TOKENS * 4;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i acc[2 * TOKENS];
#pragma GCC unroll 12
    for (int i = 0; i < 2 * n_tokens; i++)
        acc[i] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int group = 0; group < GROUPS; group++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++)
            add_products(acc + v, 2, load(w + group * GROUP_BYTES + 32 * v),
                         bytes + group * TOKENS * 4, n_tokens);
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            float *at = out + t * SUNDOG_UNIT_ROWS + LANES * v;
            scale_dot(at, _mm256_madd_epi16(acc[2 * t + v], ones), _mm256_loadu_ps(d + LANES * v),
                      tile->scales[block * TOKENS + t]);
            __m256 sum = _mm256_set1_ps(tile->sums[block * TOKENS + t]);
            _mm256_storeu_ps(
                at, _mm256_fmadd_ps(_mm256_loadu_ps(m + LANES * v), sum, _mm256_loadu_ps(at)));
        }
}

/* One block of 8 rows. */
INLINE void
multiply_q8_0_block(const uint8_t *w, const float *d, const SundogTile *tile, int64_t block,
                    const int n_tokens, float *out)
{
    const int8_t *bytes = tile->bytes + block * GROUPS * TOKENS * 4;
    const int32_t *isums = tile->isums + block * 2 * TOKENS;
    const __m256i ones = _mm256_set1_epi16(1), nibble = _mm256_set1_epi8(15);
    __m256i low[TOKENS], high[TOKENS];
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
        low[t] = high[t] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int group = 0; group < GROUPS; group++) {
        __m256i bytes_of_w = load(w + group * GROUP_BYTES);
        __m256i shifted = _mm256_srli_epi16(bytes_of_w, 4);
        add_products(low, 1, _mm256_and_si256(bytes_of_w, nibble), bytes + group * TOKENS * 4,
                     n_tokens);
        add_products(high, 1, _mm256_and_si256(shifted, nibble), bytes + group * TOKENS * 4,
                     n_tokens);
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++) {
        __m256i dot = _mm256_slli_epi32(_mm256_madd_epi16(high[t], ones), 4);
        dot = _mm256_add_epi32(dot, _mm256_madd_epi16(low[t], ones));
        int32_t zero = SUNDOG_Q8_0_ZERO * (isums[t] + isums[t + TOKENS]);
        dot = _mm256_sub_epi32(dot, _mm256_set1_epi32(zero));
        scale_dot(out + t * SUNDOG_UNIT_ROWS, dot, _mm256_loadu_ps(d),
                  tile->scales[block * TOKENS + t]);
    }
}

INLINE void
multiply(const SundogUnpacked *weight, const SundogTile *tile, const int n_tokens, float *out)
{
    bool q4 = weight->layout == SUNDOG_LAYOUT_PANEL16_Q4_1;
    int rows = q4 ? 2 * LANES : LANES;
    clear(out, n_tokens);
    for (int row = 0; row < SUNDOG_UNIT_ROWS; row += rows)
        for (int64_t block = 0; block < weight->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
            const uint8_t *w = weight->bytes + block * GROUPS * GROUP_BYTES + 4 * row;
            const float *d = weight->scales + block * SUNDOG_UNIT_ROWS + row;
            const float *m = weight->minima + block * SUNDOG_UNIT_ROWS + row;
            if (q4)
                multiply_q4_1_block(w, d, m, tile, block, n_tokens, out + row);
            else
                multiply_q8_0_block(w, d, tile, block, n_tokens, out + row);
        }
}

/* One function a number of tokens, so that each keeps its accumulators in registers. */
#define MULTIPLY(n)                                                                            \
    static void multiply_##n(const SundogUnpacked *weight, const SundogTile *tile, float *out) \
    {                                                                                          \
        multiply(weight, tile, n, out);                                                        \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
#undef MULTIPLY

void
SUNDOG_KERNEL(tile_product)(const SundogUnpacked *weight, const SundogTile *tile, int n_tokens,
                            float *out)
{
    static void (*const by_tokens[])(const SundogUnpacked *, const SundogTile *, float *) = {
        multiply_1, multiply_2, multiply_3, multiply_4, multiply_5, multiply_6};
    by_tokens[n_tokens - 1](weight, tile, out);
}

static void
unpack_q4_1(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    for (int64_t block = 0; block < to->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
        uint8_t *bytes = to->bytes + block * GROUPS * GROUP_BYTES + 64 * half;
        prefetch(panel, SUNDOG_Q4_1_BLOCK_BYTES / 64);
        store_widened(to->scales + block * 32 + 16 * half, panel);
        store_widened(to->minima + block * 32 + 16 * half, sundog_q4_1_minima(panel, 0));
#pragma GCC unroll 8
        for (int i = 0; i < GROUPS; i++) {
            __m256i w = load(sundog_q4_1_values(panel, 0) + 32 * i);
            uint8_t *low = bytes + i / 2 * 2 * GROUP_BYTES + i % 2 * 32;
            store(low, _mm256_and_si256(w, nibble));
            store(low + GROUP_BYTES, _mm256_and_si256(_mm256_srli_epi16(w, 4), nibble));
        }
        panel += SUNDOG_Q4_1_BLOCK_BYTES;
    }
}

static void
unpack_q8_0(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    for (int64_t block = 0; block < to->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
        const uint8_t *values = sundog_q8_0_values(panel, block);
        uint8_t *bytes = to->bytes + block * GROUPS * GROUP_BYTES + 64 * half;
        prefetch(values, GROUPS);
        store_widened(to->scales + block * 32 + 16 * half, sundog_q8_0_scales(panel, block));
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++) {
            store(bytes + group * GROUP_BYTES, load(values + 64 * group));
            store(bytes + group * GROUP_BYTES + 32, load(values + 64 * group + 32));
        }
    }
}

void
SUNDOG_KERNEL(unpack_panel)(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    if (to->layout == SUNDOG_LAYOUT_PANEL16_Q4_1)
        unpack_q4_1(to, half, panel);
    else
        unpack_q8_0(to, half, panel);
}

/* Taking a panel apart first costs less than memory takes to bring the next. */
bool
SUNDOG_KERNEL(has_direct_product)(void)
{
    return false;
}

void
SUNDOG_KERNEL(direct_product)(SundogLayout layout, const uint8_t *panel, int64_t n_columns,
                              const SundogTile *tile, int n_tokens, float *out)
{
    __builtin_unreachable();
}
