#pragma once

/*
 * x of a product of few tokens in shared memory, in the order of the B fragments: in bf16, each warp its own columns,
 * for which it waits for no other; or rounded to bytes by all warps together.
 */

#include "kernels/cuda/rounded.cuh"

#define WARPS SUNDOG_CUDA_LINEAR_WARPS
/* Norm weights and x that a thread holds in registers: 4 times 4 columns. */
#define HELD 4

INLINE int
padded_columns(const SundogCudaLinear &p)
{
    return (p.n_columns + 63) / 64 * 64;
}

/* Bytes from one token's x to the next in shared memory: some more, so that what is loaded together lies in
 * different banks. */
template <int LAYOUT>
INLINE int
x_stride(const SundogCudaLinear &p)
{
    return padded_columns(p) * 2 + (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16 ? 16 : 64);
}

/* Where columns k and k + 1 (k even) of a token's x lie. With quantized weights a lane has its columns of 32
 * side by side. */
template <int LAYOUT>
INLINE int
x_offset(int k)
{
    int pair = k % 8 / 2, place = k % 32 / 16 * 4 + k % 16 / 8 * 2;
    return LAYOUT == SUNDOG_LAYOUT_TILE16_BF16 ? k * 2 : (k / 32 * 32 + pair * 8 + place) * 2;
}

template <int LAYOUT>
INLINE void
store_x(char *x, int k, float4 v)
{
    *(uint32_t *)(x + x_offset<LAYOUT>(k)) = pack_bf16(v.x, v.y);
    *(uint32_t *)(x + x_offset<LAYOUT>(k + 2)) = pack_bf16(v.z, v.w);
}

/* Eight columns as they are. */
template <int LAYOUT>
INLINE void
store_packed(char *x, int k, uint4 v)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16) {
        *(uint4 *)(x + k * 2) = v;
        return;
    }
    *(uint32_t *)(x + x_offset<LAYOUT>(k)) = v.x;
    *(uint32_t *)(x + x_offset<LAYOUT>(k + 2)) = v.y;
    *(uint32_t *)(x + x_offset<LAYOUT>(k + 4)) = v.z;
    *(uint32_t *)(x + x_offset<LAYOUT>(k + 6)) = v.w;
}

INLINE float4
load_or_zero(const float *from, int k, int n)
{
    float4 v = make_float4(0, 0, 0, 0);
    if (k + 3 < n)
        return __ldcg((const float4 *)(from + k));
    if (k < n)
        v.x = __ldcg(from + k);
    if (k + 1 < n)
        v.y = __ldcg(from + k + 1);
    if (k + 2 < n)
        v.z = __ldcg(from + k + 2);
    return v;
}

INLINE float
square_sum(float4 v)
{
    return fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, v.w * v.w)));
}

INLINE float4
scale_by(float4 v, float factor, float4 weight)
{
    return make_float4(v.x * factor * weight.x, v.y * factor * weight.y, v.z * factor * weight.z,
                       v.w * factor * weight.w);
}

/* Columns are a multiple of 8, as prepare sees to. */
INLINE uint4
load_bf16_or_zero(const uint16_t *from, int k, int n)
{
    return k < n ? __ldcg((const uint4 *)(from + k)) : make_uint4(0, 0, 0, 0);
}

/* Columns of a warp, whole blocks of the layout. */
struct OwnColumns {
    int first, end;
};

/* Where this lane's columns of a round are. */
INLINE int
own_column(const OwnColumns &own, int round)
{
    return own.first + (threadIdx.x % 32 + round * 32) * 4;
}

INLINE void
load_own_weights(const SundogCudaLinear &p, const OwnColumns &own, float4 (&weight)[HELD])
{
#pragma unroll
    for (int i = 0; i < HELD; i++)
        weight[i] = load_or_zero((const float *)p.norm_weight, own_column(own, i), p.n_columns);
}

/* One token, times the norm's weights, the first of which are held. What the norm divides by comes on the results:
 * returns this lane's part of the sum of squares. `meanwhile` is done once the first token is asked for. */
template <int LAYOUT, class Meanwhile>
INLINE float
stage_weighted(const SundogCudaLinear &p, const OwnColumns &own, const float4 (&weight)[HELD],
               int token, char *x, Meanwhile meanwhile)
{
    const float *from = (const float *)p.x + (size_t)token * p.n_columns;
    float4 held[HELD];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held[i] = make_float4(0, 0, 0, 0);
        if (own_column(own, i) < own.end)
            held[i] = load_or_zero(from, own_column(own, i), p.n_columns);
    }
    if (token == 0)
        meanwhile();
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        sum += square_sum(held[i]);
        if (own_column(own, i) < own.end)
            store_x<LAYOUT>(x, own_column(own, i), scale_by(held[i], 1, weight[i]));
    }
    for (int i = HELD; own_column(own, i) < own.end; i++) {
        int k = own_column(own, i);
        float4 v = load_or_zero(from, k, p.n_columns);
        sum += square_sum(v);
        store_x<LAYOUT>(x, k,
                        scale_by(v, 1, load_or_zero((const float *)p.norm_weight, k, p.n_columns)));
    }
    return sum;
}

/* All tokens of bf16; all loads of a round are on their way before the first is stored, those of the first before
 * `meanwhile` is done. */
