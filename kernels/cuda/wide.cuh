#pragma once

/*
 * The products of linear.h for more tokens than few: a block takes a tile of panels and a tile of tokens,
 * and walks k in chunks, of which several are on their way in a ring that all warps share. Warps split
 * the tile by panels (WM), by tokens (WN), and the chunk's columns (WK), whose sums are added in the
 * order of warps at the end: the numeric class is WK.
 */

#include "kernels/cuda/weight.cuh"

#define WIDE_THREADS SUNDOG_CUDA_LINEAR_THREADS
#define GROUP 32 /* columns that one ldmatrix of x and one scale cover */

template <int LAYOUT_, bool GATED_, int WM_, int WK_, int WN_, int NT_, int CHUNK_, int STAGES_>
struct Wide {
    using T = Tile<LAYOUT_>;
    static constexpr int layout = LAYOUT_, wm = WM_, wk = WK_, wn = WN_, nt = NT_;
    static constexpr bool gated = GATED_;
    /* Panels of a warp: gate and up of the same rows, or, where there is room in registers, two. */
    static constexpr int mp = GATED_ || WK_ == 1 ? 2 : 1;
    static constexpr int panels = WM_ * mp, row_panels = GATED_ ? WM_ : panels;
    static constexpr int tokens = WN_ * NT_ * 8, chunk = CHUNK_, stages = STAGES_;
    static constexpr int panel_bytes = CHUNK_ / T::columns * T::bytes;
    static constexpr int weight_bytes = panels * panel_bytes, x_bytes = tokens * CHUNK_ * 2;
    static constexpr int stage_bytes = (weight_bytes + x_bytes + 127) / 128 * 128;
    static constexpr int part_bytes = WK_ * panels * tokens * 16 * 4;
    static constexpr int shared_bytes =
        STAGES_ * stage_bytes > part_bytes ? STAGES_ *stage_bytes : part_bytes;
};

/* What a block works on. */
struct WideTask {
    const char *weights[8]; /* of each panel in the tile; NULL past the last */
    int first_token;
    int n_blocks; /* of a panel */
};

INLINE int
count_panels(int n_rows)
{
    return (n_rows + 15) / 16;
}

/* Panel `index` of all matrices of an ungated product: which, and which of its panels. */
INLINE int
find_matrix(const SundogCudaLinear &p, int &index)
{
    int which = 0;
    for (; which < 2 && index >= count_panels(p.n_rows[which]); which++)
        index -= count_panels(p.n_rows[which]);
    return which;
}

template <class W>
INLINE const char *
find_panel(const SundogCudaLinear &p, int panel)
{
    size_t bytes = (size_t)((p.n_columns + W::T::columns - 1) / W::T::columns) * W::T::bytes;
    /* A warp's panels lie side by side: gate and up, or two of the same matrix. */
    int index =
        W::gated ? blockIdx.x * W::row_panels + panel / 2 : (int)blockIdx.x * W::row_panels + panel;
    int which = W::gated ? panel % 2 : find_matrix(p, index);
    return index < count_panels(p.n_rows[which]) ? (const char *)p.w[which] + index * bytes
                                                 : nullptr;
}

template <class W>
INLINE void
load_weights(const WideTask &task, int chunk, uint32_t stage)
{
    constexpr int pieces = W::panel_bytes / 16, blocks = W::chunk / W::T::columns;
    int n_valid = (task.n_blocks - chunk * blocks) * W::T::bytes / 16;
#pragma unroll
    for (int panel = 0; panel < W::panels; panel++) {
        const char *from = task.weights[panel];
        bool there = from != nullptr;
        from = there ? from + (size_t)chunk * W::panel_bytes : task.weights[0];
        for (int i = threadIdx.x; i < pieces; i += WIDE_THREADS) {
            bool valid = there && i < n_valid;
            copy_async(stage + panel * W::panel_bytes + i * 16, valid ? from + i * 16 : from,
                       valid);
        }
    }
}

template <class W>
INLINE void
load_x(const SundogCudaLinear &p, const WideTask &task, int chunk, uint32_t stage)
{
    constexpr int pieces = W::chunk / 8;
    for (int i = threadIdx.x; i < W::tokens * pieces; i += WIDE_THREADS) {
        int token = i / pieces, piece = i % pieces, k = chunk * W::chunk + piece * 8;
        bool valid = task.first_token + token < p.n_tokens && k < p.n_columns;
        const uint16_t *from = (const uint16_t *)p.x +
                               (valid ? (size_t)(task.first_token + token) * p.n_columns + k : 0);
        copy_async(stage + W::weight_bytes + token * (W::chunk * 2) + ((piece ^ (token & 7)) << 4),
                   from, valid);
    }
}

