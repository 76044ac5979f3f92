#pragma once

/*
 * linear, linear_qkv and linear_gated of linear.h for few tokens, bound by the reading of weights. A
 * block takes whole panels of 16 rows in turn; its 8 warps share a panel's columns, each streaming its
 * part through a ring of its own, and add their sums in the order of warps: one numeric class, whatever
 * the grid. x lies in shared memory in the order of the B fragments, in bf16 or rounded to bytes. Weights
 * are on their way before the predecessor is waited for.
 */

#include "kernels/cuda/ring.cuh"
#include "kernels/cuda/rounded.cuh"

#define WARPS SUNDOG_CUDA_LINEAR_WARPS
#define PANEL_ROWS 16
/* Norm weights and x that a thread holds in registers: 4 times 4 columns of 256 threads. */
#define HELD 4

/* One stretch of a panel's columns: what a slot holds. */
struct Piece {
    const char *from;
    uint32_t n_bytes;
    int first_block;
    int n_blocks;
    bool ends_matrix;
};

/* Walks the pieces that one warp streams. */
template <int LAYOUT, bool GATED> struct Cursor {
    const SundogCudaLinear *p;
    int unit, n_units;
    int matrix; /* of a gated unit: 0 gate, 1 up */
    int block, begin, end;
    const char *panel;

    INLINE void
    init(Cursor &c, const SundogCudaLinear &p)
    {
        using T = Tile<LAYOUT>;
        int n_blocks = (p.n_columns + T::columns - 1) / T::columns, warp = threadIdx.x / 32;
        c.p = &p;
        c.unit = blockIdx.x;
        c.n_units = 0;
        for (int i = 0; i < (GATED ? 1 : 3); i++)
            c.n_units += (p.n_rows[i] + PANEL_ROWS - 1) / PANEL_ROWS;
        c.begin = n_blocks * warp / WARPS;
        c.end = n_blocks * (warp + 1) / WARPS;
        c.matrix = 0;
        c.block = c.begin;
        c.find_panel();
    }
    __device__ void
    find_panel()
    {
        using T = Tile<LAYOUT>;
        size_t bytes = (size_t)((p->n_columns + T::columns - 1) / T::columns) * T::bytes;
        int which = GATED ? matrix : 0, index = unit;
        for (; !GATED && which < 2 && index >= (p->n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
             which++)
            index -= (p->n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
        panel = (const char *)p->w[which] + index * bytes;
    }
    /* False past the last. A warp without columns has no pieces. */
    __device__ bool
    next(Piece &piece)
    {
        using T = Tile<LAYOUT>;
        if (unit >= n_units || begin == end)
            return false;
        piece.first_block = block;
        piece.n_blocks = min(T::per_slot, end - block);
        piece.from = panel + (size_t)block * T::bytes;
        piece.n_bytes = piece.n_blocks * T::bytes;
        block += piece.n_blocks;
        piece.ends_matrix = block == end;
        if (piece.ends_matrix) {
            block = begin;
            if (GATED && matrix == 0) {
                matrix = 1;
            } else {
                matrix = 0;
                unit += gridDim.x;
            }
            if (unit < n_units)
                find_panel();
        }
        return true;
    }
};

INLINE int
padded_columns(const SundogCudaLinear &p)
{
    return (p.n_columns + 63) / 64 * 64;
}

/* Bytes from one token's x to the next in shared memory: 64 more, so that two share no banks. */
INLINE int
x_stride(const SundogCudaLinear &p)
{
    return padded_columns(p) * 2 + 64;
}

/* Where columns k and k + 1 (k even) of a token's x lie. */
INLINE int
x_offset(int k)
{
    int pair = k % 8 / 2, place = k % 32 / 16 * 4 + k % 16 / 8 * 2;
    return (k / 32 * 32 + pair * 8 + place) * 2;
}

INLINE void
store_x(char *x, int k, float4 v)
{
    *(uint32_t *)(x + x_offset(k)) = pack_bf16(v.x, v.y);
    *(uint32_t *)(x + x_offset(k + 2)) = pack_bf16(v.z, v.w);
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

/* Where the x of one token goes. */
struct Staged {
    char *x;
    char *scales; /* where it is rounded */
    int n_columns;
};

/* Four columns of a token; with ROUNDED all lanes of a warp come here together. */
template <bool ROUNDED>
INLINE void
stage_columns(const Staged &to, int k, float4 v)
{
    if constexpr (ROUNDED)
        round_columns(to.x, to.scales, k, to.n_columns, v);
    else if (k < to.n_columns)
        store_x(to.x, k, v);
}

/* One token normed into shared memory. The first columns of x and weight stay in registers. */
template <bool ROUNDED>
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
        stage_columns<ROUNDED>(to, (threadIdx.x + i * 256) * 4,
                               scale_by(held[i], factor, weight[i]));
    int lane = threadIdx.x % 32;
    for (int k = (threadIdx.x + HELD * 256) * 4; k - lane * 4 < to.n_columns; k += 1024)
        stage_columns<ROUNDED>(to, k,
                               scale_by(load_or_zero(from, k, p.n_columns), factor,
                                        load_or_zero(weights, k, p.n_columns)));
}

/* Columns are a multiple of 8, as prepare sees to. */
INLINE uint4
load_bf16_or_zero(const uint16_t *from, int k, int n)
{
    return k < n ? __ldcg((const uint4 *)(from + k)) : make_uint4(0, 0, 0, 0);
}

/* All tokens of bf16 into shared memory; all loads of a round are on their way before the first is
 * stored. */
INLINE void
stage_bf16(const SundogCudaLinear &p, char *x)
{
    constexpr int at_once = 8;
    int n_pieces = padded_columns(p) / 8, n = n_pieces * p.n_tokens;
    for (int first = threadIdx.x; first < n; first += at_once * 256) {
        uint4 held[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int token = (first + i * 256) / n_pieces, k = (first + i * 256) % n_pieces * 8;
            if (token < p.n_tokens)
                held[i] = load_bf16_or_zero((const uint16_t *)p.x + (size_t)token * p.n_columns, k,
                                            p.n_columns);
        }
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            int token = (first + i * 256) / n_pieces, k = (first + i * 256) % n_pieces * 8;
            char *to = x + token * x_stride(p);
            if (token >= p.n_tokens)
                break;
            *(uint32_t *)(to + x_offset(k)) = held[i].x;
            *(uint32_t *)(to + x_offset(k + 2)) = held[i].y;
            *(uint32_t *)(to + x_offset(k + 4)) = held[i].z;
            *(uint32_t *)(to + x_offset(k + 6)) = held[i].w;
        }
    }
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

/* Sums of x over groups of 32 columns, for minima: [n_tokens, padded / 32]. */
INLINE void
stage_sums(const SundogCudaLinear &p, const char *x, float *sums)
{
    int n_groups = padded_columns(p) / 32;
    for (int i = threadIdx.x; i < n_groups * p.n_tokens; i += 256) {
        const uint4 *from = (const uint4 *)(x + i / n_groups * x_stride(p) + i % n_groups * 64);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            uint4 v = from[j];
            const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int w = 0; w < 4; w++)
                sum += __uint_as_float(words[w] << 16) + __uint_as_float(words[w] & 0xffff0000);
        }
        sums[i] = sum;
    }
}

