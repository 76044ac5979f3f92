/*
 * Integer products for AVX-512 with VNNI. vpdpbusd multiplies four columns of sixteen rows at once: a
 * register holds four unsigned values of each row, as they lie in a panel, and meets four signed bytes
 * of one token, broadcast. In the tile of many tokens accumulators stay in registers: 12 of integers and
 * 12 of floats, two registers of weights, one of activations, two of scales (gcc 12 spills none of them).
 */

#include "kernels/host/linear-tiles.h"
#include "kernels/host/lines.h"

#define TOKENS SUNDOG_TILE_TOKENS
#define GROUPS SUNDOG_PANEL_GROUPS
#define BLOCK SUNDOG_PANEL_BLOCK
#define UNIT SUNDOG_UNIT_ROWS
#define ROWS SUNDOG_PANEL_ROWS

/* Four bytes of a token, for all rows. */
SUNDOG_INLINE __m512i
broadcast(const int8_t *four)
{
    return _mm512_set1_epi32(*(const int32_t *)four);
}

/* The same where several products share it. Written out, since gcc would otherwise repeat it as a memory
 * operand of each. */
SUNDOG_INLINE __m512i
broadcast_once(const int8_t *four)
{
    __m512i a;
    __asm__("vpbroadcastd %1, %0" : "=v"(a) : "m"(*(const int32_t *)four));
    return a;
}

/* Keeps the compiler from mixing what comes before with what follows: either fills the registers. */
SUNDOG_INLINE void
keep_apart(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The integer sum of one token over the columns that share scale i of n_scales in a block. */
SUNDOG_INLINE int32_t
find_sum(const SundogTile *tile, int64_t block, int token, const int n_scales, const int i)
{
    const int32_t *isums = tile->isums + 2 * TOKENS * block + token;
    return n_scales == 1 ? isums[0] + isums[TOKENS] : isums[i * TOKENS];
}

/* activation.h's sum for 32 columns, or the same for 16. */
SUNDOG_INLINE float
find_scaled_sum(const SundogTile *tile, int64_t block, int token, const int n_scales, const int i)
{
    if (n_scales == 1)
        return tile->sums[block * TOKENS + token];
    return tile->scales[block * TOKENS + token] * (float)find_sum(tile, block, token, n_scales, i);
}

/* What products need to know of a layout. */
typedef struct {
    int n_scales;
    bool has_minima;
    int32_t zero;
} Kind;

/* -zero times the sums of all tokens: what the integer accumulators begin with. */
SUNDOG_INLINE void
find_corrections(const SundogTile *tile, int64_t block, const Kind *kind, int32_t (*to)[8])
{
    const int32_t *isums = tile->isums + 2 * TOKENS * block;
    __m256i first = _mm256_maskz_loadu_epi32(0x3f, isums);
    __m256i second = _mm256_maskz_loadu_epi32(0x3f, isums + TOKENS);
    const __m256i factor = _mm256_set1_epi32(-kind->zero);
    if (kind->n_scales == 1)
        first = _mm256_add_epi32(first, second);
    _mm256_storeu_si256((__m256i *)to[0], _mm256_mullo_epi32(first, factor));
    if (kind->n_scales == 2)
        _mm256_storeu_si256((__m256i *)to[1], _mm256_mullo_epi32(second, factor));
}

/* What 32 columns of one panel hold. */
typedef struct {
    __m512i groups[GROUPS];
    __m512 scales[2];
    __m512 minima[2];
} Columns;

SUNDOG_INLINE void
take_columns(const SundogPanelForm *form, const uint8_t *panel, int64_t k, Columns *columns)
{
    const uint8_t *block = sundog_panel_block(form, panel, k);
    const uint8_t *lines = sundog_panel_lines(form, block, k);
    sundog_lines_prefetch(form, panel, k);
#pragma GCC unroll 8
    for (int group = 0; group < GROUPS; group++)
        columns->groups[group] = sundog_lines_group(form, lines, group);
#pragma GCC unroll 2
    for (int i = 0; i < sundog_lines_n_scales(form); i++) {
        columns->scales[i] = sundog_lines_scale(form, block, k + i * form->scale_columns);
        if (form->has_minima)
            columns->minima[i] = sundog_lines_minimum(form, block, k + i * form->scale_columns);
    }
}

/* acc and the scaled products of one token and scale i of some columns. */
SUNDOG_INLINE __m512
add_scaled(const SundogPanelForm *form, const Columns *columns, const SundogTile *tile,
           int64_t block, int token, const int i, __m512i dot, __m512 acc)
{
    const __m512 scale = _mm512_set1_ps(tile->scales[block * TOKENS + token]);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(columns->scales[i], scale), acc);
    if (!form->has_minima)
        return acc;
    float sum = find_scaled_sum(tile, block, token, sundog_lines_n_scales(form), i);
    return _mm512_fmadd_ps(columns->minima[i], _mm512_set1_ps(sum), acc);
}

