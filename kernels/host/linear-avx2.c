/*
 * Integer products for AVX2 and AVX-VNNI, eight rows at a time. vpmaddubsw multiplies unsigned by signed bytes and adds
 * pairs in 16 bits, where as many groups of four columns are summed as fit: eight of 4 bits
 * (8 * 2 * 15 * 127 = 30,480), four of 5 bits, two of 6. A weight of 8 bits is two of 4, the upper one
 * sixteen times.
 *
 * With AVX-VNNI vpdpbusd does all of that at once, whatever the bits.
 *
 * The eight groups of 32 columns stay in registers while the tokens pass; so float accumulators stand in
 * the result, save for the one token that decoding mostly has.
 */

#include "kernels/host/linear-tiles.h"
#include "kernels/host/lines.h"

#define TOKENS SUNDOG_TILE_TOKENS
#define GROUPS SUNDOG_PANEL_GROUPS
#define BLOCK SUNDOG_PANEL_BLOCK
#define UNIT SUNDOG_UNIT_ROWS
#define LANES SUNDOG_BYTE_ROWS
#define WORD 4 /* bytes of a row in a group */

#ifdef __AVXVNNI__

/* The exact products of n groups and one token, zero points still in them. */
SUNDOG_INLINE __m256i
multiply_groups(const SundogPanelForm *form, const __m256i *w, const int8_t *bytes, const int n)
{
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int group = 0; group < n; group++) {
        __m256i a = _mm256_set1_epi32(*(const int32_t *)(bytes + group * TOKENS * WORD));
        sum = _mm256_dpbusd_avx_epi32(sum, w[group], a);
    }
    return sum;
}

#else

/* How many groups are summed in 16 bits, of weights up to the form's greatest. */
SUNDOG_INLINE int
count_groups_at_once(const SundogPanelForm *form)
{
    int bits = form->low_bits + form->high_bits;
    if (form->codebook != NULL)
        bits = form->zero == 128 ? 8 : 5;
    int n = bits <= 4 || bits == 8 ? 8 : bits == 5 ? 4 : 2;
    return n < GROUPS / sundog_lines_n_scales(form) ? n : GROUPS / sundog_lines_n_scales(form);
}

SUNDOG_INLINE bool
is_split(const SundogPanelForm *form)
{
    return form->low_bits == 8 || (form->codebook != NULL && form->zero == 128);
}

/* Sums of `n` groups of 16-bit pairs, as 32 bits a row. */
SUNDOG_INLINE __m256i
sum_groups(const __m256i *w, const int8_t *bytes, const int n)
{
    __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int group = 0; group < n; group++) {
        __m256i a = _mm256_set1_epi32(*(const int32_t *)(bytes + group * TOKENS * WORD));
        __m256i pairs = _mm256_maddubs_epi16(w[group], a);
        sum = group == 0 ? pairs : _mm256_add_epi16(sum, pairs);
    }
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

SUNDOG_INLINE __m256i
sum_split_groups(const __m256i *w, const int8_t *bytes, const int n)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i low[GROUPS], high[GROUPS];
#pragma GCC unroll 8
    for (int group = 0; group < n; group++) {
        low[group] = _mm256_and_si256(w[group], nibble);
        high[group] = _mm256_and_si256(_mm256_srli_epi16(w[group], 4), nibble);
    }
    __m256i upper = _mm256_slli_epi32(sum_groups(high, bytes, n), 4);
    return _mm256_add_epi32(upper, sum_groups(low, bytes, n));
}

/* The exact products of n groups and one token, zero points still in them. */
SUNDOG_INLINE __m256i
multiply_groups(const SundogPanelForm *form, const __m256i *w, const int8_t *bytes, const int n)
{
    if (is_split(form))
        return sum_split_groups(w, bytes, n);
    const int at_once = count_groups_at_once(form);
    __m256i sum = sum_groups(w, bytes, at_once);
#pragma GCC unroll 4
    for (int group = at_once; group < n; group += at_once)
        sum = _mm256_add_epi32(sum, sum_groups(w + group, bytes + group * TOKENS * WORD, at_once));
    return sum;
}

#endif

/* Scales and minima of eight rows for each group of columns in 32 that has its own. */
typedef struct {
    __m256 scales[2];
    __m256 minima[2];
} Scales;

/* Adds 32 columns of one token to eight rows. */
SUNDOG_INLINE __m256
add_columns(const SundogPanelForm *form, const __m256i *w, const Scales *scales,
            const SundogTile *tile, int64_t block, int64_t token, __m256 acc)
{
    const int n_scales = sundog_lines_n_scales(form), n = GROUPS / n_scales;
    const int8_t *bytes = tile->bytes + (block * GROUPS * TOKENS + token) * WORD;
    const int32_t *isums = tile->isums + 2 * TOKENS * block + token;
    const float scale = tile->scales[block * TOKENS + token];
#pragma GCC unroll 2
    for (int i = 0; i < n_scales; i++) {
        int32_t isum = n_scales == 1 ? isums[0] + isums[TOKENS] : isums[i * TOKENS];
        __m256i dot = multiply_groups(form, w + i * n, bytes + i * n * TOKENS * WORD, n);
        if (form->zero != 0)
            dot = _mm256_sub_epi32(dot, _mm256_set1_epi32(form->zero * isum));
        acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot),
                              _mm256_mul_ps(scales->scales[i], _mm256_set1_ps(scale)), acc);
        float sum = n_scales == 1 ? tile->sums[block * TOKENS + token] : scale * (float)isum;
        if (form->has_minima)
            acc = _mm256_fmadd_ps(scales->minima[i], _mm256_set1_ps(sum), acc);
    }
    return acc;
}

