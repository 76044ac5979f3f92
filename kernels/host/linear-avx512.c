/*
 * Integer products for AVX-512 with VNNI. vpdpbusd multiplies four columns of sixteen rows at once: a
 * register holds four unsigned values of each row, as they lie in a panel, and meets four signed bytes
 * of one token, broadcast. Accumulators stay in registers: 12 of integers and 12 of floats in the tile,
 * two registers of weights, one of activations, two of scales (gcc 12 spills none of them).
 */

#include "kernels/host/linear-tiles.h"
#include "kernels/host/panels.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define TOKENS SUNDOG_TILE_TOKENS
#define GROUPS SUNDOG_PANEL_GROUPS
/* Far enough ahead that a line from memory is there in time, near enough to stay in the first cache. */
#define PREFETCH_BYTES 4096

INLINE __m512i
load(const uint8_t *from)
{
    return _mm512_loadu_si512(from);
}

INLINE __m512
load_halves(const uint8_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

INLINE void
prefetch(const uint8_t *from, int n_lines)
{
    for (int i = 0; i < n_lines; i++)
        _mm_prefetch((const char *)from + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
}

/* Four bytes of a token, for all rows. */
INLINE __m512i
broadcast(const int8_t *four)
{
    return _mm512_set1_epi32(*(const int32_t *)four);
}

INLINE int32_t
zero_correction(const SundogTile *tile, int64_t block, int token)
{
    const int32_t *isums = tile->isums + 2 * TOKENS * block + token;
    return -SUNDOG_Q8_0_ZERO * (isums[0] + isums[TOKENS]);
}

/* High nibbles are left where they are, sixteen times too large, and shifted once a block. */
INLINE void
direct_q4_1(const uint8_t *panel, int64_t n_blocks, const SundogTile *tile, const int n_tokens,
            float *out)
{
    const __m512i low_mask = _mm512_set1_epi8(0x0f), high_mask = _mm512_set1_epi8((char)0xf0);
    __m512 acc[TOKENS];
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
        acc[t] = _mm512_setzero_ps();
    for (int64_t block = 0; block < n_blocks; block++, panel += SUNDOG_Q4_1_BLOCK_BYTES) {
        const int8_t *bytes = tile->bytes + block * GROUPS * TOKENS * 4;
        __m512i low[TOKENS], high[TOKENS];
        prefetch(panel, SUNDOG_Q4_1_BLOCK_BYTES / 64);
#pragma GCC unroll 6
        for (int t = 0; t < n_tokens; t++)
            low[t] = high[t] = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int j = 0; j < GROUPS / 2; j++) {
            __m512i w = load(sundog_q4_1_values(panel, 0) + 64 * j);
            __m512i w_low = _mm512_and_si512(w, low_mask), w_high = _mm512_and_si512(w, high_mask);
#pragma GCC unroll 6
            for (int t = 0; t < n_tokens; t++) {
                const int8_t *four = bytes + (2 * j * TOKENS + t) * 4;
                low[t] = _mm512_dpbusd_epi32(low[t], w_low, broadcast(four));
                high[t] = _mm512_dpbusd_epi32(high[t], w_high, broadcast(four + TOKENS * 4));
            }
        }
        __m512 d = load_halves(panel), m = load_halves(sundog_q4_1_minima(panel, 0));
#pragma GCC unroll 6
        for (int t = 0; t < n_tokens; t++) {
            __m512i dot = _mm512_add_epi32(low[t], _mm512_srai_epi32(high[t], 4));
            __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(tile->scales[block * TOKENS + t]));
            acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scale, acc[t]);
            acc[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(tile->sums[block * TOKENS + t]), acc[t]);
        }
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
        _mm512_storeu_ps(out + t * SUNDOG_UNIT_ROWS, acc[t]);
}

