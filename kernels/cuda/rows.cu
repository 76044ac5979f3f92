/* embed, gather_rows and rms_norm: rows.h and rms-norm.h. A block a row. */

#include "kernels/cuda/weight.cuh"

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

SUNDOG_ENTRY
sundog_rms_norm(const __grid_constant__ SundogCudaRmsNorm p)
{
    __shared__ float room[32];
    start_dependents();
    wait_for_predecessor();
    const float *x = (const float *)p.x + (size_t)blockIdx.x * p.n_columns;
    const float *weight = (const float *)p.weight;
    size_t to = (size_t)blockIdx.x * p.n_columns;
    float sum = 0;
    for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x)
        sum = fmaf(__ldcg(x + k), __ldcg(x + k), sum);
    sum = block_sum(sum, room);
    float factor = 1.0f / sqrtf(sum / (float)p.n_columns + p.epsilon);
    for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x) {
        float value = __ldcg(x + k) * factor * weight[k];
        if (p.y_is_bf16)
            ((uint16_t *)p.y)[to + k] = to_bf16(value);
        else
            ((float *)p.y)[to + k] = value;
    }
}
