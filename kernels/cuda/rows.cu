/* embed, gather_rows, rms_norm and products of a few odd columns: rows.h, rms-norm.h and linear.h. A block
 * a row. */

#include "kernels/cuda/weight.cuh"

#include "kernels/contract/gate.h"
#include "kernels/contract/math.h"

/* One element of a row in tiles, as layout.h says where it lies. */
template <int LAYOUT>
INLINE float
tile_element(const char *panel, int r, int k)
{
    using T = Tile<LAYOUT>;
    const char *block = panel + (size_t)(k / T::columns) * T::bytes;
    int lane = r % 8 * 4 + k % 8 / 2, reg = r / 8 + k % 16 / 8 * 2, half = k % 2;
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16) {
        return from_bf16(*(const uint16_t *)(block + lane * 16 + reg * 4 + half * 2));
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q8_0) {
        float d = __half2float(*(const __half *)(block + 1024 + (r * 2 + k % 64 / 32) * 2));
        return d * (float)*(const signed char *)(block + k % 64 / 32 * 512 + lane * 16 +
                                                 k % 32 / 16 * 8 + reg * 2 + half);
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_F8) {
        float d = *(const float *)(block + 1024 + r * 4);
        return d *
               sundog_e4m3_to_f32(*(const unsigned char *)(block + k % 64 / 32 * 512 + lane * 16 +
                                                           k % 32 / 16 * 8 + reg * 2 + half));
    } else {
        float2 dm = half2_to_float2(*(const uint32_t *)(block + 512 + (r * 2 + k % 64 / 32) * 4));
        unsigned byte =
            *(const unsigned char *)(block + lane * 16 + k % 64 / 16 * 4 + half * 2 + reg / 2);
        return fmaf(dm.x, (float)(byte >> reg % 2 * 4 & 15), dm.y);
    }
}

template <int LAYOUT>
INLINE void
run_embed(const SundogCudaEmbed &p)
{
    using T = Tile<LAYOUT>;
    start_dependents();
    wait_for_predecessor();
    int token = __ldcg((const int32_t *)p.tokens + blockIdx.x);
    float *x = (float *)p.x + (size_t)blockIdx.x * p.n_columns;
    size_t bytes = (size_t)((p.n_columns + T::columns - 1) / T::columns) * T::bytes;
    bool known = token >= 0 && token < p.n_vocabulary;
    const char *panel = (const char *)p.table + (known ? token / 16 : 0) * bytes;
    for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x) {
        float value = known ? tile_element<LAYOUT>(panel, token % 16, k) : NAN;
        x[k] = p.scale != 1.0f ? value * p.scale : value;
    }
}

SUNDOG_ENTRY
sundog_embed_bf16(const __grid_constant__ SundogCudaEmbed p)
{
    run_embed<SUNDOG_LAYOUT_TILE16_BF16>(p);
}

SUNDOG_ENTRY
sundog_embed_q8_0(const __grid_constant__ SundogCudaEmbed p)
{
    run_embed<SUNDOG_LAYOUT_TILE16_Q8_0>(p);
}

SUNDOG_ENTRY
sundog_embed_q4_1(const __grid_constant__ SundogCudaEmbed p)
{
    run_embed<SUNDOG_LAYOUT_TILE16_Q4_1>(p);
}

/* One row of a matrix times this block's row of x, by a warp: the same for all its lanes. */
template <int LAYOUT>
INLINE float
multiply_row(const SundogCudaLinear &p, int matrix, int row)
{
    using T = Tile<LAYOUT>;
    const uint16_t *x = (const uint16_t *)p.x + (size_t)blockIdx.x * p.n_columns;
    size_t bytes = (size_t)((p.n_columns + T::columns - 1) / T::columns) * T::bytes;
    const char *panel = (const char *)p.w[matrix] + row / 16 * bytes;
    float sum = 0;
    for (int k = threadIdx.x % 32; k < p.n_columns; k += 32)
        sum = fmaf(tile_element<LAYOUT>(panel, row % 16, k), from_bf16(__ldcg(x + k)), sum);
    sum = warp_sum(sum);
    return p.bias[matrix] != NULL ? sum + ((const float *)p.bias[matrix])[row] : sum;
}

INLINE void
store_product(const SundogCudaLinear &p, int row, float value)
{
    size_t at = (size_t)blockIdx.x * p.y_stride + row;
    if (p.residual != NULL)
        value += __ldcg((const float *)p.residual + at);
    if (p.y_is_bf16)
        ((uint16_t *)p.y)[at] = to_bf16(value);
    else
        ((float *)p.y)[at] = value;
}

/* A product of rows that no other kernel reads: warps take rows of the matrices in turn. */
template <int LAYOUT, bool IS_GATED>
INLINE void
run_narrow(const SundogCudaLinear &p)
{
    int n = p.n_rows[0] + (IS_GATED ? 0 : p.n_rows[1] + p.n_rows[2]);
    if (!p.starts_late)
        start_dependents();
    wait_for_predecessor();
    if (p.starts_late)
        start_dependents();
    for (int i = threadIdx.x / 32; i < n; i += blockDim.x / 32) {
        float value;
        if constexpr (IS_GATED) {
            value = sundog_silu(multiply_row<LAYOUT>(p, 0, i)) * multiply_row<LAYOUT>(p, 1, i);
        } else {
            int matrix = 0, row = i;
            while (row >= p.n_rows[matrix])
                row -= p.n_rows[matrix++];
            value = multiply_row<LAYOUT>(p, matrix, row);
        }
        if (threadIdx.x % 32 == 0)
            store_product(p, i, value);
    }
}