/* B fragments of two steps for 8 tokens. */
template <class W>
INLINE void
load_tokens(uint32_t (&b)[4], uint32_t x, int first_token, int k)
{
    int lane = threadIdx.x % 32, token = first_token + lane % 8, piece = k / 8 + lane / 8;
    uint32_t address = x + token * (W::chunk * 2) + ((piece ^ (token & 7)) << 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address)
                 : "memory");
}

/* A fragments of a group of 32 columns, and its scales. */
template <class W>
INLINE void
load_group(uint32_t (&a)[2][4], Scales &scales, const char *panel, int k)
{
    if constexpr (W::layout == SUNDOG_LAYOUT_TILE16_BF16) {
        unpack_step<W::layout>(a[0], load_packed<W::layout>(panel + k / 16 * 512), 0);
        unpack_step<W::layout>(a[1], load_packed<W::layout>(panel + k / 16 * 512 + 512), 0);
    } else {
        const char *block = panel + k / 64 * W::T::bytes;
        Packed<W::layout> packed = load_packed<W::layout>(block);
        int group = k % 64 / GROUP;
        scales = load_scales<W::layout>(block, group);
        unpack_step<W::layout>(a[0], packed, group * 2);
        unpack_step<W::layout>(a[1], packed, group * 2 + 1);
    }
}

/* The first n_groups groups of 8 tokens; the others keep their sums. */
template <class W>
INLINE void
multiply_group(float (&y)[W::mp][W::nt][4], const char *weights, uint32_t x, int first_token, int k,
               int n_groups)
{
    constexpr bool is_scaled = W::T::is_scaled;
    constexpr bool has_minima = W::layout == SUNDOG_LAYOUT_TILE16_Q4_1;
    const uint32_t ones[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
    uint32_t a[W::mp][2][4];
    Scales scales[W::mp];
#pragma unroll
    for (int m = 0; m < W::mp; m++)
        load_group<W>(a[m], scales[m], weights + m * W::panel_bytes, k);
#pragma unroll
    for (int n = 0; n < W::nt; n++) {
        uint32_t b[4];
        float sum[4] = {0, 0, 0, 0};
        if (n >= n_groups)
            break;
        load_tokens<W>(b, x, first_token + n * 8, k);
        if constexpr (has_minima) {
            multiply_add(sum, ones, b[0], b[1]);
            multiply_add(sum, ones, b[2], b[3]);
        }
#pragma unroll
        for (int m = 0; m < W::mp; m++) {
            if constexpr (!is_scaled) {
                multiply_add(y[m][n], a[m][0], b[0], b[1]);
                multiply_add(y[m][n], a[m][1], b[2], b[3]);
                continue;
            }
            float acc[4] = {0, 0, 0, 0};
            multiply_add(acc, a[m][0], b[0], b[1]);
            multiply_add(acc, a[m][1], b[2], b[3]);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                y[m][n][i] = fmaf(scales[m].d[i / 2], acc[i], y[m][n][i]);
                if constexpr (has_minima)
                    y[m][n][i] = fmaf(scales[m].m[i / 2], sum[i % 2], y[m][n][i]);
            }
        }
    }
}

/* Every warp's sums to shared memory: [wk][panels][tokens][16]. */
template <class W>
INLINE void
keep_sums(float *parts, const float (&y)[W::mp][W::nt][4], int m_warp, int k_warp, int n_warp)
{
    int lane = threadIdx.x % 32, row = lane / 4;
#pragma unroll
    for (int m = 0; m < W::mp; m++)
#pragma unroll
        for (int n = 0; n < W::nt; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int token = (n_warp * W::nt + n) * 8 + lane % 4 * 2 + i % 2;
                parts[((k_warp * W::panels + m_warp * W::mp + m) * W::tokens + token) * 16 + row +
                      i / 2 * 8] = y[m][n][i];
            }
}

