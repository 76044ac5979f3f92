/* Entries of the products: a layout, few tokens ("few", x in shared memory) or tiles of 8, 32 and 64. */

#include "kernels/cuda/linear.cuh"

#define FEW(name, layout)                                                      \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                     \
        sundog_linear_##name##_few(const __grid_constant__ SundogCudaLinear p) \
    {                                                                          \
        run_linear<layout, false, 1, false>(p);                                \
    }                                                                          \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                     \
        sundog_gated_##name##_few(const __grid_constant__ SundogCudaLinear p)  \
    {                                                                          \
        run_linear<layout, true, 1, false>(p);                                 \
    }

#define MANY(name, layout, tiles, tokens)                                           \
    SUNDOG_ENTRY __launch_bounds__(256, 1)                                          \
        sundog_linear_##name##_##tokens(const __grid_constant__ SundogCudaLinear p) \
    {                                                                               \
        run_linear<layout, false, tiles, true>(p);                                  \
    }                                                                               \
    SUNDOG_ENTRY __launch_bounds__(256, 1)                                          \
        sundog_gated_##name##_##tokens(const __grid_constant__ SundogCudaLinear p)  \
    {                                                                               \
        run_linear<layout, true, tiles, true>(p);                                   \
    }

#define ALL(name, layout)     \
    FEW(name, layout)         \
    MANY(name, layout, 1, 8)  \
    MANY(name, layout, 4, 32) \
    MANY(name, layout, 8, 64)

ALL(bf16, SUNDOG_LAYOUT_TILE16_BF16)
ALL(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
ALL(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)