SUNDOG_INLINE __m256
half_of(SundogVector v, const int half)
{
    return half == 0 ? v.low : v.high;
}

SUNDOG_INLINE void
take_scales(const SundogPanelForm *form, const uint8_t *block, int64_t k, Scales scales[2])
{
#pragma GCC unroll 2
    for (int i = 0; i < sundog_lines_n_scales(form); i++) {
        SundogVector d = sundog_lines_scale(form, block, k + i * form->scale_columns);
        SundogVector m = form->has_minima
                             ? sundog_lines_minimum(form, block, k + i * form->scale_columns)
                             : sundog_vector_set(0);
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            scales[half].scales[i] = half_of(d, half);
            scales[half].minima[i] = half_of(m, half);
        }
    }
}

SUNDOG_INLINE void
multiply_panel(const SundogPanelForm *form, const uint8_t *panel, int64_t n_columns,
               const SundogTile *tile, const bool one, int n_tokens, float *out)
{
    __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    Scales scales[2];
    for (int t = 0; t < n_tokens; t++)
        sundog_vector_store(out + t * UNIT, sundog_vector_set(0));
    for (int64_t k = 0; k < n_columns; k += BLOCK) {
        const uint8_t *block = sundog_panel_block(form, panel, k);
        const uint8_t *lines = sundog_panel_lines(form, block, k);
        sundog_lines_prefetch(form, panel, k);
        take_scales(form, block, k, scales);
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m256i w[GROUPS];
#pragma GCC unroll 8
            for (int group = 0; group < GROUPS; group++)
                w[group] = sundog_lines_group(form, lines + half * LANES * WORD, group);
            if (one)
                acc[half] = add_columns(form, w, &scales[half], tile, k / BLOCK, 0, acc[half]);
            for (int t = 0; t < n_tokens && !one; t++) {
                float *at = out + t * UNIT + half * LANES;
                _mm256_storeu_ps(at, add_columns(form, w, &scales[half], tile, k / BLOCK, t,
                                                 _mm256_loadu_ps(at)));
            }
        }
    }
    if (one)
        sundog_vector_store(out, (SundogVector){acc[0], acc[1]});
}

/* Eight rows of what was taken apart. */
SUNDOG_INLINE void
multiply_unpacked(const SundogPanelForm *form, const SundogUnpacked *weight, int row,
                  const SundogTile *tile, int n_tokens, float *out)
{
    const int n_scales = sundog_lines_n_scales(form);
    for (int t = 0; t < n_tokens; t++)
        _mm256_storeu_ps(out + t * UNIT, _mm256_setzero_ps());
    for (int64_t block = 0; block < weight->n_columns / BLOCK; block++) {
        const uint8_t *bytes = weight->bytes + (block * GROUPS * UNIT + row) * WORD;
        Scales scales;
        __m256i w[GROUPS];
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++)
            w[group] = sundog_bytes_load(bytes + group * UNIT * WORD);
#pragma GCC unroll 2
        for (int i = 0; i < n_scales; i++) {
            int64_t at = (block * n_scales + i) * UNIT + row;
            scales.scales[i] = _mm256_loadu_ps(weight->scales + at);
            if (form->has_minima)
                scales.minima[i] = _mm256_loadu_ps(weight->minima + at);
        }
        for (int t = 0; t < n_tokens; t++) {
            float *at = out + t * UNIT;
            _mm256_storeu_ps(at,
                             add_columns(form, w, &scales, tile, block, t, _mm256_loadu_ps(at)));
        }
    }
}

#define X(name)                                                                                \
    static void direct_##name(const uint8_t *panel, int64_t n_columns, const SundogTile tile,  \
                              int n_tokens, float *out)                                        \
    {                                                                                          \
        const SundogPanelForm form = sundog_panel_form(SUNDOG_LAYOUT_PANEL16_##name);          \
        if (n_tokens == 1)                                                                     \
            multiply_panel(&form, panel, n_columns, &tile, true, 1, out);                      \
        else                                                                                   \
            multiply_panel(&form, panel, n_columns, &tile, false, n_tokens, out);              \
    }                                                                                          \
                                                                                               \
    static void tile_##name(const SundogUnpacked *weight, const SundogTile tile, int n_tokens, \
                            float *out)                                                        \
    {                                                                                          \
        const SundogPanelForm form = sundog_panel_form(SUNDOG_LAYOUT_PANEL16_##name);          \
        for (int row = 0; row < UNIT; row += LANES)                                            \
            multiply_unpacked(&form, weight, row, &tile, n_tokens, out + row);                 \
    }
SUNDOG_QUANTIZED_PANELS(X)
#undef X

void
SUNDOG_KERNEL(direct_product)(SundogLayout layout, const uint8_t *const panels[2],
                              int64_t n_columns, const SundogTile *tile, int n_tokens, float *out)
{
    for (int half = 0; half < 2 && (half == 0 || panels[1] != panels[0]); half++)
        switch (layout) {
#define X(name)                                                                                  \
    case SUNDOG_LAYOUT_PANEL16_##name:                                                           \
        direct_##name(panels[half], n_columns, *tile, n_tokens, out + half * SUNDOG_PANEL_ROWS); \
        break;
            SUNDOG_QUANTIZED_PANELS(X)
#undef X
        default:
            break;
        }
}

void
SUNDOG_KERNEL(tile_product)(const SundogUnpacked *weight, const SundogTile *tile, int n_tokens,
                            float *out)
{
    switch (weight->layout) {
#define X(name)                                    \
    case SUNDOG_LAYOUT_PANEL16_##name:             \
        tile_##name(weight, *tile, n_tokens, out); \
        break;
        SUNDOG_QUANTIZED_PANELS(X)
#undef X
    default:
        break;
    }
}
