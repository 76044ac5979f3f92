/* Entries of the products by warpgroups: each layout in each tile of SUNDOG_CUDA_GROUP_TILES. Only sm_90a has the instructions. */

#include "kernels/contract/cuda.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)

#include "kernels/cuda/warpgroup.cuh"

template <int LAYOUT, bool GATED, int TOKENS, int BY_COLUMNS>
INLINE void
run_if_there(const SundogCudaGroupLinear &p)
{
    if constexpr (sundog_cuda_has_group_tile(GATED, TOKENS, BY_COLUMNS))
        run_group<Group<LAYOUT, GATED, TOKENS, BY_COLUMNS>>(p);
    else
        wait_for_predecessor();
}

#define ENTRY(kind, name, layout, gated, tokens, by_columns)                             \
    SUNDOG_ENTRY                                                                         \
    __launch_bounds__(sundog_cuda_plan_group(gated, tokens, by_columns, 1).n_threads, 1) \
        sundog_##kind##_##name##_##tokens##x##by_columns(                                \
            const __grid_constant__ SundogCudaGroupLinear p)                             \
    {                                                                                    \
        run_if_there<layout, gated, tokens, by_columns>(p);                              \
    }

#define BOTH(name, layout, tokens, by_columns)             \
    ENTRY(linear, name, layout, false, tokens, by_columns) \
    ENTRY(gated, name, layout, true, tokens, by_columns)

#define BF16(tokens, by_columns) BOTH(bf16, SUNDOG_LAYOUT_TILE16_BF16, tokens, by_columns)
#define Q8_0(tokens, by_columns) BOTH(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, tokens, by_columns)
#define Q4_1(tokens, by_columns) BOTH(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, tokens, by_columns)

SUNDOG_CUDA_GROUP_TILES(BF16)
SUNDOG_CUDA_GROUP_TILES(Q8_0)
SUNDOG_CUDA_GROUP_TILES(Q4_1)

#endif