INLINE void
direct_q8_0(const uint8_t *panel, int64_t n_blocks, const SundogTile *tile, const int n_tokens,
            float *out)
{
    __m512 acc[TOKENS];
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
        acc[t] = _mm512_setzero_ps();
    for (int64_t block = 0; block < n_blocks; block++) {
        const uint8_t *values = sundog_q8_0_values(panel, block);
        const int8_t *bytes = tile->bytes + block * GROUPS * TOKENS * 4;
        __m512i even[TOKENS], odd[TOKENS];
        prefetch(values, GROUPS);
#pragma GCC unroll 6
        for (int t = 0; t < n_tokens; t++) {
            even[t] = _mm512_set1_epi32(zero_correction(tile, block, t));
            odd[t] = _mm512_setzero_si512();
        }
#pragma GCC unroll 4
        for (int j = 0; j < GROUPS / 2; j++) {
            __m512i w_even = load(values + 128 * j), w_odd = load(values + 128 * j + 64);
#pragma GCC unroll 6
            for (int t = 0; t < n_tokens; t++) {
                const int8_t *four = bytes + (2 * j * TOKENS + t) * 4;
                even[t] = _mm512_dpbusd_epi32(even[t], w_even, broadcast(four));
                odd[t] = _mm512_dpbusd_epi32(odd[t], w_odd, broadcast(four + TOKENS * 4));
            }
        }
        __m512 d = load_halves(sundog_q8_0_scales(panel, block));
#pragma GCC unroll 6
        for (int t = 0; t < n_tokens; t++) {
            __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(tile->scales[block * TOKENS + t]));
            __m512i dot = _mm512_add_epi32(even[t], odd[t]);
            acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scale, acc[t]);
        }
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
        _mm512_storeu_ps(out + t * SUNDOG_UNIT_ROWS, acc[t]);
}

/* One function a number of tokens, so that each keeps its accumulators in registers. */
#define DIRECT(n)                                                                               \
    static void direct_q4_1_##n(const uint8_t *panel, int64_t n_blocks, const SundogTile *tile, \
                                float *out)                                                     \
    {                                                                                           \
        direct_q4_1(panel, n_blocks, tile, n, out);                                             \
    }                                                                                           \
    static void direct_q8_0_##n(const uint8_t *panel, int64_t n_blocks, const SundogTile *tile, \
                                float *out)                                                     \
    {                                                                                           \
        direct_q8_0(panel, n_blocks, tile, n, out);                                             \
    }
DIRECT(1)
DIRECT(2)
DIRECT(3)
DIRECT(4)
DIRECT(5)
DIRECT(6)
#undef DIRECT

typedef void (*Direct)(const uint8_t *panel, int64_t n_blocks, const SundogTile *tile, float *out);

bool
SUNDOG_KERNEL(has_direct_product)(void)
{
    return true;
}

void
SUNDOG_KERNEL(direct_product)(SundogLayout layout, const uint8_t *panel, int64_t n_columns,
                              const SundogTile *tile, int n_tokens, float *out)
{
    static const Direct q4_1[] = {direct_q4_1_1, direct_q4_1_2, direct_q4_1_3,
                                  direct_q4_1_4, direct_q4_1_5, direct_q4_1_6};
    static const Direct q8_0[] = {direct_q8_0_1, direct_q8_0_2, direct_q8_0_3,
                                  direct_q8_0_4, direct_q8_0_5, direct_q8_0_6};
    const Direct *direct = layout == SUNDOG_LAYOUT_PANEL16_Q4_1 ? q4_1 : q8_0;
    direct[n_tokens - 1](panel, n_columns / SUNDOG_ACTIVATION_BLOCK, tile, out);
}

static void
unpack_q4_1(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    const __m512i mask = _mm512_set1_epi8(0x0f);
    for (int64_t block = 0; block < to->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
        uint8_t *bytes = to->bytes + block * GROUPS * 128 + 64 * half;
        prefetch(panel, SUNDOG_Q4_1_BLOCK_BYTES / 64);
        _mm512_storeu_ps(to->scales + block * 32 + 16 * half, load_halves(panel));
        _mm512_storeu_ps(to->minima + block * 32 + 16 * half,
                         load_halves(sundog_q4_1_minima(panel, 0)));
#pragma GCC unroll 4
        for (int j = 0; j < GROUPS / 2; j++) {
            __m512i w = load(sundog_q4_1_values(panel, 0) + 64 * j);
            _mm512_storeu_si512(bytes + 256 * j, _mm512_and_si512(w, mask));
            _mm512_storeu_si512(bytes + 256 * j + 128,
                                _mm512_and_si512(_mm512_srli_epi16(w, 4), mask));
        }
        panel += SUNDOG_Q4_1_BLOCK_BYTES;
    }
}

