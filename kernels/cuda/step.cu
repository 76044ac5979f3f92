/* What surrounds a step's arithmetic: taking the packed inputs in, and planning attention's work. */

#include "kernels/contract/attention.h"
#include "kernels/cuda/device.cuh"

/* Of a block, read in one go: what a decoding step holds, so that the link is crossed once. */
#define HEAD_WORDS 2048

/* The first node of every graph: one block reads the mapped block over the link and spreads it over
 * the input buffers, whose graph-sized rest it fills with padding. */
SUNDOG_ENTRY
__launch_bounds__(1024, 1) sundog_ingest(const __grid_constant__ SundogCudaIngest p)
{
    __shared__ int32_t head[HEAD_WORDS];
    constexpr uint32_t at = sizeof(SundogCudaBlock) / 4;
    uint32_t *step = (uint32_t *)p.step;
    start_dependents();
    wait_for_predecessor();
    uint32_t n_taken = *step;
    const volatile int32_t *from = (const volatile int32_t *)p.blocks[n_taken % 2];
    for (int i = threadIdx.x; i < HEAD_WORDS; i += blockDim.x)
        head[i] = from[i];
    __syncthreads();
    const SundogCudaBlock *block = (const SundogCudaBlock *)head;
    for (uint32_t i = 0; i < block->n_sections; i++) {
        const SundogCudaSection &s = block->sections[i];
        int32_t *to = (int32_t *)s.to;
        uint32_t n_words = s.n_rows * s.row_words, n_all = s.n_padded * s.row_words;
        for (uint32_t w = threadIdx.x; w < n_all; w += blockDim.x) {
            uint32_t word = at + s.from + w;
            int32_t value = s.padding;
            if (w < n_words)
                value = word < HEAD_WORDS ? head[word] : from[word];
            if (to == p.tokens && value < 0)
                value = max(__ldcg((const int32_t *)p.token - 1 - value), 0);
            to[w / s.row_words * s.stride + w % s.row_words] = value;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        step[0] = n_taken + 1;
        step[1] = block->generation;
        __threadfence_system();
        *(volatile uint32_t *)p.taken = n_taken + 1;
    }
}

/* A random 32 bits for a word of a weight: splitmix64 (Steele et al. 2014). */
INLINE uint32_t
random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ull + seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 16);
}

INLINE float
random_signed(uint32_t bits)
{
    return (float)(int32_t)bits * 0x1p-31f;
}

INLINE uint32_t
pack_halves(float low, float high)
{
    return (uint32_t)__half_as_ushort(__float2half(low)) |
           (uint32_t)__half_as_ushort(__float2half(high)) << 16;
}

INLINE uint32_t
random_word(const SundogCudaFill &p, uint64_t word)
{
    uint32_t bits = random_bits(p.seed, word);
    switch (p.layout) {
    case SUNDOG_LAYOUT_TILE16_BF16:
        return pack_bf16(random_signed(bits) * p.scale,
                         random_signed(random_bits(p.seed + 1, word)) * p.scale);
    case SUNDOG_LAYOUT_TILE16_Q4_1:
        return word % 160 < 128 ? bits : pack_halves(p.scale / 7.5f, -p.scale);
    case SUNDOG_LAYOUT_TILE16_Q8_0:
        return word % 272 < 256 ? bits : pack_halves(p.scale / 127, p.scale / 127);
    case SUNDOG_LAYOUT_TILE16_F8: /* never the codes of all ones */
        return word % 272 < 256 ? bits & 0xfefefefe : __float_as_uint(p.scale / 448);
    default:
        return __float_as_uint(1.0f);
    }
}

SUNDOG_ENTRY
sundog_fill_weight(const __grid_constant__ SundogCudaFill p)
{
    start_dependents();
    wait_for_predecessor();
    uint64_t n_words = p.n_bytes / 4, step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n_words; i += step)
        ((uint32_t *)p.to)[i] = random_word(p, i);
}

/* plan_attention of attention.h. One warp: lanes take sequences, a scan gives each its first tile. */
SUNDOG_ENTRY
sundog_plan_attention(const __grid_constant__ SundogCudaPlanAttention p)
{
    const int32_t *first_row = (const int32_t *)p.first_row;
    const int32_t *start = (const int32_t *)p.start_position;
    int4 *tiles = (int4 *)p.tiles;
    int lane = threadIdx.x, n = 0;
    start_dependents();
    wait_for_predecessor();
    for (int base = 0; base < p.n_sequences; base += 32) {
        int s = base + lane, row = 0, left = 0;
        if (s < p.n_sequences) {
            row = __ldcg(first_row + s);
            left = __ldcg(first_row + s + 1) - row;
        }
        int own = (left + SUNDOG_ATTENTION_TILE_ROWS - 1) / SUNDOG_ATTENTION_TILE_ROWS, sum = own;
        for (int distance = 1; distance < 32; distance *= 2) {
            int below = __shfl_up_sync(~0u, sum, distance);
            sum += lane >= distance ? below : 0;
        }
        for (int i = 0, at = n + sum - own; i < own; i++, at++) {
            int done = i * SUNDOG_ATTENTION_TILE_ROWS;
            if (at < p.n_tiles)
                tiles[at + 1] =
                    make_int4(s, row + done, min(left - done, SUNDOG_ATTENTION_TILE_ROWS),
                              __ldcg(start + s) + done);
        }
        n += __shfl_sync(~0u, sum, 31);
    }
    n = min(n, p.n_tiles);
    for (int i = n + lane; i < p.n_tiles; i += 32)
        tiles[i + 1] = make_int4(0, 0, 0, 0);
    if (lane == 0)
        tiles[0] = make_int4(n, 0, 0, 0);
}
