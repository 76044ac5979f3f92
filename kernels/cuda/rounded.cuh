#pragma once

/*
 * Products of quantized weights with x in signed bytes. A token's x lies in shared memory in groups of 32
 * columns: of each, value = scale * byte, the scale a float32 that the largest magnitude gives, so that
 * what is lost is at most 1/254 of it. Bytes and the weights' integers are multiplied exactly (mma.m16n8k32);
 * a group's sum meets both scales in float32, and minima the group's sum of x.
 *
 * The bytes lie as the B fragments need them beside tile layouts as they are: of 64 columns lane t of four
 * has 16 bytes, a word for each 16 columns: columns 2 t, 8 + 2 t, 2 t + 1, 9 + 2 t.
 */

#include "kernels/cuda/weight.cuh"

/* Columns of x that share a scale. */
#define ROUNDED_GROUP 32

/* Of one group of one token. */
struct RoundedScale {
    float scale;
    float sum; /* scale times the sum of the bytes */
};

/* Bytes from one token to the next: so that two tokens' fragments share no banks. Columns are whole blocks. */
INLINE int
rounded_stride(int n_columns)
{
    return (n_columns + 127) / 128 * 128 + 64;
}

INLINE int
rounded_scales_stride(int n_columns)
{
    return n_columns / ROUNDED_GROUP * (int)sizeof(RoundedScale) + 16;
}

INLINE float
group_max(float value)
{
#pragma unroll
    for (int distance = 1; distance < ROUNDED_GROUP / 4; distance *= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

INLINE int
group_sum(int value)
{
#pragma unroll
    for (int distance = 1; distance < ROUNDED_GROUP / 4; distance *= 2)
        value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

/* Four columns from k on, rounded into a token's bytes and scales; nothing is stored past n_columns. All
 * lanes of a warp call it, each with the four columns after its neighbour's. */
INLINE void
round_columns(char *x, char *scales, int k, int n_columns, float4 v)
{
    float most = group_max(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    float factor = most > 0 ? 127.0f / most : 0, scale = most / 127.0f;
    uint32_t own = (uint32_t)(__float2int_rn(v.x * factor) & 0xff) |
                   (uint32_t)(__float2int_rn(v.y * factor) & 0xff) << 8 |
                   (uint32_t)(__float2int_rn(v.z * factor) & 0xff) << 16 |
                   (uint32_t)(__float2int_rn(v.w * factor) & 0xff) << 24;
    int sum = group_sum(__dp4a((int)own, 0x01010101, 0));
    /* Columns 0 to 7 of 16 meet 8 to 15, and each of two lanes keeps one word of the two. */
    uint32_t other = __shfl_xor_sync(~0u, own, 2);
    bool is_high = k % 16 >= 8;
    int pair = k % 8 / 2 + is_high;
    if (k >= n_columns)
        return;
    *(uint32_t *)(x + k / 64 * 64 + pair * 16 + k % 64 / 16 * 4) =
        __byte_perm(own, other, is_high ? 0x3726 : 0x5140);
    if (k % ROUNDED_GROUP == 0)
        ((RoundedScale *)scales)[k / ROUNDED_GROUP] = {scale, scale * (float)sum};
}

/* A fragments of 32 columns. */
template <int LAYOUT>
INLINE void
load_integers(uint32_t (&a)[4], const Packed<LAYOUT> &packed, int group)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        const uint4 &w = packed.words[0];
        uint32_t first = group == 0 ? w.x : w.z, second = group == 0 ? w.y : w.w;
        a[0] = first & 0x0f0f0f0f;
        a[1] = first >> 4 & 0x0f0f0f0f;
        a[2] = second & 0x0f0f0f0f;
        a[3] = second >> 4 & 0x0f0f0f0f;
    } else {
        const uint4 &w = packed.words[group];
        a[0] = __byte_perm(w.x, w.y, 0x5140);
        a[1] = __byte_perm(w.x, w.y, 0x7362);
        a[2] = __byte_perm(w.z, w.w, 0x5140);
        a[3] = __byte_perm(w.z, w.w, 0x7362);
    }
}

/* c += a b^T of integers: weights without a sign where they have minima. */
template <int LAYOUT>
INLINE void
multiply_integers(int (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* The same for half of the columns, of which a[0] and a[1] are the fragments. */
template <int LAYOUT>
INLINE void
multiply_integers_16(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
        asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
            "{%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a0), "r"(a1), "r"(b));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
            "{%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a0), "r"(a1), "r"(b));
}

/* One block of 64 columns against one token: the first column of y. `x` is the token at this lane's bytes of
 * the block, `scales` its scales there. */
template <int LAYOUT>
INLINE void
multiply_rounded(float (&y)[4], const char *block, const char *x, const char *scales)
{
    Packed<LAYOUT> packed = load_packed<LAYOUT>(block);
    uint4 b = *(const uint4 *)x;
    float4 both = *(const float4 *)scales;
#pragma unroll
    for (int group = 0; group < 2; group++) {
        Scales w = load_own_scales<LAYOUT>(block, group);
        float scale = group == 0 ? both.x : both.z, sum = group == 0 ? both.y : both.w;
        uint32_t a[4];
        int c[4] = {0, 0, 0, 0};
        load_integers<LAYOUT>(a, packed, group);
        multiply_integers<LAYOUT>(c, a, group == 0 ? b.x : b.z, group == 0 ? b.y : b.w);
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            y[i] = fmaf(w.d[i / 2] * scale, (float)c[i], y[i]);
            if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
                y[i] = fmaf(w.m[i / 2], sum, y[i]);
        }
    }
}
