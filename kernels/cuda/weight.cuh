#pragma once

/* The tile layouts of layout.h as fragments: what a warp makes of one block in shared memory. */

#include "kernels/cuda/device.cuh"

/* Blocks a slot holds, columns and bytes a block, steps of 16 columns in it. */
template <int LAYOUT> struct Tile;
template <> struct Tile<SUNDOG_LAYOUT_TILE16_BF16> {
    static constexpr int columns = 16, bytes = 512, steps = 1, per_slot = 8;
    static constexpr bool is_scaled = false;
};
template <> struct Tile<SUNDOG_LAYOUT_TILE16_Q8_0> {
    static constexpr int columns = 64, bytes = 1088, steps = 4, per_slot = 3;
    static constexpr bool is_scaled = true;
};
template <> struct Tile<SUNDOG_LAYOUT_TILE16_Q4_1> {
    static constexpr int columns = 64, bytes = 640, steps = 4, per_slot = 6;
    static constexpr bool is_scaled = true;
};
template <> struct Tile<SUNDOG_LAYOUT_TILE16_F8> {
    static constexpr int columns = 64, bytes = 1088, steps = 4, per_slot = 3;
    static constexpr bool is_scaled = true;
};

/* A value is a byte, else four bits or bf16. */
template <int LAYOUT>
constexpr bool has_bytes = LAYOUT == SUNDOG_LAYOUT_TILE16_Q8_0 || LAYOUT == SUNDOG_LAYOUT_TILE16_F8;

/* Scale and minimum of rows g and g + 8 for one group of 32 columns. */
struct Scales {
    float d[2];
    float m[2];
};

template <int LAYOUT>
INLINE Scales
load_own_scales(const char *block, int group)
{
    Scales scales = {};
    int g = threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int at = (g + 8 * i) * 2 + group;
        if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
            float2 pair = half2_to_float2(*(const uint32_t *)(block + 512 + at * 4));
            scales.d[i] = pair.x;
            scales.m[i] = pair.y;
        } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_F8) {
            scales.d[i] = *(const float *)(block + 1024 + (g + 8 * i) * 4);
        } else {
            scales.d[i] = __half2float(*(const __half *)(block + 1024 + at * 2));
        }
    }
    return scales;
}

/* As unpack_step() needs them, whose values stay 128 too large where there are minima. */
template <int LAYOUT>
INLINE Scales
load_scales(const char *block, int group)
{
    Scales scales = load_own_scales<LAYOUT>(block, group);
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
        for (int i = 0; i < 2; i++)
            scales.m[i] = fmaf(-128.0f, scales.d[i], scales.m[i]);
    return scales;
}

/* A lane's values of a whole block: all steps, still packed. */
template <int LAYOUT> struct Packed {
    uint4 words[has_bytes<LAYOUT> ? 2 : 1];
};

template <int LAYOUT>
INLINE Packed<LAYOUT>
load_packed(const char *block)
{
    Packed<LAYOUT> packed;
    packed.words[0] = *(const uint4 *)(block + threadIdx.x % 32 * 16);
    if constexpr (has_bytes<LAYOUT>)
        packed.words[1] = *(const uint4 *)(block + 512 + threadIdx.x % 32 * 16);
    return packed;
}

/* Four bits a value: 128 + q is a bf16 whose low bits are q. What is too much, 128 times the sum of x,
 * goes into the minimum's part of the result. */
INLINE void
unpack_nibbles(uint32_t (&a)[4], uint32_t word)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("lop3.b32 %0, %1, 0x000F000F, 0x43004300, 0xEA;" : "=r"(a[i]) : "r"(word >> 4 * i));
}

/* Two registers, each two signed bytes to two bf16, through floats of which the bytes are low bits. */
INLINE void
unpack_bytes(uint32_t &first, uint32_t &second, uint32_t word)
{
    uint32_t biased = word ^ 0x80808080;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = __uint_as_float(__byte_perm(biased, 0x4b000000, 0x7540 + i)) - 8388736.0f;
    first = pack_bf16(v[0], v[1]);
    second = pack_bf16(v[2], v[3]);
}

/* Codes of e4m3 in bytes I and I + 1 as two bf16, where their bits lie 2^120 lower; subnormal numbers too. */
template <int I>
INLINE uint32_t
unpack_codes(uint32_t word)
{
    constexpr uint32_t scale = 0x7b807b80; /* 2^120 twice */
    uint32_t spread = __byte_perm(word, 0, 0x0404 | I << 4 | (I + 1) << 12);
    uint32_t bits = (spread & 0x80008000) | (spread & 0x7f007f00) >> 4;
    __nv_bfloat162 pair = __hmul2(*(const __nv_bfloat162 *)&bits, *(const __nv_bfloat162 *)&scale);
    return *(const uint32_t *)&pair;
}

/* Two registers of a step from a word of four bytes. */
template <int LAYOUT>
INLINE void
unpack_word(uint32_t &first, uint32_t &second, uint32_t word)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_F8) {
        first = unpack_codes<0>(word);
        second = unpack_codes<2>(word);
    } else {
        unpack_bytes(first, second, word);
    }
}

template <int LAYOUT>
INLINE void
unpack_step(uint32_t (&a)[4], const Packed<LAYOUT> &packed, int step)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16) {
        a[0] = packed.words[0].x;
        a[1] = packed.words[0].y;
        a[2] = packed.words[0].z;
        a[3] = packed.words[0].w;
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        const uint4 &w = packed.words[0];
        unpack_nibbles(a, step == 0 ? w.x : step == 1 ? w.y : step == 2 ? w.z : w.w);
    } else {
        const uint4 w = step < 2 ? packed.words[0] : packed.words[1];
        unpack_word<LAYOUT>(a[0], a[1], step % 2 == 0 ? w.x : w.z);
        unpack_word<LAYOUT>(a[2], a[3], step % 2 == 0 ? w.y : w.w);
    }
}