/* y += d acc + m sum for the four elements of a fragment; with ONE for those of its first column. `sum`
 * holds both columns'. */
template <int LAYOUT, bool ONE>
INLINE void
add_scaled(float (&y)[4], const float (&acc)[4], const Scales &scales, float sum0, float sum1)
{
#pragma unroll
    for (int i = 0; i < 4; i += ONE ? 2 : 1) {
        y[i] = fmaf(scales.d[i / 2], acc[i], y[i]);
        if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
            y[i] = fmaf(scales.m[i / 2], i % 2 == 0 ? sum0 : sum1, y[i]);
    }
}

/* One block of weights against up to 8 tokens in shared memory. `x` is this lane's token, from its
 * first value of the block on; `sums` those of the fragment's two columns. */
template <int LAYOUT, bool ONE>
INLINE void
multiply_block(float (&y)[4], const char *block, const char *x, const float *sums0,
               const float *sums1, int first_step)
{
    Packed<LAYOUT> packed = load_packed<LAYOUT>(block);
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16) {
        uint2 b = *(const uint2 *)(x + first_step % 2 * 8);
        uint32_t a[4];
        unpack_step<LAYOUT>(a, packed, 0);
        multiply_add(y, a, b.x, b.y);
    } else {
#pragma unroll
        for (int group = 0; group < 2; group++) {
            Scales scales = load_scales<LAYOUT>(block, group);
            uint4 b = *(const uint4 *)(x + group * 64);
            float acc[4] = {0, 0, 0, 0};
            uint32_t a[4];
            unpack_step<LAYOUT>(a, packed, group * 2);
            multiply_add(acc, a, b.x, b.y);
            unpack_step<LAYOUT>(a, packed, group * 2 + 1);
            multiply_add(acc, a, b.z, b.w);
            if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1)
                add_scaled<LAYOUT, ONE>(y, acc, scales, sums0[group], sums1[group]);
            else
                add_scaled<LAYOUT, ONE>(y, acc, scales, 0, 0);
        }
    }
}

