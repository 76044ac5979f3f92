#pragma once

/*
 * linear, linear_qkv and linear_gated of linear.h for few tokens, bound by the reading of weights. A
 * block takes whole panels of 16 rows in turn; its 8 warps share a panel's columns, each streaming its
 * part through a ring of its own, and add their sums in the order of warps: one numeric class, whatever
 * the grid. Weights are on their way before the predecessor is waited for, and all else that a warp needs is
 * its own, so that warps wait for each other only where sums are complete.
 */

#include "kernels/cuda/linear-x.cuh"
#include "kernels/cuda/ring.cuh"

#define PANEL_ROWS 16
/* Slots that are filled before the predecessor is waited for. The others follow once x is asked for, which would else
 * come behind them where a block begins late. */
#define EARLY_SLOTS 3

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
               const float *sums1)
{
    Packed<LAYOUT> packed = load_packed<LAYOUT>(block);
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

/* N blocks of bf16, all loads before the first product; sums of blocks in turn to `even` and `odd`. */
template <int N>
INLINE void
multiply_plain_blocks(float (&even)[4], float (&odd)[4], const char *blocks, const char *x)
{
    uint4 w[N];
    uint32_t low[N], high[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        w[i] = *(const uint4 *)(blocks + i * 512 + threadIdx.x % 32 * 16);
        low[i] = *(const uint32_t *)(x + i * 32);
        high[i] = *(const uint32_t *)(x + i * 32 + 16);
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        const uint32_t a[4] = {w[i].x, w[i].y, w[i].z, w[i].w};
        multiply_add(i % 2 == 0 ? even : odd, a, low[i], high[i]);
    }
}

/* A slot of bf16. */
INLINE void
multiply_plain(float (&even)[4], float (&odd)[4], const char *slot, const char *x, int n_blocks)
{
    using T = Tile<SUNDOG_LAYOUT_TILE16_BF16>;
    int b = 0;
    for (; b + 8 <= n_blocks; b += 8)
        multiply_plain_blocks<8>(even, odd, slot + b * T::bytes, x + b * T::columns * 2);
    for (; b + 2 <= n_blocks; b += 2)
        multiply_plain_blocks<2>(even, odd, slot + b * T::bytes, x + b * T::columns * 2);
    if (b < n_blocks)
        multiply_plain_blocks<1>(even, odd, slot + b * T::bytes, x + b * T::columns * 2);
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

/* The element of a unit that a thread finishes, if any, and what it needs beside its sums. */
struct Element {
    bool is_there;
    int column, token; /* of y */
    float added;       /* bias and residual */
};

/* All that comes from memory is asked for before the unit's weights are there. */
template <bool GATED>
INLINE Element
find_element(const SundogCudaLinear &p, int unit)
{
    int which = 0, index = unit, column = 0, token = threadIdx.x / PANEL_ROWS;
    for (; !GATED && which < 2 && index >= (p.n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
         which++) {
        index -= (p.n_rows[which] + PANEL_ROWS - 1) / PANEL_ROWS;
        column += p.n_rows[which];
    }
    int row = index * PANEL_ROWS + threadIdx.x % PANEL_ROWS;
    Element e = {token < p.n_tokens && row < p.n_rows[which], column + row, token, 0};
    if (!e.is_there)
        return e;
    if (p.bias[which] != nullptr)
        e.added = ((const float *)p.bias[which])[row];
    if (p.residual != nullptr)
        e.added += __ldcg((const float *)p.residual + (size_t)token * p.y_stride + e.column);
    return e;
}

INLINE void
add_fragment(float (&y)[4], const float (&also)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        y[i] += also[i];
}

/* A unit's results: parts [WARPS][GATED ? 2 : 1][n_tokens][16 rows], of which a thread has at most one. `squares` as
 * stage_own() leaves them, or NULL where x was not normed there. */
template <bool GATED>
INLINE void
store_element(const SundogCudaLinear &p, const float *parts, const float *squares, const Element &e)
{
    int stride = p.n_tokens * PANEL_ROWS * (GATED ? 2 : 1);
    float factor = 1;
    if (!e.is_there)
        return;
    if (squares != nullptr)
        factor =
            1.0f / sqrtf(add_warps(squares + e.token * WARPS, 1) / (float)p.n_columns + p.epsilon);
    float value = add_warps(parts + threadIdx.x, stride) * factor;
    if constexpr (GATED) {
        float up = add_warps(parts + p.n_tokens * PANEL_ROWS + threadIdx.x, stride) * factor;
        value = value / (1.0f + __expf(-value)) * up;
    }
    size_t at = (size_t)e.token * p.y_stride + e.column;
    if (p.y_is_bf16)
        ((uint16_t *)p.y)[at] = to_bf16(value + e.added);
    else
        ((float *)p.y)[at] = value + e.added;
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
    float *sums;  /* [32]: of x's squares, [n_tokens][WARPS] */
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

template <int LAYOUT, bool ROUNDED>
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
    room.x_stride = ROUNDED ? rounded_stride(padded_columns(p)) : x_stride<LAYOUT>(p);
    room.scales = at + p.n_tokens * room.x_stride;
    room.scales_stride =
        ROUNDED ? rounded_scales_stride(padded_columns(p)) : padded_columns(p) / 32 * 4;
    return room;
}

/* All tokens, rounded. */
INLINE void
stage_x(const SundogCudaLinear &p, const float4 (&norm)[HELD], const Room &room)
{
    for (int token = 0; token < p.n_tokens; token++)
        if (p.source == SUNDOG_CUDA_X_NORM)
            stage_normed(p, norm, token, find_token(p, room, token), room.sums);
        else
            stage_rounded(p, token, find_token(p, room, token));
    __syncthreads();
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
    Room room = find_room<LAYOUT, ROUNDED>(p, shared, n_matrices);
    Ring ring;
    Cursor<LAYOUT, GATED> fill, read;
    Piece piece;
    if (!p.starts_late)
        start_dependents();
    ring_init(ring, room.slots + (size_t)warp * p.n_slots * SUNDOG_CUDA_SLOT_BYTES,
              room.barriers + warp * MAX_SLOTS, p.n_slots);
    fill.init(fill, p);
    read = fill;
    const OwnColumns columns = {read.begin * T::columns, read.end * T::columns};
    bool is_normed = p.source == SUNDOG_CUDA_X_NORM;
    float4 norm[HELD];
    if (is_normed && ROUNDED)
        load_weights(p, norm);
    else if (is_normed)
        load_own_weights(p, columns, norm);
    auto fill_slots = [&](int n) {
        for (int i = 0; i < n; i++) {
            bool more = fill.next(piece);
            ring_fill(ring, piece.from, more ? piece.n_bytes : 0);
        }
    };
    int n_early = min(p.n_slots, EARLY_SLOTS);
    fill_slots(n_early);
    wait_for_predecessor();
    if (p.starts_late)
        start_dependents();
    if constexpr (ROUNDED) {
        fill_slots(p.n_slots - n_early);
        stage_x(p, norm, room);
    } else {
        stage_own<LAYOUT>(
            p, columns, norm, room.x, (float *)room.scales, room.sums,
            [&] { fill_slots(p.n_slots - n_early); });
    }
    const float *squares = is_normed && !ROUNDED ? room.sums : nullptr;
    /* What this lane multiplies with, and what scales the two columns that its results lie in. */
    constexpr int lane_bytes = LAYOUT == SUNDOG_LAYOUT_TILE16_BF16 ? 4 : 16;
    const char *own =
        room.x + min(lane / 4, p.n_tokens - 1) * room.x_stride + lane % 4 * lane_bytes;
    const char *scales0 = room.scales + min(lane % 4 * 2, p.n_tokens - 1) * room.scales_stride;
    const char *scales1 = room.scales + min(lane % 4 * 2 + 1, p.n_tokens - 1) * room.scales_stride;
    for (int unit = blockIdx.x, turn = 0; unit < read.n_units; unit += gridDim.x, turn ^= 1) {
        float *parts = room.parts + turn * WARPS * n_matrices * p.n_tokens * PANEL_ROWS;
        Element element = find_element<GATED>(p, unit);
#pragma unroll 1
        for (int matrix = 0; matrix < n_matrices; matrix++) {
            float y[4] = {}, also[4] = {};
            bool more = read.begin < read.end;
            while (more) {
                read.next(piece);
                const char *slot = ring_wait(ring);
                if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_BF16)
                    multiply_plain(y, also, slot, own + piece.first_block * T::columns * 2,
                                   piece.n_blocks);
#pragma unroll ONE ? 3 : 2
                for (int b = 0; b < piece.n_blocks && T::is_scaled; b++) {
                    int k = (piece.first_block + b) * T::columns;
                    if constexpr (ROUNDED)
                        multiply_rounded<LAYOUT>(y, slot + b * T::bytes, own + k, scales0 + k / 4);
                    else if constexpr (T::is_scaled)
                        multiply_block<LAYOUT, ONE>(y, slot + b * T::bytes, own + k * 2,
                                                    (const float *)scales0 + k / 32,
                                                    (const float *)scales1 + k / 32);
                }
                more = !piece.ends_matrix;
                ring_next(ring);
                bool again = fill.next(piece);
                ring_fill(ring, piece.from, again ? piece.n_bytes : 0);
            }
            if constexpr (!T::is_scaled)
                add_fragment(y, also);
            keep_fragment(parts + (warp * n_matrices + matrix) * p.n_tokens * PANEL_ROWS, y,
                          p.n_tokens);
        }
        __syncthreads();
        store_element<GATED>(p, parts, squares, element);
    }
}
