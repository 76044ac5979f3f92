#pragma once

/* A tile's sums to y: with bias and residual in float32, or gated in bf16. */

#include "kernels/cuda/warpgroup-sums.cuh"

/* Columns of results that lie side by side in a panel: where they are in y, and how many there are. */
struct Columns {
    size_t at;
    int n;
};

template <class G>
INLINE Columns
find_columns(const SundogCudaLinear &p, int panel, int row, int n)
{
    Columns columns = {};
    int which = G::gated ? 0 : find_matrix(p, panel);
    row += panel * 16;
    columns.at = row;
    for (int w = 0; w < which; w++)
        columns.at += p.n_rows[w];
    columns.n = min(max(p.n_rows[which] - row, 0), n);
    return columns;
}

template <class G>
INLINE float
find_bias(const SundogCudaLinear &p, int panel, int row)
{
    int which = find_matrix(p, panel);
    row += panel * 16;
    return row < p.n_rows[which] && p.bias[which] != nullptr ? ((const float *)p.bias[which])[row]
                                                             : 0.0f;
}

/* Whether four columns can be read and written at once. */
INLINE bool
are_aligned(const SundogCudaLinear &p, const Columns &columns)
{
    return columns.n == 4 && (columns.at | p.y_stride) % 4 == 0;
}

/* Four columns of the residual from element `at` on; zeros where there is none. */
INLINE float4
load_residual(const SundogCudaLinear &p, const Columns &columns, size_t at, bool is_there)
{
    float v[4] = {};
    const float *from = (const float *)p.residual + at;
    if (p.residual == nullptr || !is_there)
        return make_float4(0, 0, 0, 0);
    if (are_aligned(p, columns))
        return __ldcg((const float4 *)from);
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < columns.n)
            v[i] = __ldcg(from + i);
    return make_float4(v[0], v[1], v[2], v[3]);
}

INLINE void
store_columns(const SundogCudaLinear &p, const Columns &columns, size_t at, float4 value)
{
    float *to = (float *)p.y + at;
    const float v[4] = {value.x, value.y, value.z, value.w};
    if (are_aligned(p, columns)) {
        *(float4 *)to = value;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < columns.n)
            to[i] = v[i];
}

/* Results in float32 through shared memory, so that a token's 64 columns leave together; what is read of the
 * residual comes a round before it is needed. */
template <class G>
INLINE void
store_plain(const SundogCudaLinear &p, const Warp &warp, char *own_room, int first_panel,
            int first_token, const float (&y)[G::tokens / 2])
{
    constexpr int at_once = G::tokens < 32 ? G::tokens : 32, n_quads = at_once / 8;
    int thread = threadIdx.x % 128, lane = thread % 32, own_panel = thread / 32;
    int column = thread % 16 * 4, token = first_token + thread / 16;
    Columns columns = find_columns<G>(p, first_panel + column / 16, column % 16, 4);
    const float bias[2] = {find_bias<G>(p, first_panel + own_panel, lane / 4),
                           find_bias<G>(p, first_panel + own_panel, lane / 4 + 8)};
    char *own = own_room + lane % 4 * 2 * STORE_STRIDE + (own_panel * 16 + lane / 4) * 4;
    const char *out = own_room + thread / 16 * STORE_STRIDE + column * 4;
    float4 next[n_quads];
    /* Of the quad that is stored, and so far beyond it the one whose residual is asked for. */
    size_t at = (size_t)token * p.y_stride + columns.at;
    int step = 8 * p.y_stride, ahead = at_once * p.y_stride, n_left = p.n_tokens - token;
#pragma unroll
    for (int q = 0; q < n_quads; q++)
        next[q] = load_residual(p, columns, at + q * step, q * 8 < n_left);
#pragma unroll
    for (int base = 0; base < G::tokens; base += at_once) {
#pragma unroll
        for (int i = 0; i < at_once / 2; i++)
            *(float *)(own + (i / 4 * 8 + i % 2) * STORE_STRIDE + i % 4 / 2 * 32) =
                y[base / 2 + i] + bias[i % 4 / 2];
        sync_threads(STORE_BARRIER + warp.row_group, 128);
#pragma unroll
        for (int q = 0; q < n_quads; q++, at += step) {
            float4 v = *(const float4 *)(out + q * 8 * STORE_STRIDE), r = next[q];
            if (base + q * 8 < n_left)
                store_columns(p, columns, at,
                              make_float4(v.x + r.x, v.y + r.y, v.z + r.z, v.w + r.w));
            if (base + at_once < G::tokens)
                next[q] = load_residual(p, columns, at + ahead, base + at_once + q * 8 < n_left);
        }
        sync_threads(STORE_BARRIER + warp.row_group, 128);
    }
}

INLINE void
store_halves(const SundogCudaLinear &p, const Columns &columns, int token, uint4 value)
{
    uint16_t *to = (uint16_t *)p.y + (size_t)token * p.y_stride + columns.at;
    const uint32_t words[4] = {value.x, value.y, value.z, value.w};
    if (token >= p.n_tokens)
        return;
    if (columns.n == 8 && (columns.at | p.y_stride) % 8 == 0) {
        *(uint4 *)to = value;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < columns.n)
            to[i] = (uint16_t)(words[i / 2] >> i % 2 * 16);
}

/* Gate and up of 32 columns to bf16 in the same way: neighbours exchange a token each, so that each has two
 * columns of one. */
template <class G>
INLINE void
store_gated(const SundogCudaLinear &p, const Warp &warp, char *own_room, int first_panel,
            int first_token, const float (&y)[G::tokens / 2])
{
    constexpr int at_once = G::tokens < 32 ? G::tokens : 32, stride = 80;
    int thread = threadIdx.x % 128, lane = thread % 32;
    int column = thread % 4 * 8, token = first_token + thread / 4;
    bool is_odd = lane / 4 % 2 == 1;
    Columns columns = find_columns<G>(p, first_panel + column / 16, column % 16, 8);
    char *own = own_room + (lane % 4 * 2 + is_odd) * stride +
                (thread / 64 * 16 + warp.half * 8 + lane / 8 * 2) * 2;
#pragma unroll
    for (int base = 0; base < G::tokens; base += at_once) {
#pragma unroll
        for (int n = 0; n < at_once / 8; n++) {
            float values[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float gate = y[base / 2 + n * 4 + i];
                values[i] = gate / (1.0f + __expf(-gate)) * y[base / 2 + n * 4 + 2 + i];
            }
            float others = __shfl_xor_sync(~0u, is_odd ? values[0] : values[1], 4);
            *(uint32_t *)(own + n * 8 * stride) =
                is_odd ? pack_bf16(others, values[1]) : pack_bf16(values[0], others);
        }
        sync_threads(STORE_BARRIER + warp.row_group, 128);
        if (thread / 4 < at_once)
            store_halves(p, columns, token + base,
                         *(const uint4 *)(own_room + thread / 4 * stride + column * 2));
        sync_threads(STORE_BARRIER + warp.row_group, 128);
    }
}

/* What the first phase does with a tile's sums. */
template <class G>
INLINE void
store_tile(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, char *own_room,
           int tile, const float (&y)[G::tokens / 2])
{
    int first_panel = tile / room.n_token_tiles * G::row_panels +
                      warp.row_group * (G::row_panels / G::plan.n_row_groups);
    int first_token = tile % room.n_token_tiles * G::tokens;
    if constexpr (G::gated)
        store_gated<G>(p, warp, own_room, first_panel, first_token, y);
    else
        store_plain<G>(p, warp, own_room, first_panel, first_token, y);
}
