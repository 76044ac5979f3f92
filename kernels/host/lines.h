#pragma once

/*
 * Quantized panels in registers: a group of four columns as unsigned bytes, and the scales of sixteen
 * rows. A register of bytes holds SUNDOG_BYTE_ROWS rows, all sixteen with AVX-512 and half of them with
 * AVX2. Everything folds to a few instructions where the form is a constant.
 */

#include "kernels/host/panels.h"
#include "kernels/host/simd.h"

/* Far enough ahead that a line from memory is there in time, near enough to stay in the first cache. */
#define SUNDOG_PREFETCH_BYTES 4096

/* Calls X(name) for every quantized panel: what has a version for each layout is written once. */
#define SUNDOG_QUANTIZED_PANELS(X) \
    X(Q4_0)                        \
    X(Q4_1)                        \
    X(Q5_0)                        \
    X(Q5_1)                        \
    X(Q8_0)                        \
    X(Q2_K)                        \
    X(Q3_K)                        \
    X(Q4_K)                        \
    X(Q5_K)                        \
    X(Q6_K)                        \
    X(IQ4_NL)                      \
    X(IQ4_XS)                      \
    X(MXFP4)

#ifdef __AVX512F__

#define SUNDOG_BYTE_ROWS 16

typedef __m512i SundogBytes;

SUNDOG_INLINE SundogBytes
sundog_bytes_load(const void *from)
{
    return _mm512_loadu_si512(from);
}

SUNDOG_INLINE void
sundog_bytes_store(void *to, SundogBytes v)
{
    _mm512_storeu_si512(to, v);
}

SUNDOG_INLINE SundogBytes
sundog_bytes_shift(SundogBytes v, const int shift)
{
    if (shift > 0)
        return _mm512_slli_epi16(v, (unsigned)shift);
    return shift < 0 ? _mm512_srli_epi16(v, (unsigned)-shift) : v;
}

/* Bits from one place to another within bytes, where `mask` keeps what arrives: (v << shift) & mask, or
 * to the right where shift is negative. */
SUNDOG_INLINE SundogBytes
sundog_bytes_move(SundogBytes v, const int shift, const int mask)
{
    return _mm512_and_si512(sundog_bytes_shift(v, shift), _mm512_set1_epi8((char)mask));
}

/* v, and besides the bits that sundog_bytes_move() gives of w. */
SUNDOG_INLINE SundogBytes
sundog_bytes_join(SundogBytes v, SundogBytes w, const int shift, const int mask)
{
    const __m512i kept = _mm512_set1_epi8((char)mask);
    return _mm512_ternarylogic_epi32(sundog_bytes_shift(w, shift), kept, v,
                                     0xea); /* w & kept | v */
}

/* table[v] for values below 16. */
SUNDOG_INLINE SundogBytes
sundog_bytes_look_up(const uint8_t table[16], SundogBytes v)
{
    __m128i entries = _mm_loadu_si128((const __m128i *)table);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), v);
}

#else

#define SUNDOG_BYTE_ROWS 8

typedef __m256i SundogBytes;

SUNDOG_INLINE SundogBytes
sundog_bytes_load(const void *from)
{
    return _mm256_loadu_si256(from);
}

SUNDOG_INLINE void
sundog_bytes_store(void *to, SundogBytes v)
{
    _mm256_storeu_si256(to, v);
}

/* Bits from one place to another within bytes, where `mask` keeps what arrives: (v << shift) & mask, or
 * to the right where shift is negative. */
SUNDOG_INLINE SundogBytes
sundog_bytes_move(SundogBytes v, const int shift, const int mask)
{
    if (shift > 0)
        v = _mm256_slli_epi16(v, shift);
    else if (shift < 0)
        v = _mm256_srli_epi16(v, -shift);
    return _mm256_and_si256(v, _mm256_set1_epi8((char)mask));
}

/* v, and besides the bits that sundog_bytes_move() gives of w. */
SUNDOG_INLINE SundogBytes
sundog_bytes_join(SundogBytes v, SundogBytes w, const int shift, const int mask)
{
    return _mm256_or_si256(v, sundog_bytes_move(w, shift, mask));
}

/* table[v] for values below 16. */
SUNDOG_INLINE SundogBytes
sundog_bytes_look_up(const uint8_t table[16], SundogBytes v)
{
    __m128i entries = _mm_loadu_si128((const __m128i *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), v);
}

