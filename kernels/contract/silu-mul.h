#pragma once

/*
 * silu_mul: y = silu(gate) * up, elementwise, where silu(g) = g / (1 + exp(-g)); each step rounded
 * once. Any split.
 */

#include "kernels/contract/math.h"

static inline float
sundog_silu(float gate)
{
    return gate / (1.0f + sundog_exp(-gate));
}