template <class W>
INLINE float
add_sums(const float *parts, int panel, int token, int row)
{
    float sum = 0;
#pragma unroll
    for (int k = 0; k < W::wk; k++)
        sum += parts[((k * W::panels + panel) * W::tokens + token) * 16 + row];
    return sum;
}

template <class W>
INLINE void
store_sums(const SundogCudaLinear &p, const WideTask &task, const float *parts)
{
    for (int i = threadIdx.x; i < W::row_panels * W::tokens * 16; i += WIDE_THREADS) {
        int row = i % 16, panel = i / 16 % W::row_panels, token = i / 16 / W::row_panels;
        int index = blockIdx.x * W::row_panels + panel, column = 0, to = task.first_token + token;
        int which = W::gated ? 0 : find_matrix(p, index);
        row += index * 16;
        if (to >= p.n_tokens || row >= p.n_rows[which])
            continue;
        for (int w = 0; w < which; w++)
            column += p.n_rows[w];
        float value = add_sums<W>(parts, W::gated ? panel * 2 : panel, token, i % 16);
        if constexpr (W::gated)
            value =
                value / (1.0f + __expf(-value)) * add_sums<W>(parts, panel * 2 + 1, token, i % 16);
        if (p.bias[which] != nullptr)
            value += ((const float *)p.bias[which])[row];
        size_t at = (size_t)to * p.y_stride + column + row;
        if (p.residual != nullptr)
            value += __ldcg((const float *)p.residual + at);
        if (p.y_is_bf16)
            ((uint16_t *)p.y)[at] = to_bf16(value);
        else
            ((float *)p.y)[at] = value;
    }
}

/* The task's sums into shared memory, where a block may come from another task. x is there once ready() has
 * returned; weights are loaded before. */
template <class W, class Ready>
INLINE void
sum_tile(const SundogCudaLinear &p, const WideTask &task, int n_groups, char *shared, Ready ready)
{
    int warp = threadIdx.x / 32;
    int m_warp = warp % W::wm, n_warp = warp / W::wm % W::wn, k_warp = warp / (W::wm * W::wn);
    constexpr int own = W::chunk / W::wk;
    uint32_t base = shared_address(shared);
    int n_chunks = (p.n_columns + W::chunk - 1) / W::chunk;
    float y[W::mp][W::nt][4] = {};
    for (int i = 0; i < W::stages - 1 && i < n_chunks; i++)
        load_weights<W>(task, i, base + i * W::stage_bytes);
    ready();
    for (int i = 0; i < W::stages - 1; i++) {
        if (i < n_chunks)
            load_x<W>(p, task, i, base + i * W::stage_bytes);
        commit_copies();
    }
#pragma unroll 1
    for (int chunk = 0; chunk < n_chunks; chunk++) {
        wait_for_copies<W::stages - 2>();
        __syncthreads();
        int next = chunk + W::stages - 1;
        if (next < n_chunks) {
            load_weights<W>(task, next, base + next % W::stages * W::stage_bytes);
            load_x<W>(p, task, next, base + next % W::stages * W::stage_bytes);
        }
        commit_copies();
        int at = chunk % W::stages * W::stage_bytes;
        const char *weights = shared + at + m_warp * W::mp * W::panel_bytes;
        /* Unrolled, two groups of unpacked weights would not fit the registers. */
#pragma unroll 1
        for (int k = 0; k < own; k += GROUP)
            multiply_group<W>(y, weights, base + at + W::weight_bytes, n_warp * W::nt * 8,
                              k_warp * own + k, n_groups - n_warp * W::nt);
    }
    wait_for_copies<0>();
    __syncthreads();
    keep_sums<W>((float *)shared, y, m_warp, k_warp, n_warp);
    __syncthreads();
}

template <class W>
INLINE void
run_wide(const SundogCudaLinear &p)
{
    extern __shared__ __align__(128) char shared[];
    WideTask task;
    if (!p.starts_late)
        start_dependents();
    task.first_token = blockIdx.y * W::tokens;
    task.n_blocks = (p.n_columns + W::T::columns - 1) / W::T::columns;
    for (int panel = 0; panel < W::panels; panel++)
        task.weights[panel] = find_panel<W>(p, panel);
    sum_tile<W>(p, task, W::tokens / 8, shared, [&] {
        wait_for_predecessor();
        if (p.starts_late)
            start_dependents();
    });
    store_sums<W>(p, task, (const float *)shared);
}
