/* Entries of the products of few tokens, a layout each, with x in bf16 and for quantized weights rounded too; of
 * what is faster so also of one token. */

#include "kernels/cuda/linear.cuh"

#define ENTRY(name, layout, count, one, rounded)                                   \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                         \
        sundog_linear_##name##_##count(const __grid_constant__ SundogCudaLinear p) \
    {                                                                              \
        run_linear<layout, false, one, rounded>(p);                                \
    }                                                                              \
    SUNDOG_ENTRY __launch_bounds__(256, 2)                                         \
        sundog_gated_##name##_##count(const __grid_constant__ SundogCudaLinear p)  \
    {                                                                              \
        run_linear<layout, true, one, rounded>(p);                                 \
    }

ENTRY(bf16, SUNDOG_LAYOUT_TILE16_BF16, few, false, false)
ENTRY(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, few, false, false)
ENTRY(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, one, true, false)
ENTRY(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0, one_rounded, true, true)
ENTRY(f8, SUNDOG_LAYOUT_TILE16_F8, few, false, false)
ENTRY(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, few, false, false)
ENTRY(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1, one_rounded, true, true)
