/* Entries of the products by warpgroups: each layout in each tile of SUNDOG_CUDA_GROUP_TILES, gated ones
 * where the warpgroups share rows. Only sm_90a has the instructions. */

#include "kernels/contract/cuda.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)

#include "kernels/cuda/warpgroup.cuh"

#define ENTRY(kind, name, layout, gated, tokens, by_columns)     \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_GROUP_THREADS, 1) \
        sundog_##kind##_##name##_##tokens##x##by_columns(        \
            const __grid_constant__ SundogCudaGroupLinear p)     \
    {                                                            \
        run_group<Group<layout, gated, tokens, by_columns>>(p);  \
    }

#define GATED_1(name, layout, tokens) ENTRY(gated, name, layout, true, tokens, 1)
#define GATED_2(name, layout, tokens)
#define BOTH(name, layout, tokens, by_columns)             \
    ENTRY(linear, name, layout, false, tokens, by_columns) \
    GATED_##by_columns(name, layout, tokens)

#define BF16(tokens, by_columns) BOTH(bf16, SUNDOG_LAYOUT_TILE16_BF16, tokens, by_columns)
#define Q8_0(tokens, by_columns) BOTH(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, tokens, by_columns)
#define Q4_1(tokens, by_columns) BOTH(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, tokens, by_columns)

SUNDOG_CUDA_GROUP_TILES(BF16)
SUNDOG_CUDA_GROUP_TILES(Q8_0)
SUNDOG_CUDA_GROUP_TILES(Q4_1)

#endif