/* One token, a panel at a time: what decoding mostly has. Products go in two chains, to hide their
 * latency. */
SUNDOG_INLINE void
multiply_one(const SundogPanelForm *form, const uint8_t *panel, int64_t n_columns,
             const SundogTile *tile, float *out)
{
    const int n_scales = sundog_lines_n_scales(form);
    __m512 acc = _mm512_setzero_ps();
    for (int64_t k = 0; k < n_columns; k += BLOCK) {
        const int8_t *bytes = tile->bytes + k * TOKENS;
        Columns columns;
        __m512i dot[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        take_columns(form, panel, k, &columns);
#pragma GCC unroll 2
        for (int i = 0; i < n_scales; i++)
            if (form->zero != 0)
                dot[i] = _mm512_set1_epi32(-form->zero * find_sum(tile, k / BLOCK, 0, n_scales, i));
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++) {
            const int chain = n_scales == 1 ? group % 2 : group / (GROUPS / 2);
            dot[chain] = _mm512_dpbusd_epi32(dot[chain], columns.groups[group],
                                             broadcast(bytes + group * TOKENS * 4));
        }
        if (n_scales == 1)
            dot[0] = _mm512_add_epi32(dot[0], dot[1]);
#pragma GCC unroll 2
        for (int i = 0; i < n_scales; i++)
            acc = add_scaled(form, &columns, tile, k / BLOCK, 0, i, dot[i], acc);
    }
    _mm512_storeu_ps(out, acc);
}

/* 32 columns of two panels, which share the token's broadcasts. */
SUNDOG_INLINE void
multiply_columns(const SundogPanelForm *form, const Columns columns[2], const SundogTile *tile,
                 int64_t block, int token, int32_t (*corrections)[8], float *out)
{
    const int8_t *bytes = tile->bytes + (block * GROUPS * TOKENS + token) * 4;
    const int n_scales = sundog_lines_n_scales(form), n_groups = GROUPS / n_scales;
    __m512 acc[2] = {_mm512_loadu_ps(out), _mm512_loadu_ps(out + ROWS)};
#pragma GCC unroll 2
    for (int i = 0; i < n_scales; i++) {
        __m512i dot[2];
        dot[0] = dot[1] = _mm512_setzero_si512();
        if (form->zero != 0)
            dot[0] = dot[1] = _mm512_set1_epi32(corrections[i][token]);
#pragma GCC unroll 8
        for (int group = i * n_groups; group < (i + 1) * n_groups; group++) {
            __m512i a = broadcast_once(bytes + group * TOKENS * 4);
            dot[0] = _mm512_dpbusd_epi32(dot[0], columns[0].groups[group], a);
            dot[1] = _mm512_dpbusd_epi32(dot[1], columns[1].groups[group], a);
        }
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++)
            acc[half] =
                add_scaled(form, &columns[half], tile, block, token, i, dot[half], acc[half]);
    }
    _mm512_storeu_ps(out, acc[0]);
    _mm512_storeu_ps(out + ROWS, acc[1]);
}

