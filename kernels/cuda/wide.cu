/* Entries of the products for more tokens: each layout in each tile of SUNDOG_CUDA_WIDE_TILES. */

#include "kernels/cuda/wide.cuh"

#define ENTRY(kind, name, layout, gated, count, wm, wk, wn, nt, chunk, stages)                    \
    SUNDOG_ENTRY __launch_bounds__(WIDE_THREADS, 1)                                               \
        sundog_##kind##_##name##_##count(const __grid_constant__ SundogCudaLinear p)              \
    {                                                                                             \
        using W = Wide<layout, gated, wm, wk, wn, nt, chunk, stages>;                             \
        static_assert(W::tokens == count && W::shared_bytes <= SUNDOG_CUDA_MAX_SHARED_BYTES, ""); \
        run_wide<W>(p);                                                                           \
    }

#define BF16(...) BOTH(bf16, SUNDOG_LAYOUT_TILE16_BF16, __VA_ARGS__)
#define Q8_0(...) BOTH(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, __VA_ARGS__)
#define F8(...) BOTH(f8, SUNDOG_LAYOUT_TILE16_F8, __VA_ARGS__)
#define Q4_1(...) BOTH(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, __VA_ARGS__)
#define BOTH(name, layout, count, wm, wk, wn, nt, chunk, stages)             \
    ENTRY(linear, name, layout, false, count, wm, wk, wn, nt, chunk, stages) \
    ENTRY(gated, name, layout, true, count, wm, wk, wn, nt, chunk, stages)

SUNDOG_CUDA_WIDE_TILES(BF16)
SUNDOG_CUDA_WIDE_TILES(Q8_0)
SUNDOG_CUDA_WIDE_TILES(Q4_1)
SUNDOG_CUDA_WIDE_TILES(F8)
