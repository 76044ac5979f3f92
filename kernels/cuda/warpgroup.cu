/* Entries of the products by warpgroups: each layout in each tile of SUNDOG_CUDA_GROUP_TILES. Only sm_90a has the instructions. */

#include "kernels/contract/cuda.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)

#include "kernels/cuda/warpgroup.cuh"

#define ENTRY(kind, name, layout, gated, tokens, by_columns, by_blocks)               \
    SUNDOG_ENTRY                                                                      \
    __cluster_dims__(by_blocks, 1, 1) __launch_bounds__(                              \
        sundog_cuda_plan_group(gated, tokens, by_columns, by_blocks, 1).n_threads, 1) \
        sundog_##kind##_##name##_##tokens##x##by_columns##x##by_blocks(               \
            const __grid_constant__ SundogCudaGroupLinear p)                          \
    {                                                                                 \
        run_group<Group<layout, gated, tokens, by_columns, by_blocks>>(p);            \
    }

#define PLAIN(name, layout, ...) ENTRY(linear, name, layout, false, __VA_ARGS__)
#define BOTH(name, layout, ...)      \
    PLAIN(name, layout, __VA_ARGS__) \
    ENTRY(gated, name, layout, true, __VA_ARGS__)

#define BF16(tokens, by_columns, by_blocks, kinds) \
    kinds(bf16, SUNDOG_LAYOUT_TILE16_BF16, tokens, by_columns, by_blocks)
#define Q8_0(tokens, by_columns, by_blocks, kinds) \
    kinds(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, tokens, by_columns, by_blocks)
#define F8(tokens, by_columns, by_blocks, kinds) \
    kinds(f8, SUNDOG_LAYOUT_TILE16_F8, tokens, by_columns, by_blocks)
#define Q4_1(tokens, by_columns, by_blocks, kinds) \
    kinds(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, tokens, by_columns, by_blocks)

SUNDOG_CUDA_GROUP_TILES(BF16)
SUNDOG_CUDA_GROUP_TILES(Q8_0)
SUNDOG_CUDA_GROUP_TILES(Q4_1)
SUNDOG_CUDA_GROUP_TILES(F8)

#endif