/* Some tokens: two panels' columns stay in registers while the tokens pass. */
SUNDOG_INLINE void
multiply_some(const SundogPanelForm *form, const uint8_t *const panels[2], int64_t n_columns,
              const SundogTile *tile, int n_tokens, float *out)
{
    const Kind kind = {.n_scales = sundog_lines_n_scales(form), .zero = form->zero};
    int32_t corrections[2][8];
    for (int t = 0; t < n_tokens; t++)
        memset(out + t * UNIT, 0, UNIT * sizeof(float));
    for (int64_t k = 0; k < n_columns; k += BLOCK) {
        Columns columns[2];
        if (form->zero != 0)
            find_corrections(tile, k / BLOCK, &kind, corrections);
        take_columns(form, panels[0], k, &columns[0]);
        take_columns(form, panels[1], k, &columns[1]);
        for (int t = 0; t < n_tokens; t++)
            multiply_columns(form, columns, tile, k / BLOCK, t, corrections, out + t * UNIT);
    }
}

#define X(name)                                                                       \
    static void direct_##name(const uint8_t *const panels[2], int64_t n_columns,      \
                              const SundogTile tile, int n_tokens, float *out)        \
    {                                                                                 \
        const SundogPanelForm form = sundog_panel_form(SUNDOG_LAYOUT_PANEL16_##name); \
        if (n_tokens > 1) {                                                           \
            multiply_some(&form, panels, n_columns, &tile, n_tokens, out);            \
            return;                                                                   \
        }                                                                             \
        multiply_one(&form, panels[0], n_columns, &tile, out);                        \
        if (panels[1] != panels[0])                                                   \
            multiply_one(&form, panels[1], n_columns, &tile, out + ROWS);             \
    }
SUNDOG_QUANTIZED_PANELS(X)
#undef X

void
SUNDOG_KERNEL(direct_product)(SundogLayout layout, const uint8_t *const panels[2],
                              int64_t n_columns, const SundogTile *tile, int n_tokens, float *out)
{
    switch (layout) {
#define X(name)                                                 \
    case SUNDOG_LAYOUT_PANEL16_##name:                          \
        direct_##name(panels, n_columns, *tile, n_tokens, out); \
        break;
        SUNDOG_QUANTIZED_PANELS(X)
#undef X
    default:
        break;
    }
}

/* Integer products of the groups that share a scale. */
SUNDOG_INLINE void
multiply_groups(const uint8_t *w, const int8_t *bytes, const int first, const int end,
                __m512i dot[TOKENS][2])
{
#pragma GCC unroll 8
    for (int group = first; group < end; group++) {
        __m512i low = sundog_bytes_load(w + 128 * group);
        __m512i high = sundog_bytes_load(w + 128 * group + 64);
#pragma GCC unroll 6
        for (int t = 0; t < TOKENS; t++) {
            __m512i a = broadcast_once(bytes + (group * TOKENS + t) * 4);
            dot[t][0] = _mm512_dpbusd_epi32(dot[t][0], low, a);
            dot[t][1] = _mm512_dpbusd_epi32(dot[t][1], high, a);
        }
    }
}

SUNDOG_INLINE void
scale_groups(const SundogUnpacked *weight, const SundogTile *tile, int64_t block, const Kind *kind,
             const int i, __m512i dot[TOKENS][2], __m512 acc[TOKENS][2])
{
    const float *d = weight->scales + (block * kind->n_scales + i) * UNIT;
    const float *m = weight->minima + (block * kind->n_scales + i) * UNIT;
#pragma GCC unroll 6
    for (int t = 0; t < TOKENS; t++) {
        const __m512 token_scale = _mm512_set1_ps(tile->scales[block * TOKENS + t]);
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            __m512 scale = _mm512_mul_ps(token_scale, _mm512_loadu_ps(d + ROWS * half));
            acc[t][half] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t][half]), scale, acc[t][half]);
            if (kind->has_minima) {
                __m512 sum = _mm512_set1_ps(find_scaled_sum(tile, block, t, kind->n_scales, i));
                acc[t][half] = _mm512_fmadd_ps(sum, _mm512_loadu_ps(m + ROWS * half), acc[t][half]);
            }
        }
    }
}