/* The sums of all warps for one element of a unit. */
INLINE float
add_warps(const float *parts, int stride)
{
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        sum += parts[w * stride];
    return sum;
}

INLINE void
store_element(const SundogCudaLinear &p, int token, int column, float value)
{
    size_t at = (size_t)token * p.y_stride + column;
    if (p.y_is_bf16)
        ((uint16_t *)p.y)[at] = to_bf16(value);
    else
        ((float *)p.y)[at] = value;
}

/* One unit's results: parts [WARPS][GATED ? 2 : 1][n_tokens][16 rows]. */
template <bool GATED>
INLINE void
store_unit(const SundogCudaLinear &p, const float *parts, int unit)
{
    int which = 0, index = unit, column = 0;
    for (; !GATED && which < 2 && index >= (p.n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
         which++) {
        index -= (p.n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
        column += p.n_rows[which];
    }
    int stride = p.n_tokens * PANEL_ROWS * (GATED ? 2 : 1);
    for (int i = threadIdx.x; i < p.n_tokens * PANEL_ROWS; i += 256) {
        int row = index * PANEL_ROWS + i % PANEL_ROWS, token = i / PANEL_ROWS;
        if (row >= p.n_rows[which])
            continue;
        float value = add_warps(parts + i, stride);
        if constexpr (GATED) {
            float up = add_warps(parts + p.n_tokens * PANEL_ROWS + i, stride);
            value = value / (1.0f + __expf(-value)) * up;
        }
        if (p.bias[which] != nullptr)
            value += ((const float *)p.bias[which])[row];
        if (p.residual != nullptr)
            value += __ldcg((const float *)p.residual + (size_t)token * p.y_stride + column + row);
        store_element(p, token, column + row, value);
    }
}

/* Keeps a warp's fragment: the tokens that are there. */
INLINE void
keep_fragment(float *part, const float (&y)[4], int n_tokens)
{
    int lane = threadIdx.x % 32, row = lane / 4, token = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (token + i % 2 < n_tokens)
            part[(token + i % 2) * PANEL_ROWS + row + i / 2 * 8] = y[i];
}

/* Bytes before the ring: barriers, room for sums, results in two turns, x and its sums. */
struct Room {
    uint64_t *barriers;
    float *sums;  /* [32] */
    float *parts; /* 2 x [WARPS][matrices][n_tokens][16] */
    char *x;
    int x_stride;
    char *scales; /* of rounded x, or sums for minima */
    int scales_stride;
    char *slots;
};

INLINE Staged
find_token(const SundogCudaLinear &p, const Room &room, int token)
{
    return {room.x + token * room.x_stride, room.scales + token * room.scales_stride,
            padded_columns(p)};
}

template <bool ROUNDED>
INLINE Room
find_room(const SundogCudaLinear &p, char *shared, int n_matrices)
{
    Room room;
    room.slots = shared;
    char *at = shared + (size_t)WARPS * p.n_slots * SUNDOG_CUDA_SLOT_BYTES;
    room.barriers = (uint64_t *)at;
    at += WARPS * MAX_SLOTS * 8;
    room.sums = (float *)at;
    at += 128;
    room.parts = (float *)at;
    at += 2 * WARPS * n_matrices * p.n_tokens * PANEL_ROWS * 4;
    room.x = at;
    room.x_stride = ROUNDED ? rounded_stride(padded_columns(p)) : x_stride(p);
    room.scales = at + p.n_tokens * room.x_stride;
    room.scales_stride =
        ROUNDED ? rounded_scales_stride(padded_columns(p)) : padded_columns(p) / 32 * 4;
    return room;
}

/* All tokens into shared memory. */
template <int LAYOUT, bool ROUNDED>
INLINE void
stage_x(const SundogCudaLinear &p, const float4 (&norm)[HELD], const Room &room)
{
    if (p.source == SUNDOG_CUDA_X_NORM)
        for (int token = 0; token < p.n_tokens; token++)
            stage_normed<ROUNDED>(p, norm, token, find_token(p, room, token), room.sums);
    else if constexpr (ROUNDED)
        for (int token = 0; token < p.n_tokens; token++)
            stage_rounded(p, token, find_token(p, room, token));
    else
        stage_bf16(p, room.x);
    __syncthreads();
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1 && !ROUNDED) {
        stage_sums(p, room.x, (float *)room.scales);
        __syncthreads();
    }
}

/* With ONE there is one token, for which this is faster; nibbles against bf16 are as fast without. x is ROUNDED
 * for one token alone: for more, making it in every block takes longer than it saves. */
template <int LAYOUT, bool GATED, bool ONE, bool ROUNDED>
INLINE void
run_linear(const SundogCudaLinear &p)
{
    using T = Tile<LAYOUT>;
    constexpr int n_matrices = GATED ? 2 : 1;
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Room room = find_room<ROUNDED>(p, shared, n_matrices);
    Ring ring;
    Cursor<LAYOUT, GATED> fill, read;
    Piece piece;
    if (!p.starts_late)
        start_dependents();
    ring_init(ring, room.slots + (size_t)warp * p.n_slots * SUNDOG_CUDA_SLOT_BYTES,
              room.barriers + warp * MAX_SLOTS, p.n_slots);
    fill.init(fill, p);
    read = fill;
    for (int i = 0; i < p.n_slots; i++) {
        bool more = fill.next(piece);
        ring_fill(ring, piece.from, more ? piece.n_bytes : 0);
    }
    float4 norm[HELD];
    if (p.source == SUNDOG_CUDA_X_NORM)
        for (int i = 0; i < HELD; i++)
            norm[i] = load_or_zero((const float *)p.norm_weight, (threadIdx.x + i * 256) * 4,
                                   p.n_columns);
    wait_for_predecessor();
    if (p.starts_late)
        start_dependents();
    stage_x<LAYOUT, ROUNDED>(p, norm, room);
    /* What this lane multiplies with, and what scales the two columns that its results lie in. */
    const char *own = room.x + min(lane / 4, p.n_tokens - 1) * room.x_stride + lane % 4 * 16;
    const char *scales0 = room.scales + min(lane % 4 * 2, p.n_tokens - 1) * room.scales_stride;
    const char *scales1 = room.scales + min(lane % 4 * 2 + 1, p.n_tokens - 1) * room.scales_stride;
    for (int unit = blockIdx.x, turn = 0; unit < read.n_units; unit += gridDim.x, turn ^= 1) {
        float *parts = room.parts + turn * WARPS * n_matrices * p.n_tokens * PANEL_ROWS;
#pragma unroll 1
        for (int matrix = 0; matrix < n_matrices; matrix++) {
            float y[4] = {};
            bool more = read.begin < read.end;
            while (more) {
                read.next(piece);
                const char *slot = ring_wait(ring);
#pragma unroll ONE ? 3 : 2
                for (int b = 0; b < piece.n_blocks; b++) {
                    int k = (piece.first_block + b) * T::columns;
                    if constexpr (ROUNDED)
                        multiply_rounded<LAYOUT>(y, slot + b * T::bytes, own + k, scales0 + k / 4);
                    else
                        multiply_block<LAYOUT, ONE>(y, slot + b * T::bytes, own + k / 32 * 64,
                                                    (const float *)scales0 + k / 32,
                                                    (const float *)scales1 + k / 32, k / 16);
                }
                more = !piece.ends_matrix;
                ring_next(ring);
                bool again = fill.next(piece);
                ring_fill(ring, piece.from, again ? piece.n_bytes : 0);
            }
            keep_fragment(parts + (warp * n_matrices + matrix) * p.n_tokens * PANEL_ROWS, y,
                          p.n_tokens);
        }
        __syncthreads();
        store_unit<GATED>(p, parts, unit);
    }
}
