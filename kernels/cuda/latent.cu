/* What attention over latents adds: linear_heads of linear.h, and latent_qkv of latent.h. */

#include "kernels/cuda/columns.cuh"

#define WARPS (SUNDOG_CUDA_HEADS_THREADS / 32)
#define LANE ((int)threadIdx.x % 32)
#define WARP ((int)threadIdx.x / 32)

/* A block has a panel of the weight, and a warp a quarter of its columns, for TILES times 8 tokens. */
template <int LAYOUT, int TILES, class Element>
INLINE void
sum_columns(const SundogCudaLinearHeads &p, float (&c)[TILES][4])
{
    using T = Tile<LAYOUT>;
    int n_blocks = (p.n_columns + T::columns - 1) / T::columns;
    int head = (int)blockIdx.x * 16 / p.head_rows;
    int token = (int)blockIdx.y * TILES * COLUMNS_ROWS + LANE / 4;
    const Element *a = (const Element *)p.a + (size_t)head * p.head_stride + p.offset;
    const char *panel = (const char *)p.w + (size_t)blockIdx.x * n_blocks * T::bytes;
    for (int block = WARP; block < n_blocks; block += WARPS)
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            int row = token + i * COLUMNS_ROWS;
            auto columns =
                load_columns<T::steps>(a + (size_t)min(row, p.n_tokens - 1) * p.a_stride,
                                       row < p.n_tokens, block * T::columns, p.n_columns);
            multiply_block<LAYOUT>(c[i], panel + (size_t)block * T::bytes, columns);
        }
}

template <int LAYOUT, int TILES>
INLINE void
run_heads(const SundogCudaLinearHeads &p)
{
    __shared__ float room[WARPS][TILES][COLUMNS_SUMS];
    float c[TILES][4] = {};
    start_dependents();
    wait_for_predecessor();
    if (p.a_is_bf16)
        sum_columns<LAYOUT, TILES, uint16_t>(p, c);
    else
        sum_columns<LAYOUT, TILES, float>(p, c);
#pragma unroll
    for (int i = 0; i < TILES; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            room[WARP][i][j * 32 + LANE] = c[i][j];
    __syncthreads();
    /* Of a fragment, WARP and LANE say the row of the weight and the token. */
    int row = (int)blockIdx.x * 16 + LANE / 4 + WARP / 2 * 8;
    for (int i = 0; i < TILES; i++) {
        int token = ((int)blockIdx.y * TILES + i) * COLUMNS_ROWS + LANE % 4 * 2 + WARP % 2;
        float sum = 0;
        for (int warp = 0; warp < WARPS; warp++)
            sum += room[warp][i][threadIdx.x];
        if (token < p.n_tokens)
            ((float *)p.y)[(size_t)token * p.n_rows + row] = sum;
    }
}

#define ENTRIES(suffix, layout)                                                       \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_HEADS_THREADS)                         \
        sundog_heads_##suffix##_few(const __grid_constant__ SundogCudaLinearHeads p)  \
    {                                                                                 \
        run_heads<layout, SUNDOG_CUDA_HEADS_FEW / COLUMNS_ROWS>(p);                   \
    }                                                                                 \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_HEADS_THREADS)                         \
        sundog_heads_##suffix##_many(const __grid_constant__ SundogCudaLinearHeads p) \
    {                                                                                 \
        run_heads<layout, SUNDOG_CUDA_HEADS_MANY / COLUMNS_ROWS>(p);                  \
    }

ENTRIES(bf16, SUNDOG_LAYOUT_TILE16_BF16)
ENTRIES(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
ENTRIES(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)

/* A block a token. */
SUNDOG_ENTRY
sundog_latent_qkv(const __grid_constant__ SundogCudaLatentQkv p)
{
    __shared__ float room[32];
    int n_latent = p.head_dim - p.rope_dims;
    size_t token = blockIdx.x;
    const float *q = (const float *)p.q + token * p.n_heads * p.query_columns;
    const float *absorbed = (const float *)p.absorbed + token * p.n_heads * n_latent;
    const float *latent = (const float *)p.latent + token * p.head_dim;
    const float *weight = (const float *)p.weight;
    float *to = (float *)p.qkv + token * (p.n_heads + 2) * p.head_dim, sum = 0;
    start_dependents();
    wait_for_predecessor();
    for (int k = threadIdx.x; k < n_latent; k += blockDim.x) {
        float x = __ldcg(latent + k);
        sum = fmaf(x, x, sum);
    }
    float factor = 1.0f / sqrtf(block_sum(sum, room) / (float)n_latent + p.epsilon);
    for (int i = threadIdx.x; i < p.n_heads * p.head_dim; i += blockDim.x) {
        int head = i / p.head_dim, k = i % p.head_dim;
        to[i] = k < p.rope_dims ? __ldcg(q + (head + 1) * p.query_columns - p.rope_dims + k)
                                : __ldcg(absorbed + head * n_latent + k - p.rope_dims);
    }
    float *key = to + p.n_heads * p.head_dim;
    for (int k = threadIdx.x; k < p.head_dim; k += blockDim.x) {
        float value = k < p.rope_dims
                          ? __ldcg(latent + n_latent + k)
                          : __ldcg(latent + k - p.rope_dims) * factor * weight[k - p.rope_dims];
        key[k] = value;
        key[k + p.head_dim] = value;
    }
}