/* The tile of 32 rows and 6 tokens. */
SUNDOG_INLINE void
multiply_tile(const SundogUnpacked *weight, const SundogTile *tile, const Kind kind, float *out)
{
    const int n_groups = GROUPS / kind.n_scales;
    int64_t n_blocks = weight->n_columns / BLOCK;
    __m512 acc[TOKENS][2];
    int32_t corrections[2][2][8]; /* found a block ahead, so that nothing waits for them */
#pragma GCC unroll 6
    for (int t = 0; t < TOKENS; t++)
        acc[t][0] = acc[t][1] = _mm512_setzero_ps();
    if (!kind.has_minima)
        find_corrections(tile, 0, &kind, corrections[0]);
    for (int64_t block = 0; block < n_blocks; block++) {
        const int32_t(*own)[8] = corrections[block % 2];
        if (!kind.has_minima && block + 1 < n_blocks)
            find_corrections(tile, block + 1, &kind, corrections[(block + 1) % 2]);
#pragma GCC unroll 2
        for (int i = 0; i < kind.n_scales; i++) {
            __m512i dot[TOKENS][2];
#pragma GCC unroll 6
            for (int t = 0; t < TOKENS; t++)
                dot[t][0] = dot[t][1] =
                    kind.has_minima ? _mm512_setzero_si512() : _mm512_set1_epi32(own[i][t]);
            multiply_groups(weight->bytes + block * GROUPS * 128,
                            tile->bytes + block * GROUPS * TOKENS * 4, i * n_groups,
                            (i + 1) * n_groups, dot);
            scale_groups(weight, tile, block, &kind, i, dot, acc);
            keep_apart();
        }
    }
#pragma GCC unroll 6
    for (int t = 0; t < TOKENS; t++) {
        _mm512_storeu_ps(out + t * UNIT, acc[t][0]);
        _mm512_storeu_ps(out + t * UNIT + ROWS, acc[t][1]);
    }
}

static void __attribute__((noinline))
multiply_with_minima(const SundogUnpacked *weight, const SundogTile *tile, float *out)
{
    multiply_tile(weight, tile, (Kind){.n_scales = 1, .has_minima = true}, out);
}

static void __attribute__((noinline))
multiply_with_minima_of_16(const SundogUnpacked *weight, const SundogTile *tile, float *out)
{
    multiply_tile(weight, tile, (Kind){.n_scales = 2, .has_minima = true}, out);
}

static void __attribute__((noinline))
multiply_with_zero(const SundogUnpacked *weight, const SundogTile *tile, int32_t zero, float *out)
{
    multiply_tile(weight, tile, (Kind){.n_scales = 1, .zero = zero}, out);
}

static void __attribute__((noinline))
multiply_with_zero_of_16(const SundogUnpacked *weight, const SundogTile *tile, int32_t zero,
                         float *out)
{
    multiply_tile(weight, tile, (Kind){.n_scales = 2, .zero = zero}, out);
}

void
SUNDOG_KERNEL(tile_product)(const SundogUnpacked *weight, const SundogTile *tile, int n_tokens,
                            float *out)
{
    const SundogPanelForm form = sundog_panel_form(weight->layout);
    bool of_16 = sundog_lines_n_scales(&form) == 2;
    if (form.has_minima && of_16)
        multiply_with_minima_of_16(weight, tile, out);
    else if (form.has_minima)
        multiply_with_minima(weight, tile, out);
    else if (of_16)
        multiply_with_zero_of_16(weight, tile, form.zero, out);
    else
        multiply_with_zero(weight, tile, form.zero, out);
}
