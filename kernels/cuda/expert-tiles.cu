/* Products of experts.h where an expert has many rows: those of entries that follow one another, which lie side
 * by side, are multiplied as a tile of wide.cuh. A block has some rows of the weights and a stretch of the work
 * list as long as a tile, of which it takes the tiles that begin there, with others in turn. */

#include "kernels/cuda/gate.cuh"
#include "kernels/cuda/wide.cuh"

#include "kernels/contract/experts.h"

#define LANE ((int)threadIdx.x % 32)
#define ALL ~0u

/* Rows of one expert. */
struct ExpertTile {
    int expert;
    int entry; /* the first */
    int n_rows;
};

/* The expert of an entry; -1 where it has no rows, or is past the list's end. */
INLINE int
load_expert(const SundogCudaExpertLinear &p, int entry)
{
    if (entry < 0 || entry >= p.n_entries)
        return -1;
    const int32_t *from = (const int32_t *)p.work + (size_t)entry * SUNDOG_WORK_FIELDS;
    return __ldcg(from + SUNDOG_WORK_ROWS) > 0 ? __ldcg(from + SUNDOG_WORK_EXPERT) : -1;
}

/* Entries of an expert that come right before `entry`. */
INLINE int
count_before(const SundogCudaExpertLinear &p, int entry, int expert)
{
    for (int n = 0;; n += 32) {
        uint32_t others = __ballot_sync(ALL, load_expert(p, entry - 1 - n - LANE) != expert);
        if (others != 0)
            return n + __ffs((int)others) - 1;
    }
}

/* A lane for each of `length` entries from `first` on: those at which a tile begins. */
INLINE uint32_t
find_tiles(const SundogCudaExpertLinear &p, int first, int length)
{
    int expert = LANE < length ? load_expert(p, first + LANE) : -1;
    int before = __shfl_up_sync(ALL, expert, 1), first_expert = __shfl_sync(ALL, expert, 0);
    uint32_t starts = __ballot_sync(ALL, LANE == 0 || expert != before);
    int own = 31 - __clz((int)(starts & (0xffffffffu >> (31 - LANE))));
    int n_before = first_expert >= 0 ? count_before(p, first, first_expert) : 0;
    int place = LANE - own + (own == 0 ? n_before : 0);
    return __ballot_sync(ALL, expert >= 0 && place % length == 0);
}

INLINE ExpertTile
find_tile(const SundogCudaExpertLinear &p, int entry, int length)
{
    int expert = load_expert(p, entry);
    uint32_t others = __ballot_sync(ALL, LANE >= length || load_expert(p, entry + LANE) != expert);
    int n = others != 0 ? __ffs((int)others) - 1 : 32;
    const int32_t *last = (const int32_t *)p.work + (size_t)(entry + n - 1) * SUNDOG_WORK_FIELDS;
    return {expert, entry, (n - 1) * SUNDOG_TILE_TOKENS + __ldcg(last + SUNDOG_WORK_ROWS)};
}

template <class W>
INLINE void
name_weights(const SundogCudaExpertLinear &p, const ExpertTile &tile, WideTask &task)
{
    int n_panels = p.n_rows / 16;
    size_t panel_bytes = (size_t)task.n_blocks * W::T::bytes;
#pragma unroll
    for (int i = 0; i < W::panels; i++) {
        int panel = (int)blockIdx.x * W::row_panels + (W::gated ? i / 2 : i);
        const char *w = (const char *)p.w[W::gated ? i % 2 : 0];
        task.weights[i] =
            panel < n_panels ? w + ((size_t)tile.expert * n_panels + panel) * panel_bytes : nullptr;
    }
}

template <class W>
INLINE float
finish_sum(const SundogCudaExpertLinear &p, const float *parts, int matrix, int panel, int token,
           int row, size_t bias_row)
{
    float sum = add_sums<W>(parts, panel, token, row);
    return p.bias[matrix] != NULL ? sum + ((const float *)p.bias[matrix])[bias_row] : sum;
}

