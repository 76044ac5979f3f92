#pragma once

/* gate.h's functions over runs of elements: the choice stands outside the loop, so that each loop
 * becomes vector code. */

#include "kernels/contract/gate.h"

/* y[i] = f(gate[i]) * up[i] for i < n; y may be either. */
static inline void
sundog_gate_run(int64_t function, const float *gate, const float *up, float *y, int64_t n)
{
    if (function == SUNDOG_GATE_GELU_TANH)
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_gelu_tanh(gate[i]) * up[i];
    else if (function == SUNDOG_GATE_GELU)
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_gelu(gate[i]) * up[i];
    else if (function == SUNDOG_GATE_CLAMPED)
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_clamped(gate[i], up[i]);
    else if (function == SUNDOG_GATE_TANH)
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_tanh(gate[i]) * up[i];
    else if (function == SUNDOG_GATE_RELU)
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_relu(gate[i]) * up[i];
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = sundog_silu(gate[i]) * up[i];
}