static void
unpack_q8_0(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    for (int64_t block = 0; block < to->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
        const uint8_t *values = sundog_q8_0_values(panel, block);
        uint8_t *bytes = to->bytes + block * GROUPS * 128 + 64 * half;
        prefetch(values, GROUPS);
        _mm512_storeu_ps(to->scales + block * 32 + 16 * half,
                         load_halves(sundog_q8_0_scales(panel, block)));
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++)
            _mm512_storeu_si512(bytes + 128 * group, load(values + 64 * group));
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

/* The tile of 32 rows and 6 tokens. The broadcast is written out, since gcc would otherwise repeat it
 * as a memory operand of each half's product. */
INLINE void
multiply_tile(const SundogUnpacked *weight, const SundogTile *tile, const bool has_minima,
              float *out)
{
    const uint8_t *w = weight->bytes;
    const int8_t *bytes = tile->bytes;
    const float *scales = tile->scales, *sums = tile->sums;
    const float *d = weight->scales, *m = weight->minima;
    int64_t n_blocks = weight->n_columns / SUNDOG_ACTIVATION_BLOCK;
    __m512 acc[TOKENS][2];
#pragma GCC unroll 6
    for (int t = 0; t < TOKENS; t++)
        acc[t][0] = acc[t][1] = _mm512_setzero_ps();
    for (int64_t block = 0; block < n_blocks; block++) {
        __m512i dot[TOKENS][2];
#pragma GCC unroll 6
        for (int t = 0; t < TOKENS; t++)
            dot[t][0] = dot[t][1] = has_minima ? _mm512_setzero_si512()
                                               : _mm512_set1_epi32(zero_correction(tile, block, t));
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++) {
            __m512i first = load(w + 128 * group), second = load(w + 128 * group + 64);
#pragma GCC unroll 6
            for (int t = 0; t < TOKENS; t++) {
                __m512i a;
                __asm__("vpbroadcastd %1, %0"
                        : "=v"(a)
                        : "m"(*(const int32_t *)(bytes + (group * TOKENS + t) * 4)));
                dot[t][0] = _mm512_dpbusd_epi32(dot[t][0], first, a);
                dot[t][1] = _mm512_dpbusd_epi32(dot[t][1], second, a);
            }
        }
#pragma GCC unroll 6
        for (int t = 0; t < TOKENS; t++) {
            __m512 token_scale = _mm512_set1_ps(scales[t]), sum = _mm512_set1_ps(sums[t]);
#pragma GCC unroll 2
            for (int half = 0; half < 2; half++) {
                __m512 scale = _mm512_mul_ps(token_scale, _mm512_loadu_ps(d + 16 * half));
                acc[t][half] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t][half]), scale, acc[t][half]);
                if (has_minima)
                    acc[t][half] =
                        _mm512_fmadd_ps(sum, _mm512_loadu_ps(m + 16 * half), acc[t][half]);
            }
        }
        w += GROUPS * 128;
        bytes += GROUPS * TOKENS * 4;
        scales += TOKENS;
        sums += TOKENS;
        d += 32;
        m += 32;
    }
#pragma GCC unroll 6
    for (int t = 0; t < TOKENS; t++) {
        _mm512_storeu_ps(out + t * SUNDOG_UNIT_ROWS, acc[t][0]);
        _mm512_storeu_ps(out + t * SUNDOG_UNIT_ROWS + 16, acc[t][1]);
    }
}

static void __attribute__((noinline))
multiply_tile_with_minima(const SundogUnpacked *weight, const SundogTile *tile, float *out)
{
    multiply_tile(weight, tile, true, out);
}

static void __attribute__((noinline))
multiply_tile_with_zero(const SundogUnpacked *weight, const SundogTile *tile, float *out)
{
    multiply_tile(weight, tile, false, out);
}

void
SUNDOG_KERNEL(tile_product)(const SundogUnpacked *weight, const SundogTile *tile, int n_tokens,
                            float *out)
{
    if (weight->layout == SUNDOG_LAYOUT_PANEL16_Q4_1)
        multiply_tile_with_minima(weight, tile, out);
    else
        multiply_tile_with_zero(weight, tile, out);
}