template <class W>
INLINE void
store_tile(const SundogCudaExpertLinear &p, const ExpertTile &tile, const float *parts)
{
    for (int i = threadIdx.x; i < W::row_panels * tile.n_rows * 16; i += WIDE_THREADS) {
        int panel = i / 16 % W::row_panels, token = i / 16 / W::row_panels;
        int row = ((int)blockIdx.x * W::row_panels + panel) * 16 + i % 16;
        size_t bias_row = (size_t)tile.expert * p.n_rows + row;
        if (row >= p.n_rows)
            continue;
        if constexpr (W::gated) {
            float gate = finish_sum<W>(p, parts, 0, panel * 2, token, i % 16, bias_row);
            float up = finish_sum<W>(p, parts, 1, panel * 2 + 1, token, i % 16, bias_row);
            size_t to = (size_t)tile.entry * SUNDOG_TILE_TOKENS + token;
            ((uint16_t *)p.y)[to * p.n_rows + row] = to_bf16(gate_value(p.function, gate, up));
        } else {
            int choice =
                __ldcg((const int32_t *)p.work +
                       (size_t)(tile.entry + token / SUNDOG_TILE_TOKENS) * SUNDOG_WORK_FIELDS +
                       SUNDOG_WORK_CHOICES + token % SUNDOG_TILE_TOKENS);
            ((float *)p.y)[(size_t)choice * p.n_rows + row] =
                finish_sum<W>(p, parts, 0, panel, token, i % 16, bias_row);
        }
    }
}

template <class W>
INLINE void
run_tile(const SundogCudaExpertLinear &p, const ExpertTile &tile, char *shared)
{
    SundogCudaLinear product = {};
    WideTask task;
    product.x = (const uint16_t *)p.a + (size_t)tile.entry * SUNDOG_TILE_TOKENS * p.n_columns;
    product.n_tokens = tile.n_rows;
    product.n_columns = p.n_columns;
    task.first_token = 0;
    task.n_blocks = (p.n_columns + W::T::columns - 1) / W::T::columns;
    name_weights<W>(p, tile, task);
    sum_tile<W>(product, task, (tile.n_rows + 7) / 8, shared, [] {});
    store_tile<W>(p, tile, (const float *)shared);
    __syncthreads();
}

template <class W>
INLINE void
run_tiles(const SundogCudaExpertLinear &p)
{
    extern __shared__ __align__(128) char shared[];
    constexpr int length = SUNDOG_CUDA_TILE_ENTRIES(W::tokens);
    int first = (int)blockIdx.y * length, share = 0;
    start_dependents();
    wait_for_predecessor();
    for (uint32_t tiles = find_tiles(p, first, length); tiles != 0; tiles &= tiles - 1, share++)
        if (share % SUNDOG_CUDA_EXPERT_SHARES == (int)blockIdx.z)
            run_tile<W>(p, find_tile(p, first + __ffs((int)tiles) - 1, length), shared);
}

/* The tile of so many tokens. */
template <int LAYOUT, bool GATED, int TOKENS> struct Choice;
#define CHOICE(count, wm, wk, wn, nt, chunk, stages)                        \
    template <int LAYOUT, bool GATED> struct Choice<LAYOUT, GATED, count> { \
        using W = Wide<LAYOUT, GATED, wm, wk, wn, nt, chunk, stages>;       \
    };
SUNDOG_CUDA_WIDE_TILES(CHOICE)

#define ENTRY(kind, gated, name, layout, tokens)                                            \
    SUNDOG_ENTRY __launch_bounds__(WIDE_THREADS, 1)                                         \
        sundog_##kind##_##name##_##tokens(const __grid_constant__ SundogCudaExpertLinear p) \
    {                                                                                       \
        run_tiles<Choice<layout, gated, tokens>::W>(p);                                     \
    }
#define BOTH(name, layout, tokens)              \
    ENTRY(experts, false, name, layout, tokens) \
    ENTRY(gated_experts, true, name, layout, tokens)

#define BF16(tokens) BOTH(bf16, SUNDOG_LAYOUT_TILE16_BF16, tokens)
#define Q8_0(tokens) BOTH(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, tokens)
#define Q4_1(tokens) BOTH(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, tokens)
#define F8(tokens) BOTH(f8, SUNDOG_LAYOUT_TILE16_F8, tokens)

SUNDOG_CUDA_EXPERT_TILES(BF16)
SUNDOG_CUDA_EXPERT_TILES(Q8_0)
SUNDOG_CUDA_EXPERT_TILES(Q4_1)
SUNDOG_CUDA_EXPERT_TILES(F8)
