/* Entries of the products by warpgroups: each layout in each tile of SUNDOG_CUDA_GROUP_TILES. Only sm_90a has the instructions. */

#include "kernels/contract/cuda.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)

#include "kernels/cuda/warpgroup.cuh"

template <int LAYOUT, bool GATED, int TOKENS, int BY_COLUMNS, int BY_BLOCKS>
INLINE void
run_if_there(const SundogCudaGroupLinear &p)
{
    if constexpr (sundog_cuda_has_group_tile(GATED, TOKENS, BY_COLUMNS, BY_BLOCKS))
        run_group<Group<LAYOUT, GATED, TOKENS, BY_COLUMNS, BY_BLOCKS>>(p);
    else
        wait_for_predecessor();
}

#define ENTRY(kind, name, layout, gated, tokens, by_columns, by_blocks)               \
    SUNDOG_ENTRY                                                                      \
    __cluster_dims__(by_blocks, 1, 1) __launch_bounds__(                              \
        sundog_cuda_plan_group(gated, tokens, by_columns, by_blocks, 1).n_threads, 1) \
        sundog_##kind##_##name##_##tokens##x##by_columns##x##by_blocks(               \
            const __grid_constant__ SundogCudaGroupLinear p)                          \
    {                                                                                 \
        run_if_there<layout, gated, tokens, by_columns, by_blocks>(p);                \
    }

#define BOTH(name, layout, ...)                     \
    ENTRY(linear, name, layout, false, __VA_ARGS__) \
    ENTRY(gated, name, layout, true, __VA_ARGS__)

#define BF16(...) BOTH(bf16, SUNDOG_LAYOUT_TILE16_BF16, __VA_ARGS__)
#define Q8_0(...) BOTH(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, __VA_ARGS__)
#define Q4_1(...) BOTH(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, __VA_ARGS__)

SUNDOG_CUDA_GROUP_TILES(BF16)
SUNDOG_CUDA_GROUP_TILES(Q8_0)
SUNDOG_CUDA_GROUP_TILES(Q4_1)

#endif
