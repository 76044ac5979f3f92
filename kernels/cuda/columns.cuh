#pragma once

/* Products of a panel's blocks with 8 rows of x that come straight from memory: a warp has the 16 rows of the
 * panel, a lane's row of x is LANE / 4. */

#include "kernels/cuda/weight.cuh"

#define COLUMNS_ROWS 8
#define COLUMNS_SUMS 128 /* of 16 rows of the panel and 8 of x: 4 of a lane */

/* What a lane multiplies of its row in one block: two pairs of columns a step. */
template <int STEPS> struct Columns {
    uint32_t low[STEPS];
    uint32_t high[STEPS];
};

INLINE uint32_t
load_pair(const uint16_t *pair)
{
    return __ldcg((const uint32_t *)pair);
}

/* Rounded as it is read. */
INLINE uint32_t
load_pair(const float *pair)
{
    float2 v = __ldcg((const float2 *)pair);
    return pack_bf16(v.x, v.y);
}

/* Columns from `first` on of a row of bf16 or float32 that begins at an even place. */
template <int STEPS, class Element>
INLINE Columns<STEPS>
load_columns(const Element *row, bool is_there, int first, int n_columns)
{
    Columns<STEPS> x;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int k = first + s * 16 + (int)threadIdx.x % 4 * 2;
        x.low[s] = is_there && k < n_columns ? load_pair(row + k) : 0;
        x.high[s] = is_there && k + 8 < n_columns ? load_pair(row + k + 8) : 0;
    }
    return x;
}

/* c += a block of scaled integers times x: sums of 32 columns, and where there are minima those of x. */
template <int LAYOUT>
INLINE void
multiply_scaled(float (&c)[4], const char *block, const Columns<Tile<LAYOUT>::steps> &x)
{
    const uint32_t ones[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
    Packed<LAYOUT> packed = load_packed<LAYOUT>(block);
    uint32_t a[4];
#pragma unroll
    for (int group = 0; group < Tile<LAYOUT>::steps / 2; group++) {
        float raw[4] = {}, sums[4] = {};
#pragma unroll
        for (int s = group * 2; s < group * 2 + 2; s++) {
            unpack_step<LAYOUT>(a, packed, s);
            multiply_add(raw, a, x.low[s], x.high[s]);
            if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
                multiply_add(sums, ones, x.low[s], x.high[s]);
        }
        Scales scales = load_scales<LAYOUT>(block, group);
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[i] = fmaf(scales.d[i / 2], raw[i], fmaf(scales.m[i / 2], sums[i], c[i]));
    }
}

/* c += a block of weights times x. */
template <int LAYOUT>
INLINE void
multiply_block(float (&c)[4], const char *block, const Columns<Tile<LAYOUT>::steps> &x)
{
    if constexpr (Tile<LAYOUT>::is_scaled) {
        multiply_scaled<LAYOUT>(c, block, x);
    } else {
        uint32_t a[4];
        unpack_step<LAYOUT>(a, load_packed<LAYOUT>(block), 0);
        multiply_add(c, a, x.low[0], x.high[0]);
    }
}
