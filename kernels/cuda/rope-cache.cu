/* rope_cache and rope_pages: rope-cache.h. A block a row: its queries and keys are rotated in place, then keys and
 * values stored. Pages of one step keep what else lies in them, since attention here reads nothing of it. */

#include "kernels/cuda/attention.cuh"

#define LEAST_MAGNITUDE 0x1p-33f
#define INFINITY_BITS 0x7f800000
#define NAN_BITS 0x7fc00000 /* the host's */

/* Where one row's keys and values go. */
struct Slot {
    int page;
    int at; /* in the page */
};

INLINE void
rotate_row(const SundogCudaRopeCache &p, float *qkv, int position)
{
    int half = p.rope_dims / 2;
    for (int i = threadIdx.x; i < (p.n_heads + p.n_kv_heads) * half; i += blockDim.x) {
        float sine, cosine, *head = qkv + i / half * p.head_dim;
        int pair = i % half;
        float *low = head + (p.interleaved ? pair * 2 : pair);
        float *high = head + (p.interleaved ? pair * 2 + 1 : pair + half);
        float x = *low, y = *high;
        find_angle(p, position, pair, &sine, &cosine);
        *low = fmaf(x, cosine, -(y * sine));
        *high = fmaf(y, cosine, x * sine);
    }
}

INLINE void
store_row(const SundogCudaRopeCache &p, const float *keys, const float *values, Slot slot)
{
    int c = p.head_dim;
    for (int i = threadIdx.x; i < p.n_kv_heads * c; i += blockDim.x) {
        int d = i % c;
        size_t base = ((size_t)slot.page * p.n_kv_heads + i / c) * c * PAGE;
        ((uint16_t *)p.k_pages)[base + d * PAGE + slot.at] = to_bf16(keys[i]);
        ((uint16_t *)p.v_pages)[base + slot.at * c + d] = to_bf16(values[i]);
    }
}

/* A block of dimensions that share a scale, a lane each: bytes `stride` apart. */
INLINE void
store_block(const float *numbers, int n, signed char *bytes, int stride, float *scale)
{
    int lane = threadIdx.x % 32;
    float number = lane < n ? numbers[lane] : 0.0f;
    uint32_t magnitude = __reduce_max_sync(~0u, __float_as_uint(number) & 0x7fffffff);
    float most = __uint_as_float(magnitude);
    bool counts = most >= LEAST_MAGNITUDE && magnitude < INFINITY_BITS;
    float inverse = counts ? 127.0f / most : 0.0f;
    if (lane < n)
        bytes[lane * stride] = counts ? (signed char)rintf(number * inverse) : 0;
    if (lane == 0)
        *scale = counts ? most / 127.0f : most < LEAST_MAGNITUDE ? 0.0f : __uint_as_float(NAN_BITS);
}

/* The same in bytes, by warps. */
INLINE void
store_narrow_row(const SundogCudaRopeCache &p, const float *keys, const float *values, Slot slot)
{
    int c = p.head_dim, n_blocks = (c + SUNDOG_Q8_BLOCK - 1) / SUNDOG_Q8_BLOCK;
    size_t part_bytes = (size_t)PAGE * (c + n_blocks * sizeof(float));
    for (int i = threadIdx.x / 32; i < p.n_kv_heads * n_blocks; i += blockDim.x / 32) {
        int group = i / n_blocks, block = i % n_blocks, d = block * SUNDOG_Q8_BLOCK;
        int n = min(c - d, SUNDOG_Q8_BLOCK), scale = block * PAGE + slot.at;
        size_t part = ((size_t)slot.page * p.n_kv_heads + group) * part_bytes;
        signed char *k = (signed char *)p.k_pages + part, *v = (signed char *)p.v_pages + part;
        store_block(keys + group * c + d, n, k + d * PAGE + slot.at, PAGE,
                    (float *)(k + c * PAGE) + scale);
        store_block(values + group * c + d, n, v + slot.at * c + d, 1,
                    (float *)(v + c * PAGE) + scale);
    }
}

SUNDOG_ENTRY
sundog_rope_cache(const __grid_constant__ SundogCudaRopeCache p)
{
    start_dependents();
    wait_for_predecessor();
    int position = __ldcg((const int32_t *)p.positions + blockIdx.x);
    int sequence = __ldcg((const int32_t *)p.token_sequence + blockIdx.x);
    float *qkv = (float *)p.qkv + (size_t)blockIdx.x * (p.n_heads + 2 * p.n_kv_heads) * p.head_dim;
    float *keys = qkv + p.n_heads * p.head_dim, *values = keys + p.n_kv_heads * p.head_dim;
    rotate_row(p, qkv, position);
    __syncthreads();
    Slot slot = {SUNDOG_NULL_PAGE, position % PAGE};
    if (sequence >= 0)
        slot.page = find_page(p, sequence, position / PAGE);
    if (slot.page == SUNDOG_NULL_PAGE)
        return;
    if (p.are_q8)
        store_narrow_row(p, keys, values, slot);
    else
        store_row(p, keys, values, slot);
}
