/* Entries of the products of few tokens, a layout each. */

#include "kernels/cuda/linear.cuh"

#define FEW(name, layout)                                                      \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                     \
        sundog_linear_##name##_few(const __grid_constant__ SundogCudaLinear p) \
    {                                                                          \
        run_linear<layout, false>(p);                                          \
    }                                                                          \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                     \
        sundog_gated_##name##_few(const __grid_constant__ SundogCudaLinear p)  \
    {                                                                          \
        run_linear<layout, true>(p);                                           \
    }

FEW(bf16, SUNDOG_LAYOUT_TILE16_BF16)
FEW(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
FEW(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)