template <int LAYOUT, class Meanwhile>
INLINE void
stage_bf16(const SundogCudaLinear &p, const OwnColumns &own, char *x, Meanwhile meanwhile)
{
    constexpr int at_once = 8;
    int n_pieces = max((own.end - own.first) / 8, 1), n = (own.end - own.first) / 8 * p.n_tokens;
    for (int base = 0; base < n || base == 0; base += at_once * 32) {
        int first = base + threadIdx.x % 32;
        uint4 held[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int at = first + i * 32, token = at / n_pieces, k = own.first + at % n_pieces * 8;
            if (at < n)
                held[i] = load_bf16_or_zero((const uint16_t *)p.x + (size_t)token * p.n_columns, k,
                                            p.n_columns);
        }
        if (base == 0)
            meanwhile();
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int at = first + i * 32, token = at / n_pieces, k = own.first + at % n_pieces * 8;
            if (at < n)
                store_packed<LAYOUT>(x + token * x_stride<LAYOUT>(p), k, held[i]);
        }
    }
}

/* Sums of x over groups of 32 columns, for minima: [n_tokens, padded / 32]. */
template <int LAYOUT>
INLINE void
stage_sums(const SundogCudaLinear &p, const OwnColumns &own, const char *x, float *sums)
{
    int n_own = (own.end - own.first) / 32;
    for (int i = threadIdx.x % 32; i < n_own * p.n_tokens; i += 32) {
        int token = i / n_own, group = own.first / 32 + i % n_own;
        const uint4 *from = (const uint4 *)(x + token * x_stride<LAYOUT>(p) + group * 64);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            uint4 v = from[j];
            const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int w = 0; w < 4; w++)
                sum += __uint_as_float(words[w] << 16) + __uint_as_float(words[w] & 0xffff0000);
        }
        sums[token * (padded_columns(p) / 32) + group] = sum;
    }
}

/* This warp's columns of all tokens, and of each its squares to `squares` [n_tokens, WARPS] where x is to be
 * normed. `meanwhile` is done once, after the first loads. */
template <int LAYOUT, class Meanwhile>
INLINE void
stage_own(const SundogCudaLinear &p, const OwnColumns &own, const float4 (&weight)[HELD], char *x,
          float *sums, float *squares, Meanwhile meanwhile)
{
    if (p.source == SUNDOG_CUDA_X_NORM) {
        for (int token = 0; token < p.n_tokens; token++) {
            float sum = warp_sum(stage_weighted<LAYOUT>(
                p, own, weight, token, x + token * x_stride<LAYOUT>(p), meanwhile));
            if (threadIdx.x % 32 == 0)
                squares[token * WARPS + threadIdx.x / 32] = sum;
        }
    } else {
        stage_bf16<LAYOUT>(p, own, x, meanwhile);
    }
    __syncwarp();
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        stage_sums<LAYOUT>(p, own, x, sums);
        __syncwarp();
    }
}

/* Where the x of one token goes that is rounded. */
struct Staged {
    char *x;
    char *scales;
    int n_columns;
};

INLINE void
load_weights(const SundogCudaLinear &p, float4 (&weight)[HELD])
{
#pragma unroll
    for (int i = 0; i < HELD; i++)
        weight[i] =
            load_or_zero((const float *)p.norm_weight, (threadIdx.x + i * 256) * 4, p.n_columns);
}

/* One token normed and rounded. The first columns of x and weight stay in registers. */
INLINE void
stage_normed(const SundogCudaLinear &p, const float4 (&weight)[HELD], int token, const Staged &to,
             float *room)
{
    const float *from = (const float *)p.x + (size_t)token * p.n_columns;
    const float *weights = (const float *)p.norm_weight;
    float4 held[HELD];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held[i] = load_or_zero(from, (threadIdx.x + i * 256) * 4, p.n_columns);
        sum += square_sum(held[i]);
    }
    for (int k = (threadIdx.x + HELD * 256) * 4; k < p.n_columns; k += 1024)
        sum += square_sum(load_or_zero(from, k, p.n_columns));
    sum = block_sum(sum, room);
    float factor = 1.0f / sqrtf(sum / (float)p.n_columns + p.epsilon);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        round_columns(to.x, to.scales, (threadIdx.x + i * 256) * 4, to.n_columns,
                      scale_by(held[i], factor, weight[i]));
    int lane = threadIdx.x % 32;
    for (int k = (threadIdx.x + HELD * 256) * 4; k - lane * 4 < to.n_columns; k += 1024)
        round_columns(to.x, to.scales, k, to.n_columns,
                      scale_by(load_or_zero(from, k, p.n_columns), factor,
                               load_or_zero(weights, k, p.n_columns)));
}

/* One token of bf16, rounded; loads as above. */
INLINE void
stage_rounded(const SundogCudaLinear &p, int token, const Staged &to)
{
    constexpr int at_once = 8;
    const uint16_t *from = (const uint16_t *)p.x + (size_t)token * p.n_columns;
    int lane = threadIdx.x % 32;
    for (int first = threadIdx.x * 4; first - lane * 4 < to.n_columns; first += at_once * 1024) {
        uint2 held[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int k = first + i * 1024;
            held[i] = k < p.n_columns ? __ldcg((const uint2 *)(from + k)) : make_uint2(0, 0);
        }
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int k = first + i * 1024;
            if (k - lane * 4 >= to.n_columns)
                break;
            float4 v = make_float4(
                __uint_as_float(held[i].x << 16), __uint_as_float(held[i].x & 0xffff0000),
                __uint_as_float(held[i].y << 16), __uint_as_float(held[i].y & 0xffff0000));
            round_columns(to.x, to.scales, k, to.n_columns, v);
        }
    }
}