#define NARROW(suffix, layout)                                                               \
    SUNDOG_ENTRY sundog_linear_##suffix##_narrow(const __grid_constant__ SundogCudaLinear p) \
    {                                                                                        \
        run_narrow<layout, false>(p);                                                        \
    }                                                                                        \
    SUNDOG_ENTRY sundog_gated_##suffix##_narrow(const __grid_constant__ SundogCudaLinear p)  \
    {                                                                                        \
        run_narrow<layout, true>(p);                                                         \
    }

NARROW(bf16, SUNDOG_LAYOUT_TILE16_BF16)
NARROW(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
NARROW(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)
NARROW(f8, SUNDOG_LAYOUT_TILE16_F8)

SUNDOG_ENTRY
sundog_embed_f8(const __grid_constant__ SundogCudaEmbed p)
{
    run_embed<SUNDOG_LAYOUT_TILE16_F8>(p);
}

SUNDOG_ENTRY
sundog_gather_rows(const __grid_constant__ SundogCudaGatherRows p)
{
    start_dependents();
    wait_for_predecessor();
    int row = __ldcg((const int32_t *)p.rows + blockIdx.x);
    bool known = row >= 0 && row < p.n_from;
    const float *from = (const float *)p.x + (size_t)(known ? row : 0) * p.n_columns;
    float *to = (float *)p.y + (size_t)blockIdx.x * p.n_columns;
    for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x)
        to[k] = known ? __ldcg(from + k) : NAN;
}

/* Four columns of a row of any length; zeros past its end. */
INLINE float4
load_columns(const float *row, int k, int n)
{
    float4 v = make_float4(0, 0, 0, 0);
    if (n % 4 == 0)
        return k < n ? __ldcg((const float4 *)(row + k)) : v;
    v.x = k < n ? __ldcg(row + k) : 0;
    v.y = k + 1 < n ? __ldcg(row + k + 1) : 0;
    v.z = k + 2 < n ? __ldcg(row + k + 2) : 0;
    v.w = k + 3 < n ? __ldcg(row + k + 3) : 0;
    return v;
}

INLINE void
store_columns(const SundogCudaRmsNorm &p, size_t at, int k, float4 v)
{
    const float values[4] = {v.x, v.y, v.z, v.w};
    if (p.n_columns % 4 == 0 && p.y_is_bf16) {
        if (k < p.n_columns)
            *(uint2 *)((uint16_t *)p.y + at + k) =
                make_uint2(pack_bf16(v.x, v.y), pack_bf16(v.z, v.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (k + i >= p.n_columns)
            return;
        if (p.y_is_bf16)
            ((uint16_t *)p.y)[at + k + i] = to_bf16(values[i]);
        else
            ((float *)p.y)[at + k + i] = values[i];
    }
}

INLINE float
square_sum(float4 v)
{
    return fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, v.w * v.w)));
}

INLINE float4
scale_columns(float4 v, float factor, float4 weight)
{
    return make_float4(v.x * factor * weight.x, v.y * factor * weight.y, v.z * factor * weight.z,
                       v.w * factor * weight.w);
}

/* Columns that a thread keeps in registers, four by four: 4096 of a block's; others are read twice. */
#define HELD 4

SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_ROW_THREADS)
    sundog_rms_norm(const __grid_constant__ SundogCudaRmsNorm p)
{
    __shared__ float room[32];
    constexpr int step = SUNDOG_CUDA_ROW_THREADS * 4;
    const float *x = (const float *)p.x + (size_t)blockIdx.x * p.n_columns;
    const float *weight = (const float *)p.weight;
    size_t to = (size_t)blockIdx.x * p.n_columns;
    int first = threadIdx.x * 4;
    float4 held[HELD], weights[HELD];
    float sum = 0;
    start_dependents();
#pragma unroll
    for (int i = 0; i < HELD; i++)
        weights[i] = load_columns(weight, first + i * step, p.n_columns);
    wait_for_predecessor();
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = load_columns(x, first + i * step, p.n_columns);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        sum += square_sum(held[i]);
    for (int k = first + HELD * step; k < p.n_columns; k += step)
        sum += square_sum(load_columns(x, k, p.n_columns));
    sum = block_sum(sum, room);
    float factor = 1.0f / sqrtf(sum / (float)p.n_columns + p.epsilon);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        store_columns(p, to, first + i * step, scale_columns(held[i], factor, weights[i]));
    for (int k = first + HELD * step; k < p.n_columns; k += step)
        store_columns(p, to, k,
                      scale_columns(load_columns(x, k, p.n_columns), factor,
                                    load_columns(weight, k, p.n_columns)));
}
