#pragma once

/* gate.h's functions by number. */

#include "kernels/cuda/device.cuh"

#include "kernels/contract/gate.h"

INLINE float
gate_value(int function, float gate, float up)
{
    switch (function) {
    case SUNDOG_GATE_GELU_TANH:
        return sundog_gelu_tanh(gate) * up;
    case SUNDOG_GATE_CLAMPED:
        return sundog_clamped(gate, up);
    case SUNDOG_GATE_RELU:
        return sundog_relu(gate) * up;
    case SUNDOG_GATE_GELU:
        return sundog_gelu(gate) * up;
    case SUNDOG_GATE_TANH:
        return sundog_tanh(gate) * up;
    default:
        return sundog_silu(gate) * up;
    }
}
