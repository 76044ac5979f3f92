#pragma once

/* A page of one group in shared memory, and what else the kernels of heads of 64 and 128 share. */

#include "kernels/cuda/attention.cuh"

/* Dimensions that are rotated with each other, or where a head is not rotated, neighbours. */
INLINE int2
find_dimensions(const SundogCudaAttention &p, int i)
{
    int half = p.rotates ? p.rope_dims / 2 : 0;
    if (i >= half || p.interleaved)
        return make_int2(i * 2, i * 2 + 1);
    return make_int2(i, i + half);
}

/* One page of one group in shared memory: keys [C][64], values [64][C], 16-byte pieces exchanged so
 * that eight rows of one column of pieces lie in different banks. */
template <int C>
INLINE uint32_t
key_address(uint32_t page, int d, int piece)
{
    return page + d * (PAGE * 2) + ((piece ^ (d & 7)) << 4);
}

template <int C>
INLINE uint32_t
value_address(uint32_t page, int position, int piece)
{
    return page + C * PAGE * 2 + position * (C * 2) + ((piece ^ (position & 7)) << 4);
}

/* By so many threads that follow one another. */
template <int C, int N_THREADS>
INLINE void
load_page(const SundogCudaAttention &p, const Task &task, int index, int page, uint32_t to)
{
    constexpr int key_pieces = PAGE / 8, value_pieces = C / 8;
    size_t base = ((size_t)page * p.n_kv_heads + task.group) * C * PAGE;
    const uint16_t *keys = (const uint16_t *)p.k_pages + base;
    const uint16_t *values = (const uint16_t *)p.v_pages + base;
    int n_valid = task.last + 1 - index * PAGE;
    unsigned thread = threadIdx.x % N_THREADS;
#pragma unroll 4
    for (unsigned i = thread; i < C * key_pieces; i += N_THREADS)
        copy_async(key_address<C>(to, i / key_pieces, i % key_pieces), keys + i * 8, true);
        /* Past the last position there may be anything, and nothing times NaN is NaN. */
#pragma unroll 4
    for (unsigned i = thread; i < PAGE * value_pieces; i += N_THREADS)
        copy_async(value_address<C>(to, i / value_pieces, i % value_pieces), values + i * 8,
                   (int)(i / value_pieces) < n_valid);
}

INLINE float
quad_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
    return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}

INLINE float
quad_sum(float value)
{
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}