#endif

/* The line that holds a group's `bits`, among lines of so many bits, and where in a byte they stand. */
SUNDOG_INLINE SundogBytes
sundog_lines_load(const uint8_t *lines, const int bits, const int group)
{
    return sundog_bytes_load(lines + group * bits / 8 * SUNDOG_PANEL_LINE);
}

/* Group 0 to 7 of 32 columns as unsigned bytes, the zero point still in them; `lines` begins at the
 * first of the register's rows. */
SUNDOG_INLINE SundogBytes
sundog_lines_group(const SundogPanelForm *form, const uint8_t *lines, const int group)
{
    const int low = form->low_bits, high = form->high_bits;
    const int low_mask = (1 << low) - 1, high_mask = (1 << high) - 1;
    SundogBytes v = sundog_lines_load(lines + high * SUNDOG_PANEL_LINE, low, group);
    if (low < 8)
        v = sundog_bytes_move(v, -(group * low % 8), low_mask);
    if (high > 0)
        v = sundog_bytes_join(v, sundog_lines_load(lines, high, group), low - group * high % 8,
                              high_mask << low);
    return form->codebook != NULL ? sundog_bytes_look_up(form->codebook, v) : v;
}

/* Asks for what a reader that stands at column k will need soon, as many bytes as 32 columns take. */
SUNDOG_INLINE void
sundog_lines_prefetch(const SundogPanelForm *form, const uint8_t *panel, int64_t k)
{
    const int n_bytes = sundog_panel_block_bytes(form) * SUNDOG_PANEL_BLOCK / form->block;
    const char *from =
        (const char *)panel + k / SUNDOG_PANEL_BLOCK * n_bytes + SUNDOG_PREFETCH_BYTES;
    for (int i = 0; i < n_bytes; i += 64)
        _mm_prefetch(from + i, _MM_HINT_T0);
}

/* Groups of columns with a scale of their own in 32 columns: 1 or 2. */
SUNDOG_INLINE int
sundog_lines_n_scales(const SundogPanelForm *form)
{
    return SUNDOG_PANEL_BLOCK / form->scale_columns;
}

/* D and M (layout.h) of sixteen rows, for the columns from k on of a block. */
SUNDOG_INLINE SundogVector
sundog_lines_scale(const SundogPanelForm *form, const uint8_t *block, int64_t k)
{
    int64_t group = k % form->block / form->scale_columns;
    const uint8_t *own = block + sundog_panel_subscales_at(form) + SUNDOG_PANEL_ROWS * group;
    if (form->subscales == SUNDOG_SUBSCALES_NONE) {
        const uint16_t *d = (const uint16_t *)block + SUNDOG_PANEL_ROWS * group;
        return form->is_bf16 ? sundog_vector_load_bf16(d) : sundog_vector_load_halves(d);
    }
    SundogVector d = sundog_vector_load_halves((const uint16_t *)block);
    if (form->subscales == SUNDOG_SUBSCALES_SIGNED)
        return sundog_vector_mul(d, sundog_vector_load_signed_bytes(own));
    const int mask = form->subscales == SUNDOG_SUBSCALES_NIBBLES ? 15 : 255;
    return sundog_vector_mul(d, sundog_vector_load_bytes(own, 0, mask));
}

SUNDOG_INLINE SundogVector
sundog_lines_minimum(const SundogPanelForm *form, const uint8_t *block, int64_t k)
{
    int64_t group = k % form->block / form->scale_columns;
    SundogVector m = sundog_vector_load_halves((const uint16_t *)(block + sundog_panel_m_at(form)));
    if (form->subscales == SUNDOG_SUBSCALES_NONE)
        return m;
    bool nibbles = form->subscales == SUNDOG_SUBSCALES_NIBBLES;
    const uint8_t *own =
        block + (nibbles ? sundog_panel_subscales_at(form) : sundog_panel_subminima_at(form)) +
        SUNDOG_PANEL_ROWS * group;
    SundogVector n = sundog_vector_load_bytes(own, nibbles ? 4 : 0, nibbles ? 15 : 255);
    return sundog_vector_mul(m, sundog_vector_mul(n, sundog_vector_set(-1)));
}
