#pragma once

/* Weights in tiles to the A operand of wgmma: a chunk of a warp's 16 rows in 16 registers. */

#include "kernels/cuda/warpgroup-room.cuh"

/* A row's scale and minimum for the two groups of a chunk, as unpack_pair() needs them. */
struct RowScales {
    float d[2];
    float m[2];
};

template <int LAYOUT>
INLINE RowScales
load_row_scales(const char *block, int row)
{
    RowScales scales = {};
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        uint2 words = *(const uint2 *)(block + 512 + row * 8);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float2 pair = half2_to_float2(i == 0 ? words.x : words.y);
            scales.d[i] = pair.x;
            /* The values come 128 too large. */
            scales.m[i] = fmaf(-128.0f, pair.x, pair.y);
        }
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q8_0) {
        float2 pair = half2_to_float2(*(const uint32_t *)(block + 1024 + row * 4));
        scales.d[0] = pair.x;
        scales.d[1] = pair.y;
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_F8) {
        scales.d[0] = scales.d[1] = *(const float *)(block + 1024 + row * 4);
    }
    return scales;
}

/* Two values of a row that lie side by side, of which the bits below `shift` are none: two times four bits,
 * 16 apart, or two bytes. */
template <int LAYOUT>
INLINE uint32_t
unpack_pair(uint32_t word, int shift, float d, float m)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        uint32_t pair;
        /* 128 + q is a bf16 whose low bits are q, and a bf16 is the upper half of a float. */
        asm("lop3.b32 %0, %1, 0x000F000F, 0x43004300, 0xEA;" : "=r"(pair) : "r"(word >> shift));
        return pack_bf16(fmaf(d, __uint_as_float(pair << 16), m),
                         fmaf(d, __uint_as_float(pair & 0xffff0000), m));
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_F8) {
        uint32_t pair = shift == 0 ? unpack_codes<0>(word) : unpack_codes<2>(word);
        return pack_bf16(__uint_as_float(pair << 16) * d, __uint_as_float(pair & 0xffff0000) * d);
    } else {
        uint32_t biased = word ^ 0x80808080;
        int low = 0x7540 + shift / 8;
        /* The byte is the low bits of a float between 2^23 and 2^24. */
        return pack_bf16((__uint_as_float(__byte_perm(biased, 0x4b000000, low)) - 8388736.0f) * d,
                         (__uint_as_float(__byte_perm(biased, 0x4b000000, low + 1)) - 8388736.0f) *
                             d);
    }
}

/* The A operand of a chunk's four steps from bf16. With gated ones rows below 8 are gate's and the rest
 * up's: of each panel those of the warp's half. */
template <class G>
INLINE void
load_plain(uint32_t (&a)[16], const char *slot, int half)
{
    const char *own = slot + threadIdx.x % 32 * 16;
#pragma unroll
    for (int step = 0; step < 4; step++) {
        uint4 first = *(const uint4 *)(own + step * 512);
        if constexpr (G::gated) {
            uint4 second = *(const uint4 *)(own + G::panel_bytes + step * 512);
            a[step * 4] = half == 0 ? first.x : first.y;
            a[step * 4 + 1] = half == 0 ? second.x : second.y;
            a[step * 4 + 2] = half == 0 ? first.z : first.w;
            a[step * 4 + 3] = half == 0 ? second.z : second.w;
        } else {
            a[step * 4] = first.x;
            a[step * 4 + 1] = first.y;
            a[step * 4 + 2] = first.z;
            a[step * 4 + 3] = first.w;
        }
    }
}

/* The same from quantized weights. Register i of a step has its row's values from source i mod 2. */
template <class G>
INLINE void
load_quantized(uint32_t (&a)[16], const char *slot, int half)
{
    constexpr bool has_nibbles = G::layout == SUNDOG_LAYOUT_TILE16_Q4_1;
    constexpr int bits = has_nibbles ? 4 : 16, n_words = has_nibbles ? 4 : 8;
    const char *second = G::gated ? slot + G::panel_bytes : slot;
    int lane = threadIdx.x % 32, row = lane / 4 + (G::gated ? half * 8 : 0);
    uint32_t words[G::n_matrices][n_words];
#pragma unroll
    for (int s = 0; s < G::n_matrices; s++)
#pragma unroll
        for (int i = 0; i < n_words; i += 4) {
            uint4 four = *(const uint4 *)((s == 0 ? slot : second) + i / 4 * 512 + lane * 16);
            words[s][i] = four.x;
            words[s][i + 1] = four.y;
            words[s][i + 2] = four.z;
            words[s][i + 3] = four.w;
        }
    if constexpr (G::gated)
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int i = 0; i < n_words; i++)
                words[s][i] >>= half * bits;
    const RowScales scales[2] = {load_row_scales<G::layout>(slot, row),
                                 load_row_scales<G::layout>(second, G::gated ? row : row + 8)};
#pragma unroll
    for (int step = 0; step < 4; step++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int s = i % 2, own = G::gated ? s : 0, shift = G::gated ? 0 : s * bits;
            /* Both halves of k are in one word of nibbles, and in two words of bytes. */
            uint32_t word = has_nibbles ? words[own][step] : words[own][step * 2 + i / 2];
            a[step * 4 + i] = unpack_pair<G::layout>(word, shift + (has_nibbles ? i / 2 * 8 : 0),
                                                     scales[s].d[step / 2], scales[s].m[step / 2]);
        }
}
